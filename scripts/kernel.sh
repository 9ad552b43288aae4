# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
#
# How the kernels for tests are built from the linux-source package. Sourced,
# after lib.sh: . "$SRNIC_TOP/scripts/kernel.sh"

# For those who watch.
progress() {
	awk '/^  (CC|AR|CC \[M\]) / { n++ }
		n && n % 100 == 0 && n != last { last = n
			printf "   %d files\n", n; fflush() }'
}

# make_kernel ARCH IMAGE NAME DIR: DIR/tree becomes the build tree, DIR/tree/IMAGE
# the kernel, DIR/lib/modules its modules, as kernel-common.config and
# NAME.config say.
make_kernel() {
	local arch=$1 image=$2 config=$4/config dir=$4 tree=$4/tree name
	kernel_config "$3" > "$config"
	say "unpacking the kernel's sources"
	mkdir "$tree"
	# Other machines and drivers are most of the sources; Kconfig files stay.
	tar -C "$tree" -xf "$linux_source" --strip-components=1 --wildcards \
		--exclude='*/Documentation/*.rst' --exclude='*/arch/[!ux]*/*.[chS]' --exclude='*/*.dts*' \
		--exclude='*/drivers/gpu/*.[ch]' --exclude='*/drivers/media/*.[ch]' \
		--exclude='*/drivers/staging/*.[ch]' --exclude='*/drivers/scsi/*/*.[ch]' \
		--exclude='*/drivers/net/ethernet/*.[ch]' --exclude='*/drivers/net/wireless/*.[ch]' \
		--exclude='*/sound/*.[ch]' --exclude='*/tools/testing/*' --exclude='*/tools/perf/*'
	# In the tree itself and not beside it: then no absolute path gets into the
	# build, and the directory can be renamed when all is done.
	make -s -C "$tree" ARCH=$arch KCONFIG_ALLCONFIG="$config" allnoconfig
	# A symbol that is gone or lacks what it depends on is dropped silently.
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
	# Objects have served; modules are built with headers and scripts.
	find "$tree" \( -name '*.o' -o -name '*.a' -o -name '*.ko' -o -name '.*.cmd' \) \
		! -path "$tree/scripts/*" -delete
	rm -f "$tree/vmlinux"
}

# kernel_config NAME: what the kernel of NAME.config is made of. What a later file
# says of a symbol counts, and not what an earlier one said.
kernel_config() {
	local name files=()
	for name in kernel-common $([ "$1" != kernel-kcsan ] || echo kernel-debug) "$1"; do
		files+=("$SRNIC_TOP/scripts/$name.config")
	done
	awk '
		FNR == 1 { file++ }
		{ symbol = /^CONFIG_/ ? $1 : /^# CONFIG_.* is not set$/ ? $2 : "" }
		file <= n { last[symbol] = file; next }
		symbol == "" || last[symbol] == file - n
	' n=${#files[@]} FS='[ =]' "${files[@]}" "${files[@]}"
}

# cached_kernel NAME ARCH IMAGE: the directory of make_kernel, built at the first call.
cached_kernel() {
	cached "$1" "$(hash_of "$(linux_source_version)" "$(kernel_config "$1")" \
		"$(declare -f make_kernel)" "$2" "$3")" make_kernel "$2" "$3" "$1"
}
