# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
#
# Results of tests, as TAP, and their counts: shared by all shell scripts that run tests. Sourced,
# never run: . "$(dirname "$0")/tap.sh"

passed=0 failed=0 skipped=0

# tap_result VERDICT TEXT: one line; the count has it already.
tap_result() { echo "$1 $((passed + failed + skipped)) - $2"; }

ok()     { passed=$((passed + 1)); tap_result ok "$*"; }
not_ok() { failed=$((failed + 1)); tap_result "not ok" "$*"; }
skip()   { skipped=$((skipped + 1)); tap_result ok "$1 # SKIP $2"; }	# NAME REASON

# The plan, at the end: the number of tests.
plan() { echo "1..$((passed + failed + skipped))"; }

# tally TAP-FILE: add up the results in a TAP file (indented ones, which are
# parts of others, do not count).
tally() {
	local p f s
	read -r p f s < <(awk '
		/^ok .*# SKIP/ { s++; next }
		/^ok /         { p++; next }
		/^not ok /     { f++ }
		/^Bail out!/   { f++ }
		/^1\.\.0 # SKIP/ { s++ }
		END { print p + 0, f + 0, s + 0 }' "$1")
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
}

# as_planned TAP-FILE: does it have a plan, and a result for each test of it? A plan of none needs
# a reason. A file that has "Bail out!" is complete: it counts as a failure.
as_planned() {
	awk '
	/^(not )?ok /          { n++ }
	/^Bail out!/           { bailed = 1 }
	/^1\.\.[0-9]+( |$)/    { plans++; want = substr($1, 4); why = /# SKIP ./ }
	END { exit !(bailed || plans == 1 && want == n + 0 && (n || why)) }' "$1"
}

# may_skip KERNEL TEST: does tests/skips list it, under one of the kernel's names?
may_skip() {
	local kernels glob names
	case $1 in
	stock) names="stock|$(stock_linux)" ;;
	6.*)   names="stock|$1" ;;
	arm64|s390x|ppc64el) names="stock|$(stock_linux)|$1" ;;
	uml)   names=kasan ;;
	*)     names=$1 ;;
	esac
	while read -r kernels glob; do
		glob=${glob%%#*}
		glob=${glob%"${glob##*[![:space:]]}"}
		# shellcheck disable=SC2053 # a glob
		[[ ,$kernels, =~ ,($names), && $2 == $glob ]] && return
	done < "$(dirname "${BASH_SOURCE[0]}")/../tests/skips"
	return 1
}

# check_skips KERNEL FILE TAP-FILE: a test that was skipped, and may not be, has failed.
check_skips() {
	local line name
	while IFS= read -r line; do
		name=$2
		[[ $line == 1..0* ]] || name="$2: ${line#ok * - }"
		may_skip "$1" "${name%% # SKIP*}" ||
			not_ok "${name%% # SKIP*}: was skipped, but not by tests/skips:${line##*# SKIP}"
	done < <(grep -E '^(ok |1\.\.0).*# SKIP' "$3")
}

# The closing line, and the exit status for it. No test, no success.
totals() {
	echo "$passed passed, $failed failed, $skipped skipped"
	[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
}
