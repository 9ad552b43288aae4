#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# The part of scripts/fuzz-guest that runs in the guest: the mutating peer, the ring
# scribbler and random calls of methods. Set by the caller: FRAMES or SECONDS_EACH,
# SCRIBBLE and METHODS (seconds), SEED, MARKERS.

. "$(dirname "$0")/../../system/lib.sh"

SEED=${SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
SCRIBBLE=${SCRIBBLE:-20}
METHODS=${METHODS:-30}
echo "# SEED=$SEED"
for p in mutate scribble methods integrity; do
	[ -x "$BIN/$p" ] || bail "no $BIN/$p: make -C tests/programs OUT=..."
done

# mutate WHAT OPTION...: its output, with the table of mutations and answers, is shown also if it
# passes
mutate() {
	on_cli "$BIN/mutate" --seed "$SEED" "$@" "$CLI4" >"$tmp/mutate" 2>&1
	local rc=$?
	cat "$tmp/mutate"
	return $rc
}

still_works() {
	pair 7174 rping -s -a "$SRV4" -p 7174 -C 20 -S 4000 -V -- \
		rping -c -a "$SRV4" -p 7174 -C 20 -S 4000 -V
}

# Beside it other programs go on with their work, each octet of which is checked.
scribble() {
	local end=$((SECONDS + SCRIBBLE)) rc=0 n=0 pid before
	before=$(counter "$SRV_DEV" ring_corruptions)
	on_cli "$BIN/scribble" --seed "$SEED" --seconds "$SCRIBBLE" "$CLI4" >"$tmp/scribble" 2>&1 &
	pid=$!
	while [ $SECONDS -lt $end ] && [ $rc = 0 ]; do
		integrity --timeout 60 -- --seed "$SEED" --qps 2 --ops 60 || rc=1
		n=$((n + 1))
	done
	wait $pid || rc=1
	cat "$tmp/scribble"	# last, so that it is seen
	echo "# beside it: $n runs of integrity; ring_corruptions $(($(counter "$SRV_DEV" ring_corruptions) - before))"
	[ "$(counter "$SRV_DEV" ring_corruptions)" -gt "$before" ] && return $rc
}

# methods: its output, with the table of calls and successes, is shown also if it passes
methods() {
	local rc=0
	on_cli "$BIN/methods" --seed "$SEED" --seconds "$METHODS" "$CLI4" >"$tmp/methods" 2>&1 || rc=$?
	cat "$tmp/methods"
	return $rc
}

data_is_whole() { integrity --timeout 60 -- --seed "$SEED" --qps 2 --ops 60; }

no_log_flood() {
	local n=$(($(dmesg | wc -l) - log_before))
	echo "$n lines"
	[ $n -le 100 ]
}

unloads() { timeout 30 modprobe -r srnic; }

no_leak() {
	"$top/scripts/memory-leaks" >"$tmp/leaks" && return
	cat "$tmp/leaks"
	[ -s "$tmp/leaks" ] || { echo "this kernel has no kmemleak"; return 77; }
	return 1
}

one_host
no_receive 0	# what the model expects
log_before=$(dmesg | wc -l)
how=(--frames "${FRAMES:-100000}")
[ -z "${SECONDS_EACH:-}" ] || how=(--seconds "$SECONDS_EACH")

t -l 100000 "mutated frames" mutate "${how[@]}"
grep '^#' "$tmp/mutate"
if [ -n "${MARKERS:-}" ]; then
	how=(--frames $((${FRAMES:-100000} / 4)))
	[ -z "${SECONDS_EACH:-}" ] || how=(--seconds $((SECONDS_EACH / 3 + 1)))
	t "the device wants markers" eval "echo on >/sys/class/infiniband/$SRV_DEV/policy/markers"
	t -l 100000 "mutated frames with markers" mutate "${how[@]}"
	grep '^#' "$tmp/mutate"
	echo off >"/sys/class/infiniband/$SRV_DEV/policy/markers"
fi
how=(--frames $((${FRAMES:-100000} / 4)))
[ -z "${SECONDS_EACH:-}" ] || how=(--seconds $((SECONDS_EACH / 3 + 1)))
t -l 100000 "frames that change while the device reads them" mutate --hostile "${how[@]}"
grep '^#' "$tmp/mutate"
t "nothing is left of them" within 10 nothing_left
t "the device still works" still_works
no_receive 1	# the default: messages wait for receives in rings that are scribbled on
t -l $((SCRIBBLE + 120)) "programs that scribble on their rings, others beside them" scribble
grep '^#' "$tmp/out"
t "nothing is left of those" within 15 nothing_left
t "the device works after that" still_works
t -l $((METHODS + 120)) "random calls of methods, commands and mmap, each of which succeeds at times" methods
grep '^#' "$tmp/methods"
t "nothing is left of these" within 15 nothing_left
t "the device works after these" still_works
t "what it carries after these is whole" data_is_whole
t "the kernel log is not flooded" no_log_flood
teardown_hosts
t "the module unloads" unloads
t "no memory is left behind" no_leak
done_testing
