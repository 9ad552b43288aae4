#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# The policy no_receive: messages for which no receive is posted. The cases of late.c.

. "$(dirname "$0")/lib.sh"

[ "$SRNIC_TYPE" = srnic ] || skip_all "$SRNIC_TYPE has no policy"
[ -x "$BIN/late" ] || bail "no $BIN/late: make -C tests/programs OUT=..."

late() { on_cli "$BIN/late" "$CLI4" "$1"; }

# counts WAITS EMPTY COMMAND...: it passes, so many messages wait meanwhile, and so many end
# their connection
counts() {
	local waits=$1 empty=$2 rc=0
	shift 2
	waits=$((waits + $(counter "$CLI_DEV" rx_rnr_waits)))
	empty=$((empty + $(counter "$CLI_DEV" rq_empty)))
	"$@" || rc=1
	echo "wanted: rx_rnr_waits: $waits; rq_empty: $empty"
	echo "is:     rx_rnr_waits: $(counter "$CLI_DEV" rx_rnr_waits); rq_empty: $(counter "$CLI_DEV" rq_empty)"
	[ "$(counter "$CLI_DEV" rx_rnr_waits)" = $waits ] && [ "$(counter "$CLI_DEV" rq_empty)" = $empty ] && return $rc
}

waited() {
	echo "rx_rnr_waits: $(counter "$CLI_DEV" rx_rnr_waits); rq_empty: $(counter "$CLI_DEV" rq_empty)"
	[ "$(counter "$CLI_DEV" rx_rnr_waits)" -gt 0 ] && [ "$(counter "$CLI_DEV" rq_empty)" = 0 ]
}

# The tracepoint of the wait, of the QP that has it: it begins, and ends when the receive comes
traced() {
	local at=/sys/kernel/tracing/instances/late rc=0
	[ -d "${at%/*}" ] || { echo "this kernel has no tracefs"; return 77; }
	mkdir $at && echo 1 >$at/events/srnic/srnic_rnr_wait/enable || return
	late in-time || rc=1
	grep -v '^#' $at/trace >"$tmp/trace"
	rmdir $at
	cat "$tmp/trace"
	sed -nE "s/.*srnic-rx.*srnic_rnr_wait: $CLI_DEV (qpn=[0-9]+ [a-z]+)\$/\1/p" "$tmp/trace" >"$tmp/steps"
	[ "$(wc -l <"$tmp/steps")" = 2 ] && [ "$(sed 's/.* //' "$tmp/steps" | xargs)" = "begins ends" ] &&
		[ "$(sed 's/ .*//' "$tmp/steps" | sort -u | wc -l)" = 1 ] && return $rc
}

one_host
t "in-time: a receive that is 300 ms late is in time, by default" counts 1 0 late in-time
t "too-late: without one the connection ends after a second, and others go on" counts 1 1 late too-late
t "a wait is told by a tracepoint" traced
no_receive 0
t "at-once: with 0 the connection ends at once" counts 0 1 late at-once
no_receive forever
t "patient: with forever a message waits as long as it takes" counts 1 0 late patient
t "not-wanted: a program does without the wait by rnr_retry 0" counts 0 1 late not-wanted
teardown_hosts

one_host
no_receive forever
cases late
t "messages waited, and none was without a receive" waited
teardown_hosts
done_testing
