// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * attack: attacks by a hostile user of the host.
 *
 *	attack --list
 *	attack ADDR CASE	over the device that has address ADDR
 *
 * ATTACK_SECONDS says for how long (2), ATTACK_SEED makes other choices (1). Exit status 0: each
 * call returned a result that it may return, 1: another.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "attack.h"

uint64_t attack_end(void)
{
	return now_ms() + env_uint("ATTACK_SECONDS", 2) * 1000;
}

pthread_t thread_of(void *(*fn)(void *), void *arg)
{
	pthread_t t;
	int err = pthread_create(&t, NULL, fn, arg);

	require(!err, "%s", strerror(err));
	return t;
}

void one_message(struct pair *p, uint64_t wr_id)
{
	struct ibv_sge sge = sge_of(&p->a, 0, 100), recv = sge_of(&p->b, 0, 100);
	struct ibv_wc wc[8];

	post_rwr(&p->b, 5, &recv, 1);
	post_wr(&p->a, IBV_WR_SEND, wr_id, &sge, 1, IBV_SEND_SIGNALED, 0, 0);
	ibv_poll_cq(p->a.scq, 8, wc);
	ibv_poll_cq(p->b.rcq, 8, wc);
}

/* A life that hangs is ended by SIGALRM, and counts as killed */
struct lives in_lives(void (*life)(struct rng *r))
{
	struct rng r = { env_uint("ATTACK_SEED", 1) };
	uint64_t end = attack_end();
	struct lives lives = { 0 };

	do {
		struct rng own = { rng_next(&r) };
		pid_t pid = fork_child();
		int status;

		if (!pid) {
			signal(SIGALRM, SIG_DFL);
			alarm(20 * env_uint("SRNIC_SLOW", 1));
			life(&own);
			_exit(EXIT_PASS);
		}
		require(waitpid(pid, &status, 0) == pid, "%s", strerror(errno));
		lives.all++;
		lives.killed += WIFSIGNALED(status);
		require(WIFSIGNALED(status) || WEXITSTATUS(status) == EXIT_PASS, "life %u: status %d",
			lives.all, WEXITSTATUS(status));
	} while (now_ms() < end);
	note("%u lives, %u of them killed", lives.all, lives.killed);
	return lives;
}

static const struct test_case cases[] = {
	{ "share", case_share, "regions that share memory outlive none of what ends them" },
	{ "passfd", case_passfd, "a passed descriptor gives the objects of its own context alone" },
	{ "events", case_events, "event descriptors and objects that end at once leave nothing" },
	{ "ringmr", case_ringmr, "a peer that writes into rings hurts their program alone" },
	{ "mappings", case_mappings, "no call on a ring's mapping makes it executable or another's" },
	{ "qp_steps", case_qp_steps, "steps of a QP's resize in any order, beside its traffic, hurt nobody" },
	{ "cq_steps", case_cq_steps, "steps of a CQ's resize in any order, beside its traffic, hurt nobody" },
	{ "srq_index", case_srq_index, "an SRQ is resized in bounded time, wherever its index jumps" },
	{ "children", case_children, "children use the objects of a parent that ends, and hurt nobody" },
	{ "waits", case_waits, "messages wait for a receive, while all around them changes" },
	{ "load", case_load, "" },
	{ "compute", case_compute, "" },
};

static const struct test_program prog = {
	.usage = "attack --list | attack ADDR CASE",
	.timeout_env = "ATTACK_TIMEOUT",
	.timeout = 600,
	.cases = cases,
	.count = ARRAY_SIZE(cases),
};

int main(int argc, char **argv)
{
	return run_cases(&prog, argc, argv);
}
