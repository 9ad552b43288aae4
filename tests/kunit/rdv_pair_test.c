// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* rdv_pair.c: references that a pair holds, and the end of a pair that was not connected. */
#include <linux/jhash.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include "ib/ib_device.h"
#include "ib/rdv_priv.h"
#include "peer.h"
#include "queue/holder.h"

#define PORT	4791
#define RESERVED_PORT	791

static struct srnic_ib_device ib;

/* As peer_idle(), on a device to which pairs can hold a reference, with a port */
static struct peer *idle(struct kunit *test)
{
	struct peer *p = peer_idle(test);

	device_initialize(&p->dev->ibdev.dev);
	xa_init(&ib.pairs);
	p->dev->ib = &ib;
	p->dev->policy.now.ib_port = PORT;
	return p;
}

static u32 qpn_of(const struct peer *p)
{
	return p->qp->ibqp.qp_num;
}

static u32 holders(const struct peer *p)
{
	return kref_read(&p->dev->ibdev.dev.kobj.kref);
}

/* Modify to RTR: the peer is another QP at the address of the loopback interface */
static int prepare(const struct peer *p)
{
	struct ib_gid_attr gid = { };
	struct ib_qp_attr attr = { .dest_qp_num = qpn_of(p) + 1 };

	ipv6_addr_set_v4mapped(htonl(INADDR_LOOPBACK), (struct in6_addr *)&gid.gid);
	attr.ah_attr.grh.sgid_attr = &gid;
	attr.ah_attr.grh.dgid = gid.gid;
	return srnic_rdv_ops.prepare(p->qp, &attr, 1);
}

/* Is the port in use, at that address? */
static bool listens(struct kunit *test)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons(PORT),
	};
	struct socket *sock;
	int err;

	KUNIT_ASSERT_EQ(test, 0, sock_create_kern(&init_net, AF_INET, SOCK_STREAM, IPPROTO_TCP,
						  &sock));
	err = kernel_bind(sock, (struct sockaddr_unsized *)&addr, sizeof(addr));
	sock_release(sock);
	return err == -EADDRINUSE;
}

/* A connection attempt may begin after the QP is gone: the pair holds the device */
static void a_pair_holds_its_device(struct kunit *test)
{
	struct peer *p = idle(test);
	u32 before = holders(p);
	struct srnic_pair *pair;

	KUNIT_ASSERT_EQ(test, prepare(p), 0);
	KUNIT_EXPECT_TRUE(test, listens(test));
	pair = srnic_pair_find(p->dev, qpn_of(p));
	KUNIT_ASSERT_NOT_NULL(test, pair);
	KUNIT_EXPECT_EQ(test, srnic_rdv_ops.cancel(p->qp), 0);
	KUNIT_EXPECT_NULL(test, srnic_pair_find(p->dev, qpn_of(p)));
	KUNIT_EXPECT_TRUE(test, peer_until(!listens(test)));
	/* the listener's reference is dropped */
	KUNIT_EXPECT_TRUE(test, peer_until(holders(p) == before + 1));
	srnic_pair_put(pair);
	KUNIT_EXPECT_TRUE(test, peer_until(holders(p) == before));
}

static u32 aborts;

static void count_abort(void *priv)
{
	aborts++;
}

static const struct srnic_llp_ops others = { .abort = count_abort };

/* Nothing is left of the pair; the QP can be paired again */
static void expect_nothing(struct kunit *test, struct peer *p, u32 before)
{
	KUNIT_EXPECT_TRUE(test, peer_until(!listens(test)));
	KUNIT_EXPECT_TRUE(test, peer_until(holders(p) == before));
	KUNIT_EXPECT_EQ(test, kref_read(&p->qp->ref), 1);
	KUNIT_EXPECT_EQ(test, prepare(p), 0);
	KUNIT_EXPECT_EQ(test, srnic_rdv_ops.cancel(p->qp), 0);
	KUNIT_EXPECT_EQ(test, kref_read(&p->qp->ref), 1);
}

/*
 * If its entry in the table is taken, a pair does not claim the QP: otherwise its end would run
 * twice.
 */
static void without_a_place_there_is_no_claim(struct kunit *test)
{
	struct peer *p = idle(test);
	u32 before = holders(p);

	KUNIT_ASSERT_EQ(test, xa_err(xa_store(&ib.pairs, qpn_of(p), xa_mk_value(1),
					      GFP_KERNEL)), 0);
	KUNIT_EXPECT_EQ(test, prepare(p), -EBUSY);
	KUNIT_EXPECT_EQ(test, srnic_qp_claim(p->qp, &others, p), 0);
	srnic_qp_unclaim(p->qp, p);
	xa_erase(&ib.pairs, qpn_of(p));
	expect_nothing(test, p, before);
}

/* Another owner has the claim; only that owner's abort() is called when the QP ends */
static void without_the_claim_there_is_no_pair(struct kunit *test)
{
	struct peer *p = idle(test);
	u32 before = holders(p);

	KUNIT_ASSERT_EQ(test, srnic_qp_claim(p->qp, &others, p), 0);
	KUNIT_EXPECT_EQ(test, prepare(p), -EBUSY);
	KUNIT_EXPECT_NULL(test, srnic_pair_find(p->dev, qpn_of(p)));
	aborts = 0;
	srnic_qp_abort(p->qp);
	KUNIT_EXPECT_EQ(test, aborts, 1);
	srnic_qp_unclaim(p->qp, p);
	KUNIT_EXPECT_EQ(test, srnic_qp_modify(p->qp, SRNIC_QP_IDLE), 0);
	expect_nothing(test, p, before);
}

/* The work of a pair whose QP has ended runs once, and ends the pair once */
static void an_end_is_one_end(struct kunit *test)
{
	struct peer *p = idle(test);
	u32 before = holders(p);
	struct srnic_pair *pair;

	KUNIT_ASSERT_EQ(test, prepare(p), 0);
	pair = srnic_pair_find(p->dev, qpn_of(p));
	KUNIT_ASSERT_NOT_NULL(test, pair);
	srnic_qp_abort(p->qp);
	KUNIT_EXPECT_EQ(test, srnic_rdv_ops.cancel(p->qp), 0);
	srnic_pair_kick(pair);
	srnic_pair_put(pair);
	KUNIT_EXPECT_TRUE(test, peer_until(holders(p) == before));
	KUNIT_EXPECT_EQ(test, srnic_qp_modify(p->qp, SRNIC_QP_IDLE), 0);
	expect_nothing(test, p, before);
}

/* RESET waits for the end of a pair that it finds: the claim must not be the last to go */
static void a_pair_is_found_as_long_as_it_has_the_claim(struct kunit *test)
{
	struct peer *p = idle(test);
	u32 before = holders(p);
	struct srnic_pair *pair, *found;
	unsigned long handle = 0;
	struct srnic_ep *listener;

	KUNIT_ASSERT_EQ(test, prepare(p), 0);
	pair = srnic_pair_find(p->dev, qpn_of(p));
	KUNIT_ASSERT_NOT_NULL(test, pair);
	listener = srnic_ep_next(p->dev, &handle);
	KUNIT_ASSERT_NOT_NULL(test, listener);
	/* the end of the pair, which is the end of the listener, waits for this lock */
	mutex_lock(&listener->lock);
	srnic_qp_abort(p->qp);
	KUNIT_EXPECT_TRUE(test, peer_until(READ_ONCE(pair->over)));
	KUNIT_EXPECT_EQ(test, srnic_qp_modify(p->qp, SRNIC_QP_IDLE), -EBUSY);
	found = srnic_pair_find(p->dev, qpn_of(p));
	KUNIT_EXPECT_PTR_EQ(test, found, pair);
	mutex_unlock(&listener->lock);
	srnic_ep_put(listener);
	KUNIT_EXPECT_EQ(test, srnic_rdv_ops.cancel(p->qp), 0);
	KUNIT_EXPECT_EQ(test, srnic_qp_modify(p->qp, SRNIC_QP_IDLE), 0);
	if (found)
		srnic_pair_put(found);
	srnic_pair_put(pair);
	expect_nothing(test, p, before);
}

/* A namespace made after another one ended may have the same address, but not the same cookie */
static void a_namespace_is_its_cookie(struct kunit *test)
{
	struct peer *p = idle(test);
	u64 cookie = init_net.net_cookie;
	struct srnic_pair *pair;
	struct socket *sock;

	KUNIT_EXPECT_EQ(test, srnic_sock_create(p->dev, cookie + 1, AF_INET, &sock), -EXDEV);
	KUNIT_ASSERT_EQ(test, srnic_sock_create(p->dev, cookie, AF_INET, &sock), 0);
	sock_release(sock);
	KUNIT_ASSERT_EQ(test, prepare(p), 0);
	pair = srnic_pair_find(p->dev, qpn_of(p));
	KUNIT_ASSERT_NOT_NULL(test, pair);
	KUNIT_EXPECT_EQ(test, pair->net, cookie);
	srnic_pair_put(pair);
	KUNIT_EXPECT_EQ(test, srnic_rdv_ops.cancel(p->qp), 0);
}

static u8 offers(struct kunit *test, u32 max_fpdu)
{
	struct peer *p = idle(test);
	struct srnic_pair *pair;
	u8 offers;

	p->dev->policy.now.max_fpdu = max_fpdu;
	KUNIT_ASSERT_EQ(test, prepare(p), 0);
	pair = srnic_pair_find(p->dev, qpn_of(p));
	KUNIT_ASSERT_NOT_NULL(test, pair);
	offers = pair->own.offers;
	srnic_pair_put(pair);
	KUNIT_EXPECT_EQ(test, srnic_rdv_ops.cancel(p->qp), 0);
	return offers;
}

/* Sends with immediate data (1) in any case */
static void large_fpdus_are_offered_unless_their_size_is_set(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, offers(test, 0) & 5, 5);
	KUNIT_EXPECT_EQ(test, offers(test, SRNIC_FPDU_AUTO) & 5, 5);
	KUNIT_EXPECT_EQ(test, offers(test, 1460) & 5, 1);
	KUNIT_EXPECT_EQ(test, offers(test, 65535) & 5, 1);
}

/* Of the ports from 512 to 1023 that a pair has come by, those that its user may have */
static u32 ports_of_user(u16 first, u16 end)
{
	u32 n = 0;

	while (first != end)
		n += jhash_2words(512 + first++ % 512, srnic_user_key(), 0) & 1;
	return n;
}

/* With ib_privileged; none of the ports will do, since the address is not the host's any more */
static void an_attempt_tries_four_ports(struct kunit *test)
{
	struct peer *p = idle(test);
	struct srnic_pair *pair;
	u16 first;

	p->dev->policy.now.ib_port = RESERVED_PORT;
	p->dev->policy.now.ib_privileged = true;
	KUNIT_ASSERT_EQ(test, prepare(p), 0);
	pair = srnic_pair_find(p->dev, qpn_of(p));
	KUNIT_ASSERT_NOT_NULL(test, pair);
	/* 192.0.2.1 (RFC 5737) */
	((struct sockaddr_in *)&pair->local)->sin_addr.s_addr = htonl(0xc0000201);
	first = pair->next_port;
	srnic_rdv_connect(pair);
	KUNIT_EXPECT_EQ(test, ports_of_user(first, pair->next_port), 4);
	KUNIT_EXPECT_EQ(test, srnic_rdv_ops.cancel(p->qp), 0);
	srnic_pair_put(pair);
}

/* The pair's peer sends a Request from @port of the same host. Return: the code of the Reply */
static u8 reply_to_port(struct kunit *test, const struct srnic_pair *pair, u16 port)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons(port),
	};
	struct rdv_hello hello = {
		.src_qpn = pair->own.dst_qpn,
		.dst_qpn = pair->own.src_qpn,
		.src_psn = pair->own.dst_psn,
		.dst_psn = pair->own.src_psn,
	};
	const struct mpa_policy policy = { .rev = 2, .p2p = true, .rtr = MPA_RTR_WRITE };
	struct kvec vec = { };
	struct msghdr msg = { };
	struct mpa_hello req;
	struct socket *sock;
	u8 buf[128] = { };
	u32 len;

	memcpy(hello.src_gid, pair->own.dst_gid, RDV_GID_LEN);
	memcpy(hello.dst_gid, pair->own.src_gid, RDV_GID_LEN);
	mpa_request_init(&req, &policy, 2, 1, 1, RDV_LEN);
	len = mpa_hello_encode(buf, MPA_REQUEST, &req);
	rdv_encode(buf + len, &hello);
	KUNIT_ASSERT_EQ(test, 0, sock_create_kern(&init_net, AF_INET, SOCK_STREAM, IPPROTO_TCP,
						  &sock));
	sock->sk->sk_rcvtimeo = 10 * HZ;
	KUNIT_EXPECT_EQ(test, 0, kernel_bind(sock, (struct sockaddr_unsized *)&addr, sizeof(addr)));
	addr.sin_port = htons(RESERVED_PORT);
	KUNIT_EXPECT_EQ(test, 0, kernel_connect(sock, (struct sockaddr_unsized *)&addr,
						sizeof(addr), 0));
	vec.iov_base = buf;
	vec.iov_len = len + RDV_LEN;
	KUNIT_EXPECT_EQ(test, kernel_sendmsg(sock, &msg, &vec, 1, vec.iov_len), len + RDV_LEN);
	memset(buf, 0xff, sizeof(buf));
	KUNIT_EXPECT_EQ(test, kernel_recvmsg(sock, &msg, &vec, 1, len + RDV_LEN, MSG_WAITALL),
			len + RDV_LEN);
	sock_release(sock);
	KUNIT_EXPECT_EQ(test, get_unaligned_be32(buf + len), RDV_MAGIC);
	return buf[len + 5];
}

/*
 * With ib_privileged a port from 1024 on proves nothing, even if it is the peer's Request in all
 * else. From one below, a Request comes to the next question: whose attempt stays?
 */
static void a_request_from_an_unprivileged_port_is_refused(struct kunit *test)
{
	struct peer *p = idle(test);
	struct srnic_pair *pair;

	p->dev->policy.now.ib_port = RESERVED_PORT;
	p->dev->policy.now.ib_privileged = true;
	p->dev->policy.now.request_timeout = 10;
	p->dev->policy.now.close_timeout = 10;
	p->dev->policy.now.mpa.rev = 2;
	KUNIT_ASSERT_EQ(test, prepare(p), 0);
	pair = srnic_pair_find(p->dev, qpn_of(p));
	KUNIT_ASSERT_NOT_NULL(test, pair);
	mutex_lock(&pair->lock);
	pair->attempt = (struct srnic_ep *)8;	/* it is not looked into */
	pair->own.dst_qpn = pair->own.src_qpn - 1;	/* the lower number: this end's stays */
	mutex_unlock(&pair->lock);
	KUNIT_EXPECT_EQ(test, reply_to_port(test, pair, 1023), RDV_COLLISION);
	KUNIT_EXPECT_EQ(test, reply_to_port(test, pair, 1024), RDV_NOT_READY);
	mutex_lock(&pair->lock);
	pair->attempt = NULL;
	mutex_unlock(&pair->lock);
	KUNIT_EXPECT_EQ(test, srnic_rdv_ops.cancel(p->qp), 0);
	srnic_pair_put(pair);
}

static int rdv_pair_init(struct kunit *test)
{
	return srnic_cm_init() ?: srnic_rdv_init();
}

static void rdv_pair_exit(struct kunit *test)
{
	srnic_rdv_exit();
	srnic_cm_exit();
}

static struct kunit_case rdv_pair_cases[] = {
	KUNIT_CASE(a_pair_holds_its_device),
	KUNIT_CASE(without_a_place_there_is_no_claim),
	KUNIT_CASE(without_the_claim_there_is_no_pair),
	KUNIT_CASE(an_end_is_one_end),
	KUNIT_CASE(a_pair_is_found_as_long_as_it_has_the_claim),
	KUNIT_CASE(a_namespace_is_its_cookie),
	KUNIT_CASE(large_fpdus_are_offered_unless_their_size_is_set),
	KUNIT_CASE(an_attempt_tries_four_ports),
	KUNIT_CASE(a_request_from_an_unprivileged_port_is_refused),
	{}
};

static struct kunit_suite rdv_pair_suite = {
	.name = "srnic-rdv-pair",
	.init = rdv_pair_init,
	.exit = rdv_pair_exit,
	.test_cases = rdv_pair_cases,
};

kunit_test_suite(rdv_pair_suite);
