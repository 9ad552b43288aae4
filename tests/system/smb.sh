#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# SMB Direct: the kernel's server (ksmbd) on one host, its client (cifs) on the other. Data
# written by the client is compared on the server and, after another mount, read back.
#
# There is one ksmbd in a kernel: it listens in the initial netns and is controlled there. So that
# is the server's host. The client can be in any netns.

. "$(dirname "$0")/lib.sh"

EXPORT=/run/smb-export MNT=/run/smb
PORT=5445

# siw makes its sockets in the initial netns for a thread of the kernel.
[ "$SRNIC_TYPE" != siw ] || skip_all "siw cannot be used by the kernel in another netns"
need_modules ksmbd cifs
for m in ksmbd cifs; do
	modinfo -F depends $m | grep -qE 'smbdirect|rdma_cm' ||
		skip_all "$m is built without SMB Direct"
done
need_programs ksmbd.mountd ksmbd.adduser ksmbd.control mount.cifs

smb_hosts() {
	ip netns attach init 1 && ip link set lo up && add_ns h1 &&
		ip link add v1 index 11 mtu "$1" netns h1 type veth peer name v2 index 12 mtu "$1" ||
		bail "cannot make a veth pair"
	net_up h1 v1 10.77.0.1/24 fd77::1/64
	net_up init v2 10.77.0.2/24 fd77::2/64
	rdma_up h1 v1 "$SRNIC_TYPE" sr1
	rdma_up init v2 "$SRNIC_TYPE" sr2
	CLI_NS=h1 CLI_DEV=sr1 CLI4=10.77.0.1 CLI6=fd77::1
	SRV_NS=init SRV_DEV=sr2 SRV4=10.77.0.2 SRV6=fd77::2
}

in_cli() { nsenter --net=/run/netns/"$CLI_NS" "$@"; }

server() {
	mkdir -p $EXPORT $MNT /etc/ksmbd && mount -t tmpfs -o size=96m export $EXPORT &&
		printf '%s\n' '[global]' 'server multi channel support = yes' '[share]' \
			"path = $EXPORT" 'read only = no' >/etc/ksmbd/ksmbd.conf &&
		: >/etc/ksmbd/ksmbdpwd.db && ksmbd.adduser -a root -p secret && ksmbd.mountd &&
		within 20 pid_listens self $PORT
}

server_gone() {
	ksmbd.control -s; within 20 eval '! pgrep ksmbd.mountd' &&
		within 20 eval "! pid_listens self $PORT" && umount $EXPORT
}

mount_smb() {	# [OPTION...]
	in_cli mount.cifs "//$SRV4/share" $MNT \
		-o "rdma,vers=3.1.1,username=root,password=secret$(printf ',%s' "$@")" || {
		dmesg | tail -n 20
		return 1
	}
	grep " $MNT cifs .*,vers=3.1.1,.*,rdma" /proc/mounts || { cat /proc/mounts; return 1; }
	# and not over TCP
	! in_cli ss -Htn state established "dport = 445" | grep . &&
		in_cli ss -Htn state established "dport = $PORT" | grep .
}
unmount() { in_cli umount $MNT; }

# In requests of up to a MiB or more, which go by RDMA Write and Read
large_file() {
	head -c 16M /dev/urandom >"$tmp/big" && cp "$tmp/big" $MNT/big && sync -f $MNT &&
		cmp "$tmp/big" $EXPORT/big
}
large_file_again() { cmp "$tmp/big" $MNT/big; }

# Without a page cache: in pieces of odd sizes, at odd offsets.
direct() {
	dd if="$tmp/big" of=$MNT/direct bs=65537 count=16 oflag=direct status=none &&
		cmp -n $((65537 * 16)) "$tmp/big" $EXPORT/direct &&
		dd if=$MNT/direct bs=50021 iflag=direct status=none |
			cmp - <(head -c $((65537 * 16)) "$tmp/big") && rm $MNT/direct
}

# Ten folders of FILES files of 0 to 20,000 bytes, which go in Sends or by RDMA, as their size is:
# 20, and 100 with TEST_LONG=1. Each takes the client and ksmbd 6 to 50 ms, also over TCP.
FILES=${TEST_LONG:+100}
FILES=${FILES:-20}
make_tree() {
	perl -e '
		open(my $src, "<", $ARGV[0]) or die;
		for my $d (0 .. 9) {
			mkdir("$ARGV[1]/$d") or die;
			for my $f (0 .. $ARGV[2] - 1) {
				my $n = ($d * $ARGV[2] + $f) * 2000 / $ARGV[2] + $f % 7;
				seek($src, $n * 3, 0);
				read($src, my $data, $n);
				open(my $out, ">", "$ARGV[1]/$d/file-$f") or die;
				print $out $data;
				close($out) or die;
			}
		}' "$tmp/big" "$tmp/tree" $FILES
}
# copy_tree FROM TO: each folder by a process of its own
copy_tree() {
	local dir rc=0 pids=''
	mkdir "$2" || return
	for dir in "$1"/*; do
		cp -r "$dir" "$2/" &
		pids="$pids $!"
	done
	for dir in $pids; do
		wait "$dir" || rc=1
	done
	return $rc
}
tree_there() {
	mkdir "$tmp/tree" && make_tree && [ "$(find "$tmp/tree" -type f | wc -l)" = $((10 * FILES)) ] &&
		copy_tree "$tmp/tree" $MNT/tree && sync -f $MNT && diff -r "$tmp/tree" $EXPORT/tree
}
tree_back() {
	rm -rf "$tmp/back" && copy_tree $MNT/tree "$tmp/back" && diff -r "$tmp/tree" "$tmp/back"
}
tree_gone() { rm -r $MNT/tree && [ ! -e $EXPORT/tree ]; }

# All data was on the devices: the large file and the tree, there and back
over_rdma() {
	local there back
	there=$(counter sr1 tx_bytes) back=$(counter sr2 tx_bytes)
	echo "client to server $there bytes, server to client $back bytes"
	[ "$there" -gt $((16000000 + 100000 * FILES)) ] && [ "$back" -gt $((16000000 + 100000 * FILES)) ]
}

# A third party resets the connection: the client makes another one.
again() {
	local before
	before=$(counter sr1 conn_active)
	in_cli ss -K dst "$SRV4" "dport = $PORT" && within 60 ls $MNT/big && within 20 large_file_again &&
		[ "$(counter sr1 conn_active)" -gt "$before" ]
}

smb_hosts 1500
t "the server is set up" server
t "mount" mount_smb
t "a large file is written" large_file
t "unbuffered reads and writes" direct
t -l 180 "many files are copied to the server" tree_there
t "unmount" unmount
t "mount again" mount_smb
t "the large file is read" large_file_again
t -l 180 "many files are copied from the server" tree_back
t "what was copied went over RDMA" over_rdma
t "a connection that was reset is made again" again
t "unmount again" unmount
t "signed: mount" mount_smb sign
t "signed: a large file is written" large_file
t -l 180 "signed: many files are copied from the server" tree_back
t -l 180 "signed: they are removed" tree_gone
t "signed: unmount" unmount
t "the server goes" server_gone
teardown_hosts
ip netns del init
modprobe -qra cifs ksmbd
done_testing
