// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* A QP with a stream; the other end is the test itself, with a plain TCP socket. */
#include <linux/bvec.h>
#include <linux/in.h>
#include <linux/rtnetlink.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include <net/tcp.h>
#include "compat.h"
#include "engine/kthreads.h"
#include "engine/linger.h"
#include "engine/stream.h"
#include "peer.h"
#include "queue/srq.h"
#include "verbs/verbs.h"
#include "wire/mpa.h"

#define TIMEOUT	(10 * HZ)
#define ROOM	(128 * 1024)	/* in socket buffers */

static void on_event(struct ib_event *event, void *context)
{
	struct peer *p = context;

	if (p->num_events < PEER_EVENTS)
		p->events[p->num_events] = event->event;
	p->event_state = srnic_qp_state(p->qp);
	p->num_events++;
}

static void on_closed(void *priv, int err)
{
	struct peer *p = priv;

	p->closed_err = err;
	p->closed_by_work = current->flags & PF_WQ_WORKER;
	WRITE_ONCE(p->closed, p->closed + 1);
}

static void on_abort(void *priv)
{
}

static const struct srnic_llp_ops llp_ops = { .abort = on_abort, .closed = on_closed };

/* Number of peers; while there is one, streams may linger */
static u32 peers;

static void free_peer(struct kunit_resource *res)
{
	struct peer *p = res->data;
	u32 i;

	peer_close(p);
	if (p->qp)
		srnic_qp_destroy(p->qp);
	for (i = 0; i < p->regions; i++)
		if (p->region[i].pd)
			srnic_tpt_remove(&p->region[i]);
	synchronize_rcu();
	if (!--peers) {
		srnic_kthreads_exit();
		srnic_linger_exit();
	}
}

static int keep_peer(struct kunit_resource *res, void *context)
{
	res->data = context;
	return 0;
}

static struct peer *idle(struct kunit *test, u32 depth, struct ib_srq *srq)
{
	struct peer *p = kunit_kzalloc(test, sizeof(*p), GFP_KERNEL);
	struct ib_qp_init_attr init = {
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
		.srq = srq,
		.cap = {
			.max_send_wr = depth, .max_recv_wr = depth,
			.max_send_sge = PEER_SGES, .max_recv_sge = 2,
		},
	};
	struct srnic_qp *qp;

	KUNIT_ASSERT_NOT_NULL(test, p);
	p->test = test;
	p->in = kunit_kzalloc(test, PEER_ROOM, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, p->in);
	p->dev = fake_device(test);
	p->dev->netdev = init_net.loopback_dev;
	p->pd = fake_pd(test, p->dev);
	p->scq = fake_cq(test, p->dev, max(depth, 256U));
	p->rcq = fake_cq(test, p->dev, max(depth, 256U));
	qp = kunit_kzalloc(test, sizeof(*qp), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, qp);
	init.send_cq = &p->scq->cq.ibcq;
	init.recv_cq = &p->rcq->cq.ibcq;
	qp->ibqp.device = &p->dev->ibdev;
	qp->ibqp.pd = p->pd;
	qp->ibqp.event_handler = on_event;
	qp->ibqp.qp_context = p;
	qp->ibqp.send_cq = init.send_cq;
	qp->ibqp.recv_cq = init.recv_cq;
	if (!peers) {
		KUNIT_ASSERT_EQ(test, srnic_linger_init(), 0);
		KUNIT_ASSERT_EQ(test, srnic_kthreads_init(), 0);
	}
	KUNIT_ASSERT_EQ(test, srnic_qp_create(qp, p->dev, &init, NULL), 0);
	qp->enables = SRNIC_QP_READ_ENABLED | SRNIC_QP_WRITE_ENABLED | SRNIC_QP_BIND_ENABLED;
	p->qp = qp;
	peers++;
	kunit_alloc_resource(test, keep_peer, free_peer, GFP_KERNEL, p);
	return p;
}

/**
 * peer_idle_deep - a QP in Idle, everything enabled
 * @test: whose end is its end
 * @depth: WRs of each of its queues; its CQs take all of them
 */
struct peer *peer_idle_deep(struct kunit *test, u32 depth)
{
	return idle(test, depth, NULL);
}

/**
 * peer_idle_srq - a QP in Idle, everything enabled, with an SRQ
 * @test: whose end is its end, unless the test destroys the QP itself
 * @srq: the SRQ
 */
struct peer *peer_idle_srq(struct kunit *test, struct srnic_srq *srq)
{
	return idle(test, PEER_DEPTH, &srq->ibsrq);
}

/**
 * peer_idle - a QP in Idle, everything enabled
 * @test: whose end is its end
 */
struct peer *peer_idle(struct kunit *test)
{
	return peer_idle_deep(test, PEER_DEPTH);
}

/**
 * peer_loopback - let sockets send to 127.0.0.1
 */
void peer_loopback(void)
{
	struct net_device *lo = init_net.loopback_dev;

	rtnl_lock();
	if (!(lo->flags & IFF_UP))
		dev_change_flags(lo, lo->flags | IFF_UP, NULL);
	rtnl_unlock();
}

static struct sockaddr_unsized *addr_of(struct sockaddr *sa)
{
	return (struct sockaddr_unsized *)sa;
}

/**
 * peer_sockets - a TCP connection, of which the test has one end
 * @p: from peer_idle()
 * @passive: set to the other end
 */
void peer_sockets(struct peer *p, struct socket **passive)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	struct sockaddr *sa = (struct sockaddr *)&addr;
	struct socket *listener;

	peer_loopback();
	KUNIT_ASSERT_EQ(p->test, 0, sock_create_kern(&init_net, AF_INET, SOCK_STREAM,
						     IPPROTO_TCP, &listener));
	if (p->rcvbuf)
		sock_set_rcvbuf(listener->sk, p->rcvbuf);
	KUNIT_ASSERT_EQ(p->test, 0, kernel_bind(listener, addr_of(sa), sizeof(addr)));
	KUNIT_ASSERT_EQ(p->test, 0, kernel_listen(listener, 1));
	KUNIT_ASSERT_GT(p->test, kernel_getsockname(listener, sa), 0);
	KUNIT_ASSERT_EQ(p->test, 0, sock_create_kern(&init_net, AF_INET, SOCK_STREAM,
						     IPPROTO_TCP, &p->sock));
	srnic_sock_prepare(p->sock);
	sock_set_rcvbuf(p->sock->sk, p->own_rcvbuf ?: ROOM);
	tcp_sk(p->sock->sk)->rx_opt.user_mss = p->mss;
	KUNIT_ASSERT_EQ(p->test, 0, kernel_connect(p->sock, addr_of(sa), sizeof(addr), 0));
	KUNIT_ASSERT_EQ(p->test, 0, kernel_accept(listener, passive, 0));
	srnic_sock_prepare(*passive);
	sock_release(listener);
	/* small buffers, so that a test can fill them */
	(*passive)->sk->sk_userlocks |= SOCK_SNDBUF_LOCK;
	(*passive)->sk->sk_sndbuf = ROOM;
	p->sock->sk->sk_rcvtimeo = TIMEOUT;
	p->sock->sk->sk_sndtimeo = TIMEOUT;
}

/**
 * peer_attach - attach a socket to a QP, which enters RTS
 * @p: in Idle
 * @passive: from peer_sockets(); now belongs to the QP
 * @ird: inbound reads
 * @ord: outbound reads
 */
void peer_attach(struct peer *p, struct socket *passive, u16 ird, u16 ord)
{
	const struct srnic_policy policy = {
		.close_timeout = PEER_CLOSE_TIMEOUT,
		.inline_work = !p->by_threads,
		.no_receive = p->no_receive,
	};
	struct srnic_attach attach = {
		.initiator = !p->responder,	/* it may send at once */
		.no_bind = p->no_bind,
		.no_responses = p->no_responses,
		.rdmac = p->rdmac,
		.acks = p->acks,
		.placement = p->placement,
		.mpa = { .crc = !p->no_crc, .ird = ird, .ord = ord, .rtr = p->rtr,
			 .tx_markers = p->tx_markers, .rx_markers = p->rx_markers,
			 .large = p->large },
		.stream = srnic_stream_new(passive),
		.policy = &policy,
	};

	p->in_pos = 0;
	p->out_pos = 0;
	KUNIT_ASSERT_NOT_NULL(p->test, attach.stream);
	KUNIT_ASSERT_EQ(p->test, srnic_qp_claim(p->qp, &llp_ops, p), 0);
	KUNIT_ASSERT_EQ(p->test, srnic_qp_attach(p->qp, &attach), 0);
}

/**
 * peer_connect - a connection for a QP in Idle
 * @p: in Idle
 * @ird: inbound reads
 * @ord: outbound reads
 */
void peer_connect(struct peer *p, u16 ird, u16 ord)
{
	struct socket *passive;

	peer_sockets(p, &passive);
	peer_attach(p, passive, ird, ord);
}

/**
 * peer_open - a QP in RTS
 * @test: whose end is its end
 * @ird: inbound reads
 * @ord: outbound reads
 */
struct peer *peer_open(struct kunit *test, u16 ird, u16 ord)
{
	struct peer *p = peer_idle(test);

	peer_connect(p, ird, ord);
	KUNIT_ASSERT_EQ(test, srnic_qp_state(p->qp), SRNIC_QP_RTS);
	return p;
}

/**
 * peer_region - register memory, whose TO is its address
 * @p: its end unregisters the memory
 * @pd: protection domain
 * @mem: memory
 * @length: octets
 * @rights: SRNIC_LOCAL_READ and the like
 */
struct srnic_tpte *peer_region(struct peer *p, struct ib_pd *pd, void *mem, u32 length,
			       u16 rights)
{
	struct srnic_tpte *tpte = &p->region[p->regions];

	KUNIT_ASSERT_LT(p->test, p->regions, PEER_REGIONS);
	srnic_tpte_init(tpte, pd, SRNIC_STAG_FAST_REG);
	tpte->base = (uintptr_t)mem;
	tpte->off = (uintptr_t)mem;
	tpte->length = length;
	tpte->rights = rights;
	tpte->valid = true;
	KUNIT_ASSERT_EQ(p->test, srnic_tpt_insert(tpte), 0);
	p->regions++;
	return tpte;
}

/**
 * peer_unregister - unregister memory before it is freed
 * @p: its owner
 * @tpte: from peer_region()
 */
void peer_unregister(struct peer *p, struct srnic_tpte *tpte)
{
	KUNIT_EXPECT_EQ(p->test, srnic_tpt_remove(tpte), 0);
}

/**
 * peer_sge - an SGE
 * @tpte: from peer_region()
 * @off: first octet
 * @length: octets
 */
struct ib_sge peer_sge(const struct srnic_tpte *tpte, u32 off, u32 length)
{
	return (struct ib_sge){ tpte->base + off, length, tpte->stag };
}

/**
 * peer_access - begin an access, as if a copy were in progress
 * @p: the owner of the region
 * @tpte: from peer_region()
 * @span: to be ended with srnic_tpt_put()
 */
void peer_access(struct peer *p, const struct srnic_tpte *tpte, struct srnic_span *span)
{
	struct srnic_access access = {
		.stag = tpte->stag, .to = tpte->base, .length = 1, .need = SRNIC_LOCAL_READ,
		.pd = p->pd, .qpn = p->qp->ibqp.qp_num,
	};

	KUNIT_ASSERT_EQ(p->test, srnic_tpt_get(p->dev, &access, span), SRNIC_TPT_OK);
}

/**
 * peer_post - post a send WR
 * @p: its QP
 * @op: opcode
 * @wr_id: id
 * @flags: IB_SEND_*
 * @sge: one SGE, or NULL
 * @raddr: remote address
 * @rkey: remote STag, or the one to invalidate
 *
 * Return: as ib_post_send().
 */
int peer_post(struct peer *p, enum ib_wr_opcode op, u64 wr_id, int flags,
	      struct ib_sge *sge, u64 raddr, u32 rkey)
{
	struct ib_rdma_wr wr = {
		.wr = { .wr_id = wr_id, .opcode = op, .send_flags = flags, .sg_list = sge,
			.num_sge = !!sge, .ex.invalidate_rkey = rkey },
		.remote_addr = raddr, .rkey = rkey,
	};
	const struct ib_send_wr *bad;

	return srnic_verbs_ops.post_send(&p->qp->ibqp, &wr.wr, &bad);
}

/**
 * peer_post_recv - post a receive WR
 * @p: its QP
 * @wr_id: id
 * @sge: one SGE, or NULL
 */
void peer_post_recv(struct peer *p, u64 wr_id, struct ib_sge *sge)
{
	struct ib_recv_wr wr = { .wr_id = wr_id, .sg_list = sge, .num_sge = !!sge };
	const struct ib_recv_wr *bad;

	KUNIT_ASSERT_EQ(p->test, srnic_verbs_ops.post_recv(&p->qp->ibqp, &wr, &bad), 0);
}

/**
 * peer_wc - the next completion
 * @p: its QP
 * @fake: its CQ
 * @wr_id: what it must have
 * @status: what it must have
 */
struct ib_wc peer_wc(struct peer *p, struct fake_cq *fake, u64 wr_id,
		     enum srnic_wc_status status)
{
	struct ib_cq *ibcq = &fake->cq.ibcq;
	struct ib_wc wc = { };

	KUNIT_ASSERT_TRUE_MSG(p->test, peer_until(srnic_verbs_ops.poll_cq(ibcq, 1, &wc)),
			      "no completion of %llu", wr_id);
	KUNIT_EXPECT_EQ(p->test, wc.wr_id, wr_id);
	KUNIT_EXPECT_EQ_MSG(p->test, wc.vendor_err, status, "wr_id %llu", wr_id);
	return wc;
}

/**
 * peer_flushes - the next completions are flushes, and then there is none
 * @p: its QP
 * @fake: its CQ
 * @first: wr_id of the first; the others count up
 * @count: how many
 */
void peer_flushes(struct peer *p, struct fake_cq *fake, u64 first, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++)
		peer_wc(p, fake, first + i, SRNIC_WC_FLUSHED);
	peer_no_wc(p, fake);
}

/**
 * peer_no_wc - there is no completion, nor will there be
 * @p: its QP
 * @fake: its CQ
 */
void peer_no_wc(struct peer *p, struct fake_cq *fake)
{
	struct ib_wc wc;

	msleep(30);
	KUNIT_EXPECT_EQ(p->test, srnic_verbs_ops.poll_cq(&fake->cq.ibcq, 1, &wc), 0);
}

/**
 * peer_send_octets - send octets of any kind
 * @p: connected
 * @data: octets
 * @len: how many
 */
void peer_send_octets(struct peer *p, const void *data, u32 len)
{
	struct msghdr msg = { .msg_flags = MSG_NOSIGNAL };
	struct kvec vec = { .iov_base = (void *)data, .iov_len = len };

	kernel_sendmsg(p->sock, &msg, &vec, 1, len);
}

/**
 * peer_send_page - send octets, which the caller may change afterwards
 * @p: connected
 * @page: begins with the octets; TCP gets the page itself, as from sendfile()
 * @len: how many
 */
void peer_send_page(struct peer *p, struct page *page, u32 len)
{
	/* kernels with both calls: TCP does not know the flag there, and copies */
#ifndef SRNIC_HAVE_SENDPAGE
	struct bio_vec piece = { .bv_page = page, .bv_len = len };
	struct msghdr msg = { .msg_flags = MSG_SPLICE_PAGES };

	iov_iter_bvec(&msg.msg_iter, WRITE, &piece, 1, len);
	KUNIT_ASSERT_EQ(p->test, sock_sendmsg(p->sock, &msg), len);
#else
	KUNIT_ASSERT_EQ(p->test, kernel_sendpage(p->sock, page, 0, len, 0), len);
#endif
}

/* Invert bit 0 of DV and of RV */
static void other_version(u8 *ulpdu)
{
	ulpdu[0] ^= 0x01;
	ulpdu[1] ^= 0x40;
}

/**
 * peer_send - one FPDU, with a good CRC
 * @p: connected
 * @hdr: its header
 * @data: what follows
 * @len: its octets
 */
void peer_send(struct peer *p, const struct ddp_hdr *hdr, const void *data, u32 len)
{
	struct octets *fpdu = kunit_kzalloc(p->test, sizeof(*fpdu), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(p->test, fpdu);
	p->out.len = ddp_encode(p->out.at, hdr);
	if (p->rdmac)
		other_version(p->out.at);
	octets_add(p->test, &p->out, data, len);
	if (p->rx_markers)
		octets_fpdu_marked(p->test, fpdu, &p->out, &p->out_pos);
	else
		octets_fpdu(p->test, fpdu, &p->out);
	peer_send_octets(p, fpdu->at, fpdu->len);
	kunit_kfree(p->test, fpdu);
}

/**
 * peer_read_request - send a Read Request
 * @p: connected
 * @msn: message sequence number
 * @sink_stag: repeated in the response
 * @sink_to: repeated in the response
 * @size: octets
 * @src_stag: what to read
 * @src_to: what to read
 */
void peer_read_request(struct peer *p, u32 msn, u32 sink_stag, u64 sink_to, u32 size,
		       u32 src_stag, u64 src_to)
{
	struct ddp_hdr hdr = HDR_READ_REQ(msn);
	u8 req[28];

	put_unaligned_be32(sink_stag, req);
	put_unaligned_be64(sink_to, req + 4);
	put_unaligned_be32(size, req + 12);
	put_unaligned_be32(src_stag, req + 16);
	put_unaligned_be64(src_to, req + 20);
	peer_send(p, &hdr, req, sizeof(req));
}

/* Return: @len, 0 at the end of the stream, or an errno */
static int recv_all(struct peer *p, void *data, u32 len)
{
	struct msghdr msg = { };
	struct kvec vec = { .iov_base = data, .iov_len = len };
	int n;

	n = kernel_recvmsg(p->sock, &msg, &vec, 1, len, MSG_WAITALL);
	if (n > 0 && n != len) {
		KUNIT_FAIL(p->test, "the stream ends inside of an FPDU");
		return -EPROTO;
	}
	return n;
}

/* An FPDU without markers. Return: octets of it, 0 at the end of the stream, or an errno. */
static int recv_fpdu(struct peer *p)
{
	u32 all;
	int n;

	n = recv_all(p, p->in, 2);
	if (n <= 0)
		return n;
	all = mpa_fpdu_len(get_unaligned_be16(p->in));
	KUNIT_ASSERT_LE(p->test, all, PEER_ROOM);
	n = recv_all(p, p->in + 2, all - 2);
	if (n <= 0)
		return n ?: -EPROTO;
	if (!p->no_crc)
		KUNIT_EXPECT_EQ(p->test, get_unaligned_le32(p->in + all - 4),
				mpa_crc_final(mpa_crc_add(mpa_crc_start(), p->in, all - 4)));
	return all;
}

/* The same with markers, each of which must be right and in the CRC (RFC 5044 4.3, 4.4) */
static int recv_marked(struct peer *p)
{
	u32 all = 4, have = 0, start = 0, crc = mpa_crc_start();
	bool begun = false;
	u8 word[4];
	int n;

	for (; have < all; begun = true) {
		n = recv_all(p, word, 4);
		if (n <= 0)
			return begun && !n ? -EPROTO : n;
		if (p->in_pos % 512 == 0) {
			KUNIT_EXPECT_EQ_MSG(p->test, get_unaligned_be32(word),
					    have ? p->in_pos - start : 0, "marker at %u",
					    p->in_pos);
			crc = mpa_crc_add(crc, word, 4);
			p->in_pos += 4;
			continue;
		}
		if (!have)
			start = p->in_pos;
		memcpy(p->in + have, word, 4);
		if (!have)
			all = mpa_fpdu_len(get_unaligned_be16(p->in));
		KUNIT_ASSERT_LE(p->test, all, PEER_ROOM);
		have += 4;
		p->in_pos += 4;
		if (have < all)
			crc = mpa_crc_add(crc, word, 4);
	}
	if (!p->no_crc)
		KUNIT_EXPECT_EQ(p->test, get_unaligned_le32(word), mpa_crc_final(crc));
	set_bit(start % 512 / 4, p->phases);
	return all;
}

/**
 * peer_recv - the next FPDU, whose CRC and markers must be good
 * @p: connected
 *
 * Return: octets of the ULPDU; 0 at the end of the stream; an errno.
 */
int peer_recv(struct peer *p)
{
	u32 len;
	int n;

	n = p->tx_markers ? recv_marked(p) : recv_fpdu(p);
	if (n <= 0)
		return n;
	len = get_unaligned_be16(p->in);
	p->in_len = len;
	ddp_decode(p->in + 2, &p->hdr);
	if (p->rdmac) {
		p->hdr.version ^= 1;
		p->hdr.ulp ^= 0x40;
	}
	p->asked = p->acks && p->hdr.ulp & 0x20;
	if (p->acks)
		p->hdr.ulp &= ~0x20;
	n = p->hdr.tagged ? 14 : 18;
	KUNIT_ASSERT_GE(p->test, len, n);
	p->data = p->in + 2 + n;
	p->data_len = len - n;
	return len;
}

/**
 * peer_message - receive the FPDUs of a message, to the last one
 * @p: connected
 *
 * Return: octets after the DDP headers.
 */
u32 peer_message(struct peer *p)
{
	u32 got = 0;

	do {
		KUNIT_ASSERT_GT(p->test, peer_recv(p), 0);
		got += p->data_len;
	} while (!p->hdr.last);
	return got;
}

/**
 * peer_expect - the next FPDU has this control octet, and is a whole message
 * @p: connected
 * @ulp: RDMAP control octet
 * @data_len: octets after the DDP header
 */
void peer_expect(struct peer *p, u8 ulp, u32 data_len)
{
	KUNIT_ASSERT_GT(p->test, peer_recv(p), 0);
	KUNIT_EXPECT_EQ(p->test, p->hdr.ulp, ulp);
	KUNIT_EXPECT_TRUE(p->test, p->hdr.last);
	KUNIT_EXPECT_EQ(p->test, p->hdr.version, 1);
	KUNIT_EXPECT_EQ(p->test, p->data_len, data_len);
}

/**
 * peer_expect_nothing - the QP sends nothing, and does not close
 * @p: connected
 */
void peer_expect_nothing(struct peer *p)
{
	struct msghdr msg = { };
	u8 octet;
	struct kvec vec = { .iov_base = &octet, .iov_len = 1 };

	msleep(50);
	KUNIT_EXPECT_EQ(p->test, -EAGAIN, kernel_recvmsg(p->sock, &msg, &vec, 1, 1,
							 MSG_DONTWAIT | MSG_PEEK));
}

/**
 * peer_expect_terminate - the next FPDU is a Terminate, the last one before FIN
 * @p: connected; the Terminate is about the segment sent last
 * @what: for messages
 * @code: layer, type and code as on the wire
 * @hdrct: M, D and R bits: which parts of the bad segment must be quoted
 */
void peer_expect_terminate(struct peer *p, const char *what, u16 code, u16 hdrct)
{
	u32 quoted = p->out.at[0] & 0x80 ? 14 : 18, len = 4;

	for (;;) {
		KUNIT_ASSERT_GT_MSG(p->test, peer_recv(p), 0, "%s", what);
		if (!p->skip || p->hdr.ulp != p->skip)
			break;
		p->skipped += p->data_len;
		KUNIT_EXPECT_PTR_EQ_MSG(p->test, memchr_inv(p->data, 0, p->data_len), NULL,
					"%s", what);
	}
	KUNIT_ASSERT_EQ_MSG(p->test, p->hdr.ulp, ULP_TERMINATE, "%s", what);
	KUNIT_EXPECT_EQ_MSG(p->test, p->hdr.qn, 2, "%s", what);
	KUNIT_EXPECT_EQ_MSG(p->test, p->hdr.msn, 1, "%s", what);
	KUNIT_EXPECT_EQ_MSG(p->test, p->hdr.mo, 0, "%s", what);
	KUNIT_EXPECT_TRUE_MSG(p->test, p->hdr.last, "%s", what);
	KUNIT_EXPECT_EQ_MSG(p->test, get_unaligned_be16(p->data), code, "%s", what);
	KUNIT_EXPECT_EQ_MSG(p->test, get_unaligned_be16(p->data + 2), hdrct, "%s", what);
	if (hdrct & 0x2000)
		quoted += 28;
	if (hdrct)
		len += 2 + quoted;
	KUNIT_EXPECT_EQ_MSG(p->test, p->data_len, len, "%s", what);
	if (hdrct && p->data_len == len) {
		KUNIT_EXPECT_EQ_MSG(p->test, get_unaligned_be16(p->data + 4), p->out.len, "%s",
				    what);
		KUNIT_EXPECT_EQ_MSG(p->test, memcmp(p->data + 6, p->out.at, quoted), 0,
				    "%s: quoted header", what);
	}
	peer_expect_end(p, what, 0);
}

/**
 * peer_expect_end - nothing but the end of the stream
 * @p: connected
 * @what: for messages
 * @want: 0 for FIN, -ECONNRESET for RST
 */
void peer_expect_end(struct peer *p, const char *what, int want)
{
	KUNIT_EXPECT_EQ_MSG(p->test, peer_recv(p), want, "%s", what);
}

/**
 * peer_expect_event - the events that the consumer has had until now
 * @p: the QP; it has come to an end
 * @what: for messages
 * @event: the one event, or -1 for none
 */
void peer_expect_event(struct peer *p, const char *what, int event)
{
	KUNIT_EXPECT_EQ_MSG(p->test, p->num_events, event >= 0, "%s", what);
	if (event >= 0 && p->num_events)
		KUNIT_EXPECT_EQ_MSG(p->test, (int)p->events[0], event, "%s", what);
}

/**
 * peer_close - close the test's end, with FIN
 * @p: may be closed
 */
void peer_close(struct peer *p)
{
	if (p->sock)
		sock_release(p->sock);
	p->sock = NULL;
}

/**
 * peer_reset - close the test's end, with RST
 * @p: connected
 */
void peer_reset(struct peer *p)
{
	sock_no_linger(p->sock->sk);
	peer_close(p);
}

/**
 * peer_was_reset - has the QP's end reset the stream, after a FIN or without one?
 * @p: connected before; waits for it
 */
bool peer_was_reset(struct peer *p)
{
	return peer_until(READ_ONCE(p->sock->sk->sk_state) == TCP_CLOSE);
}

/**
 * peer_expect_closed - the QP has come to its end
 * @p: the QP
 * @what: for messages
 * @state: the state it must be in
 */
void peer_expect_closed(struct peer *p, const char *what, enum srnic_qp_state state)
{
	KUNIT_ASSERT_TRUE_MSG(p->test, peer_until(READ_ONCE(p->closed)), "%s", what);
	KUNIT_EXPECT_EQ_MSG(p->test, p->closed, 1, "%s", what);
	KUNIT_EXPECT_EQ_MSG(p->test, srnic_qp_state(p->qp), state, "%s", what);
	p->closed = 0;
}
