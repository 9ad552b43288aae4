#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Connections without rdma_cm: programs that exchange GID and QP number over a socket of their own
# and call ibv_modify_qp().

. "$(dirname "$0")/lib.sh"

need_programs ibv_rc_pingpong ibv_srq_pingpong ibv_uc_pingpong

listens()  { "on_$1" ss -Htln "sport = :$IB_PORT" | grep .; }
no_trace() { ! listens srv && ! listens cli; }

# pingpong PROGRAM [OPTION...]
pingpong() {
	local prog=$1
	shift
	pair 18515 "$prog" -d "$SRV_DEV" -g "$srv_gid" "$@" -- \
		"$prog" -d "$CLI_DEV" -g "$cli_gid" "$@" "$SRV4" || return
	within 10 no_trace
}

# Few rounds: two programs that poll may wait a scheduler's tick in each of them.
both() {	# NAME
	t "$1: ibv_rc_pingpong" pingpong ibv_rc_pingpong -n 100
	t "$1: ibv_rc_pingpong -c: the data is right" pingpong ibv_rc_pingpong -c -n 100
	t "$1: ibv_rc_pingpong -e" pingpong ibv_rc_pingpong -e
	for size in 1 1000 65536 1048576; do
		t "$1: ibv_rc_pingpong -s $size" pingpong ibv_rc_pingpong -s $size -n 50
	done
	t "$1: ibv_rc_pingpong -m 4096" pingpong ibv_rc_pingpong -m 4096 -n 100
	t "$1: ibv_srq_pingpong" pingpong ibv_srq_pingpong -q 4 -n 100
	t "$1: ibv_uc_pingpong" pingpong ibv_uc_pingpong -n 100
}

example() {
	pair 18515 "$BIN/exchange" "$SRV_DEV" "$srv_gid" 18515 -- \
		"$BIN/exchange" "$CLI_DEV" "$cli_gid" 18515 "$SRV4" >"$tmp/example"
	local rc=$?
	cat "$tmp/example"
	[ $rc = 0 ] && grep -q '^greetings from the server' "$tmp/example"
}

off() {
	! pair 18515 ibv_rc_pingpong -d "$SRV_DEV" -g "$srv_gid" -- \
		timeout 5 ibv_rc_pingpong -d "$CLI_DEV" -g "$cli_gid" "$SRV4" && no_trace
}

two_hosts 1500
index :0a4d:0002 :0a4d:0001
t "off by default: no connection, no listener" off
ib_enable
both "IPv4, two hosts"
t "the example of the documentation" example
index ^fd77:.*:0002 ^fd77:.*:0001
both "IPv6, two hosts"
t "nothing is left" within 10 nothing_left
teardown_hosts

one_host
ib_enable
index :0a4e:0001 :0a4e:0001
both "IPv4, one host"
index ^fd78:.*:0001 ^fd78:.*:0001
both "IPv6, one host"
t "nothing is left on one host" within 10 nothing_left
teardown_hosts
done_testing
