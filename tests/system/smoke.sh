#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# A little of everything, in a minute: for kernels on which the gate does not run all tests.

. "$(dirname "$0")/lib.sh"

two_hosts 1500
slow_syn
t "ibv_devinfo shows the device" on_cli ibv_devinfo -d "$CLI_DEV"
t "rdma statistic shows counters" eval "rdma statistic show link $CLI_DEV/1 | grep -q tx_fpdus"
t "rping over IPv4" pair 7174 rping -s -a "$SRV4" -C 20 -S 4000 -V -- \
	rping -c -a "$SRV4" -C 20 -S 4000 -V
t "rping over IPv6" pair 7174 rping -s -a "$SRV6" -C 20 -S 4000 -V -- \
	rping -c -a "$SRV6" -C 20 -S 4000 -V
for verb in send write read; do
	t "ib_${verb}_bw" perf ib_${verb}_bw -n 200
	t "ib_${verb}_lat" perf ib_${verb}_lat -n 100
done
t "ib_atomic_bw" perf ib_atomic_bw -n 100
t "ib_atomic_lat" perf ib_atomic_lat -n 100
teardown_hosts
t "the module unloads and loads again" eval 'modprobe -r srnic && modprobe srnic'
done_testing
