#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Device memory: the cases of dm.c, and the end of programs and devices while it is allocated.

. "$(dirname "$0")/lib.sh"

# hold: a program that has all of it, in the background
hold() {
	: >"$tmp/hold"
	ip netns exec "$CLI_NS" "$BIN/dm" "$CLI4" hold >"$tmp/hold" 2>&1 &
	hold_pid=$!
	within 10 grep -qx held "$tmp/hold" || { cat "$tmp/hold"; false; }
}

stop() {
	kill -KILL $hold_pid
	wait $hold_pid
	true
} 2>/dev/null

killed() {
	for _ in 1 2 3 4 5; do
		hold && ! on_cli "$BIN/dm" "$CLI4" limits && stop || return
	done
	on_cli "$BIN/dm" "$CLI4" limits && within 10 nothing_left
}

device_goes() {
	hold || return
	timeout 20 rdma link delete "$CLI_DEV" && stop
}

one_host
cases dm
t "killed with all of it, 5 times: the next one has it" killed
t "the device goes while a program has it" device_goes
teardown_hosts
done_testing
