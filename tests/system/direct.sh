#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Operations of programs without the kernel: see direct.c.

. "$(dirname "$0")/lib.sh"

[ -x "$BIN/direct" ] || bail "no $BIN/direct: make -C tests/programs OUT=..."

one_host
t "posting, polling and arming without a system call" on_cli "$BIN/direct" "$CLI4"
teardown_hosts
done_testing
