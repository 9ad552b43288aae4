#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# perftest as on InfiniBand: without rdma_cm, the ends exchange GID and QP number. For its effect
# on the device, as perftest.sh.

. "$(dirname "$0")/lib.sh"

need_programs ib_send_bw

# perf_ib PROGRAM [OPTION...]
perf_ib() {
	pair 18515 "$@" -F -d "$SRV_DEV" -x "$srv_gid" -- \
		"$@" -F -d "$CLI_DEV" -x "$cli_gid" "$SRV4"
}

# ib_send_bw of perftest before 23.07 frees the objects for its credits on an RNIC only if it used
# rdma_cm (linux-rdma/perftest, pull request 215): at its end, after all data is transferred, it
# cannot free its PD. This error, once at each end, is no failure here.
perf_send() {
	perf_ib ib_send_bw "$@" >"$tmp/perf" 2>&1 && return
	cat "$tmp/perf"
	[ "$(grep -c 'Failed to deallocate PD - Device or resource busy' "$tmp/perf")" = 2 ] &&
		[ "$(grep -cE "Failed|Couldn't|Completion|Problem|[Uu]nable" "$tmp/perf")" = 4 ] &&
		[ "$(grep -c "Couldn't destroy all SEND resources" "$tmp/perf")" = 2 ]
}

# each_of NAME SERVER CLIENT: with the GIDs that end so
each_of() {
	local name=$1 verb
	index "$2" "$3"
	t "$name: ib_send_bw" perf_send -n 100
	for verb in write read; do
		t "$name: ib_${verb}_bw" perf_ib ib_${verb}_bw -n 100
	done
	t "$name: ib_send_lat" perf_ib ib_send_lat -n 100
	t "$name: ib_atomic_lat" perf_ib ib_atomic_lat -n 100
}

# all_of NAME SERVER CLIENT
all_of() {
	local name=$1 verb run
	index "$2" "$3"
	for verb in send write read; do
		run="perf_ib ib_${verb}_bw"
		[ $verb != send ] || run=perf_send
		# shellcheck disable=SC2086 # words
		{
			t "$name: ib_${verb}_bw" $run -n 200
			t "$name: ib_${verb}_bw -s 1048576" $run -s 1048576 -n 8
			t "$name: ib_${verb}_bw -q 8" $run -q 8 -n 50 -s 20000
			t "$name: ib_${verb}_bw -b" $run -b -n 100 -s 30000
		}
		t "$name: ib_${verb}_lat" perf_ib ib_${verb}_lat -n 200
	done
	for verb in CMP_AND_SWAP FETCH_AND_ADD; do
		t "$name: ib_atomic_bw -A $verb" perf_ib ib_atomic_bw -A $verb -n 200
		t "$name: ib_atomic_lat -A $verb" perf_ib ib_atomic_lat -A $verb -n 200
	done
	# With one QP only: the receiver takes each receive for one of the QP that posted it, and
	# gives the credit to that QP's sender. With an SRQ the message may be another QP's, whose
	# sender then waits for ever.
	t "$name: ib_send_bw --use-srq" perf_send --use-srq -n 50 -s 20000
}

two_hosts 1500
ib_enable
all_of "IPv4, two hosts" :0a4d:0002 :0a4d:0001
each_of "IPv6, two hosts" ^fd77:.*:0002 ^fd77:.*:0001
t "nothing is left" within 10 nothing_left
teardown_hosts

one_host
ib_enable
each_of "IPv4, one host" :0a4e:0001 :0a4e:0001
t "nothing is left on one host" within 10 nothing_left
teardown_hosts
done_testing
