#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# perftest over rdma_cm, for its effect on the device, not for its figures: in an emulated guest
# those have no meaning. Few iterations, for the same reason.

. "$(dirname "$0")/lib.sh"

two_hosts 1500
slow_syn

for verb in send write read; do
	t "ib_${verb}_bw" perf ib_${verb}_bw -n 200
	t "ib_${verb}_lat" perf ib_${verb}_lat -n 200
	t -l 120 "ib_${verb}_bw -a" perf ib_${verb}_bw -a -n 5
	t "ib_${verb}_bw -q 8" perf ib_${verb}_bw -q 8 -n 50 -s 20000
	t "ib_${verb}_bw -b" perf ib_${verb}_bw -b -n 100 -s 30000
done
# A WRITE is not reported to the receiver, so there are no events to wait for. ib_send_bw -e on an
# RNIC keeps its last message until a Write of the receiver's has brought credits, and waits for
# the event of another completion meanwhile: for ever, if all of its sends have completed before the
# receiver gets to run. integrity.sh and pingpong.sh wait for events of sends and receives.
# ib_send_lat -e takes any event after a send for that of the send, and reads a WC that it did not
# poll if the event is that of the answer: with several CPUs the answer may arrive before the
# sender's completion.
for prog in ib_read_bw ib_read_lat; do
	t "$prog -e" perf $prog -e -n 100
done
for prog in ib_send_bw ib_send_lat ib_write_bw ib_write_lat; do
	t "$prog -I 64" perf $prog -I 64 -s 64 -n 200
done
t "ib_read_bw -o 1" perf ib_read_bw -o 1 -n 100
t "ib_write_bw -D 3" perf ib_write_bw -D 3

teardown_hosts
done_testing
