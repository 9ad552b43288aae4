// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * rfc7306: RDMA Write with immediate data and atomic operations (RFC 7306).
 *
 *	rfc7306 --list			names of the cases
 *	rfc7306 ADDR CASE		run one, over the device that has address ADDR
 *	rfc7306 --peer ADDR PORT OP	do OP ("fetch-add", "write-imm") to a server
 *					that knows nothing of it, and be refused
 *
 * Both ends of each connection are in one process, but for --peer. Exit status
 * 0: as it must be, 1: not.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cases.h"
#include "rfc7306.h"

static const struct test_case cases[] = {
	{ "imm-sizes", case_imm_sizes, "WRITE with immediate data, no byte to many segments" },
	{ "imm-order", case_imm_order, "among SENDs and WRITEs, in order" },
	{ "imm-solicited", case_imm_solicited, "wakes who waits for solicited messages" },
	{ "imm-no-receive", case_imm_no_receive, "with no receive posted" },
	{ "imm-bad-target", case_imm_bad_target, "to memory that is not open to the peer" },
	{ "send-imm", case_send_imm, "SEND with immediate data, which there is not" },
	{ "atomics", case_atomics, "FetchAdd and CmpSwap, one after the other" },
	{ "atomic-sum", case_atomic_sum, "FetchAdd of many QPs and of the CPU at once" },
	{ "atomic-lock", case_atomic_lock, "CmpSwap as a lock" },
	{ "atomic-order", case_atomic_order, "among READs and fenced WRITEs, within ORD" },
	{ "atomic-target", case_atomic_target, "atomics at addresses that are refused" },
	{ "atomic-zero-based", case_atomic_zero_based, "what must be aligned is the memory" },
	{ "atomic-sink", case_atomic_sink, "atomics whose value cannot be delivered" },
	{ "atomic-disabled", case_atomic_disabled, "a QP that allows READs only" },
	{ "ord", case_ord, "ORD changed while connected" },
	{ "ird", case_ird, "IRD changed while connected" },
};

static const struct test_program prog = {
	.usage = "rfc7306 --list | ADDR CASE | --peer ADDR PORT OP",
	.timeout_env = "RFC7306_TIMEOUT",
	.timeout = 50,
	.cases = cases,
	.count = ARRAY_SIZE(cases),
};

int main(int argc, char **argv)
{
	if (argc == 5 && !strcmp(argv[1], "--peer")) {
		deadline_set(env_uint(prog.timeout_env, prog.timeout), NULL);
		test_addr = argv[2];
		refused_by_peer(atoi(argv[3]), argv[4]);
		return EXIT_PASS;
	}
	return run_cases(&prog, argc, argv);
}
