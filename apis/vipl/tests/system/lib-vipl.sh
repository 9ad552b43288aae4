#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# What the tests of libvipl share.

# vipl_usual NAME: the usual cases of apis/vipl/tests/programs, as tests NAME: CASE
vipl_usual() {
	local case
	for case in query_nic connect connect_reject connect_timeout reconnect peer_leaves send \
		send_both segments lengths rdma_write rdma_write_imm rdma_read fence levels \
		unreliable format; do
		t -l 30 "$1: $case" on_cli "$BIN/vipl" "$CLI4" "$case"
	done
}

# vipl_two_hosts: from here on the server of the cases is on the other host
vipl_two_hosts() {
	export VIPL_DEVICE=$CLI_DEV VIPL_NETDEV=v1 VIPL_NETNS=/run/netns/$CLI_NS
	export VIPL_SERVER=$SRV4 VIPL_SERVER_DEVICE=$SRV_DEV VIPL_SERVER_NETNS=/run/netns/$SRV_NS
}
