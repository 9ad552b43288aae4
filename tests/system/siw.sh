#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Against siw, the kernel's other software iWARP: each in turn is the server.

. "$(dirname "$0")/lib.sh"

[ -d /sys/module/siw ] || skip_all "siw is not loaded (scripts/guest --siw)"

# The server has to be there, and to end with an error.
refused() {	# OP
	local rc=0
	serve 7174 rping -s -a "$SRV4" || return
	on_cli "$BIN/rfc7306" --peer "$SRV4" 7174 "$1" || rc=$?
	kill $server_pid 2>/dev/null
	served
	return $rc
}

rcopy_file() {	# BYTES
	head -c "$1" /dev/urandom >"$tmp/src"
	rm -f "$tmp/dst"
	forever 7427 rcopy -- rcopy "$tmp/src" "$SRV4:$tmp/dst" && cmp "$tmp/src" "$tmp/dst"
}

# rstream's server sends last and closes. siw closes with bytes that it has not read, which makes
# TCP send a RST and forget what the window has no room for: RSTREAM bytes from it must fit the
# window that TCP begins with. A client that lacks the end calls rrecv() for ever.
both_ways() {	# NAME RSTREAM
	for size in 64 4096 65535; do
		t "$1: rping -S $size" pair 7174 rping -s -a "$SRV4" -S $size -C 20 -V -- \
			rping -c -a "$SRV4" -S $size -C 20 -V
	done
	t "$1: rping v6" pair 7174 rping -s -a "$SRV6" -C 20 -V -- rping -c -a "$SRV6" -C 20 -V
	for verb in write read send; do
		t "$1: ib_${verb}_bw" perf ib_${verb}_bw -n 200
	done
	t "$1: ib_send_lat" perf ib_send_lat -n 100 -s 3000
	t "$1: rstream" pair 7471 rstream -b "$SRV4" -S "$2" -C 5 -I 2 -T v -- \
		rstream -s "$SRV4" -S "$2" -C 5 -I 2 -T v
	t "$1: rcopy" rcopy_file 1000001
}

two_hosts 1500 "$SRNIC_TYPE" siw
slow_syn
both_ways "$SRNIC_TYPE client, siw server" 8192
# Its server sends first. That needs a client that requests the peer-to-peer start-up of RFC 6581,
# or a server that ignores RFC 5044 7.1: siw is no such client, but such a server. So this works
# in one direction only.
t "$SRNIC_TYPE client, siw server: ucmatose" pair 7471 \
	ucmatose -b "$SRV4" -c 4 -C 5 -S 2000 -- ucmatose -s "$SRV4" -c 4 -C 5 -S 2000
# siw does not support RFC 7306: it refuses the opcode, and the connection ends cleanly.
if [ "$SRNIC_TYPE" = srnic ]; then
	t "siw server refuses an atomic" refused fetch-add
	t "siw server refuses immediate data" refused write-imm
	t "siw server works after refused messages" pair 7174 rping -s -a "$SRV4" -C 5 -V -- \
		rping -c -a "$SRV4" -C 5 -V
	# The Reply has the reserved bit that asks siw for large FPDUs: that is no answer
	set_policy "$CLI_DEV" max_fpdu=auto || bail "no policy max_fpdu"
	t "srnic client with max_fpdu auto, siw server: rping -S 65535" pair 7174 \
		rping -s -a "$SRV4" -S 65535 -C 20 -V -- rping -c -a "$SRV4" -S 65535 -C 20 -V
	t "srnic client with max_fpdu auto, siw server: ib_write_bw" perf ib_write_bw -n 200
fi
teardown_hosts

two_hosts 1500 siw "$SRNIC_TYPE"
slow_syn
both_ways "siw client, $SRNIC_TYPE server" 65536
teardown_hosts

done_testing
