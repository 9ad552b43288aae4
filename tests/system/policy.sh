#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# The policy of a device in sysfs: valid values, permissions, and the effect between two devices.
# startup.sh checks the frames.

. "$(dirname "$0")/lib.sh"

[ "$SRNIC_TYPE" = srnic ] || skip_all "$SRNIC_TYPE has no policy"
[ -x "$BIN/integrity" ] || bail "no $BIN/integrity: make -C tests/programs OUT=..."

# of a device and a name; no sub-shells in what follows, a guest is slow at them
P=/sys/class/infiniband/%s/policy/%s

has() {	# DEVICE NAME VALUE
	local got file
	# shellcheck disable=SC2059 # it is a format
	printf -v file "$P" "$1" "$2"
	read -r got <"$file" || return
	[ "$got" = "$3" ] && return
	echo "$2 of $1 is '$got', not '$3'"
	return 1
}

# Documentation/administration.rst has the same table (scripts/check-documents).
defaults='crc=required markers=off mpa_revision=2 p2p=on max_fpdu=0 connect_timeout=20
	request_timeout=10 reply_timeout=30 accept_timeout=60 close_timeout=5
	keepalive=60 ib_privileged=off ib_port=0 ib_timeout=10 inline_work=on ib_ack=off
	no_receive=1'

all_defaults() {	# DEVICE
	local pair rc=0
	for pair in $defaults; do
		has "$1" "${pair%%=*}" "${pair#*=}" || rc=1
	done
	has "$1" rtr "write read send" && return $rc
}

# The two threads of each QP may take an eighth of the host's maximum. The kernel computed that
# from its memory at boot, and has a little more by now.
a_users_share() {
	local max
	max=$(cat /proc/sys/kernel/threads-max)
	echo "$share of $max threads"
	[ $((share * 2 * 8)) -ge $((max - 256)) ] && [ $((share * 2 * 8)) -le $((max + max / 10)) ]
}

reset_policy() {
	# shellcheck disable=SC2086 # words
	set_policy "$1" $defaults && set_policy "$1" "rtr=write read send"
}

files() {	# DEVICE
	diff - <(cd "/sys/class/infiniband/$1/policy" && stat -c '%a %U %n' ./*) <<-END
		644 root ./accept_timeout
		644 root ./close_timeout
		644 root ./connect_timeout
		644 root ./crc
		644 root ./ib_ack
		644 root ./ib_port
		644 root ./ib_privileged
		644 root ./ib_timeout
		644 root ./inline_work
		644 root ./keepalive
		644 root ./markers
		644 root ./max_fpdu
		644 root ./max_user_qps
		644 root ./mpa_revision
		644 root ./no_receive
		644 root ./p2p
		644 root ./reply_timeout
		644 root ./request_timeout
		644 root ./rtr
	END
}

# takes NAME VALUE [SHOWN]
takes() {
	set_policy sr1 "$1=$2" && has sr1 "$1" "${3:-$2}"
}

# refuses NAME VALUE: EINVAL, and nothing changes
refuses() {
	local file before said=''
	# shellcheck disable=SC2059 # it is a format
	printf -v file "$P" sr1 "$1"
	read -r before <"$file" || return
	if { echo "$2" >"$file"; } 2>"$tmp/said"; then
		echo "$1 takes '$2'"
		return 1
	fi
	read -r said <"$tmp/said"
	case $said in
	*'Invalid argument'*) has sr1 "$1" "$before" ;;
	*) echo "$1, '$2': $said"; return 1 ;;
	esac
}

good_values() {
	local v rc=0
	for v in required preferred off; do takes crc $v || rc=1; done
	for v in off on; do takes markers $v && takes p2p $v && takes inline_work $v || rc=1; done
	for v in off on off; do takes ib_privileged $v && takes ib_ack $v || rc=1; done
	for v in 1 2; do takes mpa_revision $v || rc=1; done
	for v in 0 1 3600 forever; do takes no_receive $v || rc=1; done
	takes no_receive 030 30 || rc=1
	for v in 0 140 141 1460 65535 auto; do takes max_fpdu $v || rc=1; done
	for v in connect request reply accept close ib; do
		takes ${v}_timeout 1 && takes ${v}_timeout 3600 && takes ${v}_timeout 030 30 || rc=1
	done
	for v in 0 1 7200; do takes keepalive $v || rc=1; done
	for v in 0 1 65536; do takes max_user_qps $v || rc=1; done
	set_policy sr1 max_user_qps="$share" || rc=1
	for v in 1 791 1023 1024 4791 65535 0; do takes ib_port $v || rc=1; done
	for v in write read send 'read write' 'send read write' 'write send'; do
		takes rtr "$v" || rc=1
	done
	takes rtr ' send read' 'send read' || rc=1
	reset_policy sr1 && return $rc
}

bad_values() {
	local v n rc=0
	for v in '' ' ' 1 on Required 'required off' requiredx; do refuses crc "$v" || rc=1; done
	for n in markers p2p inline_work ib_privileged ib_ack; do
		for v in '' 0 1 yes ON 'on off'; do refuses $n "$v" || rc=1; done
	done
	for v in '' 0 3 -1 2.0 x; do refuses mpa_revision "$v" || rc=1; done
	for v in '' 3601 -1 0.5 1s Forever 'forever 1' 4294967295 4294967296 wait terminate; do
		refuses no_receive "$v" || rc=1
	done
	for v in '' 1 139 65536 4294967295 4294967296 -1 0x400 1k forever automatic Auto; do refuses max_fpdu "$v" || rc=1; done
	for n in connect request reply accept close ib; do
		for v in '' 0 3601 -1 1.5 4294967297; do refuses ${n}_timeout "$v" || rc=1; done
	done
	for v in '' 7201 -1 x; do refuses keepalive "$v" || rc=1; done
	for v in '' 65537 -1 x; do refuses max_user_qps "$v" || rc=1; done
	for v in '' 65536 -1 x; do refuses ib_port "$v" || rc=1; done
	for v in '' ' ' none 'read,write' 'write write' 'read send read' 'write  read' \
		 'write read send write' "$(printf '%5000s' x)"; do
		refuses rtr "$v" || rc=1
	done
	return $rc
}

not_permitted() {	# COMMAND...: it may not change crc
	! "$@" bash -c 'echo off >/sys/class/infiniband/sr1/policy/crc' && has sr1 crc required
}

rping_for() {	# TIMES
	local how=(-a "$SRV4" -S 3000 -C "$1" -V)

	pair 7174 rping -s "${how[@]}" -- rping -c "${how[@]}"
}

rping_works() { rping_for 5; }

# server_first: the server sends the first message, so an RTR is needed
server_first() {
	pair 7471 ucmatose -b "$SRV4" -c 2 -C 5 -S 2000 -- ucmatose -s "$SRV4" -c 2 -C 5 -S 2000
}

# fpdus COMMAND...: the number that the two devices send
fpdus() {
	local before=$(($(counter sr1 tx_fpdus) + $(counter sr2 tx_fpdus)))
	"$@" >"$tmp/fpdus" 2>&1 || { cat "$tmp/fpdus"; return 1; }
	echo $(($(counter sr1 tx_fpdus) + $(counter sr2 tx_fpdus) - before))
}

large() { pair 7174 rping -s -a "$SRV4" -S 60000 -C 4 -V -- rping -c -a "$SRV4" -S 60000 -C 4 -V; }

# 60000 octets are 42 segments of MTU 1500, and 1 of the largest FPDU
max_fpdu_counts() {
	local small all
	all=$(fpdus large) || { echo "$all"; return 1; }
	set_policy sr1 max_fpdu=65535 && set_policy sr2 max_fpdu=65535 || return
	small=$(fpdus large) || { echo "$small"; return 1; }
	echo "$all FPDUs by the MSS, $small large ones"
	[ "$small" -lt $((all / 4)) ]
}

# As many as by the MSS, unless both ends have it
max_fpdu_auto() {
	local all one both
	set_policy sr1 max_fpdu=0 && set_policy sr2 max_fpdu=0 || return
	all=$(fpdus large) || { echo "$all"; return 1; }
	set_policy sr1 max_fpdu=auto || return
	one=$(fpdus large) || { echo "$one"; return 1; }
	set_policy sr2 max_fpdu=auto || return
	both=$(fpdus large) || { echo "$both"; return 1; }
	echo "$all FPDUs by the MSS, $one if one end has it, $both if both have"
	[ "$one" -gt $((all / 2)) ] && [ "$both" -lt $((all / 4)) ]
}

# Connections keep the policy with which they began; new ones get the present policy.
under_traffic() {
	local rc=0 n=0
	serve 7475 "$BIN/integrity" --server --addr "$SRV4" --timeout 45 || return
	on_cli "$BIN/integrity" --client "$SRV4" --seed 5 --timeout 45 --qps 4 --ops 600 &
	local client=$!
	while kill -0 $client 2>/dev/null; do
		set_policy sr1 crc=off max_fpdu=200 && set_policy sr2 p2p=off mpa_revision=1 &&
			set_policy sr1 crc=preferred max_fpdu=0 && set_policy sr2 p2p=on mpa_revision=2 ||
			rc=1
		n=$((n + 1))
		sleep 0.02
	done
	wait $client || rc=1
	served || rc=1
	echo "changed $n times"
	[ $n -gt 3 ] && return $rc
}

# A peer vanishes while no message is under way: the end with keepalive detects it, the other end
# cannot.
vanished() {
	local before rc=0
	set_policy sr2 keepalive=1 && set_policy sr1 keepalive=0 || return
	serve 7174 rping -s -a "$SRV4" || return
	# a simple command, so that SIGSTOP stops rping
	ip netns exec "$CLI_NS" rping -c -a "$SRV4" -C 100000 -S 64 >"$tmp/client" 2>&1 &
	local client=$!
	within 10 connected sr2 || return
	before=$(counter sr2 close_aborted)
	# the peer is silent, and then vanishes
	kill -STOP $client
	sleep 1
	# in both directions: otherwise the server's RST would reach the client
	loss 100 || rc=1
	within 15 closed_after sr2 "$before" || { echo "the server has not noticed"; rc=1; }
	connected sr1 || { echo "the client has"; rc=1; }
	kill -KILL $client $server_pid 2>/dev/null
	wait $client $server_pid 2>/dev/null
	tc -n h1 qdisc del dev v1 root
	tc -n h2 qdisc del dev v2 root
	return $rc
}

connected() { rdma -d resource show qp link "$1/1" 2>/dev/null | grep -q 'state RTS'; }
closed_after() { [ "$(counter "$1" close_aborted)" -gt "$2" ]; }

loss() {	# PERCENT
	local h
	for h in 1 2; do
		tc -n h$h qdisc replace dev v$h root netem loss "$1%" || return
	done
}

lost_packets() { tc -n h1 -s qdisc show dev v1 | sed -n 's/.*(dropped \([0-9]*\),.*/\1/p'; }

with_loss() {	# COMMAND...
	local rc=0
	loss 5 || return
	"$@" || rc=$?
	echo "$(lost_packets) packets lost"
	[ "$(lost_packets)" -gt 0 ] || rc=1
	tc -n h1 qdisc del dev v1 root
	tc -n h2 qdisc del dev v2 root
	return $rc
}

two_hosts 1500
share=$(cat /sys/class/infiniband/sr1/policy/max_user_qps)
t "each attribute is a file" files sr1
t "a device has the default values" all_defaults sr1
t "connections of one user take an eighth of the threads by default" a_users_share
t "good values are accepted" good_values
t "bad values are refused: EINVAL" bad_values
t "root without CAP_NET_ADMIN cannot write" not_permitted setpriv --inh-caps -net_admin --bounding-set -net_admin
t "another user cannot write" not_permitted setpriv --reuid 65534 --regid 65534 --clear-groups
set_policy sr1 crc=off max_fpdu=1000 "rtr=send"
t "another device keeps its own values" all_defaults sr2
rm_add() {
	rdma link delete sr1 && ip netns exec h1 rdma link add sr1 type srnic netdev v1 &&
		within 10 port_is_active sr1 && all_defaults sr1
}
t "a new device begins with the defaults" rm_add

for crc in "off off" "off required" "required off" "preferred off" "off preferred"; do
	set_policy sr1 crc="${crc% *}"
	set_policy sr2 crc="${crc#* }"
	t "rping, crc $crc" rping_works
done
reset_policy sr1
reset_policy sr2

set_policy sr1 markers=on
set_policy sr2 markers=on
t "rping, markers and CRC, 5 % loss" with_loss rping_for 30
t "integrity, markers and CRC, 5 % loss" with_loss integrity -- --seed 7 --qps 2 --ops 100 --max-size 8192
reset_policy sr1
reset_policy sr2

for kind in write read send; do
	set_policy sr1 rtr=$kind
	t "server speaks first, RTR by $kind" server_first
done
set_policy sr2 rtr=read
no_match() {
	! rping_works >"$tmp/no-match" 2>&1
	cat "$tmp/no-match"
	grep -q 'error -71' "$tmp/no-match"
}
t "a connection without a common RTR fails" no_match
reset_policy sr1
reset_policy sr2
set_policy sr1 p2p=off
t "rping, p2p off" rping_works
set_policy sr1 p2p=on mpa_revision=1
t "rping, client of revision 1" rping_works
set_policy sr1 mpa_revision=2
set_policy sr2 mpa_revision=1
t "rping, server of revision 1" rping_works
reset_policy sr2

t "a large max_fpdu makes fewer FPDUs" max_fpdu_counts
t "integrity, large FPDUs" integrity -- --seed 7 --qps 2 --ops 200 --max-size 200000
t "max_fpdu auto makes fewer FPDUs, if both ends have it" max_fpdu_auto
t "integrity, max_fpdu auto" integrity -- --seed 7 --qps 2 --ops 200 --max-size 200000
set_policy sr1 max_fpdu=140
set_policy sr2 max_fpdu=140
t "integrity, the smallest FPDUs" integrity -- --seed 7 --qps 2 --ops 100 --max-size 8192
reset_policy sr1
reset_policy sr2
t "integrity, policies change all the time" under_traffic
reset_policy sr1
reset_policy sr2
t "keepalive finds a peer that has vanished" vanished
teardown_hosts
done_testing
