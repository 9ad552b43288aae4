// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Many streams that move data as fast as they can, and a program of another user that only
 * computes: how much of the CPUs it gets.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "attack.h"

static uint64_t end;

static void *reads(void *arg)
{
	struct pair *p = arg;
	unsigned int under_way = 0;
	struct ibv_wc wc[16];

	while (now_ms() < end) {
		struct ibv_sge sge = sge_of(&p->a, 0, BUF_SIZE);
		int n;

		while (under_way < 8 &&
		       !post_wr(&p->a, IBV_WR_RDMA_READ, 1, &sge, 1, IBV_SEND_SIGNALED,
				(uintptr_t)p->b.buf, p->b.mr->rkey))
			under_way++;
		n = ibv_poll_cq(p->a.scq, ARRAY_SIZE(wc), wc);
		for (int i = 0; i < n; i++)
			require(!wc[i].status, "%s", ibv_wc_status_str(wc[i].status));
		under_way -= n;
		usleep(2000);
	}
	return NULL;
}

/* ATTACK_PAIRS pairs of QPs; prints a line once they are connected */
void case_load(void)
{
	unsigned int n = env_uint("ATTACK_PAIRS", 16);
	struct pair *p = calloc(n, sizeof(*p));
	pthread_t *t = calloc(n, sizeof(*t));

	for (unsigned int i = 0; i < n; i++)
		pair_open(&p[i]);
	printf("connected %u\n", n);
	fflush(stdout);
	end = attack_end();
	for (unsigned int i = 0; i < n; i++)
		t[i] = thread_of(reads, &p[i]);
	for (unsigned int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	_exit(EXIT_PASS);
}

/* Prints the number of its rounds */
void case_compute(void)
{
	unsigned long long loops = 0;

	end = attack_end();
	do {
		for (volatile int i = 0; i < 20000; i++)
			;
		loops++;
	} while (now_ms() < end);
	printf("loops %llu\n", loops);
}
