#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# The policy no_receive: messages for which no receive is posted. The cases of late.c, and
# a program that counts on a receiver that makes senders wait.

. "$(dirname "$0")/lib.sh"

[ "$SRNIC_TYPE" = srnic ] || skip_all "$SRNIC_TYPE has no policy"
[ -x "$BIN/late" ] || bail "no $BIN/late: make -C tests/system OUT=..."

waited() {
	local n
	n=$(counter "$SRV_DEV" rx_rnr_waits)
	echo "rx_rnr_waits of $SRV_DEV: $n; rq_empty: $(counter "$SRV_DEV" rq_empty)"
	[ "$n" -gt 0 ] && [ "$(counter "$SRV_DEV" rq_empty)" = 0 ]
}

one_host
set_policy "$SRV_DEV" no_receive=wait && set_policy "$CLI_DEV" no_receive=wait ||
	bail "cannot set no_receive"
cases late
teardown_hosts

two_hosts 1500
set_policy "$SRV_DEV" no_receive=wait || bail "cannot set no_receive"
slow_syn
t "ib_send_bw: 4 QPs on one SRQ" perf ib_send_bw --use-srq -q 4 -n 2000 -s 5000
fast_syn
t "messages waited, and none was without a receive" waited
teardown_hosts
done_testing
