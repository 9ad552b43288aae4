#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# MPA markers between two devices, to either or to both, with CRC and without.

. "$(dirname "$0")/lib.sh"

[ -x "$BIN/integrity" ] || bail "no $BIN/integrity: make -C tests/programs OUT=..."

two_hosts 1500
while read -r -u 3 to_cli to_srv crc; do
	set_policy "$CLI_DEV" markers="$to_cli" crc="$crc" &&
		set_policy "$SRV_DEV" markers="$to_srv" crc="$crc" || bail "cannot set the policy"
	what="markers to client $to_cli, to server $to_srv, CRC $crc"
	t "$what: rping" pair 7174 rping -s -a "$SRV4" -S 4096 -C 5 -V -- \
		rping -c -a "$SRV4" -S 4096 -C 5 -V
	t "$what: integrity" integrity -- --seed 7 --qps 2 --ops 60 --max-size 70000
done 3<<-END
	on off required
	off on required
	on on off
	on on required
END
t "small messages" integrity -- --seed 7 --qps 2 --ops 300 --max-size 200 --window 64
set_policy "$CLI_DEV" max_fpdu=65535 && set_policy "$SRV_DEV" max_fpdu=200 ||
	bail "cannot set max_fpdu"
t "large FPDUs one way, small ones the other" integrity -- --seed 7 --qps 2 --ops 60 --max-size 200000
t "no device counted an error" no_errors
teardown_hosts
done_testing
