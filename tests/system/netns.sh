#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# RDMA network namespaces, exclusive mode: a device is in one namespace, and can be used only
# there.

. "$(dirname "$0")/lib.sh"

in_ns() {	# NETNS COMMAND...: "" is the initial one
	if [ -n "$1" ]; then ip netns exec "$@"; else "${@:2}"; fi
}

# The namespace's devices, as each of the tools lists them
sees() {	# NETNS DEVICE...
	local ns=$1 want verbs link
	shift
	want=$(echo "$@")
	verbs=$(in_ns "$ns" ibv_devices | awk 'NR > 2 { print $1 }' | sort | xargs)
	link=$(in_ns "$ns" rdma dev show | awk '{ print $2 }' | tr -d : | sort | xargs)
	echo "netns '$ns': rdma: '$link', libibverbs: '$verbs', expected: '$want'"
	[ "$verbs" = "$want" ] && [ "$link" = "$want" ]
}

exclusive() { rdma system set netns "$1" && rdma system show | grep "netns $1"; }

# the interfaces are there, the devices are not
begin() { sees "" sr1 sr2 && sees h1 && sees h2; }

cannot_use() {	# NETNS ADDR
	local out
	out=$(in_ns "$1" timeout "$(slow 20)" rping -s -a "$2" -C 1 2>&1) && return 1
	echo "$out"
	[[ $out == *"No RDMA devices were detected"* ]]
}

# ip and rdma take namespaces by name, and the initial one has none
set_netns() { ip netns attach init 1 && rdma dev set sr1 netns h1 && rdma dev set sr2 netns h2; }

# By name from outside, and from a neighbour
hidden() {
	sees "" && sees h1 sr1 && sees h2 sr2 || return
	! rdma dev show sr1 && ! ip netns exec h2 rdma dev show sr1 &&
		! ip netns exec h2 rdma link delete sr1 && ! ip netns exec h2 ibv_devinfo -d sr1
}

use() {
	pair 7174 rping -s -a "$SRV4" -C 10 -V -- rping -c -a "$SRV4" -C 10 -V &&
		pair 7174 rping -s -a "$SRV6" -C 10 -V -- rping -c -a "$SRV6" -C 10 -V &&
		pair 7174 rping -s -C 10 -V -- rping -c -a "$SRV4" -C 10 -V
}

resources() { in_ns "$1" rdma resource show qp | grep -c rping; }

# A program that uses the device loses it, and ends.
move_under_traffic() {
	local server client
	ip netns exec h2 rping -s -a "$SRV4" -C 10000000 >/dev/null 2>&1 &
	server=$!
	within 20 pid_listens $server 7174 || return
	ip netns exec h1 rping -c -a "$SRV4" -C 10000000 >/dev/null 2>&1 &
	client=$!
	within 20 eval '[ "$(resources h1)" -ge 1 ]' && [ "$(resources h2)" -ge 1 ] &&
		[ "$(resources "")" = 0 ] || { echo "resources"; return 1; }
	timeout "$(slow 20)" ip netns exec h1 rdma dev set sr1 netns init || { echo "move"; return 1; }
	within 20 eval "! kill -0 $client $server 2>/dev/null" || { echo "they hang"; return 1; }
	sees "" sr1 && sees h1
}

back() { rdma dev set sr1 netns h1 && sees h1 sr1 && use; }

# the interfaces go with their namespaces, and the devices with them
end() { ip netns del init && ip netns del h1 && ip netns del h2 && within 20 sees ""; }

# the mode can be changed only while there is no other namespace, and the end of the last one
# takes a while
t "the netns mode becomes exclusive" within 50 exclusive exclusive
two_hosts 1500
t "devices begin in the initial namespace" begin
t "a device in the initial namespace cannot be used in that of its interface" cannot_use h2 "$SRV4"
t "rdma dev set netns moves devices" set_netns
t "moved devices are seen in their namespace only" hidden
t "moved devices cannot be used in the initial namespace" cannot_use "" "$SRV4"
t "moved devices can be used in their namespace" use
t "a device moves to another namespace under traffic" move_under_traffic
t "the moved device cannot be used in its old namespace" cannot_use h1 "$CLI4"
t "the device moves back and can be used again" back
t "devices go with the namespaces of their interfaces" end
teardown_hosts
t "the netns mode becomes shared" within 50 exclusive shared
done_testing
