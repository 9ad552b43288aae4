#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# libvipl on other devices, siw and rxe: what verbs have there. What breaks a connection
# they do not say.

. "$(dirname "$0")/lib.sh"

need_modules siw rdma_rxe	# siw of the kernel itself

tap_cases() {	# TYPE CASE...: cases of tests/vipl
	local type=$1 name
	shift
	for name in "$@"; do
		t -l 30 "$type: $name" on_cli "$BIN/vipl" "$CLI4" "$name"
	done
}

usual=(query_nic connect connect_reject connect_timeout reconnect peer_leaves send send_both
	segments lengths rdma_write rdma_write_imm rdma_read fence levels unreliable format)

for type in siw rxe; do
	SRNIC_TYPE=$type two_hosts 1500
	export VIPL_DEVICE=$CLI_DEV VIPL_NETDEV=v1
	tap_cases $type "${usual[@]}"
	teardown_hosts
done
done_testing
