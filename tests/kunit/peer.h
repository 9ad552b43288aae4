/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* A QP with a stream; the other end is the test itself, with a plain TCP socket. */
#ifndef SRNIC_KUNIT_PEER_H
#define SRNIC_KUNIT_PEER_H

#include <linux/delay.h>
#include <linux/net.h>
#include "fake.h"
#include "memory/tpt.h"
#include "octets.h"

#define PEER_EVENTS	8
#define PEER_REGIONS	8
#define PEER_DEPTH	16
#define PEER_SGES	4
#define PEER_ROOM	(68 * 1024)
#define PEER_CLOSE_TIMEOUT	2	/* seconds */

/* RDMAP control octets, version 1 (RFC 5040 Figure 4) */
#define ULP_WRITE	0x40
#define ULP_READ_REQ	0x41
#define ULP_READ_RESP	0x42
#define ULP_SEND	0x43
#define ULP_SEND_INV	0x44
#define ULP_SEND_SE	0x45
#define ULP_SEND_SE_INV	0x46
#define ULP_TERMINATE	0x47

/* Headers as a well-behaved peer makes them */
#define HDR_SEND(_msn) \
	{ .last = true, .version = 1, .ulp = ULP_SEND, .msn = (_msn) }
#define HDR_READ_REQ(_msn) \
	{ .last = true, .version = 1, .ulp = ULP_READ_REQ, .qn = 1, .msn = (_msn) }
#define HDR_WRITE(_stag, _to) \
	{ .tagged = true, .last = true, .version = 1, .ulp = ULP_WRITE, \
	  .stag = (_stag), .to = (_to) }
#define HDR_READ_RESP(_stag, _to) \
	{ .tagged = true, .last = true, .version = 1, .ulp = ULP_READ_RESP, \
	  .stag = (_stag), .to = (_to) }
#define HDR_TERMINATE \
	{ .last = true, .version = 1, .ulp = ULP_TERMINATE, .qn = 2, .msn = 1 }

/* Wait for other threads. Return: whether @cond became true in time. */
#define peer_until(cond) ({						\
	bool _came = false;						\
	int _tries;							\
									\
	for (_tries = 0; _tries < 500 && !_came; _tries++) {		\
		_came = (cond);						\
		if (!_came)						\
			msleep(20);					\
	}								\
	_came;								\
})

/**
 * struct peer - both ends
 * @test: the test
 * @dev: the QP's device
 * @pd: the QP's PD
 * @scq: CQ of its SQ
 * @rcq: CQ of its RQ
 * @qp: of a kernel consumer, NULL once it is destroyed
 * @sock: the test's end of the stream, NULL when it is closed
 * @tx_markers: the QP is to send markers; set before it is connected
 * @rx_markers: the QP is to ask for markers; set before it is connected
 * @no_crc: neither end has CRCs; set before it is connected
 * @by_threads: the QP's kthreads do all its work; set before it is connected
 * @responder: the QP sends nothing before it has heard of the peer; set before it is connected
 * @no_bind: see struct srnic_attach; set before it is connected
 * @no_responses: likewise
 * @rdmac: the stream has version 0; set before it is connected, with markers. The headers of
 *	   peer_send(), and @hdr, are those of version 1 all the same: bit 0 of DV and of RV is
 *	   inverted on the wire
 * @rtr: MPA_RTR_*, which the QP sends first; set before it is connected; 0: none
 * @acks: both ends acknowledge messages; set before it is connected
 * @placement: ... and take Flush and Atomic Write; set before it is connected
 * @asked: with @acks: the last FPDU received asks for that at once; the bit is not in @hdr
 * @no_receive: as the policy of that name; set before it is connected
 * @large: both ends have agreed on large FPDUs; set before it is connected
 * @mss: of the segments that the QP may send; set before it is connected; 0: what the path carries
 * @own_rcvbuf: for the receive buffer of the test's socket; set before it is connected; 0: ample
 * @rcvbuf: for the receive buffer of the QP's socket; set before it is connected; 0: TCP's
 * @in_pos: octets that came, if there are markers among them
 * @out_pos: octets that were sent, if there are markers among them
 * @phases: where the FPDUs that came with markers began, modulo 512, by words
 * @region: what was registered with peer_region()
 * @regions: how many
 * @out: ULPDU sent last
 * @in: ULPDU received last
 * @in_len: its octets
 * @skip: control octet of segments, all zeros, that may come before a
 *	  Terminate; 0 for none
 * @skipped: octets of payload in the skipped segments
 * @hdr: its header, decoded
 * @data: what follows the header
 * @data_len: its octets
 * @events: events that the QP's handler was called with
 * @num_events: how many
 * @event_state: state of the QP at the last event
 * @closed: calls of srnic_llp_ops.closed()
 * @closed_err: the error passed by the last one
 * @closed_by_work: the last one was in a work, and not in a kthread of the QP
 */
struct peer {
	struct kunit *test;
	struct srnic_device *dev;
	struct ib_pd *pd;
	struct fake_cq *scq;
	struct fake_cq *rcq;
	struct srnic_qp *qp;
	struct socket *sock;
	bool tx_markers;
	bool rx_markers;
	bool no_crc;
	bool by_threads;
	bool responder;
	bool no_bind;
	bool no_responses;
	bool rdmac;
	u8 rtr;
	bool acks;
	bool placement;
	bool asked;
	u32 no_receive;
	bool large;
	u16 mss;
	u32 own_rcvbuf;
	u32 rcvbuf;
	u32 in_pos;
	u32 out_pos;
	DECLARE_BITMAP(phases, 128);
	struct srnic_tpte region[PEER_REGIONS];
	u32 regions;
	struct octets out;
	u8 *in;
	u32 in_len;
	u8 skip;
	u32 skipped;
	struct ddp_hdr hdr;
	u8 *data;
	u32 data_len;
	enum ib_event_type events[PEER_EVENTS];
	u32 num_events;
	enum srnic_qp_state event_state;
	u32 closed;
	int closed_err;
	bool closed_by_work;
};

struct peer *peer_idle(struct kunit *test);
struct peer *peer_idle_deep(struct kunit *test, u32 depth);
void peer_loopback(void);
struct peer *peer_idle_srq(struct kunit *test, struct srnic_srq *srq);
void peer_sockets(struct peer *p, struct socket **passive);
void peer_attach(struct peer *p, struct socket *passive, u16 ird, u16 ord);
void peer_connect(struct peer *p, u16 ird, u16 ord);
struct peer *peer_open(struct kunit *test, u16 ird, u16 ord);
struct srnic_tpte *peer_region(struct peer *p, struct ib_pd *pd, void *mem, u32 length,
			       u16 rights);
void peer_unregister(struct peer *p, struct srnic_tpte *tpte);
struct ib_sge peer_sge(const struct srnic_tpte *tpte, u32 off, u32 length);
void peer_access(struct peer *p, const struct srnic_tpte *tpte, struct srnic_span *span);

int peer_post(struct peer *p, enum ib_wr_opcode op, u64 wr_id, int flags,
	      struct ib_sge *sge, u64 raddr, u32 rkey);
void peer_post_recv(struct peer *p, u64 wr_id, struct ib_sge *sge);
struct ib_wc peer_wc(struct peer *p, struct fake_cq *fake, u64 wr_id,
		     enum srnic_wc_status status);
void peer_flushes(struct peer *p, struct fake_cq *fake, u64 first, u32 count);
void peer_no_wc(struct peer *p, struct fake_cq *fake);

void peer_send(struct peer *p, const struct ddp_hdr *hdr, const void *data, u32 len);
void peer_send_octets(struct peer *p, const void *data, u32 len);
void peer_send_page(struct peer *p, struct page *page, u32 len);
void peer_read_request(struct peer *p, u32 msn, u32 sink_stag, u64 sink_to, u32 size,
		       u32 src_stag, u64 src_to);
int peer_recv(struct peer *p);
u32 peer_message(struct peer *p);
void peer_expect(struct peer *p, u8 ulp, u32 data_len);
void peer_expect_nothing(struct peer *p);
void peer_expect_terminate(struct peer *p, const char *what, u16 code, u16 hdrct);
void peer_expect_end(struct peer *p, const char *what, int want);
void peer_expect_event(struct peer *p, const char *what, int event);
void peer_close(struct peer *p);
void peer_reset(struct peer *p);
bool peer_was_reset(struct peer *p);
void peer_expect_closed(struct peer *p, const char *what, enum srnic_qp_state state);

#endif
