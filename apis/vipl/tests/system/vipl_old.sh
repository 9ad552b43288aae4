#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# libvipl under programs of the kinds that people had for VI, over both interfaces: a few thousand
# messages each, and a million in the long runs.

. "$(dirname "$0")/../../../../tests/system/lib.sh"

one_host
export VIPL_DEVICE=$CLI_DEV
limit=$T_LIMIT
if [ -n "${TEST_LONG:-}" ]; then
	export VIPL_MESSAGES=1000000 VIPL_TIMEOUT=2700
	limit=2720
fi
cases -l $limit vipl_old
cases -l $limit vipl_old_dg
t "nothing is left behind" within 10 nothing_left
teardown_hosts
done_testing
