#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Resources that one user cannot take away from others: memory and objects, as control groups
# limit them, and CPU time (limits.c). RLIMIT_MEMLOCK is in badinput.sh and memory.sh.

. "$(dirname "$0")/lib.sh"
MIB=96
. "$top/tests/system/lib-disk.sh"

[ -x "$BIN/limits" ] || bail "no $BIN/limits: make -C tests/programs OUT=..."

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
	# it got an error, and was not killed
	! grep -q '^oom_kill [1-9]' "$group/memory.events" 2>/dev/null || rc=1
	# If the group goes first, Linux 6.1 does not free its record of a limit, and crashes when
	# the device goes.
	[ ! -e "$group/rdma.max" ] || echo "$CLI_DEV hca_handle=max hca_object=max" >"$group/rdma.max"
	within 10 rmdir "$group" || return
	return $rc
}

# in_connections N PORT: a program in the group $group makes N connections to itself
in_connections() {
	# shellcheck disable=SC2016 # of the other shell
	MANY_STAYS=1 bash -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group" \
		ip netns exec "$CLI_NS" "$BIN/many" self "$CLI4" "$2" "$1" >"$tmp/group$1" 2>&1 &
	pids="$pids $!"
	within 100 grep -q "connected $1" "$tmp/group$1" || { cat "$tmp/group$1"; return 1; }
}

# The kernel memory of the group, in KiB, when its connections are idle
idle_kernel_memory() {
	sleep 3
	awk '$1 == "kernel" { print int($2 / 1024) }' "$group/memory.stat"
}

# Some 25 KiB for each end of an idle connection; 32 KiB more for each that has sent, until it
# has been idle for a second: all 32 did.
connections_are_charged() {
	local group=$root/connections pids='' rc=0 few many end peak
	mkdir "$group" || return
	[ -e "$group/memory.stat" ] || { rmdir "$group"; echo "no memory controller"; return 77; }
	in_connections 4 7337 || rc=1
	few=$(idle_kernel_memory)
	in_connections 16 7338 || rc=1
	many=$(idle_kernel_memory)
	end=$(((many - few) / 32))
	peak=$((($(cat "$group/memory.peak") - $(cat "$group/memory.current")) / 1024))
	echo "idle: $few KiB, $many KiB, each end $end KiB; at times $peak KiB more than now"
	[ "$end" -ge 8 ] && [ "$end" -le 64 ] && [ "$peak" -ge $((32 * 32 * 3 / 4)) ] || rc=1
	gone
	within 10 rmdir "$group" || rc=1
	return $rc
}

# It must not be logged, either: any user can ask for too much.
log_quiet() {
	local before
	before=$(dmesg | wc -l)
	"$@" || return
	dmesg | tail -n +$((before + 1)) | { ! grep -iE 'alloc|oom|out of memory'; }
}

# Called in a subshell, which becomes the program, so that its process id is the program's
as() { exec ip netns exec "$CLI_NS" setpriv --reuid "$1" --regid "$1" --clear-groups "${@:2}"; }

# connects PID-FILE USER PORT N WANT...: USER makes N connections to itself, which stay
connects() {
	local out=$1 user=$2 port=$3 n=$4
	shift 4
	rm -f "$tmp/$out"	# the output of an earlier run must not count
	(MANY_STAYS=1 as "$user" "$BIN/many" self "$CLI4" "$port" "$n") >"$tmp/$out" 2>&1 &
	pids="$pids $!"
	within 200 grep -q connected "$tmp/$out" || { cat "$tmp/$out"; return 1; }
	[ "$(xargs <"$tmp/$out")" = "$*" ] || { echo "user $user: $(cat "$tmp/$out"), not $*"; return 1; }
}

gone() {
	# shellcheck disable=SC2086 # words
	kill $pids 2>/dev/null
	wait $pids 2>/dev/null
	pids=''
	within 60 eval '! rdma resource show qp | grep -qE "comm (many|limits)"'
}

# A connection to oneself takes two QPs: one more pair exceeds the bound. If the bound is odd the
# accept is refused, otherwise the connect.
bounded() {
	local share pids='' rc=0
	share=$(policy "$CLI_DEV" max_user_qps)
	set_policy "$CLI_DEV" max_user_qps="$1"
	refused=$(counter "$CLI_DEV" conn_user_limit)
	connects first 65534 7330 "$1" connected $(($1 / 2)) EDQUOT || rc=1
	[ $(($(counter "$CLI_DEV" conn_user_limit) - refused)) = 1 ] || { echo "conn_user_limit"; rc=1; }
	# the bound is for all processes of the user; others have their own
	connects second 65534 7331 "$1" connected 0 EDQUOT || [ $(($1 % 2)) = 1 ] || rc=1
	connects other 65533 7332 2 connected 2 || rc=1
	connects root 0 7333 $(($1 + 2)) connected $(($1 + 2)) || rc=1
	gone
	# and as many again
	connects again 65534 7334 $(($1 / 2)) connected $(($1 / 2)) || rc=1
	gone
	set_policy "$CLI_DEV" max_user_qps="$share"
	return $rc
}

# container PORT N: two users, one after the other, of a container that root made, with 65536 user
# ids. Their output is in $tmp/containerID
container() {
	exec ip netns exec "$CLI_NS" /usr/bin/python3 - "$tmp" "$BIN/many" "$CLI4" "$@" <<'EOF'
import ctypes, os, sys, time
tmp, many, address, port, n = sys.argv[1:]
made, mapped = os.pipe(), os.pipe()
pid = os.fork()
if pid:
    os.read(made[0], 1)
    for name in "uid_map", "gid_map":
        with open("/proc/%d/%s" % (pid, name), "w") as f:
            f.write("0 100000 65536")
    os.write(mapped[1], b"x")
    sys.exit(os.waitpid(pid, 0)[1])
if ctypes.CDLL(None, use_errno=True).unshare(0x10000000):	# CLONE_NEWUSER
    sys.exit("no user namespaces")
os.write(made[1], b"x")
os.read(mapped[0], 1)
os.environ["MANY_STAYS"] = "1"
pids = []
for i, uid in enumerate((1000, 1001)):
    path = "%s/container%d" % (tmp, uid)
    os.close(os.open(path, os.O_CREAT))
    out = os.open(path, os.O_WRONLY)
    pids.append(os.fork())
    if not pids[-1]:
        os.dup2(out, 1)
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
        os.execv(many, [many, "self", address, str(int(port) + i), n])
    while "connected" not in open(path).read() and not os.waitid(os.P_PID, pids[-1], os.WEXITED | os.WNOHANG | os.WNOWAIT):
        time.sleep(0.1)
for pid in pids:
    os.kill(pid, 15)
    os.waitpid(pid, 0)
EOF
}

containers() {
	local share rc=0
	[ -e /proc/self/ns/user ] || { echo "this kernel has no user namespaces"; return 77; }
	share=$(policy "$CLI_DEV" max_user_qps)
	set_policy "$CLI_DEV" max_user_qps=8
	chmod 777 "$tmp"
	rm -f "$tmp"/container*
	let_users_in || return
	(container 7340 5) || rc=1
	set_policy "$CLI_DEV" max_user_qps="$share"
	tail -n 3 "$tmp"/container*
	[ "$(xargs <"$tmp/container1000")" = "connected 4 EDQUOT" ] &&
		[ "$(xargs <"$tmp/container1001")" = "connected 0 EDQUOT" ] || rc=1
	pids='' gone
	return $rc
}

# As many as the default allows; then threads of another user
others_fork() {
	local share pids='' rc=0
	share=$(policy "$CLI_DEV" max_user_qps)
	connects first 65534 7335 65536 connected $((share / 2)) EDQUOT || rc=1
	(as 65533 "$BIN/many" fork 500) || rc=1
	gone
	return $rc
}

owner_of() {	# PORT: the user ids that ss knows of sockets at this port; root is not named
	ip netns exec "$CLI_NS" ss -Htane "( sport = :$1 or dport = :$1 )" | tee "$tmp/ss" |
		grep -o 'uid:[0-9]*' | sort | uniq -c | xargs
}

# A listener, and both ends of two connections
owners() {
	local pids='' rc=0
	connects first 65534 7336 2 connected 2 || rc=1
	[ "$(owner_of 7336)" = "5 uid:65534" ] || { owner_of 7336; cat "$tmp/ss"; rc=1; }
	gone
	return $rc
}

# takes FILE USER WANT: USER takes all PDs that it can get, and keeps them
takes() {
	rm -f "$tmp/$1"
	(as "$2" "$BIN/limits" "$CLI4" takes) >"$tmp/$1" 2>&1 &
	pids="$pids $!"
	within 100 grep -q 'then:' "$tmp/$1" || { cat "$tmp/$1"; return 1; }
	grep -E "^$3\$" "$tmp/$1" || { echo "user $2: $(cat "$tmp/$1"), not $3"; return 1; }
}

# Two users have all PDs, half of them each; a kernel consumer can connect all the same
shares() {
	local pids='' rc=0 refused ko ctl=/sys/kernel/debug/srnic_selftest
	refused=$(counter "$CLI_DEV" obj_user_limit)
	takes first 65534 '3276[0-8] PDs, then: EDQUOT' || rc=1
	[ "$(counter "$CLI_DEV" obj_user_limit)" -gt "$refused" ] || { echo "obj_user_limit"; rc=1; }
	takes second 65533 '3276[0-8] PDs, then: (EDQUOT|ENOMEM)' || rc=1
	ko=/lib/modules/$(uname -r)/updates/srnic_selftest.ko
	[ -e "$ko" ] || { echo "no $ko: scripts/build-stage"; rc=1; }
	if [ $rc = 0 ]; then
		insmod "$ko" || rc=1
		exec 7<"/run/netns/$CLI_NS" 8<"/run/netns/$CLI_NS"
		echo "$(head -n 1 $ctl/tests | cut -f 1) 7 8 $CLI4 7481" >$ctl/run || { cat $ctl/log; rc=1; }
		rmmod srnic_selftest || rc=1
	fi
	gone
	takes again 65534 '3276[0-8] PDs, then: EDQUOT' || rc=1
	gone
	return $rc
}

# How many thousandths of the CPUs' time a user's loops get, one on each CPU
loops() { (as 65533 "$BIN/limits" "$CLI4" loops); }

# stays CASE: another user's program, in a group of its own, until its QPs wait or run
stays() {
	: >"$tmp/stays"
	(echo $BASHPID >"$root/other/cgroup.procs" && as 65534 "$BIN/limits" "$CLI4" "$1") >"$tmp/stays" 2>&1 &
	pids=$!
	within 40 grep -qx "$1" "$tmp/stays" || { cat "$tmp/stays"; return 1; }
}

# The middle one of three
middle() { printf '%s\n' "$@" | sort -n | sed -n 2p; }

# leaves LEAST CASE BYTES: beside the other user's QPs, which send so many bytes at least meanwhile,
# the loops get LEAST thousandths of what they get alone
leaves() {
	local least=$1 case=$2 bytes=$3 pids='' rc=0 alone beside sent
	mkdir "$root/other" || return
	alone=$(middle "$(loops)" "$(loops)" "$(loops)")
	stays "$case" || rc=1
	sent=$(counter "$CLI_DEV" tx_bytes)
	beside=$(middle "$(loops)" "$(loops)" "$(loops)")
	sent=$(($(counter "$CLI_DEV" tx_bytes) - sent))
	gone || rc=1
	within 10 rmdir "$root/other" || rc=1
	echo "alone $alone, beside them $beside; they have sent $sent bytes"
	[ "$sent" -ge "$bytes" ] && [ $((1000 * beside)) -ge $((least * alone)) ] && [ "$alone" -gt 0 ] || rc=1
	return $rc
}

waiting_leaves() {
	local waits
	waits=$(counter "$CLI_DEV" rx_rnr_waits)
	leaves 900 waits 0 || return
	waits=$(($(counter "$CLI_DEV" rx_rnr_waits) - waits))
	[ $waits = 64 ] || { echo "$waits messages have waited"; return 1; }
}

# Kthreads are in the root's group, so nice values make the shares: a kthread of nice 19 has the
# weight 15, and a loop 1024 (sched_prio_to_weight[] of Linux). On one CPU a loop gets a quarter
# beside all 128 kthreads and ksoftirqd, which has the weight of a loop; on several CPUs more.
running_leaves() { leaves 250 runs 1000000; }

swaps() {
	local rc=0
	swap_on || return
	LIMITS_TIMEOUT=100 in_group memory.max=24M -- swaps || rc=$?
	swap_off || rc=1
	return $rc
}

one_host
mkdir "$root" && mount -t cgroup2 none "$root" || bail "no control groups"
# one by one: a kernel that lacks one of them would refuse both
for c in memory rdma cpu; do
	echo "+$c" >"$root/cgroup.subtree_control" || echo "# no controller $c"
done

t "rings are charged to their user" in_group memory.max=max -- charged
t "connections are charged to their user" connections_are_charged
t "too much memory is an error" log_quiet in_group memory.max=$((26 << 20)) -- too-much
t -l 120 "a program at its limit swaps, and is not killed" swaps
t "too many objects are an error" in_group "rdma.max=$CLI_DEV hca_object=8" -- objects
t "rings begin with zeros" on_cli "$BIN/limits" "$CLI4" zeroed

t "a user has so many connected QPs, and no more" bounded 8
t "the bound counts QPs that accept" bounded 9
t -l 300 "two users have all PDs, each half, and a kernel consumer connects" shares
t "the users of a container are one" containers
t "sockets belong to the user who connects or listens" owners
t -l 300 "a user with all the connections there can be leaves others able to fork" others_fork

ib_enable
t "messages that nobody receives cost no CPU; kthreads are as nice as their program" \
	on_cli "$BIN/limits" "$CLI4" unreceived
t -l 150 "64 QPs that wait for receives leave another user's loops nine tenths of the CPUs" waiting_leaves
t -l 150 "64 QPs with traffic leave another user's loops what nice values give these" running_leaves

umount "$root"
teardown_hosts
done_testing
