#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Listeners. rdma_cm calls each device of the host for a wildcard listener, wherever the device's
# interface is. So: a listener exists in the network namespace of the listening program and
# nowhere else, and a port that is taken on one device affects neither the program's other devices
# nor the device.

. "$(dirname "$0")/lib.sh"

[ "$SRNIC_TYPE" = srnic ] || skip_all "the type under test is $SRNIC_TYPE"

PORT=7300

# tcp_server NETNS PORT [INTERFACE]: binds the port, on this interface only; $tcp is its pid
tcp_server() {
	ip netns exec "$1" python3 -c '
import socket, sys, time
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
if sys.argv[2:]:
	s.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, sys.argv[2].encode())
s.bind(("0.0.0.0", int(sys.argv[1])))
s.listen()
time.sleep(1000)' "${@:2}" &
	tcp=$!
	within 10 pid_listens $tcp "$2" || { echo "no TCP server"; return 1; }
}

no_tcp_server() { kill $tcp; wait $tcp 2>/dev/null || :; }

# listener NETNS ARGUMENT...: rping -s there, with or without a socket; $rping is its pid
listener() {
	ip netns exec "$1" rping -s -P "${@:2}" >"$tmp/listener" 2>&1 </dev/null &
	rping=$!
	within 10 eval 'rdma resource show cm_id | grep -q "LISTEN.* pid $rping "'
}

no_listener() { kill $rping; wait $rping 2>/dev/null || :; }

listens_in() {	# NETNS PORT
	ip netns exec "$1" grep -qE "^ *[0-9]+: [0-9A-F]+:$(printf %04X "$2") [0-9A-F]+:0000 0A " \
		/proc/net/tcp /proc/net/tcp6
}

sockets_in() {	# NETNS PORT
	ip netns exec "$1" grep -cE ":$(printf %04X "$2") 0+:0000 0A " /proc/net/tcp
}

ping_to() { CLI_NS=$1 on_cli timeout "$(slow 20)" rping -c -a "$2" -p "$3" -C 5; }

is_refused() {	# NETNS ARGUMENT...: rdma_listen() fails
	local out
	out=$(ip netns exec "$1" timeout "$(slow 10)" rping -s "${@:2}" -C 1 2>&1)
	echo "$out"
	[[ $out == *"rdma_listen: Address already in use"* ]]
}

waits() {	# DEVICE: the number of its listeners that have had to wait
	cat "/sys/class/infiniband/$1/ports/1/hw_counters/listen_waits"
}

only_at_home() {
	listener h1 -p $PORT && within 5 listens_in h1 $PORT || return
	! listens_in h2 $PORT || { echo "h2 has an open port"; return 1; }
	# the port is free there, for both kinds
	tcp_server h2 $PORT && no_tcp_server &&
		pair $PORT rping -s -p $PORT -C 5 -- rping -c -a "$SRV4" -p $PORT -C 5 || return
	ping_to h2 "$CLI4" $PORT && no_listener
}

foreign_tcp_server() {
	tcp_server h1 $PORT || return
	pair $PORT rping -s -p $PORT -C 5 -- rping -c -a "$SRV4" -p $PORT -C 5 && no_tcp_server
}

# The namespaces, their interfaces and devices go; the listener is in the initial one.
namespaces_go() {
	rping -s -P -p $PORT >"$tmp/listener" 2>&1 </dev/null &
	rping=$!
	within 10 eval 'rdma resource show cm_id | grep -q "LISTEN.* pid $rping "' || return
	timeout "$(slow 20)" ip netns del h1 && timeout "$(slow 20)" ip netns del h2 || return
	within 20 eval '[ ! -e /sys/class/infiniband/sr1 ] && [ ! -e /sys/class/infiniband/sr2 ]' ||
		{ rdma link; return 1; }
	kill -0 $rping && no_listener
}

# rdma_listen() without a device, the port is bound, then the device is added
added_while_taken() {
	rdma link delete sr1 && listener h1 -p $PORT && tcp_server h1 $PORT || return
	ip netns exec h1 rdma link add sr1 type srnic netdev v1 && within 10 port_is_active sr1 ||
		return
	# rdma_cm uses the device
	pair 7301 rping -s -a "$SRV4" -p 7301 -C 5 -- rping -c -a "$SRV4" -p 7301 -C 5 || return
	[ "$(waits sr1)" = 1 ] || { echo "listen_waits $(waits sr1)"; return 1; }
	# and the listener gets its port as soon as that is free
	no_tcp_server
	within 5 listens_in h1 $PORT && ping_to h2 "$CLI4" $PORT && no_listener
}

taken_on_all() {
	tcp_server h2 $PORT && is_refused h2 -p $PORT && no_tcp_server
}

taken_address() {
	tcp_server h2 $PORT && is_refused h2 -a "$SRV4" -p $PORT && no_tcp_server
}

# A second device in h2. It makes no difference on which of them the port is taken.
two_devices() {
	ip -n h2 link add d2 type dummy && net_up h2 d2 10.79.0.2/24 fd79::2/64 &&
		rdma_up h2 d2 srnic sr3 || return
	local own other
	for own in "v2 sr2" "d2 sr3"; do
		tcp_server h2 $PORT "${own% *}" && listener h2 -p $PORT || return
		within 5 listens_in h2 $PORT || return
		[ "$(waits sr2) $(waits sr3)" = "$([ "$own" = "v2 sr2" ] && echo 1 0 || echo 1 1)" ] ||
			{ echo "listen_waits $(waits sr2) $(waits sr3)"; return 1; }
		other=$([ "$own" = "v2 sr2" ] && echo 10.79.0.2 || echo "$SRV4")
		ping_to "$([ "$own" = "v2 sr2" ] && echo h2 || echo h1)" "$other" $PORT || return
		no_tcp_server
		# now both devices listen
		other=$([ "$own" = "v2 sr2" ] && echo "$SRV4" || echo 10.79.0.2)
		within 10 ping_to "$([ "$own" = "v2 sr2" ] && echo h1 || echo h2)" "$other" $PORT &&
			no_listener || return
	done
	tcp_server h2 $PORT && is_refused h2 -p $PORT && no_tcp_server
}

# The listener's part on an interface follows the interface.
interface_moves() {
	listener h1 -p $PORT || return
	local i
	for i in 1 2; do
		ip -n h2 link set d2 netns h1 && net_up h1 d2 10.79.0.2/24 fd79::2/64 &&
			within 10 port_is_active sr3 || return
		within 5 ping_to h1 10.79.0.2 $PORT || return
		ip -n h1 link set d2 netns h2 || return
		within 5 eval "[ \$(sockets_in h1 $PORT) = 1 ]" || { echo "sockets are left"; return 1; }
		within 5 ping_to h2 "$CLI4" $PORT || return
	done
	! listens_in h2 $PORT && no_listener
}

two_hosts 1500
t "a wildcard listener has a port in its own namespace and nowhere else" only_at_home
t "a TCP server in another namespace takes no port from a listener" foreign_tcp_server
t "a device that is added while a port is taken is a whole one" added_while_taken
t "a port that is taken on all devices is an error" taken_on_all
t "a port that is taken at an address is an error" taken_address
t "a port that is taken on one device does not matter on the other" two_devices
t "an interface that comes is listened at, one that goes is not" interface_moves
t "namespaces end while somebody outside listens at the wildcard" namespaces_go
teardown_hosts
done_testing
