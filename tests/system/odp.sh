#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Memory that is registered and not pinned: the cases of odp.c.

. "$(dirname "$0")/lib.sh"
MIB=192
. "$top/tests/system/lib-disk.sh"

[ -x "$BIN/odp" ] || bail "no $BIN/odp: make -C tests/programs OUT=..."

one_host
# both ends are on one host: a small MTU makes messages of many segments
ip -n h1 link set lo mtu 1500

# The counters say that pages came and went; the first ones cannot have been there before.
counted() {
	local name
	for name in odp_faults odp_prefetches odp_invalidations; do
		echo "$name: $(counter "$CLI_DEV" $name)"
		[ "$(counter "$CLI_DEV" $name)" -gt 0 ] || return
	done
}

none_counted() {
	[ "$(counter "$CLI_DEV" odp_faults)" = 0 ] && [ "$(counter "$CLI_DEV" odp_prefetches)" = 0 ]
}

# Eight times what the cgroup of the process may have: pages go to the swap, and come back. What waits
# in its sockets while the receiver waits for pages cannot go there, so it has to be little.
overcommit() {
	local root=$tmp/cgroup rc=0
	on_cli sysctl -qw net.ipv4.tcp_rmem="4096 131072 1048576" net.ipv4.tcp_wmem="4096 16384 1048576" ||
		return
	swap_on || return
	mkdir "$root" && mount -t cgroup2 none "$root" &&
		echo +memory >"$root/cgroup.subtree_control" && mkdir "$root/small" &&
		echo 12M >"$root/small/memory.max" || return
	# shellcheck disable=SC2016	# the inner shell is the one in the cgroup
	ODP_TIMEOUT=400 on_cli bash -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$root/small" \
		"$BIN/odp" "$CLI4" overcommit || rc=1
	cat "$root/small/memory.events"
	within 20 rmdir "$root/small" && umount "$root" || rc=1
	swap_off || rc=1
	return $rc
}

if has_odp; then
	t "memory that is pinned is not counted" none_counted
	cases -l 200 odp
	t "pages that came and went are counted" counted
	t -l 400 "eight times what the cgroup may have, with swap" overcommit
else
	t "a kernel without on-demand paging: no cap, EOPNOTSUPP" \
		on_cli "$BIN/odp" "$CLI4" unsupported
fi

teardown_hosts
done_testing
