#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# TCP conversations that turn into RDMA in the middle: the cases of handover.c, each in
# a process of its own, and what they leave behind.

. "$(dirname "$0")/lib.sh"

[ "$SRNIC_TYPE" = srnic ] || skip_all "the type under test is $SRNIC_TYPE"
[ -x "$BIN/handover" ] || bail "no $BIN/handover: make -C tests/programs OUT=..."

policy() { echo "$3" >"/sys/class/infiniband/$1/policy/$2"; }

without_crc() {
	local rc=0
	policy "$CLI_DEV" crc preferred || return
	on_cli "$BIN/handover" "$CLI4" no-crc || rc=$?
	policy "$CLI_DEV" crc required && return $rc
}

late_receive() {
	local rc=0
	policy "$CLI_DEV" no_receive forever || return
	on_cli "$BIN/handover" "$CLI4" late-receive || rc=$?
	policy "$CLI_DEV" no_receive 1 && return $rc
}

one_host
cases -l 150 handover
t -l 150 "without CRC, where the policy allows it" without_crc
t "a message waits for its receive, where the policy says so" late_receive
t "nothing is left of the QPs" within 10 nothing_left

teardown_hosts
done_testing
