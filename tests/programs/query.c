// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * query: objects in the terms of the RDMAC verbs, as the driver's methods report them.
 *
 *	query --list		names of the cases
 *	query ADDR CASE		run one, over the device that has address ADDR
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "handfd.h"
#include "query.h"

#define QUERY(_ctx, _object, _handle, _resp) \
	query(_ctx, UVERBS_OBJECT_##_object, SRNIC_METHOD_##_object##_QUERY, _handle, \
	      _resp, sizeof(*(_resp)))

static void case_device(void)
{
	struct ibv_context *ctx = test_context();
	struct srnic_uresp_dev_query resp, old;
	struct ibv_device_attr attr;
	char version[64];

	require(!ibv_query_device(ctx, &attr), "%s", strerror(errno));
	query(ctx, UVERBS_OBJECT_DEVICE, SRNIC_METHOD_DEV_QUERY, NO_HANDLE, &resp, sizeof(resp));
	require(resp.flags == (SRNIC_DEV_CAN_MODIFY_IRD | SRNIC_DEV_CAN_MODIFY_ORD |
			       SRNIC_DEV_CQ_OVERFLOW_DETECTED | SRNIC_DEV_TAKES_SOCKETS |
			       SRNIC_DEV_SRQ_BY_ARRIVAL | SRNIC_DEV_CRC_REQUIRED |
			       SRNIC_DEV_SRQ | SRNIC_DEV_WRITE_SGES | SRNIC_DEV_RDMAC |
			       SRNIC_DEV_CAN_RESIZE_QP), "%x",
		resp.flags);
	require(resp.max_ird == attr.max_qp_rd_atom && resp.max_ord == attr.max_qp_init_rd_atom,
		"%u, %u", resp.max_ird, resp.max_ord);
	require((int)resp.max_send_sge == attr.max_sge && (int)resp.max_recv_sge == attr.max_sge &&
		(int)resp.max_write_sge == attr.max_sge && (int)resp.max_read_sge == attr.max_sge,
		"%u", resp.max_send_sge);
	require(resp.page_sizes == attr.page_size_cap, "%llx",
		(unsigned long long)resp.page_sizes);
	require(resp.max_inline == 512 && resp.max_fast_reg_blocks == 4096 &&
		resp.stag_key_bits == 8, "constants");
	require(resp.vendor_id == attr.vendor_id && resp.vendor_part_id == attr.vendor_part_id &&
		resp.hw_ver == attr.hw_ver, "vendor %x", resp.vendor_id);
	snprintf(version, sizeof(version), "%u.%u.%u", (unsigned int)(resp.fw_ver >> 32),
		 (unsigned int)resp.fw_ver >> 16, (unsigned int)resp.fw_ver & 0xffff);
	require(!strcmp(version, attr.fw_ver), "%s is not %s", version, attr.fw_ver);
	require((int)resp.max_qp == attr.max_qp && (int)resp.max_qp_wr == attr.max_qp_wr, "%u QPs",
		resp.max_qp);
	require((int)resp.max_srq == attr.max_srq && (int)resp.max_srq_wr == attr.max_srq_wr,
		"%u SRQs", resp.max_srq);
	require((int)resp.max_cq == attr.max_cq && (int)resp.max_cqe == attr.max_cqe &&
		(int)resp.max_cq_handlers == ctx->num_comp_vectors, "%u CQs", resp.max_cq);
	require((int)resp.max_mr == attr.max_mr && (int)resp.max_mw == attr.max_mw &&
		(int)resp.max_pd == attr.max_pd, "%u regions", resp.max_mr);
	require(resp.vendor_id && resp.max_qp && resp.max_qp_wr && resp.max_srq &&
		resp.max_srq_wr && resp.max_cq && resp.max_cqe && resp.max_cq_handlers &&
		resp.max_mr && resp.max_mw && resp.max_pd, "an attribute is 0");
	require(!resp.max_device_ird && !resp.max_device_ord && !resp.min_block_size &&
		!resp.max_block_size, "each QP has its own; page lists");
	/* a program of version 1 */
	memset(&old, 0xa5, sizeof(old));
	require(!query_raw(ctx, UVERBS_OBJECT_DEVICE, SRNIC_METHOD_DEV_QUERY, NO_HANDLE, &old,
			   V1_DEV_QUERY), "%s", strerror(errno));
	require(!memcmp(&old, &resp, V1_DEV_QUERY) &&
		((uint8_t *)&old)[V1_DEV_QUERY] == 0xa5, "version 1 of the answer");
}

static struct srnic_uresp_qp_query qp_query(struct ibv_qp *qp)
{
	struct srnic_uresp_qp_query resp;

	QUERY(qp->context, QP, qp->handle, &resp);
	require(resp.qpn == qp->qp_num && !resp.rq_limit, "QP %u", resp.qpn);
	return resp;
}

static void await_state(struct ibv_qp *qp, uint32_t state)
{
	uint64_t end = now_ms() + 20000;

	while (qp_query(qp).state != state) {
		require(now_ms() < end, "state %u and not %u", qp_query(qp).state, state);
		usleep(1000);
	}
}

static void case_qp(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct srnic_uresp_qp_query resp;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr got;
	struct hand a, b;

	hand_open(&a, &b, test_addr);
	require(!ibv_query_qp(a.qp, &got, IBV_QP_CAP, &init), "ibv_query_qp");
	resp = qp_query(a.qp);
	require(resp.state == SRNIC_QP_STATE_IDLE && !resp.flags && !resp.windows, "Idle: %x",
		resp.flags);
	require(resp.enables & SRNIC_QP_ENABLE_READ && resp.enables & SRNIC_QP_ENABLE_WRITE, "%x",
		resp.enables);
	require(resp.sq_entries == init.cap.max_send_wr && resp.rq_entries == init.cap.max_recv_wr &&
		resp.max_send_sge == init.cap.max_send_sge &&
		resp.max_write_sge == init.cap.max_send_sge && !resp.reserved &&
		resp.max_recv_sge == init.cap.max_recv_sge &&
		resp.max_inline == init.cap.max_inline_data, "sizes");

	require(!hand_over(&b, SRNIC_QP_MODIFY_CRC | SRNIC_QP_MODIFY_RESPONDER |
			   SRNIC_QP_MODIFY_TX_MARKERS, NULL, 0) &&
		!hand_over(&a, SRNIC_QP_MODIFY_CRC | SRNIC_QP_MODIFY_RX_MARKERS, NULL, 0),
		"handing over");
	resp = qp_query(a.qp);
	require(resp.state == SRNIC_QP_STATE_RTS && resp.ird == 4 && resp.ord == 4, "RTS");
	require(resp.flags == (SRNIC_QP_QUERY_STREAM | SRNIC_QP_QUERY_INITIATOR |
			       SRNIC_QP_QUERY_CRC | SRNIC_QP_QUERY_RX_MARKERS), "%x", resp.flags);
	resp = qp_query(b.qp);
	require(resp.flags == (SRNIC_QP_QUERY_STREAM | SRNIC_QP_QUERY_CRC |
			       SRNIC_QP_QUERY_TX_MARKERS), "%x", resp.flags);
	require(!ibv_modify_qp(a.qp, &attr, IBV_QP_STATE), "%s", strerror(errno));
	await_state(a.qp, SRNIC_QP_STATE_ERROR);
	await_state(b.qp, SRNIC_QP_STATE_ERROR);
	hand_close(&a, &b);
}

static void flush_receives(struct hand *h, unsigned int n)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_sge sge = { (uintptr_t)h->buf, 100, h->mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	while (n--)
		require(!ibv_post_recv(h->qp, &wr, &bad), "receive");
	require(!ibv_modify_qp(h->qp, &attr, IBV_QP_STATE), "%s", strerror(errno));
}

static void case_cq(void)
{
	struct srnic_uresp_cq_query resp;
	struct hand h;

	hand_qp(&h);
	QUERY(h.qp->context, CQ, h.cq->handle, &resp);
	require((int)resp.entries == h.cq->cqe && !resp.waiting && !resp.flags,
		"empty: %u of %u", resp.waiting, resp.entries);
	flush_receives(&h, 5);
	QUERY(h.qp->context, CQ, h.cq->handle, &resp);
	require(resp.waiting == 5 && !resp.flags, "%u", resp.waiting);
	hand_qp_end(&h);
}

/* The CQ is not polled: the flushes of one QP after the other overflow it */
static void case_overflow(void)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .cap = DEFAULT_CAP };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct srnic_uresp_cq_query resp;
	struct hand h;

	hand_qp(&h);
	init.send_cq = ibv_create_cq(h.qp->context, 4, NULL, NULL, 0);
	init.recv_cq = init.send_cq;
	require(init.send_cq, "%s", strerror(errno));
	require(!ibv_destroy_qp(h.qp), "%s", strerror(errno));
	h.qp = ibv_create_qp(h.pd, &init);
	require(h.qp && !ibv_modify_qp(h.qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
				       IBV_QP_PORT | IBV_QP_ACCESS_FLAGS), "%s", strerror(errno));
	flush_receives(&h, 10);
	QUERY(h.qp->context, CQ, init.send_cq->handle, &resp);
	require(resp.flags == SRNIC_CQ_QUERY_OVERFLOWED && resp.waiting == resp.entries, "%x, %u",
		resp.flags, resp.waiting);
	require(!ibv_destroy_qp(h.qp) && !ibv_destroy_cq(init.send_cq), "%s", strerror(errno));
}

static void case_srq(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 20, .max_sge = 3 } };
	struct ibv_srq_attr attr = { .srq_limit = 7 };
	struct srnic_uresp_srq_query resp;
	struct ibv_sge sge;
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;
	struct ibv_srq *srq;
	struct hand h;

	hand_qp(&h);
	srq = ibv_create_srq(h.pd, &init);
	require(srq, "%s", strerror(errno));
	QUERY(srq->context, SRQ, srq->handle, &resp);
	require(resp.max_wr == init.attr.max_wr && resp.max_sge >= 3 && !resp.limit && !resp.flags &&
		!resp.reserved, "%u, %u", resp.max_wr, resp.max_sge);
	sge = (struct ibv_sge){ (uintptr_t)h.buf, 100, h.mr->lkey };
	for (unsigned int i = 0; i < 10; i++)
		require(!ibv_post_srq_recv(srq, &wr, &bad), "receive");
	require(!ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), "%s", strerror(errno));
	QUERY(srq->context, SRQ, srq->handle, &resp);
	require(resp.limit == 7 && resp.flags == SRNIC_SRQ_QUERY_ARMED, "%u, %x", resp.limit,
		resp.flags);
	require(!ibv_destroy_srq(srq), "%s", strerror(errno));
	hand_qp_end(&h);
}

static void one_mr(struct hand *h, int access, uint32_t rights)
{
	struct ibv_mr *mr = ibv_reg_mr(h->pd, h->buf + 100, 5000, access);
	struct srnic_uresp_mr_query resp;
	uint64_t bytes;

	require(mr, "%s", strerror(errno));
	QUERY(mr->context, MR, mr->handle, &resp);
	bytes = (uint64_t)resp.blocks << resp.block_shift;
	require(resp.stag == mr->lkey && resp.flags == SRNIC_STAG_VALID && resp.rights == rights &&
		!resp.windows, "access %x: %x, %x", access, resp.flags, resp.rights);
	require(resp.length == 5000 &&
		resp.base == (access & IBV_ACCESS_ZERO_BASED ? 0 : (uintptr_t)mr->addr),
		"base, length");
	require(bytes >= 5000 && bytes - 5000 < 2ULL << resp.block_shift, "%u blocks of 2^%u",
		resp.blocks, resp.block_shift);
	require(!ibv_dereg_mr(mr), "%s", strerror(errno));
}

static void case_mr(void)
{
	struct hand h;

	hand_qp(&h);
	one_mr(&h, 0, SRNIC_STAG_LOCAL_READ);
	one_mr(&h, IBV_ACCESS_LOCAL_WRITE, SRNIC_STAG_LOCAL_READ | SRNIC_STAG_LOCAL_WRITE);
	one_mr(&h, IBV_ACCESS_REMOTE_READ, SRNIC_STAG_LOCAL_READ | SRNIC_STAG_REMOTE_READ);
	one_mr(&h, ACCESS_ALL | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND,
	       SRNIC_STAG_LOCAL_READ | SRNIC_STAG_LOCAL_WRITE | SRNIC_STAG_REMOTE_READ |
	       SRNIC_STAG_REMOTE_WRITE | SRNIC_STAG_REMOTE_ATOMIC | SRNIC_STAG_BINDABLE);
	one_mr(&h, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ZERO_BASED,
	       SRNIC_STAG_LOCAL_READ | SRNIC_STAG_LOCAL_WRITE | SRNIC_STAG_ZERO_BASED);
	hand_qp_end(&h);
}

static void expect_unbound(struct ibv_mw *mw, uint32_t type)
{
	struct srnic_uresp_mw_query resp;
	const struct srnic_uresp_mw_query none = { .stag = mw->rkey, .type = type };

	QUERY(mw->context, MW, mw->handle, &resp);
	require(!memcmp(&resp, &none, sizeof(none)), "not bound: stag %x, flags %x", resp.stag,
		resp.flags);
}

/* Bound by WRs, so on a QP that is connected */
static void case_mw(void)
{
	struct hand a, b;
	struct ibv_mw *mw;
	struct ibv_mr *mr;
	struct srnic_uresp_mw_query resp;
	struct srnic_uresp_mr_query region;
	struct ibv_send_wr wr = { .wr_id = 1, .opcode = IBV_WR_BIND_MW }, *bad;

	hand_open(&a, &b, test_addr);
	require(!hand_over(&b, SRNIC_QP_MODIFY_CRC | SRNIC_QP_MODIFY_RESPONDER, NULL, 0) &&
		!hand_over(&a, SRNIC_QP_MODIFY_CRC, NULL, 0), "handing over");
	mw = ibv_alloc_mw(a.pd, IBV_MW_TYPE_1);
	require(mw, "%s", strerror(errno));
	expect_unbound(mw, 1);
	require(!ibv_dealloc_mw(mw), "%s", strerror(errno));

	mw = ibv_alloc_mw(a.pd, IBV_MW_TYPE_2);
	mr = ibv_reg_mr(a.pd, a.buf, 5000, ACCESS_ALL | IBV_ACCESS_MW_BIND);
	require(mw && mr, "%s", strerror(errno));
	expect_unbound(mw, 2);
	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	wr.bind_mw.bind_info = (struct ibv_mw_bind_info){
		.mr = mr, .addr = (uintptr_t)a.buf + 10, .length = 1000,
		.mw_access_flags = IBV_ACCESS_REMOTE_WRITE };
	require(!ibv_post_send(a.qp, &wr, &bad), "bind");
	expect_wc(a.cq, 1, IBV_WC_SUCCESS, "bind");
	QUERY(mw->context, MW, mw->handle, &resp);
	require(resp.stag == wr.bind_mw.rkey && resp.type == 2 && resp.flags == SRNIC_STAG_VALID &&
		resp.qpn == a.qp->qp_num && resp.region == mr->rkey &&
		resp.base == (uintptr_t)a.buf + 10 && resp.length == 1000, "bound");
	require((resp.rights & (SRNIC_STAG_REMOTE_READ | SRNIC_STAG_REMOTE_WRITE)) ==
		SRNIC_STAG_REMOTE_WRITE, "%x", resp.rights);
	QUERY(mr->context, MR, mr->handle, &region);
	require(region.windows == 1 && qp_query(a.qp).windows == 1, "%u", region.windows);
	wr.opcode = IBV_WR_LOCAL_INV;
	wr.invalidate_rkey = wr.bind_mw.rkey;
	require(!ibv_post_send(a.qp, &wr, &bad), "invalidate");
	expect_wc(a.cq, 1, IBV_WC_SUCCESS, "invalidate");
	QUERY(mw->context, MW, mw->handle, &resp);
	require(!resp.flags && !resp.length && !resp.region && !resp.rights, "invalidated");
	require(!ibv_dealloc_mw(mw) && !ibv_dereg_mr(mr), "%s", strerror(errno));
	hand_close(&a, &b);
}

static const struct test_case cases[] = {
	{ "device", case_device, "the device, beside what verbs say" },
	{ "qp", case_qp, "a QP in Idle, RTS and Error, and its stream" },
	{ "cq", case_cq, "a CQ, and how many completions wait" },
	{ "overflow", case_overflow, "a CQ that has overflowed says so" },
	{ "srq", case_srq, "an SRQ, and whether its limit is armed" },
	{ "mr", case_mr, "a region: rights, bounds, PBL" },
	{ "mw", case_mw, "a window, bound and not" },
};

static const struct test_program prog = {
	.usage = "query --list | query ADDR CASE",
	.timeout_env = "QUERY_TIMEOUT",
	.timeout = 60,
	.cases = cases,
	.count = ARRAY_SIZE(cases),
};

int main(int argc, char **argv)
{
	return run_cases(&prog, argc, argv);
}
