# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
#
# The problems that trace.sh and bpftrace.sh look for, between two hosts. Sourced, never run, after
# lib.sh.

out=$tmp/trace

# A connection that lives until it is ended
rping_start() {	# [SIZE]
	serve 7174 rping -s -a "$SRV4" -S "${1:-1000}" -C 10000000 || return
	: >"$tmp/rping-c"
	ip netns exec "$CLI_NS" rping -c -a "$SRV4" -S "${1:-1000}" -C 10000000 -v >"$tmp/rping-c" 2>&1 &
	client=$!
	within 20 eval '[ "$(wc -l <"$tmp/rping-c")" -gt 5 ]' || { cat "$tmp/rping-c"; return 1; }
}
rping_end() {
	kill -KILL $client $server_pid
	wait $client $server_pid 2>/dev/null
	within 20 eval '[ -z "$(rdma resource show qp | grep rping)" ]'
}

# A reset is found by a kthread of the QP, by a work if it has none, or by the program if it posts
# just then.
finder='(srnic-.x/[0-9]+|kworker/[^ ]+|rping)'

# The server Reads beyond the buffer.
mismatch() {
	serve 7174 rping -s -a "$SRV4" -S 100 -C 5 || return
	on_cli rping -c -a "$SRV4" -S 1000 -C 5
	kill $server_pid 2>/dev/null
	wait $server_pid 2>/dev/null
	return 0
}
