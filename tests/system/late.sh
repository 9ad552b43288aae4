#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# The policy no_receive: messages for which no receive is posted. The cases of late.c.

. "$(dirname "$0")/lib.sh"

[ "$SRNIC_TYPE" = srnic ] || skip_all "$SRNIC_TYPE has no policy"
[ -x "$BIN/late" ] || bail "no $BIN/late: make -C tests/programs OUT=..."

waited() {
	local dev rnr=0 empty=0
	for dev in "$CLI_DEV" "$SRV_DEV"; do
		rnr=$((rnr + $(counter "$dev" rx_rnr_waits)))
		empty=$((empty + $(counter "$dev" rq_empty)))
	done
	echo "rx_rnr_waits: $rnr; rq_empty: $empty"
	[ "$rnr" -gt 0 ] && [ "$empty" = 0 ]
}

one_host
set_policy "$SRV_DEV" no_receive=wait && set_policy "$CLI_DEV" no_receive=wait ||
	bail "cannot set no_receive"
cases late
t "messages waited, and none was without a receive" waited
teardown_hosts
done_testing
