#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Objects in the terms of the RDMAC verbs: the cases of query.c, each in a process of its
# own, and what they leave behind.

. "$(dirname "$0")/lib.sh"

[ "$SRNIC_TYPE" = srnic ] || skip_all "the type under test is $SRNIC_TYPE"
[ -x "$BIN/query" ] || bail "no $BIN/query: make -C tests/programs OUT=..."

one_host
cases query
t "nothing is left of the objects" within 10 nothing_left

teardown_hosts
done_testing
