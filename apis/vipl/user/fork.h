/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef VIPL_FORK_H
#define VIPL_FORK_H

void vipl_fork_init(void);

#endif
