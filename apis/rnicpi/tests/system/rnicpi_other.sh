#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# librnicpi on another device, siw: what verbs have there, and no more. A stream takes srnic.

. "$(dirname "$0")/../../../../tests/system/lib.sh"

need_modules siw

case_of() { on_cli "$BIN/rnicpi" "$CLI4" "$1"; }

# unsupported CASE FUNCTION: it comes to FUNCTION, which is RI_RET_OP_UNSUPPORTED (5)
unsupported() {
	! case_of "$1" >"$tmp/case" 2>&1 || { echo "$1 passes"; return 1; }
	grep "$2(.* gives 5 (.*), not RI_RET_SUCCESS" "$tmp/case" || { cat "$tmp/case"; return 1; }
}

example_hello() { on_cli "$BIN/rnicpi_example_hello" >"$tmp/hello" && grep "$CLI4" "$tmp/hello"; }

SRNIC_TYPE=siw one_host
export RNICPI_DEVICE=$CLI_DEV RNICPI_NETDEV=d1 RNICPI_SIW=1
for name in layout devices handles query query_size pds library refused addresses names vp_data \
	    codes_handles codes_qp; do
	t "siw: $name" case_of $name
done
t "siw takes no socket" unsupported echo ri_qp_modify
t "siw has no windows" unsupported mws ri_mw_alloc
t "siw does not register a region anew" unsupported mrs ri_mr_rereg
t "siw says nothing of an SRQ" unsupported srqs ri_srq_query
t "example: hello" example_hello
teardown_hosts
done_testing
