#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# libvipl on other devices, siw and rxe: what verbs have there. What breaks a connection
# they do not say.

. "$(dirname "$0")/../../../../tests/system/lib.sh"
. "$(dirname "$0")/lib-vipl.sh"

need_modules siw rdma_rxe	# siw of the kernel itself

for type in siw rxe; do
	SRNIC_TYPE=$type two_hosts 1500
	vipl_two_hosts
	vipl_usual $type
	teardown_hosts
done
done_testing
