#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# What one user cannot take away from others: memory and objects, as control groups
# limit them (limits.c). RLIMIT_MEMLOCK is in badinput.sh and memory.sh.

. "$(dirname "$0")/lib.sh"

[ -x "$BIN/limits" ] || bail "no $BIN/limits: make -C tests/system OUT=..."

root=$tmp/cgroup

# in_group FILE=VALUE... -- CASE: in a control group of its own with these limits
in_group() {
	local group=$root/limits-$BASHPID rc=0
	mkdir "$group" || return
	while [ "$1" != -- ]; do
		[ -e "$group/${1%%=*}" ] || { rmdir "$group"; echo "no ${1%%=*} in this kernel"; return 77; }
		echo "${1#*=}" >"$group/${1%%=*}" || return
		shift
	done
	shift
	LIMITS_CGROUP=$group bash -c 'echo $$ >"$LIMITS_CGROUP/cgroup.procs" && exec "$@"' \
		bash ip netns exec "$CLI_NS" "$BIN/limits" "$CLI4" "$1" || rc=$?
	grep -H . "$group"/{memory.events,memory.peak,rdma.max} 2>/dev/null
	# it was told, not killed
	! grep -q '^oom_kill [1-9]' "$group/memory.events" 2>/dev/null || rc=1
	# Linux 6.1 forgets to free what it keeps for a limit when the group goes first,
	# and stumbles over that when the device goes.
	[ ! -e "$group/rdma.max" ] || echo "$CLI_DEV hca_handle=max hca_object=max" >"$group/rdma.max"
	within 10 rmdir "$group" || return
	return $rc
}

# Nothing may be said about it in the log either: any user can ask for too much.
log_quiet() {
	local before
	before=$(dmesg | wc -l)
	"$@" || return
	dmesg | tail -n +$((before + 1)) | { ! grep -iE 'alloc|oom|out of memory'; }
}

one_host
mkdir "$root" && mount -t cgroup2 none "$root" || bail "no control groups"
# one by one: a kernel without one of them refuses them all
for c in memory rdma; do
	echo "+$c" >"$root/cgroup.subtree_control" || echo "# no controller $c"
done

t "rings are charged to their user" in_group memory.max=max -- charged
t "too much memory is an error" log_quiet in_group memory.max=$((26 << 20)) -- too-much
t "too many objects are an error" in_group "rdma.max=$CLI_DEV hca_object=8" -- objects
t "rings begin with zeros" on_cli "$BIN/limits" "$CLI4" zeroed

umount "$root"
teardown_hosts
done_testing
