#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# TCP conversations that turn into RDMA in the middle: the cases of handover.c, each in
# a process of its own, and what they leave behind.

. "$(dirname "$0")/lib.sh"

[ "$SRNIC_TYPE" = srnic ] || skip_all "the type under test is $SRNIC_TYPE"
[ -x "$BIN/handover" ] || bail "no $BIN/handover: make -C tests/programs OUT=..."

policy() { echo "$3" >"/sys/class/infiniband/$1/policy/$2"; }

without_crc() {
	local rc=0
	policy "$CLI_DEV" crc preferred || return
	on_cli "$BIN/handover" "$CLI4" no-crc || rc=$?
	policy "$CLI_DEV" crc required && return $rc
}

late_receive() {
	local rc=0
	policy "$CLI_DEV" no_receive forever || return
	on_cli "$BIN/handover" "$CLI4" late-receive || rc=$?
	policy "$CLI_DEV" no_receive 1 && return $rc
}

# A tunnel whose other end sends each packet back, with the addresses exchanged. Packets are lost
# while it is down.
mirror() {
	[ -e /dev/net/tun ] || modprobe tun || return
	ip netns exec "$CLI_NS" python3 -c '
import fcntl, os, struct
tun = os.open("/dev/net/tun", os.O_RDWR)
fcntl.ioctl(tun, 0x400454ca, struct.pack("16sH22x", b"tun0", 0x1001))	# TUNSETIFF: IFF_TUN, IFF_NO_PI
while True:
	p = os.read(tun, 65536)
	if p[0] >> 4 != 4:
		continue
	try:
		os.write(tun, p[:12] + p[16:20] + p[12:16] + p[20:])
	except OSError:
		pass' >"$tmp/mirror" 2>&1 &
	mirror=$!
	within 30 ip -n "$CLI_NS" link show tun0 >"$tmp/link" 2>&1 || bail "no tunnel: $(cat "$tmp/mirror")"
	net_up "$CLI_NS" tun0 10.79.0.1/24 fd79::1/64
	rdma_up "$CLI_NS" tun0 "$SRNIC_TYPE" sr2
	ip -n "$CLI_NS" route add default dev d1 || bail "no other route"
}

# The device counts each refusal.
in_the_tunnel() {
	on_cli env HANDOVER_{PEER=10.79.0.2,TUNNEL=tun0,DEVICE=sr2,AROUND=d1} "$BIN/handover" 10.79.0.1 tunnel &&
		[ "$(counter sr2 conn_failed)" = 3 ]
}

one_host
cases -l 150 handover
t -l 150 "without CRC, where the policy allows it" without_crc
t "a message waits for its receive, where the policy says so" late_receive
mirror
t "on a tunnel a socket is bound to it, or refused, and nothing goes around" in_the_tunnel
t "nothing is left of the QPs" within 10 nothing_left

kill $mirror
wait $mirror
teardown_hosts
done_testing
