#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# NFS over RDMA: the kernel's server on one host, its client on the other. Data written by the
# client is compared on the server and, after another mount, read back.

. "$(dirname "$0")/lib.sh"

EXPORT=/run/export MNT=/run/nfs

need_modules nfsd nfs nfsv3 nfsv4 rpcrdma
need_programs rpc.nfsd rpc.mountd exportfs rpcbind mount.nfs
# siw makes its sockets in the netns of the current task: for a thread of the kernel that is the
# initial one.
[ "$SRNIC_TYPE" != siw ] || skip_all "siw cannot be used by the kernel in another netns"

# Unlike ip netns exec these stay in one mount namespace.
in_srv() { nsenter --net=/run/netns/"$SRV_NS" "$@"; }
in_cli() { nsenter --net=/run/netns/"$CLI_NS" "$@"; }

# the package's installation would have added this user
rpcbind_user() {
	id -u _rpc >/dev/null 2>&1 ||
		echo "_rpc:x:65533:65534::/run/rpcbind:/usr/sbin/nologin" >>/etc/passwd
}

# In the first 10 seconds, at least, NFSv4 only lets clients reclaim state from before the
# server's start: so NFSv3 is tested first.
server() {
	# the package's service, which does not run here, makes etab
	mkdir -p $EXPORT $MNT /run/rpcbind /var/lib/nfs && : >/etc/exports && touch /var/lib/nfs/etab &&
		mount -t tmpfs -o size=64m export $EXPORT &&
		in_srv mount -t nfsd nfsd /proc/fs/nfsd && rpcbind_user && in_srv rpcbind &&
		within 10 in_srv rpcinfo -T tcp "$SRV4" portmapper && in_srv rpc.mountd &&
		in_srv exportfs -o rw,fsid=0,no_root_squash,no_subtree_check,insecure "$CLI4:$EXPORT" &&
		in_srv rpc.nfsd --rdma=20049 --grace-time 10 4 &&
		grep 'rdma 20049' /proc/fs/nfsd/portlist
}

server_gone() {
	in_srv rpc.nfsd 0 && in_srv exportfs -ua && umount /proc/fs/nfsd && umount $EXPORT
}

mount_nfs() {	# PATH OPTIONS
	in_cli mount -t nfs -o "$2,rdma,port=20049" "$SRV4:$1" $MNT || return
	grep " $MNT .*,proto=rdma,port=20049" /proc/mounts || { cat /proc/mounts; return 1; }
}
unmount() { in_cli umount $MNT; }

# Small files and a large one, in requests of up to 1 MiB.
files() {
	rm -rf ${MNT:?}/* "$tmp/tree" && cp -r "$top/drivers/infiniband/sw/srnic/wire" "$tmp/tree" &&
		head -c 8M /dev/urandom >"$tmp/tree/big" && cp -r "$tmp/tree/." $MNT &&
		sync -f $MNT && diff -r "$tmp/tree" $EXPORT
}
same_files() { diff -r "$tmp/tree" $MNT; }

# Without a page cache: in pieces of odd sizes, at odd offsets.
direct() {
	dd if="$tmp/tree/big" of=$MNT/direct bs=65537 count=16 oflag=direct status=none &&
		cmp -n $((65537 * 16)) "$tmp/tree/big" $EXPORT/direct &&
		dd if=$MNT/direct bs=50021 iflag=direct status=none |
			cmp - <(head -c $((65537 * 16)) "$tmp/tree/big") && rm $MNT/direct
}

# Names and attributes, which are in the Sends themselves.
names() {
	mkdir $MNT/n && (cd $MNT/n && touch $(seq -f 'a-name-that-is-a-little-longer-%g' 100)) &&
		[ "$(find $EXPORT/n -type f | wc -l)" = 100 ] && unmount &&
		mount_nfs "$@" && [ "$(find $MNT/n -type f | wc -l)" = 100 ] && rm -r $MNT/n &&
		[ ! -e $EXPORT/n ]
}

round() {	# VERSION PATH OPTIONS
	local v=$1
	shift
	t "v$v: mount" mount_nfs "$@"
	t "v$v: files are written" files
	t "v$v: unbuffered reads and writes" direct
	t "v$v: names and attributes" names "$@"
	t "v$v: the files are there after another mount" same_files
	t "v$v: unmount" unmount
}

two_hosts 1500
t "the server is set up" server
round 3 $EXPORT vers=3,nolock
round 4.2 / vers=4.2
t "the server goes" server_gone
teardown_hosts
done_testing
