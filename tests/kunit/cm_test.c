// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* cm.c: an endpoint that is told to give up at the moment at which it attaches. */
#include "cm/cm_priv.h"
#include "peer.h"
#include "queue/trace.h"

/* As peer_idle(), on a device that endpoints can hold */
static struct peer *idle(struct kunit *test)
{
	struct peer *p = peer_idle(test);

	device_initialize(&p->dev->ibdev.dev);
	return p;
}

/* A passive endpoint with a Request that was reported, on the QP of @p */
static struct srnic_ep *reported(struct kunit *test, struct peer *p)
{
	struct srnic_ep *ep = srnic_ep_new(p->dev, NULL, &srnic_iw_ops);
	struct srnic_stream *stream;
	struct socket *sock;

	KUNIT_ASSERT_NOT_NULL(test, ep);
	peer_sockets(p, &sock);
	stream = srnic_stream_new(sock);
	KUNIT_ASSERT_NOT_NULL(test, stream);
	kref_get(&ep->ref);
	mutex_lock(&ep->lock);
	ep->state = SRNIC_EP_REPORTED;
	srnic_ep_adopt(ep, stream);
	KUNIT_ASSERT_EQ(test, srnic_ep_claim(ep, p->qp->ibqp.qp_num), 0);
	return ep;
}

static void end(struct srnic_ep *ep)
{
	mutex_unlock(&ep->lock);
	srnic_ep_put(ep);
}

static const struct mpa_result settings = { .crc = true, .ird = 1, .ord = 1 };

static void abort_before_attach(struct kunit *test)
{
	struct peer *p = idle(test);
	struct srnic_ep *ep = reported(test, p);

	set_bit(SRNIC_EPF_ABORT, &ep->flags);
	KUNIT_EXPECT_EQ(test, srnic_ep_attach(ep, false, &settings, 0), -ECONNABORTED);
	KUNIT_EXPECT_EQ(test, srnic_qp_state(p->qp), SRNIC_QP_IDLE);
	KUNIT_EXPECT_NOT_NULL(test, ep->stream);
	srnic_ep_unclaim(ep);
	srnic_ep_close(ep, true);
	end(ep);
}

/* Told in the moment in which the QP enters RTS, when a look at its state came too early */
static void tell_in_rts(void *data, const struct srnic_qp *qp, enum srnic_qp_state from,
			enum srnic_qp_state to, const char *why)
{
	struct srnic_ep *ep = data;

	if (to == SRNIC_QP_RTS)
		set_bit(SRNIC_EPF_ABORT, &ep->flags);
}

static void abort_while_attaching(struct kunit *test)
{
	struct peer *p = idle(test);
	struct srnic_ep *ep = reported(test, p);

	KUNIT_ASSERT_EQ(test, register_trace_srnic_qp_state(tell_in_rts, ep), 0);
	KUNIT_EXPECT_EQ(test, srnic_ep_attach(ep, false, &settings, 0), 0);
	unregister_trace_srnic_qp_state(tell_in_rts, ep);
	tracepoint_synchronize_unregister();
	KUNIT_EXPECT_EQ(test, ep->state, SRNIC_EP_ATTACHED);
	KUNIT_EXPECT_TRUE(test, peer_until(srnic_qp_state(p->qp) == SRNIC_QP_ERROR));
	KUNIT_EXPECT_TRUE(test, peer_until(test_bit(SRNIC_EPF_GONE, &ep->flags)));
	srnic_qp_put(ep->qp);
	ep->qp = NULL;
	srnic_ep_close(ep, true);
	end(ep);
}

static int cm_init(struct kunit *test)
{
	return srnic_cm_init();
}

/* Waits until the endpoints are gone, before what they point to is */
static void cm_exit(struct kunit *test)
{
	srnic_cm_exit();
}

static struct kunit_case cm_cases[] = {
	KUNIT_CASE(abort_before_attach),
	KUNIT_CASE(abort_while_attaching),
	{}
};

static struct kunit_suite cm_suite = {
	.name = "srnic-cm",
	.init = cm_init,
	.exit = cm_exit,
	.test_cases = cm_cases,
};

kunit_test_suite(cm_suite);
