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

. "$(dirname "$0")/lib.sh"

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

# the others take long to find out that they have no device
export FI_PROVIDER=verbs,ofi_rxm
two_hosts 1500
t "fi_info: verbs" info verbs FI_EP_MSG
t "fi_info: verbs;ofi_rxm" info "verbs;ofi_rxm" FI_EP_RDM
for size in 64 4096 200000; do
	t "verbs: size $size" pingpong verbs msg $size
	t "verbs;ofi_rxm: size $size" pingpong "verbs;ofi_rxm" rdm $size
done
t -l $((45 * ROUNDS)) "verbs: ends $ROUNDS times out of $ROUNDS" ends verbs msg
t -l $((45 * ROUNDS)) "verbs;ofi_rxm: ends $ROUNDS times out of $ROUNDS" ends "verbs;ofi_rxm" rdm
teardown_hosts
done_testing
