/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The case of handover whose device is on a tunnel. */
#ifndef HANDTUN_H
#define HANDTUN_H

void case_tunnel(void);

#endif
