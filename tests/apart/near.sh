#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Conversations of two machines, of other processors and other byte orders: each with either as the
# server. Every byte is checked by both where the program can. far.sh is at the other end of
# the wire; scripts/check-pair starts both.

# Nor is the other one faster, whatever this one is.
export SRNIC_SLOW=2
. "$(dirname "$0")/../system/lib.sh"
. "$(dirname "$0")/wire.sh"

wire_up h1 10.79.0.1/24 sr1
CLI_NS=h1 CLI_DEV=sr1 CLI4=10.79.0.1 SRV_NS=h1 SRV_DEV=sr1 at=$SRNIC_SCRATCH
FAR4=10.79.0.2
within 300 [ -e "$at/far" ] || bail "the other guest did not come"
far_is=$(cat "$at/far")
echo "# $(uname -m) here, $far_is there"
reaches() { on_cli ping -c 1 -W 1 $FAR4 >/dev/null; }
within 30 reaches || bail "no wire"
# Each test is a process of its own
echo 0 >"$tmp/asked"

# far [-p PORT] COMMAND...: start it there, where $BIN is another one; with a port, return when it
# listens
far() {
	local n port=''
	if [ "$1" = -p ]; then
		port=$2
		shift 2
	fi
	n=$(($(cat "$tmp/asked") + 1))
	echo $n >"$tmp/asked"
	[ -z "$port" ] || echo "$port" >"$at/$n.port"
	{
		printf 'exec'
		printf ' %q' "${@/#$BIN\//./}"
	} >"$at/$n.new"
	mv "$at/$n.new" "$at/$n.cmd"
	within 30 [ -e "$at/$n.ready" ] || { echo "not begun there: $*"; return 1; }
}

# far_end: it must end by itself, well
far_end() {
	local n
	n=$(cat "$tmp/asked")
	within 30 [ -e "$at/$n.status" ] || echo "does not end there"
	far_stop
	echo "there: status $(cat "$at/$n.status")"
	cat "$at/$n.out"
	ended_well "$(cat "$at/$n.status")" "$at/$n.out"
}

# far_stop: nothing runs there afterwards
far_stop() {
	local n
	n=$(cat "$tmp/asked")
	rm -f "$at/$n.cmd"
	[ "$n" = 0 ] || within 20 [ -e "$at/$n.status" ]
}

far_serves() {	# PORT CLIENT... -- SERVER...
	local first second rc=0
	divide "${@:2}"
	far -p "$1" "${second[@]//@/$FAR4}" || return
	on_cli "${first[@]//@/$FAR4}" || { rc=$?; echo "client: status $rc"; far_stop; }
	far_end && return $rc
}

far_calls() {	# PORT CLIENT... -- SERVER...
	local first second rc=0
	divide "${@:2}"
	serve "$1" "${second[@]//@/$CLI4}" || return
	far "${first[@]//@/$CLI4}" && far_end || { rc=$?; kill $server_pid 2>/dev/null; }
	served && return $rc
}

# talk NAME PORT CLIENT... -- SERVER...: @ stands for the server's address
talk() {
	local name=$1
	shift
	t "$name, $far_is serves" far_serves "$@"
	far_stop
	t "$name, $far_is calls" far_calls "$@"
	far_stop
}

talk "each kind of message" 7476 "$BIN/apart" --client @ -- "$BIN/apart" --server @
talk "random operations" 7475 "$BIN/integrity" --client @ --timeout 50 --qps 4 --ops 100 --seed 7 -- \
	"$BIN/integrity" --server --addr @ --timeout 50
talk "random operations, 256 KiB" 7475 \
	"$BIN/integrity" --client @ --timeout 50 --qps 2 --ops 40 --max-size 262144 --seed 8 -- \
	"$BIN/integrity" --server --addr @ --timeout 50
for size in 64 65535; do
	talk "rping, $size bytes" 7174 rping -c -a @ -S $size -C 10 -V -- rping -s -a @ -S $size -C 10 -V
done
# Not ib_send_bw: on an RNIC its receiver writes the number of its receives to the sender's memory, and
# either takes it for one of its own byte order. The sender then has no credits, and waits for ever.
for test in send_lat write_bw read_bw atomic_bw; do
	talk "ib_$test" 18515 ib_$test -R -F -n 50 @ -- ib_$test -R -F -n 50
done
: >"$at/end"
teardown_hosts
done_testing
