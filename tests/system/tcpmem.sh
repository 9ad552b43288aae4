#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# TCP that is short of memory: receive buffers smaller than an FPDU (tcp_rmem), and less memory
# than TCP as a whole may have (tcp_mem). Every transfer completes and nothing is lost. SEED=N
# repeats a run.

. "$(dirname "$0")/lib.sh"

[ "$SRNIC_TYPE" = srnic ] || skip_all "$SRNIC_TYPE has no such counters"
[ -x "$BIN/integrity" ] || bail "no $BIN/integrity: make -C tests/programs OUT=..."
SEED=${SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
echo "# SEED=$SEED"

tcp_mem=/proc/sys/net/ipv4/tcp_mem	# of all namespaces
read -r usual_mem <$tcp_mem
trap 'echo "$usual_mem" >$tcp_mem; cleanup' EXIT

# buffers BYTES: of new connections, of either host. They do not grow.
buffers() {
	local ns
	for ns in $made_ns; do
		ip netns exec "$ns" sysctl -qw net.ipv4.tcp_rmem="$1 $1 $1" || return
	done
}

# both NAME=VALUE: the policy of either device
both() { set_policy sr1 "$1" && set_policy sr2 "$1" || bail "cannot set $1"; }

collected() { echo $(($(counter sr1 rx_collected_fpdus) + $(counter sr2 rx_collected_fpdus))); }

nothing_lost() { integrity "$@" --seed "$SEED"; }

# The same, and FPDUs arrived for which TCP had no room.
nothing_lost_without_room() {
	local before
	before=$(collected)
	nothing_lost "$@" || return
	echo "put together outside of TCP: $(($(collected) - before)) FPDUs"
	[ "$(collected)" -gt "$before" ]
}

two_hosts 9000
both max_fpdu=65535
for inline in on off; do
	both inline_work=$inline
	for size in 4096 16384; do
		buffers $size || bail "no buffers of $size"
		t "a buffer of $size, inline work $inline: FPDUs larger than the buffer" \
			nothing_lost_without_room -- --qps 2 --ops 60 --max-size 200000
	done
done
both inline_work=on
t "a buffer of 16384: programs that sleep" \
	nothing_lost_without_room --events -- --qps 2 --ops 60 --max-size 200000
both crc=off
t "a buffer of 16384: no CRC" nothing_lost_without_room -- --qps 2 --ops 60 --max-size 200000
both crc=required
both markers=on
t "a buffer of 16384: markers" nothing_lost -- --qps 2 --ops 60 --max-size 200000
both markers=off
both max_fpdu=0
t "a buffer of 16384: FPDUs of a segment" nothing_lost -- --qps 4 --ops 60 --max-size 70000
t "no device counted an error" no_errors
teardown_hosts

# A bystander's connections, which are not read from, hold some MiB of TCP's memory: CPUs have
# reserves of one MiB, which would blur lower limits.
hog() {
	ip netns exec h1 /usr/bin/python3 - <<-END &
		import socket, time
		listener = socket.create_server(("10.77.0.1", 0))
		pairs = []
		for i in range(40):
		    s = socket.create_connection(listener.getsockname())
		    pairs.append((s, listener.accept()[0]))
		    s.setblocking(False)
		    try:
		        while s.send(bytes(65536)):
		            pass
		    except BlockingIOError:
		        pass
		time.sleep(100000)
	END
	within 20 tcp_holds 1500 || bail "the bystander does not hold memory: $(tcp_pages) pages"
}

tcp_pages() { sed -n 's/^TCP: .* mem //p' /proc/net/sockstat; }
tcp_holds() { [ "$(tcp_pages)" -ge "$1" ]; }

# short_of_memory LIMITS COMMAND...: sets tcp_mem while the command runs
short_of_memory() {
	local rc=0
	echo "$1" >$tcp_mem || return
	shift
	"$@" || rc=$?
	echo "TCP holds $(tcp_pages) pages"
	tcp_holds 1000 || rc=1
	echo "$usual_mem" >$tcp_mem
	return $rc
}

two_hosts 9000
hog
for fpdu in 0 65535; do
	both max_fpdu=$fpdu
	for inline in on off; do
		both inline_work=$inline
		t "memory pressure, max_fpdu $fpdu, inline work $inline" \
			short_of_memory "1 2 $(tcp_pages)0" \
			nothing_lost_without_room -- --qps 8 --ops 60 --max-size 200000
		t "no memory left, max_fpdu $fpdu, inline work $inline" \
			short_of_memory "1 2 4" \
			nothing_lost_without_room -- --qps 4 --ops 60 --max-size 20000
	done
done
t "no device counted an error" no_errors
teardown_hosts
done_testing
