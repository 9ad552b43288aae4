#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# libfabric over its verbs provider: connected endpoints (FI_EP_MSG), and reliable
# datagrams (FI_EP_RDM), which ofi_rxm makes of them.

. "$(dirname "$0")/lib.sh"

info() {	# PROVIDER ENDPOINT
	on_cli fi_info -p "$1" -t "$2" | tee "$tmp/info" && grep -q "domain: $CLI_DEV" "$tmp/info" &&
		grep -q 'protocol: FI_PROTO_' "$tmp/info"
}

# The data is checked
pingpong() {	# PROVIDER ENDPOINT SIZE
	pair 47592 fi_pingpong -p "$1" -e "$2" -d "$SRV_DEV" -c -I 5 -S "$3" -- \
		fi_pingpong -p "$1" -e "$2" -d "$CLI_DEV" -c -I 5 -S "$3" "$SRV4"
}

# the others take their time to find out that they have no device
export FI_PROVIDER=verbs,ofi_rxm
two_hosts 1500
t "fi_info: verbs" info verbs FI_EP_MSG
t "fi_info: verbs;ofi_rxm" info "verbs;ofi_rxm" FI_EP_RDM
for size in 64 4096 200000; do
	t "verbs: size $size" pingpong verbs msg $size
	t "verbs;ofi_rxm: size $size" pingpong "verbs;ofi_rxm" rdm $size
done
teardown_hosts
done_testing
