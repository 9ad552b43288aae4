#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# A scripted iWARP peer on a plain TCP socket (tests/wire/peer.py) sends good and bad streams to a
# program that uses the device; each of its tests is a test here. Then once more with its frames
# as pages of files, which on one host are the pages in the device's socket. Then as a peer of the
# RDMA Consortium's wire (tests/wire/rdmac.py).

. "$(dirname "$0")/lib.sh"

[ -x "$BIN/target" ] || bail "no $BIN/target: make -C tests/programs OUT=..."

one_host
no_receive 0	# the rows want the Terminate at once
tap_of "" 600 "$top/tests/wire/peer.py" "$BIN/target" "$CLI4"
tap_of "sendfile: " 600 "$top/tests/wire/peer.py" --sendfile "$BIN/target" "$CLI4"
tap_of "version 0: " 300 "$top/tests/wire/rdmac.py" "$BIN/target" "$CLI4"
teardown_hosts
done_testing
