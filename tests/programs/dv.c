// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * dv: libsrnic's own functions, called by a program that is linked with the library.
 *
 *	dv --list		names of the cases
 *	dv ADDR CASE		run one, over the device that has address ADDR
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include <infiniband/srnicdv.h>
#include "handfd.h"

static const char reply[] = "so be it";

static int attach(struct hand *h, uint32_t flags, const void *msg, size_t len)
{
	struct srnicdv_stream_attr attr = {
		.fd = h->fd, .flags = flags, .ird = 4, .ord = 4, .last_msg = msg, .last_len = len,
	};

	return srnicdv_attach_stream(h->qp, &attr);
}

static void turn(struct hand *a, struct hand *b, uint32_t a_flags, uint32_t b_flags)
{
	char got[sizeof(reply)];
	int err;

	err = attach(b, b_flags | SRNICDV_STREAM_RESPONDER, reply, sizeof(reply));
	require(!err, "responder: %s", strerror(err));
	require(recv(a->fd, got, sizeof(got), MSG_WAITALL) == sizeof(got) &&
		!memcmp(got, reply, sizeof(got)), "the last message: %s", strerror(errno));
	err = attach(a, a_flags, NULL, 0);
	require(!err, "initiator: %s", strerror(err));
	require(a->qp->state == IBV_QPS_RTS && b->qp->state == IBV_QPS_RTS, "%d, %d",
		a->qp->state, b->qp->state);
}

static void case_attach(void)
{
	for (unsigned int i = 0; i < 4; i++) {
		uint32_t to_b = i & 1, to_a = i & 2;
		struct hand a, b;

		hand_open(&a, &b, test_addr);
		turn(&a, &b, SRNICDV_STREAM_CRC | (to_b ? SRNICDV_STREAM_TX_MARKERS : 0) |
		     (to_a ? SRNICDV_STREAM_RX_MARKERS : 0),
		     SRNICDV_STREAM_CRC | (to_a ? SRNICDV_STREAM_TX_MARKERS : 0) |
		     (to_b ? SRNICDV_STREAM_RX_MARKERS : 0));
		hand_exchange(&a, &b, 10000);
		hand_close(&a, &b);
	}
}

static uint32_t stream_of(struct ibv_qp *qp)
{
	struct srnic_uresp_qp_query is;

	require(!srnicdv_query_qp(qp, &is, sizeof(is)), "query");
	return is.flags & ~SRNIC_QP_QUERY_INITIATOR;
}

/* Version 0 has CRC and markers, whatever the flags are; a peer of version 1 is none */
static void case_rdmac(void)
{
	const uint32_t want = SRNIC_QP_QUERY_STREAM | SRNIC_QP_QUERY_CRC | SRNIC_QP_QUERY_TX_MARKERS |
			      SRNIC_QP_QUERY_RX_MARKERS | SRNIC_QP_QUERY_RDMAC;
	const uint32_t both = SRNICDV_STREAM_CRC | SRNICDV_STREAM_TX_MARKERS |
			      SRNICDV_STREAM_RX_MARKERS;
	struct srnicdv_terminate term;
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad;
	uint64_t end = now_ms() + 20000;
	struct hand a, b;

	hand_open(&a, &b, test_addr);
	turn(&a, &b, SRNICDV_STREAM_RDMAC, SRNICDV_STREAM_RDMAC);
	require(stream_of(a.qp) == want && stream_of(b.qp) == want, "%x, %x", stream_of(a.qp),
		stream_of(b.qp));
	hand_exchange(&a, &b, 10000);
	hand_close(&a, &b);

	hand_open(&a, &b, test_addr);
	turn(&a, &b, both, SRNICDV_STREAM_RDMAC);
	require(!ibv_post_send(a.qp, &wr, &bad), "post");
	do {
		require(now_ms() < end, "no Terminate");
		usleep(1000);
		require(!srnicdv_query_terminate(b.qp, &term), "query");
	} while (!term.valid);
	/* RDMAC verbs Figure 24: invalid DDP version, 0x1206 */
	require(term.local && term.layer == 1 && term.etype == 2 && term.code == 6,
		"%u/%u/%u", term.layer, term.etype, term.code);
	hand_close(&a, &b);
}

static void case_refused(void)
{
	struct srnicdv_stream_attr attr = { .flags = SRNICDV_STREAM_CRC, .ird = 1, .ord = 1 };
	static char much[65536];
	struct hand a, b;
	int err;

	hand_open(&a, &b, test_addr);
	attr.fd = -1;
	require((err = srnicdv_attach_stream(a.qp, &attr)) == EBADF, "%s", strerror(err));
	attr.fd = a.fd;
	attr.comp_mask = 1;
	require((err = srnicdv_attach_stream(a.qp, &attr)) == EOPNOTSUPP, "%s", strerror(err));
	attr.comp_mask = 0;
	attr.last_len = 1;
	require((err = srnicdv_attach_stream(a.qp, &attr)) == EINVAL, "%s", strerror(err));
	attr.last_msg = much;
	attr.last_len = sizeof(much);
	require((err = srnicdv_attach_stream(a.qp, &attr)) == EINVAL, "%s", strerror(err));
	attr.last_len = 0;
	attr.flags = 1 << 7;
	require((err = srnicdv_attach_stream(a.qp, &attr)) == EOPNOTSUPP, "%s", strerror(err));
	attr.flags = SRNICDV_STREAM_CRC;
	attr.ird = 1000;
	require((err = srnicdv_attach_stream(a.qp, &attr)) == EINVAL, "%s", strerror(err));
	require(a.qp->state == IBV_QPS_INIT, "%d", a.qp->state);
	hand_sockets_work(a.fd, b.fd, "after all of this");
	/* the longest possible message */
	err = attach(&b, SRNICDV_STREAM_CRC | SRNICDV_STREAM_RESPONDER, much, 65535);
	require(!err, "%s", strerror(err));
	for (size_t got = 0; got < 65535;) {
		ssize_t n = recv(a.fd, much, sizeof(much), 0);

		require(n > 0, "%s", strerror(errno));
		got += n;
	}
	hand_close(&a, &b);
}

static void case_terminate(void)
{
	struct srnicdv_terminate term;
	struct ibv_sge sge;
	struct ibv_send_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1,
				  .opcode = IBV_WR_RDMA_WRITE }, *bad;
	uint64_t end = now_ms() + 20000;
	struct hand a, b;

	hand_open(&a, &b, test_addr);
	turn(&a, &b, SRNICDV_STREAM_CRC, SRNICDV_STREAM_CRC);
	require(!srnicdv_query_terminate(a.qp, &term) && !term.valid, "none as yet");
	sge = (struct ibv_sge){ (uintptr_t)a.buf, 100, a.mr->lkey };
	wr.wr.rdma.rkey = b.mr->rkey ^ 0x5a5a5a00;
	require(!ibv_post_send(a.qp, &wr, &bad), "post");
	do {
		require(now_ms() < end, "no Terminate");
		usleep(1000);
		require(!srnicdv_query_terminate(a.qp, &term), "query");
	} while (!term.valid);
	/* RFC 5040 4.8: RDMAP's and DDP's tables */
	require(!term.local && !term.sent && term.layer == 1 && term.etype == 1 && !term.code &&
		term.ddp_len == 14 && term.seg_len == 114, "at the writer: %u/%u/%u", term.layer,
		term.etype, term.code);
	/* it may be here before its sender has noted that TCP took it */
	do {
		require(now_ms() < end, "not sent");
		require(!srnicdv_query_terminate(b.qp, &term), "query");
	} while (!term.sent);
	require(term.valid && term.local && term.layer == 1 && term.etype == 1 && !term.code &&
		term.ddp_len == 14, "at the other end");
	hand_close(&a, &b);
}

/* query.c judges the kernel's own responses */
static void case_query(void)
{
	struct { struct srnic_uresp_qp_query resp; uint8_t more[64]; } longer;
	struct srnic_uresp_dev_query dev;
	struct srnic_uresp_qp_query qp;
	struct srnic_uresp_cq_query cq;
	struct srnic_uresp_mr_query mr;
	struct srnic_uresp_mw_query mw;
	struct srnic_uresp_srq_query srq;
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_srq *s;
	struct ibv_mw *w;
	struct hand h;

	hand_qp(&h);
	s = ibv_create_srq(h.pd, &init);
	w = ibv_alloc_mw(h.pd, IBV_MW_TYPE_2);
	require(s && w, "%s", strerror(errno));
	require(!srnicdv_query_device(h.qp->context, &dev, sizeof(dev)) && dev.max_ird == 128,
		"device");
	require(!srnicdv_query_qp(h.qp, &qp, sizeof(qp)) && qp.qpn == h.qp->qp_num, "QP");
	require(!srnicdv_query_cq(h.cq, &cq, sizeof(cq)) && (int)cq.entries == h.cq->cqe, "CQ");
	require(!srnicdv_query_srq(s, &srq, sizeof(srq)) && srq.max_wr == init.attr.max_wr, "SRQ");
	require(!srnicdv_query_mr(h.mr, &mr, sizeof(mr)) && mr.stag == h.mr->lkey &&
		mr.length == BUF_SIZE, "MR");
	require(!srnicdv_query_mw(w, &mw, sizeof(mw)) && mw.stag == w->rkey && mw.type == 2, "MW");
	require(srnicdv_query_qp(h.qp, &qp, 20) == EINVAL, "a short answer");
	require(srnicdv_query_qp(h.qp, &qp, 65536) == EINVAL, "a long answer");
	memset(&longer, 0xa5, sizeof(longer));
	require(!srnicdv_query_qp(h.qp, &longer.resp, sizeof(longer)) && !longer.more[0] &&
		!longer.more[63], "a longer answer");
	require(!ibv_dealloc_mw(w) && !ibv_destroy_srq(s), "%s", strerror(errno));
	hand_qp_end(&h);
}

static struct ibv_mr *share(struct ibv_pd *pd, struct ibv_mr *source, uint64_t iova, int access)
{
	struct ibv_mr *mr = srnicdv_reg_shared_mr(pd, source, iova, access);

	require(mr, "%s", strerror(errno));
	return mr;
}

static void no_share(struct ibv_pd *pd, struct ibv_mr *source, uint64_t iova, int access,
		     int want, const char *what)
{
	require(!srnicdv_reg_shared_mr(pd, source, iova, access) && errno == want, "%s: %s", what,
		strerror(errno));
}

static struct srnic_uresp_mr_query mr_query(struct ibv_mr *mr)
{
	struct srnic_uresp_mr_query resp;

	require(!srnicdv_query_mr(mr, &resp, sizeof(resp)), "query");
	return resp;
}

/* A Write by @stag that completes, and a Read behind it that shows whether it was placed */
static void write_by(struct hand *h, uint32_t stag, uint64_t to, enum ibv_wc_status want)
{
	struct ibv_sge sge = { (uintptr_t)h->buf, 8, h->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1,
				  .opcode = IBV_WR_RDMA_WRITE }, *bad;

	wr.wr.rdma.rkey = stag;
	wr.wr.rdma.remote_addr = to;
	require(!ibv_post_send(h->qp, &wr, &bad), "write");
	expect_wc(h->cq, 1, IBV_WC_SUCCESS, "write");
	wr.opcode = IBV_WR_RDMA_READ;
	sge.addr += 8;
	require(!ibv_post_send(h->qp, &wr, &bad), "read");
	expect_wc(h->cq, 1, want, "read");
}

static void case_shared(void)
{
	void *none = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *one, *two, *three;
	struct ibv_pd *other;
	uint64_t base;
	struct hand a, b;

	require(none != MAP_FAILED, "%s", strerror(errno));
	hand_open(&a, &b, test_addr);
	turn(&a, &b, SRNICDV_STREAM_CRC, SRNICDV_STREAM_CRC);
	other = ibv_alloc_pd(b.qp->context);
	one = ibv_reg_mr(b.pd, b.buf + 100, 5000, IBV_ACCESS_LOCAL_WRITE);
	require(other && one, "%s", strerror(errno));
	base = mr_query(one).base;
	require(mr_query(one).flags == SRNIC_STAG_VALID, "not shared as yet");
	no_share(b.pd, one, base + 1, 0, EINVAL, "another offset in the page");
	no_share(b.pd, one, -(uint64_t)4096 + base % 4096, 0, EINVAL, "TOs that wrap");
	no_share(b.pd, one, base, IBV_ACCESS_REMOTE_WRITE, EINVAL, "remote without local write");
	require(mr_query(one).flags == SRNIC_STAG_VALID, "not shared by what has failed");

	two = share(b.pd, one, base + (1 << 30), ACCESS_ALL);
	three = share(other, two, 0, IBV_ACCESS_ZERO_BASED);
	require(mr_query(one).flags == (SRNIC_STAG_VALID | SRNIC_STAG_SHARED) &&
		!(mr_query(one).rights & SRNIC_STAG_REMOTE_WRITE), "the source");
	require(mr_query(two).flags == (SRNIC_STAG_VALID | SRNIC_STAG_SHARED) &&
		mr_query(two).base == base + (1 << 30) && mr_query(two).length == 5000 &&
		mr_query(two).rights & SRNIC_STAG_REMOTE_WRITE, "the second");
	require(!mr_query(three).base && mr_query(three).rights ==
		(SRNIC_STAG_LOCAL_READ | SRNIC_STAG_ZERO_BASED), "the third");
	require(two->lkey != one->lkey && three->lkey != one->lkey, "STags");

	/* registered anew, it is still shared; and Valid, if it could not be */
	require(!ibv_rereg_mr(two, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0) &&
		mr_query(two).rights == SRNIC_STAG_LOCAL_READ &&
		mr_query(two).flags == (SRNIC_STAG_VALID | SRNIC_STAG_SHARED), "other rights");
	require(!ibv_rereg_mr(two, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, ACCESS_ALL),
		"its rights again: %s", strerror(errno));
	require(ibv_rereg_mr(two, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, none, 4096, 0) &&
		errno == EFAULT && mr_query(two).flags == (SRNIC_STAG_VALID | SRNIC_STAG_SHARED) &&
		mr_query(two).length == 5000, "memory that is none");
	require(!ibv_rereg_mr(one, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, b.buf, 100, 0) &&
		mr_query(one).length == 100 &&
		mr_query(one).flags == (SRNIC_STAG_VALID | SRNIC_STAG_SHARED), "other memory");

	/*
	 * shared memory: a write by the second STag arrives, also after the first is deregistered
	 */
	memcpy(a.buf, "sharing", 8);
	write_by(&a, two->rkey, base + (1 << 30) + 10, IBV_WC_SUCCESS);
	require(!memcmp(b.buf + 110, "sharing", 8) && !memcmp(a.buf + 8, "sharing", 8), "data");
	require(!ibv_dereg_mr(one), "%s", strerror(errno));
	memcpy(a.buf, "goes on", 8);
	write_by(&a, two->rkey, base + (1 << 30) + 20, IBV_WC_SUCCESS);
	require(!memcmp(b.buf + 120, "goes on", 8), "data");
	require(!ibv_dereg_mr(three) && !ibv_dereg_mr(two) && !ibv_dealloc_pd(other), "%s",
		strerror(errno));
	munmap(none, 4096);
	hand_close(&a, &b);
}

/*
 * Memory that was registered for reading only: the rights of each region are its own (MR-26), as
 * far as the process can write there. And a shared source cannot be invalidated
 */
static void case_shared_rights(void)
{
	void *constant = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_send_wr wr = { .wr_id = 5, .opcode = IBV_WR_LOCAL_INV }, *bad;
	struct ibv_mr *one, *two, *three;
	struct hand a, b;

	require(constant != MAP_FAILED, "%s", strerror(errno));
	hand_open(&a, &b, test_addr);
	turn(&a, &b, SRNICDV_STREAM_CRC, SRNICDV_STREAM_CRC);
	one = ibv_reg_mr(b.pd, constant, 4096, IBV_ACCESS_REMOTE_READ);
	require(one, "%s", strerror(errno));
	no_share(b.pd, one, (uintptr_t)constant, IBV_ACCESS_LOCAL_WRITE, EACCES, "writing");
	require(mr_query(one).flags == SRNIC_STAG_VALID, "not shared by what has failed");
	two = share(b.pd, one, (uintptr_t)constant, 0);
	no_share(b.pd, two, (uintptr_t)constant, IBV_ACCESS_LOCAL_WRITE, EACCES, "writing");
	require(!ibv_dereg_mr(two) && !ibv_dereg_mr(one), "%s", strerror(errno));
	one = ibv_reg_mr(b.pd, b.buf, 4096, IBV_ACCESS_REMOTE_READ);
	require(one, "%s", strerror(errno));
	no_share(b.pd, one, (uintptr_t)b.buf + 1, IBV_ACCESS_LOCAL_WRITE, EINVAL, "another offset");
	two = share(b.pd, one, (uintptr_t)b.buf, 0);
	three = share(b.pd, two, (uintptr_t)b.buf, ACCESS_ALL);
	require(mr_query(one).rights == (SRNIC_STAG_LOCAL_READ | SRNIC_STAG_REMOTE_READ) &&
		mr_query(two).rights == SRNIC_STAG_LOCAL_READ, "rights of the others");
	memcpy(a.buf, "written", 8);
	write_by(&a, three->rkey, (uintptr_t)b.buf + 100, IBV_WC_SUCCESS);
	require(!memcmp(b.buf + 100, "written", 8) && !memcmp(a.buf + 8, "written", 8), "data");
	wr.invalidate_rkey = one->rkey;
	require(!ibv_post_send(b.qp, &wr, &bad), "invalidate");
	require(wait_wc(b.cq, "invalidate").status != IBV_WC_SUCCESS, "invalidated");
	require(mr_query(one).flags == (SRNIC_STAG_VALID | SRNIC_STAG_SHARED), "still Valid");
	require(!ibv_dereg_mr(three) && !ibv_dereg_mr(two) && !ibv_dereg_mr(one), "%s",
		strerror(errno));
	/* the other way to the right: registered anew */
	one = ibv_reg_mr(b.pd, b.buf, 4096, IBV_ACCESS_REMOTE_READ);
	require(one, "%s", strerror(errno));
	two = share(b.pd, one, (uintptr_t)b.buf, 0);
	require(!ibv_rereg_mr(two, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			      IBV_ACCESS_LOCAL_WRITE) &&
		mr_query(two).rights & SRNIC_STAG_LOCAL_WRITE &&
		!(mr_query(one).rights & SRNIC_STAG_LOCAL_WRITE), "writing: %s", strerror(errno));
	require(!ibv_dereg_mr(two) && !ibv_dereg_mr(one), "%s", strerror(errno));
	munmap(constant, 4096);
	hand_close(&a, &b);
}

/* The key of a region is the program's, after each way of registering it */
static void case_key(void)
{
	struct ibv_send_wr wr = { .wr_id = 5, .opcode = IBV_WR_RDMA_READ, .num_sge = 1 }, *bad;
	struct ibv_mr *mr, *two;
	struct ibv_sge sge;
	struct hand a, b;
	uint32_t index;

	hand_open(&a, &b, test_addr);
	turn(&a, &b, SRNICDV_STREAM_CRC, SRNICDV_STREAM_CRC);
	mr = ibv_reg_mr(b.pd, b.buf, 4096, ACCESS_ALL);
	require(mr, "%s", strerror(errno));
	index = mr->rkey >> 8;
	for (unsigned int key = 0; key < 256; key += 15) {
		require(!srnicdv_set_mr_key(mr, key), "key %u", key);
		require(mr->rkey == (index << 8 | key) && mr->lkey == mr->rkey &&
			mr_query(mr).stag == mr->rkey, "STag %#x", mr->rkey);
	}
	sge = (struct ibv_sge){ (uintptr_t)a.buf + 16, 8, a.mr->lkey };
	wr.sg_list = &sge;
	memcpy(a.buf, "by key ", 8);
	write_by(&a, mr->rkey, (uintptr_t)b.buf + 10, IBV_WC_SUCCESS);
	require(!memcmp(b.buf + 10, "by key ", 8), "data");
	require(!ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, b.buf, 2048, 0) &&
		mr->rkey == (index << 8 | 255), "the key stays");
	two = share(b.pd, mr, (uintptr_t)b.buf, 0);
	require(!srnicdv_set_mr_key(two, 7) && (two->lkey & 255) == 7, "of a shared one");
	require(!srnicdv_set_mr_key(mr, 8) && (mr->lkey & 255) == 8, "of the other");
	/* the old key is none */
	wr.wr.rdma.rkey = index << 8 | 255;
	wr.wr.rdma.remote_addr = (uintptr_t)b.buf;
	require(!ibv_post_send(a.qp, &wr, &bad), "read");
	require(wait_wc(a.cq, "read").status != IBV_WC_SUCCESS, "read by the old key");
	require(!ibv_dereg_mr(two) && !ibv_dereg_mr(mr), "%s", strerror(errno));
	hand_close(&a, &b);
}

/* What read(2) returns at the writer to an unknown STag, and at its peer */
static void case_events(void)
{
	struct srnic_event_record at_a, at_b, swap;
	struct {
		struct srnic_event_record rec;
		uint8_t more[40];	/* as a later kernel may have */
	} longer;
	struct ibv_sge sge;
	struct ibv_send_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1,
				  .opcode = IBV_WR_RDMA_WRITE }, *bad;
	struct hand a, b;
	int fd_a, fd_b;

	hand_open(&a, &b, test_addr);
	fd_a = srnicdv_open_events(a.qp->context);
	require(fd_a >= 0, "%s", strerror(errno));
	if (b.qp->context == a.qp->context) {
		require(srnicdv_open_events(b.qp->context) == -1 && errno == EBUSY, "one: %s",
			strerror(errno));
		fd_b = fd_a;
	} else {
		fd_b = srnicdv_open_events(b.qp->context);
	}
	require(srnicdv_arm_rq(a.qp, 0) == EINVAL, "no SRQ");
	turn(&a, &b, SRNICDV_STREAM_CRC, SRNICDV_STREAM_CRC);
	sge = (struct ibv_sge){ (uintptr_t)a.buf, 100, a.mr->lkey };
	wr.wr.rdma.rkey = b.mr->rkey ^ 0x5a5a5a00;
	require(!ibv_post_send(a.qp, &wr, &bad), "post");
	memset(&longer, 0xa5, sizeof(longer));
	require(read(fd_b, &longer, sizeof(longer)) == sizeof(longer.rec), "one record: %s",
		strerror(errno));
	for (size_t i = 0; i < sizeof(longer.more); i++)
		require(longer.more[i] == 0xa5, "more was written than a record");
	at_b = longer.rec;
	require(read(fd_a, &at_a, sizeof(at_a)) == sizeof(at_a), "%s", strerror(errno));
	/* with one descriptor for both, the QP that ends first comes first */
	if (at_b.number == a.qp->qp_num) {
		swap = at_a;
		at_a = at_b;
		at_b = swap;
	}
	require(at_b.event == SRNIC_EV_TAGGED_STAG && at_b.object == SRNIC_EVENT_OF_QP &&
		at_b.number == b.qp->qp_num && at_b.error &&
		at_b.flags == SRNIC_EVENT_TERMINATE_SENT && at_b.term.layer == 1 &&
		at_b.term.etype == 1 && at_b.term.ddp_len == 14 && at_b.term.seg_len == 114,
		"at the target: event %u of %u", at_b.event, at_b.number);
	require(at_a.event == SRNIC_EV_TERMINATE_RECEIVED && at_a.number == a.qp->qp_num &&
		!at_a.flags && at_a.term.state == SRNIC_TERMINATE_DONE && at_a.term.layer == 1,
		"at the writer: event %u of %u", at_a.event, at_a.number);
	close(fd_a);
	if (fd_b != fd_a)
		close(fd_b);
	hand_close(&a, &b);
}

/* Another QP, with so many SGEs, in the place of that of hand_qp(); or an errno */
static int with_sges(struct hand *h, uint32_t send, uint32_t write, uint64_t comp_mask,
		     uint32_t *got)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1,
				    .qp_access_flags = ACCESS_ALL };
	struct ibv_qp_init_attr_ex init = { .qp_type = IBV_QPT_RC, .sq_sig_all = 1,
					    .send_cq = h->cq, .recv_cq = h->cq, .pd = h->pd,
					    .comp_mask = IBV_QP_INIT_ATTR_PD, .cap = DEFAULT_CAP };
	struct srnicdv_qp_init_attr dv = { .comp_mask = comp_mask, .max_write_sge = write };
	struct ibv_qp *qp;

	init.cap.max_send_sge = send;
	qp = srnicdv_create_qp(h->qp->context, &init, &dv);
	if (!qp)
		return errno;
	require(init.cap.max_send_sge == send, "%u SGEs", init.cap.max_send_sge);
	*got = dv.max_write_sge;
	require(!ibv_destroy_qp(h->qp), "%s", strerror(errno));
	h->qp = qp;
	require(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			       IBV_QP_ACCESS_FLAGS), "%s", strerror(errno));
	return 0;
}

/* A WR of @num SGEs of a byte each: an errno */
static int many_sges(struct hand *a, struct hand *b, enum ibv_wr_opcode op, int num)
{
	struct ibv_sge sge[33];
	struct ibv_send_wr wr = { .wr_id = op, .sg_list = sge, .num_sge = num, .opcode = op }, *bad;
	int err;

	for (int i = 0; i < num; i++)
		sge[i] = (struct ibv_sge){ (uintptr_t)a->buf + i, 1, a->mr->lkey };
	wr.wr.rdma.rkey = b->mr->rkey;
	wr.wr.rdma.remote_addr = (uintptr_t)b->buf;
	err = ibv_post_send(a->qp, &wr, &bad);
	if (!err)
		expect_wc(a->cq, op, IBV_WC_SUCCESS, "SGEs");
	return err;
}

static void case_write_sges(void)
{
	static const struct {
		uint32_t send, write;
	} rows[] = { { 2, 7 }, { 7, 2 }, { 3, 0 }, { 1, 32 } };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint32_t send = rows[i].send, write = rows[i].write ? rows[i].write : send, got = 0;
		struct srnic_uresp_qp_query resp;
		struct ibv_sge sink;
		struct ibv_recv_wr recv = { .sg_list = &sink, .num_sge = 1 }, *bad;
		struct hand a, b;

		hand_open(&a, &b, test_addr);
		require(with_sges(&a, send, write, 1, &got) == EOPNOTSUPP, "%s", strerror(errno));
		require(with_sges(&a, send, 33, 0, &got) == EINVAL, "%s", strerror(errno));
		require(!with_sges(&a, send, rows[i].write, 0, &got), "%s", strerror(errno));
		require(got == write, "%u and not %u", got, write);
		require(!srnicdv_query_qp(a.qp, &resp, sizeof(resp)) && resp.max_write_sge == write &&
			resp.max_send_sge == send, "%u, %u", resp.max_send_sge, resp.max_write_sge);
		sink = (struct ibv_sge){ (uintptr_t)b.buf, 100, b.mr->lkey };
		require(!ibv_post_recv(b.qp, &recv, &bad), "receive");
		turn(&a, &b, SRNICDV_STREAM_CRC, SRNICDV_STREAM_CRC);
		require(many_sges(&a, &b, IBV_WR_RDMA_WRITE, write + 1) == EINVAL, "%u", write);
		require(many_sges(&a, &b, IBV_WR_SEND, send + 1) == EINVAL, "%u", send);
		require(many_sges(&a, &b, IBV_WR_RDMA_READ, send + 1) == EINVAL, "%u", send);
		memset(a.buf, 0xa5, write);
		require(!many_sges(&a, &b, IBV_WR_RDMA_WRITE, write), "%u SGEs", write);
		/* when the Read is done, the Write is there */
		require(!many_sges(&a, &b, IBV_WR_RDMA_READ, send), "%u SGEs", send);
		for (uint32_t j = 0; j < write; j++)
			require(b.buf[j] == 0xa5, "byte %u", j);
		require(!b.buf[write], "more was written");
		require(!many_sges(&a, &b, IBV_WR_SEND, send), "%u SGEs", send);
		hand_close(&a, &b);
	}
}

struct kind {
	int opcode;
	unsigned int flags;
	uint32_t sent, received;	/* 0: nothing is received */
};

/* Another QP and CQ, which is for ibv_start_poll(), in the place of those of hand_qp() */
static void extended(struct hand *h)
{
	struct ibv_cq_init_attr_ex init = { .cqe = 16 };
	struct ibv_cq_ex *cq = ibv_create_cq_ex(h->qp->context, &init);

	require(cq, "%s", strerror(errno));
	require(!ibv_destroy_qp(h->qp) && !ibv_destroy_cq(h->cq), "%s", strerror(errno));
	h->cq = ibv_cq_ex_to_cq(cq);
	hand_another_qp(h);
}

static void expect_op(struct ibv_cq *ibcq, uint32_t want, const char *end)
{
	struct ibv_cq_ex *cq = (struct ibv_cq_ex *)ibcq;
	struct ibv_poll_cq_attr attr = { };
	uint64_t limit = now_ms() + 20000;
	int err;

	while ((err = ibv_start_poll(cq, &attr)) == ENOENT)
		require(now_ms() < limit, "%s: no completion", end);
	require(!err && cq->status == IBV_WC_SUCCESS, "%s: %d, status %d", end, err, cq->status);
	require(srnicdv_wc_read_op(cq) == want, "%s: %#x is not %#x", end, srnicdv_wc_read_op(cq),
		want);
	ibv_end_poll(cq);
}

/* A window of @h, for its peer to invalidate; the first Send has come */
static struct ibv_mw *bound(struct hand *h, struct ibv_mr *mr)
{
	struct ibv_mw *mw = ibv_alloc_mw(h->pd, IBV_MW_TYPE_2);
	struct ibv_send_wr wr = { .opcode = IBV_WR_BIND_MW }, *bad;

	require(mw, "%s", strerror(errno));
	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	wr.bind_mw.bind_info = (struct ibv_mw_bind_info){
		.mr = mr, .addr = (uintptr_t)mr->addr, .length = 10,
		.mw_access_flags = IBV_ACCESS_REMOTE_WRITE };
	require(!ibv_post_send(h->qp, &wr, &bad), "bind");
	mw->rkey = wr.bind_mw.rkey;
	expect_op(h->cq, SRNIC_OP_BIND_MW, "window");
	return mw;
}

static void one_kind(struct hand *from, struct hand *to, const struct kind *k)
{
	struct ibv_sge sge = { (uintptr_t)to->buf, 100, to->mr->lkey };
	struct ibv_recv_wr recv = { .sg_list = &sge, .num_sge = 1 }, *bad_recv;
	struct ibv_mr *mr = ibv_reg_mr(to->pd, to->buf, 100, ACCESS_ALL | IBV_ACCESS_MW_BIND);
	struct ibv_mr *own = ibv_reg_mr(from->pd, from->buf, 100, ACCESS_ALL);
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = k->opcode,
				  .send_flags = k->flags }, *bad;
	struct ibv_mw *mw = NULL;

	require(mr && own, "%s", strerror(errno));
	if (k->received)
		require(!ibv_post_recv(to->qp, &recv, &bad_recv), "receive");
	wr.wr.rdma.rkey = to->mr->rkey;
	wr.wr.rdma.remote_addr = (uintptr_t)to->buf;
	if (k->opcode == IBV_WR_SEND_WITH_INV) {
		mw = bound(to, mr);
		wr.invalidate_rkey = mw->rkey;
	}
	sge = (struct ibv_sge){ (uintptr_t)from->buf, 100, own->lkey };
	require(!ibv_post_send(from->qp, &wr, &bad), "opcode %d", k->opcode);
	expect_op(from->cq, k->sent, "sender");
	if (k->received)
		expect_op(to->cq, k->received, "receiver");
	require((!mw || !ibv_dealloc_mw(mw)) && !ibv_dereg_mr(mr) && !ibv_dereg_mr(own), "%s",
		strerror(errno));
}

static void case_kinds(void)
{
	static const struct kind kinds[] = {
		{ IBV_WR_SEND, 0, SRNIC_OP_SEND, SRNIC_OP_RECV },
		{ IBV_WR_SEND, IBV_SEND_SOLICITED, SRNIC_OP_SEND | SRNICDV_WC_SOLICITED,
		  SRNIC_OP_RECV | SRNICDV_WC_SOLICITED },
		{ IBV_WR_SEND_WITH_INV, 0, SRNIC_OP_SEND_INV, SRNIC_OP_RECV },
		{ IBV_WR_SEND_WITH_INV, IBV_SEND_SOLICITED,
		  SRNIC_OP_SEND_INV | SRNICDV_WC_SOLICITED, SRNIC_OP_RECV | SRNICDV_WC_SOLICITED },
		{ IBV_WR_RDMA_READ, 0, SRNIC_OP_READ, 0 },
		{ SRNICDV_WR_READ_INV, 0, SRNIC_OP_READ_INV, 0 },
		{ IBV_WR_RDMA_WRITE, 0, SRNIC_OP_WRITE, 0 },
	};
	struct hand a, b;

	hand_open(&a, &b, test_addr);
	extended(&a);
	extended(&b);
	turn(&a, &b, SRNICDV_STREAM_CRC, SRNICDV_STREAM_CRC);
	for (unsigned int i = 0; i < ARRAY_SIZE(kinds); i++)
		one_kind(&a, &b, &kinds[i]);
	hand_close(&a, &b);
}

/* How many completions of three flushed receives are there after their QP is destroyed */
static int left_of_three(int (*destroy)(struct ibv_qp *qp))
{
	struct ibv_context *ctx = test_context();
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_cq *cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_recv_wr wr = { 0 }, *bad;
	struct ibv_qp *qp;
	struct ibv_wc wc[4];
	uint32_t qpn;
	int n;

	require(pd && cq, "%s", strerror(errno));
	qp = ibv_create_qp(pd, &init);
	require(qp, "%s", strerror(errno));
	qpn = qp->qp_num;
	for (wr.wr_id = 1; wr.wr_id <= 3; wr.wr_id++)
		require(!ibv_post_recv(qp, &wr, &bad), "post");
	require(!ibv_modify_qp(qp, &attr, IBV_QP_STATE), "to Error");
	require(!destroy(qp), "destroy");
	n = ibv_poll_cq(cq, 4, wc);
	for (int i = 0; i < n; i++)
		require(wc[i].wr_id == i + 1u && wc[i].status == IBV_WC_WR_FLUSH_ERR &&
			wc[i].qp_num == qpn, "completion %d", i);
	require(!ibv_poll_cq(cq, 4, wc), "no more");
	require(!ibv_destroy_cq(cq) && !ibv_dealloc_pd(pd), "end");
	return n;
}

static void case_destroy(void)
{
	require(left_of_three(ibv_destroy_qp) == 0, "discarded");
	require(left_of_three(srnicdv_destroy_qp) == 3, "kept");
}

/* Other drivers' devices, if there are any, are not supported */
static void case_supported(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	require(list, "%s", strerror(errno));
	require(srnicdv_is_supported(test_context()->device), "the device under test");
	for (unsigned int i = 0; list[i]; i++)
		require(srnicdv_is_supported(list[i]) == !strncmp(ibv_get_device_name(list[i]),
								 "sr", 2), "%s",
			ibv_get_device_name(list[i]));
	ibv_free_device_list(list);
}

static const struct test_case cases[] = {
	{ "attach", case_attach, "srnicdv_attach_stream() makes a stream of a socket" },
	{ "rdmac", case_rdmac, "a stream of version 0, and a peer of another version" },
	{ "refused", case_refused, "what srnicdv_attach_stream() refuses, and the longest message" },
	{ "terminate", case_terminate, "srnicdv_query_terminate() tells what ended a stream" },
	{ "query", case_query, "srnicdv_query_*() tell of each kind of object" },
	{ "shared", case_shared, "srnicdv_reg_shared_mr(): one memory, two more regions" },
	{ "shared-rights", case_shared_rights, "what a region that is shared can not do" },
	{ "key", case_key, "srnicdv_set_mr_key(): a key of the program's" },
	{ "events", case_events, "srnicdv_open_events() has events, with the Terminate message" },
	{ "write-sges", case_write_sges, "srnicdv_create_qp(): SGEs of Writes apart from others" },
	{ "kinds", case_kinds, "srnicdv_wc_read_op() tells kinds of Sends and Reads apart" },
	{ "destroy", case_destroy, "srnicdv_destroy_qp() leaves completions that ibv_destroy_qp() discards" },
	{ "supported", case_supported, "srnicdv_is_supported() knows devices of srnic" },
};

static const struct test_program prog = {
	.usage = "dv --list | dv ADDR CASE",
	.timeout_env = "DV_TIMEOUT",
	.timeout = 60,
	.cases = cases,
	.count = ARRAY_SIZE(cases),
};

int main(int argc, char **argv)
{
	return run_cases(&prog, argc, argv);
}
