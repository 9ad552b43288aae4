# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# shellcheck shell=bash
#
# Counting tests. Sourced, never run: . "$(dirname "$0")/tap.sh"

passed=0 failed=0 skipped=0

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

# The closing line, and the exit status that goes with it. No test, no success.
totals() {
	echo "$passed passed, $failed failed, $skipped skipped"
	[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
}
