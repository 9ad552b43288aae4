// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Random arguments of ibv_modify_qp() and ibv_create_ah(), where the policy lets the device
 * connect QPs by ibv_modify_qp(). badinput.sh sets the policy.
 */
#include <errno.h>
#include <string.h>
#include "badinput.h"
#include "ibqp.h"

#define ROUNDS	3000
#define MASKS	(RTR_MASK | RTS_MASK | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS | \
		 IBV_QP_QKEY | IBV_QP_CUR_STATE)

/* Errors with which the kernel may refuse it */
static bool is_refusal(int err)
{
	static const int known[] = { EINVAL, EOPNOTSUPP, EBUSY, ENODATA, ENOTCONN, EADDRINUSE,
				     EADDRNOTAVAIL, ENETUNREACH, EHOSTUNREACH };

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (err == known[i])
			return true;
	return false;
}

static void fill(struct rng *r, void *mem, size_t len)
{
	for (size_t i = 0; i < len; i++)
		((uint8_t *)mem)[i] = rng_next(r);
}

/* Mostly valid, so that later checks are reached, too; peers are on this host */
static struct ibv_ah_attr some_ah(struct rng *r)
{
	struct ibv_ah_attr ah = { .is_global = rng_below(r, 8) ? 1 : rng_next(r),
				  .port_num = rng_below(r, 8) ? 1 : rng_next(r) };

	fill(r, &ah.grh, sizeof(ah.grh));
	if (rng_below(r, 4))
		ah.grh.dgid = ib_gid;
	if (rng_below(r, 4))
		ah.grh.sgid_index = ib_gid_index;
	return ah;
}

static struct ibv_qp_attr some_attr(struct rng *r, uint32_t qpn)
{
	struct ibv_qp_attr attr = rng_below(r, 2) ? ib_rtr_attr(&ib_gid, qpn, 1) :
						    ib_rts_attr(2, 8);

	if (rng_below(r, 4) == 0)
		fill(r, &attr, sizeof(attr));
	if (rng_below(r, 4) == 0)
		attr.ah_attr = some_ah(r);
	attr.qp_state = rng_below(r, 8) ? rng_below(r, 7) : rng_next(r);
	attr.port_num = rng_below(r, 8) ? 1 : rng_next(r);
	return attr;
}

static int some_mask(struct rng *r)
{
	static const int right[] = {
		RTR_MASK, RTS_MASK, IBV_QP_STATE, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
		IBV_QP_ACCESS_FLAGS, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY,
		IBV_QP_STATE | IBV_QP_SQ_PSN,
	};
	int mask = right[rng_below(r, ARRAY_SIZE(right))];

	switch (rng_below(r, 4)) {
	case 0:
		return rng_next(r);
	case 1:
		return mask & ~(1 << rng_below(r, 21));
	case 2:
		return mask | (rng_next(r) & MASKS);
	default:
		return mask;
	}
}

static struct ibv_qp *make(struct hand *h, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr init = { .qp_type = type, .cap = DEFAULT_CAP,
					 .send_cq = h->cq, .recv_cq = h->cq };
	struct ibv_qp *qp = ibv_create_qp(h->pd, &init);

	require(qp, "type %d: %s", type, strerror(errno));
	return qp;
}

static void misuse(struct hand *h, enum ibv_qp_type type, struct rng *r)
{
	struct ibv_qp *qp[2] = { make(h, type), make(h, type) };
	struct ibv_qp_init_attr init;
	unsigned int taken = 0;

	for (int i = 0; i < ROUNDS; i++) {
		struct ibv_qp_attr attr = some_attr(r, qp[!(i & 1)]->qp_num), got;
		int err = ibv_modify_qp(qp[i & 1], &attr, some_mask(r));

		require(!err || is_refusal(err), "type %d: %s", type, strerror(err));
		taken += !err;
		require(!ibv_query_qp(qp[i & 1], &got, IBV_QP_STATE, &init), "ibv_query_qp");
		require(got.qp_state <= IBV_QPS_ERR, "state %d", got.qp_state);
	}
	/* otherwise only the first check was reached */
	require(taken > ROUNDS / 50, "%u of %d were taken", taken, ROUNDS);
	require(!ibv_destroy_qp(qp[0]) && !ibv_destroy_qp(qp[1]), "ibv_destroy_qp");
}

void case_modify(void)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD };
	struct rng r = { env_uint("BADINPUT_SEED", 1) };
	struct hand h;
	struct pair p;

	ib_find_gid();
	hand_qp(&h);
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		misuse(&h, types[i], &r);
	hand_qp_end(&h);
	pair_open(&p);
	pair_works(&p, "after all of this");
	pair_close(&p);
}

void case_create_ah(void)
{
	struct rng r = { env_uint("BADINPUT_SEED", 1) };
	unsigned int taken = 0;
	struct hand h;

	ib_find_gid();
	hand_qp(&h);
	for (int i = 0; i < ROUNDS; i++) {
		struct ibv_ah_attr attr = some_ah(&r);
		struct ibv_ah *ah;

		if (rng_below(&r, 4) == 0)
			fill(&r, &attr, sizeof(attr));
		errno = 0;
		ah = ibv_create_ah(h.pd, &attr);
		require(ah || is_refusal(errno), "%s", strerror(errno));
		taken += !!ah;
		require(!ah || !ibv_destroy_ah(ah), "ibv_destroy_ah");
	}
	require(taken && taken < ROUNDS / 2, "%u of %d were taken", taken, ROUNDS);
	hand_qp_end(&h);
}
