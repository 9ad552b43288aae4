/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* QPs whose stream is a program's own TCP socket. */
#ifndef SRNIC_HANDOVER_H
#define SRNIC_HANDOVER_H

#include <linux/types.h>
#include "wire/mpa.h"

struct file;
struct srnic_qp;

/**
 * struct srnic_handover - request of a program that hands over its own TCP connection
 * @file: of its TCP socket, held by the caller
 * @mpa: settings that the program has negotiated, or knows
 * @rdmac: see struct srnic_attach; CRC and markers go with it, whatever @mpa says
 * @initiator: see struct srnic_attach
 * @no_bind: the QP binds no window from now on
 * @no_responses: see struct srnic_attach
 * @keepalive: seconds of silence after which TCP probes the peer; 0: as the
 *	       program set it
 * @last_msg: see struct srnic_attach
 * @last_len: its bytes
 */
struct srnic_handover {
	struct file *file;
	struct mpa_result mpa;
	bool rdmac;
	bool initiator;
	bool no_bind;
	bool no_responses;
	u32 keepalive;
	void *last_msg;
	u32 last_len;
};

int srnic_handover(struct srnic_qp *qp, const struct srnic_handover *req);

#endif
