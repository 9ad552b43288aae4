# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
#
# How scripts/in-tree and scripts/in-rdma-core write to another source tree, which is $tree. They
# can be run again, when either tree has changed. Sourced, after lib.sh:
# . "$SRNIC_TOP/scripts/copy.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# put TO: standard input becomes this file of the tree
put() {
	echo "$1"
	mkdir -p "$(dirname "$tree/$1")"
	cat > "$work/new"
	cmp -s "$work/new" "$tree/$1" || cp "$work/new" "$tree/$1"
}

# insert FILE TEXT SED-COMMAND: change a file of the tree that lacks TEXT
insert() {
	echo "$1"
	grep -qF "$2" "$tree/$1" || sed -Ei "$3" "$tree/$1"
	grep -qF "$2" "$tree/$1" || die "no place for it in $1"
}

# put_all ARGUMENT...: what the function copy puts; and what find finds in the tree, with these
# arguments, is removed if it is gone here
put_all() {
	copy > "$work/list"
	(cd "$tree" && find "$@") | grep -vxFf "$work/list" | (cd "$tree" && xargs -r rm --)
	cat "$work/list"
}
