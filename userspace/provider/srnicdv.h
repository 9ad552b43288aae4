/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The direct verbs of libsrnic: functions of an srnic device beyond libibverbs. A program
 * includes this header, and links with -lsrnic.
 */
#ifndef SRNICDV_H
#define SRNICDV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <infiniband/verbs.h>
#include <rdma/srnic-abi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* srnicdv_stream_attr.flags */
enum srnicdv_stream_flags {
	SRNICDV_STREAM_RESPONDER	= 1 << 0,	/* the peer sends the first FPDU */
	SRNICDV_STREAM_CRC		= 1 << 1,	/* CRC is sent, and checked */
	SRNICDV_STREAM_TX_MARKERS	= 1 << 2,	/* markers are sent */
	SRNICDV_STREAM_RX_MARKERS	= 1 << 3,	/* markers are received */
	SRNICDV_STREAM_NO_BIND		= 1 << 4,	/* the QP binds no windows */
	/* version 0, the RDMA Consortium's wire; CRC and markers are always used */
	SRNICDV_STREAM_RDMAC		= 1 << 5,
	SRNICDV_STREAM_NO_RESPONSES	= 1 << 6,	/* the QP takes no data of Read Responses */
};

/**
 * struct srnicdv_stream_attr - a TCP connection that becomes the stream of a QP
 * @comp_mask: 0
 * @fd: the connected socket
 * @flags: SRNICDV_STREAM_*
 * @ird: inbound reads and atomics that the peer may have outstanding
 * @ord: outbound ones
 * @keepalive: seconds of silence after which TCP probes the peer; 0: as the program has
 *	       set it
 * @last_msg: message to send before the first FPDU, such as an MPA Reply; NULL: none
 * @last_len: its bytes, at most 65535
 */
struct srnicdv_stream_attr {
	uint64_t comp_mask;
	int fd;
	uint32_t flags;
	uint16_t ird;
	uint16_t ord;
	uint32_t keepalive;
	const void *last_msg;
	size_t last_len;
};

/**
 * struct srnicdv_terminate - a Terminate message (RFC 5040 4.8)
 * @valid: there is one; if not, all other fields are 0
 * @local: this end has made it
 * @sent: TCP has accepted it, if @local
 * @layer: 0 RDMAP, 1 DDP, 2 MPA
 * @etype: error type
 * @code: error code
 * @seg_len: length of the segment in error; 0: not included
 * @ddp_len: bytes of @ddp
 * @rdmap_len: bytes of @rdmap
 * @ddp: DDP header of that segment, as on the wire
 * @rdmap: header of a Read Request, as on the wire
 */
struct srnicdv_terminate {
	bool valid;
	bool local;
	bool sent;
	uint8_t layer;
	uint8_t etype;
	uint8_t code;
	uint16_t seg_len;
	uint8_t ddp_len;
	uint8_t rdmap_len;
	uint8_t ddp[18];
	uint8_t rdmap[28];
};

/*
 * ibv_send_wr.opcode: an RDMA Read with one SGE, whose STag (lkey) is invalidated after the data
 * has arrived. ibv_wc.opcode is IBV_WC_RDMA_READ.
 */
#define SRNICDV_WR_READ_INV	IBV_WR_DRIVER1

/*
 * The operation of a successful completion that ibv_start_poll(3) or ibv_next_poll(3) has taken, as
 * the RDMAC verbs tell operations apart: enum srnic_opcode. SRNICDV_WC_SOLICITED is set, too, for a
 * Send or a receive whose message had a solicited event. 0: the CQ is not of srnic.
 */
#define SRNICDV_WC_SOLICITED	0x100U
uint32_t srnicdv_wc_read_op(struct ibv_cq_ex *cq);

bool srnicdv_is_supported(struct ibv_device *device);
/* In: what is asked for; out: what the QP has */
struct srnicdv_qp_init_attr {
	uint64_t comp_mask;	/* 0 */
	uint32_t max_write_sge;	/* of an RDMA Write; 0: as many as cap.max_send_sge, of other WRs */
};

struct ibv_qp *srnicdv_create_qp(struct ibv_context *ctx, struct ibv_qp_init_attr_ex *attr,
				 struct srnicdv_qp_init_attr *dv_attr);
int srnicdv_attach_stream(struct ibv_qp *qp, const struct srnicdv_stream_attr *attr);
int srnicdv_destroy_qp(struct ibv_qp *qp);
int srnicdv_query_terminate(struct ibv_qp *qp, struct srnicdv_terminate *term);

/*
 * Queries of the RDMAC verbs; the structs are in rdma/srnic-abi.h. A program passes
 * their size, so that they can grow.
 */
int srnicdv_query_device(struct ibv_context *ctx, struct srnic_uresp_dev_query *resp,
			 size_t size);
int srnicdv_query_qp(struct ibv_qp *qp, struct srnic_uresp_qp_query *resp, size_t size);
int srnicdv_query_cq(struct ibv_cq *cq, struct srnic_uresp_cq_query *resp, size_t size);
int srnicdv_query_srq(struct ibv_srq *srq, struct srnic_uresp_srq_query *resp, size_t size);
int srnicdv_query_mr(struct ibv_mr *mr, struct srnic_uresp_mr_query *resp, size_t size);
int srnicdv_query_mw(struct ibv_mw *mw, struct srnic_uresp_mw_query *resp, size_t size);

struct ibv_mr *srnicdv_reg_shared_mr(struct ibv_pd *pd, struct ibv_mr *source, uint64_t iova,
				     int access);

/* Sets the low 8 bits of a region's lkey and rkey, which are one STag */
int srnicdv_set_mr_key(struct ibv_mr *mr, uint8_t key);

/* Events: each read(2) of the descriptor returns a struct srnic_event_record */
int srnicdv_open_events(struct ibv_context *ctx);
int srnicdv_arm_rq(struct ibv_qp *qp, uint32_t limit);

#ifdef __cplusplus
}
#endif

#endif
