#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Peers that connect by TCP and send nothing: they must not keep others out, nor delay the end of
# a device.

. "$(dirname "$0")/lib.sh"

[ "$SRNIC_TYPE" = srnic ] || skip_all "the type under test is $SRNIC_TYPE"
[ -x "$BIN/many" ] || bail "no $BIN/many: make -C tests/programs OUT=..."

RATE=200	# silent connections a second

# flood ADDR PORT: from the client; each connection stays as long as possible
flood() {
	ip netns exec "$CLI_NS" python3 -c '
import resource, socket, sys, time
resource.setrlimit(resource.RLIMIT_NOFILE, (60000, 60000))
addr, port, rate = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
begin, socks = time.monotonic(), []
while True:
	while len(socks) < (time.monotonic() - begin) * rate:
		s = socket.socket()
		s.setblocking(False)
		s.connect_ex((addr, port))
		socks.append(s)
	time.sleep(0.01)' "$1" "$2" $RATE 2>"$tmp/flood" &
	flood=$!
}

# client PORT: its milliseconds are in $spent
client() {
	local start rc=0
	start=$(ms)
	on_cli timeout "$(slow 20)" rping -c -a "$SRV4" -p "$1" -C 1 || rc=1
	spent=$(($(ms) - start))
	echo "port $1: status $rc, $spent ms"
	return $rc
}

# tcp_counters NS: what tells a lost SYN from a slow machine
tcp_counters() { ip netns exec "$1" nstat -asz TcpExtTCPSynRetrans TcpExtListenDrops TcpExtListenOverflows; }

# Clients get in one after the other, without delay, from the first second until the first silent
# connections are long past their time limit. On a busy machine every client takes long, so clients
# of a listener that nobody floods take turns with them.
nobody_is_kept_out() {
	local i worst=0 calm=0 rc=0 limit
	serve 7310 rping -s -P -a "$SRV4" -p 7310 || return
	ip netns exec "$SRV_NS" rping -s -P -a "$SRV4" -p 7311 >"$tmp/calm" 2>&1 &
	other=$!
	within 20 pid_listens $other 7311 || return
	flood "$SRV4" 7310
	for i in $(seq 12); do
		sleep 1
		client 7310 || rc=1
		[ $spent -le $worst ] || worst=$spent
		[ $((i % 3)) = 1 ] || continue
		client 7311 || rc=1
		[ $spent -le $calm ] || calm=$spent
	done
	kill -0 $flood || { echo "the flood is over:"; cat "$tmp/flood"; rc=1; }
	tcp_counters "$CLI_NS"
	tcp_counters "$SRV_NS"
	kill $flood $other
	wait $flood $other 2>/dev/null
	stop_server >/dev/null
	limit=$((calm * 3 > 4000 * SRNIC_SLOW ? calm * 3 : 4000 * SRNIC_SLOW))
	echo "worst: $worst ms, $calm ms where nothing is silent, limit $limit ms"
	[ $rc = 0 ] && [ $worst -le $limit ]
}

# 100 of each: connecting to a TCP server that never answers, and connections from clients that
# never send. Two listeners: each has room for 64 of these, and with more the oldest would be
# closed.
half_made() {
	local port
	ip netns exec "$SRV_NS" python3 -c '
import socket, time
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("0.0.0.0", 7320))
s.listen(200)
time.sleep(1000)' &
	silent=$!
	within 20 pid_listens $silent 7320 || return
	listeners=
	for port in 7321 7322; do
		ip netns exec "$CLI_NS" rping -s -P -a "$CLI4" -p $port &>/dev/null &
		listeners+=" $!"
		within 20 pid_listens $! $port || return
	done
	ip netns exec "$CLI_NS" "$BIN/many" pending "$SRV4" 7320 100 >"$tmp/pending" 2>&1 &
	pending=$!
	ip netns exec "$SRV_NS" python3 -c '
import socket, sys, time
socks = [socket.create_connection((sys.argv[1], 7321 + i % 2)) for i in range(100)]
for s in socks:
	s.sendall(b"MPA ID")
time.sleep(1000)' "$CLI4" &
	mute=$!
	within 60 grep -q pending "$tmp/pending" || { cat "$tmp/pending"; return 1; }
	sleep 1
	kill -0 $mute
}

end_half_made() { kill -KILL $silent $listeners $pending $mute 2>/dev/null; wait $silent $listeners $pending $mute 2>/dev/null || :; }

# goes COMMAND...: it removes the device of the client
goes() { timeout 100 "$@" && within 100 eval "[ ! -e /sys/class/infiniband/$CLI_DEV ]"; }

link_goes() { half_made && took 2000 goes rdma link delete "$CLI_DEV" && end_half_made; }
module_goes() { half_made && took 2000 goes rmmod srnic && end_half_made && modprobe srnic; }
interface_goes() { half_made && took 2000 goes ip -n "$CLI_NS" link del v1 && end_half_made; }

# The order in which rdma_cm, which waits for connections, gets the end of a device before
# ib_uverbs, which destroys the QPs of programs. It cannot be changed if these are built in, or if
# an earlier test has left users of them.
reorder_clients() {
	modprobe -r srnic rdma_ucm && modprobe -r rdma_cm ib_uverbs
	modprobe ib_uverbs && modprobe rdma_ucm && modprobe srnic
}

if lsmod | grep -q '^rdma_cm'; then
	reorder_clients 2>&1 | diag
fi
two_hosts 1500
t -l 120 "$RATE silent connections a second keep nobody out" nobody_is_kept_out
t -l 150 "rdma link delete does not wait for 200 half-made connections" link_goes
teardown_hosts
two_hosts 1500
t -l 150 "the end of an interface does not wait for 200 half-made connections" interface_goes
teardown_hosts
two_hosts 1500
t -l 150 "rmmod does not wait for 200 half-made connections" module_goes
teardown_hosts
done_testing
