// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* qp: the last Terminate of a QP, as the driver's method reports it (QP-15) */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "lastterm.h"
#include "pair.h"
#include "qp.h"

static const struct srnic_terminate none;

static void expect_same(const struct srnic_terminate *got, const struct srnic_terminate *want,
			const char *what)
{
	const uint8_t *g = (const uint8_t *)got, *w = (const uint8_t *)want;

	for (size_t i = 0; i < sizeof(*got); i++)
		require(g[i] == w[i], "%s: octet %zu is %02x, not %02x", what, i, g[i], w[i]);
}

static void expect_none(struct ibv_qp *qp, const char *what)
{
	struct srnic_uresp_terminate resp;

	last_terminate(qp, &resp);
	expect_same(&resp.sent, &none, what);
	expect_same(&resp.received, &none, what);
}

static void put_be(uint8_t *at, uint64_t value, unsigned int octets)
{
	while (octets--) {
		at[octets] = value;
		value >>= 8;
	}
}

/* Other calls of the method: sizes, handles, drivers */
static void answers(struct ibv_qp *qp)
{
	struct { struct srnic_uresp_terminate resp; uint8_t more[200]; } got;
	struct ibv_context *ctx = qp->context, *other = ibv_open_device(ctx->device);
	const uint8_t *at = (const uint8_t *)&got;
	int err;

	require(other, "%s", strerror(errno));
	memset(&got, 0xa5, sizeof(got));
	err = last_terminate_raw(ctx, qp->handle, &got, sizeof(got), SRNIC_DRIVER_ID);
	require(!err, "longer answer: %s", strerror(err));
	require(got.resp.sent.state || got.resp.received.state, "nothing told");
	for (size_t i = sizeof(got.resp); i < sizeof(got); i++)
		require(!at[i], "octet %zu of a longer answer is %02x", i, at[i]);

	memset(&got, 0xa5, sizeof(got));
	for (size_t n = 0; n < sizeof(got.resp); n += n < 8 ? 1 : 40) {
		err = last_terminate_raw(ctx, qp->handle, &got, n, SRNIC_DRIVER_ID);
		require(err == EINVAL, "answer of %zu octets: %s", n, strerror(err));
	}
	err = last_terminate_raw(ctx, qp->handle, (void *)8, sizeof(got.resp), SRNIC_DRIVER_ID);
	require(err == EFAULT, "nowhere to write: %s", strerror(err));
	err = last_terminate_raw(ctx, qp->handle + 1000, &got, sizeof(got.resp), SRNIC_DRIVER_ID);
	require(err == ENOENT, "no such handle: %s", strerror(err));
	err = last_terminate_raw(other, qp->handle, &got, sizeof(got.resp), SRNIC_DRIVER_ID);
	require(err == ENOENT, "handle of another context: %s", strerror(err));
	err = last_terminate_raw(ctx, qp->handle, &got, sizeof(got.resp), 1);
	require(err, "as of another driver");
	for (size_t i = 0; i < sizeof(got); i++)
		require(at[i] == 0xa5, "octet %zu was written in vain", i);
	ibv_close_device(other);
}

/* a requests an access that b does not allow; then both report b's Terminate */
static void one(enum ibv_wr_opcode op, uint32_t len, const struct srnic_terminate *want)
{
	struct srnic_terminate full = *want;
	struct srnic_uresp_terminate resp;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	uint64_t end = now_ms() + 20000;
	struct ibv_sge sge;
	struct pair p;
	int err;

	pair_open(&p);
	expect_none(p.a.qp, "connected");
	sge = sge_of(&p.a, 0, len);
	err = post_wr(&p.a, op, 1, &sge, 1, IBV_SEND_SIGNALED, 0x123456789abcdef0,
		      p.b.mr->rkey ^ 0x5a5a5a00);
	require(!err, "post: %s", strerror(err));
	expect_disconnected(&p.a, "a");
	expect_disconnected(&p.b, "b");

	/* the headers that were sent, from the RFCs' figures */
	if (op == IBV_WR_RDMA_WRITE) {
		full.seg_len = 14 + len;
		full.ddp[0] = 0xc1;
		full.ddp[1] = 0x40;
		put_be(full.ddp + 2, p.b.mr->rkey ^ 0x5a5a5a00, 4);
		put_be(full.ddp + 6, 0x123456789abcdef0, 8);
	} else {
		full.seg_len = 18 + 28;
		full.ddp[0] = 0x41;
		full.ddp[1] = 0x41;
		put_be(full.ddp + 6, 1, 4);
		put_be(full.ddp + 10, 1, 4);
		put_be(full.rdmap, p.a.mr->lkey, 4);
		put_be(full.rdmap + 4, (uintptr_t)p.a.buf, 8);
		put_be(full.rdmap + 12, len, 4);
		put_be(full.rdmap + 16, p.b.mr->rkey ^ 0x5a5a5a00, 4);
		put_be(full.rdmap + 20, 0x123456789abcdef0, 8);
	}
	last_terminate(p.b.qp, &resp);
	expect_same(&resp.sent, &full, "sent");
	expect_same(&resp.received, &none, "received by the sender");
	answers(p.b.qp);
	last_terminate(p.a.qp, &resp);
	expect_same(&resp.received, &full, "received");
	expect_same(&resp.sent, &none, "sent by the receiver");
	answers(p.a.qp);

	while ((err = ibv_modify_qp(p.b.qp, &attr, IBV_QP_STATE))) {
		require(err == EBUSY && now_ms() < end, "reset: %s", strerror(err));
		usleep(10000);
	}
	expect_none(p.b.qp, "in Idle again");
	pair_close(&p);
}

void case_terminate(void)
{
	const struct srnic_terminate of_write = {
		.state = SRNIC_TERMINATE_DONE, .layer = 1, .etype = 1, .code = 0,
		.hdrct = 0xc000, .ddp_len = 14,
	}, of_read = {
		.state = SRNIC_TERMINATE_DONE, .layer = 0, .etype = 1, .code = 0,
		.hdrct = 0xe000, .ddp_len = 18, .rdmap_len = 28,
	};

	one(IBV_WR_RDMA_WRITE, 100, &of_write);
	one(IBV_WR_RDMA_READ, 1000, &of_read);
}
