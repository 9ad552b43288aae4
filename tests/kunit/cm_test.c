// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * cm.c: an endpoint that is aborted while it attaches; which QPs a user may connect; the end of
 * an endpoint's stream.
 */
#include <linux/cred.h>
#include <net/tcp_states.h>
#include "cm/cm_priv.h"
#include "engine/linger.h"
#include "peer.h"
#include "queue/trace.h"

/* As peer_idle(), on a device to which endpoints can hold a reference */
static struct peer *idle(struct kunit *test)
{
	struct peer *p = peer_idle(test);

	device_initialize(&p->dev->ibdev.dev);
	return p;
}

/* An id that rdma_cm does not know, as a kernel consumer's */
static const struct iw_cm_id nobody;

/* A passive endpoint, with a Request that was reported; @p is the other end */
static struct srnic_ep *endpoint(struct kunit *test, struct peer *p)
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
	return ep;
}

/* ... on the QP of @p */
static struct srnic_ep *reported(struct kunit *test, struct peer *p)
{
	struct srnic_ep *ep = endpoint(test, p);

	KUNIT_ASSERT_EQ(test, srnic_ep_claim(ep, &nobody, p->qp->ibqp.qp_num), 0);
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

/* While a last message waits for room, the interface may go to another network namespace */
static void moved_while_attaching(struct kunit *test)
{
	struct peer *p = idle(test);
	struct srnic_ep *ep = reported(test, p);
	struct net_device *home = p->dev->netdev;
	struct net_device *away = kunit_kzalloc(test, sizeof(*away), GFP_KERNEL);

	/* in no namespace */
	KUNIT_ASSERT_NOT_NULL(test, away);
	p->dev->netdev = away;
	KUNIT_EXPECT_EQ(test, srnic_ep_attach(ep, false, &settings, 0), -EXDEV);
	p->dev->netdev = home;
	KUNIT_EXPECT_EQ(test, srnic_qp_state(p->qp), SRNIC_QP_IDLE);
	srnic_ep_unclaim(ep);
	srnic_ep_close(ep, true);
	end(ep);
}

static void binds_no_window_once_attached(struct kunit *test)
{
	struct peer *p = idle(test);
	const u8 rest = p->qp->enables & ~SRNIC_QP_BIND_ENABLED;

	KUNIT_EXPECT_NE(test, p->qp->enables, rest);
	p->no_bind = true;
	peer_connect(p, 1, 1);
	KUNIT_EXPECT_EQ(test, p->qp->enables, rest);
}

/* Sets the abort flag as the QP enters RTS, after the endpoint has looked at the flag */
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

/* A listener counts for its program's user, or for the user that has added a device later */
static void a_stream_counts_for_the_user_of_its_qp(struct kunit *test)
{
	struct peer *p = idle(test);
	struct srnic_ep *ep = endpoint(test, p);
	struct as as;
	int err;

	KUNIT_EXPECT_EQ(test, ep->stream->user_key, 0);
	p->qp->kernel = false;
	p->qp->owner = KUIDT_INIT(1000);
	as = as_user(test, 1000, false);
	err = srnic_ep_claim(ep, &nobody, p->qp->ibqp.qp_num);
	as_before(as);
	p->qp->kernel = true;
	KUNIT_ASSERT_EQ(test, err, 0);
	KUNIT_ASSERT_EQ(test, srnic_ep_attach(ep, false, &settings, 0), 0);
	KUNIT_EXPECT_EQ(test, p->qp->stream->user_key, 1000);
	srnic_qp_abort(p->qp);
	KUNIT_EXPECT_TRUE(test, peer_until(test_bit(SRNIC_EPF_GONE, &ep->flags)));
	srnic_qp_put(ep->qp);
	ep->qp = NULL;
	srnic_ep_close(ep, true);
	end(ep);
}

/* The test goes on as user @uid, without capabilities */
static const struct cred *become(struct kunit *test, unsigned int uid)
{
	struct cred *cred = prepare_creds();

	KUNIT_ASSERT_NOT_NULL(test, cred);
	cred->euid = KUIDT_INIT(uid);
	cap_clear(cred->cap_effective);
	return override_creds(cred);
}

static void become_again(const struct cred *old)
{
	const struct cred *cred = current_cred();

	revert_creds(old);
	put_cred(cred);
}

static int claim(struct peer *p)
{
	struct srnic_ep *ep = srnic_ep_new(p->dev, NULL, &srnic_iw_ops);
	int err;

	KUNIT_ASSERT_NOT_NULL(p->test, ep);
	kref_get(&ep->ref);
	mutex_lock(&ep->lock);
	err = srnic_ep_claim(ep, &nobody, p->qp->ibqp.qp_num);
	if (!err)
		srnic_ep_unclaim(ep);
	srnic_ep_close(ep, false);
	end(ep);
	return err;
}

static void a_qp_is_for_the_user_that_made_it(struct kunit *test)
{
	struct peer *p = idle(test);
	const struct cred *old;
	int own, other;

	/* a kernel consumer connects its own QP */
	KUNIT_EXPECT_EQ(test, claim(p), 0);
	p->qp->kernel = false;
	p->qp->owner = KUIDT_INIT(65533);
	KUNIT_EXPECT_EQ(test, claim(p), 0);	/* root has CAP_NET_RAW */
	old = become(test, 65533);
	own = claim(p);
	become_again(old);
	old = become(test, 65534);
	other = claim(p);
	become_again(old);
	p->qp->kernel = true;
	KUNIT_EXPECT_EQ(test, own, 0);
	KUNIT_EXPECT_EQ(test, other, -EPERM);
	KUNIT_EXPECT_EQ(test, srnic_counter(p->dev, SRNIC_CNT_CONN_NOT_OWNER), 1);
}

/* A work item that waits for the end of a stream */
struct waiter {
	struct work_struct work;
	struct srnic_qp *qp;
	struct completion done;
};

static void wait_for_end(struct work_struct *work)
{
	struct waiter *w = container_of(work, struct waiter, work);

	srnic_qp_join_tx(w->qp);
	complete(&w->done);
}

static void several_wait_for_the_end_of_a_stream(struct kunit *test)
{
	struct peer *p = peer_open(test, 1, 1);
	struct waiter *w = kunit_kcalloc(test, 3, sizeof(*w), GFP_KERNEL);
	struct workqueue_struct *wq = alloc_workqueue("srnic_test", WQ_UNBOUND, 0);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, w);
	KUNIT_ASSERT_NOT_NULL(test, wq);
	for (i = 0; i < 3; i++) {
		INIT_WORK(&w[i].work, wait_for_end);
		w[i].qp = p->qp;
		init_completion(&w[i].done);
		queue_work(wq, &w[i].work);
	}
	msleep(100);
	KUNIT_EXPECT_FALSE(test, completion_done(&w[0].done));
	srnic_qp_abort(p->qp);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_NE(test, wait_for_completion_timeout(&w[i].done, 5 * HZ), 0);
	destroy_workqueue(wq);
}

#define LINGER_MAX	1024	/* streams of one list that linger at a time */
#define LINGER_TIME	120	/* seconds */

/* The end of an endpoint that has never had a QP: its stream lingers */
static void refuse(struct peer *p, struct srnic_stream *stream)
{
	struct srnic_ep *ep = srnic_ep_new(p->dev, NULL, &srnic_iw_ops);

	KUNIT_ASSERT_NOT_NULL(p->test, ep);
	kref_get(&ep->ref);
	mutex_lock(&ep->lock);
	ep->policy.close_timeout = LINGER_TIME;
	srnic_ep_adopt(ep, stream);
	srnic_ep_linger(ep);
	end(ep);
}

/* A stream lingers, of a QP or not. Return: the peer's end */
static struct socket *lingers(struct peer *p, bool refused)
{
	struct srnic_stream *stream;
	struct socket *sock, *other;

	peer_sockets(p, &sock);
	other = p->sock;
	p->sock = NULL;
	stream = srnic_stream_new(sock);
	KUNIT_ASSERT_NOT_NULL(p->test, stream);
	if (refused)
		refuse(p, stream);
	else
		srnic_linger(stream, NULL, LINGER_TIME * HZ, false);
	return other;
}

static bool in_state(const struct socket *sock, int state)
{
	return peer_until(READ_ONCE(sock->sk->sk_state) == state);
}

/* Neither peers that are refused, nor another user, end a stream that has not had its time */
static void each_ends_its_own_streams(struct kunit *test)
{
	static struct socket *refused[LINGER_MAX + 1], *others[LINGER_MAX + 1];
	struct peer *p = idle(test);
	struct socket *kept = lingers(p, false);
	struct as as;
	u32 i;

	for (i = 0; i <= LINGER_MAX; i++)
		refused[i] = lingers(p, true);
	as = as_user(test, 1000, false);
	for (i = 0; i <= LINGER_MAX; i++)
		others[i] = lingers(p, false);
	as_before(as);
	KUNIT_EXPECT_TRUE(test, in_state(refused[0], TCP_CLOSE));
	KUNIT_EXPECT_TRUE(test, in_state(others[0], TCP_CLOSE));
	KUNIT_EXPECT_TRUE(test, in_state(refused[LINGER_MAX], TCP_CLOSE_WAIT));
	KUNIT_EXPECT_TRUE(test, in_state(others[LINGER_MAX], TCP_CLOSE_WAIT));
	KUNIT_EXPECT_EQ(test, READ_ONCE(kept->sk->sk_state), TCP_CLOSE_WAIT);
	for (i = 0; i <= LINGER_MAX; i++) {
		sock_release(refused[i]);
		sock_release(others[i]);
	}
	sock_release(kept);
}

static int cm_init(struct kunit *test)
{
	return srnic_cm_init();
}

/* Waits until the endpoints are released, before the objects that they refer to are */
static void cm_exit(struct kunit *test)
{
	srnic_cm_exit();
}

static struct kunit_case cm_cases[] = {
	KUNIT_CASE(abort_before_attach),
	KUNIT_CASE(moved_while_attaching),
	KUNIT_CASE(binds_no_window_once_attached),
	KUNIT_CASE(abort_while_attaching),
	KUNIT_CASE(a_stream_counts_for_the_user_of_its_qp),
	KUNIT_CASE(a_qp_is_for_the_user_that_made_it),
	KUNIT_CASE(several_wait_for_the_end_of_a_stream),
	KUNIT_CASE(each_ends_its_own_streams),
	{}
};

static struct kunit_suite cm_suite = {
	.name = "srnic-cm",
	.init = cm_init,
	.exit = cm_exit,
	.test_cases = cm_cases,
};

kunit_test_suite(cm_suite);
