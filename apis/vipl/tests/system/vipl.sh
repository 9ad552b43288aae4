#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# libvipl, the VI Provider Library: the cases of apis/vipl/tests/programs and apis/vipl/tests/programs/dg.

. "$(dirname "$0")/../../../../tests/system/lib.sh"
. "$(dirname "$0")/lib-vipl.sh"

[ -x "$BIN/vipl" ] || bail "no $BIN/vipl: make -C apis/vipl/tests/programs OUT=..."

# The return codes of each function, in all cases
export VIPL_SEEN=$tmp/seen

# The table of functions and return codes in conformance-vipl.md, as "FUNCTION CODE" lines
codes_wanted() {
	sed -n 's/^| \(Vip[A-Za-z]*\) | [^|]* | \([^|]*\) |.*/\1 \2/p' "$top/apis/vipl/doc/conformance-vipl.md" |
		while read -r function codes; do
			printf "$function %s\n" $codes
		done | tr -d '`,' | sort -u
}

# The cases have returned only codes of the table, and have called all functions.
only_these_seen() {
	codes_wanted >"$tmp/wanted"
	sort -u "$VIPL_SEEN" >"$tmp/given"
	echo "$(wc -l <"$tmp/given") return codes of $(cut -d' ' -f1 "$tmp/given" | uniq | wc -l) functions"
	diff <(cut -d' ' -f1 "$tmp/wanted" | uniq) <(cut -d' ' -f1 "$tmp/given" | uniq) &&
		[ -z "$(comm -13 "$tmp/wanted" "$tmp/given" | tee /dev/stderr)" ]
}

one_host
export VIPL_DEVICE=$CLI_DEV VIPL_NETDEV=d1
# libvipl's connections do not wait for descriptors, whatever the device's policy says
no_receive forever
limit=$T_LIMIT
if [ -n "${TEST_LONG:-}" ]; then
	export VIPL_MESSAGES=100000 VIPL_ROUNDS=1000 VIPL_VIS=1024 VIPL_REGIONS=10000 VIPL_TIMEOUT=400
	limit=420
fi
cases -l $limit vipl
cases vipl_dg
t "each function gives return codes of its row alone" only_these_seen
t "nothing is left behind" within 10 nothing_left
t "device_gone: a device that goes ends its connections, and is told" on_cli "$BIN/vipl" "$CLI4" device_gone
rdma_up "$CLI_NS" d1 "$SRNIC_TYPE" "$CLI_DEV"
t "device_gone_pending: a VI that is Pending when its device goes is in Error" \
	on_cli "$BIN/vipl" "$CLI4" device_gone_pending
t "nothing is left behind by a device that is gone" within 10 nothing_left
teardown_hosts

# The examples, between two hosts: program and arguments of the server and of the client,
# which tries until the server is there
example() {
	local first second rc=0 pid
	divide "$@"
	on_srv "$BIN/vipl_example_${first[0]}" "${first[@]:1}" &
	pid=$!
	on_cli "$BIN/vipl_example_${second[0]}" "${second[@]:1}" || rc=$?
	[ $rc = 0 ] || kill $pid
	wait $pid && return $rc
}

# Two clients of one server
example_cq() {
	local rc=0 pid first
	on_srv "$BIN/vipl_example_server" v2 2 >"$tmp/server" &
	pid=$!
	on_cli "$BIN/vipl_example_pingpong" v1 "$SRV4" 64 100 &
	first=$!
	on_cli "$BIN/vipl_example_pingpong" v1 "$SRV4" 4096 100 || rc=1
	wait $first || rc=1
	[ $rc = 0 ] || kill $pid
	wait $pid || rc=1
	cat "$tmp/server"
	[ $rc = 0 ] && grep -q '^2 clients, 200 messages$' "$tmp/server"
}

two_hosts 1500
vipl_two_hosts
if [ -n "${TEST_LONG:-}" ]; then
	# all of them, with as many messages as usual
	unset VIPL_MESSAGES VIPL_ROUNDS VIPL_VIS VIPL_REGIONS VIPL_TIMEOUT
	"$BIN/vipl" --list >"$tmp/cases"
	while IFS=$'\t' read -r -u 3 name _; do
		t "two hosts: $name" on_cli "$BIN/vipl" "$CLI4" "$name"
	done 3<"$tmp/cases"
else
	vipl_usual "two hosts"
fi
# What is done too early finds the data on its way: on one host it is there at once
if tc -n "$CLI_NS" qdisc replace dev v1 root netem delay 20ms; then
	t "far apart: reception_done: what is done is in the memory of the target" \
		on_cli "$BIN/vipl" "$CLI4" reception_done
	tc -n "$CLI_NS" qdisc del dev v1 root
	t "peer_cut_off: a disconnect does not wait for a peer that no packet reaches" \
		on_cli "$BIN/vipl" "$CLI4" peer_cut_off
else
	skip "far apart" "this kernel has no netem"
fi
t "example: ping-pong" example pingpong v2 -- pingpong v1 "$SRV4" 64 200
t "example: ping-pong of long messages" example pingpong v2 -- pingpong v1 "$SRV4" 65536 50
t "example: two peers" example peer v2 bob "$CLI4" alice -- peer v1 alice "$SRV4" bob
t "example: a server of several clients" example_cq
t "example: unreliable messages" example unreliable v2 -- unreliable v1 "$SRV4" 2000
t "nothing is left behind by the examples" within 10 nothing_left
teardown_hosts
done_testing
