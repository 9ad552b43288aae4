#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# integrity.c, which checks every byte and every completion of mixed random operations, with
# different settings. SEED=N repeats a run; each seed is printed.

. "$(dirname "$0")/lib.sh"

[ -x "$BIN/integrity" ] || bail "no $BIN/integrity: make -C tests/programs OUT=..."
SEED=${SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
echo "# SEED=$SEED"

counters() { rdma statistic show link "$1/1" 2>/dev/null | tr ' ' '\n' | paste -sd ' '; }

# seeded BOTH-SIDES-OPTION... -- CLIENT-OPTION...
seeded() {
	integrity "$@" --seed "$SEED" && return
	counters "$CLI_DEV"
	counters "$SRV_DEV"
	return 1
}

# With events a program sleeps; the output must show that it did.
integrity_events() {
	seeded "$@" >"$tmp/integrity" 2>&1
	local rc=$?
	cat "$tmp/integrity"
	[ $rc = 0 ] && [ "$(awk '$1 == "events" { n += $2 } END { print n + 0 }' \
		"$tmp/integrity")" -ge 20 ]
}

for mtu in 1500 9000; do
	two_hosts $mtu
	t "MTU $mtu: 4 QPs" seeded -- --qps 4 --ops 400
	t "MTU $mtu: 4 QPs, events" seeded --events -- --qps 4 --ops 300
	t "MTU $mtu: 256 KiB" seeded -- --qps 2 --ops 200 --max-size 262144
	if [ $mtu = 1500 ]; then
		t "small messages, deep window" seeded -- \
			--qps 4 --ops 2000 --max-size 200 --window 64
		t "1 QP, events that are waited for" integrity_events --events -- \
			--qps 1 --ops 1000 --window 8 --max-size 3000
		t "one CQ for all" seeded --one-cq -- --qps 4 --ops 300
		t "one CQ for all, events" seeded --one-cq --events -- --qps 4 --ops 300
		t "32 QPs" seeded -- --qps 32 --ops 60 --max-size 8192
		t "one READ at a time" seeded --ord 1 -- --qps 2 --ops 400 --max-size 20000
		t "1 SGE, no inline data" seeded --sge 1 --inline 0 -- --qps 2 --ops 300
		t "512 bytes of inline data" seeded --inline 512 -- --qps 2 --ops 400 --max-size 600
		t "both sides close" seeded --close-both -- --qps 4 --ops 100
	fi
	teardown_hosts
done

one_host
t "one host" seeded -- --qps 4 --ops 300
teardown_hosts
done_testing
