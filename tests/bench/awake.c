// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Keeps the CPUs of the machine from sleeping during a measurement, until SIGTERM, and takes no
 * time from it: one process for each CPU spins while the scheduler has nothing else to run.
 *
 * In User Mode Linux a system call switches from one process of the host to another and back. If
 * the other one's CPU sleeps, it has to be woken, and where the host is a virtual machine itself
 * that costs an exit of it: longer than a message of 64 KiB takes, and paid or not as the host's
 * scheduler happens to place the two. An application on a kernel of its own pays nothing of the
 * kind.
 */

#include <err.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void pause_cpu(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#endif
}

static void spin(int cpu, pid_t parent)
{
	struct sched_param param = { 0 };
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one) || sched_setscheduler(0, SCHED_IDLE, &param) ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL))
		err(1, "CPU %d", cpu);
	while (getppid() == parent)
		for (int i = 0; i < 1000000; i++)
			pause_cpu();
	_exit(0);
}

int main(void)
{
	pid_t self = getpid(), child[CPU_SETSIZE];
	int children = 0, sig;
	sigset_t end;
	cpu_set_t all;

	sigemptyset(&end);
	sigaddset(&end, SIGTERM);
	if (sigprocmask(SIG_BLOCK, &end, NULL) || prctl(PR_SET_PDEATHSIG, SIGTERM) ||
	    sched_getaffinity(0, sizeof(all), &all))
		err(1, "CPUs");
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &all))
			continue;
		child[children] = fork();
		if (!child[children])
			spin(cpu, self);
		if (child[children++] < 0)
			err(1, "fork");
	}
	sigwait(&end, &sig);
	/* waiting for them adds their CPU time to that of this process */
	while (children--) {
		kill(child[children], SIGKILL);
		waitpid(child[children], NULL, 0);
	}
	return 0;
}
