/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Programs that are made of cases; each run does one case. */
#ifndef CASES_H
#define CASES_H

#include <stddef.h>

/* A case without @what is not listed: a script runs it by its name */
struct test_case {
	const char *name;
	void (*run)(void);
	const char *what;
};

/* @timeout: seconds for one case, unless the environment has @timeout_env */
struct test_program {
	const char *usage;
	const char *timeout_env;
	unsigned int timeout;
	const struct test_case *cases;
	size_t count;
};

/* The address of the device to be tested */
extern const char *test_addr;

int run_cases(const struct test_program *prog, int argc, char **argv);

#endif
