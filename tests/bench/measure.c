// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Time, and what the machine uses: not the time of this process, since most work is done by
 * kthreads, softirqs and the process at the other end. Other programs of the machine are
 * included, too.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "bench.h"

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static char *slurp(const char *path)
{
	static char text[16384];
	int fd = open(path, O_RDONLY);
	ssize_t n;

	require(fd >= 0, "%s: %s", path, strerror(errno));
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	require(n >= 0, "%s: %s", path, strerror(errno));
	text[n] = 0;
	return text;
}

static uint64_t number_after(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

void usage_now(struct usage *u)
{
	unsigned long long user, nice, sys, idle, wait, irq = 0, softirq = 0;
	char *text = slurp("/proc/stat"), *slash;

	require(sscanf(text, "cpu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &sys,
		       &idle, &wait, &irq, &softirq) >= 5, "/proc/stat");
	u->cpu_us = (user + nice + sys + irq + softirq) * 1000000 / sysconf(_SC_CLK_TCK);
	u->switches = number_after(text, "\nctxt ");
	text = slurp("/proc/meminfo");
	u->free_kib = number_after(text, "MemAvailable:");
	/* neither free, nor of a file, nor of a program: slabs, stacks, vmalloc, pages */
	u->kernel_kib = number_after(text, "MemTotal:") - number_after(text, "MemFree:") -
			number_after(text, "\nBuffers:") - number_after(text, "\nCached:") -
			number_after(text, "\nAnonPages:");
	slash = strchr(slurp("/proc/loadavg"), '/');
	u->threads = slash ? strtoull(slash + 1, NULL, 10) : 0;
	u->ns = now_ns();
}

static void pin(int cpu)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		die("sched_setaffinity: %s", strerror(errno));
}

void pin_to_cpu(const struct bench *b)
{
	pin(b->server ? sysconf(_SC_NPROCESSORS_ONLN) - 1 : 0);
}

/* Each of several clients calls this when it is connected; all return at the same time. */
void begin_together(const struct bench *b)
{
	char byte;

	if (!b->together || b->server)
		return;
	puts("ready");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
}

#define SPEED_MS	30

static uint64_t speed_of(int cpu)
{
	uint64_t end = now_ns() + SPEED_MS * 1000000ULL, loops = 0;

	pin(cpu);
	do {
		for (volatile int i = 0; i < 10000; i++)
			;
		loops += 10;
	} while (now_ns() < end);
	return loops / SPEED_MS;
}

/*
 * Thousands of loops in a millisecond, for each CPU, all at the same time. Each CPU has a process
 * of its own: in User Mode Linux threads of one process take turns.
 */
void speed(void)
{
	int num = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t *loops = mmap(NULL, num * sizeof(*loops), PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	require(loops != MAP_FAILED, "mmap: %s", strerror(errno));
	for (int i = 0; i < num; i++)
		if (!fork_child()) {
			loops[i] = speed_of(i);
			_exit(EXIT_PASS);
		}
	while (wait(NULL) > 0)
		;
	printf("{\"loops_ms\": [");
	for (int i = 0; i < num; i++)
		printf("%s%" PRIu64, i ? ", " : "", loops[i]);
	puts("]}");
}

void result_number(const char *name, double value)
{
	printf(", \"%s\": %.6g", name, value);
}

void result_usage(const struct usage *begin, const struct usage *end, uint64_t messages,
		  uint64_t bytes)
{
	double cpu = end->cpu_us - begin->cpu_us;

	result_number("begin", begin->ns / 1e9);
	result_number("seconds", (end->ns - begin->ns) / 1e9);
	result_number("cpus_busy", cpu * 1e3 / (end->ns - begin->ns));
	result_number("messages", messages);
	if (messages)
		result_number("switches_per_message",
			      (double)(end->switches - begin->switches) / messages);
	if (bytes)
		result_number("cpu_ms_per_gib", cpu / 1e3 / (bytes / 1073741824.0));
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Sorts them. */
double samples_median(uint32_t *ns, size_t num)
{
	qsort(ns, num, sizeof(*ns), compare);
	return ns[num / 2] / 1e3;
}

/* @factor: the part of a sample that counts */
void result_samples(uint32_t *ns, size_t num, double factor)
{
	double us = factor / 1e3, sum = 0;
	uint64_t begin = now_ns();

	require(num, "there are no samples");
	for (int i = 0; i < 1000; i++)
		now_ns();
	result_number("clock_ns", (now_ns() - begin) / 1e3);
	qsort(ns, num, sizeof(*ns), compare);
	for (size_t i = 0; i < num; i++)
		sum += ns[i];
	result_number("samples", num);
	result_number("min_us", ns[0] * us);
	result_number("p50_us", ns[num / 2] * us);
	result_number("p99_us", ns[num * 99 / 100] * us);
	result_number("p999_us", ns[num * 999 / 1000] * us);
	result_number("max_us", ns[num - 1] * us);
	result_number("mean_us", sum / num * us);
}

void result_end(void)
{
	puts("}");
	fflush(stdout);
}
