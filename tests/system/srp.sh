#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# SCSI RDMA Protocol: the kernel's target (LIO with ib_srpt) and initiator (ib_srp).
# iWARP has no InfiniBand CM, so both use rdma_cm.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib-disk.sh"

PORT=5555
GUID=0200000000000077		# of the target: id_ext and ioc_guid
INITIATOR=0200000000000078	# initiator_ext, the upper half of the initiator's id
lio=/sys/kernel/config/target
device=$lio/core/iblock_0/srp
rport=/sys/class/srp_remote_ports
modules=(ib_srp ib_srpt target_core_iblock)

need_modules "${modules[@]}" sd_mod brd ext4
need_programs mkfs.ext4

gid_of() { tr -d : <"/sys/class/infiniband/$1/ports/1/gids/0"; }

# ib_srpt names a port by its GID. It also accepts the lower half alone, which is 0 for each iWARP
# device: the GID is a hardware address and zeros.
names() {
	local srv cli
	srv=0x$(gid_of "$SRV_DEV")
	cli=$(gid_of "$CLI_DEV")
	tpg=$lio/srpt/$srv/$srv
	acl=$tpg/acls/0x$INITIATOR${cli:16}
}

target() {
	modprobe -r ib_srpt && modprobe ib_srpt "srpt_service_guid=0x$GUID" && names && ram_disk &&
		mkdir -p $device && echo -n udev_path=/dev/ram0 >$device/control &&
		echo 1 >$device/enable && mkdir -p "$tpg/lun/lun_0" && ln -s $device "$tpg/lun/lun_0/disk" &&
		mkdir -p "$acl/lun_0" && ln -s "$tpg/lun/lun_0" "$acl/lun_0/disk" &&
		echo $PORT >$lio/srpt/discovery_auth/rdma_cm_port && echo 1 >"$tpg/enable"
}

# the QPs of the target's connections
channels() { rdma resource show qp | grep "link $SRV_DEV/"; }

# ib_srpt frees a connection that the initiator has ended when rdma_cm reports TIMEWAIT_EXIT, an
# event of InfiniBand and RoCE that iWARP lacks. Until the port is disabled the connection stays,
# and rmdir of the ACL waits for it.
target_gone() {
	echo 0 >"$tpg/enable" && within 20 eval '! channels' &&
		rm "$acl/lun_0/disk" && rmdir "$acl/lun_0" "$acl" &&
		rm "$tpg/lun/lun_0/disk" && rmdir "$tpg/lun/lun_0" "$tpg" "${tpg%/*}" &&
		echo 0 >$lio/srpt/discovery_auth/rdma_cm_port &&
		rmdir $lio/srpt $device ${device%/*}
}

login() {
	echo "id_ext=$GUID,ioc_guid=$GUID,initiator_ext=$INITIATOR,dest=$SRV4:$PORT" \
		>"/sys/class/infiniband_srp/srp-$CLI_DEV-1/add_target" &&
		within 20 disk_is 'sd*' && channels
}

# The write returns before ib_srp has disconnected, and until then a login fails (EEXIST). The
# SCSI host's error handler is the last to go.
logout() {
	local port host
	port=$(cd $rport && compgen -G 'port-*') || return
	host=${port#port-} host=${host%:*}
	pgrep -x "scsi_eh_$host" && echo 1 >"$rport/$port/delete" &&
		within 20 eval "! pgrep -x scsi_eh_$host" && ! disk_is 'sd*'
}

modules_gone() { modprobe -r "${modules[@]}" brd && ! lsmod | grep -E '^(ib_srp|scsi_transport_srp)'; }

one_netns 1500
t "the target is set up" target
names
t "login" login
disk_is 'sd*'
t "large requests" disk_large
t "small requests" disk_small
[ "$SRNIC_TYPE" = siw ] || t "regions are of block lists" disk_has_gaps
t "requests of memory with gaps" disk_gaps
t "files are written" disk_files
t "logout" logout
t "login again" login
disk_is 'sd*'
t "the files are there after another login" disk_files_again
t "logout again" logout
t "the target goes" target_gone
t "the modules go" modules_gone
teardown_hosts
done_testing
