/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The rx engine: stream to placement to delivery. */
#ifndef SRNIC_RX_H
#define SRNIC_RX_H

#include "qp.h"

/* Headers kept while an FPDU comes in: of a Terminate its whole content */
#define SRNIC_RX_HDR	(MPA_LEN_FIELD + DDP_UNTAGGED_LEN + RDMAP_MAX_TERM_LEN)

enum srnic_rx_phase {
	SRNIC_RX_HEADER,
	SRNIC_RX_PAYLOAD,
	SRNIC_RX_TRAILER,	/* PAD and CRC */
};

/**
 * struct srnic_rx - state of the inbound direction; the rx kthread's alone
 * @discard: an error ended this direction, what still comes is dropped (D-VAL-4)
 * @phase: what of the FPDU is awaited
 * @hdr: from ULPDU_Length on
 * @have: octets in @hdr, or of the trailer
 * @need: octets that are to be in @hdr, or in the trailer
 * @trailer: PAD and CRC
 * @crc: running CRC of the FPDU
 * @covered: octets in @hdr, or of PAD, that are in @crc already
 * @pos: octets since the last marker began, if there are markers
 * @marker: it
 * @markers: of the FPDU, after its length field
 * @ulpdu_len: ULPDU_Length
 * @ddp: decoded header
 * @opcode: RDMAP opcode
 * @payload: octets of payload in the segment
 * @placed: of them, placed or skipped
 * @err: what is wrong with the FPDU; acted upon when its CRC is good
 * @status: the completion status that goes with @err
 * @late: the FPDU came after our FIN, nothing of it is placed
 * @msn: MSN of the message each queue is at
 * @rtr_response: the response to our Read RTR is awaited
 * @rtr_send: the FPDU is the peer's RTR, by Send
 * @write_len: octets of the last Write message since the last one on QN 0
 * @write_ended: it is complete
 * @mo: octets of the current message on QN 0 that were delivered
 * @rwr_valid: @rwr is in use by the current message on QN 0
 * @rwr: its receive WR
 * @rd_valid: @rd is the Read or atomic being answered
 * @rd: the request
 * @rd_off: octets of it that were delivered
 */
struct srnic_rx {
	bool discard;
	enum srnic_rx_phase phase;
	u8 hdr[SRNIC_RX_HDR];
	u32 have;
	u32 need;
	u8 trailer[3 + MPA_CRC_LEN];
	u32 crc;
	u32 covered;
	u32 pos;
	u8 marker[MPA_MARKER_LEN];
	u32 markers;
	u32 ulpdu_len;
	struct ddp_hdr ddp;
	u8 opcode;
	u32 payload;
	u32 placed;
	enum rdmap_err err;
	enum srnic_wc_status status;
	bool late;

	u32 msn[DDP_QN_COUNT];
	bool rtr_response;
	bool rtr_send;
	u32 write_len;
	bool write_ended;
	u32 mo;
	bool rwr_valid;
	struct srnic_rwr *rwr;
	bool rd_valid;
	struct srnic_outbound rd;
	u32 rd_off;
};

struct srnic_rx *srnic_rx_new(const struct srnic_qp *qp);
void srnic_rx_free(struct srnic_rx *rx);
int srnic_rx_thread(void *arg);
void srnic_rx_octets(struct srnic_qp *qp, const u8 *data, u32 len);
void srnic_rx_flush(struct srnic_qp *qp);

/* The current message is Immediate Data, with or without SE */
static inline bool srnic_rx_immediate(const struct srnic_rx *rx)
{
	return rx->opcode == RDMAP_IMMEDIATE || rx->opcode == RDMAP_IMMEDIATE_SE;
}

/* place.c */
void srnic_rx_place(struct srnic_qp *qp, const u8 *data, u32 len);
void srnic_rx_check(struct srnic_qp *qp);

#endif
