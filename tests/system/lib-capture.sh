#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Packets between two hosts, captured, and dissected by tshark.

for p in dumpcap tshark; do
	command -v $p >/dev/null || bail "no $p"
done

# capture NETNS NETDEV FILE [FILTER]: until stop_capture
capture() {
	capture_file=$3
	# Emptied here, since the new process starts later: the output of an earlier capture must
	# not be taken for this one's.
	: >"$tmp/dumpcap"
	ip netns exec "$1" dumpcap -q -i "$2" -B 16 -f "${4-tcp or udp port 9}" -w "$3" 2>>"$tmp/dumpcap" &
	capture_pid=$!
	within 30 grep -q ^File: "$tmp/dumpcap" || bail "dumpcap does not start: $(cat "$tmp/dumpcap")"
}

# Each end has sent its last segment.
streams_ended() {
	local ns
	for ns in "$CLI_NS" "$SRV_NS"; do
		# all states except LISTEN and TIME-WAIT
		! ip netns exec "$ns" awk 'FNR > 1 && $4 !~ /0A|06/' /proc/net/tcp /proc/net/tcp6 |
			grep -q . || return
	done
}

# dumpcap drops, and does not count, packets that it has not read yet when it is stopped. So it
# gets a last packet, to SRV4 or ADDRESS, and is stopped when it has written that.
stop_capture() {	# [ADDRESS]
	local mark='here the capture ends'
	within 30 streams_ended || bail "a stream does not end"
	on_cli bash -c "echo '$mark' >/dev/udp/${1:-$SRV4}/9" || bail "cannot mark the end of the capture"
	within 60 grep -qaF "$mark" "$capture_file" ||
		bail "the end of the capture was not captured: $(cat "$tmp/dumpcap")"
	kill -INT $capture_pid
	within 20 grep -q 'Packets captured' "$tmp/dumpcap" ||
		bail "dumpcap does not stop: $(cat "$tmp/dumpcap")"
	wait $capture_pid
	grep -q 'dropped.*/0 (' "$tmp/dumpcap" || bail "lost packets: $(cat "$tmp/dumpcap")"
}

# The protocols above RDMAP guess, and guess wrong. A veth pair between several CPUs sometimes
# reorders packets.
run_tshark() {	# FILE TEXT OPTION...
	local file=$1 text=$2
	shift 2
	timeout "$(slow 120)" tshark -r "$file" -o tcp.try_heuristic_first:TRUE \
		-o tcp.reassemble_out_of_order:TRUE \
		--disable-protocol rpcordma --disable-protocol smb_direct \
		"$@" >"$text" 2>"$tmp/tshark" && return
	cat "$tmp/tshark"
	return 1
}

dissect() {	# FILE TEXT
	run_tshark "$1" "$2" -V -O tcp,iwarp_mpa,iwarp_ddp_rdmap
}

# seen TEXT PATTERN
seen() {
	local n
	n=$(grep -cE "$2" "$1")
	echo "$n times: $2"
	[ "$n" -gt 0 ]
}

unseen() { ! grep -E "$2" "$1" | sort | uniq -c | head -n 10 | grep .; }
