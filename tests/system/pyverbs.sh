#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# rdma-core's own Python tests: first as they are, then those that connect their
# QPs as InfiniBand does over rdma_cm. pyverbs/fit.list has those which do not fit.

. "$(dirname "$0")/lib.sh"

[ -e "$BIN/pyverbs/version" ] || bail "no tests of rdma-core (make -C tests/system)"

# What suite.py says of each test, as TAP; the rest of its output as comments.
suite() {	# PREFIX [OPTION...]
	local prefix=$1 verdict name rest ran=0
	shift
	while IFS=$'\t' read -r verdict name rest; do
		case $verdict in
		ok)	ok "$prefix: $name ($rest)" ;;
		skip)	skip "$prefix: $name" "$rest" ;;
		"not ok") not_ok "$prefix: $name ($rest)" ;;
		*)	echo "#     $verdict $name $rest"; continue ;;
		esac
		ran=$((ran + 1))
	done < <(on_cli timeout "$(slow 400)" /usr/bin/python3 -B "$here/pyverbs/suite.py" \
		--tests "$BIN/pyverbs" --dev "$CLI_DEV" --addr "$CLI4,$mac" \
		--list "$here/pyverbs/fit.list" "$@" 2>&1; echo "status $?")
	[ $ran -gt 0 ] || not_ok "$prefix: ran no test"
}

# for an allocator that takes its memory from them, where the kernel has any
pages=/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages
[ ! -e $pages ] || echo 4 >$pages

one_host
mac=$(on_cli cat /sys/class/net/d1/address)
suite pyverbs
suite "pyverbs over rdma_cm" --rdmacm
teardown_hosts

done_testing
