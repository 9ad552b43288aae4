#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Memory, for a kernel without kmemleak: a leak that occurs each time shows. The same is done
# again and again, and the kernel memory in use must not grow with it.

. "$(dirname "$0")/lib.sh"

ROUNDS=${ROUNDS:-12}

kernel_memory() { "$top/scripts/kernel-memory"; }

# steady LIMIT-IN-KIB COMMAND: first some rounds, in which slabs grow to the maximum number of
# concurrent tasks and sockets, which varies: QPs have kthreads only if they need them. Then
# ROUNDS more, which may take LIMIT each on average. Noise of the rest of the kernel is a few
# hundred KiB in all; a leaked ring is 8 KiB at least.
steady() {
	local limit=$1 before after
	shift
	for _ in $(seq $((ROUNDS / 2))); do
		"$@" >/dev/null || { "$@"; echo "$* failed"; return 1; }
	done
	before=$(kernel_memory)
	for _ in $(seq "$ROUNDS"); do
		"$@" >/dev/null || { echo "$* failed"; return 1; }
	done
	after=$(kernel_memory)
	echo "$before KiB before, $after KiB after $ROUNDS rounds of $*"
	[ $((after - before)) -le $((limit * ROUNDS)) ]
}

# many objects, freed one by one
objects() { on_cli "$BIN/badinput" "$CLI4" create-qp && on_cli "$BIN/badinput" "$CLI4" reg-mr; }

# 32 connections in each direction, with all their objects
connections() {
	integrity -- --seed 1 --qps 32 --ops 8 --max-size 1000
}

# the same, killed
killed() {
	serve 7475 "$BIN/integrity" --server --addr "$SRV4" || return
	ip netns exec "$CLI_NS" "$BIN/integrity" --client "$SRV4" --seed 1 --qps 32 \
		--ops 1000000 --max-size 1000 &
	local client=$! rc=0
	within 30 all_connected || rc=1
	nap 1
	kill -KILL $client $server_pid
	wait $client $server_pid 2>/dev/null
	within 20 no_kthreads && return $rc
}

all_connected() { [ "$(rdma resource show qp | grep -c ' state RTS ')" -ge 64 ]; }

no_kthreads() { ! ps -eo comm | grep -qE '^srnic-(tx|rx)/'; }

# errors of all kinds
errors() {
	on_cli "$BIN/badinput" "$CLI4" remote-read && on_cli "$BIN/badinput" "$CLI4" send-sge &&
		on_cli "$BIN/badinput" "$CLI4" reject && on_cli "$BIN/badinput" "$CLI4" refused
}

links() {
	ip link add m0 type dummy && ip link set m0 up || return
	for _ in 1 2 3 4 5; do
		rdma link add srm0 type "$SRNIC_TYPE" netdev m0 && rdma link delete srm0 || return
	done
	ip link del m0
}

one_host
# TCP keeps a socket in TIME_WAIT for a minute, which is no leak
ip netns exec h1 sysctl -qw net.ipv4.tcp_max_tw_buckets=0 || bail "no sysctl of TIME_WAIT"
t -l 240 "objects" steady 40 objects
t -l 240 "connections" steady 100 connections
t -l 240 "killed programs" steady 100 killed
t -l 300 "errors" steady 40 errors
t -l 240 "links" steady 40 links
teardown_hosts

if [ "$SRNIC_TYPE" = srnic ]; then
	t "nobody holds the module" unloads
else
	skip "nobody holds the module" "the type under test is $SRNIC_TYPE"
fi
done_testing
