#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck disable=SC2034,SC2154	# what lib.sh has, and what it wants
#
# rdma-core's own Python tests, as pyverbs.sh and pyverbs_newest.sh run them.

pyverbs_pass() {	# DIR PREFIX LIST [OPTION...]
	tap_of "$2: " 400 "$here/pyverbs/suite.py" --tests "$1" --dev "$CLI_DEV" \
		--addr "$CLI4,$mac" --list "$here/pyverbs/$3" "${@:4}"
}

pyverbs_host() {
	one_host
	mac=$(on_cli cat /sys/class/net/d1/address)
}

pyverbs_ib() {
	ib_enable
	gid=$(within 5 gid_of "$CLI_DEV" :0a4e:0001) || bail "no GID"
}

# pyverbs DIR: the package "tests" in DIR: first unchanged, then those that connect their QPs as
# InfiniBand does: over rdma_cm, and unchanged where the policy allows it. Then all of them
# unchanged on a device that is no RNIC, with the same policy. pyverbs/fit.list has those that do
# not fit, pyverbs/ib.list those of the third run, pyverbs/plain.list those of the last.
pyverbs() {
	local mac gid

	# for an allocator that uses huge pages, if the kernel has any
	local pages=/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages
	[ ! -e $pages ] || echo 4 >$pages

	pyverbs_host
	pyverbs_pass "$1" pyverbs fit.list
	pyverbs_pass "$1" "pyverbs over rdma_cm" fit.list --rdmacm
	pyverbs_ib
	set_policy "$CLI_DEV" ib_ack=on || bail "no policy ib_ack"
	pyverbs_pass "$1" "pyverbs by modify_qp" fit.list --gid "$gid" \
		--ib-list "$here/pyverbs/ib.list"
	teardown_hosts

	SRNIC_TYPE=srnic_plain
	pyverbs_host
	pyverbs_ib
	pyverbs_pass "$1" "pyverbs on srnic_plain" plain.list --gid "$gid"
	teardown_hosts
}
