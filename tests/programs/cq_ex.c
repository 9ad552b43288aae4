// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* ibv_create_cq_ex, ibv_start_poll and related calls; thread and parent domains. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "cq.h"

#define WC_FLAGS (IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |	\
		  IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)
#define SIG	IBV_SEND_SIGNALED

static struct pair p;
static uint32_t single;		/* IBV_CREATE_CQ_ATTR_SINGLE_THREADED or 0 */

static struct ibv_cq *cq_ex(struct ibv_context *ctx, uint32_t cqe)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = cqe, .wc_flags = WC_FLAGS,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS, .flags = single,
	};
	struct ibv_cq_ex *cq = ibv_create_cq_ex(ctx, &attr);

	require(cq, "ibv_create_cq_ex: %s", strerror(errno));
	require(ibv_cq_ex_to_cq(cq)->cqe >= (int)cqe, "%d entries", ibv_cq_ex_to_cq(cq)->cqe);
	return ibv_cq_ex_to_cq(cq);
}

static void cq_ex_hook(struct end *e, struct ibv_qp_init_attr_ex *attr)
{
	e->scq = cq_ex(e->id->verbs, 16);
	e->rcq = cq_ex(e->id->verbs, 16);
}

static struct ibv_cq_ex *ex(struct ibv_cq *cq)
{
	return (struct ibv_cq_ex *)cq;
}

static uint64_t clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

/* Timestamps of a completion, or the clock at one moment */
struct times {
	uint64_t raw;
	uint64_t wallclock;
};

static struct times times_now(void)
{
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };
	int err = ibv_query_rt_values_ex(p.a.id->verbs, &values);

	require(!err && values.comp_mask & IBV_VALUES_MASK_RAW_CLOCK, "%s", strerror(err));
	return (struct times){ values.raw_clock.tv_nsec, clock_ns(CLOCK_REALTIME) };
}

static int start(struct ibv_cq *cq)
{
	struct ibv_poll_cq_attr attr = { 0 };
	int err = ibv_start_poll(ex(cq), &attr);

	require(!err || err == ENOENT, "ibv_start_poll: %s", strerror(err));
	return err;
}

static void wait_start(struct ibv_cq *cq, const char *what)
{
	uint64_t end = now_ms() + 20000;

	while (start(cq)) {
		require(now_ms() < end, "%s: no completion", what);
		usleep(1000);
	}
}

/* The next completion, with all that ibv_wc_read_*() returns of it. */
static struct ibv_wc read_wc(struct ibv_cq *ibcq, struct times *t, const char *what)
{
	struct ibv_cq_ex *cq = ex(ibcq);
	struct ibv_wc wc;

	wait_start(ibcq, what);
	wc = (struct ibv_wc){
		.wr_id = cq->wr_id, .status = cq->status, .opcode = ibv_wc_read_opcode(cq),
		.vendor_err = ibv_wc_read_vendor_err(cq), .byte_len = ibv_wc_read_byte_len(cq),
		.imm_data = ibv_wc_read_imm_data(cq), .qp_num = ibv_wc_read_qp_num(cq),
		.src_qp = ibv_wc_read_src_qp(cq), .wc_flags = ibv_wc_read_wc_flags(cq),
		.slid = ibv_wc_read_slid(cq), .sl = ibv_wc_read_sl(cq),
		.dlid_path_bits = ibv_wc_read_dlid_path_bits(cq),
	};
	t->raw = ibv_wc_read_completion_ts(cq);
	t->wallclock = ibv_wc_read_completion_wallclock_ns(cq);
	ibv_end_poll(cq);
	return wc;
}

static void same(const struct ibv_wc *a, const struct ibv_wc *b, const char *what)
{
	const bool good = a->status == IBV_WC_SUCCESS;

	require(a->wr_id == b->wr_id && a->status == b->status && a->qp_num == b->qp_num &&
		a->vendor_err == b->vendor_err, "%s", what);
	/* the other fields have no meaning in an error (CP-03) */
	require(!good || (a->opcode == b->opcode && a->wc_flags == b->wc_flags &&
			  a->src_qp == b->src_qp && a->slid == b->slid && a->sl == b->sl &&
			  a->dlid_path_bits == b->dlid_path_bits), "%s", what);
	/* CP-01: byte_len is for receives; verbs have it for READs, too */
	require(!good || (a->opcode != IBV_WC_RECV && a->opcode != IBV_WC_RDMA_READ) ||
		a->byte_len == b->byte_len, "%s", what);
	require(!good || !a->wc_flags || a->imm_data == b->imm_data, "%s", what);
}

/* The same work twice; its completion is polled in one way, then in the other. */
static void both(struct ibv_cq *cq, void (*work)(void), enum ibv_wc_opcode opcode,
		 uint32_t len, const struct end *e, const char *what)
{
	struct times before, after, t;
	struct ibv_wc a, b;

	work();
	a = wait_wc(cq, what);
	before = times_now();
	work();
	b = read_wc(cq, &t, what);
	after = times_now();
	same(&a, &b, what);
	require(b.status == IBV_WC_SUCCESS && b.opcode == opcode && b.wr_id == 7 &&
		b.qp_num == e->qp->qp_num && !b.src_qp && !b.slid && !b.sl &&
		!b.dlid_path_bits && !b.vendor_err, "%s", what);
	require(opcode == IBV_WC_SEND || opcode == IBV_WC_RDMA_WRITE || b.byte_len == len,
		"%s: %u bytes", what, b.byte_len);
	require(t.raw >= before.raw && t.raw <= after.raw, "%s: raw %llu, not %llu to %llu",
		what, (unsigned long long)t.raw, (unsigned long long)before.raw,
		(unsigned long long)after.raw);
	require(t.wallclock >= before.wallclock && t.wallclock <= after.wallclock,
		"%s: wallclock %llu, not %llu to %llu", what, (unsigned long long)t.wallclock,
		(unsigned long long)before.wallclock, (unsigned long long)after.wallclock);
}

static void one_sided(enum ibv_wr_opcode op, uint32_t len)
{
	struct ibv_sge sge = sge_of(&p.a, 0, len);
	int err = post_wr(&p.a, op, 7, &sge, 1, SIG, (uintptr_t)p.b.buf, p.b.mr->rkey);

	require(!err, "%s", strerror(err));
}

static void work_write(void)
{
	one_sided(IBV_WR_RDMA_WRITE, 5000);
}

static void work_read(void)
{
	one_sided(IBV_WR_RDMA_READ, 5001);
}

/* Makes one completion, that of b's receive: a's Send is unsignaled */
static void work_recv(void)
{
	must_recv(&p.b, 7, 0, 200);
	send_plain(&p.a, 6, 0);
}

static void work_send(void)
{
	struct ibv_wc wc;

	must_recv(&p.b, 5, 0, 200);
	send_plain(&p.a, 7, SIG);
	wc = wait_wc(p.b.rcq, "receive");
	require(wc.status == IBV_WC_SUCCESS, "%s", ibv_wc_status_str(wc.status));
}

/* An error has a status and vendor_err, in both ways of polling. */
static void errors(void)
{
	struct ibv_wc a, b;
	struct times t;

	for (int i = 0; i < 2; i++)
		must_recv(&p.a, 20, 0, 64);
	for (int i = 0; i < 2; i++)
		must_recv(&p.b, 30, 0, 64);
	struct ibv_sge bad = { (uintptr_t)p.a.buf, 64, p.a.mr->lkey ^ 0xff };

	require(!post_wr(&p.a, IBV_WR_SEND, 10, &bad, 1, 0, 0, 0), "post");
	a = read_wc(p.a.scq, &t, "bad lkey");
	require(a.status == IBV_WC_LOC_PROT_ERR && a.vendor_err && a.wr_id == 10, "%s",
		ibv_wc_status_str(a.status));
	a = wait_wc(p.a.rcq, "flush");
	b = read_wc(p.a.rcq, &t, "flush");
	require(b.status == IBV_WC_WR_FLUSH_ERR && b.opcode & IBV_WC_RECV, "%s",
		ibv_wc_status_str(b.status));
	same(&a, &b, "flush");
	a = wait_wc(p.b.rcq, "flush");
	b = read_wc(p.b.rcq, &t, "flush");
	same(&a, &b, "flush");
}

static void create_flags(struct ibv_context *ctx)
{
	static const struct {
		uint64_t wc_flags;
		uint32_t comp_mask;
		uint32_t flags;
		int err;
	} rows[] = {
		{ IBV_WC_EX_WITH_CVLAN, 0, 0, EOPNOTSUPP },
		{ IBV_WC_EX_WITH_FLOW_TAG, 0, 0, EOPNOTSUPP },
		{ IBV_WC_EX_WITH_TM_INFO, 0, 0, EOPNOTSUPP },
		{ 1ULL << 40, 0, 0, EOPNOTSUPP },
		{ 0, IBV_CQ_INIT_ATTR_MASK_FLAGS, IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN, EOPNOTSUPP },
		{ 0, IBV_CQ_INIT_ATTR_MASK_FLAGS, 1 << 30, EOPNOTSUPP },
		{ 0, 1 << 30, 0, EOPNOTSUPP },
		{ 0, IBV_CQ_INIT_ATTR_MASK_FLAGS, IBV_CREATE_CQ_ATTR_SINGLE_THREADED, 0 },
		{ 0, 0, 0, 0 },
		{ WC_FLAGS, 0, 0, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct ibv_cq_init_attr_ex attr = {
			.cqe = 10, .cq_context = &attr, .wc_flags = rows[i].wc_flags,
			.comp_mask = rows[i].comp_mask, .flags = rows[i].flags,
		};
		struct ibv_cq_ex *cq;

		errno = 0;
		cq = ibv_create_cq_ex(ctx, &attr);
		require(!cq == !!rows[i].err && (cq || errno == rows[i].err), "row %zu: %s", i,
			strerror(errno));
		if (!cq)
			continue;
		require(cq->cq_context == &attr, "row %zu", i);
		require(!ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), "%s", strerror(errno));
	}
	for (int i = 0; i < 2; i++) {	/* the limits are those of ibv_create_cq() */
		struct ibv_cq_init_attr_ex attr = { .cqe = i ? 1U << 31 : 0 };

		require(!ibv_create_cq_ex(ctx, &attr) && errno == EINVAL, "%u entries", attr.cqe);
	}
}

void case_cq_ex(void)
{
	struct ibv_poll_cq_attr unknown = { .comp_mask = 1 };
	struct ibv_device_attr_ex dev;
	int err;

	err = ibv_query_device_ex(test_context(), NULL, &dev);
	require(!err, "%s", strerror(err));
	/* ns, and never wraps */
	require(dev.hca_core_clock == 1000000 && dev.completion_timestamp_mask == UINT64_MAX,
		"%llu kHz, mask %#llx", (unsigned long long)dev.hca_core_clock,
		(unsigned long long)dev.completion_timestamp_mask);
	create_flags(test_context());
	for (single = 0; single <= IBV_CREATE_CQ_ATTR_SINGLE_THREADED; single++) {
		end_hook = cq_ex_hook;
		pair_open(&p);
		require(start(p.a.scq) == ENOENT, "empty");
		require(ibv_start_poll(ex(p.a.scq), &unknown) == EINVAL, "unknown attribute");
		both(p.a.scq, work_write, IBV_WC_RDMA_WRITE, 0, &p.a, "WRITE");
		both(p.a.scq, work_read, IBV_WC_RDMA_READ, 5001, &p.a, "READ");
		both(p.a.scq, work_send, IBV_WC_SEND, 0, &p.a, "SEND");
		both(p.b.rcq, work_recv, IBV_WC_RECV, 64, &p.b, "receive");
		errors();
		pair_close(&p);
	}
}

/* A batch ends when the CQ is empty, and frees slots while it goes on. */
void case_cq_ex_batch(void)
{
	struct ibv_async_event ev;
	uint64_t id = 0, end;
	uint64_t last = 0;
	int err;

	end_hook = cq_ex_hook;
	pair_open(&p);
	for (int n = 1; n <= 16; n++) {
		for (int i = 0; i < n; i++) {
			must_recv(&p.b, id + i, 64 * i, 64);
			send_plain(&p.a, id + i, i == n - 1 ? SIG : 0);
		}
		expect_wc(p.a.scq, id + n - 1, IBV_WC_SUCCESS, "last of a batch");
		wait_start(p.b.rcq, "batch");
		for (int i = 0; i < n;) {
			require(ex(p.b.rcq)->wr_id == id + i && !ex(p.b.rcq)->status,
				"%llu", (unsigned long long)ex(p.b.rcq)->wr_id);
			require(ibv_wc_read_completion_ts(ex(p.b.rcq)) >= last, "times go back");
			last = ibv_wc_read_completion_ts(ex(p.b.rcq));
			if (++i == n)
				break;
			end = now_ms() + 20000;
			while ((err = ibv_next_poll(ex(p.b.rcq))) == ENOENT && now_ms() < end)
				usleep(1000);
			require(!err, "ibv_next_poll: %s", strerror(err));
		}
		require(ibv_next_poll(ex(p.b.rcq)) == ENOENT, "one too many");
		ibv_end_poll(ex(p.b.rcq));
		require(start(p.b.rcq) == ENOENT, "polled twice");
		id += n;
	}
	/*
	 * 16 completions wait in the receiver's CQ of 16; in one batch, each one polled frees a
	 * slot
	 */
	for (int i = 0; i < 16; i++) {
		must_recv(&p.b, i, 64 * i, 64);
		send_plain(&p.a, i, i == 15 ? SIG : 0);
	}
	expect_wc(p.a.scq, 15, IBV_WC_SUCCESS, "a full CQ");
	wait_start(p.b.rcq, "a full CQ");
	for (int i = 1; i < 100; i++) {
		end = now_ms() + 20000;
		while ((err = ibv_next_poll(ex(p.b.rcq))) == ENOENT && now_ms() < end)
			usleep(1000);
		require(!err && ex(p.b.rcq)->wr_id == (uint64_t)i, "ibv_next_poll: %s",
			strerror(err));
		must_recv(&p.b, 15 + i, 0, 64);
		send_plain(&p.a, 15 + i, SIG);
		expect_wc(p.a.scq, 15 + i, IBV_WC_SUCCESS, "in a batch");
	}
	ibv_end_poll(ex(p.b.rcq));
	require(!take_async(p.a.id->verbs, &ev, 50), "%s", ibv_event_type_str(ev.event_type));
	pair_close(&p);
}

static uint32_t full_cqe;	/* entries of the first end's SQ, and of that SQ's CQ */

static void full_hook(struct end *e, struct ibv_qp_init_attr_ex *attr)
{
	e->scq = cq_ex(e->id->verbs, full_cqe);
	require(e->scq->cqe == (int)full_cqe, "%d entries", e->scq->cqe);
	end_hook = NULL;
}

static void write_nothing(uint64_t wr_id)
{
	int err = post_wr(&p.a, IBV_WR_RDMA_WRITE, wr_id, NULL, 0, SIG, (uintptr_t)p.b.buf,
			  p.b.mr->rkey);

	require(!err, "WR %llu: %s", (unsigned long long)wr_id, strerror(err));
}

/* The current completion is read twice, with time in between for another to be written */
static void current_stays(uint64_t wr_id)
{
	struct ibv_cq_ex *cq = ex(p.a.scq);
	uint64_t at = ibv_wc_read_completion_ts(cq);

	write_nothing(wr_id + full_cqe);
	usleep(2000);
	require(cq->wr_id == wr_id && !cq->status &&
		ibv_wc_read_opcode(cq) == IBV_WC_RDMA_WRITE &&
		ibv_wc_read_qp_num(cq) == p.a.qp->qp_num && ibv_wc_read_completion_ts(cq) == at,
		"completion %llu", (unsigned long long)wr_id);
}

/*
 * WR-04, CQ-05: as many entries in the CQ as slots in the SQ, and all in use. Each polled
 * completion makes room for a WR and for its completion at the same time.
 */
void case_cq_ex_full(void)
{
	struct ibv_qp_cap cap = DEFAULT_CAP;
	struct ibv_async_event ev;
	uint64_t id, end;
	int err;

	full_cqe = 256;
	cap.max_send_wr = full_cqe;
	end_hook = full_hook;
	pair_prepare(&p, &cap);
	require(p.a.cap.max_send_wr == full_cqe, "%u WRs", p.a.cap.max_send_wr);
	pair_connect(&p);
	for (id = 0; id < full_cqe; id++)
		write_nothing(id);
	usleep(100000);		/* all have completed */
	wait_start(p.a.scq, "a full CQ");
	for (id = 0; id < 2 * full_cqe; id++) {
		current_stays(id);
		end = now_ms() + 20000;
		while ((err = ibv_next_poll(ex(p.a.scq))) == ENOENT && now_ms() < end)
			usleep(1000);
		require(!err, "ibv_next_poll: %s", strerror(err));
	}
	ibv_end_poll(ex(p.a.scq));
	for (id++; id < 3 * full_cqe; id++)
		expect_wc(p.a.scq, id, IBV_WC_SUCCESS, "the last ones");
	require(!take_async(p.a.id->verbs, &ev, 50), "%s", ibv_event_type_str(ev.event_type));
	pair_works(&p, "after a full CQ");
	pair_close(&p);
}

static struct ibv_pd *parent;
static struct ibv_td *thread;

static void parent_hook(struct end *e, struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_td_init_attr td_attr = { 0 };
	struct ibv_parent_domain_init_attr pd_attr = { .pd = e->pd };
	struct ibv_cq_init_attr_ex cq_attr = { .cqe = 16, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD };

	thread = ibv_alloc_td(e->id->verbs, &td_attr);
	require(thread, "ibv_alloc_td: %s", strerror(errno));
	pd_attr.td = thread;
	parent = ibv_alloc_parent_domain(e->id->verbs, &pd_attr);
	require(parent, "ibv_alloc_parent_domain: %s", strerror(errno));
	cq_attr.parent_domain = parent;
	e->scq = ibv_cq_ex_to_cq(ibv_create_cq_ex(e->id->verbs, &cq_attr));
	require(e->scq, "ibv_create_cq_ex: %s", strerror(errno));
	require(ibv_dealloc_td(thread) == EBUSY, "thread domain of a parent domain");
	require(ibv_dealloc_pd(e->pd) == EBUSY, "PD of a parent domain");
	attr->pd = parent;
	end_hook = NULL;
}

/* Calls of the parent domain's allocators */
static struct {
	char context;		/* its address is the pd_context */
	enum { GIVE, LEAVE, FAIL } mood;
	void *mem[8];
	uint64_t type[8];
	int given;
	int freed;
} heap;

static void *heap_alloc(struct ibv_pd *pd, void *context, size_t size, size_t align,
			uint64_t type)
{
	void *mem;

	require(pd == parent && context == &heap.context, "another parent domain");
	require(size && align && !(align & (align - 1)), "%zu octets, aligned to %zu", size, align);
	require(type >> 32, "type %#llx has no driver", (unsigned long long)type);
	if (heap.mood == FAIL)
		return NULL;
	if (heap.mood == LEAVE)
		return IBV_ALLOCATOR_USE_DEFAULT;
	mem = aligned_alloc(align, (size + align - 1) & ~(align - 1));
	require(mem && heap.given < (int)ARRAY_SIZE(heap.mem), "too many objects");
	memset(mem, 0, size);
	heap.mem[heap.given] = mem;
	heap.type[heap.given++] = type;
	return mem;
}

static void heap_free(struct ibv_pd *pd, void *context, void *mem, uint64_t type)
{
	int i;

	require(pd == parent && context == &heap.context, "another parent domain");
	for (i = 0; i < heap.given && heap.mem[i] != mem; i++)
		;
	require(i < heap.given && heap.type[i] == type, "free() of what was not given");
	heap.mem[i] = NULL;
	free(mem);
	heap.freed++;
}

static struct ibv_pd *heap_domain(struct ibv_pd *pd)
{
	struct ibv_parent_domain_init_attr attr = {
		.pd = pd, .alloc = heap_alloc, .free = heap_free, .pd_context = &heap.context,
		.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
			     IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT,
	};

	return ibv_alloc_parent_domain(pd->context, &attr);
}

static void heap_hook(struct end *e, struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_cq_init_attr_ex cq_attr = { .cqe = 16, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD };

	parent = heap_domain(e->pd);
	require(parent, "ibv_alloc_parent_domain: %s", strerror(errno));
	cq_attr.parent_domain = parent;
	e->scq = ibv_cq_ex_to_cq(ibv_create_cq_ex(e->id->verbs, &cq_attr));
	require(e->scq, "ibv_create_cq_ex: %s", strerror(errno));
	attr->pd = parent;
	end_hook = NULL;
}

/* CQ, QP and SRQ, made one after the other: each allocates its memory once */
static void heap_objects(struct ibv_context *ctx, int err)
{
	struct ibv_cq_init_attr_ex cq_attr = { .cqe = 16, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD,
					       .parent_domain = parent };
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_qp_init_attr qp_attr = { .qp_type = IBV_QPT_RC,
					    .cap = { .max_send_wr = 4, .max_send_sge = 1 } };
	struct ibv_cq *plain = ibv_create_cq(ctx, 4, NULL, NULL, 0);
	struct ibv_cq_ex *cq = ibv_create_cq_ex(ctx, &cq_attr);
	struct ibv_srq *srq;
	struct ibv_qp *qp;

	require(plain, "ibv_create_cq: %s", strerror(errno));
	require(err ? !cq && errno == err : !!cq, "ibv_create_cq_ex: %s", strerror(errno));
	qp_attr.send_cq = plain;
	qp_attr.recv_cq = plain;
	qp = ibv_create_qp(parent, &qp_attr);
	require(err ? !qp && errno == err : !!qp, "ibv_create_qp: %s", strerror(errno));
	srq = ibv_create_srq(parent, &srq_attr);
	require(err ? !srq && errno == err : !!srq, "ibv_create_srq: %s", strerror(errno));
	if (heap.mood == GIVE)
		require(ibv_dealloc_pd(parent) == EBUSY, "memory of its allocator is in use");
	if (!err)
		require(!ibv_destroy_srq(srq) && !ibv_destroy_qp(qp) &&
			!ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), "%s", strerror(errno));
	require(!ibv_destroy_cq(plain), "%s", strerror(errno));
}

void case_allocators(void)
{
	struct ibv_context *ctx = test_context();
	struct ibv_parent_domain_init_attr attr = {
		.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS, .alloc = heap_alloc,
	};
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct pair p;

	require(pd, "%s", strerror(errno));
	attr.pd = pd;
	require(!ibv_alloc_parent_domain(ctx, &attr) && errno == EINVAL, "alloc() without free()");
	parent = heap_domain(pd);
	require(parent, "ibv_alloc_parent_domain: %s", strerror(errno));
	heap.mood = FAIL;
	heap_objects(ctx, ENOMEM);
	heap.mood = LEAVE;
	heap_objects(ctx, 0);
	require(!heap.given && !heap.freed, "%d given, %d freed", heap.given, heap.freed);
	heap.mood = GIVE;
	heap_objects(ctx, 0);
	require(heap.given == 3 && heap.freed == 3, "%d given, %d freed", heap.given, heap.freed);
	require(heap.type[0] != heap.type[1] && heap.type[0] != heap.type[2] &&
		heap.type[1] != heap.type[2], "types are not told apart");
	require(!ibv_dealloc_pd(parent) && !ibv_dealloc_pd(pd), "%s", strerror(errno));

	end_hook = heap_hook;
	pair_open(&p);
	require(heap.given == 5 && heap.freed == 3, "%d given, %d freed", heap.given, heap.freed);
	pair_works(&p, "in memory of an allocator");
	rdma_disconnect(p.a.id);
	p.a.disconnected = true;
	rdma_destroy_qp(p.a.id);
	require(ibv_dealloc_pd(parent) == EBUSY, "a CQ has memory of its allocator");
	require(!ibv_destroy_cq(p.a.scq), "%s", strerror(errno));
	p.a.scq = ibv_create_cq(p.a.id->verbs, 4, NULL, NULL, 0);	/* for pair_close() */
	require(heap.freed == 5, "%d freed", heap.freed);
	require(!ibv_dealloc_pd(parent), "%s", strerror(errno));
	pair_close(&p);
}

void case_domains(void)
{
	struct ibv_context *ctx = test_context();
	struct ibv_parent_domain_init_attr attr = { 0 };
	struct ibv_td_init_attr td_attr = { .comp_mask = 1 };
	struct ibv_td *td;
	struct ibv_pd *pd;
	struct ibv_mr *mr;

	require(!ibv_alloc_td(ctx, &td_attr) && errno == EOPNOTSUPP, "unknown attribute");
	td_attr.comp_mask = 0;
	td = ibv_alloc_td(ctx, &td_attr);
	require(td, "%s", strerror(errno));
	require(!ibv_alloc_parent_domain(ctx, &attr) && errno == EINVAL, "no PD");
	attr.pd = ibv_alloc_pd(ctx);
	require(attr.pd, "%s", strerror(errno));
	attr.comp_mask = 1 << 30;
	require(!ibv_alloc_parent_domain(ctx, &attr) && errno == EOPNOTSUPP, "unknown attribute");
	attr.comp_mask = 0;
	for (int i = 0; i < 2; i++) {
		attr.td = i ? td : NULL;
		pd = ibv_alloc_parent_domain(ctx, &attr);
		require(pd, "%s", strerror(errno));
		mr = ibv_reg_mr(pd, &attr, sizeof(attr), 0);
		require(mr && !ibv_dereg_mr(mr), "%s", strerror(errno));
		require(!ibv_dealloc_pd(pd), "%s", strerror(errno));
	}
	require(!ibv_dealloc_td(td) && !ibv_dealloc_pd(attr.pd), "%s", strerror(errno));

	/* one end in a parent domain, whose memory is registered in the PD itself */
	end_hook = parent_hook;
	pair_open(&p);
	pair_works(&p, "in a parent domain");
	rdma_disconnect(p.a.id);
	p.a.disconnected = true;
	require(ibv_dealloc_pd(parent) == EBUSY, "a QP and a CQ are made with it");
	rdma_destroy_qp(p.a.id);
	require(ibv_dealloc_pd(parent) == EBUSY, "a CQ is made with it");
	require(!ibv_destroy_cq(p.a.scq), "%s", strerror(errno));
	p.a.scq = ibv_create_cq(p.a.id->verbs, 4, NULL, NULL, 0);	/* for pair_close() */
	require(!ibv_dealloc_pd(parent) && !ibv_dealloc_td(thread), "%s", strerror(errno));
	pair_close(&p);
}
