#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# A sender without any rights that keeps writing to data it has sent (unstable.c): over lo the
# octets in the receive queue are the pages of its file.

. "$(dirname "$0")/lib.sh"

[ "$SRNIC_TYPE" = srnic ] || skip_all "the type under test is $SRNIC_TYPE"
[ -x "$BIN/unstable" ] || bail "no $BIN/unstable: make -C tests/programs OUT=..."

SECS=${TEST_LONG:+600}
SECS=${SECS:-20}

changes() {
	(exec ip netns exec "$CLI_NS" setpriv --reuid 65534 --regid 65534 --clear-groups \
		"$BIN/unstable" "$CLI4" "$SECS") || return
	echo "rx_crc_errors: $(counter "$CLI_DEV" rx_crc_errors)"
	[ "$(counter "$CLI_DEV" rx_crc_errors)" -gt 0 ]
}

one_host
t -l $((SECS + 40)) "octets that change in the receive queue harm nobody" changes
t "others are served afterwards" pair 7174 rping -s -a "$SRV4" -p 7174 -C 10 -- \
	rping -c -a "$SRV4" -p 7174 -C 10
teardown_hosts
done_testing
