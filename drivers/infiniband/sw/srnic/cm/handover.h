/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* QPs whose stream is a program's own TCP socket. */
#ifndef SRNIC_HANDOVER_H
#define SRNIC_HANDOVER_H

#include <linux/types.h>
#include "qp/qp.h"

struct file;

/**
 * struct srnic_handover - request of a program that hands over its own TCP connection
 * @file: of its TCP socket, held by the caller
 * @keepalive: seconds of silence after which TCP probes the peer; 0: as the
 *	       program set it
 * @attach: settings of the stream, which the program has negotiated, or knows. CRC and markers go
 *	    with rdmac, whatever mpa says; stream, policy and timeout_ms are ignored
 */
struct srnic_handover {
	struct file *file;
	u32 keepalive;
	struct srnic_attach attach;
};

int srnic_handover(struct srnic_qp *qp, const struct srnic_handover *req);

#endif
