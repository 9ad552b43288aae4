// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* QPs that are connected by ibv_modify_qp(): their attributes, and the GID they need. */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>
#include "ibqp.h"

union ibv_gid ib_gid;
int ib_gid_index;

/* The GID of the test's address, which appears some time after the address */
void ib_find_gid(void)
{
	uint64_t end = now_ms() + 5000;
	struct ibv_context *ctx = test_context();
	struct sockaddr_storage name;
	union ibv_gid want = { };

	resolve(test_addr, 0, &name);
	if (name.ss_family == AF_INET) {
		want.raw[10] = want.raw[11] = 0xff;
		memcpy(want.raw + 12, &((struct sockaddr_in *)&name)->sin_addr, 4);
	} else {
		memcpy(want.raw, &((struct sockaddr_in6 *)&name)->sin6_addr, 16);
	}
	do {
		for (int i = 1; !ibv_query_gid(ctx, 1, i, &ib_gid); i++) {
			if (!memcmp(&ib_gid, &want, sizeof(ib_gid))) {
				ib_gid_index = i;
				return;
			}
		}
		usleep(10000);
	} while (now_ms() < end);
	die("no GID is %s", test_addr);
}

struct ibv_qp_attr ib_rtr_attr(const union ibv_gid *gid, uint32_t qpn, uint32_t psn)
{
	return (struct ibv_qp_attr) {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = qpn,
		.rq_psn = psn,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 12,
		.ah_attr = {
			.is_global = 1, .port_num = 1,
			.grh = { .dgid = *gid, .sgid_index = ib_gid_index, .hop_limit = 1 },
		},
	};
}

struct ibv_qp_attr ib_rts_attr(uint32_t psn, uint8_t timeout)
{
	return (struct ibv_qp_attr) {
		.qp_state = IBV_QPS_RTS,
		.timeout = timeout,
		.retry_cnt = 1,
		.rnr_retry = 7,
		.sq_psn = psn,
		.max_rd_atomic = 4,
	};
}

void ib_rtr(struct hand *h, const union ibv_gid *gid, uint32_t qpn, uint32_t psn)
{
	struct ibv_qp_attr attr = ib_rtr_attr(gid, qpn, psn);
	int err = ibv_modify_qp(h->qp, &attr, RTR_MASK);

	require(!err, "%s", strerror(err));
}

void ib_rts(struct hand *h, uint32_t psn, uint8_t timeout)
{
	struct ibv_qp_attr attr = ib_rts_attr(psn, timeout);
	int err = ibv_modify_qp(h->qp, &attr, RTS_MASK);

	require(!err, "%s", strerror(err));
}

void ib_state(struct hand *h, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };
	int err = ibv_modify_qp(h->qp, &attr, IBV_QP_STATE);

	require(!err, "state %d: %s", state, strerror(err));
}

void ib_expect_state(struct hand *h, enum ibv_qp_state state, const char *when)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	require(!ibv_query_qp(h->qp, &attr, IBV_QP_STATE, &init), "%s", strerror(errno));
	require(attr.qp_state == state, "%s: state %d, not %d", when, attr.qp_state, state);
}

/* To RESET, and to INIT again */
void ib_reset(struct hand *h)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1,
				    .qp_access_flags = ACCESS_ALL };

	ib_state(h, IBV_QPS_RESET);
	ib_expect_state(h, IBV_QPS_RESET, "after RESET");
	require(!ibv_modify_qp(h->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			       IBV_QP_ACCESS_FLAGS), "INIT");
}
