#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Regions of user memory, registered and registered anew: the cases of memory.c.

. "$(dirname "$0")/lib.sh"

[ -x "$BIN/memory" ] || bail "no $BIN/memory: make -C tests/programs OUT=..."

one_host
# both ends are on one host: a small MTU makes messages of many segments
ip -n h1 link set lo mtu 1500

cases memory
teardown_hosts
done_testing
