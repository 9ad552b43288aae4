#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# libvipl, the VI Provider Library: the cases of tests/vipl and tests/vipl_dg.

. "$(dirname "$0")/lib.sh"

[ -x "$BIN/vipl" ] || bail "no $BIN/vipl: make -C tests/system OUT=..."

one_host
export VIPL_DEVICE=$CLI_DEV VIPL_NETDEV=d1
cases vipl
cases vipl_dg
t "nothing is left behind" within 10 nothing_left
teardown_hosts

# The examples, between two hosts: the server's program and arguments, and the client's,
# who tries until the server is there
example() {
	local server=() rc=0 pid
	while [ "$1" != -- ]; do
		server+=("$1")
		shift
	done
	shift
	on_srv "$BIN/vipl_example_${server[0]}" "${server[@]:1}" &
	pid=$!
	on_cli "$BIN/vipl_example_$1" "${@:2}" || rc=$?
	[ $rc = 0 ] || kill $pid
	wait $pid && return $rc
}

# Two clients of one server
example_cq() {
	local rc=0 pid first
	on_srv "$BIN/vipl_example_server" v2 2 >"$tmp/server" &
	pid=$!
	on_cli "$BIN/vipl_example_pingpong" v1 "$SRV4" 64 100 &
	first=$!
	on_cli "$BIN/vipl_example_pingpong" v1 "$SRV4" 4096 100 || rc=1
	wait $first || rc=1
	[ $rc = 0 ] || kill $pid
	wait $pid || rc=1
	cat "$tmp/server"
	[ $rc = 0 ] && grep -q '^2 clients, 200 messages$' "$tmp/server"
}

two_hosts 1500
t "example: ping-pong" example pingpong v2 -- pingpong v1 "$SRV4" 64 200
t "example: ping-pong of long messages" example pingpong v2 -- pingpong v1 "$SRV4" 65536 50
t "example: two peers" example peer v2 bob "$CLI4" alice -- peer v1 alice "$SRV4" bob
t "example: a server of several clients" example_cq
t "example: unreliable messages" example unreliable v2 -- unreliable v1 "$SRV4" 2000
t "nothing is left behind by the examples" within 10 nothing_left
teardown_hosts
done_testing
