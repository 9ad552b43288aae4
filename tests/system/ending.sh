#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# A program that has polled its send completions may end in any way: the completed messages
# arrive, also over a slow link.

. "$(dirname "$0")/lib.sh"

# Server and client; a client that was killed has done its part
ends() {	# WAY COUNT SIZE
	local rc=0
	serve 7600 "$BIN/ending" serve "$SRV4" "$2" "$3" || return
	on_cli "$BIN/ending" "$1" "$SRV4" "$2" "$3" || rc=$?
	[ $rc = 0 ] || [ "$1 $rc" = "kill 137" ] || { echo "client: status $rc"; return 1; }
	served
}

times() {	# N COMMAND...
	local n=$1
	shift
	while [ "$n" -gt 0 ]; do
		"$@" || return
		n=$((n - 1))
	done
}

slow_link() {	# RATE
	tc -n "$CLI_NS" qdisc replace dev v1 root netem rate "$1" limit 10000
}

ways='disconnect destroy-qp destroy-ep destroy-id exit kill'

two_hosts 1500
for way in $ways; do
	t "a fast link: $way delivers what was completed" times 2 ends "$way" 1 65536
done
if slow_link 2mbit; then
	for way in $ways; do
		t "2 Mbit/s: $way delivers what was completed" times 3 ends "$way" 1 65536
	done
	slow_link 8mbit
	for way in $ways; do
		t "8 Mbit/s: $way delivers all 16 that were completed" ends "$way" 16 65536
	done
else
	skip "a slow link" "this kernel has no netem"
fi
teardown_hosts
done_testing
