#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# libvipl, the VI Provider Library: the cases of tests/vipl and tests/vipl_dg.

. "$(dirname "$0")/lib.sh"

[ -x "$BIN/vipl" ] || bail "no $BIN/vipl: make -C tests/system OUT=..."

one_host
export VIPL_DEVICE=$CLI_DEV VIPL_NETDEV=d1
cases vipl
cases vipl_dg
t "nothing is left behind" within 10 nothing_left
teardown_hosts
done_testing
