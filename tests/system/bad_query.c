// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Calls of the driver's query methods that are wrong. */
#include <errno.h>
#include <string.h>
#include "badinput.h"
#include "handfd.h"
#include "query.h"

static struct hand h;

/* Answers of each size, handles of others; nothing else is written to */
static void misuse(uint16_t object, uint16_t method, uint32_t handle, size_t size)
{
	uint8_t got[256];
	struct ibv_context *ctx = h.qp->context;
	int err;

	memset(got, 0xa5, sizeof(got));
	for (size_t n = 0; n < size; n++) {
		err = query_raw(ctx, object, method, handle, got, n);
		require(err == EINVAL, "object %u: answer of %zu bytes: %s", object, n, strerror(err));
	}
	err = query_raw(ctx, object, method, handle, (void *)8, size);
	require(err == EFAULT, "object %u: nowhere to write: %s", object, strerror(err));
	err = query_raw(ctx, object, method + 100, handle, got, size);
	require(err == EPROTONOSUPPORT, "object %u: no such method: %s", object, strerror(err));
	if (handle != NO_HANDLE) {
		err = query_raw(ctx, object, method, handle + 1000, got, size);
		require(err == ENOENT, "object %u: no such handle: %s", object, strerror(err));
		err = query_raw(ctx, object, method, NO_HANDLE, got, size);
		require(err == EINVAL, "object %u: no handle: %s", object, strerror(err));
	}
	for (size_t i = 0; i < sizeof(got); i++)
		require(got[i] == 0xa5, "object %u: byte %zu was written in vain", object, i);
	err = query_raw(ctx, object, method, handle, got, sizeof(got));
	require(!err, "object %u: longer answer: %s", object, strerror(err));
	for (size_t i = size; i < sizeof(got); i++)
		require(!got[i], "object %u: byte %zu of a longer answer", object, i);
}

#define MISUSE(_object, _handle, _struct) \
	misuse(UVERBS_OBJECT_##_object, SRNIC_METHOD_##_object##_QUERY, _handle, \
	       sizeof(struct _struct))

void case_query(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_srq *srq;
	struct ibv_mw *mw;

	if (!on_srnic())
		skip("only srnic has these methods");
	hand_qp(&h);
	srq = ibv_create_srq(h.pd, &init);
	mw = ibv_alloc_mw(h.pd, IBV_MW_TYPE_2);
	require(srq && mw, "%s", strerror(errno));
	misuse(UVERBS_OBJECT_DEVICE, SRNIC_METHOD_DEV_QUERY, NO_HANDLE,
	       sizeof(struct srnic_uresp_dev_query));
	MISUSE(QP, h.qp->handle, srnic_uresp_qp_query);
	MISUSE(CQ, h.cq->handle, srnic_uresp_cq_query);
	MISUSE(SRQ, srq->handle, srnic_uresp_srq_query);
	MISUSE(MR, h.mr->handle, srnic_uresp_mr_query);
	MISUSE(MW, mw->handle, srnic_uresp_mw_query);
	require(!ibv_dealloc_mw(mw) && !ibv_destroy_srq(srq), "%s", strerror(errno));
	hand_qp_end(&h);
}
