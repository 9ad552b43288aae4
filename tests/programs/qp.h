/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Cases of qp in other files */
#ifndef QP_H
#define QP_H

/* qp_resize.c */
void case_resize(void);
void case_resize_busy(void);
void case_resize_child(void);
void case_resize_rules(void);
void case_resize_srq(void);

/* qp_term.c */
void case_terminate(void);

#endif
