#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Packets on the wire, judged by tshark, which implements iWARP independently.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib-capture.sh"

command -v ethtool >/dev/null || bail "no ethtool"

# One line an FPDU: stream, "initiator" or "responder", octets, and the MSS left
# for data by the SYNs of the stream. Time stamps take 12 octets of it.
fpdus() {	# TEXT
	awk '
	/^Transmission Control Protocol/ { match($0, /Src Port: [0-9]+/); port = substr($0, RSTART + 10, RLENGTH - 10) }
	/\[Stream index: / { stream = $3 + 0 }
	/Flags: 0x002 \(SYN\)/ { initiator[stream] = port }
	/TCP Option - Maximum segment size: [0-9]+ bytes/ {
		n = $7 + 0
		if (!(stream in mss) || n < mss[stream])
			mss[stream] = n
	}
	/ULPDU length: [0-9]+ bytes/ {
		n = $3
		print stream, port == initiator[stream] ? "initiator" : "responder", \
			2 + n + (4 - (n + 2) % 4) % 4 + 4, mss[stream] - 12
	}' "$1"
}

# Each FPDU must fit one TCP segment.
fpdus_fit() {	# TEXT
	fpdus "$1" | awk '
	$3 > $4 { print "FPDU of " $3 " octets, room for " $4; bad++ }
	{ n++; if ($3 > max) max = $3; room = $4 }
	END { print n " FPDUs, the largest " max " octets, room for " room; exit bad || !n }'
}

# TCP cuts the segments, and they are captured unchanged.
no_offloads() {	# NETNS NETDEV
	local what
	ip netns exec "$1" ethtool -k "$2" >"$tmp/offloads" || return
	for what in tcp-segmentation-offload generic-segmentation-offload generic-receive-offload; do
		grep "^$what: off" "$tmp/offloads" || return
	done
}

# At least so many percent of the segments that carry FPDUs begin with one, in both directions of
# a stream with large messages. The segment of a short message does so anyhow, so that a direction
# with few full segments does not count. FILE.share has the figures.
begin_with_fpdu() {	# FILE PERCENT
	run_tshark "$1" "$1.fields" -Y tcp -T fields -e tcp.stream -e tcp.srcport -e tcp.seq \
		-e tcp.len -e tcp.options.mss_val -e iwarp_mpa.pdlength \
		-e iwarp_mpa.ulpdulength || return
	# by sequence number: the SYNs come first, retransmissions behind the original
	sort -s -t $'\t' -k 3,3n "$1.fields" | awk -F '\t' -v least="$2" '
	{ dir = $1 " " $2 }
	$5 != "" && (!($1 in mss) || $5 < mss[$1]) { mss[$1] = $5 }
	$4 > 0 && !(dir in next_seq) { next_seq[dir] = 1 }
	# except retransmissions
	$4 > 0 && $3 == next_seq[dir] {
		next_seq[dir] += $4
		segments[dir, $3] = dir
		full[dir] += $4 == mss[$1] - 12
		if ($4 > mss[$1] - 12) { print "segment of " $4 " octets, room for " mss[$1] - 12; bad++ }
	}
	# after the start-up frame one FPDU follows the other
	$6 != "" && !(dir in start) { pos[dir] = start[dir] = 1 + 20 + $6 }
	{
		n = split($7, ulpdus, ",")
		for (i = 1; i <= n; i++) {
			fpdus[dir, pos[dir]]
			pos[dir] += 2 + ulpdus[i] + (4 - (ulpdus[i] + 2) % 4) % 4 + 4
		}
	}
	END {
		for (s in segments) {
			dir = segments[s]
			split(s, key, SUBSEP)
			if (key[2] >= start[dir]) { all[dir]++; begin[dir] += s in fpdus }
		}
		for (dir in all) {
			if (full[dir] < 100)
				continue
			share = 100 * begin[dir] / all[dir]
			printf "stream and port %s: %d of %d segments (%.1f %%); %d were full\n", \
				dir, begin[dir], all[dir], share, full[dir]
			if (share < least || pos[dir] != next_seq[dir])
				bad++
			dirs++
		}
		exit bad || dirs != 2
	}' >"$1.share"
	local rc=$?
	cat "$1.share"
	return $rc
}

# An initiator sends first (RFC 5044 7.1).
initiator_first() {	# TEXT
	fpdus "$1" | awk '
	!($1 in first) { first[$1] = $2; n++; if ($2 != "initiator") { print "stream " $1; bad++ } }
	END { print n + 0 " streams"; exit bad || !n }'
}

sent_fpdus() {
	cat /sys/class/infiniband/sr*/ports/1/hw_counters/tx_fpdus | awk '{ n += $1 } END { print n }'
}

# tshark has decoded as many FPDUs as the devices have sent.
all_understood() {	# TEXT COUNT
	local n
	n=$(grep -c 'ULPDU length: ' "$1")
	echo "$n understood, $2 sent"
	[ "$n" = "$2" ]
}

every_crc_good() {	# TEXT
	local good all
	all=$(grep -c 'ULPDU length: ' "$1")
	good=$(grep -cE 'CRC check: 0x[0-9a-f]+ \(Good CRC32\)' "$1")
	echo "$good of $all good"
	[ "$good" = "$all" ] && [ "$all" -gt 0 ]
}

# MPA frames: no markers wanted, CRC wanted, not rejected, revision 2.
mpa_flags() {	# TEXT
	awk '
	/Request frame header|Reply frame header/ { n++ }
	/Marker flag: False/ { m++ }
	/CRC flag: True/ { c++ }
	/Connection rejected flag: False/ { r++ }
	/Revision: 2/ { v++ }
	END { print n + 0 " frames: no markers " m + 0 ", CRC " c + 0 ", not rejected " r + 0 \
		", revision 2 " v + 0; exit !(n && m == n && c == n && r == n && v == n) }' "$1"
}

common() {	# NAME TEXT
	t "$1: nothing malformed" unseen "$2" 'Malformed|BoundError|Bad CRC32|NOT set to'
	t "$1: CRC of every FPDU" every_crc_good "$2"
	t "$1: no unknown opcode" unseen "$2" \
		'OpCode: ([^WRST]|.*Unknown|.*Reserved)|OpCode: .*\(0x([489a-f]|[0-9a-f]{2,})\)'
	t "$1: every version of DDP and RDMAP is 1" unseen "$2" '(= Version|DDP protocol version): ([02-9]|1[0-9])'
	t "$1: reserved bits of DDP and RDMAP are 0" unseen "$2" '^ {12}.* = Reserved: 0x0*[1-9a-f]'
	t "$1: flags of MPA frames" mpa_flags "$2"
	t "$1: the initiator sends the first FPDU" initiator_first "$2"
}

# --- two hosts: data, segment sizes, an orderly end -----------------------------

two_hosts 1500
# captured segments must be those of a real wire: no offloaded large ones
for h in 1 2; do
	ip netns exec h$h ethtool -K v$h tso off gso off gro off tx off rx off >"$tmp/ethtool" 2>&1 ||
		bail "ethtool: $(cat "$tmp/ethtool")"
done
capture h1 v1 "$tmp/two.pcapng"
t "two hosts: rping" pair 7174 rping -s -a "$SRV4" -S 3000 -C 5 -V -- \
	rping -c -a "$SRV4" -S 3000 -C 5 -V
t "two hosts: integrity" integrity -- --seed 3 --qps 2 --ops 60 --max-size 20000
stop_capture
sent=$(sent_fpdus)
t "two hosts: segmentation is TCP's" no_offloads h1 v1
t "two hosts: segmentation is TCP's at the other end" no_offloads h2 v2
capture h1 v1 "$tmp/large.pcapng"
# in turn: the server reads one message, writes it back, and only then comes the next
t "two hosts: large messages, one at a time" pair 7174 rping -s -a "$SRV4" -S 65000 -C 10 -- \
	rping -c -a "$SRV4" -S 65000 -C 10
stop_capture
teardown_hosts
t -l 150 "two hosts: large messages, one at a time: segments begin with an FPDU" \
	begin_with_fpdu "$tmp/large.pcapng" 90
diag <"$tmp/large.pcapng.share"

two=$tmp/two.txt
t -l 150 "two hosts: dissected" dissect "$tmp/two.pcapng" "$two"
for what in 'Request frame header' 'Reply frame header' 'OpCode: Write \(0x0\)' \
	    'OpCode: Read Request \(0x1\)' 'OpCode: Read Response \(0x2\)' \
	    'OpCode: Send \(0x3\)' 'OpCode: Send with SE \(0x5\)'; do
	t "two hosts: seen: $what" seen "$two" "$what"
done
common "two hosts" "$two"
t "two hosts: all FPDUs understood" all_understood "$two" "$sent"
t "two hosts: no FPDU larger than the MSS" fpdus_fit "$two"
t "two hosts: no Terminate" unseen "$two" 'OpCode: Terminate'
t "two hosts: closed with FIN, without RST" unseen "$two" 'Flags: 0x.*RST'

# --- one host: Terminates -------------------------------------------------------

one_host
capture h1 lo "$tmp/one.pcapng"
t "one host: bad READs" on_cli "$BIN/badinput" "$CLI4" remote-read
t "one host: bad WRITEs" on_cli "$BIN/badinput" "$CLI4" remote-write
stop_capture
sent=$(sent_fpdus)
teardown_hosts

# RFC 5040 4.8 and 7.2, RFC 5041 7.2: which end is to blame, and for what
one=$tmp/one.txt
t -l 150 "one host: dissected" dissect "$tmp/one.pcapng" "$one"
for what in 'OpCode: Terminate \(0x7\)' \
	    'Error Code for RDMA layer: Invalid STag \(0x00\)' \
	    'Error Code for RDMA layer: Base or bounds violation \(0x01\)' \
	    'Error Code for RDMA layer: Access rights violation \(0x02\)' \
	    'Error Code for RDMA layer: STag not associated with RDMAP Stream \(0x03\)' \
	    'Error Code for RDMA layer: TO wrap \(0x04\)' \
	    'Error Code for DDP Tagged Buffer: Invalid STag \(0x00\)' \
	    'Error Code for DDP Tagged Buffer: Base or bounds violation \(0x01\)' \
	    'Error Code for DDP Tagged Buffer: STag not associated with DDP Stream \(0x02\)' \
	    'Error Code for DDP Tagged Buffer: TO wrap \(0x03\)'; do
	t "one host: seen: $what" seen "$one" "$what"
done
common "one host" "$one"
t "one host: all FPDUs understood" all_understood "$one" "$sent"

done_testing
