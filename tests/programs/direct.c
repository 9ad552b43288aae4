// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * direct: posting, polling and arming need no system call but doorbells (RN-18).
 *
 *	direct ADDR		over the device that has address ADDR
 *
 * A parent traces its child, and checks the system calls between two marks. Exit status 0: none
 * but doorbells, 1: others.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "pair.h"

const char *test_addr;

#define ROUNDS	50

/* A system call that is not used otherwise: begin and end of the counted part */
static void mark(void)
{
	syscall(SYS_getppid);
}

/* Sends from a to b, and polls until all have completed. Doorbells are write(2). */
static void traffic(struct pair *p)
{
	struct ibv_sge sge = sge_of(&p->a, 0, 64);
	struct ibv_wc wc;

	for (int i = 0; i < ROUNDS; i++) {
		int left = 2;

		must_recv(&p->b, i, 0, 64);
		require(!post_wr(&p->a, IBV_WR_SEND, i, &sge, 1, IBV_SEND_SIGNALED, 0, 0),
			"ibv_post_send");
		while (left) {
			left -= ibv_poll_cq(p->a.scq, 1, &wc);
			left -= ibv_poll_cq(p->b.rcq, 1, &wc);
		}
		require(!ibv_req_notify_cq(p->b.rcq, i & 1), "ibv_req_notify_cq");
	}
}

static void child(void)
{
	struct pair p;

	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	raise(SIGSTOP);
	pair_open(&p);
	mark();
	traffic(&p);
	mark();
	pair_close(&p);
	_exit(EXIT_PASS);
}

/* The next system call of the child, -1 at its end */
static long next_call(pid_t pid, int *status)
{
	struct __ptrace_syscall_info info;
	long len;

	for (;;) {
		require(!ptrace(PTRACE_SYSCALL, pid, NULL, NULL), "%s", strerror(errno));
		require(waitpid(pid, status, 0) == pid, "%s", strerror(errno));
		if (WIFEXITED(*status) || WIFSIGNALED(*status))
			return -1;
		if (WSTOPSIG(*status) != (SIGTRAP | 0x80))
			continue;
		/* it stops before and after each call */
		len = ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info);
		if (len < 0 && errno == EIO)	/* it does not know the request */
			skip("this kernel does not tell of system calls");
		require(len > 0, "%s", strerror(errno));
		if (info.op == PTRACE_SYSCALL_INFO_ENTRY)
			return info.entry.nr;
	}
}

int main(int argc, char **argv)
{
	unsigned int marks = 0, doorbells = 0;
	int status;
	pid_t pid;
	long nr;

	if (argc != 2) {
		fprintf(stderr, "usage: direct ADDR\n");
		return 2;
	}
	test_addr = argv[1];
	deadline_set(env_uint("DIRECT_TIMEOUT", 50), NULL);
	pid = fork_child();
	if (!pid)
		child();
	require(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status), "the child does not stop");
	require(!ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL),
		"%s", strerror(errno));
	while ((nr = next_call(pid, &status)) >= 0) {
		if (nr == SYS_getppid) {
			marks++;
		} else if (marks == 1) {
			require(nr == SYS_write, "system call %ld", nr);
			doorbells++;
		}
	}
	require(WIFEXITED(status) && !WEXITSTATUS(status), "the child: %#x", status);
	require(marks == 2, "%u marks", marks);
	/* at most one for a send, and none for a receive */
	note("%u doorbells for %u sends", doorbells, ROUNDS);
	require(doorbells <= ROUNDS, "%u doorbells", doorbells);
	return EXIT_PASS;
}
