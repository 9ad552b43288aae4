/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Return codes and completion statuses of RNICPI (4.4, 4.6.3), for librnicpi and rnicpi.ko. */
#ifndef RNICPI_ANSWER_H
#define RNICPI_ANSWER_H

#include <rnicpi/rnicpi.h>

enum ri_kind {
	RI_KIND_VP = 1,
	RI_KIND_RNIC,
	RI_KIND_PD,
	RI_KIND_CQ,
	RI_KIND_QP,
	RI_KIND_SRQ,
	RI_KIND_MR,
	RI_KIND_MW,
};

ri_api_return_t ri_answer(ri_err_data_t *err_data, ri_api_return_t ret);
ri_api_return_t ri_failed(ri_err_data_t *err_data, int err, ri_api_return_t busy);
ri_api_return_t ri_memory_failed(ri_err_data_t *err_data, int err, ri_api_return_t busy);
ri_api_return_t ri_stream_failed(ri_err_data_t *err_data, int err);
ri_api_return_t ri_invalid(enum ri_kind kind);
ri_wc_status_t ri_native_status(uint32_t native);

/* A call has succeeded */
static inline ri_api_return_t ri_done(ri_err_data_t *err_data)
{
	return ri_answer(err_data, RI_RET_SUCCESS);
}

#endif
