#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# A device on lo: connections to 127.0.0.1 and ::1. The kernel's rdma_cm must find a device by its
# interface and not by a hardware address, which lo lacks. And it takes these addresses for
# wildcards: it calls each device of the host to listen at them.

. "$(dirname "$0")/lib.sh"
PORT=7174

# connected NAME COMMAND...: a test, which needs a connection over lo
connected() {
	case $(uname -r) in
	6.1.*)	skip "$1" "rdma_cm of Linux 6.1 finds devices by their hardware address" ;;
	*)	t "$@" ;;
	esac
}

rping_at() {	# ADDRESS
	pair $PORT rping -s -a "$1" -C 20 -S 4000 -V -- rping -c -a "$1" -C 20 -S 4000 -V
}

# listener ARGUMENT...: rping -s, which has a socket
listener() { serve $PORT rping -s -P -p $PORT "$@"; }

# tcp_server ADDRESS: has the port there
tcp_server() {
	ip netns exec "$SRV_NS" python3 -c '
import socket, sys, time
s = socket.socket(socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET)
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind((sys.argv[1], int(sys.argv[2])))
s.listen()
time.sleep(1000)' "$1" $PORT &
	tcp=$!
	within 10 pid_listens "$tcp" $PORT || { echo "no TCP server"; return 1; }
}

no_tcp_server() { kill "$tcp"; wait "$tcp" 2>/dev/null || :; }

# A port that another server has at the address: no listener, on whichever device rdma_cm asks first.
taken() {	# ADDRESS
	local out
	tcp_server "$1" || return
	out=$(on_srv timeout "$(slow 10)" rping -s -a "$1" -p $PORT -C 1 2>&1)
	echo "$out"
	no_tcp_server
	[[ $out == *"rdma_listen: Address already in use"* ]]
}

# The port of a listener is free again, and only there: a TCP server of another address has it too.
beside() {	# ADDRESS OTHER-ADDRESS
	tcp_server "$2" && listener -a "$1" && stop_server && no_tcp_server
}

# A program listens, a TCP server takes the port, a device is added, the port is free again.
added() {	# NETDEV DEVICE ADDRESS
	rdma link delete "$2"
	# a simple command, for its process id
	ip netns exec "$SRV_NS" rping -s -P -a "$3" -p $PORT >"$tmp/server" 2>&1 </dev/null &
	server_pid=$!
	within 10 eval 'rdma resource show cm_id | grep -q "LISTEN.* pid $server_pid "' || return
	[ "$1" != lo ] || tcp_server "$3" || return
	on_srv rdma link add "$2" type "$SRNIC_TYPE" netdev "$1" && within 10 port_is_active "$2" ||
		return
	# rdma_cm uses it
	rdma resource show cm_id | tee "$tmp/ids"
	grep -q "link $2/.*LISTEN.* pid $server_pid " "$tmp/ids" || return
	[ "$1" != lo ] || no_tcp_server
	within 10 pid_listens $server_pid $PORT && stop_server
}

add_ns h1
ip -n h1 link set lo up
CLI_NS=h1 SRV_NS=h1 CLI_DEV=sr1 SRV_DEV=sr1 CLI4=127.0.0.1 SRV4=127.0.0.1 SRV6=::1
rdma_up h1 lo "$SRNIC_TYPE" sr1
connected "rping over 127.0.0.1" rping_at 127.0.0.1
connected "rping over ::1" rping_at ::1
connected "rping from a wildcard listener" pair $PORT rping -s -C 20 -V -- \
	rping -c -a 127.0.0.1 -C 20 -V
connected "ib_write_bw over 127.0.0.1" perf ib_write_bw -n 200
teardown_hosts

# two_devices FIRST SECOND: the device on lo and one beside it, made in this order
two_devices() {
	local netdev addr
	one_host
	rdma link delete sr1
	for netdev in "$1" "$2"; do
		rdma_up h1 "$netdev" "$SRNIC_TYPE" "sr_$netdev"
	done
	# and one in another namespace
	add_ns h2
	ip -n h2 link set lo up
	rdma_up h2 lo "$SRNIC_TYPE" sr_h2
	for addr in 127.0.0.1 127.0.0.2 ::1; do
		connected "$1, $2: rping over $addr" rping_at $addr
		[ $addr = 127.0.0.2 ] ||
			t "$1, $2: a port that is taken at $addr is an error" taken $addr
	done
	t "$1, $2: a port that is taken at 127.0.0.2 is free at 127.0.0.1" beside 127.0.0.1 127.0.0.2
	t "$1, $2: a port that is taken beside ::1 is free there" beside ::1 fd78::1
	connected "$1, $2: rping from a wildcard listener" pair $PORT rping -s -C 20 -V -- \
		rping -c -a 127.0.0.1 -C 20 -V
	for addr in 127.0.0.1 ::1; do
		t "$1, $2: the device on d1 is added while a program listens at $addr" \
			added d1 sr_d1 $addr
		t "$1, $2: the device on lo is added while a program listens at $addr" \
			added lo sr_lo $addr
	done
	teardown_hosts
}

two_devices lo d1
two_devices d1 lo
done_testing
