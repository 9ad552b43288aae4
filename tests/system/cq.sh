#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Completion queues and the extended calls around them: the cases of cq.c, each
# in a process of its own, and what they leave behind.

. "$(dirname "$0")/lib.sh"

[ -x "$BIN/cq" ] || bail "no $BIN/cq: make -C tests/system OUT=..."

overflows() { cat /sys/class/infiniband/$SRV_DEV/ports/1/hw_counters/cq_overflows; }

# Each of the two overflows is counted, once.
overflows_counted() {
	local n
	n=$(overflows) || return
	echo "cq_overflows $n"
	[ "$n" = 2 ]
}

nothing_left() {
	local left
	left=$(rdma resource show qp; rdma resource show cq; rdma resource show mr
	       rdma resource show pd; rdma resource show cm_id)
	echo "$left"
	[ -z "$left" ]
}

one_host
while IFS=$'\t' read -r name what; do
	t "$name: $what" on_srv "$BIN/cq" "$SRV4" "$name" || true
done < <("$BIN/cq" --list)
[ "$SRNIC_TYPE" != srnic ] || t "overflows are counted" overflows_counted
t "nothing is left of them" within 10 nothing_left
teardown_hosts
done_testing
