// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* What a program's provider sends with a command, and what it is answered. */

#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>
#include "srnic.h"
#include "verbs/udata.h"

/**
 * srnic_udata_to_ucontext - who asks
 * @udata: of a command
 *
 * Return: the open device, or NULL.
 */
struct ib_ucontext *srnic_udata_to_ucontext(struct ib_udata *udata)
{
	struct srnic_ucontext *ctx =
		rdma_udata_to_drv_context(udata, struct srnic_ucontext, ibuc);

	return ctx ? &ctx->ibuc : NULL;
}

/**
 * srnic_udata_ask - the question of a provider that may be older or newer
 * @udata: of a command
 * @req: room for the question
 * @len: its bytes
 * @min_len: what each provider sends at least
 *
 * What it does not send is 0, and what no field of ours stands for must be 0 (RN-20).
 *
 * Return: 0; -EINVAL if it is too short; -EOPNOTSUPP if it asks for what is not known here;
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
 * srnic_udata_check_none - a command that has no question, as most
 * @udata: of the command; NULL of a kernel consumer's
 *
 * Return: 0, or -EINVAL for one.
 */
int srnic_udata_check_none(struct ib_udata *udata)
{
	if (udata && udata->inlen && !ib_is_udata_cleared(udata, 0, udata->inlen))
		return -EINVAL;
	return 0;
}

/**
 * srnic_udata_check - a command without a question, with an answer
 * @udata: of the command; NULL of a kernel consumer's
 * @answer_min: bytes that each provider has room for
 *
 * A provider without room for the answer could not use what is made for it.
 *
 * Return: 0, or -EINVAL.
 */
int srnic_udata_check(struct ib_udata *udata, size_t answer_min)
{
	if (udata && udata->outlen < answer_min)
		return -EINVAL;
	return srnic_udata_check_none(udata);
}

/**
 * srnic_udata_respond - answer a command
 * @udata: of the command
 * @resp: the answer
 * @len: its bytes; a provider that is older has room for less
 *
 * Return: 0 or -EFAULT.
 */
int srnic_udata_respond(struct ib_udata *udata, void *resp, size_t len)
{
	return ib_copy_to_udata(udata, resp, min(len, udata->outlen)) ? -EFAULT : 0;
}
