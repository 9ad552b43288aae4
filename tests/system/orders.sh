#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# QPs that are connected by ibv_modify_qp(): orders, ends, RESET, SQD. The cases of orders.c.

. "$(dirname "$0")/lib.sh"

[ "$SRNIC_TYPE" = srnic ] || skip_all "$SRNIC_TYPE does not connect so"
[ -x "$BIN/orders" ] || bail "no $BIN/orders: make -C tests/system OUT=..."

counted() {
	local n
	n=$(counter "$CLI_DEV" conn_no_peer)
	echo "conn_no_peer: $n"
	[ "$n" = 5 ]
}

one_host
ib_enable
set_policy "$CLI_DEV" ib_timeout=1 || bail "no policy ib_timeout"
cases orders
t "each end without a peer was counted" counted
t "nothing listens any more" eval '! on_cli ss -Htln "sport = :$IB_PORT" | grep .'
t "nothing is left" within 10 nothing_left
teardown_hosts
done_testing
