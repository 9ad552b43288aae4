/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Reads and atomics under way, inbound (IRQ) and outbound (ORQ). */
#ifndef SRNIC_READ_H
#define SRNIC_READ_H

#include <linux/types.h>
#include <rdma/srnic-abi.h>
#include "wire/ddp.h"
#include "wire/rdmap.h"

struct srnic_qp;

/**
 * struct srnic_outbound - a Read or atomic this end asked for, waiting for its response
 * @index: ring index of its WR
 * @end: sequence number behind it in the TCP stream
 * @msn: of the request
 * @last: the request is the last one of its WR
 * @opcode: of the WR, enum srnic_opcode
 * @length: octets of the response
 * @sink_stag: where they go
 * @sink_to: where they go
 */
struct srnic_outbound {
	u32 index;
	u32 end;
	u32 msn;
	bool last;
	u8 opcode;
	u32 length;
	u32 sink_stag;
	u64 sink_to;
};

/* A Read or atomic the peer asked for, waiting to be answered */
struct srnic_inbound {
	u8 opcode;				/* RDMAP_READ_REQUEST or RDMAP_ATOMIC_REQUEST */
	union {
		struct rdmap_read_req read;
		struct rdmap_atomic_req atomic;
	};
	u8 ddp[DDP_UNTAGGED_LEN];		/* as on the wire, for a Terminate */
};

bool srnic_irq_empty(const struct srnic_qp *qp);
int srnic_irq_push(struct srnic_qp *qp, const struct srnic_inbound *in);
bool srnic_irq_head(struct srnic_qp *qp, struct srnic_inbound *in);
void srnic_irq_done(struct srnic_qp *qp);
u32 srnic_orq_count(const struct srnic_qp *qp);
u32 srnic_orq_limit(const struct srnic_qp *qp);
bool srnic_orq_full(const struct srnic_qp *qp);
void srnic_orq_push(struct srnic_qp *qp, const struct srnic_outbound *out);
void srnic_orq_sent(struct srnic_qp *qp);
bool srnic_orq_head(struct srnic_qp *qp, struct srnic_outbound *out);
void srnic_orq_done(struct srnic_qp *qp, enum srnic_wc_status status);

#endif
