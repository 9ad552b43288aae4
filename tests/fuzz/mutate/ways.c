// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * How octets go to TCP: copied, or as pages that this process can still write to. On one host the
 * receiver then has these very pages in its queue, but for those of MSG_ZEROCOPY, which the
 * kernel copies on the way. As soon as the device has read them, they are overwritten: it must
 * not read them again. With --hostile they change while it reads.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>
#include "mutate.h"

#define ARENA	(512 * 1024)	/* of a connection; what has no room in it is copied */

/* Pages of a file, from which a connection sends */
struct arena {
	int fd;
	uint8_t *at;
	uint32_t used;
};

static struct arena arenas[SLOTS];
static int pipes[2];

static void pipe_open(void)
{
	require(!pipe2(pipes, O_CLOEXEC), "%s", strerror(errno));
}

/* Flips a bit of the octets sent last, for a moment or for ever */
static void *spoiler(void *arg)
{
	unsigned int rng = seed;	/* of no connection: chance decides the time anyhow */

	for (;;) {
		struct arena *a = &arenas[rand_r(&rng) % SLOTS];
		uint32_t used = __atomic_load_n(&a->used, __ATOMIC_RELAXED);
		uint8_t bit = 1 << rand_r(&rng) % 8;
		volatile uint8_t *at;

		if (!used)
			continue;
		at = a->at + used - 1 - rand_r(&rng) % (used < 2048 ? used : 2048);
		*at ^= bit;
		for (volatile int i = rand_r(&rng) % 2000; i; i--)
			;
		if (rand_r(&rng) % 4)
			*at ^= bit;
	}
	return NULL;
}

void ways_open(void)
{
	pthread_t thread;

	signal(SIGPIPE, SIG_IGN);	/* sendfile() has no flag for it */
	pipe_open();
	for (int i = 0; i < SLOTS; i++) {
		struct arena *a = &arenas[i];

		a->fd = memfd_create("mutate", MFD_CLOEXEC);
		require(a->fd >= 0 && !ftruncate(a->fd, ARENA), "%s", strerror(errno));
		a->at = mmap(NULL, ARENA, PROT_READ | PROT_WRITE, MAP_SHARED, a->fd, 0);
		require(a->at != MAP_FAILED, "%s", strerror(errno));
	}
	if (hostile)
		require(!pthread_create(&thread, NULL, spoiler, NULL), "no thread");
}

/* Decided by the seed alone, not by how much the socket takes at a time */
enum way way_of(struct conn *c, uint32_t len)
{
	static const enum way ways[] = { WAY_SENDFILE, WAY_SPLICE, WAY_ZEROCOPY };
	enum way way = !hostile && chance(c, 60) ? WAY_COPY : ways[below(c, ARRAY_SIZE(ways))];

	if (arenas[c->slot->index].used + len > ARENA)
		way = WAY_COPY;
	stats.way_octets[way] += len;
	return way;
}

/* The place of the octets until the device has read them */
const uint8_t *way_stage(struct conn *c, enum way way, const uint8_t *p, uint32_t len)
{
	struct arena *a = &arenas[c->slot->index];
	uint8_t *at = a->at + a->used;

	if (way == WAY_COPY)
		return p;
	memcpy(at, p, len);
	a->used += len;
	return at;
}

static ssize_t splice_pages(int fd, const uint8_t *p, size_t len)
{
	struct iovec iov = { (void *)p, len };
	ssize_t n = vmsplice(pipes[1], &iov, 1, 0), done = 0;

	while (done < n) {
		ssize_t k = splice(pipes[0], NULL, fd, NULL, n - done, 0);
		int err = errno;

		if (k < 0 && err == EINTR)
			continue;
		if (k <= 0) {	/* the rest in the pipe is discarded */
			close(pipes[0]);
			close(pipes[1]);
			pipe_open();
			errno = err;
			return done ?: -1;
		}
		done += k;
	}
	return n;
}

static ssize_t send_zerocopy(int fd, const uint8_t *p, size_t len)
{
	int one = 1;
	ssize_t n;

	require(!setsockopt(fd, SOL_SOCKET, SO_ZEROCOPY, &one, sizeof(one)), "%s",
		strerror(errno));
	n = send(fd, p, len, MSG_NOSIGNAL | MSG_ZEROCOPY);
	if (n < 0 && errno == ENOBUFS)	/* too many notifications that were not read */
		n = send(fd, p, len, MSG_NOSIGNAL);
	return n;
}

/* As send(): @p is from way_stage(), or further behind */
ssize_t way_send(struct conn *c, enum way way, const uint8_t *p, size_t len)
{
	struct arena *a = &arenas[c->slot->index];
	off_t off = p - a->at;

	switch (way) {
	case WAY_SENDFILE:
		return sendfile(c->fd, a->fd, &off, len);
	case WAY_SPLICE:
		return splice_pages(c->fd, p, len);
	case WAY_ZEROCOPY:
		return send_zerocopy(c->fd, p, len);
	default:
		return send(c->fd, p, len, MSG_NOSIGNAL);
	}
}

/* Called when the device has read all that was sent, or will read no more */
void ways_spoil(struct conn *c)
{
	struct arena *a = &arenas[c->slot->index];

	memset(a->at, 0x5e, a->used);
	a->used = 0;
}

/* After a change of octets an answer may never come, which is no error */
void ways_impatient(struct conn *c)
{
	struct timeval tv = { .tv_usec = 200000 * env_uint("SRNIC_SLOW", 1) };

	if (hostile)
		setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
}
