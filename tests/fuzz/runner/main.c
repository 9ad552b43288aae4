// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * main: runs a harness without libFuzzer, which processors in an emulator do not have.
 *
 *	HARNESS RUNS FILE...
 *
 * Each file is an input as it is, and RUNS times with a few changes, always the same.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LONGEST	(1 << 17)	/* whole pages, of 64 KiB at most */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t state = 0x9e3779b97f4a7c15ULL;

/* xorshift: numbers below @n */
static size_t below(size_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (state >> 16) % n;
}

/* One change; returns the new length */
static size_t change(uint8_t *data, size_t size)
{
	size_t at = below(size);

	switch (below(5)) {
	case 0:
		data[at] = below(256);
		break;
	case 1:
		data[at] ^= 1 << below(8);
		break;
	case 2:
		data[at] += (int)below(5) - 2;
		break;
	case 3:
		return at;
	default:
		memmove(data + at / 2, data + at, size - at);
	}
	return size;
}

/* Memory behind which there is none: a read behind the input ends the program, without a sanitizer */
static uint8_t *make_room(void)
{
	long page = sysconf(_SC_PAGESIZE);
	uint8_t *room = mmap(NULL, LONGEST + page, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (room == MAP_FAILED || mprotect(room + LONGEST, page, PROT_NONE)) {
		perror("no memory");
		exit(2);
	}
	return room;
}

/* The input is at the end of @room */
static void run(uint8_t *room, const uint8_t *input, size_t size, bool changed)
{
	static uint8_t work[LONGEST];
	uint8_t *data;

	memcpy(work, input, size);
	for (size_t left = changed ? 1 + below(4) : 0; left && size; left--)
		size = change(work, size);
	data = room + LONGEST - size;
	memcpy(data, work, size);
	LLVMFuzzerTestOneInput(data, size);
}

int main(int argc, char **argv)
{
	static uint8_t input[LONGEST];
	unsigned long runs, done = 0;
	uint8_t *room = make_room();

	if (argc < 3)
		return 2;
	runs = strtoul(argv[1], NULL, 0);
	for (int i = 2; i < argc; i++) {
		FILE *f = fopen(argv[i], "rb");
		size_t size;

		if (!f) {
			perror(argv[i]);
			return 2;
		}
		size = fread(input, 1, sizeof(input), f);
		fclose(f);
		for (unsigned long k = 0; k <= runs; k++, done++)
			run(room, input, size, k > 0);
	}
	printf("%lu runs\n", done);
	return 0;
}
