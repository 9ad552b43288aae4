#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# rdma-core's own Python tests: first as they are, then those that connect their QPs as
# InfiniBand does: over rdma_cm, and as they are where the policy allows it. Then all as they
# are on a device that is no RNIC, with what the policy allows. pyverbs/fit.list has those which
# do not fit, pyverbs/ib.list which of the third, pyverbs/plain.list which of the last.

. "$(dirname "$0")/lib.sh"

[ -e "$BIN/pyverbs/version" ] || bail "no tests of rdma-core (make -C tests/system)"

suite() {	# PREFIX [OPTION...]
	tap_of "$1: " 400 "$here/pyverbs/suite.py" --tests "$BIN/pyverbs" --dev "$CLI_DEV" \
		--addr "$CLI4,$mac" --list "$here/pyverbs/$list" "${@:2}"
}

# for an allocator that takes its memory from them, where the kernel has any
pages=/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages
[ ! -e $pages ] || echo 4 >$pages

list=fit.list
one_host
mac=$(on_cli cat /sys/class/net/d1/address)
suite pyverbs
suite "pyverbs over rdma_cm" --rdmacm
ib_enable
gid=$(within 5 gid_of "$CLI_DEV" :0a4e:0001) || bail "no GID"
suite "pyverbs by modify_qp" --gid "$gid" --ib-list "$here/pyverbs/ib.list"
teardown_hosts

SRNIC_TYPE=srnic_plain
list=plain.list
one_host
mac=$(on_cli cat /sys/class/net/d1/address)
ib_enable
gid=$(within 5 gid_of "$CLI_DEV" :0a4e:0001) || bail "no GID"
suite "pyverbs on srnic_plain" --gid "$gid"
teardown_hosts

done_testing
