// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Driver data of a command: the provider's request and the response. */

#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>
#include "srnic.h"
#include "verbs/udata.h"

/**
 * srnic_udata_to_ucontext - the context of a command
 * @udata: of a command
 *
 * Context: process.
 * Return: the open device, or NULL.
 */
struct ib_ucontext *srnic_udata_to_ucontext(struct ib_udata *udata)
{
	struct srnic_ucontext *ctx =
		rdma_udata_to_drv_context(udata, struct srnic_ucontext, ibuc);

	return ctx ? &ctx->ibuc : NULL;
}

/**
 * srnic_udata_ask - read the request of a provider that may be older or newer
 * @udata: of a command
 * @req: filled in
 * @len: its bytes
 * @min_len: bytes that every provider sends
 *
 * Fields that an older provider does not send become 0; bytes of a newer one that the kernel
 * does not know must be 0 (RN-20).
 *
 * Context: process.
 * Return: 0; -EINVAL if the request is too short; -EOPNOTSUPP if unknown bytes are not 0;
 * -EFAULT.
 */
int srnic_udata_ask(struct ib_udata *udata, void *req, size_t len, size_t min_len)
{
	if (udata->inlen < min_len)
		return -EINVAL;
	if (udata->inlen > len && !ib_is_udata_cleared(udata, len, udata->inlen - len))
		return -EOPNOTSUPP;
	memset(req, 0, len);
	return ib_copy_from_udata(req, udata, min(len, udata->inlen)) ? -EFAULT : 0;
}

/**
 * srnic_udata_check_none - check a command that has no request
 * @udata: of the command; NULL for a kernel consumer's
 *
 * Context: process.
 * Return: 0, or -EINVAL for a request that is not all 0.
 */
int srnic_udata_check_none(struct ib_udata *udata)
{
	if (udata && udata->inlen && !ib_is_udata_cleared(udata, 0, udata->inlen))
		return -EINVAL;
	return 0;
}

/**
 * srnic_udata_check - check a command that has a response and no request
 * @udata: of the command; NULL for a kernel consumer's
 * @answer_min: bytes that every provider has room for
 *
 * A provider without room for the response could not use the new object.
 *
 * Context: process.
 * Return: 0, or -EINVAL.
 */
int srnic_udata_check(struct ib_udata *udata, size_t answer_min)
{
	if (udata && udata->outlen < answer_min)
		return -EINVAL;
	return srnic_udata_check_none(udata);
}

/**
 * srnic_udata_respond - write the response of a command
 * @udata: of the command
 * @resp: the response
 * @len: its bytes; truncated for an older provider
 *
 * Context: process.
 * Return: 0 or -EFAULT.
 */
int srnic_udata_respond(struct ib_udata *udata, void *resp, size_t len)
{
	return ib_copy_to_udata(udata, resp, min(len, udata->outlen)) ? -EFAULT : 0;
}
