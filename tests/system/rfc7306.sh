#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# RFC 7306: RDMA Write with immediate data and atomic operations, good and bad, the cases of
# rfc7306.c; and perftest with them.

. "$(dirname "$0")/lib.sh"

[ -x "$BIN/rfc7306" ] || bail "no $BIN/rfc7306: make -C tests/programs OUT=..."

one_host
# both ends are on one host: a small MTU makes messages of many segments
ip -n h1 link set lo mtu 1500

no_receive 0
cases rfc7306
teardown_hosts

two_hosts 1500
slow_syn
t "ib_atomic_bw, FetchAdd" perf ib_atomic_bw -A FETCH_AND_ADD -n 200
t "ib_atomic_bw, CmpSwap" perf ib_atomic_bw -A CMP_AND_SWAP -n 200
t "ib_atomic_lat" perf ib_atomic_lat -n 100
teardown_hosts
done_testing
