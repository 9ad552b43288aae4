#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Interoperation with the kernel's own software iWARP, siw, in both roles. siw
# makes its sockets in the network namespace of its caller and not of its
# device, so servers bind to one address: a wildcard would clash with itself.

. "$(dirname "$0")/lib.sh"

[ -e /sys/module/siw ] || skip_all "the siw module is not loaded"

perf() {	# PORT TOOL OPTION...
	local port=$1 tool=$2
	shift 2
	pair "$port" "$tool" -R -F -p "$port" --bind_source_ip "$SRV4" "$@" -- \
		"$tool" -R -F -p "$port" "$@" "$SRV4"
}

suite() {	# WHO
	t "$1: rping v4" pair 7174 rping -s -a "$SRV4" -p 7174 -C 20 -V -S 3000 -- \
		rping -c -a "$SRV4" -p 7174 -C 20 -V -S 3000
	t "$1: rping v6" pair 7175 rping -s -a "$SRV6" -p 7175 -C 20 -V -S 64 -- \
		rping -c -a "$SRV6" -p 7175 -C 20 -V -S 64
	t "$1: ib_write_bw" perf 7181 ib_write_bw -n 50
	t "$1: ib_read_bw" perf 7182 ib_read_bw -n 50
	t "$1: ib_send_bw" perf 7183 ib_send_bw -n 50
}

two_hosts 1500 "$SRNIC_TYPE" siw
suite "client $SRNIC_TYPE, server siw"
teardown_hosts
two_hosts 1500 siw "$SRNIC_TYPE"
suite "client siw, server $SRNIC_TYPE"
teardown_hosts
done_testing
