#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# iSCSI Extensions for RDMA: the kernel's target (LIO) and open-iscsi.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib-disk.sh"

TARGET=iqn.2026-01.test:srnic
device=/sys/kernel/config/target/core/iblock_0/disk
tpg=/sys/kernel/config/target/iscsi/$TARGET/tpgt_1

need_modules ib_isert ib_iser iscsi_target_mod target_core_iblock sd_mod brd ext4
need_programs iscsid iscsiadm mkfs.ext4 fio

# LIO has a portal listen on TCP first, and then for iSER at the same address and port. With
# software iWARP the two share TCP's ports and the second one fails (EADDRINUSE). A portal's
# socket belongs to the netns of the process that makes it, while iSER is always in the initial
# netns: so the TCP portal is made in another.
make_portal() {
	ip -n portal link set lo up && ip -n portal addr add "$SRV4/32" dev lo &&
		nsenter --net=/run/netns/portal mkdir -p "$tpg/np/$SRV4:3260" &&
		echo 1 >"$tpg/np/$SRV4:3260/iser"
}

target() {
	ram_disk && mkdir -p $device && echo -n udev_path=/dev/ram0 >$device/control &&
		echo 1 >$device/enable && mkdir -p $tpg/lun/lun_0 && ln -s $device $tpg/lun/lun_0/disk &&
		echo 0 >$tpg/attrib/authentication && echo 0 >$tpg/attrib/demo_mode_write_protect &&
		echo 1 >$tpg/attrib/generate_node_acls && echo 1 >$tpg/attrib/cache_dynamic_acls &&
		make_portal && echo 1 >$tpg/enable
}

target_gone() {
	echo 0 >$tpg/enable && rmdir "$tpg/np/$SRV4:3260" && rm $tpg/lun/lun_0/disk &&
		rmdir $tpg/lun/lun_0 $tpg ${tpg%/*} $device
}

node() { iscsiadm -m node -T $TARGET -p "$SRV4:3260" "$@"; }

initiator() {
	mkdir -p /run/lock/iscsi /etc/iscsi &&
		echo InitiatorName=iqn.2026-01.test:host >/etc/iscsi/initiatorname.iscsi &&
		iscsid && within 10 iscsiadm -m iface && node -I iser -o new
}

login()  { node --login && within 20 disk_is 'sd*' && iscsiadm -m session | grep iser; }
logout() { node --logout && within 20 eval '! disk_is "sd*"'; }

one_netns 1500
add_ns portal
t "the target is set up" target
t "the initiator is set up" initiator
t "login" login
disk_is 'sd*'
t "large requests" disk_large
t "small requests" disk_small
[ "$SRNIC_TYPE" = siw ] || t "regions are of block lists" disk_has_gaps
t "requests of memory with gaps" disk_gaps
t "requests of any size, verified by fio" disk_fio
t "files are written" disk_files
t "logout" logout
t "login again" login
disk_is 'sd*'
t "the files are there after another login" disk_files_again
t "logout again" logout
t "the target goes" target_gone
iscsiadm -k 0
teardown_hosts
modprobe -qra ib_iser ib_isert
done_testing
