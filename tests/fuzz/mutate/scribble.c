// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * scribble: programs whose threads overwrite at random all memory that they share with the driver
 * (indices, WQEs, CQEs, arm words, doorbell flags) while they use it.
 *
 *	scribble [--seed N] [--seconds N] ADDRESS
 *
 * Each life is a process of its own. It may harm itself in any way, and must end when it is
 * killed. Half of the lives are killed, the others destroy their objects. The kernel and other
 * processes must not be affected: the script that runs this checks them.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/srnic-abi.h>
#include "common.h"

#define PAIRS		3
#define THREADS		2
#define BUF_LEN		32768
#define DEPTH		16
#define MAX_RINGS	256
#define LIFE_MS		900
/*
 * Of the first listener; each life has a port of its own. Not chosen by rdma_cm, which does not
 * know of TCP connections in TIME-WAIT.
 */
#define PORT		7600
/* ms: bound for the end of a killed process */
#define GONE_MS		(15000 * env_uint("SRNIC_SLOW", 1))

struct ring {
	uint8_t *start;
	size_t size;
	uint64_t offset;
};

struct side {
	struct rdma_cm_id *id;
	bool up;
};

struct couple {
	struct side a, b;
};

/* Of one life */
static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_cq *cq[2];
static struct ibv_srq *srq;
static struct ibv_mr *mr;
static uint8_t *buf;
static struct rdma_event_channel *cm;
static struct rdma_cm_id *listener;
static struct sockaddr_storage address;
static struct ring rings[MAX_RINGS];
static _Atomic int num_rings;
static _Atomic bool scribbling;

struct rng {
	uint64_t state;
};

static uint64_t next(struct rng *r)
{
	uint64_t z = r->state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static uint32_t below(struct rng *r, uint32_t n)
{
	return next(r) % n;
}

/*
 * Map the provider's mappings once more, and never unmap them: rings stay in reach after their
 * objects are destroyed.
 */
static void find_rings(void)
{
	unsigned long start, end, offset;
	char line[512];
	int n = num_rings;
	FILE *f;

	f = fopen("/proc/self/maps", "r");
	require(f, "%s", strerror(errno));
	while (n < MAX_RINGS && fgets(line, sizeof(line), f)) {
		bool known = false;
		void *p;

		if (!strstr(line, "uverbs") ||
		    sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) != 3)
			continue;
		for (int i = 0; i < n; i++)
			known |= rings[i].start == (uint8_t *)start || rings[i].offset == offset;
		if (known)
			continue;
		p = mmap(NULL, end - start, PROT_READ | PROT_WRITE, MAP_SHARED, ctx->cmd_fd, offset);
		if (p == MAP_FAILED)
			continue;
		rings[n++] = (struct ring){ p, end - start, offset };
	}
	fclose(f);
	num_rings = n;
}

static uint32_t hostile(struct rng *r, uint32_t was)
{
	static const uint32_t values[] = {
		0, 1, 2, 3, 15, 16, 17, 31, 32, 33, 0x7fffffff, 0x80000000, 0x80000001, 0xffffffff,
	};

	switch (below(r, 6)) {
	case 0: return was + 1;
	case 1: return was - 1;
	case 2: return was ^ 1U << below(r, 32);
	case 3: return was + below(r, 64);
	case 4: return next(r);
	default: return values[below(r, ARRAY_SIZE(values))];
	}
}

/* A WQE of an SQ or an RQ with mostly valid fields */
static void write_wqe(struct rng *r, const struct ring *g)
{
	struct {
		struct srnic_sqe sqe;
		struct srnic_sge sge[4];
	} w;
	size_t room = g->size - SRNIC_RING_HDR;

	if (room < sizeof(w))
		return;
	memset(&w, 0, sizeof(w));
	w.sqe.wr_id = next(r);
	w.sqe.opcode = below(r, 8) ? below(r, SRNIC_OP_UD_SEND_IMM + 3) : next(r);
	w.sqe.flags = below(r, 8) ? below(r, 16) : next(r);
	w.sqe.num_sge = below(r, 8) ? below(r, 5) : next(r);
	w.sqe.inline_len = below(r, 4) ? 0 : hostile(r, 16);
	w.sqe.rkey = below(r, 4) ? mr->rkey : hostile(r, mr->rkey);
	w.sqe.stag = below(r, 4) ? mr->rkey : next(r);
	w.sqe.remote_addr = (uintptr_t)buf + below(r, BUF_LEN);
	for (int i = 0; i < 4; i++) {
		w.sqe.arg[i] = below(r, 2) ? (uintptr_t)buf + below(r, BUF_LEN) : next(r);
		w.sge[i].addr = below(r, 6) ? (uintptr_t)buf + below(r, BUF_LEN) : next(r);
		w.sge[i].length = below(r, 6) ? below(r, 4096) : hostile(r, 4096);
		w.sge[i].lkey = below(r, 6) ? mr->lkey : hostile(r, mr->lkey);
	}
	memcpy(g->start + SRNIC_RING_HDR + below(r, (room - sizeof(w)) / 64 + 1) * 64, &w,
	       sizeof(w));
}

static void scribble_once(struct rng *r)
{
	static const size_t words[] = {
		offsetof(struct srnic_ring_hdr, producer), offsetof(struct srnic_ring_hdr, consumer),
		offsetof(struct srnic_ring_hdr, flags), offsetof(struct srnic_ring_hdr, lost),
		offsetof(struct srnic_ring_hdr, moved), offsetof(struct srnic_ring_hdr, moved_entries),
	};
	const struct ring *g = &rings[below(r, num_rings)];
	volatile uint32_t *word;
	size_t off;

	switch (below(r, 10)) {
	case 0:
	case 1:
	case 2:
		off = words[below(r, ARRAY_SIZE(words))];
		break;
	case 3:		/* a little further: the WQEs there are often valid */
		word = (uint32_t *)(g->start + offsetof(struct srnic_ring_hdr, producer));
		*word += 1 + below(r, 3);
		return;
	case 4:
	case 5:
	case 6:
		write_wqe(r, g);
		return;
	case 7:
		off = SRNIC_RING_HDR + below(r, g->size - SRNIC_RING_HDR) / 4 * 4;
		for (size_t n = 0; n < 64 && off + n < g->size; n += 4)
			*(volatile uint32_t *)(g->start + off + n) = next(r);
		return;
	default:
		off = below(r, g->size) / 4 * 4;
	}
	word = (uint32_t *)(g->start + off);
	*word = hostile(r, *word);
}

static void *scribbler(void *arg)
{
	struct rng r = { (uintptr_t)arg };

	for (;;) {
		for (int i = 0; i < 200 && scribbling && num_rings; i++)
			scribble_once(&r);
		/* with one CPU the kernel must run in between, and so at any point */
		if (below(&r, 4))
			sched_yield();
		else
			usleep(below(&r, 300));
	}
	return NULL;
}

/* POST_SEND and POST_RECV without a WR: doorbells, whatever the flag word is */
static void doorbells(struct ibv_qp *qp)
{
	static uint8_t response[64] __attribute__((aligned(8)));
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_post_send cmd;
	} c = {
		.hdr = { IB_USER_VERBS_CMD_POST_SEND, sizeof(c) / 4,
			 sizeof(struct ib_uverbs_post_send_resp) / 4 },
		.cmd = { .response = (uintptr_t)response, .qp_handle = qp->handle,
			 .wqe_size = sizeof(struct ib_uverbs_send_wr) },
	};
	ssize_t n = write(ctx->cmd_fd, &c, sizeof(c));

	c.hdr.command = IB_USER_VERBS_CMD_POST_RECV;
	c.cmd.wqe_size = sizeof(struct ib_uverbs_recv_wr);
	n += write(ctx->cmd_fd, &c, sizeof(c));
	(void)n;
}

static void post_some(struct rng *r, struct ibv_qp *qp)
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE_WITH_IMM,
		IBV_WR_ATOMIC_FETCH_AND_ADD,
	};
	struct ibv_sge sge = { (uintptr_t)buf + 8 * below(r, 1024), 8 + below(r, 2000), mr->lkey };
	struct ibv_recv_wr rwr = { .wr_id = next(r), .sg_list = &sge, .num_sge = 1 }, *rbad;
	struct ibv_send_wr wr = {
		.wr_id = next(r), .sg_list = &sge, .num_sge = 1,
		.opcode = opcodes[below(r, ARRAY_SIZE(opcodes))],
		.send_flags = next(r) & (IBV_SEND_SIGNALED | IBV_SEND_FENCE | IBV_SEND_SOLICITED),
		.wr.rdma.rkey = mr->rkey,
		.wr.rdma.remote_addr = (uintptr_t)buf + 8 * below(r, 1024),
	}, *bad;

	if (wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		sge.length = 8;
		wr.wr.atomic.remote_addr = (uintptr_t)buf + 8 * below(r, 1024);
		wr.wr.atomic.rkey = mr->rkey;
		wr.wr.atomic.compare_add = 1;
	}
	if (qp->srq)
		ibv_post_srq_recv(qp->srq, &rwr, &rbad);
	else
		ibv_post_recv(qp, &rwr, &rbad);
	ibv_post_send(qp, &wr, &bad);
}

static bool event(struct couple *p, enum rdma_cm_event_type want, unsigned int ms,
		  struct rdma_cm_id **id)
{
	uint64_t end = now_ms() + ms;
	struct rdma_cm_event *ev;

	while (now_ms() < end) {
		enum rdma_cm_event_type got;

		if (!cm_wait(cm, 20) || rdma_get_cm_event(cm, &ev))
			continue;
		got = ev->event;
		if (got == want && id)
			*id = ev->id;
		if (got == RDMA_CM_EVENT_ESTABLISHED) {
			p->a.up |= ev->id == p->a.id;
			p->b.up |= ev->id == p->b.id;
		}
		rdma_ack_cm_event(ev);
		if (got == want)
			return true;
	}
	return false;
}

static bool make_qp(struct rng *r, struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq[below(r, 2)], .recv_cq = cq[below(r, 2)],
		.srq = below(r, 3) ? NULL : srq,
		.cap = { .max_send_wr = DEPTH, .max_recv_wr = DEPTH, .max_send_sge = 4,
			 .max_recv_sge = 4, .max_inline_data = 64 },
		.qp_type = IBV_QPT_RC,
	};

	return !rdma_create_qp(id, pd, &attr);
}

/* Connect both ends; false if overwritten rings prevented it */
static bool couple(struct rng *r, struct couple *p)
{
	struct rdma_conn_param param = { .responder_resources = 4, .initiator_depth = 4 };

	memset(p, 0, sizeof(*p));
	return !rdma_create_id(cm, &p->a.id, NULL, RDMA_PS_TCP) &&
	       !rdma_resolve_addr(p->a.id, NULL, (struct sockaddr *)&address, 3000) &&
	       event(p, RDMA_CM_EVENT_ADDR_RESOLVED, 3000, NULL) &&
	       !rdma_resolve_route(p->a.id, 3000) &&
	       event(p, RDMA_CM_EVENT_ROUTE_RESOLVED, 3000, NULL) &&
	       make_qp(r, p->a.id) && !rdma_connect(p->a.id, &param) &&
	       event(p, RDMA_CM_EVENT_CONNECT_REQUEST, 3000, &p->b.id) &&
	       make_qp(r, p->b.id) && !rdma_accept(p->b.id, &param) &&
	       event(p, RDMA_CM_EVENT_ESTABLISHED, 3000, NULL);
}

static void part(struct couple *p)
{
	for (struct side *s = &p->a; s <= &p->b; s++) {
		if (!s->id)
			continue;
		if (s->id->qp)
			rdma_destroy_qp(s->id);
		rdma_destroy_id(s->id);
		s->id = NULL;
	}
}

static void odd_jobs(struct rng *r, struct couple *p)
{
	struct ibv_srq_attr attr = { .max_wr = 16 << below(r, 4), .srq_limit = below(r, 20) };
	struct ibv_qp_init_attr init;
	struct ibv_async_event ev;
	struct ibv_qp_attr qa;

	switch (below(r, 9)) {
	case 8:
		qa.cap = (struct ibv_qp_cap){ .max_send_wr = 16 << below(r, 4),
					      .max_recv_wr = below(r, 2) ? 0 : 16 << below(r, 4) };
		ibv_modify_qp(below(r, 2) ? p->a.id->qp : p->b.id->qp, &qa, IBV_QP_CAP);
		find_rings();
		break;
	case 0:
		ibv_resize_cq(cq[below(r, 2)], 1 << below(r, 10));
		find_rings();
		break;
	case 1:
		ibv_modify_srq(srq, &attr, below(r, 2) ? IBV_SRQ_LIMIT : IBV_SRQ_MAX_WR);
		find_rings();
		break;
	case 2:
		ibv_query_qp(p->a.id->qp, &qa, IBV_QP_STATE, &init);
		ibv_query_srq(srq, &attr);
		break;
	case 3:
		qa.qp_state = below(r, 2) ? IBV_QPS_ERR : IBV_QPS_SQD;
		if (!below(r, 10))
			ibv_modify_qp(below(r, 2) ? p->a.id->qp : p->b.id->qp, &qa, IBV_QP_STATE);
		break;
	default:
		while (!ibv_get_async_event(ctx, &ev))
			ibv_ack_async_event(&ev);
	}
}

static void setup(void)
{
	struct ibv_srq_init_attr sattr = { .attr = { .max_wr = 4 * DEPTH, .max_sge = 4 } };

	cm = cm_channel(true);
	require(!rdma_create_id(cm, &listener, NULL, RDMA_PS_TCP) &&
		!rdma_bind_addr(listener, (struct sockaddr *)&address) && listener->verbs &&
		!rdma_listen(listener, 16), "%s", strerror(errno));
	ctx = listener->verbs;
	fcntl(ctx->async_fd, F_SETFL, fcntl(ctx->async_fd, F_GETFL) | O_NONBLOCK);
	buf = mmap(NULL, BUF_LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pd = ibv_alloc_pd(ctx);
	mr = ibv_reg_mr(pd, buf, BUF_LEN, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
			IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
	cq[0] = ibv_create_cq(ctx, 4 * DEPTH, NULL, NULL, 0);
	cq[1] = ibv_create_cq(ctx, 512, NULL, NULL, 0);
	srq = ibv_create_srq(pd, &sattr);
	require(pd && mr && cq[0] && cq[1] && srq, "%s", strerror(errno));
}

static void life(uint64_t seed)
{
	struct rng r = { seed };
	struct couple p[PAIRS];
	pthread_t thread;
	uint64_t end;

	setup();
	for (int i = 0; i < PAIRS; i++)
		require(couple(&r, &p[i]), "pair %d: %s", i, strerror(errno));
	find_rings();
	require(num_rings, "no memory is shared");
	for (int i = 0; i < THREADS; i++)
		require(!pthread_create(&thread, NULL, scribbler, (void *)(uintptr_t)next(&r)),
			"%s", strerror(errno));
	scribbling = true;
	end = now_ms() + LIFE_MS;
	while (now_ms() < end) {
		struct couple *c = &p[below(&r, PAIRS)];
		struct ibv_wc wc[8];

		for (int n = below(&r, 12); n; n--) {
			post_some(&r, c->a.id->qp);
			post_some(&r, c->b.id->qp);
		}
		if (below(&r, 2)) {
			doorbells(c->a.id->qp);
			doorbells(c->b.id->qp);
		}
		for (int i = 0; i < 2; i++) {
			ibv_poll_cq(cq[i], 8, wc);
			ibv_req_notify_cq(cq[i], below(&r, 2));
		}
		if (!below(&r, 8))
			odd_jobs(&r, c);
		if (below(&r, 2))
			usleep(below(&r, 500));
		if (!below(&r, 30)) {	/* the QP is probably in Error: make a new one */
			part(c);
			if (!couple(&r, c))
				break;
			find_rings();
		}
	}
	/* destroy objects while the scribblers go on */
	for (int i = 0; i < PAIRS; i++)
		part(&p[i]);
	ibv_destroy_srq(srq);
	ibv_destroy_cq(cq[0]);
	ibv_destroy_cq(cq[1]);
	_exit(EXIT_PASS);
}

/* Has the child ended in time? */
static bool reap(pid_t pid, unsigned int ms, int *status)
{
	uint64_t end = now_ms() + ms;

	while (now_ms() < end) {
		if (waitpid(pid, status, WNOHANG) == pid)
			return true;
		usleep(5000);
	}
	return false;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "seed", required_argument, NULL, 's' },
		{ "seconds", required_argument, NULL, 't' },
		{ NULL, 0, NULL, 0 }
	};
	unsigned int seconds = 20, lives = 0, killed = 0, crashed = 0, stuck = 0;
	uint64_t seed = 1, end;
	int o, status;

	while ((o = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (o) {
		case 's': seed = strtoull(optarg, NULL, 0); break;
		case 't': seconds = atoi(optarg); break;
		default: return EXIT_FAIL;
		}
	}
	if (optind + 1 != argc) {
		fprintf(stderr, "usage: scribble [--seed N] [--seconds N] ADDRESS\n");
		return EXIT_FAIL;
	}
	resolve(argv[optind], PORT, &address);
	end = now_ms() + seconds * 1000;
	while (now_ms() < end) {
		struct rng r = { seed * 1000003 + lives++ };
		bool kill_it = below(&r, 2);
		pid_t pid = fork_child();

		if (!pid) {
			((struct sockaddr_in *)&address)->sin_port = htons(PORT + lives % 64);
			life(next(&r));
		}
		/* a provider with overwritten rings may never end by itself */
		if (!reap(pid, kill_it ? 200 + below(&r, LIFE_MS) : 4 * LIFE_MS, &status)) {
			killed += kill_it;
			stuck += !kill_it;
			kill(pid, SIGKILL);
			require(reap(pid, GONE_MS, &status),
				"seed %llu, life %u: not gone %d s after it was killed",
				(unsigned long long)seed, lives - 1, GONE_MS / 1000);
		} else if (WIFSIGNALED(status)) {
			crashed++;
		} else {
			require(WEXITSTATUS(status) == EXIT_PASS, "seed %llu, life %u: status %d",
				(unsigned long long)seed, lives - 1, WEXITSTATUS(status));
		}
	}
	printf("# %u lives: %u killed, %u lost their way and were killed, %u ended by a signal\n",
	       lives, killed, stuck, crashed);
	require(lives > 1, "%u lives", lives);
	return EXIT_PASS;
}
