#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# librnicpi, the RNIC Programming Interface: the cases of apis/rnicpi/tests/programs.

. "$(dirname "$0")/../../../../tests/system/lib.sh"
. "$top/tests/system/lib-capture.sh"

[ "$SRNIC_TYPE" = srnic ] || skip_all "$SRNIC_TYPE takes no socket"
[ -x "$BIN/rnicpi" ] || bail "no $BIN/rnicpi: make -C apis/rnicpi/tests/programs OUT=..."

# The table of functions and return codes in conformance-rnicpi.md, as "FUNCTION CODE" lines. Those
# with a star may be missing.
codes_of_page() {
	sed -n 's/^| \(rix*_[a-z_]*\) | [-L0-9]* | \([^|]*\) |.*/\1 \2/p' "$top/apis/rnicpi/doc/conformance-rnicpi.md" |
		while read -r function codes; do
			printf "$function %s\n" $codes
		done | tr -d '`,' | sort -u
}

# The cases have returned each code of the table, and no other one
all_codes_seen() {
	codes_of_page >"$tmp/page"
	grep -v '\*$' "$tmp/page" >"$tmp/wanted"
	sed -n 's/\*$//p' "$tmp/page" >"$tmp/maybe"
	sort -u "$RNICPI_SEEN" | grep -vxFf "$tmp/maybe" >"$tmp/given"
	echo "$(wc -l <"$tmp/given") return codes of $(cut -d' ' -f1 "$tmp/given" | uniq | wc -l) functions"
	[ -s "$tmp/wanted" ] && diff "$tmp/wanted" "$tmp/given"
}

# The memory of the kernel does not grow with them, either: by less than 20 bytes each
many_connections() {
	local before after
	before=$("$top/scripts/kernel-memory")
	on_cli env RNICPI_CONNECTIONS=100000 RNICPI_TIMEOUT=1700 "$BIN/rnicpi" "$CLI4" many || return
	after=$("$top/scripts/kernel-memory")
	echo "the kernel: $before KiB before, $after KiB after"
	[ $((after - before)) -le 2000 ]
}

example_shared() {
	on_cli timeout 20 "$BIN/rnicpi_example_shared" "$CLI4" "a text" | grep -x 'the other process has: a text'
}

one_host
RNICPI_SEEN=$(mktemp)
export RNICPI_DEVICE=$CLI_DEV RNICPI_NETDEV=d1 RNICPI_SEEN
chmod 666 "$RNICPI_SEEN"	# by another user as well
limit=$T_LIMIT
if [ -n "${TEST_LONG:-}" ]; then
	export RNICPI_ROUNDS=1000 RNICPI_TIMEOUT=280
	limit=300
fi
# librnicpi's QPs do not wait for receives, whatever the device's policy says
no_receive forever
cases -l "$limit" rnicpi
t "each function gives each of its return codes, and no other" all_codes_seen
if [ -n "${TEST_LONG:-}" ]; then
	t -l 1800 "many: 100,000 connections, one after the other" many_connections
	diag <"$tmp/out"
fi
set_policy "$CLI_DEV" crc=off || bail "no policy crc"
t -l "$limit" "conversations: with and without CRC" on_cli env RNICPI_CRC=0 "$BIN/rnicpi" "$CLI4" conversations

# Neither this nor another driver makes one more of the same interface (RI-80)
one_rnic() {
	! on_cli rdma link add sr9 type srnic netdev d1 && on_cli "$BIN/rnicpi" "$CLI4" devices
}

t "an interface has one RNIC" one_rnic
t "nothing is left behind" within 10 nothing_left
t "example: a region that two processes share" example_shared
teardown_hosts

example_hello() { on_cli "$BIN/rnicpi_example_hello" >"$tmp/hello" && grep "$CLI4" "$tmp/hello"; }

example_echo() {
	local pid rc=0
	on_srv "$BIN/rnicpi_example_echo" 18520 &
	pid=$!
	within 10 on_srv sh -c 'ss -Htln "sport = :18520" | grep -q .' || rc=1
	on_cli "$BIN/rnicpi_example_echo" 18520 "$SRV4" one "two words" three >"$tmp/echo" || rc=1
	[ $rc = 0 ] || kill $pid
	wait $pid || rc=1
	cat "$tmp/echo"
	[ $rc = 0 ] && printf 'one\ntwo words\nthree\n' | cmp - "$tmp/echo"
}

listens() { "$1" sh -c "ss -Htln 'sport = :$2' | grep -q ."; }

# A peer that is a script on a plain socket calls the example's server
scripted_client() {
	local pid rc=0
	on_srv "$BIN/rnicpi_example_echo" 18522 &
	pid=$!
	within 10 listens on_srv 18522 && on_cli "$top/tests/wire/echo.py" call "$SRV4" 18522 || rc=1
	[ $rc = 0 ] || kill $pid
	wait $pid && [ $rc = 0 ]
}

# ... and is the server of the example's client
scripted_server() {
	local pid rc=0
	on_srv "$top/tests/wire/echo.py" serve "$SRV4" 18523 &
	pid=$!
	within 10 listens on_srv 18523 || rc=1
	on_cli "$BIN/rnicpi_example_echo" 18523 "$SRV4" one "two words" >"$tmp/echo" || rc=1
	[ $rc = 0 ] || kill $pid
	wait $pid || rc=1
	cat "$tmp/echo"
	[ $rc = 0 ] && printf 'one\ntwo words\n' | cmp - "$tmp/echo"
}

# What each conversation of the example is on the wire: Request, Reply, and three Sends each way
dissected() {
	dissect "$tmp/echo.pcapng" "$tmp/echo.text" || return
	unseen "$tmp/echo.text" 'Malformed|[Bb]ad CRC|incorrect' || return
	grep -c 'OpCode: Send (0x3)' "$tmp/echo.text"
	[ "$(grep -c 'OpCode: Send (0x3)' "$tmp/echo.text")" = 6 ]
}

# It ends with the device
example_monitor() {
	local pid
	on_cli "$BIN/rnicpi_example_monitor" "$CLI4" >"$tmp/monitor" &
	pid=$!
	within 10 grep -q ^listening "$tmp/monitor" && on_cli rdma link delete "$CLI_DEV" || kill $pid
	wait $pid || return
	cat "$tmp/monitor"
	grep -qx 'the device is gone' "$tmp/monitor"
}

two_hosts 1500
t "example: hello" example_hello
capture "$CLI_NS" v1 "$tmp/echo.pcapng"
t "example: echo, which begins as a TCP conversation" example_echo
stop_capture
t "example: echo: another dissector understands all of it" dissected
t "a scripted client turns its connection into RDMA" scripted_client
t "a scripted server turns its connection into RDMA" scripted_server
t "nothing is left behind by the examples" within 10 nothing_left
t "example: monitor, until the device is gone" example_monitor
teardown_hosts
done_testing
