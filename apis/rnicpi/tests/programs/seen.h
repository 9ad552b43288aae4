/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Records the return code of each call of the library, see seen.c. */
#ifndef SEEN_LIBRARY_H
#define SEEN_LIBRARY_H

#include <rnicpi/rix.h>
#include "../kunit/rnicpi_seen.h"

#define ri_svc_lib_reg(...)			SEE(ri_svc_lib_reg, __VA_ARGS__)
#define rix_rnic_list(...)			SEE(rix_rnic_list, __VA_ARGS__)
#define rix_rnic_by_local_addr(...)		SEE(rix_rnic_by_local_addr, __VA_ARGS__)
#define rix_rnic_by_remote_addr(...)		SEE(rix_rnic_by_remote_addr, __VA_ARGS__)
#define rix_cq_ack(...)				SEE(rix_cq_ack, __VA_ARGS__)
#define rix_get_event(...)			SEE(rix_get_event, __VA_ARGS__)
#define rix_mpa_recv(...)			SEE(rix_mpa_recv, __VA_ARGS__)

#endif
