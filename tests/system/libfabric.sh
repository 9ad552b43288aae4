#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# libfabric over its verbs provider: connected endpoints (FI_EP_MSG), and reliable
# datagrams (FI_EP_RDM), which ofi_rxm makes of them.
#
# fi_pingpong ends with a message in each direction. Who has both destroys its QP,
# and so resets the connection. The other one has its message then, too, as a
# completion that waits. But when ofi_rxm (1.17 and 2.1) hears that the connection
# is gone, it destroys its QP before it reads what waits, rxm_close_conn(); a
# destroyed QP's completions are gone (RDMAC verbs 6.1.4), and it waits for ever.
# So let the news of the end come late: what came before has been read then.

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
slow_segments "$CLI_NS" v1 "delay 3000ms" 0x04 0x14	# RST, without and with ACK
slow_segments "$SRV_NS" v2 "delay 3000ms" 0x04 0x14
t "fi_info: verbs" info verbs FI_EP_MSG
t "fi_info: verbs;ofi_rxm" info "verbs;ofi_rxm" FI_EP_RDM
for size in 64 4096 200000; do
	t "verbs: size $size" pingpong verbs msg $size
	t "verbs;ofi_rxm: size $size" pingpong "verbs;ofi_rxm" rdm $size
done
teardown_hosts
done_testing
