#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Completion queues and the extended calls around them: the cases of cq.c, each
# in a process of its own, and what they leave behind.

. "$(dirname "$0")/lib.sh"

[ -x "$BIN/cq" ] || bail "no $BIN/cq: make -C tests/programs OUT=..."

# Each of the two overflows is counted once.
overflows_counted() {
	local n
	n=$(counter "$SRV_DEV" cq_overflows) || return
	echo "cq_overflows $n"
	[ "$n" = 2 ]
}

one_host
cases cq
[ "$SRNIC_TYPE" != srnic ] || t "overflows are counted" overflows_counted
t "nothing is left of the CQs" within 10 nothing_left
teardown_hosts
done_testing
