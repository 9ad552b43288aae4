#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# A scripted iWARP peer on a plain TCP socket (tests/wire/peer.py) sends good
# and bad streams to a program that uses the device; each of its tests is one here.

. "$(dirname "$0")/lib.sh"

[ -x "$BIN/target" ] || bail "no $BIN/target: make -C tests/system OUT=..."

# It ran to its end, whatever its tests found.
came_to_its_end() {
	tail -n 20 "$tmp/peer-err"
	grep -qE '^# [1-9][0-9]* tests, [0-9]+ failed$' "$tmp/peer"
}

one_host
: >"$tmp/peer"		# tail may be there before the peer is
on_cli env PYTHONDONTWRITEBYTECODE=1 timeout "$(slow 600)" \
	python3 "$top/tests/wire/peer.py" "$BIN/target" "$CLI4" >"$tmp/peer" 2>"$tmp/peer-err" &
peer=$!
while IFS= read -r line; do
	case $line in
	'ok '*)     ok "${line#ok }" ;;
	'not ok '*) not_ok "${line#not ok }" ;;
	*)          echo "$line" ;;
	esac
done < <(tail -n +1 -f -s 0.2 --pid=$peer "$tmp/peer")
t "the peer came to its end" came_to_its_end
teardown_hosts
done_testing
