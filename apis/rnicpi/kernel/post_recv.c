// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Receive WRs, of a QP or an SRQ. */

#include "rnicpi/kernel/rnic.h"
#include "srnic.h"

/* With STag 0 the consumer passes physical addresses, and the device takes kernel addresses */
static void copy_sges(struct ib_sge *to, const ri_data_seg_t *from, u32 num)
{
	for (; num--; to++, from++) {
		to->addr = from->tag.ltag || !from->len ? from->addr.vaddr :
			   (uintptr_t)phys_to_virt(from->addr.paddr);
		to->length = from->len;
		to->lkey = from->tag.ltag;
	}
}

/* One of @qp and @srq is NULL */
static int post(struct ib_qp *qp, struct ib_srq *srq, const ri_wr_recv_t *ri)
{
	struct ib_sge sge[SRNIC_MAX_SGE];
	struct ib_recv_wr wr = { .wr_id = ri->id, .sg_list = sge, .num_sge = ri->num_sgls };

	copy_sges(sge, ri->sg_list, ri->num_sgls);
	return qp ? ib_post_recv(qp, &wr, NULL) : ib_post_srq_recv(srq, &wr, NULL);
}

static ri_api_return_t post_all(struct ib_qp *qp, struct ib_srq *srq, u32 max_sge,
				const ri_wr_recv_t *wr, uint_t *num_wrs, ri_err_data_t *err_data)
{
	ri_api_return_t ret = RI_RET_SUCCESS;
	uint_t i, num = *num_wrs;
	int err = 0;

	for (i = 0; i < num; i++) {
		ret = ri_check_recv(&wr[i], max_sge);
		if (!ret)
			err = post(qp, srq, &wr[i]);
		if (ret || err)
			break;
	}
	*num_wrs = i;
	if (err == -ENOMEM)
		return ri_answer(err_data, RI_RET_QP_CAPACITY_EXCEEDED);
	return err ? ri_failed(err_data, err, RI_RET_FAIL) : ri_answer(err_data, ret);
}

/* L3286 */
static ri_api_return_t none_posted(uint_t *num_wrs, ri_api_return_t ret, ri_err_data_t *err_data)
{
	if (num_wrs)
		*num_wrs = 0;
	return ri_answer(err_data, ret);
}

/**
 * ri_do_qp_postrq - post receive WRs to a QP
 * @rnic: an RNIC handle
 * @qp: a QP of @rnic, without an SRQ
 * @wr: @num_wrs WRs, in order
 * @num_wrs: set to the number posted
 * @err_data: may be NULL
 *
 * Context: any. Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE, RI_RET_QP_INVALID_HANDLE,
 * RI_RET_INVALID_PARAMETER, RI_RET_QP_TIED_TO_SRQ, RI_RET_WR_INVALID_FLAGS,
 * RI_RET_RNIC_SG_LIMIT_EXCEEDED, RI_RET_WR_SG_INVALID_FORMAT, RI_RET_QP_CAPACITY_EXCEEDED
 */
ri_api_return_t ri_do_qp_postrq(ri_rnic_handle_t rnic, ri_qp_handle_t qp, ri_wr_recv_t *wr,
				uint_t *num_wrs, ri_err_data_t *err_data)
{
	struct rnic_obj *obj;
	ri_api_return_t ret;

	rcu_read_lock();
	obj = ri_find(rnic, RI_KIND_QP, qp, &ret);
	if (!ret && (!wr || !num_wrs))
		ret = RI_RET_INVALID_PARAMETER;
	else if (!ret && to_qp(obj)->srq)
		ret = RI_RET_QP_TIED_TO_SRQ;
	if (ret)
		ret = none_posted(num_wrs, ret, err_data);
	else
		ret = post_all(to_qp(obj)->qp, NULL, to_qp(obj)->attr.rq_max_sges, wr, num_wrs,
			       err_data);
	rcu_read_unlock();
	return ret;
}

/**
 * ri_do_srq_post - post receive WRs to an SRQ
 * @rnic: an RNIC handle
 * @srq_handle: an SRQ of @rnic
 * @wr: @num_wrs WRs
 * @num_wrs: set to the number posted
 * @err_data: may be NULL
 *
 * Context: any. Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE,
 * RI_RET_SRQ_INVALID_HANDLE, RI_RET_INVALID_PARAMETER, RI_RET_WR_INVALID_FLAGS,
 * RI_RET_RNIC_SG_LIMIT_EXCEEDED, RI_RET_WR_SG_INVALID_FORMAT, RI_RET_QP_CAPACITY_EXCEEDED
 */
ri_api_return_t ri_do_srq_post(ri_rnic_handle_t rnic, ri_srq_handle_t srq_handle, ri_wr_recv_t *wr,
			       uint_t *num_wrs, ri_err_data_t *err_data)
{
	struct rnic_obj *obj;
	ri_api_return_t ret;

	rcu_read_lock();
	obj = ri_find(rnic, RI_KIND_SRQ, srq_handle, &ret);
	if (!ret && (!wr || !num_wrs))
		ret = RI_RET_INVALID_PARAMETER;
	if (ret)
		ret = none_posted(num_wrs, ret, err_data);
	else
		ret = post_all(NULL, to_srq(obj)->srq, to_srq(obj)->max_sge, wr, num_wrs, err_data);
	rcu_read_unlock();
	return ret;
}
