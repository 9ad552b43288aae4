#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Shared receive queues: the cases of srq.c, each in a process of its own, an
# independent program that uses one, and the end of a program in full traffic.

. "$(dirname "$0")/lib.sh"

[ -x "$BIN/srq" ] || bail "no $BIN/srq: make -C tests/system OUT=..."

nothing_left() {
	local left
	left=$(rdma resource show srq; rdma resource show qp; rdma resource show cq
	       rdma resource show mr; rdma resource show ctx
	       ps -eo comm | grep -E '^srnic-(tx|rx)/')
	echo "$left"
	[ -z "$left" ]
}

# The tools see it, with the QPs on it.
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
"$BIN/srq" --list >"$tmp/list"
while read -r name what; do
	t "$name: $what" on_cli "$BIN/srq" "$CLI4" "$name"
done <"$tmp/list"
t "kill -9 in full traffic" killed
t "nothing is left" within 10 nothing_left

# One QP: with more, ib_send_bw counts on a receiver that makes senders wait.
t "ib_send_lat --use-srq" pair 18515 ib_send_lat -R -F -d "$SRV_DEV" --use-srq -n 200 -s 5000 -- \
	ib_send_lat -R -F -d "$CLI_DEV" --use-srq -n 200 -s 5000 "$SRV4"
teardown_hosts
done_testing
