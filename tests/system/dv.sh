#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# libsrnic's own functions: the cases of dv.c, each in a process of its own, and what
# they leave behind.

. "$(dirname "$0")/lib.sh"

[ "$SRNIC_TYPE" = srnic ] || skip_all "the type under test is $SRNIC_TYPE"
[ -x "$BIN/dv" ] || bail "no $BIN/dv: make -C tests/programs OUT=..."

# The program is linked with the same library that libibverbs loads
one_library() {
	local n
	n=$(on_cli env LD_DEBUG=files "$BIN/dv" "$CLI4" attach 2>&1 |
		grep -c 'generating link map.*libsrnic\|file=libsrnic.*generating') || :
	echo "$n mappings"
	[ "$n" = 1 ]
}

one_host
cases dv
t "the provider and the library are one" one_library
t "nothing is left of the QPs" within 10 nothing_left

teardown_hosts
done_testing
