#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Memory windows: the cases of mw.c, each in a process of its own, and what
# they leave behind.

. "$(dirname "$0")/lib.sh"

[ "$SRNIC_TYPE" = srnic ] || skip_all "the type under test is $SRNIC_TYPE"
[ -x "$BIN/mw" ] || bail "no $BIN/mw: make -C tests/programs OUT=..."

one_host
cases mw	# the last case is a process that is killed
t "nothing is left of the windows" within 10 nothing_left

teardown_hosts
done_testing
