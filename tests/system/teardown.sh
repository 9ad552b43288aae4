#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# The end of everything while it is in use: module, device, interface, network namespace,
# programs. Nothing hangs, nothing is left.

. "$(dirname "$0")/lib.sh"

[ "$SRNIC_TYPE" = srnic ] || skip_all "the type under test is $SRNIC_TYPE"

# Not counted: a QP whose messages are all processed in softirq has no kthreads.
connected() { rdma resource show qp | grep -c 'state RTS'; }

listens() { ip netns exec h2 grep -qi ":$(printf %04x "$1") .* 0A " /proc/net/tcp; }

# rping and ib_write_bw, without an end
traffic() {
	ip netns exec h2 rping -s -a 10.77.0.2 -p 7171 -S 1000 -P &>"$tmp/rping-s" &
	ip netns exec h2 ib_write_bw -R -F -D 600 -p 7172 \
		&>"$tmp/write-s" &
	if within 20 listens 7171 && within 20 listens 7172; then
		ip netns exec h1 rping -c -a 10.77.0.2 -p 7171 -S 1000 &>"$tmp/rping-c" &
		ip netns exec h1 ib_write_bw -R -F -D 600 -p 7172 10.77.0.2 &>"$tmp/write-c" &
		# two QPs on either side for perftest, one for rping
		within 30 eval '[ $(connected) -ge 6 ]' && sleep 1 && return
	fi
	echo "no traffic; $(connected) connected QPs"
	rdma resource show qp
	tail -n 5 "$tmp"/rping-[sc] "$tmp"/write-[sc]
	grep -vH '^0$' /sys/class/infiniband/sr[12]/ports/1/hw_counters/conn_*
	ip netns exec h1 ss -tan
	ip netns exec h2 ss -tan
	return 1
}

end_traffic() {
	for ns in h1 h2; do
		ip netns pids $ns 2>/dev/null | xargs -r kill -KILL 2>/dev/null
	done
	within 10 eval '! pgrep -x rping >/dev/null && ! pgrep -x ib_write_bw >/dev/null'
}

# in_time SECONDS COMMAND...
in_time() {
	local limit=$(($1 * SRNIC_SLOW)) start=$SECONDS
	shift
	timeout $((limit * 2)) "$@" || { echo "failed: $*"; return 1; }
	echo "took about $((SECONDS - start)) s"
	[ $((SECONDS - start)) -le "$limit" ]
}

links() {
	rdma link add sr1 type srnic netdev v1 2>/dev/null ||
		ip netns exec h1 rdma link add sr1 type srnic netdev v1
	[ -e /sys/class/infiniband/sr2 ] || ip netns exec h2 rdma link add sr2 type srnic netdev v2
	within 10 port_is_active sr1 && within 10 port_is_active sr2
}

killed() {
	traffic && pkill -KILL -x rping && pkill -KILL -x ib_write_bw &&
		end_traffic && within 10 nothing_left &&
		within 10 eval 'rdma resource show sr1 | grep -q "pd 0 cq 0 qp 0 cm_id 0 mr 0"' &&
		within 10 eval 'rdma resource show sr2 | grep -q "pd 0 cq 0 qp 0 cm_id 0 mr 0"' ||
		{ rdma resource; return 1; }
}

one_side_killed() {
	traffic && ip netns pids h1 | xargs -r kill -KILL
	# ib_write_bw as server ends when its client has gone
	within 20 eval '! pgrep -x ib_write_bw >/dev/null' && end_traffic && within 10 nothing_left
}

link_deleted() {
	traffic && in_time 10 rdma link delete sr1 && end_traffic && within 10 nothing_left && links
}

module_removed() {
	traffic && in_time 10 rmmod srnic && [ ! -e /sys/module/srnic ] &&
		end_traffic && within 10 nothing_left && modprobe srnic && links
}

port_down() {
	traffic && ip -n h1 link set v1 down && sleep 2 && ip -n h1 link set v1 up &&
		[ "$(connected)" -ge 6 ] && end_traffic && within 10 nothing_left
}

netdev_deleted() {
	traffic && in_time 10 ip -n h1 link del v1 && end_traffic && within 10 nothing_left &&
		within 10 eval '[ ! -e /sys/class/infiniband/sr1 ] && [ ! -e /sys/class/infiniband/sr2 ]'
}

netns_deleted() {
	two_hosts 1500
	slow_syn
	traffic && in_time 10 ip netns del h1 && in_time 10 ip netns del h2 || return 1
	# the namespaces exist until their programs have ended
	pkill -KILL -x rping
	pkill -KILL -x ib_write_bw
	within 10 nothing_left &&
		within 20 eval '[ ! -e /sys/class/infiniband/sr1 ] && [ ! -e /sys/class/infiniband/sr2 ]'
}

sockets() { awk '/^TCP:/ { print $3 }' /proc/net/sockstat; }

# slab caches with names of their own, for our objects
objects() { awk '$1 ~ /^(TCP|TCPv6|sock_inode_cache|task_struct)$/ { print $1, $2 }' /proc/slabinfo; }

repeat() {
	local i
	echo "before: $(objects | tr '\n' ' ')"
	for i in 1 2 3; do
		two_hosts 1500
		on_srv rping -s -a 10.77.0.2 -p 7171 -C 5 &>/dev/null &
		within 20 eval 'on_srv grep -q ":1C03 .* 0A " /proc/net/tcp' &&
			on_cli rping -c -a 10.77.0.2 -p 7171 -C 5 >/dev/null || return 1
		wait
		teardown_hosts
	done
	within 30 eval '[ $(sockets) = 0 ]' || { cat /proc/net/sockstat; return 1; }
	rmmod srnic && echo "after: $(objects | tr '\n' ' ')" && within 10 nothing_left && modprobe srnic
}

two_hosts 1500
slow_syn
t "programs are killed on both sides" killed
t "programs are killed on one side" one_side_killed
t "the link goes down and comes back under traffic" port_down
t "rdma link delete under traffic" link_deleted
t "rmmod under traffic" module_removed
t "the interface is deleted under traffic" netdev_deleted
teardown_hosts
t "the network namespaces are deleted under traffic" netns_deleted
teardown_hosts
t -l 150 "no socket, no kthread is left after making and ending hosts" repeat
done_testing
