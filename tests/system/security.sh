#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Calls of a user without the right to them: making and ending devices, changing their settings.
# Documentation/security.rst has the rest, with the tests for it.

. "$(dirname "$0")/lib.sh"

[ "$SRNIC_TYPE" = srnic ] || skip_all "the type under test is $SRNIC_TYPE"
need_programs setpriv

# As root without this capability
without_net_admin() { on_cli setpriv --bounding-set=-net_admin --inh-caps=-net_admin "$@"; }
as_nobody() { on_cli setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }

# It fails for lack of a right, and for no other reason.
denied() {
	local rc=0
	LC_ALL=C "$@" >"$tmp/denied" 2>&1 || rc=$?
	cat "$tmp/denied"
	[ $rc != 0 ] && grep -qE 'Operation not permitted|Permission denied' "$tmp/denied"
}

# Refused for others, then accepted with the right: so there is no other reason.
only_admin_adds() {
	on_cli ip link add sec0 type dummy && on_cli ip link set sec0 up || return 1
	denied without_net_admin rdma link add srsec type srnic netdev sec0 &&
	denied as_nobody rdma link add srsec type srnic netdev sec0 &&
	! rdma link show srsec/1 &&
	on_cli rdma link add srsec type srnic netdev sec0
}

only_admin_deletes() {
	denied without_net_admin rdma link delete srsec &&
	denied as_nobody rdma link delete srsec &&
	rdma link show srsec/1 &&
	on_cli rdma link delete srsec && on_cli ip link delete sec0
}

# The files of the device's policy: refused for other users, and for root without the capability.
# One process for all files: a guest in an emulator takes seconds to start one for each.
only_admin_sets() {
	local file value
	set -- /sys/class/infiniband/"$CLI_DEV"/policy/*
	[ -e "$1" ] || return
	# shellcheck disable=SC2016 # expanded there
	local all_refuse='for file; do
		read -r value <"$file" || exit
		! echo "$value" >"$file" || { echo "$file is set"; exit 1; }
	done'
	setpriv --reuid=65534 --regid=65534 --clear-groups bash -c "$all_refuse" bash "$@" || return
	setpriv --bounding-set=-net_admin --inh-caps=-net_admin bash -c "$all_refuse" bash "$@" || return
	for file; do
		read -r value <"$file" && echo "$value" >"$file" || return
	done
}

one_host
t "making a device takes CAP_NET_ADMIN" only_admin_adds
t "ending a device takes CAP_NET_ADMIN" only_admin_deletes
t "changing its policy takes CAP_NET_ADMIN" only_admin_sets
teardown_hosts
done_testing
