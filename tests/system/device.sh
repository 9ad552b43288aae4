#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# The device: interfaces that can have one, how it follows its interface, and how the tools show
# it.

. "$(dirname "$0")/lib.sh"

add()    { rdma link add "$1" type "$SRNIC_TYPE" netdev "$2"; }
gone()   { [ ! -e "/sys/class/infiniband/$1" ]; }
state()  { rdma link show "$1/1" | grep -q "state $2"; }
info()   { ibv_devinfo -v -d "$1"; }
gid0()   { cat "/sys/class/infiniband/$1/ports/1/gids/0"; }

# add_delete NETDEV: libibverbs sees a device there, and it can be deleted
add_delete() {
	add srt "$1" && info srt | grep -E 'transport:|state:|GID\[' &&
		info srt | grep -q 'transport:.*iWARP' &&
		rdma link delete srt && within 5 gone srt
}

kinds() {
	ip link add kd type dummy && ip link set kd up || return 1
	ip link add kv type veth peer name kw && ip link set kv up && ip link set kw up || return 1
	ip link add link kd name kd.5 type vlan id 5 && ip link set kd.5 up || return 1
	ip link add kb type bridge && ip link set kb up || return 1
	ip link add ko type bond || return 1
	[ -e /dev/net/tun ] || modprobe tun || return 1
	ip tuntap add dev kt mode tun && ip link set kt up || return 1
}
t "interfaces of many kinds can be made" kinds
for dev in kd kv kd.5 kb ko kt lo; do
	t "a device on $dev" add_delete $dev
done

made_up_gid() {
	local a b
	add srt lo && a=$(gid0 srt) && rdma link delete srt && within 5 gone srt &&
		add srt lo && b=$(gid0 srt) && rdma link delete srt && within 5 gone srt || return 1
	echo "$a $b"
	# not all zero, locally administered, the same each time
	[ "$a" = "$b" ] && [ "$a" != 0000:0000:0000:0000:0000:0000:0000:0000 ] &&
		[ $(( 0x${a:0:2} & 3 )) = 2 ]
}
t "lo has a made-up, stable, locally administered GID" made_up_gid

mac_gid() {
	local mac
	mac=$(cat /sys/class/net/kd/address)
	add srt kd || return 1
	echo "$mac $(gid0 srt)"
	[ "$(gid0 srt | tr -d : | cut -c1-12)" = "$(echo "$mac" | tr -d :)" ]
}
t "the GID is the MAC address" mac_gid

second() {
	local out
	out=$(add srt2 kd 2>&1) && return 1
	echo "$out"
	[[ $out == *"File exists"* ]] && gone srt2
}
t "a second device on one interface is refused: EEXIST" second

no_netdev() {
	local out
	out=$(add srt2 nosuchif 2>&1) && return 1
	echo "$out"
	[ -n "$out" ] && gone srt2
}
t "an interface that does not exist is refused" no_netdev

long_name() {
	local out name
	name=$(printf 'x%.0s' {1..32})
	out=$(add "$name" kd 2>&1) && return 1
	echo "$out"
	[[ $out == *"name too long"* ]] && gone "$name"
}
t "a name of 32 characters is refused: ENAMETOOLONG" long_name

attributes() {
	local out
	out=$(info srt) || return 1
	echo "$out"
	for want in 'transport:[[:space:]]*iWARP' 'state:[[:space:]]*PORT_ACTIVE' \
		'link_layer:[[:space:]]*Ethernet' 'max_msg_sz:[[:space:]]*0xffffffff' \
		'max_qp:[[:space:]]*65536' 'max_sge:[[:space:]]*32' 'max_sge_rd:[[:space:]]*32' \
		'max_qp_rd_atom:[[:space:]]*128' 'max_srq:[[:space:]]*65536' 'gid_tbl_len:[[:space:]]*32'; do
		grep -Eq "$want" <<<"$out" || { echo "missing: $want"; return 1; }
	done
}
t "ibv_devinfo -v shows true attributes" attributes

tools() {
	ibv_devices | grep -q srt && rdma link show | grep -q 'link srt/1 state ACTIVE' &&
		rdma dev show srt && rdma dev show srt | grep -q 'node_type rnic' &&
		rdma resource show srt | grep -q 'pd 0 cq 0 qp 0' &&
		rdma statistic show link srt/1 | grep -q tx_fpdus
}
t "ibv_devices, rdma link, dev, resource and statistic" tools

follow_state() {
	ip link set kd down && within 5 state srt DOWN && info srt | grep -q PORT_DOWN &&
		ip link set kd up && within 5 state srt ACTIVE
}
t "the port follows down and up" follow_state

follow_mtu() {
	ip link set kd mtu 9000 && info srt | grep -q 'active_mtu:.*4096' &&
		ip link set kd mtu 1500 && info srt | grep -q 'active_mtu:.*1024'
}
t "the port follows the MTU" follow_mtu

follow_mac() {
	ip link set kd address 02:00:00:00:00:42 &&
		within 5 eval '[ "$(gid0 srt)" = 0200:0000:0042:0000:0000:0000:0000:0000 ]'
}
t "the GID follows the MAC address" follow_mac

# those of the 32 that are not empty: FILE:GID
gids()     { grep -v '^[0:]*$' /sys/class/infiniband/srt/ports/1/gids/*; }
index_of() { grep -l "$1" /sys/class/infiniband/srt/ports/1/gids/* | sed 's,.*/,,'; }

# the address is at some index but 0, within 5 s
at_index() { [ -n "$(index_of "$1")" ] && [ "$(index_of "$1")" -gt 0 ]; }
has_gid()  { within 5 at_index "$1"; }

follow_addresses() {
	ip addr add 10.77.0.1/24 dev kd && has_gid ":ffff:0a4d:0001" &&
		ip addr add fd77::1/64 dev kd nodad && has_gid "^fd77:.*:0001" && has_gid "^fe80:" || return 1
	gids
	ip addr del 10.77.0.1/24 dev kd && within 5 eval '[ -z "$(index_of :0a4d:0001)" ]' &&
		ip addr del fd77::1/64 dev kd && within 5 eval '[ -z "$(index_of ^fd77:)" ]'
}
t "each address of the interface has a GID" follow_addresses

keep_index() {
	local at
	ip addr flush dev kd && ip addr add 10.77.1.1/32 dev kd && ip addr add 10.77.2.1/32 dev kd &&
		has_gid :0a4d:0201 && at=$(index_of :0a4d:0201) || return 1
	ip addr del 10.77.1.1/32 dev kd && within 5 eval '[ -z "$(index_of :0a4d:0101)" ]' || return 1
	gids
	[ "$(index_of :0a4d:0201)" = "$at" ] && ip addr flush dev kd
}
t "an address keeps its GID index while others go" keep_index

# one more than the table has entries
many_addresses() {
	local i
	for i in $(seq 40); do
		ip addr add 10.78.0.$i/32 dev kd || return 1
	done
	within 5 eval '[ "$(gids | wc -l)" = 32 ]' || { gids; return 1; }
	ip addr flush dev kd
	within 5 eval '[ "$(gids | grep -c :0a4e:)" = 0 ]'
}
t "more addresses than the table has places do no harm" many_addresses

follow_name() {
	# on 6.1 an interface can be renamed only while it is down
	ip link set kd down && ip link set kd name kdx && rdma link show srt/1 | grep -q 'netdev kdx' &&
		info srt >/dev/null && ip link set kdx name kd &&
		ip link set kd up && within 5 state srt ACTIVE
}
t "the device stays when its interface is renamed" follow_name

follow_netns() {
	ip netns add kn && ip link set kd netns kn && ip -n kn link set kd up &&
		within 5 state srt ACTIVE && info srt >/dev/null &&
		ip -n kn link set kd netns 1 && ip link set kd up && within 5 state srt ACTIVE
}
t "the device stays when its interface moves to another netns and back" follow_netns
ip netns del kn 2>/dev/null

delete_netdev() { ip link del kd && within 10 gone srt; }
t "the device goes with its interface" delete_netdev

autoload() {
	modprobe -r srnic && [ ! -e /sys/module/srnic ] && add srt kv &&
		[ -e /sys/module/srnic ] && info srt | grep -q PORT_ACTIVE
}
if [ "$SRNIC_TYPE" = srnic ]; then
	t "rdma link add loads the module" autoload
else
	skip "rdma link add loads the module" "the type under test is $SRNIC_TYPE"
fi

unload() { modprobe -r srnic && gone srt && modprobe srnic; }
if [ "$SRNIC_TYPE" = srnic ]; then
	t "the module unloads with a device there" unload
else
	skip "the module unloads with a device there" "the type under test is $SRNIC_TYPE"
fi

for dev in ko kb kv; do
	ip link del $dev
done
done_testing
