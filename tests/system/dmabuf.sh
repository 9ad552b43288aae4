#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Regions of DMA buffers, of system memory by vgem: the case of dmabuf.c.

. "$(dirname "$0")/lib.sh"

[ -x "$BIN/dmabuf" ] || bail "no $BIN/dmabuf: make -C tests/programs OUT=..."
need_modules vgem
within 5 test -e /dev/dri/card0 || bail "vgem has no card"

one_host
# both ends are on one host: a small MTU makes messages of many segments
ip -n h1 link set lo mtu 1500

cases dmabuf
teardown_hosts
done_testing
