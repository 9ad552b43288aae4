#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Programs written for InfiniBand get the same results on srnic as on rxe, as far as these do not
# vary from run to run: the lines of outcomes.c, and the output of libibverbs' pingpongs.
# outcomes.list names the lines that differ, and why.

. "$(dirname "$0")/lib.sh"

case $(uname -r) in
6.1.*) skip_all "rxe of Linux 6.1 leaves a work request without a completion" ;;
esac
need_modules rdma_rxe
need_programs ibv_rc_pingpong ibv_uc_pingpong ibv_ud_pingpong ibv_srq_pingpong

# Remove what varies from run to run, and the addresses of the device
steady() { sed -E 's/ in [0-9.]+ seconds.*//; /address:|GID/d'; }

pingpong() {	# PROGRAM [OPTION...]
	local prog=$1 SRNIC_TYPE=srnic	# they listen on TCP, whatever the device is
	shift
	echo "--- $prog $*"
	pair 18515 "$prog" -d sr1 -g "$index" "$@" -- "$prog" -d sr1 -g "$index" "$@" "$SRV4" |
		steady
	return "${PIPESTATUS[0]}"
}

# Few rounds: two programs that poll may wait a scheduler's tick in each of them.
pingpongs() {
	pingpong ibv_rc_pingpong -c -n 100 &&
		pingpong ibv_rc_pingpong -c -n 20 -s 65536 &&
		pingpong ibv_rc_pingpong -e -c -n 100 -s 1 &&
		pingpong ibv_uc_pingpong -c -n 100 &&
		pingpong ibv_ud_pingpong -c -n 100 -s 1000 &&
		pingpong ibv_srq_pingpong -c -n 100 -q 4
}

# on TYPE: the output for a device of that type
on() {
	SRNIC_TYPE=$1
	one_host
	[ "$1" = rxe ] || { ib_enable && set_policy sr1 ib_timeout=1; } || bail "no policy"
	index=$(within 5 gid_of sr1 :0a4e:0001) || bail "no GID on $1"
	t "$1: the programs end" run "$1"
	teardown_hosts
}

run() {
	on_cli "$BIN/outcomes" sr1 "$index" >"$tmp/$1" && cat "$tmp/$1" &&
		pingpongs >"$tmp/$1.pingpong"
	local rc=$?
	cat "$tmp/$1.pingpong"
	return $rc
}

# same: the lines of rxe, replaced by those of outcomes.list, are the lines of srnic; and each
# listed line is in use
same() {
	awk 'NR == FNR { if (/^rxe /) rxe = substr($0, 8)
			 if (/^srnic /) to[rxe] = substr($0, 8)
			 next }
		{ print $0 in to ? to[$0] : $0 }' "$here/outcomes.list" "$tmp/rxe" |
		diff - "$tmp/srnic_plain" || return
	sed -n 's/^srnic  //p' "$here/outcomes.list" | sort -u | grep -Fxvf "$tmp/srnic_plain" &&
		echo "is listed, and not seen" && return 1
	true
}

on rxe
on srnic_plain
t "each work request comes to the same, but for what outcomes.list has" same
t "the pingpongs print the same" diff "$tmp/rxe.pingpong" "$tmp/srnic_plain.pingpong"
done_testing
