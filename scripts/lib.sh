# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
#
# Shared by the scripts. Sourced, never run: . "$(dirname "$0")/lib.sh"

set -eu

# Folders of depmod and modprobe, which some users' path lacks.
PATH=$PATH:/usr/sbin:/sbin

# The top of the tree, whatever the caller's directory is.
SRNIC_TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# Some services run without HOME.
export HOME="${HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)}"
# Files that take long to make and do not belong to one checkout.
SRNIC_CACHE=${SRNIC_CACHE:-$HOME/.cache/srnic}
# Products of this checkout. Ignored by git. Those for another processor, which SRNIC_ARCH names
# then (scripts/arch.sh), are in a folder of their own.
SRNIC_BUILD=$SRNIC_TOP/build${SRNIC_ARCH:+/$SRNIC_ARCH}

# If ccache is installed, sources compiled before come from its cache. It goes by the files that the
# compiler says it has read, and does not preprocess each source first, which takes a third of the
# time of compiling one of the kernel's.
if [ -d /usr/lib/ccache ]; then
	case $PATH in
	/usr/lib/ccache:*) ;;
	*) PATH=/usr/lib/ccache:$PATH ;;
	esac
	export CCACHE_DIR=$SRNIC_CACHE/ccache CCACHE_BASEDIR=$SRNIC_TOP CCACHE_NOHASHDIR=1 \
		CCACHE_MAXSIZE=2G CCACHE_DEPEND=1
fi

say() { printf '%s\n' "== $*" >&2; }
die() { printf '%s\n' "${0##*/}: $*" >&2; exit 1; }

# usage: print the comment block at the top of the calling script, which is
# its manual, so that it is written once.
usage() { sed -n '2{/^#!/d};/^# SPDX/d;/^#!/d;/^#/!q;s/^# \{0,1\}//;p' "$0"; }

# copy_tree DIR: what git has of this tree
copy_tree() {
	mkdir -p "$1"
	git -C "$SRNIC_TOP" ls-files -z | tar -C "$SRNIC_TOP" --null -T - -cf - | tar -C "$1" -xf -
}

# The machine's own Debian.
own_suite() { (. /etc/os-release; echo "${VERSION_CODENAME:-bookworm}"); }

# The version of Linux that the machine's own Debian has.
stock_linux() {
	case $(own_suite) in
	trixie) echo 6.12 ;;
	*)      echo 6.1 ;;
	esac
}

# Newest installed stock kernel that can be booted and built for.
newest_image() {
	local rel newest=
	for rel in $(cd /boot 2>/dev/null && printf '%s\n' vmlinuz-"$(stock_linux)".* | sed 's/^vmlinuz-//' | sort -V); do
		if [ -e "/boot/vmlinuz-$rel" ] && [ -d "/lib/modules/$rel/kernel" ] &&
		   [ -e "/lib/modules/$rel/build/Makefile" ]; then
			newest=$rel
		fi
	done
	[ -n "$newest" ] || return 1
	echo "$newest"
}

# newest_headers [VERSION]: newest installed headers of Linux VERSION (default: the stock one).
newest_headers() {
	local rel newest=
	for rel in $(cd /lib/modules 2>/dev/null && printf '%s\n' "${1:-$(stock_linux)}".* | sort -V); do
		if [ -e "/lib/modules/$rel/build/Makefile" ]; then
			newest=$rel
		fi
	done
	[ -n "$newest" ] || return 1
	echo "$newest"
}

# The kernel to build for by default: the running one if possible, otherwise the newest stock one.
default_kdir() {
	local rel
	rel=$(uname -r)
	[ -e "/lib/modules/$rel/build/Makefile" ] || rel=$(newest_headers) || return 1
	echo "/lib/modules/$rel/build"
}

# hash_of FILE-OR-WORD...: one short name for the inputs of a cached file.
hash_of() {
	local a
	for a in "$@"; do
		if [ -f "$a" ]; then cat "$a"; else printf '%s\n' "$a"; fi
	done | sha256sum | cut -c1-16
}

# cached NAME KEY COMMAND...: print the path of $SRNIC_CACHE/NAME-KEY. If it is
# not there yet, COMMAND is run with the path of a new empty directory as its
# last argument, and that directory is renamed into place when it succeeded:
# a directory with the final name is always whole. One maker at a time.
cached() {
	local name=$1 key=$2 dir tmp
	shift 2
	dir=$SRNIC_CACHE/$name-$key
	if [ ! -d "$dir" ]; then
		mkdir -p "$SRNIC_CACHE"
		(
			flock 9
			if [ ! -d "$dir" ]; then
				# Left by a maker that was killed; and old versions that are not
				# used any more.
				rm -rf "$SRNIC_CACHE/.$name."??????
				find "$SRNIC_CACHE" -maxdepth 1 -name "$name-????????????????" \
					-mtime +14 -exec rm -rf {} +
				tmp=$(mktemp -d "$SRNIC_CACHE/.$name.XXXXXX")
				chmod 755 "$tmp"
				if "$@" "$tmp" >&2 9>&-; then
					mv -T "$tmp" "$dir"
				else
					rm -rf "$tmp"
					exit 1
				fi
			fi
		) 9>"$SRNIC_CACHE/.$name.lock" || return 1
	fi
	touch "$dir"
	echo "$dir"
}

# A /dev/kvm without hardware support exists and hangs a stock kernel.
has_kvm() { [ -w /dev/kvm ] && grep -qwE 'vmx|svm' /proc/cpuinfo; }

# slowness KERNEL: the factor by which time limits are longer with that kernel of scripts/guest.
# The limits suit a stock kernel in an emulator.
slowness() {
	case $1 in
	debug) if has_kvm; then echo 1; else echo 5; fi ;;
	kcsan) if has_kvm; then echo 1; else echo 2; fi ;;
	smp-debug) echo 3 ;;
	arm64|s390x|ppc64el) echo 2 ;;
	*) echo 1 ;;
	esac
}

# tree_files [PATTERN...]: the files of the tree, new ones that git does not know yet among them.
tree_files() { git -C "$SRNIC_TOP" ls-files -co --exclude-standard "$@"; }

# All C sources that follow the kernel's coding style.
source_files() {
	find "$SRNIC_TOP"/drivers "$SRNIC_TOP"/include "$SRNIC_TOP"/tests/kunit \
		"$SRNIC_TOP"/tests/programs/kernel "$SRNIC_TOP"/tests/bench/kernel "$SRNIC_TOP"/apis/vipl/include \
		"$SRNIC_TOP"/apis/rnicpi/{include,shared,driver,kernel,tests/kunit,tests/programs/kernel} \
		"$SRNIC_TOP"/userspace/provider -name '*.[ch]' ! -name '*.mod.c' 2>/dev/null | sort
}

# first_words FILE...: each file's name without folder and suffix, and the text of its first
# comment (C, or a script's, to its first empty line).
first_words() {
	awk '
	FNR == 1 {
		name = FILENAME; sub(/.*\//, "", name); sub(/\.[a-z]+$/, "", name)
		at = begun = 0
	}
	at < 0 || /SPDX|^#!/ { next }
	{
		line = $0; end = line ~ /\*\/ *$/
		if (!at && line !~ /^(\/\*|#)/) { at = -1; next }
		at = 1
		sub(/^(\/?\*+|#) ?/, "", line); sub(/^ \*( |$)/, "", line); sub(/ *\*\/ *$/, "", line)
		if (line != "") { printf "%-24s %s\n", begun ? "" : name, line; begun = 1 }
		else if (begun) at = -1
		if (end) at = -1
	}' "$@"
}
