#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# iWARP is encrypted below TCP: devices whose traffic goes through IPsec in transport mode (ESP with
# AES-GCM), as RFC 5042 asks of RNICs, and devices on WireGuard interfaces. What is between the hosts
# is captured: nothing of it is in the clear, and nothing is fragmented.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib-capture.sh"

need_programs wg tcpdump
need_modules wireguard esp4 xfrm_user gcm seqiv

MIB=8
[ -z "${TEST_LONG:-}" ] || MIB=64

# --- what the hosts say to each other ---------------------------------------------

# with_cm NAME COMMAND...: a test that needs rdma_cm, where that finds the device
cm=yes
with_cm() {
	if [ $cm = yes ]; then
		t "$@"
	else
		skip "$1" "rdma_cm of Linux 6.1 finds devices by their hardware address"
	fi
}

rping_some() {
	pair 7174 rping -s -a "$SRV4" -S 3000 -C 10 -V -- rping -c -a "$SRV4" -S 3000 -C 10 -V
}

# by_ib PROGRAM [OPTION...]: without rdma_cm
by_ib() {
	pair 18515 "$1" -d "$SRV_DEV" -g "$srv_gid" "${@:2}" -- \
		"$1" -d "$CLI_DEV" -g "$cli_gid" "${@:2}" "$SRV4"
}

greetings() {
	pair 18515 "$BIN/exchange" "$SRV_DEV" "$srv_gid" 18515 -- \
		"$BIN/exchange" "$CLI_DEV" "$cli_gid" 18515 "$SRV4"
}

sound() { ! grep -v '^0$' /sys/class/infiniband/sr[12]/ports/1/hw_counters/rx_{crc,protocol}_errors; }

say_all() {	# NAME
	with_cm "$1: rping" rping_some
	with_cm "$1: data is intact" integrity -- --seed 5 --qps 2 --ops 40
	t "$1: no device found an error in the other's stream" sound
	t "$1: ibv_rc_pingpong" by_ib ibv_rc_pingpong -c -n 50
	t "$1: ibv_ud_pingpong" by_ib ibv_ud_pingpong -s 1000 -n 50
	t "$1: greetings" greetings
}

# --- what is between them -----------------------------------------------------------

# packets FILE FILTER: how many there are
packets() { tcpdump -nr "$1" "$2" 2>"$tmp/tcpdump" | wc -l; }

# The end of the capture is marked by UDP over IPv6.
only() {	# FILE TUNNEL
	local tunnel other
	tunnel=$(packets "$1" "$2")
	other=$(packets "$1" "(ip or tcp) and not ($2)")
	echo "$tunnel packets of the tunnel, $other others"
	[ "$tunnel" -gt 20 ] && [ "$other" = 0 ]
}

# Frames of 1500 octets at most, no fragments; and full segments do not leave room for more.
fits() {	# FILE
	local bad full
	bad=$(packets "$1" 'greater 1515 or ip[6:2] & 0x3fff != 0')
	full=$(packets "$1" 'greater 1490')
	echo "$full full packets; $bad that are fragments or larger than the MTU"
	[ "$bad" = 0 ] && [ "$full" -gt 0 ]
}

# The octets of rping's messages and of the greetings, as their sources have them
in_the_clear() { grep -qa rdma-ping- "$1" && grep -qa 'greetings from the' "$1"; }
hidden()       { ! grep -qa -e rdma-ping- -e 'greetings from the' "$1"; }

# --- how fast -----------------------------------------------------------------------

# speed COMMAND...: of what h1 sends meanwhile, encrypted, in the middle half of it
speed() {
	local rc=0 meter
	: >"$tmp/meter"		# the new process starts later
	ip netns exec h1 python3 -u -c '
import time
with open("/sys/class/net/v1/statistics/tx_bytes") as octets:
	while True:
		octets.seek(0)
		print(time.monotonic_ns(), octets.read(), end="")
		time.sleep(0.01)' >"$tmp/meter" &
	meter=$!
	within 10 test -s "$tmp/meter" && "$@" || rc=$?
	kill $meter
	wait $meter
	awk '
	NF == 2 { at[++n] = $1; octets[n] = $2 }
	END {
		quarter = (octets[n] - octets[1]) / 4
		for (first = 1; octets[first] < octets[1] + quarter; first++);
		for (last = n; octets[last] > octets[n] - quarter; last--);
		if (last > first)
			printf "%.1f MiB/s\n", (octets[last] - octets[first]) / 1048576 / (at[last] - at[first]) * 1e9
	}' "$tmp/meter" | tee "$tmp/speed"
	[ -s "$tmp/speed" ] && return $rc
}

tcp_stream() {
	pair 7600 python3 -c '
import socket, sys
c = socket.create_server((sys.argv[1], 7600)).accept()[0]
while c.recv(1 << 20):
	pass' "$SRV4" -- python3 -c '
import socket, sys
c = socket.create_connection((sys.argv[1], 7600))
for _ in range(int(sys.argv[2])):
	c.sendall(bytes(1 << 20))' "$SRV4" "$MIB"
}

rdma_writes() {
	pair 18515 ib_write_bw -F -s 65536 -n $((MIB * 16)) -d "$SRV_DEV" -x "$srv_gid" -- \
		ib_write_bw -F -s 65536 -n $((MIB * 16)) -d "$CLI_DEV" -x "$cli_gid" "$SRV4"
}

# The figure is shown; it is no bound: the guest may be an emulator.
at_speed() {	# NAME COMMAND...
	t "$1" speed "${@:2}" && diag <"$tmp/speed"
}

# --- one after the other ------------------------------------------------------------

# over NAME TUNNEL CRC...: all goes through TUNNEL, a filter of tcpdump, or is in the clear
over() {
	local name crc file=$tmp/packets
	at_speed "$1: $MIB MiB by TCP" tcp_stream
	for crc in "${@:3}"; do
		name="$1, CRC $crc"
		set_policy sr1 crc=$crc && set_policy sr2 crc=$crc || bail "no policy crc"
		capture h1 v1 "$file" ''
		say_all "$name"
		stop_capture fd77::2
		if [ -n "$2" ]; then
			t "$name: all packets are the tunnel's" only "$file" "$2"
			t "$name: nothing is in the clear" hidden "$file"
			t "$name: no packet is a fragment, large ones are as large as the MTU" fits "$file"
		else
			t "$name: all is in the clear" in_the_clear "$file"
		fi
		at_speed "$name: $MIB MiB by RDMA Write" rdma_writes
	done
}

two_hosts 1500
ib_enable
index :0a4d:0002 :0a4d:0001
# the tests can tell
over "no tunnel" '' required

# --- IPsec

# state NETNS SOURCE DESTINATION SPI KEY
state() {
	ip -n "$1" xfrm state add src "$2" dst "$3" proto esp spi "$4" reqid 1 mode transport \
		aead 'rfc4106(gcm(aes))' "$5" 128
}
a_key() { echo "0x$(od -An -tx1 -N 20 -v /dev/urandom | tr -d ' \n')"; }
keys() {	# SPI SPI: new ones of both directions
	local to from ns
	to=$(a_key)
	from=$(a_key)
	for ns in h1 h2; do
		state $ns "$CLI4" "$SRV4" "$1" "$to" && state $ns "$SRV4" "$CLI4" "$2" "$from" || return
	done
}
# rule NETNS DIRECTION SOURCE DESTINATION
rule() {
	ip -n "$1" xfrm policy add src "$3" dst "$4" dir "$2" \
		tmpl src "$3" dst "$4" proto esp reqid 1 mode transport
}
ipsec() {
	keys 0x1001 0x1002 && rule h1 out "$CLI4" "$SRV4" && rule h1 in "$SRV4" "$CLI4" &&
		rule h2 out "$SRV4" "$CLI4" && rule h2 in "$CLI4" "$SRV4"
}

rounds() { wc -l <"$tmp/rounds"; }
goes_on() { grows "$tmp/rounds" 20; }

# A connection without keys stands still, nothing is sent in the clear; with new ones it goes on.
new_keys() {
	local ns n
	serve 7174 rping -s -a "$SRV4" -C 10000000 || return
	ip netns exec "$CLI_NS" rping -c -a "$SRV4" -C 10000000 -v >"$tmp/rounds" 2>&1 &
	goes_on || { cat "$tmp/rounds"; return 1; }
	for ns in h1 h2; do
		ip -n $ns xfrm state flush || return
	done
	sleep 0.5
	n=$(rounds)
	sleep 2
	[ "$(rounds)" = "$n" ] || { echo "it goes on without keys"; return 1; }
	keys 0x2001 0x2002 && goes_on
}

t "IPsec is set up" ipsec
over IPsec 'ip proto 50' off required
t "IPsec: a connection stands still without keys, and goes on with new ones" new_keys
teardown_hosts

# --- WireGuard: the devices are on its interfaces, not on those below

wireguard() {
	local h other
	for h in 1 2; do
		ip -n h$h link add wg0 type wireguard &&
			wg genkey >"$tmp/key$h" && wg pubkey <"$tmp/key$h" >"$tmp/pub$h" || return
	done
	for h in 1 2; do
		other=$((3 - h))
		ip netns exec h$h wg set wg0 private-key "$tmp/key$h" listen-port 51820 \
			peer "$(cat "$tmp/pub$other")" endpoint 10.77.0.$other:51820 \
			allowed-ips 10.99.0.$other/32,fd99::$other/128 || return
		net_up h$h wg0 10.99.0.$h/24 fd99::$h/64
	done
}

down_and_up() {
	ip -n h1 link set wg0 down && within 5 eval '! port_is_active sr1' &&
		ip -n h1 link set wg0 up && within 5 port_is_active sr1
}

# reaches PORT: a TCP connection from the first host
reaches() {
	ip netns exec h1 python3 -c '
import socket, sys
socket.create_connection((sys.argv[1], int(sys.argv[2])), 5)' "$SRV4" "$1"
}

# A host that sends to the address by the network below the tunnel reaches other servers there.
comes_not_around() {
	local rc=0 other
	serve 7174 rping -s -P -a "$SRV4" || return
	ip netns exec h2 python3 -c '
import socket, sys
s = socket.create_server((sys.argv[1], 7175))
while True:
	s.accept()' "$SRV4" &
	other=$!
	within 10 pid_listens $other 7175 && ip -n h1 route add "$SRV4/32" via 10.77.0.2 || return
	reaches 7175 && ! reaches 7174 || rc=1
	ip -n h1 route del "$SRV4/32" && reaches 7174 || rc=1
	kill $other
	stop_server && return $rc
}

# While the tunnel is down the hosts have another route to its addresses.
goes_not_around() {
	local rc=0 client
	ip -n h1 route add default via 10.77.0.2 && ip -n h2 route add default via 10.77.0.1 || return
	serve 7174 rping -s -P -a "$SRV4" -S 3000 || return
	ip netns exec h1 rping -c -a "$SRV4" -S 3000 -C 10000000 -v >"$tmp/rounds" 2>&1 &
	client=$!
	goes_on && ip -n h1 link set wg0 down && sleep 2 && ip -n h1 link set wg0 up && goes_on || rc=1
	tail -n 2 "$tmp/rounds" | cut -c 1-80
	kill -KILL $client
	wait $client
	stop_server
	ip -n h1 route del default && ip -n h2 route del default && return $rc
}

warned() { dmesg | grep "$1: srnic: the interface has no hardware address.* sr1\$"; }

two_hosts 1500
t "no warning of an interface that has a hardware address" eval '! warned v1'
rdma link delete sr1 && rdma link delete sr2 || bail "cannot delete the devices"
t "WireGuard is set up" wireguard
rdma_up h1 wg0 "$SRNIC_TYPE" sr1
rdma_up h2 wg0 "$SRNIC_TYPE" sr2
CLI4=10.99.0.1 SRV4=10.99.0.2
ib_enable
index :0a63:0002 :0a63:0001
case $(uname -r) in
6.1.*)	cm=no
	t "WireGuard: the kernel log says that rdma_cm does not find the device" warned wg0 ;;
*)	t "WireGuard: the kernel log has no warning of the device" eval '! warned wg0' ;;
esac
t "WireGuard: the port goes down and up with the interface" down_and_up
over WireGuard 'udp port 51820' off required
with_cm "WireGuard: nothing comes around the tunnel" comes_not_around
capture h1 v1 "$tmp/packets" ''
with_cm "WireGuard: a connection stands still while the tunnel is down, and goes on" goes_not_around
stop_capture fd77::2
[ $cm = no ] || t "WireGuard: meanwhile nothing goes around it" only "$tmp/packets" 'udp port 51820 or icmp'
teardown_hosts
done_testing
