# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
#
# A new and minimal Debian in a directory, in which packages are built or installed as on a machine
# that has nothing else, and the steps of doing so. Needs root and debootstrap. Sourced, after lib.sh and
# tap.sh: . "$SRNIC_TOP/scripts/minimal.sh"

. "$SRNIC_TOP/scripts/apt.sh"

# in_root DIR COMMAND...: with the mounts that it needs, which are undone afterwards
in_root() {
	local root=$1
	shift
	# shellcheck disable=SC2016 # for the inner shell
	unshare --mount sh -ec '
		for fs in proc sys dev; do
			mount --rbind "/$fs" "$0/$fs"
		done
		exec chroot "$0" env -i HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
			PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"' "$root" "$@"
}

# minimal SUITE DIR PACKAGE...: make it
minimal() {
	local suite=$1 root=$2 mirror
	shift 2
	mirror=$(debian_mirror) || return
	debootstrap --variant=minbase --include=ca-certificates "$suite" "$root" "$mirror" || return
	cp /etc/resolv.conf "$root/etc/"
	# proxies and dates in the machine's own apt configuration
	apt-config dump | grep -E '^Acquire::(https?::|Check-|Retries )' > "$root/etc/apt/apt.conf.d/90machine"
	in_root "$root" apt-get update &&
		in_root "$root" apt-get install -y --no-install-recommends "$@"
}

# gone DIR: debootstrap leaves /proc of a root mounted when it is killed, and rm would go into it
gone() {
	local at
	while read -r at; do
		umount "$at" || return
	done < <(findmnt -rno TARGET | grep "^$1/" | sort -r)
	rm -rf --one-file-system "${1:?}"
}

# step NAME TEXT COMMAND...: one test, with its output in $steps-NAME.log, relative to $SRNIC_TOP.
# Without it the following ones make no sense.
step() {
	local name=$1 text=$2 start=$SECONDS
	shift 2
	if "$@" > "$steps-$name.log" 2>&1 </dev/null; then
		ok "$text ($((SECONDS - start)) s)"
	else
		not_ok "$text, see $steps-$name.log"
		tail -n 40 "$steps-$name.log" | sed 's/^/#   /'
		totals
		exit 1
	fi
}
