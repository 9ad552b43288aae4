# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
#
# Which kernels tests run on beside the machine's own, where they come from, and how
# those that are ours are built. Sourced, after lib.sh: . "$SRNIC_TOP/scripts/kernel.sh"

# suite_of LINUX: the suite of Debian that has this version (6.1, 6.12 or newest) for
# this machine, as scripts/suite-packages takes it.
suite_of() {
	[ "$1" != "$(stock_linux)" ] || { echo own; return; }
	case $1-$(own_suite) in
	6.1-*)         echo bookworm ;;
	6.12-bookworm) echo bookworm-backports ;;
	6.12-*)        echo trixie ;;
	newest-*)      echo trixie-backports ;;
	*) die "no suite for Linux $1" ;;
	esac
}

# linux_of NAME: the version of the kernel NAME of kernel_config. kasan, debug and kcsan are of
# the machine's Debian.
linux_of() {
	case $1 in
	kernel-kasan|kernel-debug|kernel-kcsan) stock_linux ;;
	kernel-disks|kernel-smp-debug) echo newest ;;
	*) echo "${1#kernel-}" ;;
	esac
}

# kernel_source LINUX [--version]: the tarball of its sources, or their version. Debian's
# installed package if there is one.
kernel_source() {
	local package=linux-source-$1 dir
	[ "$1" != newest ] || package=linux-source
	if dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed; then
		dir='' version=$(dpkg-query -W -f '${Version}' "$package")
	elif [ "${2:-}" = --version ]; then
		version=$("$SRNIC_TOP/scripts/suite-packages" --version "$(suite_of "$1")" "$package") || return
	else
		dir=$("$SRNIC_TOP/scripts/suite-packages" --with 'linux-source-[0-9.]+' \
			"$(suite_of "$1")" "$package") || return
	fi
	if [ "${2:-}" = --version ]; then
		echo "$version"
	else
		printf '%s\n' "$dir"/usr/src/"$package"*.tar.xz
	fi
}

# Progress of a long build.
progress() {
	awk '/^  (CC|AR|CC \[M\]) / { n++ }
		n && n % 100 == 0 && n != last { last = n
			printf "   %d files\n", n; fflush() }'
}

# unpack_kernel TARBALL TREE: the files that builds for User Mode Linux and x86 need. Other
# machines and drivers are most of the sources; Kconfig files stay.
unpack_kernel() {
	say "unpacking the kernel's sources"
	mkdir "$2"
	tar -C "$2" -xf "$1" --strip-components=1 --wildcards \
		--exclude='*/Documentation/*.rst' --exclude='*/arch/[!ux]*/*.[chS]' --exclude='*/*.dts*' \
		--exclude='*/drivers/gpu/*.[ch]' --exclude='*/drivers/media/*.[ch]' \
		--exclude='*/drivers/staging/*.[ch]' --exclude='*/drivers/scsi/*/*.[ch]' \
		--exclude='*/drivers/net/ethernet/*.[ch]' --exclude='*/drivers/net/wireless/*.[ch]' \
		--exclude='*/sound/*.[ch]' --exclude='*/tools/testing/*' --exclude='*/tools/perf/*'
}

# make_kernel LINUX ARCH IMAGE NAME DIR: DIR/tree becomes the build tree, DIR/tree/IMAGE
# the kernel, DIR/lib/modules its modules, as the files of kernel_config say.
make_kernel() {
	local arch=$2 image=$3 config=$5/config dir=$5 tree=$5/tree source name
	kernel_config "$4" > "$config"
	source=$(kernel_source "$1") || return
	unpack_kernel "$source" "$tree"
	# Before 6.13 User Mode Linux has room for 2,696 bytes of registers. With AMX a processor
	# has 11,008, and no process starts.
	[ "$arch" != um ] || sed -i 's/HOST_FP_SIZE, 2696/HOST_FP_SIZE, 12288/' \
		"$tree/arch/x86/um/user-offsets.c"
	# In the tree itself and not beside it: so no absolute path gets into the build, and the
	# directory can be renamed at the end.
	make -s -C "$tree" ARCH=$arch KCONFIG_ALLCONFIG="$config" allnoconfig
	# A symbol that is gone or lacks a dependency is dropped silently.
	name=$(grep '^CONFIG' "$config" | grep -vxFf "$tree/.config" || :)
	if [ -n "$name" ]; then
		say "the kernel did not take:" $name
		return 1
	fi
	say "building a kernel, once; some ten minutes on two cores"
	make -C "$tree" ARCH=$arch -j"$(nproc)" 2>"$dir/warnings.log" | progress
	if [ ! -e "$tree/$image" ] || ! make -s -C "$tree" ARCH=$arch INSTALL_MOD_PATH="$dir" \
			modules_install 2>>"$dir/warnings.log"; then
		tail -n 20 "$dir/warnings.log" >&2
		return 1
	fi
	rm -f "$dir"/lib/modules/*/build "$dir"/lib/modules/*/source
	# Objects are not needed any more; modules are built with headers and scripts.
	find "$tree" \( -name '*.o' -o -name '*.a' -o -name '*.ko' -o -name '.*.cmd' \) \
		! -path "$tree/scripts/*" -delete
	rm -f "$tree/vmlinux"
}

# kernel_config NAME: the configuration of the kernel NAME. A later file overrides an earlier one.
kernel_config() {
	local name linux files=()
	linux=$(linux_of "$1")
	case $1 in
	kernel-kasan)  set -- common uml checks kasan "$linux" ;;
	kernel-6.1|kernel-6.12|kernel-newest) set -- common uml "$linux" ;;
	kernel-disks)  set -- common uml disks "$linux" ;;
	kernel-smp-debug) set -- common uml "$linux" users checks smp-debug ;;
	kernel-debug)  set -- common users "$linux" checks debug ;;
	kernel-kcsan)  set -- common users "$linux" checks debug kcsan ;;
	*) die "no kernel $1" ;;
	esac
	for name in "$@"; do
		name=$SRNIC_TOP/scripts/kernel-$name.config
		[ ! -e "$name" ] || files+=("$name")
	done
	awk '
		FNR == 1 { file++ }
		{ symbol = /^CONFIG_/ ? $1 : /^# CONFIG_.* is not set$/ ? $2 : "" }
		file <= n { last[symbol] = file; next }
		symbol == "" || last[symbol] == file - n
	' n=${#files[@]} FS='[ =]' "${files[@]}" "${files[@]}"
}

# patches_of NAME: by which its sources are changed.
patches_of() {
	case $1 in
	kernel-newest|kernel-disks) echo "$SRNIC_TOP/scripts/kernel-newest.patch" ;;
	# for User Mode Linux under checkers
	kernel-smp-debug) printf '%s\n' "$SRNIC_TOP"/patches/*-um-*.patch ;;
	esac
}

# make_patched_kernel LINUX ARCH IMAGE NAME DIR: as make_kernel, from sources changed by the patches
# of NAME. A separate function: a patch for one kernel is no reason to build the others anew.
make_patched_kernel() {
	local patches
	mapfile -t patches < <(patches_of "$4")
	[ ${#patches[@]} -gt 0 ] || return 1
	eval "pristine_$(declare -f unpack_kernel)"
	unpack_kernel() {
		pristine_unpack_kernel "$@" && cat "${patches[@]}" | patch -s -d "$2" -p1
	}
	make_kernel "$@"
}

# cached_kernel NAME ARCH IMAGE: the directory of make_kernel, built at the first call.
cached_kernel() {
	local linux version make=(make_kernel unpack_kernel) of=()
	linux=$(linux_of "$1")
	version=$(kernel_source "$linux" --version) || die "no sources of Linux $linux"
	mapfile -t of < <(patches_of "$1")
	[ ${#of[@]} = 0 ] || make=(make_patched_kernel "${make[@]}")
	cached "$1" "$(hash_of "$version" "$(kernel_config "$1")" \
		"$(declare -f "${make[@]}")" "$2" "$3" "${of[@]}")" \
		"${make[0]}" "$linux" "$2" "$3" "$1"
}
