#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# A hostile user of the host, with sockets that are handed over: the cases of handhostile.c,
# hand-overs that are killed, and the end of the device and of the module while sockets are handed
# over.

. "$(dirname "$0")/lib.sh"

[ "$SRNIC_TYPE" = srnic ] || skip_all "the type under test is $SRNIC_TYPE"
[ -x "$BIN/handhostile" ] || bail "no $BIN/handhostile: make -C tests/programs OUT=..."

# Called in a subshell, which becomes the program
nobody() {
	exec ip netns exec "$CLI_NS" setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
}

# Likewise, but as root, which alone may write to the test module's files in debugfs
root() { exec nsenter --net=/run/netns/"$CLI_NS" "$@"; }

host() {
	one_host
	# so that TCP takes little data without a reader
	ip -n h1 link set lo mtu 1500
}

is_loaded() { [ -e /sys/module/srnic ]; }

# A module to which no socket was handed yet, as after a boot
fresh_module() { rmmod srnic && modprobe srnic; }

# begin CASE WORD [USER]: as a process of its own, until it prints WORD
hostile=''
begin() {
	: >"$tmp/hostile"
	"${3:-nobody}" "$BIN/handhostile" "$CLI4" "$1" >"$tmp/hostile" 2>&1 &
	hostile=$!
	within 30 grep -q "^$2" "$tmp/hostile" || { cat "$tmp/hostile"; return 1; }
}

ends() { within 20 eval '! kill -0 $hostile 2>/dev/null'; }

killed() {
	begin stuck "handing over" && sleep 1 && kill -KILL $hostile && took 1000 ends
}

deleted() {
	begin stuck "handing over" && sleep 1 && took 2000 rdma link delete sr1 && ends || return
	cat "$tmp/hostile"
	grep -qE '^(ENODEV|Input/output error)$' "$tmp/hostile"
}

# A module that locks sockets, as a thread does whose data is memory that FUSE supplies
locker() {
	local ko
	ko=/lib/modules/$(uname -r)/updates/srnic_selftest.ko
	insmod "$ko" && [ -e /sys/kernel/debug/srnic_selftest/lock ]
}

deleted_locked() {
	local rc=0
	begin locked "the socket" root && took 10000 rdma link delete sr1 || rc=1
	kill -KILL $hostile
	ends && return $rc
}

# While a socket is handed over the module is in use; otherwise it is unloaded, and the program's
# next call fails
unloaded() {
	local i
	for i in 1 2 3 4 5 6; do
		host
		begin loop go || return
		sleep 0.$i
		within 10 rmmod srnic 2>"$tmp/rmmod" || echo "in use until the end: $(cat "$tmp/rmmod")"
		is_loaded && kill -KILL $hostile
		ends || return
		cat "$tmp/hostile"
		teardown_hosts
		is_loaded && { within 20 rmmod srnic || return; }
		modprobe srnic || return
	done
}

let_go() {
	teardown_hosts
	within 20 rmmod srnic && modprobe srnic
}

t "the module is loaded afresh" fresh_module
host
t "handhostile lists its cases" cases_of "$BIN/handhostile" --list
while IFS=$'\t' read -r -u 3 name what; do
	t "$name: $what" nobody "$BIN/handhostile" "$CLI4" "$name"
done 3<"$tmp/cases"
t "a hand-over to a peer that does not read can be killed" killed
t "a device is deleted while a hand-over waits for the peer" deleted
teardown_hosts
host
t "a module locks sockets" locker
t "a thread keeps the socket of a QP locked: the QP ends" root "$BIN/handhostile" "$CLI4" lock
t "a thread keeps the socket of a QP locked: the device is deleted" deleted_locked
rmmod srnic_selftest
t "the module is let go when the programs have ended" let_go
t -l 240 "the module is unloaded while sockets are handed over" unloaded
host
t "sockets are handed over as before" nobody "$BIN/handover" "$CLI4" turn
teardown_hosts
done_testing
