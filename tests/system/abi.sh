#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# The interface between provider and kernel: the cases of abi.c, each in a process of its own, and
# what they leave behind.

. "$(dirname "$0")/lib.sh"

[ "$SRNIC_TYPE" = srnic ] || skip_all "the type under test is $SRNIC_TYPE"
[ -x "$BIN/abi" ] || bail "no $BIN/abi: make -C tests/programs OUT=..."

one_host
cases abi
t "nothing is left" within 10 nothing_left
teardown_hosts
done_testing
