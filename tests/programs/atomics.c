// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Atomic operations that succeed: alone, in order, and all at once. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "rfc7306.h"

#define ACCESS_ATOMIC (ACCESS_ALL | IBV_ACCESS_REMOTE_ATOMIC)

static int post_atomic(struct end *e, enum ibv_wr_opcode op, uint64_t wr_id, uint32_t off,
		       uint64_t raddr, uint32_t rkey, uint64_t compare_add, uint64_t swap,
		       unsigned int flags)
{
	struct ibv_sge sge = sge_of(e, off, 8);
	struct ibv_send_wr wr = {
		.wr_id = wr_id, .sg_list = &sge, .num_sge = 1, .opcode = op,
		.send_flags = flags,
		.wr.atomic = { raddr, compare_add, swap, rkey },
	}, *bad = NULL;

	return ibv_post_send(e->qp, &wr, &bad);
}

/* The original value is written to @off of @e's buffer. */
int post_fetch_add(struct end *e, uint64_t wr_id, uint32_t off, uint64_t raddr,
		   uint32_t rkey, uint64_t add, unsigned int flags)
{
	return post_atomic(e, IBV_WR_ATOMIC_FETCH_AND_ADD, wr_id, off, raddr, rkey, add, 0,
			   flags);
}

int post_cmp_swap(struct end *e, uint64_t wr_id, uint32_t off, uint64_t raddr,
		  uint32_t rkey, uint64_t compare, uint64_t swap, unsigned int flags)
{
	return post_atomic(e, IBV_WR_ATOMIC_CMP_AND_SWP, wr_id, off, raddr, rkey, compare,
			   swap, flags);
}

uint64_t value_at(const struct end *e, uint32_t off)
{
	uint64_t value;

	memcpy(&value, e->buf + off, sizeof(value));
	return value;
}

/* Post one, wait for it, return the original value. */
static uint64_t fetch_add(struct end *e, uint64_t raddr, uint32_t rkey, uint64_t add)
{
	struct ibv_wc wc;

	require(!post_fetch_add(e, 1, 24, raddr, rkey, add, IBV_SEND_SIGNALED), "post");
	wc = expect_wc(e->scq, 1, IBV_WC_SUCCESS, "FetchAdd");
	require(wc.opcode == IBV_WC_FETCH_ADD && wc.byte_len == 8, "opcode %d, %u bytes",
		wc.opcode, wc.byte_len);
	return value_at(e, 24);
}

static uint64_t cmp_swap(struct end *e, uint64_t raddr, uint32_t rkey, uint64_t compare,
			 uint64_t swap)
{
	struct ibv_wc wc;

	require(!post_cmp_swap(e, 1, 24, raddr, rkey, compare, swap, IBV_SEND_SIGNALED), "post");
	wc = expect_wc(e->scq, 1, IBV_WC_SUCCESS, "CmpSwap");
	require(wc.opcode == IBV_WC_COMP_SWAP && wc.byte_len == 8, "opcode %d, %u bytes",
		wc.opcode, wc.byte_len);
	return value_at(e, 24);
}

/* The peer's memory for atomics */
static uint64_t *words;
static struct ibv_mr *words_mr;

static void open_words(struct pair *p)
{
	words = (uint64_t *)(p->b.buf + 8192);
	memset(words, 0, 64);
	words_mr = ibv_reg_mr(p->b.pd, p->b.buf, BUF_SIZE, ACCESS_ATOMIC);
	require(words_mr, "ibv_reg_mr: %s", strerror(errno));
}

static void close_words(void)
{
	require(!ibv_dereg_mr(words_mr), "ibv_dereg_mr");
}

void case_atomics(void)
{
	struct ibv_device_attr attr;
	uint64_t at, was;
	struct pair p;

	require(!ibv_query_device(test_context(), &attr), "ibv_query_device");
	require(attr.atomic_cap == IBV_ATOMIC_GLOB, "atomic_cap %d", attr.atomic_cap);
	pair_open(&p);
	open_words(&p);
	at = (uintptr_t)&words[1];
	words[1] = 0x0123456789abcdef;
	require(fetch_add(&p.a, at, words_mr->rkey, 1) == 0x0123456789abcdef, "value");
	require(words[1] == 0x0123456789abcdf0, "%#llx", (unsigned long long)words[1]);
	require(fetch_add(&p.a, at, words_mr->rkey, -0x10ULL) == 0x0123456789abcdf0, "value");
	require(words[1] == 0x0123456789abcde0, "%#llx", (unsigned long long)words[1]);
	words[1] = ~0ULL;	/* wraps, and the neighbours do not change */
	require(fetch_add(&p.a, at, words_mr->rkey, 2) == ~0ULL, "value");
	require(words[1] == 1 && !words[0] && !words[2], "%#llx", (unsigned long long)words[1]);
	require(fetch_add(&p.a, at, words_mr->rkey, 0) == 1 && words[1] == 1, "adding nothing");

	words[1] = 5;
	require(cmp_swap(&p.a, at, words_mr->rkey, 4, 9) == 5 && words[1] == 5, "not equal");
	require(cmp_swap(&p.a, at, words_mr->rkey, 5, 9) == 5 && words[1] == 9, "equal");
	/* all 64 bits are compared, and swapped */
	for (int bit = 0; bit < 64; bit++) {
		words[1] = 1ULL << bit;
		was = cmp_swap(&p.a, at, words_mr->rkey, 0, 1);
		require(was == 1ULL << bit && words[1] == was, "bit %d", bit);
		was = cmp_swap(&p.a, at, words_mr->rkey, 1ULL << bit, ~(1ULL << bit));
		require(was == 1ULL << bit && words[1] == ~was, "bit %d", bit);
	}
	require(!words[0] && !words[2], "neighbours");
	close_words();
	pair_works(&p, "after atomics");
	pair_close(&p);
}

#define THREADS	8
#define ADDS	120
#define IN_FLIGHT 3

static struct worker {
	struct pair p;
	pthread_t thread;
	struct ibv_mr *mr;	/* of the one value, in this pair's PD */
	uint64_t seen[ADDS];
} workers[THREADS];

static uint64_t shared[8] __attribute__((aligned(64)));

static void open_workers(int num)
{
	memset(shared, 0, sizeof(shared));
	for (int i = 0; i < num; i++) {
		struct worker *w = &workers[i];

		pair_open(&w->p);
		w->mr = ibv_reg_mr(w->p.b.pd, shared, sizeof(shared), ACCESS_ATOMIC);
		require(w->mr, "ibv_reg_mr: %s", strerror(errno));
	}
}

static void run_workers(int num, void *(*fn)(void *))
{
	for (int i = 0; i < num; i++)
		require(!pthread_create(&workers[i].thread, NULL, fn, &workers[i]), "thread");
}

static void close_workers(int num)
{
	for (int i = 0; i < num; i++) {
		require(!ibv_dereg_mr(workers[i].mr), "ibv_dereg_mr");
		pair_close(&workers[i].p);
	}
}

static void *add_many(void *arg)
{
	struct worker *w = arg;
	struct end *e = &w->p.a;
	int posted = 0;

	for (int done = 0; done < ADDS; done++) {
		for (; posted < ADDS && posted < done + IN_FLIGHT; posted++)
			require(!post_fetch_add(e, posted, 8 * (posted % IN_FLIGHT),
						(uintptr_t)shared, w->mr->rkey, 1,
						IBV_SEND_SIGNALED), "post");
		expect_wc(e->scq, done, IBV_WC_SUCCESS, "FetchAdd");
		w->seen[done] = value_at(e, 8 * (done % IN_FLIGHT));
	}
	return NULL;
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Each value is returned exactly once, to a QP or to the CPU that adds. */
void case_atomic_sum(void)
{
	static uint64_t all[THREADS * ADDS + 2000];
	size_t n = 0;

	open_workers(THREADS);
	run_workers(THREADS, add_many);
	while (n < 2000) {
		all[n++] = __atomic_fetch_add(&shared[0], 1, __ATOMIC_SEQ_CST);
		if (n % 50 == 0)
			sched_yield();
	}
	for (int i = 0; i < THREADS; i++) {
		require(!pthread_join(workers[i].thread, NULL), "thread");
		for (int k = 1; k < ADDS; k++)
			require(workers[i].seen[k] > workers[i].seen[k - 1],
				"QP %d: number %d out of order", i, k);
		memcpy(all + n, workers[i].seen, sizeof(workers[i].seen));
		n += ADDS;
	}
	require(shared[0] == n, "%llu, not %zu", (unsigned long long)shared[0], n);
	qsort(all, n, sizeof(all[0]), compare_u64);
	for (size_t i = 0; i < n; i++)
		require(all[i] == i, "value %zu was seen twice, or by nobody", i);
	close_workers(THREADS);
}

#define LOCKERS	4
#define TURNS	15

/* shared[0] is a lock, shared[1] a number that is changed without atomics under it */
static void *lock_many(void *arg)
{
	struct worker *w = arg;
	struct end *e = &w->p.a;
	uint64_t me = w - workers + 1, at = (uintptr_t)shared, value;
	uint32_t rkey = w->mr->rkey;
	struct ibv_sge sge = sge_of(e, 512, 8);

	for (int turn = 0; turn < TURNS; turn++) {
		while (cmp_swap(e, at, rkey, 0, me))
			sched_yield();
		require(!post_wr(e, IBV_WR_RDMA_READ, 2, &sge, 1, IBV_SEND_SIGNALED, at + 8,
				 rkey), "READ");
		expect_wc(e->scq, 2, IBV_WC_SUCCESS, "READ");
		value = value_at(e, 512) + 1;
		memcpy(e->buf + 512, &value, sizeof(value));
		require(!post_wr(e, IBV_WR_RDMA_WRITE, 3, &sge, 1, 0, at + 8, rkey), "WRITE");
		/* behind the Write, so that the next reader finds the new value */
		require(cmp_swap(e, at, rkey, me, 0) == me, "lock taken from its owner");
	}
	return NULL;
}

void case_atomic_lock(void)
{
	open_workers(LOCKERS);
	run_workers(LOCKERS, lock_many);
	for (int i = 0; i < LOCKERS; i++)
		require(!pthread_join(workers[i].thread, NULL), "thread");
	require(!shared[0] && shared[1] == LOCKERS * TURNS, "%llu, not %d",
		(unsigned long long)shared[1], LOCKERS * TURNS);
	close_workers(LOCKERS);
}

/* More than ORD atomics, with READs between: all in order, each sees those before. */
void case_atomic_order(void)
{
	struct ibv_sge sge;
	uint64_t at;
	struct pair p;

	pair_open(&p);
	open_words(&p);
	at = (uintptr_t)words;
	for (int round = 0; round < 20; round++) {
		words[0] = 100;
		memset(p.a.buf, 0, 4096);
		for (int i = 0; i < 6; i++) {
			sge = sge_of(&p.a, 1024 + 8 * i, 8);
			require(!post_fetch_add(&p.a, 2 * i, 8 * i, at, words_mr->rkey, 1, 0) &&
				!post_wr(&p.a, IBV_WR_RDMA_READ, 2 * i + 1, &sge, 1, 0, at,
					 words_mr->rkey), "post");
		}
		require(!post_cmp_swap(&p.a, 12, 512, at, words_mr->rkey, 106, 7, 0), "post");
		/* fenced: it sends the value that the CmpSwap returned */
		sge = sge_of(&p.a, 512, 8);
		require(!post_wr(&p.a, IBV_WR_RDMA_WRITE, 13, &sge, 1,
				 IBV_SEND_SIGNALED | IBV_SEND_FENCE, at + 8, words_mr->rkey),
			"post");
		expect_wc(p.a.scq, 13, IBV_WC_SUCCESS, "fenced WRITE");
		for (int i = 0; i < 6; i++)
			require(value_at(&p.a, 8 * i) == 100U + i &&
				value_at(&p.a, 1024 + 8 * i) == 101U + i, "number %d", i);
		require(value_at(&p.a, 512) == 106, "CmpSwap");
		require(fetch_add(&p.a, at + 8, words_mr->rkey, 0) == 106, "fenced WRITE");
		require(words[0] == 7 && words[1] == 106, "%llu, %llu",
			(unsigned long long)words[0], (unsigned long long)words[1]);
	}
	expect_no_wc(p.a.scq, 20, "unsignaled");
	close_words();
	pair_works(&p, "after atomics");
	pair_close(&p);
}
