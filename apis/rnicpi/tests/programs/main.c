// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * rnicpi: librnicpi, each function with the return codes that its page names.
 *
 *	rnicpi ADDR CASE	on the device that has address ADDR, whose name is in RNICPI_DEVICE
 */
#include "cases.h"
#include "rnicpi.h"

static const struct test_case all_cases[] = {
	{ "layout", layout, "structures are as large as the text has them" },
	{ "devices", devices, "a device has one handle, and two vectors" },
	{ "handles", handles, "an RNIC handle that is none, or has objects, is refused" },
	{ "query", query, "an RNIC says its limits, and the addresses of its port" },
	{ "query_size", query_size, "a buffer that is too small is told how large it has to be" },
	{ "pds", pds, "a PD is of its RNIC alone, and ends when nothing uses it" },
	{ "cqs", cqs, "a CQ is made, resized and ended, each error with its own code" },
	{ "mrs", mrs, "a region is registered, changed and ended, each error with its own code" },
	{ "mws", mws, "a window begins without a right" },
	{ "srqs", srqs, "an SRQ has a low water mark" },
	{ "library", library, "a library registers its vectors once, for a device that there is" },
	{ "refused", refused, "what is of the kernel or of InfiniBand is refused" },
	{ "echo", echo, "a TCP conversation turns into RDMA" },
	{ "conversations", conversations, "conversations of 0 to 64 KiB turn into RDMA, with and without markers" },
	{ "again", again, "a QP that is Idle takes another stream at once" },
	{ "early", early, "an FPDU that is there before the turn is taken up" },
	{ "stream_bad", stream_bad, "what is no connected TCP socket is no stream, and stays as it is" },
	{ "stream_slow", stream_slow, "a peer that does not read stops nobody but who talks to it" },
	{ "states", states, "a QP goes from state to state as RDMAC verbs have it" },
	{ "terminated", terminated, "a Terminate message is in the attributes of both ends" },
	{ "queried", queried, "threads query a QP at once, and while others modify it" },
	{ "destroyed", destroyed, "a QP that is destroyed has no completion any more" },
	{ "llp", llp, "a stream and its attributes are set before the turn, or with it" },
	{ "transfers", transfers, "Sends, Writes and Reads arrive, and say so" },
	{ "flags", flags, "each opcode has its flags, and no others" },
	{ "sizes", sizes, "lists that are too long and queues that are full are refused" },
	{ "opaque", opaque, "a consumer's bits come back" },
	{ "windows", windows, "a window is bound, used and invalidated" },
	{ "shared_region", shared_region, "two regions share their memory, with rights of their own" },
	{ "shared_queue", shared_queue, "QPs take receives from an SRQ" },
	{ "notification", notification, "a CQ is told of once for each time it is asked for" },
	{ "access_errors", access_errors, "what a WR must not do is its status" },
	{ "addresses", addresses, "a device is found by an address of its own, and by one that it reaches" },
	{ "names", names, "a return code has a name" },
	{ "forks", forks, "a child has no handle of its parent, and can make its own" },
	{ "disabled", disabled, "a QP that takes no Writes or no Reads says so" },
	{ "bind_disabled", bind_disabled, "a QP that binds no windows binds none that is posted in Idle" },
	{ "post_in_error", post_in_error, "what is posted in Error is flushed" },
	{ "solicited", solicited, "solicited messages and errors are told, other messages are not" },
	{ "srq_pd", srq_pd, "receives of an SRQ are of its PD, not of the QP's" },
	{ "rights", rights, "a region and a window are used as their rights say" },
	{ "rereg", rereg, "a region that is registered anew stays, or is gone" },
	{ "stag0", stag0, "STag 0 is not for programs, nor for their peers" },
	{ "narrow", narrow, "a narrow window is of one QP, which stays as long as the window is bound" },
	{ "inline_data", inline_data, "inline data is taken when it is posted, and not by its STag" },
	{ "read_invalidate", read_invalidate, "a Read invalidates its sink" },
	{ "errors_once", errors_once, "an error is told once, at once or by a completion" },
	{ "vp_data", vp_data, "data of a provider is not looked at" },
	{ "threads", threads, "several threads post to a QP and poll a CQ, and each WR is done once" },
	{ "dereg", dereg, "a region that is ended under Writes is not written to any more" },
	{ "killed", killed, "a program that is killed under Writes leaves nothing" },
	{ "keepalives", keepalives, "a peer that is silent is lost, if the stream has keepalives" },
	{ "codes_handles", codes_handles, "each function says that a handle is none" },
	{ "codes_qp", codes_qp, "each field of a new QP that is wrong has its code" },
	{ "codes_post", codes_post, "each reason not to post has its code" },
	{ "codes_single", codes_single, "a WR that is posted by its fields has the codes of a list" },
	{ "codes_bind", codes_bind, "a bind that is posted by its fields has codes, and a shared region" },
	{ "codes_more", codes_more, "what waits in a CQ, CRCs, shared regions, keys and frames have their codes" },
	{ "codes_shortage", codes_shortage, "descriptors and memory that run out are told" },
	{ "to_cm", to_cm, "a server of rdma_cm takes a program's own connection" },
	{ "event_close", event_close, "a normal close is told, to who has asked" },
	{ "event_terminate", event_terminate, "a Terminate message is told at both ends, with what it says" },
	{ "event_reset", event_reset, "a stream that the peer has reset is told" },
	{ "event_lowat", event_lowat, "an SRQ's low water mark is told, once for each time it is armed" },
	{ "event_hiwat", event_hiwat, "a QP's high water mark is told, once for each time it is armed" },
	{ "event_hiwat_create", event_hiwat_create, "a high water mark of a new QP is armed" },
	{ "event_last_wqe", event_last_wqe, "the last receive of an SRQ that a QP takes is told" },
	{ "event_overflow", event_overflow, "a CQ that overflows is told, and refused" },
	{ "event_destroyed", event_destroyed, "nothing is told of what is destroyed" },
	{ "event_removed", event_removed, "a device that is gone is told, and its handles are none" },
};

int main(int argc, char **argv)
{
	static const struct test_program prog = {
		.usage = "rnicpi ADDR CASE",
		.timeout_env = "RNICPI_TIMEOUT",
		.timeout = 50,
		.cases = all_cases,
		.count = ARRAY_SIZE(all_cases),
	};

	return run_cases(&prog, argc, argv);
}
