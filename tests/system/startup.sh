#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# MPA start-up against a scripted peer in both roles (tests/wire/startup.py); each
# of its tests is one here.

. "$(dirname "$0")/lib.sh"

[ -x "$BIN/roles" ] || bail "no $BIN/roles: make -C tests/system OUT=..."

# It ran to its end, whatever its tests found.
came_to_its_end() {
	tail -n 20 "$tmp/peer-err"
	grep -qE '^# [1-9][0-9]* tests, [0-9]+ failed$' "$tmp/peer"
}

one_host
: >"$tmp/peer"		# tail may be there before the peer is
on_cli env PYTHONDONTWRITEBYTECODE=1 timeout $((300 * ${SRNIC_SLOW:-1})) \
	python3 "$top/tests/wire/startup.py" "$BIN/roles" "$CLI4" "$CLI_DEV" >"$tmp/peer" 2>"$tmp/peer-err" &
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
