// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* UD QPs that are made and used without rdma_cm. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "ibqp.h"
#include "ud.h"

/* In RESET; with an SQ of @wrs */
void ud_make_deep(struct ud *u, bool srq, uint32_t wrs)
{
	struct ibv_context *ctx = test_context();
	struct ibv_srq_init_attr shared = { .attr = { .max_wr = UD_DEPTH, .max_sge = 2 } };
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_UD,
		.cap = { .max_send_wr = wrs, .max_recv_wr = UD_DEPTH, .max_send_sge = 2,
			 .max_recv_sge = 2, .max_inline_data = 64 },
	};
	struct ibv_ah_attr where;

	ib_find_gid();
	memset(u, 0, sizeof(*u));
	u->buf = aligned_alloc(4096, UD_BUF);
	u->pd = ibv_alloc_pd(ctx);
	u->cq = ibv_create_cq(ctx, 4 * wrs, NULL, NULL, 0);
	require(u->buf && u->pd && u->cq, "%s", strerror(errno));
	u->mr = ibv_reg_mr(u->pd, u->buf, UD_BUF, IBV_ACCESS_LOCAL_WRITE);
	require(u->mr, "%s", strerror(errno));
	u->lkey = u->mr->lkey;
	u->qkey = UD_QKEY;
	if (srq) {
		u->srq = ibv_create_srq(u->pd, &shared);
		require(u->srq, "%s", strerror(errno));
	}
	attr.srq = u->srq;
	attr.send_cq = u->cq;
	attr.recv_cq = u->cq;
	u->qp = ibv_create_qp(u->pd, &attr);
	require(u->qp, "%s", strerror(errno));
	where = ud_ah_attr(&ib_gid);
	u->ah = ibv_create_ah(u->pd, &where);
	require(u->ah, "%s", strerror(errno));
}

void ud_make(struct ud *u, bool srq)
{
	ud_make_deep(u, srq, UD_DEPTH);
}

struct ibv_ah_attr ud_ah_attr(const union ibv_gid *gid)
{
	return (struct ibv_ah_attr) {
		.is_global = 1, .port_num = 1,
		.grh = { .dgid = *gid, .sgid_index = ib_gid_index, .hop_limit = 1 },
	};
}

void ud_state(struct ud *u, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };
	int err = ibv_modify_qp(u->qp, &attr, IBV_QP_STATE);

	require(!err, "state %d: %s", state, strerror(err));
}

/* From RESET to RTS */
void ud_up(struct ud *u, uint32_t qkey)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = qkey };
	int err = ibv_modify_qp(u->qp, &attr, UD_INIT_MASK);

	require(!err, "INIT: %s", strerror(err));
	ud_state(u, IBV_QPS_RTR);
	attr.qp_state = IBV_QPS_RTS;
	attr.sq_psn = 0xfffffe;
	err = ibv_modify_qp(u->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
	require(!err, "RTS: %s", strerror(err));
}

void ud_two(struct ud *a, struct ud *b)
{
	ud_make(a, false);
	ud_make(b, false);
	ud_up(a, UD_QKEY);
	ud_up(b, UD_QKEY);
}

void ud_end(struct ud *u)
{
	require(!ibv_destroy_qp(u->qp) && !ibv_destroy_ah(u->ah), "%s", strerror(errno));
	require(!u->srq || !ibv_destroy_srq(u->srq), "%s", strerror(errno));
	require(!ibv_dereg_mr(u->mr) && !ibv_destroy_cq(u->cq), "%s", strerror(errno));
	free(u->buf);
}

/* PDs are freed last: a test may have made objects of one PD for the other end */
void ud_end_two(struct ud *a, struct ud *b)
{
	ud_end(a);
	ud_end(b);
	require(!ibv_dealloc_pd(a->pd) && !ibv_dealloc_pd(b->pd), "%s", strerror(errno));
}

int ud_try_recv(struct ud *u, uint64_t wr_id, uint32_t len)
{
	/* two pieces, the border within the GRH */
	struct ibv_sge sge[2] = {
		{ (uintptr_t)u->buf + UD_IN, len < 16 ? len : 16, u->lkey },
		{ (uintptr_t)u->buf + UD_IN + 16, len < 16 ? 0 : len - 16, u->lkey },
	};
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = sge, .num_sge = 2 }, *bad;

	return u->srq ? ibv_post_srq_recv(u->srq, &wr, &bad) : ibv_post_recv(u->qp, &wr, &bad);
}

void ud_recv(struct ud *u, uint64_t wr_id, uint32_t len)
{
	int err = ud_try_recv(u, wr_id, len);

	require(!err, "%s", strerror(err));
}

/* The WR's id is @len; the message is the first bytes of the buffer, in two pieces */
int ud_try_post(struct ud *from, const struct ud *to, uint32_t len, enum ibv_wr_opcode op,
		unsigned int flags)
{
	struct ibv_sge sge[2] = {
		{ (uintptr_t)from->buf, len / 3, from->lkey },
		{ (uintptr_t)from->buf + len / 3, len - len / 3, from->lkey },
	};
	struct ibv_send_wr wr = {
		.wr_id = len, .sg_list = sge, .num_sge = 2, .opcode = op, .send_flags = flags,
		.imm_data = htonl(UD_IMM),
		.wr.ud = { from->ah, from->qpn ?: to->qp->qp_num, from->qkey },
	}, *bad;

	return ibv_post_send(from->qp, &wr, &bad);
}

void ud_post(struct ud *from, const struct ud *to, uint32_t len, enum ibv_wr_opcode op,
	     unsigned int flags)
{
	int err = ud_try_post(from, to, len, op, flags);

	require(!err, "%s", strerror(err));
}

static enum ibv_qp_state state_of(struct ud *u)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	require(!ibv_query_qp(u->qp, &attr, IBV_QP_STATE, &init), "%s", strerror(errno));
	return attr.qp_state;
}

void ud_expect_state(struct ud *u, enum ibv_qp_state state)
{
	enum ibv_qp_state now = state_of(u);

	require(now == state, "state %d, not %d", now, state);
}

void ud_wait_state(struct ud *u, enum ibv_qp_state state)
{
	uint64_t end = now_ms() + 5000;

	while (state_of(u) != state && now_ms() < end)
		usleep(1000);
	ud_expect_state(u, state);
}

uint64_t ud_counter(const char *name)
{
	unsigned long long n;
	char path[256];
	FILE *f;

	/* sysfs of the first process: that of a netns does not show the device */
	snprintf(path, sizeof(path), "/proc/1/root/sys/class/infiniband/%s/ports/1/hw_counters/%s",
		 ibv_get_device_name(test_context()->device), name);
	f = fopen(path, "r");
	require(f && fscanf(f, "%llu", &n) == 1, "%s", path);
	fclose(f);
	return n;
}

/* Counters may be updated some milliseconds late */
void ud_counted(const char *name, uint64_t want)
{
	uint64_t end = now_ms() + 5000;

	while (ud_counter(name) < want && now_ms() < end)
		usleep(5000);
	require(ud_counter(name) == want, "%s: %llu, not %llu", name,
		(unsigned long long)ud_counter(name), (unsigned long long)want);
}
