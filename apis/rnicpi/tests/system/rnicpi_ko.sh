#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# rnicpi.ko, with a kernel consumer whose QPs send while it is loaded (programs/kernel/talk.c):
# loaded and unloaded under traffic, and when its device leaves. The unit tests check its
# functions, apis/rnicpi/tests/kunit/rnicpi_*.c.

. "$(dirname "$0")/../../../../tests/system/lib.sh"

# With --long 100 loads, and the memory that they take
LOADS=${LOADS:-${TEST_LONG:+100}}
LOADS=${LOADS:-10}
ko=/lib/modules/$(uname -r)/updates/srnic_talk.ko
params=/sys/module/srnic_talk/parameters
[ -e "$ko" ] || bail "no $ko: scripts/build-stage"
[ "$SRNIC_TYPE" = srnic ] || skip_all "rnicpi.ko is for srnic"

talk() { modprobe rnicpi && ip netns exec "$CLI_NS" insmod "$ko" netdev=d1 addr="$CLI4" "$@"; }
count() { cat "$params/$1"; }
has_talked() { [ "$(count rounds)" -ge "$1" ]; }
hush() { rmmod srnic_talk && rmmod rnicpi && [ ! -e /sys/module/rnicpi ]; }

converses() {
	talk && within 30 has_talked 2000 || { count rounds; return 1; }
	echo "$(count rounds) rounds, $(count spoilt) spoilt, $(count events) events"
	[ "$(count spoilt)" = 0 ] && [ "$(count events)" = 0 ]
}

# Its own is under way, and that of programs
loads() {	# TIMES
	local i
	for i in $(seq "$1"); do
		talk && within 20 has_talked 20 && [ "$(count spoilt)" = 0 ] ||
			{ echo "load $i"; return 1; }
		hush || { echo "unload $i"; return 1; }
	done
}

# Programs with QPs on the same device, one run after the other
traffic() {
	while [ ! -e "$tmp/enough" ]; do
		integrity -- --seed 1 --qps 4 --ops 100 --max-size 100000 >"$tmp/traffic" 2>&1 || return
		echo >>"$tmp/runs"
	done
}

under_traffic() {
	local traffic rc=0
	traffic &
	traffic=$!
	loads "$LOADS" || rc=1
	touch "$tmp/enough"
	wait $traffic || { rc=1; cat "$tmp/traffic"; }
	echo "$(wc -l <"$tmp/runs") runs of integrity"
	return $rc
}

# As leak.sh has it: noise is a few hundred KiB, and a QP that is left more than 8 KiB
no_leak() {
	local before after
	loads 20 || return
	before=$("$top/scripts/kernel-memory")
	loads 50 || return
	after=$("$top/scripts/kernel-memory")
	echo "$before KiB before, $after KiB after 50 times"
	[ $((after - before)) -le 2000 ]
}

# The consumer ends its objects, or rnicpi.ko does
device_goes() {	# leave=0 or 1
	talk "$1" && within 20 has_talked 100 || return
	timeout 30 rdma link delete sr1 || return
	[ "$(count events)" -ge 1 ] || { echo "no event"; return 1; }
	hush || return
	rdma_up h1 d1 "$SRNIC_TYPE" sr1
}

# The device is added when the consumer is loaded already: ri_svc_attach() notifies the consumer
device_comes() {
	timeout 30 rdma link delete sr1 && talk || return
	ip netns exec h1 timeout 20 rdma link add sr1 type "$SRNIC_TYPE" netdev d1 || return
	within 20 has_talked 100 || return
	hush
}

one_host
t "a kernel consumer converses" converses
t "it is unloaded, and rnicpi.ko after it" hush
t -l 1200 "loaded and unloaded again and again under traffic" under_traffic
[ -z "${TEST_LONG:-}" ] || t -l 900 "no memory is left" no_leak
t "the device goes, and the consumer is told" device_goes leave=0
t "the device goes, and the consumer has left everything" device_goes leave=1
t "the device comes, and the consumer is told" device_comes
teardown_hosts
t "nobody holds the modules" modprobe -r rnicpi
done_testing
