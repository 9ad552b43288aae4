// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * usage: mpi [two-sided [UNEXPECTED] | passive], in each rank of a job of two ranks or more
 *
 * Operations of MPI programs, with each byte checked: messages of many sizes to each other rank,
 * many messages that no receive awaits, collective operations, and, unless told otherwise, memory
 * that others read, write and add to. "passive" is 1000 rounds of the last part of it alone, of a
 * target that takes no part. The first error ends the job.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS	3

static int rank, ranks;

static void check(int good, const char *what, long at)
{
	if (good)
		return;
	fprintf(stderr, "rank %d: %s: wrong at %ld\n", rank, what, at);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

static unsigned char octet(int from, int to, int size, int round, int i)
{
	unsigned int x = from * 7919U + to * 104729U + size * 31U + round * 131U + i;

	return x ^ x >> 8 ^ x >> 16;
}

/* All ranks send to the one @by places on, and receive from the one @by places before */
static void shift(int by, int size, int round, unsigned char *out, unsigned char *in)
{
	int to = (rank + by) % ranks, from = (rank + ranks - by) % ranks;
	MPI_Request req[2];
	int i;

	for (i = 0; i < size; i++)
		out[i] = octet(rank, to, size, round, i);
	memset(in, 0, size + 1);
	in[size] = 0x5a;
	MPI_Irecv(in, size, MPI_BYTE, from, round, MPI_COMM_WORLD, &req[0]);
	MPI_Isend(out, size, MPI_BYTE, to, round, MPI_COMM_WORLD, &req[1]);
	MPI_Waitall(2, req, MPI_STATUSES_IGNORE);
	for (i = 0; i < size; i++)
		check(in[i] == octet(from, rank, size, round, i), "message", i);
	check(in[size] == 0x5a, "behind a message", size);
}

static void messages(void)
{
	static const int sizes[] = { 0, 1, 8, 100, 1000, 1500, 4096, 8192, 10000, 65536, 1000000 };
	unsigned char *out = malloc(1000001), *in = malloc(1000001);
	unsigned int i;
	int by, round;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (by = 1; by < ranks; by++)
			for (round = 0; round < ROUNDS; round++)
				shift(by, sizes[i], round, out, in);
	free(in);
	free(out);
}

/* Each rank has sent all its messages to the next one before any of them is awaited */
static void unexpected(int n, int size)
{
	int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks, i, at;
	unsigned char *out = malloc((size_t)n * size), *in = malloc(size);
	MPI_Request *req = malloc(n * sizeof(*req));

	for (i = 0; i < n; i++) {
		for (at = 0; at < size; at++)
			out[(size_t)i * size + at] = octet(rank, next, size, i, at);
		MPI_Isend(out + (size_t)i * size, size, MPI_BYTE, next, i, MPI_COMM_WORLD, &req[i]);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	for (i = 0; i < n; i++) {
		MPI_Recv(in, size, MPI_BYTE, before, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		for (at = 0; at < size; at++)
			check(in[at] == octet(before, rank, size, i, at), "unexpected message", i);
	}
	MPI_Waitall(n, req, MPI_STATUSES_IGNORE);
	free(req);
	free(in);
	free(out);
}

static void reduce(int n)
{
	long *mine = malloc(n * sizeof(*mine)), *sum = malloc(n * sizeof(*sum));
	int i;

	for (i = 0; i < n; i++)
		mine[i] = (long)i * (rank + 1);
	MPI_Allreduce(mine, sum, n, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
	for (i = 0; i < n; i++)
		check(sum[i] == (long)i * ranks * (ranks + 1) / 2, "allreduce", i);
	free(sum);
	free(mine);
}

static void exchange(int n)
{
	int *out = malloc(sizeof(*out) * n * ranks), *in = malloc(sizeof(*in) * n * ranks);
	int i;

	for (i = 0; i < n * ranks; i++)
		out[i] = rank * 1000000 + i;
	MPI_Alltoall(out, n, MPI_INT, in, n, MPI_INT, MPI_COMM_WORLD);
	for (i = 0; i < n * ranks; i++)
		check(in[i] == i / n * 1000000 + rank * n + i % n, "alltoall", i);
	free(in);
	free(out);
}

/* Each rank puts to the next one, gets from it, and adds to the first one's counter */
static void one_sided(int n)
{
	int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks, i;
	long *window, *got = calloc(n, sizeof(*got)), *put = malloc(n * sizeof(*put));
	long one = 1, zero = 0;
	MPI_Win win;

	MPI_Win_allocate((2 * n + 1) * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD,
			 &window, &win);
	memset(window, 0, (2 * n + 1) * sizeof(long));
	for (i = 0; i < n; i++) {
		window[n + i] = rank * 3000000L + i;
		put[i] = rank * 5000000L + i;
	}
	MPI_Win_fence(0, win);
	MPI_Put(put, n, MPI_LONG, next, 0, n, MPI_LONG, win);
	MPI_Get(got, n, MPI_LONG, next, n, n, MPI_LONG, win);
	MPI_Accumulate(&one, 1, MPI_LONG, 0, 2 * n, 1, MPI_LONG, MPI_SUM, win);
	MPI_Win_fence(0, win);
	for (i = 0; i < n; i++) {
		check(window[i] == before * 5000000L + i, "put", i);
		check(got[i] == next * 3000000L + i, "get", i);
	}
	check(window[2 * n] == (rank ? 0 : ranks), "accumulate", window[2 * n]);
	MPI_Win_lock_all(0, win);
	for (i = 0; i < 10; i++) {
		MPI_Fetch_and_op(&one, &zero, MPI_LONG, 0, 2 * n, MPI_SUM, win);
		MPI_Win_flush(0, win);
	}
	MPI_Win_unlock_all(win);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
	MPI_Get(&zero, 1, MPI_LONG, 0, 2 * n, 1, MPI_LONG, win);
	MPI_Win_unlock(0, win);
	check(zero == 11L * ranks, "fetch_and_op", zero);
	MPI_Win_free(&win);
	free(put);
	free(got);
}

/*
 * Each rank puts to the next one, which takes no part, and when the put is complete tells the rank
 * behind that one, which looks. With two ranks that is the first one itself.
 */
static void passive(int rounds)
{
	enum { N = 16 };
	int next = (rank + 1) % ranks, third = (rank + 2) % ranks, i, round;
	int teller = (rank + 2 * ranks - 2) % ranks, target = (teller + 1) % ranks;
	long put[N], got[N], *window;
	MPI_Win win;

	MPI_Win_allocate(ranks * sizeof(put), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &window,
			 &win);
	memset(window, 0, ranks * sizeof(put));
	MPI_Barrier(MPI_COMM_WORLD);
	for (round = 1; round <= rounds; round++) {
		int told = 0;

		for (i = 0; i < N; i++)
			put[i] = rank * 7000000L + round * 100L + i;
		MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win);
		MPI_Put(put, N, MPI_LONG, next, rank * N, N, MPI_LONG, win);
		MPI_Win_unlock(next, win);
		MPI_Sendrecv(&round, 1, MPI_INT, third, 1, &told, 1, MPI_INT, teller, 1,
			     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		check(told == round, "told", told);
		memset(got, 0, sizeof(got));
		MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
		MPI_Get(got, N, MPI_LONG, target, teller * N, N, MPI_LONG, win);
		MPI_Win_unlock(target, win);
		for (i = 0; i < N; i++)
			check(got[i] == teller * 7000000L + round * 100L + i, "passive put", i);
		/* the next put waits until this one has been looked at */
		MPI_Sendrecv(&round, 1, MPI_INT, teller, 2, &told, 1, MPI_INT, third, 2,
			     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	MPI_Win_free(&win);
}

static void all_kinds(int num_unexpected, int with_windows)
{
	messages();
	unexpected(num_unexpected, 256);
	reduce(1);
	reduce(10000);
	exchange(1);
	exchange(5000);
	if (!with_windows)
		return;
	one_sided(1);
	one_sided(10000);
	passive(50);
}

int main(int argc, char **argv)
{
	const char *what = argc < 2 ? "" : argv[1];

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	check(ranks > 1, "ranks", ranks);
	if (!strcmp(what, "passive"))
		passive(1000);
	else
		all_kinds(argc < 3 ? 500 : atoi(argv[2]), strcmp(what, "two-sided"));
	MPI_Barrier(MPI_COMM_WORLD);
	if (!rank)
		printf("%d ranks: all data is right\n", ranks);
	MPI_Finalize();
	return 0;
}
