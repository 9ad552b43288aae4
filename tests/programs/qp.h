/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Cases of qp in other files */
#ifndef QP_H
#define QP_H

void case_terminate(void);

#endif
