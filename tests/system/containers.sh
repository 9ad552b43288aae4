#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Containers, with the commands of Documentation/containers.rst, in both modes of `rdma system`. A
# container is what it is to the kernel: namespaces for network and mounts, a sysfs of its own, and
# the files of /dev/infiniband that it was given.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib-containers.sh"

need_programs unshare nsenter setpriv prlimit

root=$tmp/cgroup
CGROUP=$root/c2
containers=''		# their first processes
PID1='' PID2=''		# of two of them
user=(setpriv --reuid 65534 --regid 65534 --clear-groups)
# programs begin on the host, and enter containers from there
SRV_NS=init CLI_NS=init

# No process is left; with the last one the namespaces go.
end_containers() {
	# shellcheck disable=SC2086 # words
	[ -z "$containers" ] || kill $containers 2>/dev/null
	containers=''
	wait
}
trap 'end_containers; cleanup' EXIT

# start FILE...: a container that has these of /dev/infiniband; PID is its first process.
start() {
	rm -f "$tmp/started"
	# shellcheck disable=SC2016 # of the other shell
	unshare --net --mount bash -c '
		umount -l /sys && mount -t sysfs sysfs /sys &&
		mkdir -p "$0.dev" && mount -t tmpfs tmpfs "$0.dev" || exit
		for f; do
			cp -a "/dev/infiniband/$f" "$0.dev" || exit
		done
		mount --move "$0.dev" /dev/infiniband && touch "$0" && exec sleep 100000' \
		"$tmp/started" "$@" </dev/null >"$tmp/start" 2>&1 &
	PID=$!
	containers="$containers $PID"
	within 10 test -e "$tmp/started" || bail "a container does not start: $(cat "$tmp/start")"
}

in_1() { nsenter --target "$PID1" --net --mount "$@"; }
in_2() { nsenter --target "$PID2" --net --mount "$@"; }

# up ADDRESS: eth0 of the container that was started last
up() {
	local inside="nsenter --target $PID --net ip"
	$inside link set lo up && $inside addr add "$1/24" dev eth0 && $inside link set eth0 up ||
		bail "no eth0 in a container"
}

# lists PID RDMA-DEVICES VERBS-DEVICES: what rdma and libibverbs list where the process is
lists() {
	local link verbs
	link=$(nsenter --target "$1" --net --mount rdma dev show | awk '{ print $2 }' | tr -d : | sort | xargs)
	verbs=$(nsenter --target "$1" --net --mount ibv_devices | awk 'NR > 2 { print $1 }' | sort | xargs)
	echo "rdma: '$link', libibverbs: '$verbs'; expected: '$2', '$3'"
	[ "$link" = "$2" ] && [ "$verbs" = "$3" ]
}

# talk SERVER ADDRESS CLIENT [PREFIX...]: rping where these two processes are
talk() {
	pair 7174 nsenter --target "$1" --net --mount "${@:4}" rping -s -a "$2" -C 10 -V -- \
		nsenter --target "$3" --net --mount "${@:4}" rping -c -a "$2" -C 10 -V
}

wildcard() {
	pair 7174 nsenter --target "$1" --net --mount rping -s -C 10 -V -- \
		nsenter --target "$3" --net --mount rping -c -a "$2" -C 10 -V
}

active() { nsenter --target "$1" --net rdma link show "$2/1" | grep 'state ACTIVE'; }

# --- devices

on_the_host() {
	ip link add to1 type veth peer name v1 && ip link set to1 master br0 up || return
	rdma link add sr1 type srnic netdev v1 && verbs_of sr1 >"$tmp/verbs" && grep . "$tmp/verbs"
}

inside() {
	nsenter --target $PID --net rdma link add sr2 type srnic netdev eth0 &&
		verbs_of sr2 >"$tmp/verbs" && grep . "$tmp/verbs"
}

moved() {
	nsenter --target $PID --net rdma link add sr2 type srnic netdev eth0 || return
	ip netns attach c2 $PID && rdma dev set sr2 netns c2 && ip netns del c2 || return
	verbs_of sr2 >"$tmp/verbs" && grep . "$tmp/verbs"
}

gets_file() {
	$examples/uverbs-file $PID sr2
}

# A container whose folder for the file leads elsewhere, and that has a mknod of its own.
hostile() {
	local PID rc=0
	mkdir "$tmp/elsewhere" && printf '#!/bin/sh\ntouch "%s/elsewhere/ran"\n' "$tmp" >"$tmp/mknod" &&
		chmod +x "$tmp/mknod" || return
	# shellcheck disable=SC2016 # of the other shell
	unshare --mount bash -c '
		mount --bind "$0/mknod" "$(command -v mknod)" && mount -t tmpfs tmpfs /dev &&
		ln -s "$0/elsewhere" /dev/infiniband && touch "$0/hostile" && exec sleep 100000' "$tmp" &
	PID=$!
	within 10 test -e "$tmp/hostile" || { echo "it does not start"; return 1; }
	gets_file && rc=1
	kill $PID
	ls -l "$tmp/elsewhere"
	[ -z "$(ls "$tmp/elsewhere")" ] && return $rc
}

shows() { in_2 ibv_devinfo -d sr2; }

# The root of a user namespace, as the root of a container may be
root_makes_none() {
	local out
	[ -e /proc/self/ns/user ] || { echo "this kernel has no user namespaces"; return 77; }
	out=$(unshare --user --map-root-user --net rdma link add sr9 type srnic netdev lo 2>&1) &&
		{ rdma link delete sr9; return 1; }
	echo "$out"
	[[ $out == *"Operation not permitted"* ]]
}

# A container has the file of a device whose interface another container has.
foreign() {
	local rc=0
	in_1 mknod -m 666 "/dev/infiniband/$VERBS" c $(tr : ' ' <"/sys/class/infiniband_verbs/$VERBS/dev") &&
		lists "$PID1" "sr0 sr1 sr2" "sr1 sr2" && in_1 ibv_devinfo -d sr2 &&
		wildcard "$PID1" 10.80.0.2 "$PID2" && talk "$PID2" 10.80.0.3 "$PID1" || rc=1
	in_1 rm "/dev/infiniband/$VERBS" && return $rc
}

# A container has the file of a device of another namespace, in exclusive mode.
closed() {
	local out
	# shellcheck disable=SC2016 # of the other shell
	out=$(in_1 bash -c 'exec 3<>"/dev/infiniband/$0"' "$VERBS" 2>&1) && return 1
	echo "$out"
	[[ $out == *"Operation not permitted"* ]]
}

# With its last process the container ends, and the device of its interface.
ends() {
	verbs_of "$2" | grep . && kill "$1" && within 20 eval "! verbs_of $2 | grep ." &&
		! rdma dev show | grep -w "$2"
}

on_e1() { nsenter --target "$1" --net rdma link | grep 'netdev e1'; }

# Some runtimes' ids all begin with the same word.
by_plugin() {
	local pid
	for pid in "$PID1" "$PID2"; do
		nsenter --target "$pid" --net ip link add e1 type dummy || return
	done
	plugin ADD default-1 "$PID1" e1 && plugin ADD default-2 "$PID2" e1 && on_e1 "$PID1" &&
		on_e1 "$PID2" && plugin DEL default-2 "$PID2" e1 && on_e1 "$PID1" && ! on_e1 "$PID2" || return
	for pid in "$PID1" "$PID2"; do
		nsenter --target "$pid" --net ip link del e1 || return
	done
}

# A container whose root is the host's, with CAP_NET_ADMIN: which devices can it end?
ends_others() {
	nsenter --target "$PID1" --net --mount setpriv --bounding-set -all,+net_admin --inh-caps -all \
		rdma link delete "$1"
}

# reads PID DEVICE: what sysfs has of it there: addresses, counters, policy
reads() {
	nsenter --target "$1" --net --mount grep -h . "/sys/class/infiniband/$2"/{ports/1/gids/1,policy/crc} &&
		nsenter --target "$1" --net rdma statistic show link "$2/1" | grep -o 'tx_bytes [0-9]*'
}

# --- limits

registers_nothing() {
	local rc=0
	serve 7174 nsenter --target "$PID1" --net --mount rping -s -a 10.80.0.2 || return
	! on_cli nsenter --target "$PID2" --net --mount prlimit --memlock=0 "${user[@]}" \
		rping -c -a 10.80.0.2 -C 1 >"$tmp/user" 2>&1 || rc=1
	cat "$tmp/user"
	grep -q 'reg_mr failed' "$tmp/user" || rc=1
	stop_server && return $rc
}

in_group() {
	# shellcheck disable=SC2016 # of the other shell
	on_cli bash -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$CGROUP" \
		nsenter --target "$PID2" --net --mount rping -c -a 10.80.0.2 -C 5
}

of_objects() {
	local rc=0
	serve 7174 nsenter --target "$PID1" --net --mount rping -s -P -a 10.80.0.2 || return
	mkdir $CGROUP
	echo "sr2 hca_handle=8 hca_object=100" >$CGROUP/rdma.max
	in_group || rc=1
	echo "sr2 hca_object=2" >$CGROUP/rdma.max
	! in_group || rc=1
	echo "sr2 hca_handle=max hca_object=max" >$CGROUP/rdma.max
	in_group || rc=1
	within 10 rmdir $CGROUP || rc=1
	stop_server && return $rc
}

# --- Kubernetes: what a machine without a cluster can do of Documentation/examples/kubernetes

pod=$top/Documentation/examples/kubernetes/rdma.yaml
# Debian's CNI plugins
cni=${SRNIC_PACKAGES:-}/usr/lib/cni
[ -d "$cni" ] || cni=/usr/lib/cni

# The files that the device plugin gives
files() { sed -n "s/^ *- '\({.*}\)'$/\1/p" "$pod" | grep -o '/dev/[^"]*'; }
names_the_files() {
	files
	[ "$(files | xargs)" = "/dev/infiniband/rdma_cm /dev/infiniband/$(verbs_of sr1)" ]
}

# network ADD|DEL: its plugin is called as Multus calls it
network() {
	awk '/^  config: / { on = 1; next } on && !/^    / { exit } on' "$pod" |
		CNI_COMMAND=$1 CNI_CONTAINERID=rdma CNI_NETNS=/proc/$PID/ns/net CNI_IFNAME=eth1 CNI_PATH=$cni \
			"$cni/host-device"
}

comes_into_the_pod() {
	network ADD && within 10 active "$PID" sr1 && nsenter --target "$PID" --net --mount ibv_devinfo -d sr1
}

comes_back() {
	network DEL && kill "$PID" && ip link set v1 up && within 10 active 1 sr1 &&
		rdma link show sr1/1 | grep 'netdev v1'
}

# --- shared mode

mode() { rdma system set netns "$1" && rdma system show | grep "netns $1"; }
exclusive() { rdma system set netns exclusive; }

ip netns attach init 1 || bail "no name for the initial network namespace"
mkdir "$root" && mount -t cgroup2 none "$root" && echo +rdma >"$root/cgroup.subtree_control" ||
	bail "no control groups of RDMA"

host_up
t "a device is made before its container" on_the_host
start rdma_cm "$(cat "$tmp/verbs")"
PID1=$PID
made_rdma="$made_rdma sr1 sr2"
ip link set v1 netns $PID name eth0 || bail "v1 does not move"
up 10.80.0.2
t "it comes into the container with its interface" within 10 active "$PID1" sr1

start rdma_cm
PID2=$PID
ip link add to2 type veth peer name eth0 netns $PID && ip link set to2 master br0 up || bail "no veth"
up 10.80.0.3
t "a container without a device: ibv_devinfo" no_device in_2 ibv_devinfo
t "a container without a device: rping" no_device in_2 rping -s -a 10.80.0.3 -C 1
t "a device is made in the namespace of a container" inside
VERBS=$(cat "$tmp/verbs")
t "the container gets its file" gets_file
t "a hostile container gets none, and does nothing on the host" hostile
t "the root of a user namespace makes no device" root_makes_none

t "ibv_devinfo shows the device" shows
t "programs see the devices whose files they have, and the names of others" lists "$PID1" "sr0 sr1 sr2" sr1
t "so in the other container" lists "$PID2" "sr0 sr1 sr2" sr2
t "the CNI plugin: a container's device is its own" by_plugin
t "a container reads addresses, counters and policy of all devices" reads "$PID1" sr2
t "from a container to another" talk "$PID1" 10.80.0.2 "$PID2"
t "and back" talk "$PID2" 10.80.0.3 "$PID1"
t "from a container to the host" talk 1 10.80.0.1 "$PID1"
t "from the host to a container" talk "$PID2" 10.80.0.3 1
t "to a wildcard listener in a container" wildcard "$PID2" 10.80.0.3 "$PID1"
t "users have no privileges, and 1 MiB of locked memory" \
	talk "$PID1" 10.80.0.2 "$PID2" prlimit --memlock=1048576 "${user[@]}"
t "users without locked memory register nothing" registers_nothing
t "a container has the objects that its control group allows" of_objects
t "rdma_cm takes the container's own device where it has another's file" foreign
ip link add d9 type dummy && rdma link add sr9 type srnic netdev d9 || bail "no device on the host"
t "with CAP_NET_ADMIN a container whose root is the host's ends the host's device" ends_others sr9
ip link del d9
t "a device goes with its container" ends "$PID2" sr2
t "and so does one that was made before it" ends "$PID1" sr1

t "Kubernetes: a device is made on the node" on_the_host
t "Kubernetes: the example names its files" names_the_files
start rdma_cm "$(cat "$tmp/verbs")"
t "Kubernetes: the example's network takes the device into the pod" comes_into_the_pod
t "Kubernetes: from the node to the pod" talk "$PID" 10.80.0.200 1
t "Kubernetes: at the end of the pod the device comes back" comes_back
rdma link delete sr1
ip link del to1
end_containers
host_down

# --- exclusive mode; it is set while there is no other namespace, and the end of the last one takes a
# while

t "the mode becomes exclusive" within 50 exclusive
host_up
start rdma_cm
PID2=$PID
ip link add to2 type veth peer name eth0 netns $PID && ip link set to2 master br0 up || bail "no veth"
up 10.80.0.3
t "exclusive: a device is moved into a container" moved
VERBS=$(cat "$tmp/verbs")
t "exclusive: the container gets its file" gets_file
t "exclusive: ibv_devinfo shows the device" shows
t "exclusive: the container sees its own device only" lists "$PID2" sr2 sr2
t "exclusive: the host sees its own device only" lists 1 sr0 sr0
start rdma_cm "$VERBS"
PID1=$PID
t "exclusive: another container sees none, though it has the file" no_device in_1 ibv_devinfo
t "exclusive: nor can it open the file" closed
t "exclusive: nor does it read of a device in sysfs" eval '! reads "$PID1" sr2 && reads "$PID2" sr2'
t "exclusive: nor does it end one, with CAP_NET_ADMIN" eval '! ends_others sr2 && ! ends_others sr0'
t "exclusive: from the host to a container" talk "$PID2" 10.80.0.3 1
t "exclusive: from a container to the host" talk 1 10.80.0.1 "$PID2"
t "exclusive: a device goes with its container" ends "$PID2" sr2
end_containers
host_down
umount "$root"
ip netns del init
t "the mode becomes shared" within 50 mode shared
done_testing
