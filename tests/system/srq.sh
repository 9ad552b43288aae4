#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Shared receive queues: the cases of srq.c, each in a process of its own, an independent program
# that uses one, and the end of a program under full traffic.

. "$(dirname "$0")/lib.sh"

[ -x "$BIN/srq" ] || bail "no $BIN/srq: make -C tests/programs OUT=..."

# The tools show it, with the QPs on it.
is_shown() {
	rdma resource show srq dev "$CLI_DEV" | grep -q 'type BASIC.* lqpn .* comm srq'
}

killed() {
	local pid rc=0
	on_cli "$BIN/srq" "$CLI4" endless >"$tmp/endless" 2>&1 &
	pid=$!
	within 30 grep -q running "$tmp/endless" || rc=1
	is_shown || { rdma resource show srq; rc=1; }
	kill -KILL $pid
	wait $pid
	cat "$tmp/endless"
	return $rc
}

one_host
no_receive 0
cases srq
t "programs on an SRQ are killed in full traffic" killed
t "nothing is left of the SRQs" within 10 nothing_left

# One QP: with more, ib_send_bw relies on a receiver that makes senders wait.
t "ib_send_lat --use-srq" perf ib_send_lat --use-srq -n 200 -s 5000
teardown_hosts
done_testing
