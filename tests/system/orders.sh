#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# QPs that are connected by ibv_modify_qp(): orders, ends, RESET, SQD. The cases of orders.c.

. "$(dirname "$0")/lib.sh"

[ "$SRNIC_TYPE" = srnic ] || skip_all "$SRNIC_TYPE does not connect so"
[ -x "$BIN/orders" ] || bail "no $BIN/orders: make -C tests/programs OUT=..."

# Each case in which a message has no peer to go to: one end of two has one
counted() {
	local case before n
	for case in nobody gone qpn psn closes leaves; do
		before=$(counter "$CLI_DEV" conn_no_peer)
		on_cli "$BIN/orders" "$CLI4" $case || return
		n=$(($(counter "$CLI_DEV" conn_no_peer) - before))
		echo "$case: $n"
		[ $n = 1 ] || return
	done
}

one_host
ib_enable
set_policy "$CLI_DEV" ib_timeout=1 || bail "no policy ib_timeout"
cases orders
t "each end without a peer was counted" counted
tap_of "forged: " 120 "$top/tests/wire/rendezvous.py" "$BIN/orders" "$CLI4" "$IB_PORT"
IB_PORT=791
set_policy "$CLI_DEV" ib_port=$IB_PORT ib_privileged=on || bail "no policy ib_privileged"
tap_of "forged: " 60 "$top/tests/wire/rendezvous.py" "$BIN/orders" "$CLI4" "$IB_PORT" privileged
t "a user's QPs connect from privileged ports" on_cli setpriv --reuid 65534 --regid 65534 \
	--clear-groups "$BIN/orders" "$CLI4" both
t "nothing listens any more" eval '! on_cli ss -Htln "sport = :$IB_PORT" | grep .'
t "nothing is left" within 10 nothing_left
teardown_hosts

IB_PORT=4791

# Both ends connect at once, over a network that delays and loses: one connection stays
CROSSINGS=${CROSSINGS:-100}
made() {
	echo $(($(counter "$SRV_DEV" "conn_$1") + $(counter "$CLI_DEV" "conn_$1")))
}

crossing() {
	pair 18516 "$BIN/crossing" "$SRV4" "$CROSSINGS" 18516 -- \
		"$BIN/crossing" "$CLI4" "$CROSSINGS" 18516 "$SRV4" || return
	echo "active $(made active), passive $(made passive), rejected $(made rejected)"
	[ "$(made active)" = "$CROSSINGS" ] && [ "$(made passive)" = "$CROSSINGS" ]
}

two_hosts 1500
ib_enable
if tc -n "$CLI_NS" qdisc replace dev v1 root netem delay 2ms 1ms loss 1% &&
	tc -n "$SRV_NS" qdisc replace dev v2 root netem delay 2ms 1ms loss 1%; then
	t -l 180 "$CROSSINGS connections, each tried from both ends" crossing
else
	skip "connections that cross" "this kernel has no netem"
fi
t "nothing is left of them" within 10 nothing_left
teardown_hosts
done_testing
