// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Doorbells that fail. A doorbell is a write(2), which this program replaces by a function of its
 * own: the provider calls it, too.
 */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <rdma/ib_user_verbs.h>
#include "abi.h"

static int doorbell_err;	/* the error of doorbells; 0: they succeed */
static unsigned int refused;

ssize_t write(int fd, const void *buf, size_t len)
{
	const struct ib_uverbs_cmd_hdr *hdr = buf;

	if (doorbell_err && len >= sizeof(*hdr) && len == hdr->in_words * 4UL &&
	    (hdr->command == IB_USER_VERBS_CMD_POST_SEND ||
	     hdr->command == IB_USER_VERBS_CMD_POST_RECV)) {
		refused++;
		errno = doorbell_err;
		return -1;
	}
	return syscall(SYS_write, fd, buf, len);
}

static int send_one(struct pair *p, uint64_t wr_id)
{
	struct ibv_sge sge = sge_of(&p->a, 0, 64);

	return post_wr(&p->a, IBV_WR_SEND, wr_id, &sge, 1, IBV_SEND_SIGNALED, 0, 0);
}

static int send_one_ex(struct pair *p, uint64_t wr_id)
{
	struct ibv_qp_ex *qpx = ibv_qp_to_qp_ex(p->a.qp);

	ibv_wr_start(qpx);
	qpx->wr_id = wr_id;
	qpx->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(qpx);
	ibv_wr_set_sge(qpx, p->a.mr->lkey, (uintptr_t)p->a.buf, 64);
	return ibv_wr_complete(qpx);
}

/* The kthread sleeps, and the device asks for a doorbell. */
static void settle(struct pair *p)
{
	expect_no_wc(p->a.scq, 50, "nothing is under way");
	refused = 0;
}

/* WRs @first to @last arrive, each once and in order. */
static void arrive(struct pair *p, uint64_t first, uint64_t last, const char *what)
{
	for (uint64_t id = first; id <= last; id++) {
		expect_wc(p->a.scq, id, IBV_WC_SUCCESS, what);
		expect_wc(p->b.rcq, id, IBV_WC_SUCCESS, what);
	}
	expect_no_wc(p->a.scq, 20, what);
	expect_no_wc(p->b.rcq, 20, what);
}

static void with_error(struct pair *p, int err, int (*send)(struct pair *p, uint64_t wr_id))
{
	static uint64_t id = 1000;
	int ret;

	for (int i = 0; i < 3; i++)
		must_recv(&p->b, id + i, 64 * i, 64);
	settle(p);
	doorbell_err = err;
	ret = send(p, id);
	require(!ret && refused, "post: %s, %u doorbells failed", strerror(ret), refused);
	/* from here on the kthread may find the WR by itself: it wakes once to put idle pages */
	doorbell_err = 0;
	ret = send(p, id + 1);		/* this doorbell is for both WRs */
	require(!ret, "post: %s", strerror(ret));
	arrive(p, id, id + 1, "the next post");

	settle(p);
	doorbell_err = err;
	ret = send(p, id + 2);
	require(!ret && refused, "post: %s, %u doorbells failed", strerror(ret), refused);
	doorbell_err = 0;
	expect_wc(p->a.scq, id + 2, IBV_WC_SUCCESS, "a poll");	/* polling rings */
	expect_wc(p->b.rcq, id + 2, IBV_WC_SUCCESS, "a poll");
	expect_no_wc(p->b.rcq, 20, "a poll");
	id += 3;
}

static void ex_hook(struct end *e, struct ibv_qp_init_attr_ex *attr)
{
	attr->comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	attr->send_ops_flags = IBV_QP_EX_WITH_SEND;
}

/* A queue full of WRs whose doorbell has failed: the program can only poll, which rings again. */
static void full(struct pair *p)
{
	const uint32_t n = p->a.cap.max_send_wr;

	for (uint32_t i = 0; i < n; i++)
		must_recv(&p->b, i, 0, 64);
	settle(p);
	doorbell_err = EBUSY;
	for (uint32_t i = 0; i < n; i++)
		require(!send_one(p, i), "WR %u", i);
	require(send_one(p, n) == ENOMEM, "one more");
	doorbell_err = 0;
	arrive(p, 0, n - 1, "a full queue");
}

/* In Error a doorbell flushes posted WRs. */
static void in_error(struct pair *p)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	require(!ibv_modify_qp(p->a.qp, &attr, IBV_QP_STATE), "to Error");
	expect_disconnected(&p->a, "Error");
	expect_disconnected(&p->b, "Error");
	doorbell_err = ENOMEM;
	must_recv(&p->a, 7, 0, 64);
	require(!send_one(p, 8), "post");
	expect_no_wc(p->a.rcq, 50, "the kernel was not told");
	doorbell_err = 0;
	expect_wc(p->a.rcq, 7, IBV_WC_WR_FLUSH_ERR, "a receive in Error");
	expect_wc(p->a.scq, 8, IBV_WC_WR_FLUSH_ERR, "a send in Error");
}

/* If the doorbell fails for good, the post fails. */
static void for_good(struct pair *p)
{
	settle(p);
	doorbell_err = EIO;
	require(send_one(p, 1) == EIO, "EIO");
	require(refused == 1, "%u tries", refused);
	doorbell_err = 0;
}

void case_doorbell(void)
{
	struct pair p;

	end_hook = ex_hook;
	pair_open(&p);
	with_error(&p, EBUSY, send_one);
	with_error(&p, ENOMEM, send_one);
	with_error(&p, EAGAIN, send_one);
	with_error(&p, EBUSY, send_one_ex);
	full(&p);
	pair_works(&p, "after doorbells that failed");
	in_error(&p);
	pair_close(&p);

	pair_open(&p);
	for_good(&p);
	pair_close(&p);
}
