# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash disable=SC2034 # names for others
#
# Other processors than the machine's own: what each is called, and how to build for one. Sourced,
# after lib.sh: . "$SRNIC_TOP/scripts/arch.sh"

# As Debian calls them
ARCHES='arm64 s390x ppc64el'

is_arch() { [[ " $ARCHES " == *" $1 "* ]]; }

# of_arch ARCH: set what others call it
#   triplet   GNU
#   kbuild    kbuild: its arguments
#   flavour   Debian's kernel
#   emulator  QEMU: qemu-system-$emulator
#   user      QEMU for a program: qemu-$user
#   qemu      the package of the first
of_arch() {
	local folder
	case $1 in
	arm64)   triplet=aarch64-linux-gnu folder=arm64 flavour=arm64 emulator=aarch64 qemu=arm ;;
	s390x)   triplet=s390x-linux-gnu folder=s390 flavour=s390x emulator=s390x qemu=misc ;;
	ppc64el) triplet=powerpc64le-linux-gnu folder=powerpc flavour=powerpc64le emulator=ppc64 qemu=ppc ;;
	*) die "no processor $1, there are: $ARCHES" ;;
	esac
	user=${triplet%%-*} user=${user/powerpc/ppc}
	kbuild=(ARCH="$folder" CROSS_COMPILE="$triplet-")
	qemu=qemu-system-$qemu
}

# cross ARCH: what make and cmake build from here on is for it, with the libraries of its root
cross() {
	of_arch "$1"
	root=$("$SRNIC_TOP/scripts/guest-root" "$1") || return
	command -v "$triplet-gcc" >/dev/null || die "no $triplet-gcc; run scripts/setup arch"
	export SRNIC_ARCH=$1 CC="$triplet-gcc --sysroot=$root"
	export PKG_CONFIG_PATH='' PKG_CONFIG_SYSROOT_DIR=$root \
		PKG_CONFIG_LIBDIR=$root/usr/lib/$triplet/pkgconfig:$root/usr/share/pkgconfig
	cmake_options=(-DCMAKE_SYSTEM_NAME=Linux "-DCMAKE_SYSTEM_PROCESSOR=${triplet%%-*}"
		"-DCMAKE_C_COMPILER=$triplet-gcc" "-DCMAKE_SYSROOT=$root" "-DCMAKE_FIND_ROOT_PATH=$root"
		-DCMAKE_FIND_ROOT_PATH_MODE_PROGRAM=NEVER -DCMAKE_FIND_ROOT_PATH_MODE_LIBRARY=ONLY
		-DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY)
}

# Does dpkg-buildpackage build for another processor? What it needs of that is installed then, beside
# the machine's own, and debian/rules has set CC and PKG_CONFIG. Sets what cmake must be told.
cross_package() {
	[ "${DEB_HOST_ARCH:-}" != "${DEB_BUILD_ARCH:-}" ] || return
	cmake_options=(-DCMAKE_SYSTEM_NAME=Linux "-DCMAKE_SYSTEM_PROCESSOR=$DEB_HOST_GNU_CPU"
		"-DCMAKE_C_COMPILER=$CC")
}
