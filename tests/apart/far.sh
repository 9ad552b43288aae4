#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# The guest at the other end of the wire (scripts/check-pair): runs what near.sh asks for by files in
# /scratch, which both have, one command at a time. N.cmd is a shell's command, begun where the tests'
# programs of this guest are. If it serves, its port is in N.port. Its process group is ended when
# near.sh removes N.cmd.
#
#	N.ready		it runs, and serves
#	N.out, N.status	what it has said, and how it has ended

# The other one may be slower than this one.
export SRNIC_SLOW=2
. "$(dirname "$0")/../system/lib.sh"
. "$(dirname "$0")/wire.sh"

wire_up h2 10.79.0.2/24 sr2
SRV_NS=h2 SRV_DEV=sr2 CLI_NS=h2 CLI_DEV=sr2 at=$SRNIC_SCRATCH
# not seen before it is whole
tell() { echo "$2" >"$at/$1.new" && mv "$at/$1.new" "$at/$1"; }

# run N: until it ends, or near.sh gives it up
run() {
	local n=$1 port='' pid rc=0
	[ ! -e "$at/$n.port" ] || port=$(cat "$at/$n.port")
	(cd "$BIN" && exec setsid ip netns exec h2 bash "$at/$n.cmd") >"$at/$n.out" 2>&1 </dev/null &
	pid=$!
	until [ -z "$port" ] || pid_listens $pid "$port" || ! kill -0 $pid 2>/dev/null ||
	      [ ! -e "$at/$n.cmd" ]; do
		nap 0.1
	done
	tell "$n.ready" "$pid"
	while kill -0 $pid 2>/dev/null && [ -e "$at/$n.cmd" ]; do
		nap 0.1
	done
	kill -KILL -- -$pid 2>/dev/null
	wait $pid || rc=$?
	tell "$n.status" "$rc"
}

tell far "$(uname -m)"
for ((n = 1; ; n++)); do
	until [ -e "$at/$n.cmd" ] || [ -e "$at/end" ]; do
		nap 0.1
	done
	[ -e "$at/$n.cmd" ] || break
	run $n
done
teardown_hosts
