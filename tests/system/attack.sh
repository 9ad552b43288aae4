#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Attacks by a hostile user of the host (tests/attack), as user 65534. Beside it user 65533 goes
# on with its work, each octet of which is checked, and afterwards nothing is left: no object, no
# kthread, no socket, no reference to the module, no trouble in the kernel's log.
# Documentation/security.rst has the table of attacks and tests.
#
# Each attack takes ATTACK_SECONDS: 2, and 60 with TEST_LONG=1. ATTACK_SEED makes other
# choices.

. "$(dirname "$0")/lib.sh"

[ "$SRNIC_TYPE" = srnic ] || skip_all "the type under test is $SRNIC_TYPE"
[ -x "$BIN/attack" ] || bail "no $BIN/attack: make -C tests/programs OUT=..."
need_programs setpriv

export ATTACK_SECONDS=${ATTACK_SECONDS:-${TEST_LONG:+60}}
export ATTACK_SECONDS=${ATTACK_SECONDS:-2}
export ATTACK_SEED=${ATTACK_SEED:-1}
echo "# ATTACK_SEED=$ATTACK_SEED, $ATTACK_SECONDS s each"
attacker=(setpriv --reuid=65534 --regid=65534 --clear-groups)
victim=(setpriv --reuid=65533 --regid=65533 --clear-groups)

# Called in a subshell, which becomes the program, so that its process id is the program's
attack() { exec ip netns exec "$CLI_NS" "${attacker[@]}" "$BIN/attack" "$CLI4" "$1"; }

# its_work: one round of the victim's work
its_work() {
	pair 7475 "${victim[@]}" "$BIN/integrity" --server --addr "$SRV4" --timeout 60 -- \
		"${victim[@]}" "$BIN/integrity" --client "$SRV4" --timeout 60 --seed "$ATTACK_SEED" \
		--qps 2 --ops 60
}

# beside CASE: the attack runs, and the victim goes on with its work
beside() {
	local pid n=0 rc=0
	(attack "$1") >"$tmp/attack" 2>&1 &
	pid=$!
	while kill -0 $pid 2>/dev/null && [ $rc = 0 ]; do
		its_work >"$tmp/work" 2>&1 || rc=1
		n=$((n + 1))
	done
	[ $rc = 0 ] || { echo "the victim:"; cat "$tmp/work"; }
	wait $pid || { echo "the attacker: status $?"; rc=1; }
	cat "$tmp/attack"
	echo "the victim did its work $n times"
	within 20 nothing_left || rc=1
	return $rc
}

one_host
t "attack lists its cases" cases_of "$BIN/attack" --list
while IFS=$'\t' read -r -u 3 name what; do
	t -l $((ATTACK_SECONDS + 120)) "$name: $what" beside "$name"
done 3<"$tmp/cases"
no_receive forever
t -l $((ATTACK_SECONDS + 120)) "messages wait without end, while all around them changes" beside waits
t "the victim's work is done when all is over" its_work
teardown_hosts
t "no attack holds the module" unloads
done_testing
