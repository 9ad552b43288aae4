#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# rdma-core's own Python tests, those of the installed python3-pyverbs.

. "$(dirname "$0")/lib.sh"
. "$here/lib-pyverbs.sh"

[ -e "$BIN/pyverbs/version" ] || bail "no tests of rdma-core (make -C tests/programs)"
pyverbs "$BIN/pyverbs"

done_testing
