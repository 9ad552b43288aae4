#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# UCX, and Open MPI over UCX, on devices that are no RNIC: UCX does not support RNICs. It makes RC
# QPs, whose numbers it exchanges over UD QPs. ucx_perftest does not check the data: mpi.c does,
# of messages, collective operations, Puts, Gets and atomics.

. "$(dirname "$0")/lib.sh"

need_programs ucx_info ucx_perftest mpirun
[ -x "$BIN/mpi" ] || bail "no $BIN/mpi: make -C tests/programs OUT=..."
export UCX_WARN_UNUSED_ENV_VARS=n	# below: of newer releases
export UCX_IB_ROCE_REACHABILITY_MODE=all
# The protocols that are on since 1.16 flush what is remote, which rc_verbs cannot on any device.
export UCX_PROTO_ENABLE=n
# A ucx_perftest that was built with MPI is an MPI program, unless -P 0 says otherwise.
not_mpi=''
! ucx_perftest -h | grep -q -- '-P <0|1>' || not_mpi='-P 0'

info() {	# TRANSPORT
	UCX_NET_DEVICES=$CLI_DEV:1 UCX_IB_GID_INDEX=1 on_cli ucx_info -d 2>&1 | tee "$tmp/info"
	grep -A 1 "Transport: $1\$" "$tmp/info" | grep -q "Device: $CLI_DEV:1"
}

no_info() { ! info rc_verbs; }
no_ud()   { info ud_verbs; grep 'failed to create UD QP' "$tmp/info"; }

# perf TRANSPORTS TEST SIZE: a warning of UCX is a failure, too
# shellcheck disable=SC2086 # words
perf() {
	export UCX_TLS=$1,self
	pair 13337 env UCX_NET_DEVICES="$SRV_DEV:1" UCX_IB_GID_INDEX="$srv_gid" ucx_perftest $not_mpi -p 13337 -- \
		env UCX_NET_DEVICES="$CLI_DEV:1" UCX_IB_GID_INDEX="$cli_gid" ucx_perftest "$SRV4" \
		$not_mpi -p 13337 -t "$2" -s "$3" -n 200 -w 10 >"$tmp/perf" 2>&1
	local rc=$?
	cat "$tmp/perf"
	[ $rc = 0 ] && grep -q '^Final:' "$tmp/perf" && ! grep -E 'ERROR|WARN' "$tmp/perf"
}

all_tests() {	# NAME
	local test size
	for test in tag_lat tag_bw tag_sync_lat stream_lat stream_bw ucp_put_lat ucp_put_bw ucp_get \
		    ucp_am_lat ucp_am_bw; do
		t "$1: ucx_perftest $test, rc" perf rc $test 4096
	done
	for test in ucp_add ucp_fadd ucp_swap ucp_cswap; do
		t "$1: ucx_perftest $test, rc" perf rc $test 8
	done
	for size in 1 8 1000 65536 1000000; do
		t "$1: ucx_perftest tag_bw -s $size, rc" perf rc tag_bw $size
		t "$1: ucx_perftest ucp_put_bw -s $size, rc" perf rc ucp_put_bw $size
	done
	t "$1: ucx_perftest tag_lat, ud" perf ud tag_lat 1000
	t "$1: ucx_perftest tag_bw, ud" perf ud tag_bw 8000
}

# mpi RANKS [ARG...]: those with even numbers on one device, the others on the other one
mpi() {
	local rank="$tmp/rank"
	# shellcheck disable=SC2016 # expanded where it runs
	printf '#!/bin/sh\nexport UCX_NET_DEVICES=sr$((OMPI_COMM_WORLD_RANK %% 2 + 1)):1\nexec "$@"\n' >"$rank"
	chmod +x "$rank"
	on_cli env UCX_IB_GID_INDEX=1 TMPDIR="$tmp" HOME="$tmp" mpirun --allow-run-as-root --oversubscribe \
		-np "$1" --mca pml ucx --mca osc ucx --mca btl self "$rank" "$BIN/mpi" "${@:2}" >"$tmp/mpi" 2>&1
	local rc=$?
	cat "$tmp/mpi"
	[ $rc = 0 ] && grep -q "^$1 ranks: all data is right" "$tmp/mpi" &&
		! grep -E 'ERROR|WARN|[Ff]ail' "$tmp/mpi"
}

by_device() {	# RANKS TRANSPORTS [ARG...]
	export UCX_TLS=$2
	mpi "$1" "${@:3}" && [ "$(counter sr1 conn_active)" != 0 ]
}

# UCX ends its QPs with Modify to Error, so aborted streams are no errors
lost_nothing() {
	local dev name n bad=0
	for dev in "$CLI_DEV" "$SRV_DEV"; do
		for name in rx_protocol_errors rx_crc_errors rx_protection_errors tx_terminates \
			    rx_terminates local_wr_errors ud_rx_malformed ud_rx_wrong_qkey ud_tx_lost; do
			n=$(counter "$dev" $name)
			[ "$n" = 0 ] && continue
			echo "$dev: $name $n"
			bad=1
		done
	done
	return $bad
}

two_hosts 1500
ib_enable
t "an RNIC is no device for UCX" no_info
teardown_hosts

SRNIC_TYPE=srnic_plain
two_hosts 1500
t "without a port there is no UD QP, without which UCX connects nothing" no_ud
ib_enable
for tl in rc_verbs ud_verbs; do
	t "ucx_info: $tl" info $tl
done
index :0a4d:0002 :0a4d:0001
all_tests "IPv4"
index ^fd77:.*:0002 ^fd77:.*:0001
t "IPv6: ucx_perftest tag_lat, rc" perf rc tag_lat 4096
t "IPv6: ucx_perftest tag_bw, ud" perf ud tag_bw 8000
unset UCX_TLS
t "no message was wrong, and none lost" lost_nothing
t "nothing is left" within 10 nothing_left
teardown_hosts

# two devices on one host
one_host
ip -n h1 link add d2 type dummy && net_up h1 d2 10.79.0.1/24 fd79::1/64 && rdma_up h1 d2 srnic_plain sr2
SRV_DEV=sr2
ib_enable
for ranks in 2 4; do
	t -l 120 "Open MPI, $ranks ranks, rc" by_device $ranks rc,self
done
for ranks in 2 3; do
	t -l 120 "Open MPI, $ranks ranks, rc: 1000 times a passive target, and a rank that is told" \
		by_device $ranks rc,self passive
done
UCX_TLS=ud,self
t -l 120 "Open MPI, 2 ranks, ud" mpi 2
export UCX_TLS=all
t -l 120 "Open MPI, 2 ranks, all that UCX has" mpi 2
unset UCX_TLS
t "nothing is left of Open MPI" within 10 nothing_left
teardown_hosts
done_testing
