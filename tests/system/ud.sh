#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# UD QPs: programs that send datagrams, where the policy has a port for them. The cases of ud.c,
# and of programs that others have written.
#
# perftest is run on a device that is no RNIC: on one it counts credits, by RDMA Write.

. "$(dirname "$0")/lib.sh"

need_programs ibv_ud_pingpong ib_send_bw

bound()    { "on_$1" ss -Hlun "sport = :$IB_PORT" | grep .; }
no_trace() { ! bound srv && ! bound cli; }

# pingpong [OPTION...]
pingpong() {
	pair 18515 ibv_ud_pingpong -d "$SRV_DEV" -g "$srv_gid" "$@" -- \
		ibv_ud_pingpong -d "$CLI_DEV" -g "$cli_gid" "$@" "$SRV4" || return
	within 10 no_trace
}

# perf_ud PROGRAM [OPTION...]
perf_ud() {
	pair 18515 "$@" -F -c UD -d "$SRV_DEV" -x "$srv_gid" -- \
		"$@" -F -c UD -d "$CLI_DEV" -x "$cli_gid" "$SRV4"
}

# Few rounds: two programs that poll may wait a scheduler's tick in each of them.
both() {	# NAME
	t "$1: ibv_ud_pingpong" pingpong -n 100
	t "$1: ibv_ud_pingpong -c: the data is right" pingpong -c -n 100 -s 1000
	t "$1: ibv_ud_pingpong -e" pingpong -e -n 100
}

perftest() {	# NAME
	t "$1: ib_send_lat -c UD" perf_ud ib_send_lat -n 100 -s 64
	t "$1: ib_send_bw -c UD" perf_ud ib_send_bw -n 200 -s 1000
	t "$1: ib_send_bw -c UD -b" perf_ud ib_send_bw -b -n 100 -s 100
}

off() { ! pingpong -n 1 && no_trace; }

two_hosts 1500
index :0a4d:0002 :0a4d:0001
t "off by default: no UD QP, no socket" off
ib_enable
both "IPv4, two hosts"
index ^fd77:.*:0002 ^fd77:.*:0001
both "IPv6, two hosts"
t "nothing is left" within 10 nothing_left
teardown_hosts

one_host
ib_enable
index :0a4e:0001 :0a4e:0001
both "IPv4, one host"
cases ud
t "nothing is left on one host" within 10 nothing_left
teardown_hosts

SRNIC_TYPE=srnic_plain
two_hosts 1500
ib_enable
index :0a4d:0002 :0a4d:0001
both "srnic_plain"
perftest "IPv4"
index ^fd77:.*:0002 ^fd77:.*:0001
perftest "IPv6"
t "nothing is left of srnic_plain" within 10 nothing_left
teardown_hosts
done_testing
