#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# librdmacm's own tools, between two hosts over MTU 1500 and 9000, and between two programs of one
# host.

. "$(dirname "$0")/lib.sh"

rping_size() {	# ADDR SIZE COUNT [OPTION...]
	local addr=$1 size=$2 count=$3
	shift 3
	pair 7174 rping -s -a "$addr" -S "$size" -C "$count" -V "$@" -- \
		rping -c -a "$addr" -S "$size" -C "$count" -V "$@"
}

# One server, three clients at a time, then one more. They connect one after the other: the server
# of rdma-core 44 keeps one request, and forgets it if a second one comes before its main thread
# has taken the first.
rping_persistent() {
	local pids=() p rc=0
	serve 7174 rping -s -P -a "$SRV4" || return
	slow_syn
	for _ in 1 2 3; do
		ip netns exec "$CLI_NS" rping -c -a "$SRV4" -C 20 -S 500 -V &
		pids+=($!)
	done
	for p in "${pids[@]}"; do
		wait "$p" || { rc=$?; echo "client: status $rc"; }
	done
	on_cli rping -c -a "$SRV4" -C 5 || { rc=$?; echo "last client: status $rc"; }
	fast_syn
	stop_server && return $rc
}

# The file must arrive unchanged.
rcopy_file() {	# BYTES
	head -c "$1" /dev/urandom >"$tmp/src"
	rm -f "$tmp/dst"
	forever 7427 rcopy -- rcopy "$tmp/src" "$SRV4:$tmp/dst" && cmp "$tmp/src" "$tmp/dst"
}

# A port without a listener: an error, without delay.
rping_nobody() {
	local rc=0
	on_cli timeout -k 1 "$(slow 30)" rping -c -a "$SRV4" -p 7999 -C 1 >"$tmp/rping" 2>&1 || rc=$?
	cat "$tmp/rping"
	[ $rc != 0 ] && grep -q 'RDMA_CM_EVENT_REJECTED, error -111' "$tmp/rping"
}

# rdma_cm chooses a client's port, and forgets it with the connection. TCP remembers it for a minute
# (TIME_WAIT), and without timestamps, which both ends need, it lets nobody use it for the same peer.
time_wait() {	# ADDRESS FIRST-PORT NETNS
	local i rc=0
	serve 7174 rping -s -P -a "$1" || return
	on_cli sysctl -qw net.ipv4.ip_local_port_range="$2 $(($2 + 39))" &&
		ip netns exec "$3" sysctl -qw net.ipv4.tcp_timestamps=0 || return
	for i in $(seq 30); do
		on_cli rping -c -a "$1" -C 1 || { rc=$?; echo "connection $i: status $rc"; break; }
	done
	on_cli ss -Htn state time-wait | wc -l
	on_cli sysctl -qw net.ipv4.ip_local_port_range="32768 60999"
	ip netns exec "$3" sysctl -qw net.ipv4.tcp_timestamps=1
	stop_server && return $rc
}

main_tools() {
	t "$1: rping v4" rping_size "$SRV4" 100 20
	t "$1: rping v6" rping_size "$SRV6" 100 20
	for size in 64 1000 4096 65535; do
		t "$1: rping -S $size" rping_size "$SRV4" $size 10
	done
	t "$1: ucmatose" pair 7471 ucmatose -c 4 -C 5 -S 2000 -- \
		ucmatose -s "$SRV4" -c 4 -C 5 -S 2000
	t "$1: rstream" pair 7471 rstream -S 65536 -C 10 -I 2 -T v -- \
		rstream -s "$SRV4" -S 65536 -C 10 -I 2 -T v
	t "$1: rcopy" rcopy_file 3000001
}

all_tools() {
	t "$1: rping, 200 iterations" rping_size "$SRV4" 1024 200
	t "$1: rping -P" rping_persistent
	t "$1: rping to a port without a server" rping_nobody
	t "$1: 30 clients have 40 ports, and no timestamps" time_wait "$SRV4" 40000 "$CLI_NS"
	t "$1: 30 clients have 40 ports, and no timestamps, v6" time_wait "$SRV6" 41000 "$CLI_NS"
	t "$1: 30 clients have 40 ports, and the server no timestamps" time_wait "$SRV4" 42000 "$SRV_NS"
	t "$1: rdma_server, rdma_client" pair 7471 rdma_server -- rdma_client -s "$SRV4"
	t "$1: rdma_xserver, rdma_xclient" pair 7471 rdma_xserver -c r -- \
		rdma_xclient -s "$SRV4" -c r
	t "$1: ucmatose v6" pair 7471 ucmatose -f ipv6 -b "$SRV6" -- ucmatose -s "$SRV6"
	# no rstream -T a: it takes a peer that closes after the last byte for an error
	t "$1: rstream -T b" pair 7471 rstream -S 64 -C 20 -I 2 -T b -- \
		rstream -s "$SRV4" -S 64 -C 20 -I 2 -T b
	t "$1: rstream -T n" pair 7471 rstream -S 1000000 -C 2 -I 1 -T n -- \
		rstream -s "$SRV4" -S 1000000 -C 2 -I 1 -T n
	# without -b its server takes an IPv4 address, whatever -f is
	t "$1: rstream v6" pair 7471 rstream -f ipv6 -b "$SRV6" -S 5000 -C 10 -I 1 -T v -- \
		rstream -f ipv6 -s "$SRV6" -S 5000 -C 10 -I 1 -T v
	t "$1: riostream" pair 7471 riostream -S 16384 -C 10 -I 2 -T v -- \
		riostream -s "$SRV4" -S 16384 -C 10 -I 2 -T v
	# of rdma-core 56: RDMA connections of an iWARP device use TCP's ports
	if grep -q 'Server warmup' "$(command -v cmtime)"; then
		skip "$1: cmtime" "it opens a TCP listener at the port of its RDMA listener"
	else
		t "$1: cmtime" forever 7471 cmtime -- cmtime -s "$SRV4" -c 20
	fi
}

two_hosts 1500
main_tools "MTU 1500"
all_tools "MTU 1500"
teardown_hosts

two_hosts 9000
main_tools "MTU 9000"
teardown_hosts

one_host
main_tools "one host"
teardown_hosts

done_testing
