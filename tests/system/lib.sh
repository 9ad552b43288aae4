# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
#
# Shared by the system tests. Sourced, never run: . "$(dirname "$0")/lib.sh"
#
# A test prints TAP. It runs as root on a machine that it may change in any way (scripts/guest),
# makes its own hosts and removes them again:
#
#	two_hosts 1500			# netns h1 and h2 over a veth pair
#	t "rping" pair 7174 rping -s -a "$SRV4" -C 10 -- rping -c -a "$SRV4" -C 10
#	teardown_hosts
#	done_testing
#
# SRNIC_TYPE is the type of RDMA link that is tested: srnic, or another one to
# try a test out (siw).

set -u

export SRNIC_TYPE=${SRNIC_TYPE:-srnic}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$here/../.." && pwd)
BIN=${SRNIC_TESTS:-$top/build/tests}	# make -C tests/programs OUT=...
T_LIMIT=${T_LIMIT:-60}			# seconds for one test; a guest is slow
# The factor by which all time limits are longer, on a slow kernel. The programs use it, too
# (deadline_set() in common.c).
export SRNIC_SLOW=${SRNIC_SLOW:-1}
tmp=$(mktemp -d)
# nap SECONDS: as sleep, but takes no process, which a guest is slow to start
mkfifo "$tmp/never"
nap() { read -rt "$1" <>"$tmp/never" || :; }
test_file=$(basename "$0")

# Users without any capability may run the tests' programs from here on, in this guest alone: the
# way there may lead through /root, which is closed to them on Debian.
let_users_in() {
	local dir=$BIN
	while [ "$dir" != / ]; do
		chmod o+x "$dir" && dir=$(dirname "$dir") || return
	done
}

# --- TAP ---------------------------------------------------------------------

. "$top/scripts/tap.sh"	# ok, not_ok, skip

diag() { sed 's/^/#     /'; }
bail() { echo "Bail out! $*"; exit 1; }

skip_all() { echo "1..0 # SKIP $*"; exit 0; }

# where_they_stand PID...: where these processes wait
where_they_stand() {
	local pid task
	for pid in "$@"; do
		# not wchan: User Mode Linux reads beyond the stack for it
		ps -o pid=,stat=,args= -p "$pid"
		for task in /proc/"$pid"/task/*; do
			echo "stack of ${task##*/}, $(cat "$task/comm"):"
			cat "$task/stack"
		done
	done 2>&1
}

# t [-l SECONDS] NAME COMMAND...: one test, which passes if the command (also a
# function) ends with status 0 in time. Status 77 skips, the last line of the
# output says why. The output is shown if the test fails.
t() {
	local limit=$T_LIMIT name pid dog first rc start took lines=60
	if [ "$1" = -l ]; then
		limit=$2
		shift 2
	fi
	name=$1
	shift
	limit=$((limit * SRNIC_SLOW))
	start=${EPOCHREALTIME/./}
	# Process groups of their own, so that all processes of a test can be ended.
	set -m
	(set +m; "$@") >"$tmp/out" 2>&1 </dev/null &
	pid=$!
	(nap "$limit"; where_they_stand $(pgrep -g $pid) >"$tmp/stands"
	 kill -TERM -- -$pid; sleep 3; kill -KILL -- -$pid; sleep 5) >/dev/null 2>&1 &
	dog=$!
	set +m
	rc=0
	wait -n -p first "$pid" "$dog" 2>/dev/null || rc=$?
	if [ "${first:-}" != "$pid" ]; then
		# killed, but still there: it hangs in the kernel
		rc=hung
		{
			echo "does not even die; processes that hang:"
			where_they_stand $(ps -eo pid,stat | awk '$2 ~ /^D/ { print $1 }')
		} >>"$tmp/out" 2>&1
	fi
	took=$(((${EPOCHREALTIME/./} - start) / 100000))
	if [ $took -ge $((limit * 10)) ]; then
		{ echo "time limit: $limit s"; cat "$tmp/stands"; } >>"$tmp/out"
		lines=200
	fi
	kill -KILL -- -$dog 2>/dev/null
	{ wait "$dog"; } 2>/dev/null
	# processes that a test leaves must not disturb the next one
	kill -KILL -- -$pid 2>/dev/null
	took=$((took / 10)).$((took % 10))
	case $rc in
	0)  ok "$name ($took s)" ;;
	77) skip "$name" "$(tail -n 1 "$tmp/out" | sed 's/^SKIP: //')" ;;
	*)  not_ok "$name ($took s)"
	    { echo "status $rc of: $*"; tail -n $lines "$tmp/out"; } | diag ;;
	esac
	[ "$rc" = 0 ] || [ "$rc" = 77 ]
}

# The last test of each file: the kernel has logged no trouble. What is shown is the log around
# the first of it: a WARNING says what it is about in the line above, and names the caller below.
kernel_log_clean() {
	local first
	dmesg | sed -n "/srnic-test: start of $test_file $$\$/,\$p" >"$tmp/dmesg"
	"$top/scripts/kernel-trouble" "$tmp/dmesg" >"$tmp/trouble" && return
	first=$(head -n 1 "$tmp/trouble")
	grep -anxF -m 1 -B 4 -A 44 -e "$first" "$tmp/dmesg"
	return 1
}

# milliseconds
ms() { echo $((${EPOCHREALTIME/./} / 1000)); }

# took MILLISECONDS COMMAND...: it succeeds, within this time
took() {
	local limit=$(($1 * SRNIC_SLOW)) start rc=0
	shift
	start=$(ms)
	"$@" || rc=$?
	echo "$*: status $rc, $(($(ms) - start)) ms"
	[ $rc = 0 ] && [ $(($(ms) - start)) -le "$limit" ]
}

# unloads: the module can go, as nothing holds it, and is loaded again
unloads() { modprobe -r srnic && [ ! -e /sys/module/srnic ] && modprobe srnic; }

done_testing() {
	t "kernel log has no warning" kernel_log_clean
	plan
	echo "# $test_file: $passed passed, $failed failed, $skipped skipped, $SECONDS s"
	[ "$failed" = 0 ]
	exit
}

# cases [-l SECONDS] PROGRAM: each case that PROGRAM lists (cases.h) is a test, in a process of
# its own, limited to SECONDS.
cases() {
	local limit=$T_LIMIT name what
	if [ "$1" = -l ]; then
		limit=$2
		shift 2
	fi
	t "$1 lists its cases" cases_of "$BIN/$1" --list
	while IFS=$'\t' read -r -u 3 name what; do
		t -l "$limit" "$name: $what" on_cli "$BIN/$1" "$CLI4" "$name"
	done 3<"$tmp/cases"
}

# cases_of COMMAND...: stores its list in $tmp/cases, which must not be empty.
cases_of() { "$@" >"$tmp/cases" && grep . "$tmp/cases"; }

# tap_of PREFIX LIMIT PROGRAM ARGUMENT...: run a Python program that prints TAP (tests/tap.py) on
# the client, for LIMIT seconds at most. Each of its tests is a test here, its name behind PREFIX;
# that the program came to its end is a further test.
tap_of() {
	local prefix=$1 limit=$2 program line rc=0
	shift 2
	: >"$tmp/tap"		# tail may start before the program
	on_cli env PYTHONDONTWRITEBYTECODE=1 timeout "$(slow "$limit")" \
		/usr/bin/python3 "$@" >"$tmp/tap" 2>"$tmp/tap-err" &
	program=$!
	while IFS= read -r line; do
		case $line in
		'ok '*' # SKIP '*)
			line=${line#ok * - }
			skip "$prefix${line%% # SKIP *}" "${line#* # SKIP }" ;;
		'ok '*)     ok "$prefix${line#ok * - }" ;;
		'not ok '*) not_ok "$prefix${line#not ok * - }" ;;
		'1..'*)     ;;
		'#'*)       echo "$line" ;;
		*)          echo "#     $line" ;;
		esac
	done < <(tail -n +1 -f -s 0.2 --pid=$program "$tmp/tap")
	wait $program || rc=$?
	t "${prefix}${1##*/} came to its end" came_to_its_end $rc
}

# It has run all planned tests, and its status agrees with their results.
came_to_its_end() {	# STATUS
	local want=0
	tail -n 20 "$tmp/tap-err"
	! grep -q '^not ok ' "$tmp/tap" || want=1
	echo "status $1, $(grep -cE '^(not )?ok ' "$tmp/tap") tests, plan $(grep '^1\.\.' "$tmp/tap")"
	grep -q '^ok ' "$tmp/tap" && as_planned "$tmp/tap" && [ "$1" = $want ]
}

# --- hosts -------------------------------------------------------------------

# After two_hosts, one_host: the server and the client of a test.
SRV_NS='' CLI_NS='' SRV_DEV='' CLI_DEV=''
SRV4='' SRV6='' CLI4='' CLI6=''
made_ns='' made_rdma='' made_rules=''

# slow SECONDS: as many as this kernel needs instead
slow() { echo $(($1 * SRNIC_SLOW)); }

# within SECONDS COMMAND...: try until it succeeds.
within() {
	local end=$((SECONDS + $1 * SRNIC_SLOW))
	shift
	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		nap 0.1
	done
}

# grows FILE SECONDS: within these it gets more than five lines more
grows() {
	local lines
	lines=$(wc -l <"$1")
	within "$2" eval "[ \$(wc -l <'$1') -gt $((lines + 5)) ]"
}

net_up() {	# NETNS NETDEV V4/LEN V6/LEN
	printf '%s\n' "link set lo up" "addr add $3 dev $2" "addr add $4 dev $2 nodad" "link set $2 up" |
		ip -n "$1" -batch - ||
		bail "cannot set up $2 in $1"
}

rdma_up() {	# NETNS NETDEV TYPE RDMADEV
	ip netns exec "$1" timeout "$(slow 20)" rdma link add "$4" type "$3" netdev "$2" ||
		bail "no $3 on $2 in $1"
	made_rdma="$made_rdma $4"
	within 10 port_is_active "$4" ||
		bail "the port does not get active: $(rdma link show "$4/1")"
}

add_ns() {
	ip netns add "$1" || bail "cannot make netns $1"
	made_ns="$made_ns $1"
	# no duplicate address detection, no router solicitation: hosts are ready at once
	ip netns exec "$1" sysctl -qw net.ipv6.conf.default.accept_dad=0 \
		net.ipv6.conf.default.router_solicitations=0
}

port_is_active() { rdma link show "$1/1" 2>/dev/null | grep -q 'state ACTIVE'; }

# two_hosts MTU [CLIENT-TYPE [SERVER-TYPE]]
two_hosts() {
	local mtu=$1 type1=${2:-$SRNIC_TYPE} type2=${3:-$SRNIC_TYPE}
	add_ns h1
	add_ns h2
	# The indices differ: in the RDMA subsystem's shared netns mode a wildcard listener of h2
	# also listens on the device of h1, and siw does that in h2, on the interface that has the
	# index of v1.
	ip link add v1 index 11 mtu "$mtu" netns h1 type veth \
		peer name v2 index 12 mtu "$mtu" netns h2 ||
		bail "cannot make a veth pair"
	net_up h1 v1 10.77.0.1/24 fd77::1/64
	net_up h2 v2 10.77.0.2/24 fd77::2/64
	rdma_up h1 v1 "$type1" sr1
	rdma_up h2 v2 "$type2" sr2
	CLI_NS=h1 CLI_DEV=sr1 CLI4=10.77.0.1 CLI6=fd77::1
	SRV_NS=h2 SRV_DEV=sr2 SRV4=10.77.0.2 SRV6=fd77::2
}

# one_host: both programs on one host, which has its addresses on a dummy netdev
one_host() {
	add_ns h1
	ip -n h1 link add d1 type dummy || bail "cannot make a dummy netdev"
	net_up h1 d1 10.78.0.1/24 fd78::1/64
	rdma_up h1 d1 "$SRNIC_TYPE" sr1
	CLI_NS=h1 CLI_DEV=sr1 CLI4=10.78.0.1 CLI6=fd78::1
	SRV_NS=h1 SRV_DEV=sr1 SRV4=10.78.0.1 SRV6=fd78::1
}

# one_netns MTU: two devices and a veth pair between them like two_hosts, but all in the initial
# netns, for kernel users that know no other (NVMe-oF, iSER). Packets to an address of the machine
# itself would go over lo; here each address is reached through the other end of the pair.
one_netns() {
	local dev
	made_rules=1
	ip link add v1 mtu "$1" type veth peer name v2 mtu "$1" &&
		sysctl -qw net.ipv4.conf.v{1,2}.{accept_local=1,rp_filter=0} net.ipv4.conf.all.rp_filter=0 &&
		ip -batch - <<-END || bail "cannot set up a veth pair in one netns"
			link set lo up
			addr add 10.77.0.1/32 dev v1
			addr add 10.77.0.2/32 dev v2
			link set v1 up
			link set v2 up
			route add table 101 10.77.0.2 dev v1 src 10.77.0.1
			route add table 102 10.77.0.1 dev v2 src 10.77.0.2
			rule add pref 1 iif v1 lookup local
			rule add pref 1 iif v2 lookup local
			rule add pref 2 to 10.77.0.2 lookup 101
			rule add pref 2 to 10.77.0.1 lookup 102
			rule add pref 3 lookup local
			rule del pref 0
		END
	for dev in 1 2; do
		timeout "$(slow 20)" rdma link add sr$dev type "$SRNIC_TYPE" netdev v$dev ||
			bail "no $SRNIC_TYPE on v$dev"
		made_rdma="$made_rdma sr$dev"
		within 10 port_is_active sr$dev || bail "the port of sr$dev does not get active"
	done
	CLI_DEV=sr1 CLI4=10.77.0.1 SRV_DEV=sr2 SRV4=10.77.0.2
}

undo_one_netns() {
	[ -n "$made_rules" ] || return
	ip rule add pref 0 lookup local
	printf 'rule del pref %s\n' 1 1 2 2 3 | ip -force -batch - 2>/dev/null
	ip link del v1
	made_rules=''
}

# End all programs in the hosts and remove the hosts. Bounded.
teardown_hosts() {
	local ns dev
	for ns in $made_ns; do
		ip netns pids "$ns" 2>/dev/null | xargs -r kill -KILL 2>/dev/null
	done
	for dev in $made_rdma; do
		if [ -e "/sys/class/infiniband/$dev" ]; then
			timeout -k 1 "$(slow 20)" rdma link delete "$dev" 2>/dev/null
		fi
	done
	for ns in $made_ns; do
		timeout -k 1 "$(slow 20)" ip netns del "$ns" 2>/dev/null
	done
	undo_one_netns
	made_ns='' made_rdma=''
}

cleanup() {
	trap - EXIT
	teardown_hosts
	rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# --- what a test needs -------------------------------------------------------

# need_modules MODULE...: skip the whole file if the kernel lacks one.
need_modules() {
	local m
	for m in "$@"; do
		modprobe -q "$m" || skip_all "this kernel has no $m"
	done
}

# need_programs PROGRAM...: of the packages in scripts/guest-packages, which are put in their
# place first.
need_programs() {
	local p
	for p in "$@"; do
		if ! command -v "$p" >/dev/null && [ -d "${SRNIC_PACKAGES:-}" ]; then
			tar -C "$SRNIC_PACKAGES" --exclude=./usr/share/{man,doc} -cf - . |
				tar -C / -xf - --keep-directory-symlink --no-same-owner ||
				bail "cannot unpack $SRNIC_PACKAGES"
		fi
		command -v "$p" >/dev/null || skip_all "there is no $p (scripts/guest-packages)"
	done
}

# --- servers and clients -----------------------------------------------------

on_srv() { ip netns exec "$SRV_NS" "$@"; }
on_cli() {
	local rc=0 out=$tmp/rping.$BASHPID
	if [[ " $* " != *" rping "* ]]; then
		ip netns exec "$CLI_NS" "$@"
		return
	fi
	ip netns exec "$CLI_NS" "$@" >"$out" 2>&1 || rc=$?
	cat "$out"
	ended_well $rc "$out" || return $rc
}

# ended_well STATUS FILE: with status 0; or it is rping whose main thread closes the event channel,
# its last act after a good run, while its other thread is on the way to wait for events there. That
# thread ends the process with -1. FILE, all that it has written, tells of nothing else.
ended_well() {
	local race='rdma_get_cm_event: Bad file descriptor'
	[ "$1" != 0 ] || return 0
	[ "$1" = 255 ] && grep -qx "$race" "$2" || return "$1"
	! grep -vxE "$race|(client|server) DISCONNECT EVENT\.\.\.|(server )?ping data: .*" "$2" &&
		echo "(rping closed its event channel under its own thread)"
}

# Searches the netns of process PID, which shows connections of in-kernel TCP sockets like any
# others.
pid_listens() {	# PID PORT
	local port sockets more
	case $SRNIC_TYPE in
	rxe) rdma resource show cm_id | grep -q "LISTEN.* src-addr .*:$2 " ;;
	*)   printf -v port %04X "$2"
	     { mapfile -t sockets <"/proc/$1/net/tcp" && mapfile -t more <"/proc/$1/net/tcp6"; } 2>/dev/null
	     [[ "${sockets[*]} ${more[*]}" =~ :\ [0-9A-F]+:$port\ [0-9A-F]+:0000\ 0A\  ]] ;;
	esac
}

server_pid=''

# serve PORT COMMAND...: start a server in the background, wait until it
# listens on PORT.
serve() {
	local port=$1 end=$((SECONDS + 30 * SRNIC_SLOW))
	shift
	# a simple command, so that its process id is that of the server
	ip netns exec "$SRV_NS" "$@" >"$tmp/server" 2>&1 </dev/null &
	server_pid=$!
	until pid_listens $server_pid "$port"; do
		if ! kill -0 $server_pid 2>/dev/null; then
			echo "the server ended before it listened on port $port: $*"
			cat "$tmp/server"
			return 1
		fi
		if [ $SECONDS -ge $end ]; then
			echo "the server does not listen on port $port: $*"
			cat "$tmp/server"
			return 1
		fi
		nap 0.1
	done
}

# served: the server must end by itself, well.
served() {
	local rc=0
	wait $server_pid || rc=$?
	echo "server (status $rc):"
	cat "$tmp/server"
	ended_well $rc "$tmp/server"
}

# stop_server: it must still run, and end on SIGTERM.
stop_server() {
	if ! kill -0 $server_pid 2>/dev/null; then
		echo "the server is gone:"
		cat "$tmp/server"
		return 1
	fi
	kill $server_pid
	wait $server_pid 2>/dev/null
	echo "server:"
	cat "$tmp/server"
	return 0
}

# divide WORD... -- WORD...: into the arrays first and second, which are the caller's own
divide() {
	local n=1
	while [ "${!n}" != -- ]; do
		n=$((n + 1))
	done
	first=("${@:1:n-1}") second=("${@:n+1}")
}

# pair PORT SERVER... -- CLIENT...: both must end well.
pair() {
	local first second rc=0
	divide "${@:2}"
	serve "$1" "${first[@]}" || return
	on_cli "${second[@]}" || { rc=$?; echo "client: status $rc"; }
	# a failed client may leave the server waiting for ever
	[ $rc = 0 ] || { sleep 2; kill $server_pid 2>/dev/null; }
	served && return $rc
}

# forever PORT SERVER... -- CLIENT...: the server serves until it is stopped.
forever() {
	local first second rc=0
	divide "${@:2}"
	serve "$1" "${first[@]}" || return
	on_cli "${second[@]}" || { rc=$?; echo "client: status $rc"; }
	stop_server && return $rc
}

# perf PROGRAM [OPTION...]: perftest over rdma_cm, which ends with status 0 only without any
# error. -F: no warning about CPU frequencies.
perf() {
	pair 18515 "$@" -R -F -d "$SRV_DEV" -- "$@" -R -F -d "$CLI_DEV" "$SRV4"
}

# integrity [OPTION...] -- [CLIENT-OPTION...]: integrity.c between the two hosts. Each end can
# report its state before the limit of t ends it.
integrity() {
	local first second both=(--timeout $((T_LIMIT - 15)))
	divide "$@"
	both+=("${first[@]}")
	pair 7475 "$BIN/integrity" --server --addr "$SRV4" "${both[@]}" -- \
		"$BIN/integrity" --client "$SRV4" "${both[@]}" "${second[@]}"
}

# counter DEVICE NAME
counter() { cat "/sys/class/infiniband/$1/ports/1/hw_counters/$2"; }

# Is there on-demand paging in this kernel?
has_odp() { grep -q ' ib_umem_odp_get' /proc/kallsyms; }

# pages_came DEVICE: pages of memory that is registered and not pinned
pages_came() {
	echo "odp_faults: $(counter "$1" odp_faults), odp_prefetches: $(counter "$1" odp_prefetches)"
	[ $(($(counter "$1" odp_faults) + $(counter "$1" odp_prefetches))) -gt 0 ]
}

# Neither device found an error in the other one's stream, and no stream was aborted.
no_errors() {
	local dev name n bad=0
	for dev in "$CLI_DEV" "$SRV_DEV"; do
		for name in rx_protocol_errors rx_crc_errors rx_protection_errors tx_terminates \
			    rx_terminates close_aborted; do
			read -r n <"/sys/class/infiniband/$dev/ports/1/hw_counters/$name" || n=gone
			[ "$n" = 0 ] && continue
			echo "$dev: $name $n"
			bad=1
		done
	done
	return $bad
}

# policy DEVICE NAME: its value
policy() { cat "/sys/class/infiniband/$1/policy/$2"; }

# set_policy DEVICE NAME=VALUE...
set_policy() {
	local dev=$1 pair
	shift
	for pair in "$@"; do
		echo "${pair#*=}" >"/sys/class/infiniband/$dev/policy/${pair%%=*}" || return
	done
}

# no_receive TIME: the policy of that name, on both devices; other drivers than srnic have none
no_receive() {
	local dev
	for dev in "$CLI_DEV" "$SRV_DEV"; do
		[ ! -e "/sys/class/infiniband/$dev/policy" ] || set_policy "$dev" no_receive="$1" ||
			bail "cannot set no_receive of $dev"
	done
}

# gid_of DEVICE ADDRESS: the index of the GID that ends with ADDRESS
gid_of() {
	local f
	f=$(grep -l "$2\$" "/sys/class/infiniband/$1/ports/1/gids/"*) && echo "${f##*/}"
}

# Let modify_qp connect QPs, too
IB_PORT=4791
ib_enable() {
	local dev
	for dev in "$SRV_DEV" "$CLI_DEV"; do
		set_policy "$dev" ib_port=$IB_PORT || bail "no policy ib_port"
	done
}

# index SERVER CLIENT: set srv_gid and cli_gid to the GIDs that end so
index() {
	srv_gid=$(within 5 gid_of "$SRV_DEV" "$1") && cli_gid=$(within 5 gid_of "$CLI_DEV" "$2") ||
		bail "no GID $1 or $2"
}

# No objects, kthreads or sockets of the hosts are left. Where it may take a moment: within 10
# nothing_left. Sockets that are only bound (UNCONN, which newer ss shows) hold the port of a
# policy.
nothing_left() {
	local left ns
	left=$(rdma resource show | grep -E ' (pd|cq|qp|cm_id|mr|ctx|srq) [1-9]'
	       ps -eo comm | grep -E '^srnic-(tx|rx)/'
	       for ns in $made_ns; do
			[ ! -e "/run/netns/$ns" ] || ip netns exec "$ns" ss -Htnap | grep -vE '^(TIME-WAIT|UNCONN)'
	       done)
	echo "$left"
	[ -z "$left" ]
}

# slow_segments NETNS NETDEV NETEM FLAGS...: delay TCP segments sent there with exactly these
# flags, each a number, by these options of netem.
slow_segments() {
	local tc="tc -n $1" dev=$2 netem=$3 flags
	shift 3
	# shellcheck disable=SC2086	# the options of netem are words
	$tc qdisc add dev "$dev" root handle 1: prio bands 4 &&
		$tc qdisc add dev "$dev" parent 1:4 handle 4: netem $netem ||
		bail "cannot delay TCP segments"
	for flags in "$@"; do
		$tc filter add dev "$dev" parent 1: protocol ip u32 match ip protocol 6 0xff \
			match u8 "$flags" 0xff at 33 flowid 1:4 || bail "cannot tell TCP segments"
	done
}

# slow_syn, after two_hosts: for perftest. Its server listens for a first connection, over which
# the two agree on the test, closes the port, and opens it again for the QPs of the test. The
# client does not wait for that: it relies on being slower. Delay its SYNs, or on a busy guest it
# is refused.
#
# And send the SYNs one by one, some 70 ms apart: perftest assumes that the QPs of its two ends
# belong together in the order in which the client connects them. Concurrent connections need not
# keep it. Then the credits of ib_send_bw -q belong to another QP, and a sender with more credits
# than it has sent takes the number for negative, and never sends.
slow_syn() {
	slow_segments "$CLI_NS" v1 "delay 150ms rate 8kbit" 0x02
}
fast_syn() { tc -n "$CLI_NS" qdisc del dev v1 root; }

# --- set-up ------------------------------------------------------------------

[ "$(id -u)" = 0 ] || bail "must be root, on a machine that may be turned upside down"
ulimit -l unlimited
ulimit -c 0
echo "srnic-test: start of $test_file $$" >/dev/kmsg
modprobe -qa rdma_ucm ib_uverbs
if [ "$SRNIC_TYPE" != srnic ]; then
	echo "# link type $SRNIC_TYPE"
fi
