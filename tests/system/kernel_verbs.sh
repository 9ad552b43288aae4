#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# The device used by a kernel consumer: kernel/, a module that connects QPs to each other and
# checks every octet and completion.

. "$(dirname "$0")/lib.sh"

ko=/lib/modules/$(uname -r)/updates/srnic_selftest.ko
ctl=/sys/kernel/debug/srnic_selftest
[ -e "$ko" ] || bail "no $ko: scripts/build-stage"
modprobe -a ib_core rdma_cm || bail "no RDMA core"
[ -d $ctl ] || insmod "$ko" || bail "srnic_selftest does not load"

selftest() {	# NAME PORT
	exec 7<"/run/netns/$CLI_NS" 8<"/run/netns/$SRV_NS"
	echo "$1 7 8 $SRV4 $2" >$ctl/run && return
	cat $ctl/log
	return 1
}

all() {	# HOSTS
	local name what
	t "$1: srnic_selftest lists its tests" cases_of cat $ctl/tests
	while IFS=$'\t' read -r -u 3 name what; do
		t "$1: $name: $what" selftest "$name" 7480
	done 3<"$tmp/cases"
}

two_hosts 1500
all "two hosts"
teardown_hosts

one_host
all "one host"
teardown_hosts

t "the module unloads" rmmod srnic_selftest
done_testing
