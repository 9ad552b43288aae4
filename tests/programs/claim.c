// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Which QPs a connection may use. rdma_connect() and rdma_accept() name a QP by its number, and
 * every user can list the numbers. The owner and the other user are separate processes.
 */
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "ibqp.h"
#include "ud.h"

#define OWNER	65533
#define OTHER	65534
#define WAIT_MS	20000

static void become(uid_t uid)
{
	require(!setgroups(0, NULL) && !setresgid(uid, uid, uid) && !setresuid(uid, uid, uid),
		"%s", strerror(errno));
}

/* Root without CAP_NET_RAW */
static void without_net_raw(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	require(!syscall(SYS_capget, &head, data), "%s", strerror(errno));
	data[0].effective &= ~(1U << CAP_NET_RAW);
	require(!syscall(SYS_capset, &head, data), "%s", strerror(errno));
}

static struct rdma_cm_id *listen_cm(struct rdma_event_channel *cm)
{
	struct sockaddr_storage addr;
	struct rdma_cm_id *id;

	resolve(test_addr, 0, &addr);
	require(!rdma_create_id(cm, &id, NULL, RDMA_PS_TCP) &&
		!rdma_bind_addr(id, (struct sockaddr *)&addr) && !rdma_listen(id, 4), "%s",
		strerror(errno));
	return id;
}

static struct rdma_cm_id *route_to(struct rdma_event_channel *cm, struct rdma_cm_id *listener)
{
	struct sockaddr_storage addr;
	struct rdma_cm_id *id;

	resolve(test_addr, ntohs(rdma_get_src_port(listener)), &addr);
	require(!rdma_create_id(cm, &id, NULL, RDMA_PS_TCP) &&
		!rdma_resolve_addr(id, NULL, (struct sockaddr *)&addr, WAIT_MS), "%s",
		strerror(errno));
	cm_expect(cm, RDMA_CM_EVENT_ADDR_RESOLVED, NULL);
	require(!rdma_resolve_route(id, WAIT_MS), "%s", strerror(errno));
	cm_expect(cm, RDMA_CM_EVENT_ROUTE_RESOLVED, NULL);
	return id;
}

static struct rdma_conn_param naming(uint32_t qpn)
{
	return (struct rdma_conn_param){ .responder_resources = 1, .initiator_depth = 1,
					 .qp_num = qpn };
}

/* Return: 0 or the errno */
static int try_connect(uint32_t qpn)
{
	struct rdma_event_channel *cm = cm_channel(false), *server = cm_channel(false);
	struct rdma_cm_id *listener = listen_cm(server);
	struct rdma_cm_id *id = route_to(cm, listener);
	struct rdma_conn_param param = naming(qpn);
	int err = rdma_connect(id, &param) ? errno : 0;
	struct rdma_cm_event *ev;

	if (!err) {
		/* otherwise the end of @id waits for a response */
		cm_expect(server, RDMA_CM_EVENT_CONNECT_REQUEST, &ev);
		require(!rdma_reject(ev->id, NULL, 0), "%s", strerror(errno));
		rdma_ack_cm_event(ev);
		cm_expect(cm, RDMA_CM_EVENT_REJECTED, NULL);
	}
	rdma_destroy_id(id);
	rdma_destroy_id(listener);
	return err;
}

/* The other end is this process, too. Return: 0 or the errno */
static int try_accept(uint32_t qpn)
{
	struct rdma_event_channel *server = cm_channel(false);
	struct end client = { .cm = cm_channel(false) };
	struct rdma_cm_id *listener = listen_cm(server);
	struct rdma_conn_param param = naming(0);
	struct ibv_qp_cap cap = DEFAULT_CAP;
	struct rdma_cm_event *ev;
	int err;

	end_init(&client, route_to(client.cm, listener), &cap);
	require(!rdma_connect(client.id, &param), "%s", strerror(errno));
	cm_expect(server, RDMA_CM_EVENT_CONNECT_REQUEST, &ev);
	param = naming(qpn);
	err = rdma_accept(ev->id, &param) ? errno : 0;
	rdma_ack_cm_event(ev);
	return err;
}

static void expect_both(uint32_t qpn, int want)
{
	int err = try_connect(qpn);

	require(err == want, "rdma_connect: %s", strerror(err));
	err = try_accept(qpn);
	require(err == want, "rdma_accept: %s", strerror(err));
}

static void ended_well(pid_t pid, const char *who)
{
	int status;

	require(waitpid(pid, &status, 0) == pid && !status, "%s: status %#x", who, status);
}

/* A process, and two pipes to and from it */
struct other {
	pid_t pid;
	int tell, hear;
};

static uint32_t hear(int fd)
{
	uint32_t n;

	require(read(fd, &n, sizeof(n)) == sizeof(n), "%s", strerror(errno));
	return n;
}

static void tell(int fd, uint32_t n)
{
	require(write(fd, &n, sizeof(n)) == sizeof(n), "%s", strerror(errno));
}

/* @run makes a QP and sends its number; on a message it checks that the QP has not changed */
static uint32_t owner_new(struct other *o, void (*run)(int tell_fd, int hear_fd))
{
	int to[2], from[2];

	require(!pipe(to) && !pipe(from), "%s", strerror(errno));
	o->pid = fork_child();
	if (!o->pid) {
		become(OWNER);
		run(from[1], to[0]);
		exit(EXIT_PASS);
	}
	o->tell = to[1];
	o->hear = from[0];
	return hear(o->hear);
}

static void owner_end(struct other *o)
{
	tell(o->tell, 0);
	ended_well(o->pid, "the owner");
}

static void one_datagram(struct ud *u)
{
	struct ibv_wc wc;

	ud_recv(u, 100, 1000);
	ud_post(u, u, 60, IBV_WR_SEND, IBV_SEND_SIGNALED);
	for (int i = 0; i < 2; i++) {
		wc = wait_wc(u->cq, "a message to itself");
		require(wc.status == IBV_WC_SUCCESS && (wc.wr_id == 60 || wc.wr_id == 100) &&
			(wc.wr_id == 60 || wc.wc_flags & IBV_WC_GRH), "WR %llu: %s",
			(unsigned long long)wc.wr_id, ibv_wc_status_str(wc.status));
	}
	ud_expect_state(u, IBV_QPS_RTS);
}

static void destroy_soon(struct ibv_qp *qp)
{
	uint64_t begin = now_ms();

	require(!ibv_destroy_qp(qp), "%s", strerror(errno));
	require(now_ms() - begin < 5000, "%llu ms", (unsigned long long)(now_ms() - begin));
}

static void ud_owner(int tell_fd, int hear_fd)
{
	struct ud u;

	ud_make(&u, false);
	ud_up(&u, UD_QKEY);
	one_datagram(&u);
	tell(tell_fd, u.qp->qp_num);
	hear(hear_fd);
	one_datagram(&u);
	destroy_soon(u.qp);
}

/* The owner connects the QP afterwards, as if nothing had happened */
static void rc_owner(int tell_fd, int hear_fd)
{
	struct hand h;

	hand_qp(&h);
	tell(tell_fd, h.qp->qp_num);
	hear(hear_fd);
	require(try_connect(h.qp->qp_num) == 0, "its own: %s", strerror(errno));
	destroy_soon(h.qp);
}

static void idle_owner(int tell_fd, int hear_fd)
{
	struct hand h;

	hand_qp(&h);
	tell(tell_fd, h.qp->qp_num);
	hear(hear_fd);
	destroy_soon(h.qp);
}

static void as_other(uint32_t qpn, int want)
{
	pid_t pid = fork_child();

	if (!pid) {
		become(OTHER);
		expect_both(qpn, want);
		exit(EXIT_PASS);
	}
	ended_well(pid, "the other user");
}

static void case_ud(void)
{
	struct hand h = { };
	struct ud u;
	int peer, err;

	become(OWNER);
	ud_make(&u, false);
	ud_up(&u, UD_QKEY);
	expect_both(u.qp->qp_num, EINVAL);
	h.qp = u.qp;
	hand_sockets(test_addr, &h.fd, &peer);
	err = hand_over(&h, SRNIC_QP_MODIFY_CRC, NULL, 0);
	require(err == EINVAL, "hand-over: %s", strerror(err));
	hand_sockets_work(h.fd, peer, "afterwards");
	one_datagram(&u);
	destroy_soon(u.qp);
}

static void case_foreign_ud(void)
{
	struct other o;

	as_other(owner_new(&o, ud_owner), EPERM);
	owner_end(&o);
}

static void case_foreign(void)
{
	uint64_t before = ud_counter("conn_not_owner");
	struct other o;

	as_other(owner_new(&o, rc_owner), EPERM);
	owner_end(&o);
	ud_counted("conn_not_owner", before + 2);
}

static void case_capable(void)
{
	struct other o;
	int err = try_connect(owner_new(&o, idle_owner));

	require(!err, "%s", strerror(err));
	owner_end(&o);
}

static void case_root(void)
{
	struct other o;

	without_net_raw();
	expect_both(owner_new(&o, rc_owner), EPERM);
	owner_end(&o);
}

/* CLAIM_QPN is a kernel consumer's QP. A program's id cannot claim it, not even root's */
static void case_kernel(void)
{
	uint32_t qpn = env_uint("CLAIM_QPN", 0);

	require(qpn, "CLAIM_QPN");
	expect_both(qpn, EPERM);
	as_other(qpn, EPERM);
}

static void stay(const char *what)
{
	puts(what);
	fflush(stdout);
	pause();
}

/* A QP that waits for a peer which never comes */
static void case_rtr(void)
{
	struct hand h;

	ib_find_gid();
	hand_qp(&h);
	ib_rtr(&h, &ib_gid, 0x777, 1);
	stay("rtr");
}

/* Two QPs, one of which waits for the other */
static void case_two(void)
{
	struct hand a, b;
	struct ibv_recv_wr rwr = { .wr_id = 5 }, *rbad;
	struct ibv_send_wr wr = { .wr_id = 1, .opcode = IBV_WR_SEND }, *bad;

	ib_find_gid();
	hand_qp(&a);
	hand_qp(&b);
	ib_rtr(&a, &ib_gid, b.qp->qp_num, 1);
	ib_rtr(&b, &ib_gid, a.qp->qp_num, 2);
	require(!ibv_post_recv(b.qp, &rwr, &rbad), "recv");
	ib_rts(&a, 2, 14);
	require(!ibv_post_send(a.qp, &wr, &bad), "send");
	expect_wc(a.cq, 1, IBV_WC_SUCCESS, "send");
	expect_wc(b.cq, 5, IBV_WC_SUCCESS, "receive");
	stay("connected");
}

/* CLAIM_QPS QPs, each with a message for a host that does not answer */
static void case_crowd(void)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad;
	union ibv_gid nobody;
	struct hand h;

	ib_find_gid();
	nobody = ib_gid;
	nobody.raw[15] = 99;
	hand_qp(&h);
	for (unsigned int n = env_uint("CLAIM_QPS", 0); n; n--) {
		hand_another_qp(&h);
		ib_rtr(&h, &nobody, 0x777, 1);
		/* it waits for ever */
		ib_rts(&h, 2, 0);
		require(!ibv_post_send(h.qp, &wr, &bad), "send");
	}
	stay("crowd");
}

static const struct test_case cases[] = {
	{ "ud", case_ud, "a UD QP has no connection, not its owner's either" },
	{ "foreign_ud", case_foreign_ud, "another user's UD QP goes on as before" },
	{ "foreign", case_foreign, "another user's QP is not taken, and that is counted" },
	{ "capable", case_capable, "CAP_NET_RAW takes another user's QP" },
	{ "root", case_root, "root without CAP_NET_RAW does not" },
	{ "kernel", case_kernel, "" },
	{ "rtr", case_rtr, "" },
	{ "two", case_two, "" },
	{ "crowd", case_crowd, "" },
};

static const struct test_program prog = {
	.usage = "claim --list | claim ADDR CASE",
	.timeout_env = "CLAIM_TIMEOUT",
	.timeout = 50,
	.cases = cases,
	.count = ARRAY_SIZE(cases),
};

int main(int argc, char **argv)
{
	return run_cases(&prog, argc, argv);
}
