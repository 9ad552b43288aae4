// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * badinput: everything a program must not do, and how it is refused.
 *
 *	badinput --list			names of the cases
 *	badinput ADDR CASE		run one, over the device that has address ADDR
 *
 * Both ends of each connection are in one process, or in a process and its child. Exit status 0:
 * passed, 1: failed, 77: cannot be tested here.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "badinput.h"
#include "cases.h"

static const struct test_case cases[] = {
	{ "opcode", case_opcode, "unknown and unsupported opcodes" },
	{ "wr-list", case_wr_list, "a bad work request in the middle of a list" },
	{ "sge-count", case_sge_count, "more SGEs than the QP has" },
	{ "sq-full", case_sq_full, "a send too many" },
	{ "rq-full", case_rq_full, "a receive too many" },
	{ "send-sge", case_send_sge, "SENDs from memory that is not the sender's" },
	{ "recv-sge", case_recv_sge, "receives into memory that is not the receiver's" },
	{ "read-sink", case_read_sink, "READs into memory that is not the reader's" },
	{ "too-long", case_too_long, "more data than a message or an inline WR may have" },
	{ "recv-short", case_recv_short, "a message longer than the receive" },
	{ "idle", case_idle, "posts before there is a connection" },
	{ "error-state", case_error_state, "posts after the end of a connection" },
	{ "reg-mr", case_reg_mr, "memory that cannot be registered" },
	{ "memlock", case_memlock, "more memory than RLIMIT_MEMLOCK" },
	{ "create-cq", case_create_cq, "CQs of impossible size" },
	{ "create-qp", case_create_qp, "QPs beyond each limit of the device" },
	{ "in-use", case_in_use, "destroying what is in use" },
	{ "remote-write", case_remote_write, "WRITEs to memory that is not open to the peer" },
	{ "remote-read", case_remote_read, "READs of memory that is not open to the peer" },
	{ "zero-length", case_zero_length, "zero-length operations on rubbish addresses" },
	{ "disconnect-busy", case_disconnect_busy, "disconnect with a full send queue" },
	{ "kill-client", case_kill_client, "kill -9 of the connecting side" },
	{ "kill-server", case_kill_server, "kill -9 of the accepting side" },
	{ "refused", case_refused, "connect to a port where nobody listens" },
	{ "reject", case_reject, "connect to a server that does not want" },
	{ "mmap", case_mmap, "mmap of foreign and of shortened rings" },
	{ "udata", case_udata, "uverbs calls with short and long buffers" },
	{ "handover", case_handover, "sockets that no QP can have" },
	{ "handover-abi", case_handover_abi, "calls to hand a socket over that are no such calls" },
	{ "query", case_query, "queries in the terms of the RDMAC verbs that cannot be answered" },
	{ "events", case_events, "events that cannot be read, and limits that cannot be armed" },
	{ "reg-shared", case_reg_shared, "regions that cannot be shared" },
	{ "dm", case_dm, "copies to and from memory of the device that are no such copies" },
	{ "rings", case_rings, "rubbish in the rings" },
	{ "modify", case_modify, "" },
	{ "create-ah", case_create_ah, "" },
};

static const struct test_program prog = {
	.usage = "badinput --list | badinput ADDR CASE",
	.timeout_env = "BADINPUT_TIMEOUT",
	.timeout = 60,
	.cases = cases,
	.count = ARRAY_SIZE(cases),
};

int main(int argc, char **argv)
{
	return run_cases(&prog, argc, argv);
}
