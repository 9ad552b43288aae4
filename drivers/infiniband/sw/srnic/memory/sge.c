// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The memory that the SGEs of a WR name, piece by piece. */

#include <rdma/srnic-abi.h>
#include "memory/tpt.h"
#include "queue/state.h"

/**
 * srnic_sge_walk - begin a walk over a part of an SGE list
 * @qp: whose WR has the list
 * @pd: what the SGEs are checked against
 * @need: rights, SRNIC_LOCAL_READ or SRNIC_LOCAL_WRITE
 * @sge: the list
 * @off: where the part begins, in bytes from the start of the list
 * @len: bytes of the part, which the list has
 *
 * Context: any.
 *
 * Return: the walk, before its first piece.
 */
struct srnic_sge_walk srnic_sge_walk(const struct srnic_qp *qp, struct ib_pd *pd, u8 need,
				     const struct srnic_sge *sge, u32 off, u32 len)
{
	return (struct srnic_sge_walk){
		.sge = sge,
		.off = off,
		.left = len,
		.acc = {
			.need = need,
			.pd = pd,
			.qpn = qp->ibqp.qp_num,
			.privileged = qp->privileged,
		},
	};
}

/**
 * srnic_sge_next - go on to the next piece, which is in one SGE
 * @walk: the walk; its access is set to the piece
 *
 * An SGE of no length is not looked at (MR-19). Context: any.
 *
 * Return: false at the end.
 */
bool srnic_sge_next(struct srnic_sge_walk *walk)
{
	if (!walk->left)
		return false;
	while (walk->off >= walk->sge->length)
		walk->off -= walk->sge++->length;
	walk->acc.stag = walk->sge->lkey;
	walk->acc.to = walk->sge->addr + walk->off;
	walk->rest = walk->sge->length - walk->off;
	walk->acc.length = min(walk->left, walk->rest);
	walk->off += walk->acc.length;
	walk->left -= walk->acc.length;
	return true;
}
