#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Everything a program must not do, and how it is refused: the cases of badinput.c, each in a
# process of its own, and what they leave behind.

. "$(dirname "$0")/lib.sh"

[ -x "$BIN/badinput" ] || bail "no $BIN/badinput: make -C tests/programs OUT=..."

log_lines() { dmesg | wc -l; }

# Errors of programs may be logged, but not without bound: all of the above must not have made the
# kernel log grow by more than this.
no_log_flood() {
	local n=$(($(log_lines) - log_before))
	echo "$n lines"
	[ $n -le 50 ]
}

# The errors were counted or logged.
errors_counted() {
	local name value
	for name in rx_protection_errors rx_protocol_errors local_wr_errors \
		    ring_corruptions tx_terminates rx_terminates conn_failed; do
		value=$(counter "$SRV_DEV" $name) || return
		echo "$name $value"
		[ "$value" -gt 0 ] || return
	done
}

# Data that is no MPA Request ends that connection, and affects no other.
bad_hello() {
	local before rc=0
	before=$(counter "$SRV_DEV" conn_failed) || return
	serve 7174 rping -s -a "$SRV4" -p 7174 -C 5 || return
	on_cli timeout "$(slow 20)" bash -c "head -c 20 /dev/zero >/dev/tcp/$SRV4/7174" || return
	within 10 eval '[ "$(counter "$SRV_DEV" conn_failed)" -gt $before ]' || return
	on_cli rping -c -a "$SRV4" -p 7174 -C 5 && served || rc=$?
	return $rc
}

one_host
log_before=$(log_lines)
cases badinput
if [ "$SRNIC_TYPE" = srnic ]; then
	ib_enable
	t "modify: QPs are taken from state to state with rubbish" \
		on_cli "$BIN/badinput" "$CLI4" modify
	t "create-ah: address handles of rubbish" on_cli "$BIN/badinput" "$CLI4" create-ah
	set_policy "$CLI_DEV" ib_port=0 || bail "no policy ib_port"
fi

t "the device still works" pair 7174 rping -s -a "$SRV4" -C 10 -S 1000 -V -- \
	rping -c -a "$SRV4" -C 10 -S 1000 -V
t "nothing is left of the misused objects" within 10 nothing_left
if [ "$SRNIC_TYPE" = srnic ]; then	# other drivers have no such counters
	t "rubbish instead of a Request ends the connection only" bad_hello
	t "errors are counted" errors_counted
fi
t "the kernel log is not flooded" no_log_flood

teardown_hosts
done_testing
