#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# rdma-core's own Python tests, those of the newest rdma-core of Debian, with its libibverbs,
# librdmacm and pyverbs. "make check-pyverbs" builds these; the test runs only when named.

. "$(dirname "$0")/lib.sh"
. "$here/lib-pyverbs.sh"

newest=$top/build/pyverbs-newest
[ -e "$newest/version" ] || bail "there is no such rdma-core (scripts/pyverbs-newest)"
echo "# $(cat "$newest/version")"
export PYTHONPATH=$newest/tree/build/python
pyverbs "$newest"

done_testing
