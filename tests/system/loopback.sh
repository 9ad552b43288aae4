#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# A device on lo: connections to 127.0.0.1 and ::1. The kernel's rdma_cm must find a device by its
# interface and not by a hardware address, which lo lacks.

. "$(dirname "$0")/lib.sh"

add_ns h1
ip -n h1 link set lo up
CLI_NS=h1 SRV_NS=h1 CLI_DEV=sr1 SRV_DEV=sr1 CLI4=127.0.0.1 SRV4=127.0.0.1 SRV6=::1
rdma_up h1 lo "$SRNIC_TYPE" sr1
case $(uname -r) in
6.1.*)
	for what in "rping over 127.0.0.1" "rping over ::1" "rping from a wildcard listener" \
			"ib_write_bw over 127.0.0.1"; do
		skip "$what" "rdma_cm of Linux 6.1 finds devices by their hardware address"
	done
	;;
*)
	t "rping over 127.0.0.1" pair 7174 rping -s -a 127.0.0.1 -C 20 -S 4000 -V -- \
		rping -c -a 127.0.0.1 -C 20 -S 4000 -V
	t "rping over ::1" pair 7174 rping -s -a ::1 -C 20 -S 4000 -V -- \
		rping -c -a ::1 -C 20 -S 4000 -V
	t "rping from a wildcard listener" pair 7174 rping -s -C 20 -V -- \
		rping -c -a 127.0.0.1 -C 20 -V
	t "ib_write_bw over 127.0.0.1" perf ib_write_bw -n 200
	;;
esac
teardown_hosts
done_testing
