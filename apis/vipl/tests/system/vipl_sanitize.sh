#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# libvipl and the cases of apis/vipl/tests/programs, built with the compiler's sanitizers.

. "$(dirname "$0")/../../../../tests/system/lib.sh"

[[ $(uname -r) == *-srnic-uml* ]] || skip_all "an emulator is too slow for it"

one_host
export VIPL_DEVICE=$CLI_DEV VIPL_NETDEV=d1 VIPL_MESSAGES=2000 VIPL_ROUNDS=10
export VIPL_FUZZ=1000
export ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1
cases vipl-address
export TSAN_OPTIONS="exitcode=66 suppressions=$top/apis/vipl/tests/programs/tsan.supp"
cases vipl-thread
t "nothing is left behind" within 10 nothing_left
teardown_hosts
done_testing
