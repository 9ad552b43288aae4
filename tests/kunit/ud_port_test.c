// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* ud_port.c: how many users can have a device's sockets for UD QPs, and what a call takes. */
#include <kunit/test.h>
#include <linux/in.h>
#include <linux/net.h>
#include <net/sock.h>
#include "compat.h"
#include "fake.h"
#include "ib/ib_device.h"
#include "ib/ud.h"
#include "peer.h"

struct member {
	struct srnic_holder holder;
	struct srnic_pd pd;
	struct srnic_qp qp;
	struct srnic_ud ud;
};

/* A UD QP of a new user */
static struct srnic_qp *user_qp(struct kunit *test, struct srnic_device *dev, u32 qpn)
{
	struct member *user = kunit_kzalloc(test, sizeof(*user), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, user);
	user->pd.holder = &user->holder;
	user->qp.dev = dev;
	user->qp.ibqp.pd = &user->pd.ibpd;
	user->qp.ibqp.qp_num = qpn;
	user->qp.ud = &user->ud;
	mutex_init(&user->ud.tx_lock);
	spin_lock_init(&user->qp.lock);
	return &user->qp;
}

/* SRNIC_MAX_UD_USERS users have sockets, each for all of its QPs; a further user gets none */
static void so_many_users(struct kunit *test)
{
	struct srnic_device *dev = fake_device(test);
	struct srnic_qp **qp = kunit_kcalloc(test, SRNIC_MAX_UD_USERS, sizeof(*qp), GFP_KERNEL);
	struct srnic_qp *more, *again;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, qp);
	/* without addresses, and so without sockets */
	dev->netdev = init_net.loopback_dev;
	dev->policy.now.ib_port = 4791;
	KUNIT_ASSERT_EQ(test, srnic_ud_init(), 0);
	KUNIT_ASSERT_EQ(test, srnic_ib_device_new(dev), 0);
	for (i = 0; i < SRNIC_MAX_UD_USERS; i++) {
		qp[i] = user_qp(test, dev, 2 + i);
		KUNIT_ASSERT_EQ_MSG(test, srnic_ud_ports_join(qp[i]), 0, "%u", i);
	}
	more = user_qp(test, dev, 2 + i);
	KUNIT_EXPECT_EQ(test, srnic_ud_ports_join(more), -ENOMEM);
	/* a user that has sockets may have another QP */
	again = user_qp(test, dev, 3 + i);
	again->ibqp.pd = qp[0]->ibqp.pd;
	KUNIT_EXPECT_EQ(test, srnic_ud_ports_join(again), 0);
	/* the user keeps them until its last QP leaves */
	srnic_ud_ports_leave(qp[0]);
	KUNIT_EXPECT_EQ(test, srnic_ud_ports_join(more), -ENOMEM);
	srnic_ud_ports_leave(again);
	KUNIT_EXPECT_EQ(test, srnic_ud_ports_join(more), 0);
	srnic_ud_ports_leave(more);
	for (i = 1; i < SRNIC_MAX_UD_USERS; i++)
		srnic_ud_ports_leave(qp[i]);
	srnic_ib_device_free(dev);
	srnic_ud_exit();
}

/* A call of a socket's callback takes SRNIC_UD_BUDGET datagrams, and the next one goes on */
static void a_call_takes_a_few(struct kunit *test)
{
	const u32 total = 2 * SRNIC_UD_BUDGET + 1;
	struct srnic_device *dev = fake_device(test);
	struct sockaddr_in addr = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	struct socket *sock;
	u32 n;

	peer_loopback();
	KUNIT_ASSERT_EQ(test, 0, sock_create_kern(&init_net, AF_INET, SOCK_DGRAM, IPPROTO_UDP,
						  &sock));
	KUNIT_ASSERT_EQ(test, 0, kernel_bind(sock, (struct sockaddr_unsized *)&addr,
					     sizeof(addr)));
	KUNIT_ASSERT_GT(test, kernel_getsockname(sock, (struct sockaddr *)&addr), 0);
	for (n = 0; n < total; n++) {
		struct msghdr msg = { .msg_name = &addr, .msg_namelen = sizeof(addr) };
		struct kvec vec = { .iov_base = "none", .iov_len = 4 };

		KUNIT_ASSERT_EQ(test, kernel_sendmsg(sock, &msg, &vec, 1, 4), 4);
	}
	KUNIT_ASSERT_TRUE(test, peer_until(skb_queue_len(&sock->sk->sk_receive_queue) == total));
	/* a socket that is being closed has no device */
	srnic_ud_data_ready(sock->sk);
	KUNIT_EXPECT_EQ(test, skb_queue_len(&sock->sk->sk_receive_queue), total);
	rcu_assign_sk_user_data(sock->sk, dev);
	for (n = SRNIC_UD_BUDGET; n < total; n += SRNIC_UD_BUDGET) {
		srnic_ud_data_ready(sock->sk);
		KUNIT_EXPECT_EQ(test, srnic_counter(dev, SRNIC_CNT_UD_RX_MALFORMED), n);
	}
	srnic_ud_data_ready(sock->sk);
	KUNIT_EXPECT_EQ(test, srnic_counter(dev, SRNIC_CNT_UD_RX_MALFORMED), total);
	rcu_assign_sk_user_data(sock->sk, NULL);
	sock_release(sock);
}

/* The works of all UD QPs share a queue: none waits for a doorbell, which may take long */
static void no_work_waits_for_a_doorbell(struct kunit *test)
{
	struct srnic_qp *qp = user_qp(test, fake_device(test), 2);
	bool done;

	KUNIT_ASSERT_EQ(test, srnic_ud_init(), 0);
	KUNIT_ASSERT_EQ(test, srnic_ud_create(qp), 0);
	/* what is left to do has no queues */
	qp->state = SRNIC_QP_ERROR;
	qp->ud->tx_on = true;
	mutex_lock(&qp->ud->tx_lock);
	srnic_ud_abort(qp);
	done = peer_until(!work_busy(&qp->ud->error));
	KUNIT_EXPECT_TRUE(test, done);
	KUNIT_EXPECT_TRUE(test, qp->ud->tx_on);
	mutex_unlock(&qp->ud->tx_lock);
	flush_work(&qp->ud->error);
	srnic_ud_error(qp);
	KUNIT_EXPECT_FALSE(test, qp->ud->tx_on);
	srnic_ud_destroy(qp);
	srnic_ud_exit();
}

static struct kunit_case ud_port_cases[] = {
	KUNIT_CASE(so_many_users),
	KUNIT_CASE(a_call_takes_a_few),
	KUNIT_CASE(no_work_waits_for_a_doorbell),
	{}
};

static struct kunit_suite ud_port_suite = {
	.name = "srnic-ud-port",
	.test_cases = ud_port_cases,
};

kunit_test_suite(ud_port_suite);
