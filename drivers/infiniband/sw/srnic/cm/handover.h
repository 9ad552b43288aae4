/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* QPs whose stream is a program's own TCP socket. */
#ifndef SRNIC_HANDOVER_H
#define SRNIC_HANDOVER_H

struct srnic_handover;
struct srnic_qp;

int srnic_handover(struct srnic_qp *qp, const struct srnic_handover *req);

#endif
