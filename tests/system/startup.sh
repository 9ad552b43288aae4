#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# MPA start-up with a scripted peer in both roles (tests/wire/startup.py); each of its tests is a
# test here.

. "$(dirname "$0")/lib.sh"

[ -x "$BIN/roles" ] || bail "no $BIN/roles: make -C tests/programs OUT=..."

one_host
tap_of "" 300 "$top/tests/wire/startup.py" "$BIN/roles" "$CLI4" "$CLI_DEV"
teardown_hosts
done_testing
