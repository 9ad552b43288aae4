// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* ib_modify.c: Modify QP of programs that connect without rdma_cm, with a fake connector. */
#include <kunit/test.h>
#include "fake.h"
#include "ib/ib_device.h"
#include "ib/rendezvous.h"
#include "queue/wq.h"
#include "verbs/verbs.h"

#define RTR_MASK (IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN | \
		  IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER)
#define RTS_MASK (IB_QP_STATE | IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY | \
		  IB_QP_SQ_PSN | IB_QP_MAX_QP_RD_ATOMIC)

/* Calls of the fake connector, and its answer */
static struct {
	u32 prepared, started, cancelled;
	u32 psn;
	u16 ord;
	int answer;
} told;

static int prepare(struct srnic_qp *qp, const struct ib_qp_attr *attr, u8 ird)
{
	told.prepared++;
	return told.answer;
}

static int start(struct srnic_qp *qp, u32 psn, u16 ord)
{
	told.started++;
	told.psn = psn;
	told.ord = ord;
	return told.answer;
}

static int cancel(struct srnic_qp *qp)
{
	told.cancelled++;
	return 0;
}

static const struct srnic_rdv_ops connector = {
	.prepare = prepare, .start = start, .cancel = cancel,
};

static struct srnic_ib_device with_connector = { .rdv = &connector };

static struct srnic_qp *new_qp(struct kunit *test)
{
	struct ib_qp_init_attr init = {
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct srnic_device *dev = fake_device(test);
	struct srnic_qp *qp = fake_qp_memory(test, dev);

	memset(&told, 0, sizeof(told));
	dev->policy.now.ib_port = 4791;
	dev->ib = &with_connector;
	qp->ibqp.qp_type = IB_QPT_RC;
	fake_qp_create(test, qp, &init, fake_cq(test, dev, 8), fake_cq(test, dev, 8));
	qp->verbs_state = IB_QPS_INIT;
	return qp;
}

/* All attributes that RTR or RTS requires */
static struct ib_qp_attr attr_of(enum ib_qp_state state)
{
	struct ib_qp_attr attr = {
		.qp_state = state,
		.path_mtu = IB_MTU_1024,
		.dest_qp_num = 0x1234,
		.rq_psn = 0xabcdef,
		.sq_psn = 0xfedcba,
		.max_dest_rd_atomic = 3,
		.max_rd_atomic = 2,
		.min_rnr_timer = 12,
		.timeout = 14,
		.retry_cnt = 5,
		.rnr_retry = 6,
	};

	rdma_ah_set_ah_flags(&attr.ah_attr, IB_AH_GRH);
	attr.ah_attr.grh.sgid_index = 1;
	attr.ah_attr.grh.dgid.raw[15] = 9;
	return attr;
}

static int modify(struct srnic_qp *qp, struct ib_qp_attr *attr, int mask)
{
	return srnic_verbs_ops.modify_qp(&qp->ibqp, attr, mask, NULL);
}

static int go(struct srnic_qp *qp, enum ib_qp_state state, int mask)
{
	struct ib_qp_attr attr = attr_of(state);

	return modify(qp, &attr, mask);
}

static struct srnic_qp *new_qp_in_rts(struct kunit *test)
{
	struct srnic_qp *qp = new_qp(test);

	KUNIT_ASSERT_EQ(test, go(qp, IB_QPS_RTR, RTR_MASK), 0);
	KUNIT_ASSERT_EQ(test, go(qp, IB_QPS_RTS, RTS_MASK), 0);
	return qp;
}

/* Without any one attribute of @mask the transition is refused and nothing changes */
static void expect_all_wanted(struct kunit *test, struct srnic_qp *qp,
			      enum ib_qp_state state, int mask)
{
	unsigned long left = mask & ~IB_QP_STATE;
	enum ib_qp_state before = qp->verbs_state;
	int bit;

	for_each_set_bit(bit, &left, BITS_PER_LONG)
		KUNIT_EXPECT_EQ_MSG(test, go(qp, state, mask & ~BIT(bit)), -EINVAL,
				    "attribute %d missing", bit);
	KUNIT_EXPECT_EQ(test, qp->verbs_state, before);
}

static void rtr_wants_each_attribute_of_the_table(struct kunit *test)
{
	struct srnic_qp *qp = new_qp(test);

	expect_all_wanted(test, qp, IB_QPS_RTR, RTR_MASK);
	KUNIT_EXPECT_EQ(test, told.prepared, 0);
	KUNIT_EXPECT_EQ(test, go(qp, IB_QPS_RTR, RTR_MASK), 0);
	KUNIT_EXPECT_EQ(test, told.prepared, 1);
	srnic_qp_destroy(qp);
}

static void rts_wants_each_attribute_of_the_table(struct kunit *test)
{
	struct srnic_qp *qp = new_qp(test);

	KUNIT_ASSERT_EQ(test, go(qp, IB_QPS_RTR, RTR_MASK), 0);
	expect_all_wanted(test, qp, IB_QPS_RTS, RTS_MASK);
	KUNIT_EXPECT_EQ(test, told.started, 0);
	KUNIT_EXPECT_EQ(test, go(qp, IB_QPS_RTS, RTS_MASK), 0);
	KUNIT_EXPECT_EQ(test, told.started, 1);
	KUNIT_EXPECT_EQ(test, told.psn, 0xfedcba);
	KUNIT_EXPECT_EQ(test, told.ord, 2);
	srnic_qp_destroy(qp);
}

static void init_wants_each_attribute_of_the_table_on_a_device_that_is_no_rnic(struct kunit *test)
{
	const int all = IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS;
	struct srnic_qp *qp = new_qp(test);
	struct ib_qp_attr attr = { .qp_state = IB_QPS_INIT, .port_num = 1 };
	static const int wanted[] = { IB_QP_PKEY_INDEX, IB_QP_PORT, IB_QP_ACCESS_FLAGS };
	int i;

	qp->verbs_state = IB_QPS_RESET;
	qp->dev->ibdev.node_type = RDMA_NODE_UNSPECIFIED;
	for (i = 0; i < ARRAY_SIZE(wanted); i++)
		KUNIT_EXPECT_EQ_MSG(test, modify(qp, &attr, all & ~wanted[i]), -EINVAL,
				    "%#x missing", wanted[i]);
	KUNIT_EXPECT_EQ(test, qp->verbs_state, IB_QPS_RESET);
	KUNIT_EXPECT_EQ(test, modify(qp, &attr, all), 0);
	srnic_qp_destroy(qp);
	qp = new_qp(test);
	KUNIT_EXPECT_EQ(test, modify(qp, &attr, IB_QP_STATE | IB_QP_ACCESS_FLAGS), 0);
	srnic_qp_destroy(qp);
}

/* INIT to RTS, and from RTR back to INIT */
static void steps_that_infiniband_has_not_are_refused(struct kunit *test)
{
	struct srnic_qp *qp = new_qp(test);

	KUNIT_EXPECT_EQ(test, go(qp, IB_QPS_RTS, RTS_MASK), -EINVAL);
	KUNIT_ASSERT_EQ(test, go(qp, IB_QPS_RTR, RTR_MASK), 0);
	KUNIT_EXPECT_EQ(test, go(qp, IB_QPS_INIT, IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT |
				 IB_QP_ACCESS_FLAGS), -EINVAL);
	KUNIT_EXPECT_EQ(test, qp->verbs_state, IB_QPS_RTR);
	KUNIT_EXPECT_TRUE(test, qp->ib.paired);
	KUNIT_EXPECT_EQ(test, go(qp, IB_QPS_RESET, IB_QP_STATE), 0);
	srnic_qp_destroy(qp);
}

static void rtr_wants_a_route_by_an_address(struct kunit *test)
{
	struct srnic_qp *qp = new_qp(test);
	struct ib_qp_attr attr = attr_of(IB_QPS_RTR);

	rdma_ah_set_ah_flags(&attr.ah_attr, 0);
	KUNIT_EXPECT_EQ(test, modify(qp, &attr, RTR_MASK), -EINVAL);
	attr = attr_of(IB_QPS_RTR);
	attr.ah_attr.grh.sgid_index = 0;
	KUNIT_EXPECT_EQ(test, modify(qp, &attr, RTR_MASK), -EINVAL);
	KUNIT_EXPECT_EQ(test, told.prepared, 0);
	srnic_qp_destroy(qp);
}

static void more_reads_than_the_device_has_are_refused(struct kunit *test)
{
	struct srnic_qp *qp = new_qp(test);
	struct ib_qp_attr attr = attr_of(IB_QPS_RTR);

	attr.max_dest_rd_atomic = SRNIC_MAX_IRD + 1;
	KUNIT_EXPECT_EQ(test, modify(qp, &attr, RTR_MASK), -EINVAL);
	attr.max_dest_rd_atomic = SRNIC_MAX_IRD;
	KUNIT_EXPECT_EQ(test, modify(qp, &attr, RTR_MASK), 0);
	attr = attr_of(IB_QPS_RTS);
	attr.max_rd_atomic = SRNIC_MAX_ORD + 1;
	KUNIT_EXPECT_EQ(test, modify(qp, &attr, RTS_MASK), -EINVAL);
	srnic_qp_destroy(qp);
}

static void without_a_port_there_is_no_rtr(struct kunit *test)
{
	struct srnic_qp *qp = new_qp(test);

	qp->dev->policy.now.ib_port = 0;
	KUNIT_EXPECT_EQ(test, go(qp, IB_QPS_RTR, RTR_MASK), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, told.prepared, 0);
	srnic_qp_destroy(qp);
}

static void what_the_connector_refuses_leaves_the_state(struct kunit *test)
{
	struct srnic_qp *qp = new_qp(test);

	told.answer = -EBUSY;
	KUNIT_EXPECT_EQ(test, go(qp, IB_QPS_RTR, RTR_MASK), -EBUSY);
	KUNIT_EXPECT_EQ(test, qp->verbs_state, IB_QPS_INIT);
	KUNIT_EXPECT_FALSE(test, qp->ib.paired);
	told.answer = 0;
	KUNIT_ASSERT_EQ(test, go(qp, IB_QPS_RTR, RTR_MASK), 0);
	told.answer = -ENOTCONN;
	KUNIT_EXPECT_EQ(test, go(qp, IB_QPS_RTS, RTS_MASK), -ENOTCONN);
	KUNIT_EXPECT_EQ(test, qp->verbs_state, IB_QPS_RTR);
	srnic_qp_destroy(qp);
}

static void rts_waits_for_a_stream_in_idle(struct kunit *test)
{
	struct srnic_qp *qp = new_qp_in_rts(test);

	KUNIT_EXPECT_EQ(test, srnic_qp_state(qp), SRNIC_QP_IDLE);
	KUNIT_EXPECT_EQ(test, qp->verbs_state, IB_QPS_RTS);
	srnic_qp_destroy(qp);
}

static void sqd_holds_what_is_posted_until_rts(struct kunit *test)
{
	struct srnic_qp *qp = new_qp_in_rts(test);

	KUNIT_EXPECT_EQ(test, go(qp, IB_QPS_SQD, IB_QP_STATE), 0);
	KUNIT_EXPECT_TRUE(test, qp->ib.sqd);
	KUNIT_EXPECT_EQ(test, qp->verbs_state, IB_QPS_SQD);
	KUNIT_EXPECT_EQ(test, go(qp, IB_QPS_RTS, IB_QP_STATE), 0);
	KUNIT_EXPECT_FALSE(test, qp->ib.sqd);
	KUNIT_EXPECT_EQ(test, qp->verbs_state, IB_QPS_RTS);
	KUNIT_EXPECT_EQ(test, told.started, 1);
	srnic_qp_destroy(qp);
}

static void reset_gives_the_peer_up_from_each_state(struct kunit *test)
{
	static const enum ib_qp_state last[] = { IB_QPS_RTR, IB_QPS_RTS, IB_QPS_SQD };
	struct srnic_qp *qp;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(last); i++) {
		qp = new_qp(test);
		KUNIT_ASSERT_EQ(test, go(qp, IB_QPS_RTR, RTR_MASK), 0);
		if (i > 0)
			KUNIT_ASSERT_EQ(test, go(qp, IB_QPS_RTS, RTS_MASK), 0);
		if (i > 1)
			KUNIT_ASSERT_EQ(test, go(qp, IB_QPS_SQD, IB_QP_STATE), 0);
		KUNIT_EXPECT_EQ(test, go(qp, IB_QPS_RESET, IB_QP_STATE), 0);
		KUNIT_EXPECT_EQ(test, told.cancelled, 1);
		KUNIT_EXPECT_FALSE(test, qp->ib.paired || qp->ib.sqd);
		KUNIT_EXPECT_EQ(test, qp->verbs_state, IB_QPS_RESET);
		KUNIT_EXPECT_EQ(test, srnic_qp_state(qp), SRNIC_QP_IDLE);
		srnic_qp_destroy(qp);
	}
}

static void query_gives_back_what_was_set(struct kunit *test)
{
	struct ib_qp_attr want = attr_of(IB_QPS_RTS), got;
	struct srnic_qp *qp = new_qp_in_rts(test);
	struct ib_qp_init_attr init;

	KUNIT_ASSERT_EQ(test, srnic_verbs_ops.query_qp(&qp->ibqp, &got, 0, &init), 0);
	KUNIT_EXPECT_EQ(test, got.qp_state, IB_QPS_RTS);
	KUNIT_EXPECT_EQ(test, got.dest_qp_num, want.dest_qp_num);
	KUNIT_EXPECT_EQ(test, got.rq_psn, want.rq_psn);
	KUNIT_EXPECT_EQ(test, got.sq_psn, want.sq_psn);
	KUNIT_EXPECT_EQ(test, got.path_mtu, want.path_mtu);
	KUNIT_EXPECT_EQ(test, got.timeout, want.timeout);
	KUNIT_EXPECT_EQ(test, got.retry_cnt, want.retry_cnt);
	KUNIT_EXPECT_EQ(test, got.rnr_retry, want.rnr_retry);
	KUNIT_EXPECT_EQ(test, got.min_rnr_timer, want.min_rnr_timer);
	KUNIT_EXPECT_EQ(test, got.max_rd_atomic, want.max_rd_atomic);
	KUNIT_EXPECT_EQ(test, got.max_dest_rd_atomic, want.max_dest_rd_atomic);
	KUNIT_EXPECT_EQ(test, got.ah_attr.grh.sgid_index, 1);
	KUNIT_EXPECT_EQ(test, memcmp(&got.ah_attr.grh.dgid, &want.ah_attr.grh.dgid,
				     sizeof(want.ah_attr.grh.dgid)), 0);
	srnic_qp_destroy(qp);
}

static void abort_nothing(void *priv)
{
}

/* A connection that is being made, which keeps RESET from succeeding */
static const struct srnic_llp_ops attempt = { .abort = abort_nothing };

static void expect_sizes(struct kunit *test, struct srnic_qp *qp, u32 size)
{
	struct srnic_wq_use use;

	srnic_wq_query(qp, &use);
	KUNIT_EXPECT_EQ(test, use.sq_size, size);
	KUNIT_EXPECT_EQ(test, use.rq_size, size);
}

/* QP-20, QP-22: a resize together with a transition is refused, and nothing changes */
static void depths_change_with_no_transition(struct kunit *test)
{
	static const enum ib_qp_state next[] = {
		IB_QPS_RESET, IB_QPS_INIT, IB_QPS_RTR, IB_QPS_SQD, IB_QPS_ERR,
	};
	struct srnic_qp *qp = new_qp_in_rts(test);
	struct ib_qp_attr attr = { .cap = { .max_send_wr = 16, .max_recv_wr = 16 } };
	u32 i;

	KUNIT_ASSERT_EQ(test, srnic_qp_claim(qp, &attempt, qp), 0);
	for (i = 0; i < ARRAY_SIZE(next); i++) {
		attr.qp_state = next[i];
		KUNIT_EXPECT_EQ_MSG(test, modify(qp, &attr, IB_QP_STATE | IB_QP_CAP), -EINVAL,
				    "state %u", next[i]);
		expect_sizes(test, qp, 4);
		KUNIT_EXPECT_TRUE(test, qp->ib.paired && !qp->ib.sqd);
		KUNIT_EXPECT_EQ(test, told.cancelled, 0);
		KUNIT_EXPECT_EQ(test, qp->verbs_state, IB_QPS_RTS);
		KUNIT_EXPECT_EQ(test, srnic_qp_state(qp), SRNIC_QP_IDLE);
	}
	attr.qp_state = IB_QPS_RTS;
	KUNIT_EXPECT_EQ(test, modify(qp, &attr, IB_QP_STATE | IB_QP_CAP), 0);
	expect_sizes(test, qp, 16);
	srnic_qp_unclaim(qp, qp);
	srnic_qp_destroy(qp);
}

static struct kunit_case ib_modify_cases[] = {
	KUNIT_CASE(rtr_wants_each_attribute_of_the_table),
	KUNIT_CASE(rts_wants_each_attribute_of_the_table),
	KUNIT_CASE(init_wants_each_attribute_of_the_table_on_a_device_that_is_no_rnic),
	KUNIT_CASE(steps_that_infiniband_has_not_are_refused),
	KUNIT_CASE(rtr_wants_a_route_by_an_address),
	KUNIT_CASE(more_reads_than_the_device_has_are_refused),
	KUNIT_CASE(without_a_port_there_is_no_rtr),
	KUNIT_CASE(what_the_connector_refuses_leaves_the_state),
	KUNIT_CASE(rts_waits_for_a_stream_in_idle),
	KUNIT_CASE(sqd_holds_what_is_posted_until_rts),
	KUNIT_CASE(reset_gives_the_peer_up_from_each_state),
	KUNIT_CASE(query_gives_back_what_was_set),
	KUNIT_CASE(depths_change_with_no_transition),
	{}
};

static struct kunit_suite ib_modify_suite = {
	.name = "srnic-ib-modify",
	.test_cases = ib_modify_cases,
};

kunit_test_suite(ib_modify_suite);
