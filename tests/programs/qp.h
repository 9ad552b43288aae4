/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Cases of qp that have a file of their own */
#ifndef QP_H
#define QP_H

void case_terminate(void);

#endif
