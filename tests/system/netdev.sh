#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Changes to the interface while the device is in use: carrier, MTU, name, namespace. And how the
# tools show a device in use.

. "$(dirname "$0")/lib.sh"

gone()  { [ ! -e "/sys/class/infiniband/$1" ]; }
state() { rdma link show "$1/1" | grep -q "state $2"; }

# rping without an end, to see whether a connection moves data
rping_start() {	# ADDR
	ip netns exec "$SRV_NS" rping -s -a "$1" -S 1000 -C 10000000 -V >"$tmp/rping-s" 2>&1 &
	rping_s=$!
	within 20 pid_listens $rping_s 7174 || { cat "$tmp/rping-s"; return 1; }
	: >"$tmp/rping-c"
	ip netns exec "$CLI_NS" rping -c -a "$1" -S 1000 -C 10000000 -V -v >"$tmp/rping-c" 2>&1 &
	rping_c=$!
	within 20 rping_moves || { cat "$tmp/rping-c"; return 1; }
}

rping_moves() { grows "$tmp/rping-c" 10; }

rping_end() {
	kill $rping_c $rping_s 2>/dev/null
	wait $rping_c $rping_s 2>/dev/null
	return 0
}

carrier() {
	ip -n h2 link set v2 down && within 5 state sr1 DOWN && within 5 state sr2 DOWN &&
		ip -n h2 link set v2 up && within 5 state sr1 ACTIVE && within 5 state sr2 ACTIVE
}

# ibv_asyncwatch on sr1, as $pid. What an earlier one printed does not tell that this one has begun.
watch() {
	: >"$tmp/events"
	ip netns exec h1 stdbuf -oL ibv_asyncwatch -d sr1 >"$tmp/events" 2>&1 &
	pid=$!
	within 10 grep -q 'async event FD' "$tmp/events"
}

events() {
	local rc=0 pid
	watch || rc=1
	ip -n h1 link set v1 down
	within 5 grep -q IBV_EVENT_PORT_ERR "$tmp/events" || rc=1
	ip -n h1 link set v1 up
	within 5 grep -q IBV_EVENT_PORT_ACTIVE "$tmp/events" || rc=1
	sleep 1
	kill $pid
	cat "$tmp/events"
	# the RDMA core must not report the same event once more
	[ "$(grep -c IBV_EVENT_PORT_ERR "$tmp/events")" = 1 ] &&
		[ "$(grep -c IBV_EVENT_PORT_ACTIVE "$tmp/events")" = 1 ] && return $rc
}

# the end of a device is a fatal event for each program that has it open (AE-23)
device_fatal() {
	local rc=0 pid
	watch || rc=1
	rdma link delete sr1 && within 5 gone sr1 || rc=1
	within 5 grep -q IBV_EVENT_DEVICE_FATAL "$tmp/events" || rc=1
	kill $pid
	cat "$tmp/events"
	ip netns exec h1 rdma link add sr1 type "$SRNIC_TYPE" netdev v1 &&
		within 10 state sr1 ACTIVE && return $rc
}

mtu_under_traffic() {
	rping_start "$SRV4" || return
	for mtu in 9000 1500 600 1500; do
		ip -n h1 link set v1 mtu $mtu && ip -n h2 link set v2 mtu $mtu && rping_moves ||
			{ echo "MTU $mtu"; return 1; }
	done
	rping_end
}

# TCP retransmits what is lost; the connection must not end
down_under_traffic() {
	rping_start "$SRV4" || return
	ip -n h1 link set v1 down && sleep 2 && ip -n h1 link set v1 up && within 20 rping_moves ||
		{ echo "rping stands still"; return 1; }
	rping_end
}

# on 6.1 an interface can be renamed only while it is down
rename() { ip -n h1 link set "$1" down && ip -n h1 link set "$1" name "$2" && ip -n h1 link set "$2" up; }

rename_under_traffic() {
	local rc=0
	rping_start "$SRV4" || return
	rename v1 v1x && within 20 rping_moves &&
		ip netns exec h1 rdma link show sr1/1 | grep 'netdev v1x' || rc=1
	ip netns exec h1 rdma link
	rping_end
	rename v1x v1 && within 5 state sr1 ACTIVE && return $rc
}

resources() {
	rping_start "$SRV4" || return
	rdma resource show qp | tee "$tmp/res" && grep -q 'link sr1/1 .*state RTS .*comm rping' "$tmp/res" &&
		rdma resource show cm_id | tee "$tmp/res" &&
		grep -q "state LISTEN .*comm rping .*src-addr $SRV4:7174" "$tmp/res" &&
		grep -q "state CONNECT .*comm rping .*dst-addr $SRV4:7174" "$tmp/res" &&
		rdma resource show mr | tee "$tmp/res" && grep -q 'dev sr1 .*mrlen 1000 .*comm rping' "$tmp/res" &&
		rdma resource show cq | tee "$tmp/res" && grep -q 'dev sr1 .*comm rping' "$tmp/res" &&
		rdma resource show pd | tee "$tmp/res" && grep -q 'dev sr1 .*comm rping' "$tmp/res" &&
		rdma resource show sr1 | tee "$tmp/res" && grep -qE 'pd [1-9].* cq [1-9].* qp [1-9].* mr [1-9]' "$tmp/res"
	local rc=$?
	rping_end
	return $rc
}

# the connection's socket exists in the netns of the interface and nowhere else
socket_netns() {
	rping_start "$SRV4" || return
	ip netns exec h2 ss -Htn state established "sport = 7174" | tee "$tmp/ss" | grep . &&
		ip netns exec h1 ss -Htn state established "dport = 7174" | grep . &&
		! ss -Htna | grep 7174
	local rc=$?
	rping_end
	return $rc
}

# A program listens on all addresses; it also listens on a device that is added later.
late_device() {
	rdma link delete sr2 && within 5 gone sr2 || return
	ip netns exec h2 rping -s -S 100 -C 5 >"$tmp/rping-s" 2>&1 &
	local pid=$!
	within 20 eval 'rdma resource show cm_id | grep -q "state LISTEN"' || return
	ip netns exec h2 rdma link add sr2 type "$SRNIC_TYPE" netdev v2 &&
		within 10 state sr2 ACTIVE && within 10 pid_listens $pid 7174 &&
		on_cli rping -c -a "$SRV4" -S 100 -C 5 && wait $pid
}

# What a program accepts there is its own; the listener is that of the user who adds the device
late_owner() {
	local server client rc=0
	rdma link delete sr2 && within 5 gone sr2 || return
	ip netns exec h2 setpriv --reuid 65534 --regid 65534 --clear-groups \
		rping -s -S 100 >"$tmp/rping-s" 2>&1 &
	server=$!
	within 20 eval 'rdma resource show cm_id | grep -q "state LISTEN"' || rc=1
	ip netns exec h2 rdma link add sr2 type "$SRNIC_TYPE" netdev v2 &&
		within 10 state sr2 ACTIVE && within 10 pid_listens $server 7174 || rc=1
	ip netns exec "$CLI_NS" rping -c -a "$SRV4" -S 100 >/dev/null 2>&1 &
	client=$!
	within 10 eval 'ip netns exec h2 ss -Htne state established "sport = 7174" |
		grep "uid:65534"' || { ip netns exec h2 ss -Htnae; cat "$tmp/rping-s"; rc=1; }
	kill $client $server
	wait $client $server
	return $rc
}

# Connections end when the interface leaves; the device goes along and works there. The interface
# is closed before the notification of the move, so no RST can leave through it: the peer sees a
# cable that was pulled. The peer's program must still end at once on SIGTERM.
netns_under_traffic() {
	rping_start "$SRV4" || return
	timeout "$(slow 20)" ip -n h1 link set v1 netns h3 || { echo "move failed"; return 1; }
	within 20 eval "! kill -0 $rping_c 2>/dev/null" || { echo "the client hangs"; return 1; }
	kill $rping_s
	within 5 eval "! kill -0 $rping_s 2>/dev/null" || { echo "the server hangs"; return 1; }
	net_up h3 v1 10.77.0.3/24 fd77::3/64
	within 10 state sr1 ACTIVE || { rdma link; return 1; }
	CLI_NS=h3 pair 7174 rping -s -a "$SRV4" -C 5 -- rping -c -a "$SRV4" -C 5
}

bad_names() {
	local out
	out=$(rdma link add sr1 type "$SRNIC_TYPE" netdev lo 2>&1) && return 1
	echo "$out"
	state sr1 ACTIVE || return
	out=$(rdma link add srx type nosuchtype netdev lo 2>&1) && return 1
	echo "$out"
	out=$(rdma link add "$(printf 'x%.0s' {1..70})" type "$SRNIC_TYPE" netdev lo 2>&1) && return 1
	echo "$out"
	gone srx
}

many() {
	local i
	for i in $(seq 24); do
		ip link add "m$i" type dummy && ip link set "m$i" up &&
			rdma link add "srm$i" type "$SRNIC_TYPE" netdev "m$i" || return
	done
	for i in $(seq 24); do
		within 5 state "srm$i" ACTIVE || return
	done
	[ "$(ibv_devices | grep -c srm)" = 24 ] || { ibv_devices; return 1; }
	for i in $(seq 12); do
		rdma link delete "srm$i" || return
	done
	for i in $(seq 24); do
		ip link del "m$i" || return
	done
	within 10 eval '! rdma link show | grep srm'
}

again_and_again() {
	ip link add m0 type dummy && ip link set m0 up || return
	for _ in $(seq 30); do
		rdma link add srm0 type "$SRNIC_TYPE" netdev m0 && rdma link delete srm0 || return
	done
	ip link del m0
}

two_hosts 1500
t "the port follows the carrier" carrier
t "port events reach programs" events
t "the end of a device reaches programs" device_fatal
t "MTU changes under traffic" mtu_under_traffic
t "the interface goes down and up under traffic" down_under_traffic
t "the interface is renamed under traffic" rename_under_traffic
t "rdma resource shows a connection" resources
t "sockets belong to the interface's netns" socket_netns
t "a listener gets a device that is added later" late_device
[ "$SRNIC_TYPE" != srnic ] || t "connections there are the listening program's" late_owner
add_ns h3
t "the interface moves to another netns under traffic" netns_under_traffic
t "bad names and unknown types are refused" bad_names
teardown_hosts

t "24 devices exist at a time" many
t "a device is made and deleted 30 times" again_and_again
done_testing
