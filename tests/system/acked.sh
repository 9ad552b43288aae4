#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# The policy ib_ack: completions that say that the data is there. The cases of acked.c, and those of
# placed.c: Flush and Atomic Write.

. "$(dirname "$0")/lib.sh"

[ "$SRNIC_TYPE" = srnic ] || skip_all "$SRNIC_TYPE has no policy"
for program in acked placed ackspeed orders; do
	[ -x "$BIN/$program" ] || bail "no $BIN/$program: make -C tests/programs OUT=..."
done

acked() { on_cli "$BIN/acked" "$CLI4" "$1"; }
placed() { on_cli "$BIN/placed" "$CLI4" "$1"; }

ib_ack() {
	set_policy "$CLI_DEV" ib_ack="$1" || bail "no policy ib_ack"
}

acks() {
	local tx rx
	tx=$(counter "$CLI_DEV" tx_acks)
	rx=$(counter "$CLI_DEV" rx_acks)
	echo "tx_acks: $tx; rx_acks: $rx"
	if [ "$1" = none ]; then
		[ "$tx" = 0 ] && [ "$rx" = 0 ]
	else
		[ "$tx" -gt 0 ] && [ "$rx" -gt 0 ] && [ "$rx" -le "$tx" ]
	fi
}

# Beside other guests there is no bound for the figures
speed() { on_cli "$BIN/ackspeed" "$CLI4" 300 >"$tmp/speed"; }

one_host
ib_enable
t "figures of ackspeed, without" speed
sed 's/^/# without: /' "$tmp/speed"
t "unacked: without it a Write completes before it is there" acked unacked
t "unagreed: without it an Atomic Write is no WR" placed unagreed
t "an acknowledgment is neither sent nor received" acks none
ib_ack on
cases acked
cases placed
t "acknowledgments are sent and received" acks some
tap_of "scripted: " 60 "$top/tests/wire/rendezvous.py" "$BIN/orders" "$CLI4" "$IB_PORT" acks
t "figures of ackspeed, with" speed
sed 's/^/# with: /' "$tmp/speed"
t "nothing is left" within 10 nothing_left
teardown_hosts

# Orders, ends and states as without it
one_host
ib_enable
ib_ack on
set_policy "$CLI_DEV" ib_timeout=1 || bail "no policy ib_timeout"
for case in both init rtr nobody gone itself closes attributes reset resets drain crossing threads send_imm; do
	t "orders with it: $case" on_cli "$BIN/orders" "$CLI4" $case
done
t "nothing is left of them" within 10 nothing_left
teardown_hosts

# The kthreads do it all
one_host
ib_enable
ib_ack on
set_policy "$CLI_DEV" inline_work=off || bail "no policy inline_work"
t "by kthreads: third" acked third
t "by kthreads: crossed" acked crossed
t "by kthreads: order" placed order
t "by kthreads: flush" placed flush
teardown_hosts

# pyverbs.sh has its completions
SRNIC_TYPE=srnic_plain
one_host
t "srnic_plain: it is on by default" grep -qx on "/sys/class/infiniband/$CLI_DEV/policy/ib_ack"
teardown_hosts
done_testing
