#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# librnicpi and the cases of apis/rnicpi/tests/programs, built with the compiler's sanitizers.

. "$(dirname "$0")/../../../../tests/system/lib.sh"

[[ $(uname -r) == *-srnic-uml* ]] || skip_all "an emulator is too slow for it"

one_host
export RNICPI_DEVICE=$CLI_DEV RNICPI_NETDEV=d1
export ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1
cases rnicpi-address
export TSAN_OPTIONS="exitcode=66 suppressions=$top/apis/rnicpi/tests/programs/tsan.supp"
cases rnicpi-thread
t "nothing is left behind" within 10 nothing_left
teardown_hosts
done_testing
