// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* All operations of mm on a mapping, applied to the mappings of rings while these are in use. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include "attack.h"

#define RINGS	16
#define PAGE	4096

static void move(const struct mapping *m, struct rng *r)
{
	static const int grows[] = { 0, PAGE };
	void *p = mremap(m->at, m->len, m->len + grows[rng_below(r, 2)], MREMAP_MAYMOVE);

	/* a size of 0 would map the same pages a second time */
	if (p == MAP_FAILED && rng_below(r, 2))
		mremap(m->at, 0, m->len, MREMAP_MAYMOVE);
}

static void advise(const struct mapping *m, struct rng *r)
{
	static const int advices[] = { MADV_DONTNEED, MADV_FREE, MADV_REMOVE, MADV_DOFORK,
				       MADV_HUGEPAGE, MADV_MERGEABLE, MADV_PAGEOUT, MADV_WIPEONFORK };

	madvise(m->at, m->len, advices[rng_below(r, ARRAY_SIZE(advices))]);
}

/* No mapping of a ring is executable, wherever it was moved */
static void nothing_executable(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[512];

	require(f, "%s", strerror(errno));
	while (fgets(line, sizeof(line), f)) {
		const char *rights = strchr(line, ' ');

		require(!strstr(line, "/uverbs") || !rights || rights[3] != 'x', "%s", line);
	}
	fclose(f);
}

static void protect(const struct mapping *m, struct rng *r)
{
	if (!mprotect(m->at, m->len, PROT_READ | PROT_EXEC))
		nothing_executable();
	mprotect(m->at, m->len, rng_below(r, 2) ? PROT_READ : PROT_READ | PROT_WRITE);
}

static void copy(const struct mapping *m)
{
	char buf[64];
	struct iovec local = { buf, sizeof(buf) }, remote = { m->at, sizeof(buf) };

	process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
	process_vm_writev(getpid(), &local, 1, &remote, 1, 0);
}

/* Give the pages of a ring to a pipe */
static void give(const struct mapping *m)
{
	struct iovec iov = { m->at, PAGE };
	int fds[2];

	if (pipe(fds))
		return;
	vmsplice(fds[1], &iov, 1, SPLICE_F_GIFT | SPLICE_F_NONBLOCK);
	close(fds[0]);
	close(fds[1]);
}

/* A child has no rings, whatever MADV_DOFORK and MADV_WIPEONFORK were called for */
static void inherit(const struct mapping *m, int n)
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		return;
	if (!pid) {
		volatile uint8_t sum = 0;

		for (int i = 0; i < n; i++)
			sum += *(volatile uint8_t *)m[i].at;
		_exit(EXIT_PASS);
	}
	waitpid(pid, &status, 0);
}

static void migrate(const struct mapping *m)
{
	void *page = m->at;
	int node = 0, status;

	syscall(SYS_move_pages, 0, 1, &page, &node, &status, 0);
}

static void *mm_thread(void *arg)
{
	struct rng r = { *(uint64_t *)arg };
	uint64_t end = now_ms() + 40;

	while (now_ms() < end) {
		struct mapping rings[RINGS];
		int n = uverbs_mappings(rings, RINGS), i = rng_below(&r, n);

		if (!n)
			continue;
		switch (rng_below(&r, 8)) {
		case 0: move(&rings[i], &r); break;
		case 1: advise(&rings[i], &r); break;
		case 2: protect(&rings[i], &r); break;
		case 3: copy(&rings[i]); break;
		case 4: give(&rings[i]); break;
		case 5: inherit(rings, n); break;
		case 6: migrate(&rings[i]); break;
		default:
			mlock(rings[i].at, rings[i].len);
			munlock(rings[i].at, rings[i].len);
		}
	}
	return NULL;
}

static void life(struct rng *r)
{
	uint64_t seeds[2];
	pthread_t t[2];
	struct pair p;

	pair_open(&p);
	for (int i = 0; i < 2; i++) {
		seeds[i] = rng_next(r);
		t[i] = thread_of(mm_thread, &seeds[i]);
	}
	for (int i = 0; i < 40; i++) {
		one_message(&p, i);
		ibv_resize_cq(p.a.scq, 16 + i * 7);
		usleep(500);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
}

/* Most lives end by SIGSEGV: the library accesses the rings that were changed */
void case_mappings(void)
{
	in_lives(life);
}
