// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * srnic: memory windows. The kernel allocates them; a WR binds them.
 */
#include <errno.h>
#include <stdlib.h>

#include "srnic.h"

/**
 * srnic_alloc_mw - ibv_alloc_mw()
 * @pd: protection domain
 * @type: IBV_MW_TYPE_1, or IBV_MW_TYPE_2, which is 2B
 *
 * Return: the window, not bound, or NULL with errno: ENOMEM or an errno of the
 * kernel. Any thread.
 */
struct ibv_mw *srnic_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct ib_uverbs_alloc_mw_resp resp = {};
	struct ibv_alloc_mw cmd = {};
	struct ibv_mw *mw;
	int ret;

	mw = calloc(1, sizeof(*mw));
	if (!mw)
		return NULL;

	ret = ibv_cmd_alloc_mw(pd, type, mw, &cmd, sizeof(cmd), &resp,
			       sizeof(resp));
	if (ret) {
		free(mw);
		errno = ret;
		return NULL;
	}
	return mw;
}

/**
 * srnic_dealloc_mw - ibv_dealloc_mw()
 * @mw: window, bound or not
 *
 * Return: 0 or an errno. Any thread.
 */
int srnic_dealloc_mw(struct ibv_mw *mw)
{
	int ret = ibv_cmd_dealloc_mw(mw);

	if (!ret)
		free(mw);
	return ret;
}

/**
 * srnic_bind_mw - ibv_bind_mw()
 * @ibqp: QP
 * @mw: window of type 1; its rkey gets a new key, which is valid from the
 *      completion of the WR on
 * @mw_bind: region and range; a length of zero unbinds the window
 *
 * Return: 0, or an errno as srnic_post_send(), and @mw is unchanged. Any
 * thread, but one at a time for a window.
 */
int srnic_bind_mw(struct ibv_qp *ibqp, struct ibv_mw *mw,
		  struct ibv_mw_bind *mw_bind)
{
	struct ibv_send_wr wr = {
		.wr_id = mw_bind->wr_id,
		.opcode = IBV_WR_BIND_MW,
		.send_flags = mw_bind->send_flags,
		.bind_mw = {
			.mw = mw,
			.rkey = ibv_inc_rkey(mw->rkey),
			.bind_info = mw_bind->bind_info,
		},
	};
	int ret;

	ret = srnic_post_head(to_srnic_qp(ibqp), &wr);
	if (!ret)
		mw->rkey = wr.bind_mw.rkey;
	return ret;
}
