#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# NVMe over Fabrics: the kernel's target and host.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib-disk.sh"

NQN=nqn.2026-01.test:srnic
# The host's name. Without it nvme derives one from a serial number that guests lack, which Linux
# 6.12 takes for another host's.
uuid=$(cat /proc/sys/kernel/random/uuid)
HOST="--hostnqn=nqn.2014-08.org.nvmexpress:uuid:$uuid --hostid=$uuid"
subsystem=/sys/kernel/config/nvmet/subsystems/$NQN
port=/sys/kernel/config/nvmet/ports/1

need_modules nvmet-rdma nvme-rdma brd ext4
need_programs nvme mkfs.ext4

target() {
	ram_disk && mkdir $subsystem && echo 1 >$subsystem/attr_allow_any_host &&
		mkdir $subsystem/namespaces/1 &&
		echo -n /dev/ram0 >$subsystem/namespaces/1/device_path &&
		echo 1 >$subsystem/namespaces/1/enable &&
		mkdir $port && echo rdma >$port/addr_trtype && echo ipv4 >$port/addr_adrfam &&
		echo "$SRV4" >$port/addr_traddr && echo 4420 >$port/addr_trsvcid &&
		ln -s $subsystem $port/subsystems/$NQN
}

# the port goes while a host is connected
target_gone() {
	rm $port/subsystems/$NQN && rmdir $port && echo 0 >$subsystem/namespaces/1/enable &&
		rmdir $subsystem/namespaces/1 $subsystem
}

discover() {
	nvme discover -t rdma -a "$SRV4" -s 4420 $HOST | tee "$tmp/found" && grep -q "subnqn: *$NQN" "$tmp/found"
}
connect() {
	nvme connect -t rdma -a "$SRV4" -s 4420 -n $NQN $HOST "$@" && within 20 disk_is 'nvme[0-9]n1' &&
		grep rdma /sys/class/nvme/nvme*/transport
}
disconnect() { nvme disconnect -n $NQN && within 20 eval '! disk_is "nvme[0-9]n1"'; }

one_netns 1500
t "the target is set up" target
t "discover" discover
t "connect" connect
disk_is 'nvme[0-9]n1'
t "large requests" disk_large
t "small requests" disk_small
t "files are written" disk_files
t "disconnect" disconnect
t "connect again, with one queue" connect --nr-io-queues=1 --queue-size=16
disk_is 'nvme[0-9]n1'
t "the files are there after another connect" disk_files_again
t "disconnect again" disconnect
t "the target goes" target_gone
teardown_hosts
modprobe -qra nvmet-rdma nvme-rdma
done_testing
