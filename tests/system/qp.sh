#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# States of a QP: the cases of qp.c, each in a process of its own, and what
# they leave behind.

. "$(dirname "$0")/lib.sh"

[ "$SRNIC_TYPE" = srnic ] || skip_all "the type under test is $SRNIC_TYPE"
[ -x "$BIN/qp" ] || bail "no $BIN/qp: make -C tests/system OUT=..."

nothing_left() {
	local left
	left=$(rdma resource show qp; rdma resource show cq; rdma resource show mr
	       rdma resource show pd; rdma resource show cm_id; rdma resource show ctx
	       ps -eo comm | grep -E '^srnic-(tx|rx)/')
	echo "$left"
	[ -z "$left" ]
}

one_host
"$BIN/qp" --list >"$tmp/list"
while read -r name what; do
	t -l 100 "$name: $what" on_cli "$BIN/qp" "$CLI4" "$name"
done <"$tmp/list"
t "nothing is left" within 10 nothing_left

teardown_hosts
done_testing
