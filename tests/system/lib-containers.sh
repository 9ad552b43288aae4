# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
#
# Shared by the tests of containers. Sourced, never run, after lib.sh.

examples=$top/Documentation/examples

# The host has a bridge, with a device, to which the interfaces of containers lead.
host_up() {
	ip link add br0 type bridge && ip addr add 10.80.0.1/24 dev br0 && ip link set br0 up &&
		ip link set lo up && rdma link add sr0 type srnic netdev br0 || bail "no device on a bridge"
	made_rdma="$made_rdma sr0"
}

host_down() {
	rdma link delete sr0
	ip link del br0
}

# a name in /dev/infiniband
verbs_of() { grep -lx "$1" /sys/class/infiniband_verbs/uverbs*/ibdev | cut -d / -f 5; }

# plugin COMMAND ID PID INTERFACE: Documentation/examples/cni, as a runtime calls it, for an interface
# of the container ID, where PID is
plugin() {
	echo '{"cniVersion": "0.4.0", "name": "some", "type": "srnic", "prevResult": {}}' |
		CNI_COMMAND=$1 CNI_CONTAINERID=$2 CNI_NETNS=/proc/$3/ns/net CNI_IFNAME=$4 "$examples/cni/srnic"
}

# no_device COMMAND...: a program that finds no device, and says so
no_device() {
	local out
	out=$("$@" 2>&1) && { echo "$out"; return 1; }
	echo "$out"
	[[ $out == *"No IB devices found"* || $out == *"No RDMA devices were detected"* ]]
}
