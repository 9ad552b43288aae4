#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# UD QPs: programs that send datagrams, where the policy has a port for them. The cases of ud.c,
# and independent programs.
#
# perftest runs on a device that is no RNIC: on an RNIC it counts credits, by RDMA Write.

. "$(dirname "$0")/lib.sh"

need_programs ibv_ud_pingpong ib_send_bw

# Except for the sockets without an address, which hold the port
bound()    { "on_$1" ss -Hlun "sport = :$IB_PORT" | grep -vE ' (0\.0\.0\.0|\[::\]|\*):[0-9]+ +\S+:\*'; }
no_trace() { ! bound srv && ! bound cli; }

# pingpong [OPTION...]
pingpong() {
	pair 18515 ibv_ud_pingpong -d "$SRV_DEV" -g "$srv_gid" "$@" -- \
		ibv_ud_pingpong -d "$CLI_DEV" -g "$cli_gid" "$@" "$SRV4" || return
	within 10 no_trace
}

# perf_ud PROGRAM [OPTION...]
perf_ud() {
	pair 18515 "$@" -F -c UD -d "$SRV_DEV" -x "$srv_gid" -- \
		"$@" -F -c UD -d "$CLI_DEV" -x "$cli_gid" "$SRV4"
}

# Few rounds: two programs that poll may wait a scheduler's tick in each of them.
both() {	# NAME
	t "$1: ibv_ud_pingpong" pingpong -n 100
	t "$1: ibv_ud_pingpong -c: the data is right" pingpong -c -n 100 -s 1000
	t "$1: ibv_ud_pingpong -e" pingpong -e -n 100
}

perftest() {	# NAME
	t "$1: ib_send_lat -c UD" perf_ud ib_send_lat -n 100 -s 64
	t "$1: ib_send_bw -c UD" perf_ud ib_send_bw -n 200 -s 1000
	t "$1: ib_send_bw -c UD -b" perf_ud ib_send_bw -b -n 100 -s 100
}

off() { ! pingpong -n 1 && no_trace; }

# traffic: a program that sends to itself, in the background
traffic() {
	: >"$tmp/traffic"
	ip netns exec "$CLI_NS" "$BIN/ud" "$CLI4" traffic >"$tmp/traffic" 2>&1 &
	traffic_pid=$!
	within 10 grep -qx traffic "$tmp/traffic"
}

killed() {
	for _ in 1 2 3 4 5; do
		traffic || return
		sleep 0.2
		kill -KILL $traffic_pid
		wait $traffic_pid
		within 10 no_trace && within 10 nothing_left || return
	done 2>/dev/null
}

# The sockets follow the addresses, and QPs go on with the remaining ones
address_goes() {
	traffic || return
	for _ in 1 2 3; do
		ip -n "$CLI_NS" addr add 10.78.0.9/24 dev d1
		within 10 eval 'bound cli | grep -F 10.78.0.9' || return
		ip -n "$CLI_NS" addr del 10.78.0.9/24 dev d1
		within 10 eval '! bound cli | grep -F 10.78.0.9' || return
	done
	kill -0 $traffic_pid && bound cli | grep -F "$CLI4" || return
	kill -KILL $traffic_pid
	within 10 no_trace
}

# A program has the port at the address: the policy is refused and does not change
port_taken() {
	set_policy "$CLI_DEV" ib_port=0
	ip netns exec "$CLI_NS" /usr/bin/python3 -c 'import socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind((sys.argv[1], int(sys.argv[2])))
print("bound", flush=True)
time.sleep(60)' "$CLI4" "$IB_PORT" >"$tmp/taken" &
	local pid=$! rc=0
	within 10 grep -q bound "$tmp/taken" || return
	LC_ALL=C set_policy "$CLI_DEV" ib_port="$IB_PORT" 2>"$tmp/refused" && rc=1
	cat "$tmp/refused"
	kill $pid
	wait $pid 2>/dev/null
	grep -q 'Address already in use' "$tmp/refused" && [ "$(policy "$CLI_DEV" ib_port)" = 0 ] &&
		set_policy "$CLI_DEV" ib_port="$IB_PORT" && on_cli "$BIN/ud" "$CLI4" sizes && return $rc
}

arrives() {
	local n
	n=$(wc -l <"$tmp/lossy")
	within 10 eval '[ "$(wc -l <"$tmp/lossy")" -gt $((n + 1)) ]'
}

# The sockets of existing QPs move to the new port, and are closed if there is none
port_changes() {
	local rc=0 other=4790
	: >"$tmp/lossy"
	ip netns exec "$CLI_NS" "$BIN/ud" "$CLI4" lossy >"$tmp/lossy" 2>&1 &
	local pid=$!
	within 20 grep -qx message "$tmp/lossy" || { cat "$tmp/lossy"; rc=1; }
	set_policy "$CLI_DEV" ib_port=$other && within 10 no_trace && arrives &&
		IB_PORT=$other bound cli | grep -F "$CLI4" || { echo "$other"; rc=1; }
	set_policy "$CLI_DEV" ib_port=0 && IB_PORT=$other within 10 no_trace && no_trace || { echo 0; rc=1; }
	set_policy "$CLI_DEV" ib_port="$IB_PORT" && arrives && bound cli | grep -F "$CLI4" || rc=1
	kill -KILL $pid
	wait $pid 2>/dev/null
	within 10 no_trace && return $rc
}

as() { ip netns exec "$CLI_NS" setpriv --reuid "$1" --regid "$1" --clear-groups "${@:2}"; }

# A user sends to hosts that do not answer, and another user to itself
starved() {
	local rc=0
	: >"$tmp/starve"
	as 65534 "$BIN/ud" "$CLI4" starve >"$tmp/starve" 2>&1 &
	local pid=$!
	within 20 grep -qx starve "$tmp/starve" || { cat "$tmp/starve"; rc=1; }
	sleep 1
	[ $rc = 1 ] || as 65533 "$BIN/ud" "$CLI4" beside || rc=1
	kill -KILL $pid 2>/dev/null
	wait $pid 2>/dev/null
	return $rc
}

# The interface moves to another namespace and back. No socket of the QPs follows it
moves() {
	local pid rc=0
	mkfifo "$tmp/go"
	ip netns exec "$CLI_NS" "$BIN/ud" "$CLI4" left_behind <>"$tmp/go" >"$tmp/moves" 2>&1 &
	pid=$!
	within 10 grep -qx ready "$tmp/moves" && ip -n h1 link set d1 netns h3 &&
		net_up h3 d1 10.78.0.1/24 fd78::1/64 &&
		within 10 grep -qx error "$tmp/moves" && within 10 port_is_active sr1 || rc=1
	within 10 no_trace && CLI_NS=h3 SRV_NS=h3 no_trace || rc=1
	CLI_NS=h3 on_cli "$BIN/ud" "$CLI4" sizes || rc=1
	echo >"$tmp/go"
	wait $pid || rc=1
	cat "$tmp/moves"
	ip -n h3 link set d1 netns h1 && net_up h1 d1 10.78.0.1/24 fd78::1/64 &&
		within 10 port_is_active sr1 && on_cli "$BIN/ud" "$CLI4" sizes && return $rc
}

device_goes() {
	traffic || return
	timeout 20 rdma link delete "$CLI_DEV" || return
	kill -KILL $traffic_pid 2>/dev/null
	within 10 no_trace
}

two_hosts 1500
index :0a4d:0002 :0a4d:0001
t "off by default: no UD QP, no socket" off
ib_enable
both "IPv4, two hosts"
index ^fd77:.*:0002 ^fd77:.*:0001
both "IPv6, two hosts"
t "datagrams to hosts that do not answer are in no other user's way" starved
t "a QP ends while its datagrams to hosts that do not answer wait" on_cli "$BIN/ud" "$CLI4" waiting
t "nothing is left" within 10 nothing_left
teardown_hosts

one_host
ib_enable
index :0a4e:0001 :0a4e:0001
both "IPv4, one host"
cases ud
t "killed under traffic, 5 times: nothing is left" killed
t "addresses come and go under traffic" address_goes
t "a program has the port: EADDRINUSE, and it works afterwards" port_taken
t "UD QPs follow a change of the port" port_changes
add_ns h3
t "UD QPs end when the interface moves to another namespace" moves
t "nothing is left on one host" within 10 nothing_left
t "the device goes under traffic" device_goes
teardown_hosts

SRNIC_TYPE=srnic_plain
two_hosts 1500
ib_enable
index :0a4d:0002 :0a4d:0001
both "srnic_plain"
perftest "IPv4"
index ^fd77:.*:0002 ^fd77:.*:0001
perftest "IPv6"
t "nothing is left of srnic_plain" within 10 nothing_left
teardown_hosts
done_testing
