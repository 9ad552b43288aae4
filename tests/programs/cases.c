// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The common main() of programs that are made of cases. */
#include <stdio.h>
#include <string.h>
#include "cases.h"
#include "common.h"

const char *test_addr;

/*
 * PROGRAM --list, or PROGRAM ADDR CASE. Returns the exit status; a case that
 * fails or cannot be tested does not come back.
 */
int run_cases(const struct test_program *prog, int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "--list")) {
		for (size_t i = 0; i < prog->count; i++)
			if (*prog->cases[i].what)
				printf("%s\t%s\n", prog->cases[i].name, prog->cases[i].what);
		return 0;
	}
	if (argc != 3) {
		fprintf(stderr, "usage: %s\n", prog->usage);
		return 2;
	}
	test_addr = argv[1];
	deadline_set(env_uint(prog->timeout_env, prog->timeout), NULL);
	for (size_t i = 0; i < prog->count; i++) {
		if (strcmp(prog->cases[i].name, argv[2]))
			continue;
		prog->cases[i].run();
		return EXIT_PASS;
	}
	fprintf(stderr, "no case %s\n", argv[2]);
	return 2;
}
