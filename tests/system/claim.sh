#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Which QPs a connection may use (the cases of claim.c), to which user the connections made by
# ibv_modify_qp() belong, and which processes can bind their port.

. "$(dirname "$0")/lib.sh"

[ "$SRNIC_TYPE" = srnic ] || skip_all "$SRNIC_TYPE has another rule"
[ -x "$BIN/claim" ] || bail "no $BIN/claim: make -C tests/programs OUT=..."
ko=/lib/modules/$(uname -r)/updates/srnic_talk.ko
[ -e "$ko" ] || bail "no $ko: scripts/build-stage"

# A kernel consumer's QPs while they are in use
kernels_qp() {
	local qpn rc=0 params=/sys/module/srnic_talk/parameters
	modprobe rnicpi && on_cli insmod "$ko" netdev=d1 addr="$CLI4" || return
	# shellcheck disable=SC2016 # expanded later
	within 20 eval '[ "$(cat $params/rounds)" -ge 100 ]' &&
		qpn=$(rdma resource show qp | sed -n 's/.* lqpn \([0-9]*\) .*\[.*\].*/\1/p' | head -n 1) &&
		[ -n "$qpn" ] && on_cli env CLAIM_QPN="$qpn" "$BIN/claim" "$CLI4" kernel || rc=1
	[ $rc = 0 ] || rdma resource show qp
	[ "$(cat $params/spoilt)" = 0 ] || rc=1
	rmmod srnic_talk && rmmod rnicpi || rc=1
	return $rc
}

# as USER COMMAND...: on the client's host, without any right. In a subshell, which becomes the
# command
as() { exec ip netns exec "$CLI_NS" setpriv --reuid "$1" --regid "$1" --clear-groups --inh-caps=-all "${@:2}"; }

# in_background FILE WORD COMMAND...: until it prints WORD
in_background() {
	local out=$1 word=$2
	shift 2
	# ignore the output of the last one
	: >"$tmp/$out"
	"$@" >"$tmp/$out" 2>&1 &
	pids="$pids $!"
	within 20 grep -qx "$word" "$tmp/$out" || { cat "$tmp/$out"; return 1; }
}

end_background() {
	# shellcheck disable=SC2086 # words
	kill -KILL $pids
	# shellcheck disable=SC2086 # words
	wait $pids 2>/dev/null
	pids=''
	within 10 nothing_left
}

# The first user's QP waits at the address before the second user connects two
owners() {
	local pids='' rc=0 all
	in_background first rtr as 65534 "$BIN/claim" "$CLI4" rtr &&
		in_background second connected as 65533 "$BIN/claim" "$CLI4" two || rc=1
	on_cli ss -Htane "( sport = :$IB_PORT or dport = :$IB_PORT )" | tee "$tmp/ss"
	all=$(awk '$1 == "ESTAB" { n++; own += /uid:65533 / } $1 == "LISTEN" { l++; bad += /uid:/ }
		   END { print n, own, l, bad + 0 }' "$tmp/ss")
	[ "$all" = "2 2 1 0" ] || { echo "connections, of the second user, listeners, with a user: $all"; rc=1; }
	end_background || rc=1
	return $rc
}

# tries USER: a line for each way of binding the port
tries() {
	as "$1" /usr/bin/python3 - "$CLI4" "$IB_PORT" <<'EOF'
import errno, itertools, socket, sys
address, port = sys.argv[1], int(sys.argv[2])
hosts = ((socket.AF_INET, address), (socket.AF_INET, ""), (socket.AF_INET, "127.0.0.1"),
         (socket.AF_INET6, "::"), (socket.AF_INET6, "::ffff:" + address))
for (family, host), kind, reuse, group in itertools.product(
        hosts, (socket.SOCK_STREAM, socket.SOCK_DGRAM), (0, 1), (0, 1)):
    with socket.socket(family, kind) as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, reuse)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, group)
        # IP_FREEBIND, IPV6_FREEBIND: the address may have moved to another host
        if family == socket.AF_INET6:
            s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
            s.setsockopt(socket.IPPROTO_IPV6, 78, 1)
        else:
            s.setsockopt(socket.IPPROTO_IP, 15, 1)
        try:
            s.bind((host, port))
            if kind == socket.SOCK_STREAM:
                s.listen(1)
            what = "bound"
        except OSError as e:
            what = errno.errorcode[e.errno]
        print(what, family.name, repr(host), kind.name, "reuse %d %d" % (reuse, group))
EOF
}

all_are() { tee "$tmp/all" | grep -v "^$1 " | head; [ -s "$tmp/all" ] && ! grep -qv "^$1 " "$tmp/all"; }

port_is_held() {
	local pids=''
	tries 65534 | all_are EADDRINUSE &&
	in_background rtr rtr as 65533 "$BIN/claim" "$CLI4" rtr && tries 65534 | all_are EADDRINUSE &&
	end_background && tries 65534 | all_are EADDRINUSE
}

# Another port: connections at the old one are in TIME_WAIT
port_is_free() {
	local IB_PORT=4790
	set_policy "$CLI_DEV" ib_port=$IB_PORT && tries 65534 | all_are EADDRINUSE &&
	set_policy "$CLI_DEV" ib_port=0 && tries 65534 | all_are bound
}

# taker PROTOCOL ADDRESS: a user's program that binds the port, in the background
taker() {
	in_background taken bound as 65534 /usr/bin/python3 -c 'import socket, sys, time
s = socket.socket(socket.AF_INET, getattr(socket, sys.argv[1]))
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
s.bind((sys.argv[2], int(sys.argv[3])))
print("bound", flush=True)
time.sleep(60)' "$1" "$2" "$IB_PORT"
}

# taken_by PROTOCOL ADDRESS: bound before the policy is set
taken_by() {
	local pids='' rc=0
	set_policy "$CLI_DEV" ib_port=0 && taker "$@" || return
	LC_ALL=C set_policy "$CLI_DEV" ib_port="$IB_PORT" 2>"$tmp/refused" && rc=1
	grep -q 'Address already in use' "$tmp/refused" || { cat "$tmp/refused"; rc=1; }
	[ "$(policy "$CLI_DEV" ib_port)" = 0 ] || rc=1
	# shellcheck disable=SC2086 # words
	kill $pids
	# shellcheck disable=SC2086 # words
	wait $pids 2>/dev/null
	within 5 set_policy "$CLI_DEV" ib_port="$IB_PORT" || rc=1
	return $rc
}

taken() { taken_by SOCK_STREAM "" && taken_by SOCK_STREAM "$CLI4" && taken_by SOCK_DGRAM "" && taken_by SOCK_DGRAM "$CLI4"; }

# They stay for longer than whoever has set the policy
port_is_in_no_cgroup() {
	local group=$tmp/cgroup/srnic rc=0
	modprobe -q udp_diag
	mkdir "$tmp/cgroup" && mount -t cgroup2 none "$tmp/cgroup" && mkdir "$group" || return
	set_policy "$CLI_DEV" ib_port=0
	(echo $BASHPID >"$group/cgroup.procs" && set_policy "$CLI_DEV" ib_port="$IB_PORT") || rc=1
	on_cli ss -Hlun --cgroup "sport = :$IB_PORT" | tee "$tmp/ss"
	! grep -q 'cgroup:/srnic' "$tmp/ss" || rc=1
	rmdir "$group" && umount "$tmp/cgroup" || rc=1
	[ $rc != 0 ] || grep -q 'cgroup:/' "$tmp/ss" || { echo "SKIP: the kernel does not tell a socket's cgroup"; rc=77; }
	return $rc
}

# The port is held where the interface goes, and no more where it was
port_moves() {
	local rc=0 IB_PORT=4789
	add_ns h3
	set_policy "$CLI_DEV" ib_port=$IB_PORT && ip -n "$CLI_NS" link set d1 netns h3 || return
	tries 65534 | all_are bound || rc=1
	CLI_NS=h3 tries 65534 | all_are EADDRINUSE || rc=1
	ip -n h3 link set d1 netns "$CLI_NS" && net_up "$CLI_NS" d1 "$CLI4/24" "$CLI6/64" || rc=1
	tries 65534 | all_are EADDRINUSE || rc=1
	CLI_NS=h3 tries 65534 | all_are bound || rc=1
	ip netns del h3
	return $rc
}

# At an address that the QP does not use: without this error its listener would be made, and the
# port be free later
taken_there() {
	local pids='' rc=0 home=$CLI_NS CLI_NS=h5
	add_ns h5
	ip -n h5 link set lo up
	taker SOCK_STREAM 127.0.0.1 || return
	ip -n "$home" link set d1 netns h5 && net_up h5 d1 "$CLI4/24" "$CLI6/64" || rc=1
	(as 65533 timeout -s KILL 10 "$BIN/claim" "$CLI4" rtr) >"$tmp/rtr" 2>&1
	grep 'Address already in use' "$tmp/rtr" || { cat "$tmp/rtr"; rc=1; }
	(as 65533 timeout -s KILL 10 "$BIN/ud" "$CLI4" sizes) >"$tmp/ud" 2>&1
	grep 'Address already in use' "$tmp/ud" || { cat "$tmp/ud"; rc=1; }
	# shellcheck disable=SC2086 # words
	kill $pids
	# shellcheck disable=SC2086 # words
	wait $pids 2>/dev/null
	pids=''
	(as 65533 "$BIN/ud" "$CLI4" sizes) && tries 65534 | all_are EADDRINUSE || rc=1
	in_background rtr rtr as 65533 "$BIN/claim" "$CLI4" rtr && tries 65534 | all_are EADDRINUSE || rc=1
	end_background || rc=1
	ip -n h5 link set d1 netns "$home" && net_up "$home" d1 "$CLI4/24" "$CLI6/64" || rc=1
	ip netns del h5
	return $rc
}

namespace_ends() {
	add_ns h4
	ip -n h4 link add d4 type dummy && net_up h4 d4 10.79.0.1/24 fd79::1/64
	rdma_up h4 d4 srnic sr4
	set_policy sr4 ib_port="$IB_PORT" && ip netns del h4 && within 20 eval '! rdma link show sr4/1'
}

# With ib_privileged, ib_port is below 1024: only the kernel, or root, can bind it, on any host
reserved_port() {
	local rc=0
	! set_policy "$CLI_DEV" ib_privileged=on || { echo "on, port $IB_PORT"; rc=1; }
	set_policy "$CLI_DEV" ib_port=791 && set_policy "$CLI_DEV" ib_privileged=on || rc=1
	! set_policy "$CLI_DEV" ib_port="$IB_PORT" || { echo "port $IB_PORT, on"; rc=1; }
	[ "$(policy "$CLI_DEV" ib_port)" = 791 ] || rc=1
	IB_PORT=791 tries 65534 | all_are 'E[A-Z]*' || rc=1
	return $rc
}

# Both ends of a user's connection have a port below 1024; a user's process cannot be the responder
both_reserved() {
	local pids='' rc=0 IB_PORT=791
	in_background two connected as 65533 "$BIN/claim" "$CLI4" two || rc=1
	on_cli ss -Htn state established "( sport = :$IB_PORT or dport = :$IB_PORT )" | tee "$tmp/ss"
	[ "$(awk '{ sub(/.*:/, "", $3); sub(/.*:/, "", $4); n += $3 + 0 < 1024 && $4 + 0 < 1024 }
		  END { print NR, n }' "$tmp/ss")" = "2 2" ] || rc=1
	end_background || rc=1
	return $rc
}

# crowd NAME USER QPS: a user's QPs that connect to a host which does not answer
crowd() { in_background "$1" crowd as "$2" env CLAIM_QPS="$3" "$BIN/claim" "$CLI4" crowd; }

# ports_of USER: from which they connect
ports_of() {
	on_cli ss -Htne state syn-sent dst "${CLI4%.*}.99" |
		awk -v user=" uid:$1 " 'index($0, user) { sub(/.*:/, "", $3); print $3 }' | sort -un
}

has_ports() { [ "$(ports_of "$1" | wc -l)" -ge "$2" ]; }

listens() {
	on_cli /usr/bin/python3 -c 'import socket, sys
socket.create_server(("", int(sys.argv[1])))' "$1"
}

# A user has more QPs that connect than there are ports below 1024
crowded() {
	local pids='' rc=0 IB_PORT=791 ports
	on_cli sysctl -qw net.ipv4.ip_local_reserved_ports=700-719
	set_policy "$CLI_DEV" connect_timeout=100 max_user_qps=0 && crowd many 65534 520 || rc=1
	within 30 has_ports 65534 200 || rc=1
	ports=$(ports_of 65534)
	echo "ports: ${ports//$'\n'/ }"
	! has_ports 65534 300 || { echo "too many"; rc=1; }
	! echo "$ports" | grep -x '7[01].' || { echo "kept by the administrator"; rc=1; }
	listens 631 && listens "$(echo "$ports" | head -n 1)" || rc=1
	in_background two connected as 65533 "$BIN/claim" "$CLI4" two || rc=1
	crowd few 65533 8 && within 10 has_ports 65533 1 || { echo "no port to that host"; rc=1; }
	end_background || rc=1
	return $rc
}

one_host
let_users_in || bail "users cannot reach $BIN"
ib_enable
cases claim
t "a kernel consumer's QP is not taken by a program, root's neither" kernels_qp
t "connections belong to their QPs' user, whoever came first, and listeners to nobody" owners
t "nobody else can have the port while it is set" port_is_held
t "it is free when it is not set" port_is_free
set_policy "$CLI_DEV" ib_port="$IB_PORT"
t "somebody has the port: it cannot be set" taken
t "the sockets that hold the port are in nobody's cgroup" port_is_in_no_cgroup
t "the port is held where the interface goes" port_moves
set_policy "$CLI_DEV" ib_port="$IB_PORT"
t "the port is taken there: no QP uses it before it is held" taken_there
t "the namespace goes with its device" namespace_ends
t "ib_privileged takes a port below 1024, and no other one" reserved_port
t "with ib_privileged both ends have a port below 1024" both_reserved
t "peers that do not answer leave ports below 1024 to services and other users" crowded
t "nothing is left" within 10 nothing_left
teardown_hosts
done_testing
