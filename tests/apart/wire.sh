# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
#
# The interface of a guest that scripts/guest has wired to another one. Sourced, after
# tests/system/lib.sh.

# wire_up NETNS ADDRESS/LEN RDMADEV: it is there with a device, which has that address
wire_up() {
	local dev
	modprobe -a virtio_pci virtio_net 2>/dev/null || modprobe virtio_net || bail "no virtio_net"
	within 10 eval '[ -n "$(ls /sys/bus/virtio/drivers/virtio_net/virtio*/net 2>/dev/null)" ]' ||
		bail "no interface"
	dev=$(echo /sys/bus/virtio/drivers/virtio_net/virtio*/net/*)
	dev=${dev##*/}
	add_ns "$1"
	ip link set "$dev" netns "$1" || bail "cannot move $dev"
	printf '%s\n' "link set lo up" "addr add $2 dev $dev" "link set $dev up" |
		ip -n "$1" -batch - || bail "cannot set up $dev"
	# perftest, see slow_syn
	slow_segments "$1" "$dev" "delay 150ms rate 8kbit" 0x02
	rdma_up "$1" "$dev" srnic "$3"
}
