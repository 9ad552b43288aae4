#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# The recipes of Documentation/administration.rst, but for those of bpftrace.sh: each command there is
# run on its own problem, and its output must match the page.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib-trace.sh"

need_programs trace-cmd
tracefs=/sys/kernel/tracing

# --- with tracefs -----------------------------------------------------------

# fs_on EVENT...: of a ring buffer of their own
fs_on() {
	local event
	mkdir $tracefs/instances/srnic || return
	for event in "$@"; do
		echo 1 >$tracefs/instances/srnic/events/"$event"/enable || return
	done
}
fs_off() { grep -v '^#' $tracefs/instances/srnic/trace >"$out"; rmdir $tracefs/instances/srnic; cat "$out"; }

fs_reset() {
	local rc=0
	rping_start && fs_on srnic/srnic_qp_state tcp/tcp_send_reset tcp/tcp_receive_reset || return
	ip netns exec h2 ss -K sport = 7174 dst "$CLI4" || rc=1
	within 20 grep -q 'sr1 .*-> ERROR' $tracefs/instances/srnic/trace || rc=1
	rping_end
	fs_off
	grep -E "$finder-[0-9]+ .*: srnic_qp_state: sr1 qpn=[0-9]+ RTS -> ERROR \(LLP connection reset\)" "$out" &&
		grep -E 'tcp_receive_reset: .*sport=[0-9]+ dport=7174 ' "$out" && return $rc
}

fs_asked_for() {
	local rc=0
	rping_start && fs_on srnic/srnic_qp_state || return
	# An answer that comes between the end of a program's region and that of its QP is an error
	kill -STOP $server_pid
	sleep 0.5
	kill -KILL $client
	within 20 grep -q 'sr1 .*-> ERROR' $tracefs/instances/srnic/trace || rc=1
	rping_end
	fs_off
	grep -E ' rping-[0-9]+ .*: srnic_qp_state: sr1 qpn=[0-9]+ RTS -> ERROR \(asked for\)' "$out" && return $rc
}

fs_failed_wr() {
	local rc=0
	fs_on srnic/srnic_wqe_error srnic/srnic_terminate || return
	mismatch || rc=1
	fs_off
	grep -E ': srnic_wqe_error: sr2 qpn=[0-9]+ wr_id=0x0 status=6 \(base or bounds violation\)' "$out" && return $rc
}

# --- with trace-cmd ---------------------------------------------------------

tracecmd_failed_wr() {
	local rc=0
	(cd "$tmp" && trace-cmd start -e srnic) || return
	mismatch || rc=1
	trace-cmd stop
	trace-cmd show >"$out"
	trace-cmd reset
	grep srnic_ "$out"
	grep -E 'srnic_wqe_error: sr2 qpn=[0-9]+ wr_id=0x0 status=6' "$out" && return $rc
}

# --- how full ----------------------------------------------------------------

# field NAME: of the output of ss -ti
field() { grep -o "\b$1:[0-9]*" "$out" | cut -d : -f 2; }

full_segments() {
	local bytes fpdus sent segs fpdu rc=0
	bytes=$(counter sr2 tx_bytes) fpdus=$(counter sr2 tx_fpdus)
	rping_start 60000 && sleep 2 || return
	ip netns exec h2 ss -tin 'sport = 7174' | tee "$out"
	rping_end || rc=1
	bytes=$(($(counter sr2 tx_bytes) - bytes)) fpdus=$(($(counter sr2 tx_fpdus) - fpdus))
	sent=$(field bytes_sent) segs=$(field data_segs_out) fpdu=$((bytes / fpdus))
	echo "$sent bytes in $segs segments: $((sent / segs)) in each; an FPDU has $fpdu"
	# 3 of 45 FPDUs of a round are small
	[ "$(field mss)" = 1448 ] && [ $((sent / segs)) -gt 1250 ] && [ "$fpdu" -gt 1250 ] &&
		[ "$fpdu" -le 1448 ] && return $rc
}

two_hosts 1500
t "who resets: the peer, by tracefs" fs_reset
t "who resets: a program here, by tracefs" fs_asked_for
t "which WR failed, by tracefs" fs_failed_wr
t "FPDUs are as large as segments, by counters and ss" full_segments
t "which WR failed, by trace-cmd" tracecmd_failed_wr
teardown_hosts
done_testing
