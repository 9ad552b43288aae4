# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
#
# Shared by the tests of block devices. Sourced after lib.sh.
#
# A RAM disk, /dev/ram0, is exported, and imported over RDMA as /dev/$blk. Data written to one is
# compared with the data on the other.

MIB=${MIB:-16}	# its size
blk=''

ram_disk() {
	modprobe -qr brd
	modprobe brd rd_nr=1 rd_size=$((MIB * 1024)) || return
	mountpoint -q /sys/kernel/config || mount -t configfs configfs /sys/kernel/config
}

# Swap on the RAM disk. Status 77: the kernel has no swap, or no RAM disks.
swap_on() {
	[ -e /proc/swaps ] && modprobe -qn brd || { echo "no swap in this kernel, or no RAM disks"; return 77; }
	ram_disk && mkswap /dev/ram0 && swapon /dev/ram0
}

swap_off() { swapoff /dev/ram0 && modprobe -r brd; }

# disk_is PATTERN: there is such a disk; sets $blk to its name
disk_is() {
	blk=$(cd /sys/block && compgen -G "$1" | head -n 1)
	[ -b "/dev/$blk" ]
}

# All reads and writes here are direct, so that they go over the wire.
disk_read()  { dd if="/dev/$1" iflag=direct status=none "${@:2}"; }
disk_write() { dd of="/dev/$blk" oflag=direct status=none "$@"; }

# Writes of 1 MiB, which take many registrations, read back in pieces of another size, by several
# processes at once.
disk_large() {
	local rc=0 pids='' i
	head -c "${MIB}M" /dev/urandom >"$tmp/src" &&
		disk_write if="$tmp/src" bs=1M && disk_read ram0 bs=1M | cmp - "$tmp/src" || return
	for i in 0 1 2 3; do
		disk_read "$blk" bs=256K skip=$((i * MIB)) count="$MIB" |
			cmp - <(tail -c +$((i * MIB * 262144 + 1)) "$tmp/src" | head -c $((MIB * 262144))) &
		pids="$pids $!"
	done
	for i in $pids; do
		wait "$i" || rc=1
	done
	return $rc
}

# Many commands of one block each.
disk_small() {
	local blocks=256
	head -c $((blocks * 4096)) /dev/urandom >"$tmp/small" &&
		disk_write if="$tmp/small" bs=4096 &&
		disk_read ram0 bs=1M count=1 | cmp - "$tmp/small" &&
		disk_read "$blk" bs=4096 count=$blocks | cmp - "$tmp/small"
}

# Requests of 512 octets to 64 KiB, many at once, at random places, each of which is read back. fio
# gives several to the kernel at a time, which it merges.
disk_fio() {
	fio --name=verify --filename="/dev/$blk" --direct=1 --ioengine=libaio --iodepth=32 \
		--iodepth_batch=16 --rw=randwrite --bsrange=512-64k \
		--io_size=$((MIB / 2))m --size="${MIB}m" --verify=crc32c --verify_fatal=1 \
		--do_verify=1
}

# The queue takes requests of pieces of memory with gaps between: the region has a block list.
disk_has_gaps() { grep -x 0 "/sys/block/$blk/queue/virt_boundary_mask"; }

# One request of many such pieces, written from them and read into others.
disk_gaps() {
	/usr/bin/python3 - "/dev/$blk" <<-'END'
		import mmap, os, sys

		def pieces(memory, bytes):
		    return [memory[at + 512:at + 512 + bytes] for at in range(0, len(memory), 4096)]

		disk = os.open(sys.argv[1], os.O_RDWR | os.O_DIRECT)
		source = memoryview(mmap.mmap(-1, 12 * 4096))
		sink = memoryview(mmap.mmap(-1, 24 * 4096))
		data = os.urandom(12 * 3072)
		for i, piece in enumerate(pieces(source, 3072)):
		    piece[:] = data[i * 3072:(i + 1) * 3072]
		sink[:] = b'x' * len(sink)
		assert os.pwritev(disk, pieces(source, 3072), 512) == len(data)
		assert os.preadv(disk, pieces(sink, 1536), 512) == len(data)
		assert b''.join(pieces(sink, 1536)) == data, 'other data'
		for piece in pieces(sink, 1536):
		    piece[:] = b'x' * 1536
		assert bytes(sink) == b'x' * len(sink), 'octets beside are changed'
	END
}

# A file system with small files and a large one.
disk_files() {
	local rc=0
	mkfs.ext4 -q -F "/dev/$blk" && mkdir -p "$tmp/mnt" && mount "/dev/$blk" "$tmp/mnt" || return
	cp -r "$top/drivers/infiniband/sw/srnic" "$tmp/tree" &&
		head -c "$((MIB / 2))M" /dev/urandom >"$tmp/tree/big" &&
		cp -r "$tmp/tree/." "$tmp/mnt" || rc=1
	umount "$tmp/mnt" && return $rc
}

# The same, read without the page cache's copy.
disk_files_again() {
	local rc=0
	mount -o ro "/dev/$blk" "$tmp/mnt" || return
	diff -r -x lost+found "$tmp/tree" "$tmp/mnt" || rc=1
	umount "$tmp/mnt" && return $rc
}
