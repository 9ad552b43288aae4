// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Two connected QPs in one process, to misuse one and check both. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "pair.h"

#define WAIT_MS 20000	/* for what must happen; guests are slow */

static struct ibv_context *context;

static void open_context(void)
{
	struct sockaddr_storage addr;
	struct rdma_cm_id *id;

	resolve(test_addr, 0, &addr);
	if (rdma_create_id(cm_channel(false), &id, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(id, (struct sockaddr *)&addr))
		die("no RDMA device has address %s: %s", test_addr, strerror(errno));
	require(id->verbs, "bound to %s", test_addr);
	context = id->verbs;
}

/*
 * The device that has test_addr, opened by librdmacm; opened by the first thread that calls this.
 */
struct ibv_context *test_context(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int err = pthread_once(&once, open_context);

	require(!err, "pthread_once: %s", strerror(err));
	return context;
}

/* One more file of its device, without a context */
int open_uverbs(void)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "/dev/infiniband/%s", test_context()->device->dev_name);
	fd = open(path, O_RDWR | O_CLOEXEC);
	require(fd >= 0, "%s: %s", path, strerror(errno));
	return fd;
}

int uverbs_mappings(struct mapping *map, int max)
{
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long start, end, offset;
	char line[512];
	int n = 0;

	require(f, "%s", strerror(errno));
	while (n < max && fgets(line, sizeof(line), f))
		if (strstr(line, "/uverbs") &&
		    sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) == 3)
			map[n++] = (struct mapping){ (uint8_t *)start, end - start, offset };
	fclose(f);
	return n;
}

void (*end_hook)(struct end *e, struct ibv_qp_init_attr_ex *attr);

void end_init(struct end *e, struct rdma_cm_id *id, const struct ibv_qp_cap *cap)
{
	struct ibv_qp_init_attr_ex attr = { .qp_type = IBV_QPT_RC, .cap = *cap,
					    .comp_mask = IBV_QP_INIT_ATTR_PD };

	e->id = id;
	e->pd_shared = e->pd;
	if (!e->pd)
		e->pd = ibv_alloc_pd(id->verbs);
	require(e->pd, "ibv_alloc_pd: %s", strerror(errno));
	e->rch = ibv_create_comp_channel(id->verbs);
	require(e->rch, "ibv_create_comp_channel: %s", strerror(errno));
	attr.pd = e->pd;
	if (end_hook)
		end_hook(e, &attr);
	if (!e->scq)
		e->scq = ibv_create_cq(id->verbs, cap->max_send_wr + 8, NULL, NULL, 0);
	if (!e->rcq)
		e->rcq = ibv_create_cq(id->verbs, cap->max_recv_wr + 8, NULL, e->rch, 0);
	require(e->scq && e->rcq, "ibv_create_cq: %s", strerror(errno));
	attr.send_cq = e->scq;
	attr.recv_cq = e->rcq;
	if (e->srq) {	/* the RQ has no meaning then, and the device must ignore these (QP-12) */
		attr.srq = e->srq;
		attr.cap.max_recv_wr = 0x7fffffff;
		attr.cap.max_recv_sge = 0x7fffffff;
	}
	if (rdma_create_qp_ex(id, &attr))
		die("rdma_create_qp_ex: %s", strerror(errno));
	e->qp = id->qp;
	e->cap = attr.cap;
	e->buf = mmap(NULL, BUF_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	require(e->buf != MAP_FAILED, "mmap: %s", strerror(errno));
	memset(e->buf, GUARD_BYTE, BUF_SIZE);
	e->mr = ibv_reg_mr(e->pd, e->buf, BUF_SIZE, ACCESS_ALL);
	require(e->mr, "ibv_reg_mr: %s", strerror(errno));
}

#define PORTS	8	/* that TCP may have already, in a row */

/* rdma_cm chooses a port that none of its own ids has. A socket may have it. */
static bool listens(struct pair *p)
{
	struct sockaddr_storage addr;

	resolve(test_addr, 0, &addr);
	if (rdma_create_id(p->b.cm, &p->listener, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(p->listener, (struct sockaddr *)&addr))
		die("cannot bind to %s: %s", test_addr, strerror(errno));
	if (!rdma_listen(p->listener, 4))
		return true;
	if (errno != EADDRINUSE)
		die("cannot listen on %s: %s", test_addr, strerror(errno));
	note("port %u is a socket's", ntohs(rdma_get_src_port(p->listener)));
	require(!rdma_destroy_id(p->listener), "%s", strerror(errno));
	return false;
}

/* a has its QP and a route, b listens: the set-up before the connection. */
void pair_prepare(struct pair *p, const struct ibv_qp_cap *cap)
{
	struct sockaddr_storage addr;
	struct rdma_cm_id *id;
	int ports = 0;

	memset(p, 0, sizeof(*p));
	p->a.cm = cm_channel(false);
	p->b.cm = cm_channel(false);
	while (!listens(p))
		require(++ports < PORTS, "no port to listen on %s", test_addr);
	resolve(test_addr, ntohs(rdma_get_src_port(p->listener)), &addr);
	if (rdma_create_id(p->a.cm, &id, NULL, RDMA_PS_TCP) ||
	    rdma_resolve_addr(id, NULL, (struct sockaddr *)&addr, WAIT_MS))
		die("rdma_resolve_addr %s: %s", test_addr, strerror(errno));
	cm_expect(p->a.cm, RDMA_CM_EVENT_ADDR_RESOLVED, NULL);
	if (rdma_resolve_route(id, WAIT_MS))
		die("rdma_resolve_route: %s", strerror(errno));
	cm_expect(p->a.cm, RDMA_CM_EVENT_ROUTE_RESOLVED, NULL);
	end_init(&p->a, id, cap);
}

void pair_connect(struct pair *p)
{
	struct rdma_conn_param param = { .responder_resources = 4, .initiator_depth = 4,
					 .retry_count = 7, .rnr_retry_count = 7 };
	struct ibv_qp_cap cap = p->a.cap;
	struct rdma_cm_event *ev;
	struct rdma_cm_id *id;

	if (rdma_connect(p->a.id, &param))
		die("rdma_connect: %s", strerror(errno));
	cm_expect(p->b.cm, RDMA_CM_EVENT_CONNECT_REQUEST, &ev);
	id = ev->id;
	rdma_ack_cm_event(ev);
	end_init(&p->b, id, &cap);
	if (rdma_accept(id, &param))
		die("rdma_accept: %s", strerror(errno));
	cm_expect(p->a.cm, RDMA_CM_EVENT_ESTABLISHED, NULL);
	cm_expect(p->b.cm, RDMA_CM_EVENT_ESTABLISHED, NULL);
}

void pair_open(struct pair *p)
{
	struct ibv_qp_cap cap = DEFAULT_CAP;

	pair_prepare(p, &cap);
	pair_connect(p);
}

/* Its b uses the PD of the other pair's b. */
void pair_open_with(struct pair *p, const struct pair *other)
{
	struct ibv_qp_cap cap = DEFAULT_CAP;

	pair_prepare(p, &cap);
	p->b.pd = other->b.pd;
	pair_connect(p);
}

static void end_close(struct end *e)
{
	int err;

	if (!e->id)
		return;
	if (!e->disconnected)
		rdma_disconnect(e->id);
	if (e->id->qp)
		rdma_destroy_qp(e->id);
	err = ibv_dereg_mr(e->mr);
	require(!err, "ibv_dereg_mr: %s", strerror(err));
	munmap(e->buf, BUF_SIZE);
	err = ibv_destroy_cq(e->scq) ?: ibv_destroy_cq(e->rcq) ?:
	      ibv_destroy_comp_channel(e->rch);
	if (!err && !e->pd_shared)
		err = ibv_dealloc_pd(e->pd);
	require(!err, "releasing an end: %s", strerror(err));
	if (rdma_destroy_id(e->id))
		die("rdma_destroy_id: %s", strerror(errno));
}

void pair_close(struct pair *p)
{
	end_close(&p->a);
	end_close(&p->b);
	rdma_destroy_id(p->listener);
	rdma_destroy_event_channel(p->a.cm);
	rdma_destroy_event_channel(p->b.cm);
}

struct ibv_sge sge_of(struct end *e, uint32_t off, uint32_t len)
{
	return (struct ibv_sge){ (uintptr_t)e->buf + off, len, e->mr->lkey };
}

int post_wr(struct end *e, enum ibv_wr_opcode op, uint64_t wr_id, struct ibv_sge *sge,
	    int num, unsigned int flags, uint64_t raddr, uint32_t rkey)
{
	struct ibv_send_wr wr = {
		.wr_id = wr_id, .sg_list = sge, .num_sge = num, .opcode = op,
		.send_flags = flags, .wr.rdma = { raddr, rkey },
	}, *bad = NULL;
	int err = ibv_post_send(e->qp, &wr, &bad);

	/* ibv_post_send(3): 0, or the value of errno, and then bad_wr is set */
	require(err >= 0, "ibv_post_send returned %d", err);
	if (err)
		require(bad == &wr, "bad_wr is %p", (void *)bad);
	return err;
}

int post_rwr(struct end *e, uint64_t wr_id, struct ibv_sge *sge, int num)
{
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = sge, .num_sge = num }, *bad = NULL;
	int err = ibv_post_recv(e->qp, &wr, &bad);

	require(err >= 0, "ibv_post_recv returned %d", err);
	if (err)
		require(bad == &wr, "bad_wr is %p", (void *)bad);
	return err;
}

void must_recv(struct end *e, uint64_t wr_id, uint32_t off, uint32_t len)
{
	struct ibv_sge sge = sge_of(e, off, len);
	int err = post_rwr(e, wr_id, &sge, 1);

	require(!err, "ibv_post_recv: %s", strerror(err));
}

static bool poll_one(struct ibv_cq *cq, struct ibv_wc *wc)
{
	int n = ibv_poll_cq(cq, 1, wc);

	require(n >= 0, "ibv_poll_cq: %d", n);
	return n;
}

struct ibv_wc wait_wc(struct ibv_cq *cq, const char *what)
{
	uint64_t end = now_ms() + WAIT_MS;
	struct ibv_wc wc;

	while (!poll_one(cq, &wc)) {
		if (now_ms() > end)
			die("%s: no completion", what);
		usleep(1000);
	}
	return wc;
}

struct ibv_wc expect_wc(struct ibv_cq *cq, uint64_t wr_id, enum ibv_wc_status status,
			const char *what)
{
	struct ibv_wc wc = wait_wc(cq, what);

	if (wc.wr_id != wr_id || wc.status != status)
		die("%s: completion of %llu with '%s' (vendor_err %#x) in place of %llu with '%s'",
		    what, (unsigned long long)wc.wr_id, ibv_wc_status_str(wc.status),
		    wc.vendor_err, (unsigned long long)wr_id, ibv_wc_status_str(status));
	return wc;
}

/* wr_ids first, first + 1, ...: each is flushed once; no other completion follows. */
void expect_flushes(struct ibv_cq *cq, uint64_t first, int num, const char *what)
{
	for (int i = 0; i < num; i++)
		expect_wc(cq, first + i, IBV_WC_WR_FLUSH_ERR, what);
	expect_no_wc(cq, 50, what);
}

void expect_no_wc(struct ibv_cq *cq, unsigned int ms, const char *what)
{
	uint64_t end = now_ms() + ms;
	struct ibv_wc wc;

	do {
		if (poll_one(cq, &wc))
			die("%s: a completion too many: %llu with '%s'", what,
			    (unsigned long long)wc.wr_id, ibv_wc_status_str(wc.status));
		usleep(2000);
	} while (now_ms() < end);
}

void expect_disconnected(struct end *e, const char *what)
{
	struct rdma_cm_event *ev;

	if (!cm_wait(e->cm, WAIT_MS))
		die("%s: no DISCONNECTED event", what);
	require(!rdma_get_cm_event(e->cm, &ev), "%s", strerror(errno));
	if (ev->event != RDMA_CM_EVENT_DISCONNECTED)
		die("%s: %s in place of DISCONNECTED", what, rdma_event_str(ev->event));
	rdma_ack_cm_event(ev);
	e->disconnected = true;
}

bool take_async(struct ibv_context *ctx, struct ibv_async_event *out, unsigned int ms)
{
	struct pollfd pfd = { .fd = ctx->async_fd, .events = POLLIN };

	if (poll(&pfd, 1, ms) <= 0)
		return false;
	require(!ibv_get_async_event(ctx, out), "%s", strerror(errno));
	ibv_ack_async_event(out);
	return true;
}

/* Others may come before it */
void expect_qp_event(struct end *e, enum ibv_event_type type, const char *what)
{
	struct ibv_async_event ev;

	while (take_async(e->id->verbs, &ev, 5000))
		if (ev.event_type == type && ev.element.qp == e->qp)
			return;
	die("%s: no '%s'", what, ibv_event_type_str(type));
}

void expect_state(struct end *e, enum ibv_qp_state state, const char *what)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr = { 0 };
	uint64_t end = now_ms() + WAIT_MS;
	int err;

	do {
		err = ibv_query_qp(e->qp, &attr, IBV_QP_STATE, &init);
		require(!err, "ibv_query_qp: %s", strerror(err));
		if (attr.qp_state == state)
			return;
		usleep(10000);
	} while (now_ms() < end);
	die("%s: QP state is %d in place of %d", what, attr.qp_state, state);
}

/* Bytes [off, off + len) go from one end's buffer to the other's, by each kind of message. */
static void one_way(struct end *from, struct end *to, const char *when)
{
	static uint64_t key = 1;
	const uint32_t len = 3000, src = 1001, dst = 8003, back = 20005;
	struct ibv_sge sge = sge_of(from, src, len);
	size_t where;
	uint8_t want;
	int err;

	pattern_fill(from->buf + src, ++key, 0, len);
	memset(to->buf + dst, 0, len);
	must_recv(to, 71, 40000, len);
	err = post_wr(from, IBV_WR_RDMA_WRITE, 70, &sge, 1, IBV_SEND_SIGNALED,
		      (uintptr_t)to->buf + dst, to->mr->rkey) ?:
	      post_wr(from, IBV_WR_SEND, 71, &sge, 1, IBV_SEND_SIGNALED, 0, 0);
	require(!err, "post %s: %s", when, strerror(err));
	expect_wc(to->rcq, 71, IBV_WC_SUCCESS, when);
	require(pattern_matches(to->buf + dst, key, 0, len, &where, &want), "%s: WRITE", when);
	require(pattern_matches(to->buf + 40000, key, 0, len, &where, &want), "%s: SEND", when);
	sge = sge_of(from, back, len);
	err = post_wr(from, IBV_WR_RDMA_READ, 72, &sge, 1, IBV_SEND_SIGNALED,
		      (uintptr_t)to->buf + dst, to->mr->rkey);
	require(!err, "post %s: %s", when, strerror(err));
	expect_wc(from->scq, 70, IBV_WC_SUCCESS, when);
	expect_wc(from->scq, 71, IBV_WC_SUCCESS, when);
	expect_wc(from->scq, 72, IBV_WC_SUCCESS, when);
	require(pattern_matches(from->buf + back, key, 0, len, &where, &want), "%s: READ", when);
}

/* The test must have no receives posted at either end. */
void pair_works(struct pair *p, const char *when)
{
	one_way(&p->a, &p->b, when);
	one_way(&p->b, &p->a, when);
}

/* A child of fork() makes the call, which gives it this error */
void child_gets(int (*call)(struct pair *), struct pair *p, int err)
{
	int status;
	pid_t pid = fork();

	require(pid >= 0, "fork: %s", strerror(errno));
	if (!pid)
		_exit(call(p) == err ? 0 : 1);
	require(waitpid(pid, &status, 0) == pid && !status, "a child: status %#x", status);
}
