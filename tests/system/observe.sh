#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# What people look at devices with: ibstatus and ibstat, the exporter of Prometheus, rdma, ss. What
# they print is true: rates and states, counters that move by what was sent, devices that come and
# go. And iwpmd, the port mapper of iWARP's hardware, which may run beside srnic: on both hosts, and
# where only one has it.

. "$(dirname "$0")/lib.sh"

need_programs ibstatus ibstat prometheus-node-exporter iwpmd

MESSAGES=100 SIZE=65536
pids=()
trap 'kill "${pids[@]}" 2>/dev/null; cleanup' EXIT

# value TEXT FILE: what follows TEXT in the only line that begins with it
value() { awk -v text="$1" 'index($0, text) == 1 { print substr($0, length(text) + 1); n++ } END { exit n != 1 }' "$2"; }

# --- ibstatus, ibstat -----------------------------------------------------------------

# shows STATE PHYSICAL-STATE: ibstatus of sr1, and the rate of its interface
shows() {
	local speed
	speed=$(ip netns exec h1 cat /sys/class/net/v1/speed)
	ibstatus sr1 >"$tmp/ibstatus"
	cat "$tmp/ibstatus"
	grep -qP "\tstate:\t\t $1\$" "$tmp/ibstatus" && grep -qP "\tphys state:\t $2\$" "$tmp/ibstatus" &&
		grep -qP "\tlink_layer:\t Ethernet\$" "$tmp/ibstatus" || return
	# an interface that is down has no speed
	[ "$1" != '4: ACTIVE' ] || grep -qP "\trate:\t\t $((speed / 1000)) Gb/sec" "$tmp/ibstatus"
}

lists_none() { ibstat -l >"$tmp/ibstat"; cat "$tmp/ibstat"; ! grep -w 'sr[12]' "$tmp/ibstat"; }

# --- the exporter ---------------------------------------------------------------------

METRICS=127.0.0.1:9100

exporter() {
	prometheus-node-exporter --collector.disable-defaults --collector.infiniband \
		--log.level=debug --web.listen-address=$METRICS >"$tmp/exporter" 2>&1 &
	pids+=($!)
	within 20 metrics "$tmp/metrics" || bail "no exporter: $(cat "$tmp/exporter")"
}

metrics() {	# FILE
	/usr/bin/python3 -c 'import sys, urllib.request
print(urllib.request.urlopen("http://" + sys.argv[1] + "/metrics").read().decode())' $METRICS >"$1" 2>/dev/null
}

# metric NAME DEVICE [FILE]
metric() { printf %.0f "$(value "node_infiniband_$1{device=\"$2\",port=\"1\"} " "${3:-$tmp/metrics}")"; }

# is METRIC VALUE, of sr1
is() {
	echo "$1: $(metric "$1" sr1), expected $2"
	[ "$(metric "$1" sr1)" = "$2" ]
}

# exported STATE PHYSICAL-STATE RATE, which is - if it does not matter
exported() {
	metrics "$tmp/metrics" && grep '^node_.*sr1' "$tmp/metrics" || tail -n 3 "$tmp/exporter"
	[ "$(value 'node_scrape_collector_success{collector="infiniband"} ' "$tmp/metrics")" = 1 ] &&
		grep -q '^node_infiniband_info{.*device="sr1",firmware_version="[0-9.]*".*} 1$' "$tmp/metrics" &&
		is state_id "$1" && is physical_state_id "$2" && { [ "$3" = - ] || is rate_bytes_per_second "$3"; }
}

# all_counters DEVICE: as sysfs has them, which all tools read
all_counters() { (cd "/sys/class/infiniband/$1/ports/1/hw_counters" && grep . -- * | grep -v lifespan); }
snapshot() {	# SUFFIX
	local dev
	# the core's copy of the counters is up to 10 ms old
	nap 0.1
	for dev in sr1 sr2; do
		all_counters $dev >"$tmp/$dev.$1"
		rdma statistic show link $dev/1 | tr -s ' ' '\n' >"$tmp/rdma.$dev.$1"
	done
	metrics "$tmp/metrics.$1"
}

writes() {
	pair 18515 ib_write_bw -F -s $SIZE -n $MESSAGES -d "$SRV_DEV" -x "$srv_gid" -- \
		ib_write_bw -F -s $SIZE -n $MESSAGES -d "$CLI_DEV" -x "$cli_gid" "$SRV4"
}

between() {	# WHAT VALUE LEAST MOST
	echo "$1: $2, from $3 to $4"
	[ "$2" -ge "$3" ] && [ "$2" -le "$4" ]
}

# What was sent, and five hundredths for headers, CRC and the program's own messages; an FPDU has
# 1448 octets at most, with 14 of a header, 4 of a CRC and 2 of a length
moved() {
	local data=$((MESSAGES * SIZE)) fpdus=$((MESSAGES * ((SIZE + 1427) / 1428)))
	local sent received
	sent=$(($(metric port_data_transmitted_bytes_total sr1 "$tmp/metrics.2") -
		$(metric port_data_transmitted_bytes_total sr1 "$tmp/metrics.1")))
	received=$(($(metric port_data_received_bytes_total sr2 "$tmp/metrics.2") -
		$(metric port_data_received_bytes_total sr2 "$tmp/metrics.1")))
	between "octets sent" $sent $data $((data * 105 / 100)) &&
		between "octets received" $received $((sent - 8)) $((sent + 8)) || return
	sent=$(($(metric port_packets_transmitted_total sr1 "$tmp/metrics.2") -
		$(metric port_packets_transmitted_total sr1 "$tmp/metrics.1")))
	received=$(($(metric port_packets_received_total sr2 "$tmp/metrics.2") -
		$(metric port_packets_received_total sr2 "$tmp/metrics.1")))
	between "FPDUs sent" $sent $fpdus $((fpdus * 105 / 100)) && between "FPDUs received" $received $sent $sent
}

# rdma_says DEVICE: the same as sysfs, line by line
rdma_says() {
	local name n bad=0
	while IFS=: read -r name n; do
		grep -A 1 -x "$name" "$tmp/rdma.$1.2" | tail -n 1 | grep -qx "$n" ||
			{ echo "$name: $n, and in rdma statistic $(grep -A 1 -x "$name" "$tmp/rdma.$1.2" | xargs)"; bad=1; }
	done <"$tmp/$1.2"
	[ -s "$tmp/$1.2" ] && return $bad
}

# one_more COUNTER: of both devices together
one_more() {
	local dev n=0 before after
	for dev in sr1 sr2; do
		before=$(grep "^$1:" "$tmp/$dev.1") after=$(grep "^$1:" "$tmp/$dev.2")
		n=$((n + ${after#*:} - ${before#*:}))
	done
	echo "$1: $n more"
	[ $n = 1 ]
}

# --- ss, rdma resource ----------------------------------------------------------------

octets_of() { ip netns exec h1 ss -Htin 'dport = 7174' | grep -o 'bytes_sent:[0-9]*' | cut -d : -f 2; }
goes_on() {
	local before
	before=$(octets_of) && [ -n "$before" ] && within 10 eval '[ "$(octets_of)" -gt '"$before"' ]'
}

running() {
	serve 7174 rping -s -P -a "$SRV4" || return
	ip netns exec h2 ss -Htln 'sport = :7174' | grep -q LISTEN || { echo "no listener"; return 1; }
	ip netns exec h1 rping -c -a "$SRV4" -C 10000000 >/dev/null 2>&1 &
	within 10 eval "rdma resource show qp link sr1/1 | grep -q 'state RTS'" || return
	ip netns exec h1 ss -Htn 'dport = 7174'
	rdma resource show qp link sr1/1
	ip netns exec h1 ss -Htn 'dport = 7174' | grep -q "^ESTAB .* $CLI4:[0-9]* *$SRV4:7174" &&
		rdma resource show qp link sr1/1 | grep -q "type RC state RTS .* pid $! comm rping" &&
		goes_on
}

# --- rdma monitor ---------------------------------------------------------------------

# iproute2's since 6.12
RDMA=${SRNIC_PACKAGES:-}/usr/bin/rdma-new
[ -x "$RDMA" ] || RDMA=rdma

# A netlink socket of RDMA that is in a group: nobody else here has one.
monitors() { awk '$2 == 20 && $4 !~ /^0*$/ { n++ } END { exit !n }' /proc/net/netlink; }

# What it says, without the numbers of devices and interfaces
told() { tr -s '\t ' ' ' <"$tmp/monitor" | sed -E 's/dev [0-9]+ /dev /g'; }

monitored() {
	local dev=sr4 expected='[REGISTER] dev sr4
[NETDEV_ATTACH] dev sr4 port 1 netdev d0'
	"$RDMA" monitor >"$tmp/monitor" 2>&1 &
	within 10 monitors || { cat "$tmp/monitor"; return 1; }
	ip link add d0 type dummy && rdma link add $dev type "$SRNIC_TYPE" netdev d0 || return
	case $(uname -r) in
	6.12.*)	;;
	*)	# in this order: each is told from a work of its own
		within 10 eval 'told | grep -q ATTACH' && ip link set d0 name d1 &&
			within 10 eval 'told | grep -q NETDEV_RENAME' && rdma dev set $dev name sr5 || return
		dev=sr5
		expected="$expected
[NETDEV_RENAME] netdev d1
[RENAME] dev sr5" ;;
	esac
	expected="$expected
[UNREGISTER] dev $dev"
	rdma link delete $dev
	ip link del d0 2>/dev/null || ip link del d1
	within 10 eval 'told | grep -q UNREGISTER' || return
	kill $!
	told
	[ "$(told)" = "$expected" ] || { echo "expected: $expected"; return 1; }
}

# --- iwpmd --------------------------------------------------------------------------

# What it says goes to syslog.
syslog() {
	/usr/bin/python3 -u -c '
import os, socket
if os.path.lexists("/dev/log"):
	os.unlink("/dev/log")
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind("/dev/log")
while True:
	print(s.recv(4096).decode(errors="replace").strip())' >"$tmp/syslog" &
	pids+=($!)
	within 10 test -S /dev/log || bail "no syslog"
}

iwpmd_pid=''
start_iwpmd() {
	iwpmd --systemd &
	iwpmd_pid=$!
	pids+=($!)
	within 10 eval 'ss -Hlun sport = :3935 | grep -q .' || bail "iwpmd does not start"
}

rping_some() {
	pair 7174 rping -s -a "$SRV4" -S 3000 -C 10 -V -- rping -c -a "$SRV4" -S 3000 -C 10 -V
}

# It knows the listener, at the port that the program has asked for.
knows() {
	local rc=0
	serve 7174 rping -s -P -a "$SRV4" || return
	kill -USR1 $iwpmd_pid
	within 10 grep -q "$SRV4" "$tmp/syslog" || rc=1
	cat "$tmp/syslog"
	grep -i 'mapped address' "$tmp/syslog" | grep "$SRV4" | grep -q 7174 || rc=1
	stop_server && return $rc
}

# iwpmd is the initial namespace's, and does not reach the peer: it gives up after ten seconds.
slowly() {
	local start
	start=$(ms)
	rping_some || return
	between milliseconds $(($(ms) - start)) 10000 $((20000 * SRNIC_SLOW))
}

# --- one after the other

name="rdma monitor: devices that come, go and are renamed"
case $(uname -r) in
6.1.*)	skip "$name" "Linux 6.1 does not tell" ;;
*)	t "$name" monitored ;;
esac

two_hosts 1500
ib_enable
index :0a4d:0002 :0a4d:0001
# FPDUs of a size that is known; on QPs of ib_port they may be larger than segments
set_policy sr1 max_fpdu=1448 && set_policy sr2 max_fpdu=1448 || bail "no policy max_fpdu"
t "ibstatus: state, and the rate of the interface" shows '4: ACTIVE' '5: LinkUp'
t "ibstat lists no RNIC, as it knows InfiniBand's devices only" lists_none
exporter
t "exporter: state, and the rate of the interface" exported 4 5 $((10000 * 1000000 / 8))
snapshot 1
t "$MESSAGES Writes of $SIZE octets" writes
snapshot 2
t "exporter: counters move by what was sent" moved
t "rdma statistic has the counters of sysfs" eval 'rdma_says sr1 && rdma_says sr2'
t "rdma statistic: one connection more" eval 'one_more conn_active && one_more conn_passive'
t "ss and rdma resource: a connection, its program, and octets that move" running
ip -n h1 link set v1 down
t "ibstatus: a port that is down" within 10 shows '1: DOWN' '3: Disabled'
t "exporter: a port that is down" exported 1 3 -
ip -n h1 link set v1 up
t "ibstatus: it is up again" within 10 shows '4: ACTIVE' '5: LinkUp'

syslog
start_iwpmd
t "iwpmd on a host, devices in other namespaces: connections come after ten seconds" slowly
teardown_hosts

# Both ends are hosts that iwpmd reaches: less than the ten seconds of one that does not answer.
ip netns attach init 1 || bail "no name for the initial network namespace"
ip link add d0 type dummy && ip addr add 10.78.0.1/24 dev d0 && ip link set d0 up || bail "no dummy"
rdma_up init d0 srnic sr3
SRV_NS=init CLI_NS=init SRV_DEV=sr3 CLI_DEV=sr3 SRV4=10.78.0.1
t "iwpmd on both hosts: no time is lost" took 9000 rping_some
t "iwpmd knows the listener, at its own port" knows
kill $iwpmd_pid
t "without iwpmd" took 9000 rping_some
rdma link delete sr3
ip link del d0
ip netns del init
done_testing
