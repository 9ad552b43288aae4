#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Containers of podman (Debian's, with crun), with the commands of Documentation/containers.rst: one
# whose device is there before it, and one whose device a CNI plugin makes in its network
# namespace (Documentation/examples/cni). They talk to each other and to the host.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib-containers.sh"

need_programs podman crun
[ -e /proc/self/ns/uts ] || skip_all "this kernel lacks namespaces that podman needs"

user=(--user 65534:65534)
cni=$examples/cni

# --- podman, as it is set up on a machine -------------------------------------------

set_up() {
	mkdir -p "$tmp/conf" /etc/containers /etc/cni/net.d /usr/lib/cni
	printf '%s\n' '[storage]' 'driver = "vfs"' "graphroot = \"$tmp/graph\"" "runroot = \"$tmp/run\"" \
		>"$tmp/conf/storage.conf"
	printf '%s\n' '[engine]' 'cgroup_manager = "cgroupfs"' 'events_logger = "file"' \
		'network_cmd_path = ""' >"$tmp/conf/containers.conf"
	export CONTAINERS_STORAGE_CONF=$tmp/conf/storage.conf CONTAINERS_CONF=$tmp/conf/containers.conf
	mountpoint -q /sys/fs/cgroup || mount -t cgroup2 none /sys/fs/cgroup || bail "no control groups"
	ldconfig
}

# The guest's own programs, and the libraries that they load
image() {
	local f root=$tmp/root programs provider
	programs=(/usr/bin/rping /usr/bin/ibv_devinfo /usr/bin/ibv_devices)
	provider=(/usr/lib/*/libibverbs/libsrnic-rdmav*.so /lib/*/libgcc_s.so.1)
	mkdir -p "$root"/{bin,dev,etc/libibverbs.d,proc,run,sys,tmp}
	cp "$(command -v busybox)" "$root/bin/" && ln -s busybox "$root/bin/sleep" &&
		cp /etc/libibverbs.d/srnic.driver "$root/etc/libibverbs.d/" || return
	for f in "${programs[@]}" "${provider[@]}" \
		$(ldd "${programs[@]}" "${provider[@]}" | grep -o '/[^ :]*' | sort -u); do
		mkdir -p "$root/${f%/*}" && cp -L "$f" "$root/$f" || return
	done
	tar -C "$root" -cf "$tmp/image.tar" . && podman import "$tmp/image.tar" localhost/rdma
}

pid_of() { podman inspect -f '{{.State.Pid}}' "$1"; }

# --- the containers ------------------------------------------------------------------

before_it() {
	local VERBS PID
	ip link add to1 type veth peer name v1
	ip link set to1 master br0 up
	rdma link add sr1 type srnic netdev v1
	VERBS=$(verbs_of sr1) && [ -n "$VERBS" ] || return
	podman run -d --name c1 --network none --ulimit memlock=-1:-1 \
		--device /dev/infiniband/rdma_cm --device /dev/infiniband/$VERBS localhost/rdma sleep 100000 || return
	PID=$(podman inspect -f '{{.State.Pid}}' c1)
	ip link set v1 netns $PID name eth0
	nsenter --target $PID --net ip addr add 10.80.0.2/24 dev eth0
	nsenter --target $PID --net ip link set eth0 up
	podman exec c1 ibv_devinfo -d sr1
}

by_plugin() {
	local DEV PID
	install -D $cni/srnic /usr/lib/cni/srnic
	install -D -m 644 $cni/rdma.conflist /etc/cni/net.d/rdma.conflist
	podman run -d --name c2 --network rdma --ulimit memlock=1048576:1048576 \
		--device /dev/infiniband/rdma_cm --device-cgroup-rule 'c 231:* rw' localhost/rdma sleep 100000 || return
	DEV=sr$(podman inspect -f '{{.Id}}' c2 | cut -c 1-29)
	PID=$(podman inspect -f '{{.State.Pid}}' c2)
	echo "$DEV" >"$tmp/device"
	$examples/uverbs-file $PID $DEV
	podman exec c2 ibv_devinfo -d $DEV
}

# sees CONTAINER DEVICES: libibverbs there lists these
sees() {
	local got
	got=$(podman exec "$1" ibv_devices | awk 'NR > 2 { print $1 }' | sort | xargs)
	echo "'$got', expected '$2'"
	[ "$got" = "$2" ]
}

# One without a device
none() { no_device podman run --rm --network none localhost/rdma "$@"; }

# listens WHERE: a server of rping there, which is a container or the host
listens() {
	local pid=1
	[ "$1" = host ] || pid=$(pid_of "$1")
	grep -q ':1C06 0*:0000 0A' "/proc/$pid/net/tcp"
}

# rping_ended STATUS FILE: well; its output is in FILE
rping_ended() { cat "$2"; ended_well "$1" "$2"; }

# talk SERVER ADDRESS CLIENT [OPTION...]: rping between two of them; with options of podman exec. No ip
# netns exec, which mounts another sysfs, without the control groups that crun looks for.
talk() {
	local server=(rping -s -a "$2" -C 10 -V) client=(rping -c -a "$2" -C 10 -V) pid rc=0
	[ "$1" = host ] || server=(podman exec "${@:4}" "$1" "${server[@]}")
	[ "$3" = host ] || client=(podman exec "${@:4}" "$3" "${client[@]}")
	"${server[@]}" >"$tmp/server" 2>&1 &
	pid=$!
	within 30 listens "$1" || { cat "$tmp/server"; return 1; }
	"${client[@]}" >"$tmp/client" 2>&1 || rc=$?
	rping_ended $rc "$tmp/client" || { pkill -KILL -x rping; return 1; }
	rc=0
	wait $pid || rc=$?
	rping_ended $rc "$tmp/server"
}

gone() { ! rdma dev show | grep -w "$1"; }
ends() { podman rm -f -t 0 "$1" && within 20 gone "$2"; }

# plugin_c2 COMMAND INTERFACE: as for a network of c2
plugin_c2() { plugin "$1" "$(podman inspect -f '{{.Id}}' c2)" "$(pid_of c2)" "$2"; }

# Another network with the same prefix: no second device, and its end is not that of the first one.
second_network() {
	local out
	out=$(plugin_c2 ADD lo) && { echo "$out"; return 1; }
	echo "$out"
	[[ $out == *"srnic: rdma link add $DEV "* ]] && plugin_c2 DEL lo && plugin_c2 CHECK eth0 &&
		! plugin_c2 CHECK lo
}

# A policy that is none: no container, and the plugin says why.
bad_policy() {
	local out
	sed 's/"prefix": "sr"/"prefix": "sr", "policy": {"crc": "perhaps"}/; s/"name": "rdma"/"name": "bad"/' \
		"$cni/rdma.conflist" >/etc/cni/net.d/bad.conflist
	grep perhaps /etc/cni/net.d/bad.conflist
	out=$(podman run --rm --network bad localhost/rdma ibv_devices 2>&1) && { echo "$out"; return 1; }
	echo "$out"
	[[ $out == *"srnic: policy crc=perhaps: Invalid argument"* ]]
}

set_up
t "an image is made of the guest's own programs" image
host_up
t -l 120 "a container whose device is there before it" before_it
t -l 120 "a container whose device a CNI plugin makes" by_plugin
DEV=$(cat "$tmp/device")
t "it sees the devices whose files it has" sees c1 sr1
t "so does the other one" sees c2 "$DEV"
t "a container without a device: ibv_devinfo" none ibv_devinfo
t "a container without a device: rping" none rping -s -C 1
ADDRESS=$(nsenter --target "$(pid_of c2)" --net ip -4 -o addr show eth0 | grep -o '10\.80\.0\.[0-9]*' | head -n 1)
t "from a container to another" talk c1 10.80.0.2 c2
t "and back" talk c2 "$ADDRESS" c1
t "from a container to the host" talk host 10.80.0.1 c1
t "from the host to a container" talk c2 "$ADDRESS" host
t "users have no privileges, and 1 MiB of locked memory" talk c2 "$ADDRESS" c1 "${user[@]}"
t "a policy that is wrong: no container, and podman says why" bad_policy
t "a network with a prefix that the container has already: its device stays" second_network
t "the device goes with its container" ends c2 "$DEV"
t "and so does one that was made before it" ends c1 sr1
host_down
done_testing
