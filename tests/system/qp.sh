#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# States of a QP: the cases of qp.c, each in a process of its own, and what
# they leave behind.

. "$(dirname "$0")/lib.sh"

[ "$SRNIC_TYPE" = srnic ] || skip_all "the type under test is $SRNIC_TYPE"
[ -x "$BIN/qp" ] || bail "no $BIN/qp: make -C tests/programs OUT=..."

one_host
no_receive 0
cases -l 100 qp
t "nothing is left of the QPs" within 10 nothing_left

teardown_hosts
done_testing
