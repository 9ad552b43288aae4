// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * takeover.c, stream.c, linger.c: streams by sockets that are a program's own. Which of them are
 * taken over, and how the stream ends beside threads of the program that are in calls on it.
 */
#include <kunit/test.h>
#include <linux/file.h>
#include <linux/if_arp.h>
#include <linux/kthread.h>
#include <linux/workqueue.h>
#include <net/ipv6.h>
#include <net/sock.h>
#include <net/tcp.h>
#include "compat.h"
#include "engine/linger.h"
#include "engine/stream.h"
#include "engine/takeover.h"
#include "peer.h"
#include "psp.h"
#include "queue/holder.h"

#define LINGER_MAX	1024	/* streams of one user that linger at a time */

/* Such a socket takes a device that has PSP. TCP refuses a protocol for it, and so does this */
static void a_socket_with_psp_is_refused(struct kunit *test)
{
	struct peer *p = peer_idle(test);
	struct srnic_stream *stream;
	struct socket *sock;
	struct file *file;
	long psp[64] = { };

	KUNIT_ASSERT_EQ(test, tests_protocol(), 0);
	ipv6_addr_set_v4mapped(htonl(INADDR_LOOPBACK), (struct in6_addr *)&p->dev->gids[1]);
	peer_sockets(p, &sock);
	file = sock_alloc_file(sock, 0, NULL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(file));
	rcu_assign_pointer(sock->sk->psp_assoc, (void *)psp);
	KUNIT_EXPECT_PTR_EQ(test, srnic_takeover_begin(p->dev, file), ERR_PTR(-EBUSY));
	RCU_INIT_POINTER(sock->sk->psp_assoc, NULL);
	stream = srnic_takeover_begin(p->dev, file);
	KUNIT_EXPECT_FALSE(test, IS_ERR(stream));
	if (!IS_ERR(stream))
		srnic_takeover_cancel(stream);
	fput(file);
}

/* A program's socket that is connected over lo, which the device is on, as an interface of @type */
static struct file *programs_file(struct peer *p, unsigned short type)
{
	struct net_device *netdev = kunit_kzalloc(p->test, sizeof(*netdev), GFP_KERNEL);
	struct socket *sock;
	struct file *file;

	KUNIT_ASSERT_EQ(p->test, tests_protocol(), 0);
	KUNIT_ASSERT_NOT_NULL(p->test, netdev);
	netdev->type = type;
	netdev->ifindex = init_net.loopback_dev->ifindex;
	dev_net_set(netdev, &init_net);
	p->dev->netdev = netdev;
	ipv6_addr_set_v4mapped(htonl(INADDR_LOOPBACK), (struct in6_addr *)&p->dev->gids[1]);
	peer_sockets(p, &sock);
	file = sock_alloc_file(sock, 0, NULL);
	KUNIT_ASSERT_FALSE(p->test, IS_ERR(file));
	return file;
}

/* As SO_BINDTODEVICE does. Return: the interface that it is bound to then */
static int bound(struct file *file, int ifindex)
{
	struct sock *sk = sock_from_file(file)->sk;

	sock_bindtoindex(sk, ifindex, true);
	return READ_ONCE(sk->sk_bound_dev_if);
}

/* The socket is as it was */
static void expect_refusal(struct peer *p, struct file *file, int ifindex)
{
	struct kvec vec = { .iov_base = "hello", .iov_len = 5 };
	struct sock *sk = sock_from_file(file)->sk;
	struct msghdr msg = { };
	char got[5];

	KUNIT_EXPECT_EQ(p->test, bound(file, ifindex), ifindex);
	KUNIT_EXPECT_PTR_EQ(p->test, srnic_takeover_begin(p->dev, file), ERR_PTR(-EXDEV));
	KUNIT_EXPECT_PTR_EQ(p->test, sk->sk_prot, &tcp_prot);
	KUNIT_EXPECT_NULL(p->test, sk->sk_user_data);
	KUNIT_EXPECT_EQ(p->test, bound(file, 0), 0);
	KUNIT_EXPECT_EQ(p->test, kernel_sendmsg(p->sock, &msg, &vec, 1, 5), 5);
	vec.iov_base = got;
	KUNIT_EXPECT_EQ(p->test, 5, kernel_recvmsg(sock_from_file(file), &msg, &vec, 1, 5,
						   MSG_WAITALL));
	KUNIT_EXPECT_EQ(p->test, memcmp(got, "hello", 5), 0);
}

/* On a tunnel only a socket that is bound to it is taken over, and nothing binds it anew then */
static void a_socket_stays_in_the_tunnel(struct kunit *test)
{
	int home = init_net.loopback_dev->ifindex, other = home + 1;
	struct peer *p = peer_idle(test);
	struct file *file = programs_file(p, ARPHRD_NONE);
	struct srnic_stream *stream;

	expect_refusal(p, file, 0);
	expect_refusal(p, file, other);
	KUNIT_EXPECT_EQ(test, bound(file, home), home);
	stream = srnic_takeover_begin(p->dev, file);
	KUNIT_ASSERT_FALSE(test, IS_ERR(stream));
	KUNIT_EXPECT_EQ(test, bound(file, 0), home);
	KUNIT_EXPECT_EQ(test, bound(file, other), home);
	srnic_takeover_cancel(stream);
	KUNIT_EXPECT_EQ(test, bound(file, 0), 0);
	KUNIT_EXPECT_PTR_EQ(test, srnic_takeover_begin(p->dev, file), ERR_PTR(-EXDEV));
	KUNIT_EXPECT_EQ(test, bound(file, home), home);
	stream = srnic_takeover_begin(p->dev, file);
	KUNIT_ASSERT_FALSE(test, IS_ERR(stream));
	srnic_takeover_commit(file);
	KUNIT_EXPECT_EQ(test, bound(file, 0), home);
	srnic_linger(stream, NULL, 0, true);
	peer_expect_end(p, "reset", -ECONNRESET);
	fput(file);
}

/*
 * Elsewhere the host's routes decide, and the program, which binds its socket as it likes, also
 * when another protocol has it
 */
static void elsewhere_a_socket_goes_anywhere(struct kunit *test)
{
	int other = init_net.loopback_dev->ifindex + 1;
	struct peer *p = peer_idle(test);
	struct file *file = programs_file(p, ARPHRD_ETHER);
	struct sock *sk = sock_from_file(file)->sk;
	struct srnic_stream theirs;
	int i;

	for (i = 0; i < 2; i++) {
		int ifindex = i * other;
		struct srnic_stream *stream;

		KUNIT_EXPECT_EQ(test, bound(file, ifindex), ifindex);
		stream = srnic_takeover_begin(p->dev, file);
		KUNIT_ASSERT_FALSE(test, IS_ERR(stream));
		KUNIT_EXPECT_EQ(test, bound(file, other + 1), other + 1);
		KUNIT_EXPECT_EQ(test, bound(file, 0), 0);
		srnic_takeover_cancel(stream);
	}
	memset(&theirs, 1, sizeof(theirs));
	rcu_assign_sk_user_data(sk, &theirs);
	KUNIT_EXPECT_EQ(test, bound(file, other), other);
	rcu_assign_sk_user_data(sk, NULL);
	fput(file);
}

/* As by a thread of a program that sleeps in a call on its socket */
static void own(struct sock *sk, bool owned)
{
	spin_lock_bh(&sk->sk_lock.slock);
	sk->sk_lock.owned = owned;
	spin_unlock_bh(&sk->sk_lock.slock);
	wake_up(&sk->sk_lock.wq);
}

/* Make a stream's socket a program's own */
static void give_file(struct kunit *test, struct srnic_stream *stream)
{
	stream->file = sock_alloc_file(stream->sock, 0, NULL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(stream->file));
	sock_hold(stream->sock->sk);
}

static void let_go(struct sock *sk)
{
	own(sk, false);
	sock_put(sk);
}

/* A stream by a socket that is a program's own; @p is the other end */
static struct srnic_stream *programs_stream(struct peer *p)
{
	struct srnic_stream *stream;
	struct socket *sock;

	peer_sockets(p, &sock);
	stream = srnic_stream_new(sock);
	KUNIT_ASSERT_NOT_NULL(p->test, stream);
	give_file(p->test, stream);
	return stream;
}

/* A stream lingers, for @seconds; with @locked its socket is a program's own, and locked */
static void begin_to_linger(struct peer *p, struct sock **locked, unsigned int seconds)
{
	struct srnic_stream *stream;
	struct socket *sock;

	if (locked) {
		stream = programs_stream(p);
		*locked = stream->sock->sk;
		own(*locked, true);
	} else {
		peer_sockets(p, &sock);
		stream = srnic_stream_new(sock);
		KUNIT_ASSERT_NOT_NULL(p->test, stream);
	}
	srnic_linger(stream, NULL, seconds * HZ, !seconds);
}

static struct peer *lingers(struct kunit *test, struct sock **locked)
{
	struct peer *p = peer_idle(test);

	begin_to_linger(p, locked, PEER_CLOSE_TIMEOUT);
	return p;
}

static void locked_sockets_delay_their_own_end_alone(struct kunit *test)
{
	struct sock *locked[40];
	struct peer *p;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(locked); i++)
		p = lingers(test, &locked[i]);
	msleep(100);
	peer_expect_end(lingers(test, NULL), "another stream of the user", 0);
	for (i = 0; i < ARRAY_SIZE(locked); i++)
		let_go(locked[i]);
	peer_expect_end(p, "a stream whose socket was locked", 0);
}

/*
 * The oldest stream of a user is the first to make room, but cannot while its socket is locked.
 * Then it is the turn of the next one.
 */
static void a_locked_socket_gives_its_turn_to_the_next(struct kunit *test)
{
	static struct socket *end[LINGER_MAX + 2];
	struct peer *p = peer_idle(test);
	struct sock *locked;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(end); i++) {
		begin_to_linger(p, i ? NULL : &locked, 120);
		end[i] = p->sock;
		p->sock = NULL;
	}
	KUNIT_EXPECT_TRUE(test, peer_until(READ_ONCE(end[1]->sk->sk_state) == TCP_CLOSE));
	KUNIT_EXPECT_TRUE(test, peer_until(READ_ONCE(end[2]->sk->sk_state) == TCP_CLOSE_WAIT));
	KUNIT_EXPECT_EQ(test, READ_ONCE(end[0]->sk->sk_state), TCP_ESTABLISHED);
	let_go(locked);
	KUNIT_EXPECT_TRUE(test, peer_until(READ_ONCE(end[0]->sk->sk_state) == TCP_CLOSE));
	for (i = 0; i < ARRAY_SIZE(end); i++)
		sock_release(end[i]);
}

static bool may_connect(struct srnic_device *dev)
{
	u32 key;

	if (srnic_user_charge(dev, &key))
		return false;
	srnic_user_uncharge(key);
	return true;
}

/* The program has closed its descriptor, and its QP is gone; a user may have one QP */
static void a_locked_socket_counts_as_a_qp(struct kunit *test)
{
	struct as as = as_user(test, 1000, false);
	struct sock *locked;
	struct peer *p = lingers(test, &locked);

	p->dev->policy.now.max_user_qps = 1;
	KUNIT_EXPECT_TRUE(test, peer_until(!may_connect(p->dev)));
	let_go(locked);
	peer_expect_end(p, "the socket is not locked any more", 0);
	KUNIT_EXPECT_TRUE(test, peer_until(may_connect(p->dev)));
	as_before(as);
}

/* A task that locks a stream */
struct locker {
	struct work_struct work;
	struct srnic_stream *stream;
	bool locked;
};

static void lock_stream(struct work_struct *work)
{
	struct locker *l = container_of(work, struct locker, work);

	l->locked = srnic_stream_lock(l->stream);
	if (l->locked)
		srnic_stream_unlock(l->stream);
}

/* Other tasks of our own are always faster, for longer than a program may keep the lock */
static void turns_of_our_own_lose_no_stream(struct kunit *test)
{
	struct peer *p = peer_idle(test);
	struct locker l = { .stream = programs_stream(p) };
	struct sock *sk = l.stream->sock->sk;
	unsigned int turns = l.stream->turns, i;

	KUNIT_EXPECT_TRUE(test, srnic_stream_lock(l.stream));
	srnic_stream_unlock(l.stream);
	KUNIT_EXPECT_EQ(test, l.stream->turns, turns + 1);
	own(sk, true);
	INIT_WORK_ONSTACK(&l.work, lock_stream);
	schedule_work(&l.work);
	for (i = 0; i < 30; i++) {
		msleep(100);
		/* one that the waiting task does not see */
		WRITE_ONCE(l.stream->turns, l.stream->turns + 1);
	}
	own(sk, false);
	flush_work(&l.work);
	destroy_work_on_stack(&l.work);
	KUNIT_EXPECT_TRUE(test, l.locked);
	srnic_linger(l.stream, NULL, 0, true);
	peer_expect_end(p, "reset", -ECONNRESET);
	sock_put(sk);
}

/* A thread of a program in recv() */
struct reader {
	struct socket *sock;
	int ret;
	bool done;
};

static int read_socket(void *arg)
{
	struct reader *r = arg;
	struct msghdr msg = { };
	u8 octet;
	struct kvec vec = { .iov_base = &octet, .iov_len = 1 };

	r->ret = kernel_recvmsg(r->sock, &msg, &vec, 1, 1, 0);
	/* before the end is seen */
	smp_store_release(&r->done, true);
	while (!kthread_should_stop())
		schedule_timeout_idle(HZ / 50);
	return 0;
}

/*
 * It waits since before the hand-over, and the stream is reset: it returns, as after connect() to
 * AF_UNSPEC
 */
static void a_thread_in_recv_returns(struct kunit *test)
{
	struct peer *p = peer_idle(test);
	struct srnic_stream *stream = programs_stream(p);
	struct file *file = get_file(stream->file);
	struct reader r = { .sock = stream->sock };
	struct sock *sk = stream->sock->sk;
	struct task_struct *task = kthread_run(read_socket, &r, "reader");

	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	/* asks again and again: no barrier */
	KUNIT_EXPECT_TRUE(test, peer_until(waitqueue_active(sk_sleep(sk))));
	srnic_linger(stream, NULL, 0, true);
	/* pairs with read_socket() */
	KUNIT_EXPECT_TRUE(test, peer_until(smp_load_acquire(&r.done)));
	/* if it has not returned it does now */
	wake_up_interruptible_all(sk_sleep(sk));
	kthread_stop(task);
#ifdef SRNIC_HAVE_SK_DISCONNECTS
	KUNIT_EXPECT_EQ(test, r.ret, -EPIPE);
#else
	KUNIT_EXPECT_EQ(test, r.ret, -ECONNRESET);
#endif
	peer_expect_end(p, "reset", -ECONNRESET);
	sock_put(sk);
	fput(file);
}

/*
 * Neither the end of a QP nor what its kthreads do waits for the program's thread, nor for an
 * answer to a FIN that could not be sent
 */
static void a_qp_with_a_locked_socket_ends(struct kunit *test)
{
	enum { BY_MODIFY, BY_CLOSE, BY_SEND, BY_DESTROY, WAYS } way;
	static const char *const name[] = {
		"Modify to Error", "Modify to Closing", "a Send", "Destroy",
	};

	for (way = 0; way < WAYS; way++) {
		struct peer *p = peer_open(test, 1, 1);
		unsigned long end = jiffies + 4 * HZ;
		struct sock *sk = p->qp->stream->sock->sk;

		give_file(test, p->qp->stream);
		own(sk, true);
		p->qp->policy.close_timeout = 30;
		if (way == BY_MODIFY)
			KUNIT_EXPECT_EQ(test, srnic_qp_modify(p->qp, SRNIC_QP_ERROR), 0);
		else if (way == BY_CLOSE)
			KUNIT_EXPECT_EQ(test, srnic_qp_modify(p->qp, SRNIC_QP_CLOSING), 0);
		else if (way == BY_SEND)
			peer_post(p, IB_WR_SEND, 1, IB_SEND_SIGNALED, NULL, 0, 0);
		if (way == BY_DESTROY) {
			KUNIT_EXPECT_EQ(test, srnic_qp_destroy(p->qp), 0);
			p->qp = NULL;
		} else {
			peer_until(READ_ONCE(p->closed));
		}
		KUNIT_EXPECT_TRUE_MSG(test, time_before(jiffies, end), "%s", name[way]);
		let_go(sk);
		/* only now can TCP be told to */
		if (way == BY_DESTROY) {
			peer_expect_end(p, name[way], 0);
			continue;
		}
		peer_expect_closed(p, name[way], SRNIC_QP_ERROR);
		KUNIT_EXPECT_TRUE_MSG(test, peer_was_reset(p), "%s", name[way]);
	}
}

static struct kunit_case takeover_cases[] = {
	KUNIT_CASE(a_socket_with_psp_is_refused),
	KUNIT_CASE(a_socket_stays_in_the_tunnel),
	KUNIT_CASE(elsewhere_a_socket_goes_anywhere),
	KUNIT_CASE(locked_sockets_delay_their_own_end_alone),
	KUNIT_CASE(a_locked_socket_gives_its_turn_to_the_next),
	KUNIT_CASE(a_locked_socket_counts_as_a_qp),
	KUNIT_CASE(turns_of_our_own_lose_no_stream),
	KUNIT_CASE(a_thread_in_recv_returns),
	KUNIT_CASE(a_qp_with_a_locked_socket_ends),
	{}
};

static struct kunit_suite takeover_suite = {
	.name = "srnic-takeover",
	.test_cases = takeover_cases,
};

kunit_test_suite(takeover_suite);
