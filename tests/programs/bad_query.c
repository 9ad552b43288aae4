// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Wrong calls of the driver's query methods and of the method for shared regions. */
#include <errno.h>
#include <string.h>
#include "badinput.h"
#include "handfd.h"
#include "method.h"
#include "query.h"

static struct hand h;

/*
 * Responses of each size, of which the first version had @least; wrong handles. Bytes beyond the
 * response are not written
 */
static void misuse(uint16_t object, uint16_t method, uint32_t handle, size_t least, size_t size)
{
	uint8_t got[256];
	struct ibv_context *ctx = h.qp->context;
	int err;

	memset(got, 0xa5, sizeof(got));
	for (size_t n = 0; n < least; n++) {
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
	for (size_t n = least; n < size; n++) {
		err = query_raw(ctx, object, method, handle, got, n);
		require(!err && got[n] == 0xa5, "object %u: answer of %zu bytes: %s", object, n,
			strerror(err));
	}
	err = query_raw(ctx, object, method, handle, got, sizeof(got));
	require(!err, "object %u: longer answer: %s", object, strerror(err));
	for (size_t i = size; i < sizeof(got); i++)
		require(!got[i], "object %u: byte %zu of a longer answer", object, i);
}

#define MISUSE(_object, _handle, _struct) \
	misuse(UVERBS_OBJECT_##_object, SRNIC_METHOD_##_object##_QUERY, _handle, \
	       sizeof(struct _struct), sizeof(struct _struct))

static struct method_call good_share(const struct srnic_ureq_mr_reg_shared *req, uint32_t *stag)
{
	return (struct method_call){
		.hdr = METHOD_HDR(UVERBS_OBJECT_MR, SRNIC_METHOD_MR_REG_SHARED, 5),
		.attr = {
			ATTR_NUMBER(SRNIC_ATTR_MR_REG_SHARED_HANDLE, 0),
			ATTR_NUMBER(SRNIC_ATTR_MR_REG_SHARED_SOURCE, h.mr->handle),
			ATTR_NUMBER(SRNIC_ATTR_MR_REG_SHARED_PD, h.pd->handle),
			ATTR_BYTES(SRNIC_ATTR_MR_REG_SHARED_REQ, req, sizeof(*req)),
			ATTR_BYTES(SRNIC_ATTR_MR_REG_SHARED_STAG, stag, sizeof(*stag)),
		},
	};
}

static void no_share(struct method_call *cmd, int want, const char *what)
{
	int err = call_method(h.qp->context, cmd);

	require(err == want, "%s: %s in place of %s", what, strerror(err), strerror(want));
}

/* Wrong calls, and random ones. Regions made by random calls go with the context */
void case_reg_shared(void)
{
	struct srnic_ureq_mr_reg_shared req = { }, bad;
	struct srnic_uresp_mr_query resp;
	struct rng r = { env_uint("BADINPUT_SEED", 1) };
	struct method_call cmd;
	uint32_t stag;

	if (!on_srnic())
		skip("only srnic has this method");
	hand_qp(&h);
	req.iova = (uintptr_t)h.buf;
	cmd = good_share(&req, &stag);
	cmd.attr[1].data += 1000;
	no_share(&cmd, ENOENT, "no such region");
	cmd = good_share(&req, &stag);
	cmd.attr[2].data += 1000;
	no_share(&cmd, ENOENT, "no such PD");
	cmd = good_share(&req, &stag);
	cmd.attr[3].data = 8;
	no_share(&cmd, EFAULT, "no request");
	for (unsigned int n = 9; n < sizeof(req); n++) {
		cmd = good_share(&req, &stag);
		cmd.attr[3].len = n;
		no_share(&cmd, EINVAL, "a short request");
	}
	bad = req;
	bad.reserved = 1;
	cmd = good_share(&bad, &stag);
	no_share(&cmd, EOPNOTSUPP, "a field that is not known");
	bad = req;
	bad.access = 1U << 31;
	cmd = good_share(&bad, &stag);
	no_share(&cmd, EINVAL, "a right that is not known");
	bad = req;
	bad.iova++;
	cmd = good_share(&bad, &stag);
	no_share(&cmd, EINVAL, "another offset");
	require(!query_raw(h.qp->context, UVERBS_OBJECT_MR, SRNIC_METHOD_MR_QUERY, h.mr->handle,
			   &resp, sizeof(resp)) && resp.flags == SRNIC_STAG_VALID,
		"all of this has changed the region");
	/* a response that cannot be written undoes the registration */
	cmd = good_share(&req, (void *)8);
	no_share(&cmd, EFAULT, "nowhere to write");
	for (unsigned int i = 0; i < 2000; i++) {
		bad.iova = rng_below(&r, 2) ? rng_next(&r) : req.iova;
		bad.access = rng_below(&r, 2) ? rng_next(&r) : rng_below(&r, 256);
		bad.reserved = rng_below(&r, 4) ? 0 : rng_next(&r);
		cmd = good_share(&bad, &stag);
		cmd.attr[1].data += rng_below(&r, 3);
		cmd.attr[rng_below(&r, 5)].flags = rng_below(&r, 2);
		call_method(h.qp->context, &cmd);
	}
}

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
	misuse(UVERBS_OBJECT_DEVICE, SRNIC_METHOD_DEV_QUERY, NO_HANDLE, V1_DEV_QUERY,
	       sizeof(struct srnic_uresp_dev_query));
	misuse(UVERBS_OBJECT_QP, SRNIC_METHOD_QP_QUERY, h.qp->handle, V1_QP_QUERY,
	       sizeof(struct srnic_uresp_qp_query));
	MISUSE(CQ, h.cq->handle, srnic_uresp_cq_query);
	MISUSE(SRQ, srq->handle, srnic_uresp_srq_query);
	MISUSE(MR, h.mr->handle, srnic_uresp_mr_query);
	MISUSE(MW, mw->handle, srnic_uresp_mw_query);
	require(!ibv_dealloc_mw(mw) && !ibv_destroy_srq(srq), "%s", strerror(errno));
	hand_qp_end(&h);
}
