#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# The recipes of Documentation/administration.rst with bpftrace, which needs a kernel with BTF.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib-trace.sh"

[ -e /sys/kernel/btf/vmlinux ] || skip_all "this kernel has no BTF"
need_programs bpftrace

# bpf_on PROGRAM
bpf_on() {
	bpftrace -e "BEGIN { printf(\"ready\n\"); } $1" >"$out" 2>&1 &
	bpf=$!
	within 60 grep -q ready "$out" || { cat "$out"; return 1; }
}
bpf_off() { sleep 1; kill -INT $bpf; wait $bpf; cat "$out"; }

bpf_reset() {
	local rc=0
	rping_start || return
	bpf_on 'tracepoint:srnic:srnic_qp_state /args->to == 4/ {
		printf("%s %s qpn %d: %s, by %s %d\n", strftime("%H:%M:%S", nsecs), args->dev,
			args->qpn, args->why, comm, pid); }' || return
	ip netns exec h2 ss -K sport = 7174 dst "$CLI4" || rc=1
	within 20 grep -q '^[0-9:]* sr1 ' "$out" || rc=1
	rping_end
	bpf_off
	grep -E "^[0-9:]+ sr1 qpn [0-9]+: LLP connection reset, by $finder [0-9]+\$" "$out" && return $rc
}

bpf_failed_wr() {
	local rc=0
	bpf_on 'tracepoint:srnic:srnic_wqe_error { @[args->dev, args->name] = count(); }' || return
	mismatch || rc=1
	bpf_off
	grep -F '@[sr2, base or bounds violation]: 1' "$out" && return $rc
}

two_hosts 1500
t -l 240 "who resets: the peer, by bpftrace" bpf_reset
t -l 120 "which WR failed, by bpftrace" bpf_failed_wr
teardown_hosts
done_testing
