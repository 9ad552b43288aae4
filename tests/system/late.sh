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

# Called in a subshell, which becomes the program, so that its process id is the program's
many() { exec ip netns exec "$CLI_NS" setpriv --reuid 65534 --regid 65534 --clear-groups "$BIN/late" "$CLI4" many; }

# begin: a user's program, until its messages wait
begin() {
	(many) >"$tmp/many" 2>&1 &
	program=$!
	within 30 grep -q waiting "$tmp/many" || { cat "$tmp/many"; return 1; }
	within 10 eval '[ "$(ps -eo comm | grep -c ^srnic-rx/)" -ge 32 ]' || { echo "no rx kthreads wait"; return 1; }
}

ends() {
	local rc=0
	kill -KILL $program || return
	wait $program || rc=$?
	[ $rc = 137 ]
}

killed() { begin && took 5000 ends && within 10 nothing_left; }

deleted() {
	local rc=0
	begin || return
	took 5000 rdma link delete "$CLI_DEV" || rc=1
	ends && within 10 nothing_left && return $rc
}

moved() {
	local rc=0
	begin || return
	took 5000 ip -n "$CLI_NS" link set d1 netns h3 || rc=1
	within 10 eval '! ps -eo comm | grep ^srnic-rx/' || rc=1
	ends && within 10 nothing_left && return $rc
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
t "their program is killed while messages wait" killed
t "the device is deleted while messages wait" deleted
teardown_hosts
one_host
no_receive forever
add_ns h3
t "the interface leaves for another network namespace while messages wait" moved
teardown_hosts
t "no wait holds the module" unloads
done_testing
