#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# libfabric over its verbs provider: connected endpoints (FI_EP_MSG), and reliable
# datagrams (FI_EP_RDM), which ofi_rxm makes of them.
#
# fi_pingpong ends with a message in each direction. The end that has both destroys its QP, while
# the other end's message is still an unpolled completion. So the program ends only if a completed
# Send arrives whatever its sender does next, and if the completions of a destroyed QP stay until
# they are polled.
#
# When ofi_rxm (1.17 and 2.1) gets the event that the connection is gone before it has polled, it
# destroys its QP and posts the buffer of the message that it then polls to the destroyed QP. Its
# shared receive queue stays (Documentation/faq.rst).
#
# ROUNDS is the number of times in a row that it has to end.
#
# Open MPI runs over ofi_rxm, too. Its messages may come before their receives, 5,000 of them here,
# so they may wait, by default.

. "$(dirname "$0")/lib.sh"

need_programs mpirun
[ -x "$BIN/mpi" ] || bail "no $BIN/mpi: make -C tests/programs OUT=..."
ROUNDS=${ROUNDS:-5}

info() {	# PROVIDER ENDPOINT
	on_cli fi_info -p "$1" -t "$2" | tee "$tmp/info" && grep -q "domain: $CLI_DEV" "$tmp/info" &&
		grep -q 'protocol: FI_PROTO_' "$tmp/info"
}

# The data is checked. It takes seconds, or hangs.
pingpong() {	# PROVIDER ENDPOINT SIZE
	local limit
	limit="timeout -k 1 $(slow 40)"
	[ "$2" = msg ] || limit="env FI_OFI_RXM_USE_SRX=1 $limit"
	pair 47592 $limit fi_pingpong -p "$1" -e "$2" -d "$SRV_DEV" -c -I 5 -S "$3" -- \
		$limit fi_pingpong -p "$1" -e "$2" -d "$CLI_DEV" -c -I 5 -S "$3" "$SRV4"
}

ends() {	# PROVIDER ENDPOINT
	local round ended=0
	for round in $(seq "$ROUNDS"); do
		if pingpong "$1" "$2" 64; then
			ended=$((ended + 1))
		else
			echo "round $round failed"
		fi >>"$tmp/rounds" 2>&1
	done
	tail -n 60 "$tmp/rounds"
	echo "$ended of $ROUNDS rounds ended"
	[ $ended = "$ROUNDS" ]
}

mpi() {	# RANKS
	local rc=0
	on_cli env FI_OFI_RXM_USE_SRX=1 TMPDIR="$tmp" HOME="$tmp" mpirun --allow-run-as-root --oversubscribe \
		-np "$1" --mca pml cm --mca mtl ofi --mca mtl_ofi_provider_include 'verbs;ofi_rxm' \
		--mca btl self "$BIN/mpi" two-sided 5000 >"$tmp/mpi" 2>&1 || rc=$?
	cat "$tmp/mpi"
	[ $rc = 0 ] && grep -q "^$1 ranks: all data is right" "$tmp/mpi" && [ "$(counter sr1 conn_active)" != 0 ]
}

# It destroys its QPs, so aborted streams are no errors.
lost_nothing() {
	local name n bad=0
	for name in rx_protocol_errors rx_crc_errors rx_protection_errors tx_terminates rx_terminates \
		    local_wr_errors; do
		n=$(counter sr1 $name)
		[ "$n" = 0 ] || { echo "$name $n"; bad=1; }
	done
	return $bad
}

# the others take long to find out that they have no device
export FI_PROVIDER=verbs,ofi_rxm
two_hosts 1500
t "fi_info: verbs" info verbs FI_EP_MSG
t "fi_info: verbs;ofi_rxm" info "verbs;ofi_rxm" FI_EP_RDM
for size in 64 4096 200000; do
	t "verbs: size $size" pingpong verbs msg $size
	t "verbs;ofi_rxm: size $size" pingpong "verbs;ofi_rxm" rdm $size
done
if has_odp; then
	export FI_VERBS_USE_ODP=1
	for size in 64 200000; do
		t "on-demand paging, verbs: size $size" pingpong verbs msg $size
		t "on-demand paging, verbs;ofi_rxm: size $size" pingpong "verbs;ofi_rxm" rdm $size
	done
	unset FI_VERBS_USE_ODP
	t "on-demand paging: pages came" pages_came "$CLI_DEV"
else
	skip "on-demand paging" "this kernel has none"
fi
t -l $((45 * ROUNDS)) "verbs: ends $ROUNDS times out of $ROUNDS" ends verbs msg
t -l $((45 * ROUNDS)) "verbs;ofi_rxm: ends $ROUNDS times out of $ROUNDS" ends "verbs;ofi_rxm" rdm
teardown_hosts

one_host
for ranks in 2 4; do
	t -l 120 "Open MPI, $ranks ranks, verbs;ofi_rxm" mpi $ranks
done
t "no message of Open MPI was wrong, and none lost" lost_nothing
t "nothing is left of Open MPI" within 10 nothing_left
teardown_hosts
done_testing
