#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# perftest over rdma_cm, for what it does to the device, not for its figures:
# in an emulated guest those mean nothing. Few iterations, for the same reason.

. "$(dirname "$0")/lib.sh"

# -F: no word about CPU frequencies. perftest returns 0 only if all went well.
perf() {	# PROGRAM [OPTION...]
	local prog=$1
	shift
	pair 18515 "$prog" -R -F -d "$SRV_DEV" "$@" -- "$prog" -R -F -d "$CLI_DEV" "$@" "$SRV4"
}

# The server listens for a first connection, over which the two agree on what to
# do, closes the port, and opens it again for the QPs of the test. The client
# does not wait for that: it counts on being slower. Let SYNs take their time,
# or on a busy guest it is refused.
slow_syn() {	# MILLISECONDS
	local tc="tc -n $CLI_NS"
	$tc qdisc add dev v1 root handle 1: prio bands 4 &&
	$tc qdisc add dev v1 parent 1:4 handle 4: netem delay "$1ms" &&
	$tc filter add dev v1 parent 1: protocol ip u32 match ip protocol 6 0xff \
		match u8 0x02 0xff at 33 flowid 1:4 ||
		bail "cannot delay SYNs"
}

two_hosts 1500
slow_syn 150

for verb in send write read; do
	t "ib_${verb}_bw" perf ib_${verb}_bw -n 200
	t "ib_${verb}_lat" perf ib_${verb}_lat -n 200
	t -l 120 "ib_${verb}_bw -a" perf ib_${verb}_bw -a -n 5
	t "ib_${verb}_bw -q 8" perf ib_${verb}_bw -q 8 -n 50 -s 20000
	t "ib_${verb}_bw -b" perf ib_${verb}_bw -b -n 100 -s 30000
	t "ib_${verb}_bw -s 1" perf ib_${verb}_bw -n 200 -s 1
done
# A WRITE is nothing the receiver is told of, so there are no events to wait for.
# ib_send_bw waits for ever if all that its credits allow is posted and no
# completion is due: more sends than fit into TCP's buffers keep it going.
t "ib_send_bw -e" perf ib_send_bw -e -n 500 -t 64
for prog in ib_send_lat ib_read_bw ib_read_lat; do
	t "$prog -e" perf $prog -e -n 100
done
for prog in ib_send_bw ib_send_lat ib_write_bw ib_write_lat; do
	t "$prog -I 64" perf $prog -I 64 -s 64 -n 200
done
t "ib_send_bw -Q 10" perf ib_send_bw -Q 10 -n 200
t "ib_write_bw -l 4" perf ib_write_bw -l 4 -t 16 -n 200 -s 5000
t "ib_read_bw -o 1" perf ib_read_bw -o 1 -n 100
t "ib_write_bw -D 3" perf ib_write_bw -D 3

teardown_hosts
done_testing
