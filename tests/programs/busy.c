// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Messages from a to b while other threads work on the objects that they use. */
#include <pthread.h>
#include <string.h>
#include <unistd.h>
#include "busy.h"

#define MAX_THREADS	8

struct busy busy;

bool busy_stopped(void)
{
	return __atomic_load_n(&busy.stop, __ATOMIC_ACQUIRE);
}

uint64_t busy_total(void)
{
	return __atomic_load_n(&busy.sent, __ATOMIC_ACQUIRE);
}

void busy_in_order(const struct ibv_wc *wc, uint64_t n)
{
	require(wc->wr_id == n && wc->status == IBV_WC_SUCCESS, "%llu, %s, in place of %llu",
		(unsigned long long)wc->wr_id, ibv_wc_status_str(wc->status),
		(unsigned long long)n);
}

void busy_received(const struct ibv_wc *wc, uint64_t n)
{
	busy_in_order(wc, n);
	must_recv(&busy.p.b, n + DEPTH, 64 * (n % DEPTH), 64);
	__atomic_store_n(&busy.buffers, n + DEPTH + 1, __ATOMIC_RELEASE);
}

static void *sender(void *arg)
{
	uint64_t next = 0, done = 0;

	while (!busy_stopped() || done < next) {
		struct ibv_wc wc[4];
		int n;

		for (; !busy_stopped() && next - done < DEPTH &&
		       next < __atomic_load_n(&busy.buffers, __ATOMIC_ACQUIRE); next++)
			busy.send(&busy.p.a, next);
		n = ibv_poll_cq(busy.p.a.scq, 4, wc);
		require(n >= 0, "ibv_poll_cq: %d", n);
		for (int i = 0; i < n; i++, done++)
			busy_in_order(&wc[i], done);
		if (!n)
			usleep(50);
	}
	__atomic_store_n(&busy.sent, done, __ATOMIC_RELEASE);
	return NULL;
}

void busy_open(void (*send)(struct end *from, uint64_t n))
{
	busy.send = send;
	pair_open(&busy.p);
	for (int i = 0; i < DEPTH; i++)
		must_recv(&busy.p.b, i, 64 * i, 64);
	busy.buffers = DEPTH;
}

void busy_run(const struct busy_thread *threads, int num, unsigned int seconds)
{
	pthread_t t[MAX_THREADS + 1];

	require(num <= MAX_THREADS, "%d threads", num);
	require(!pthread_create(&t[num], NULL, sender, NULL), "pthread_create");
	for (int i = 0; i < num; i++)
		require(!pthread_create(&t[i], NULL, threads[i].run, threads[i].arg),
			"pthread_create");
	sleep(seconds);
	__atomic_store_n(&busy.stop, true, __ATOMIC_RELEASE);
	for (int i = 0; i <= num; i++)
		pthread_join(t[i], NULL);
}
