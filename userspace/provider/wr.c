// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * srnic: the ibv_wr_* calls. A batch fills slots after the published ones, and is
 * published as a whole or not at all.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include <ccan/array_size.h>

#include "srnic.h"

/* Operation flags of ibv_create_qp_ex(), and their opcodes */
static const struct {
	uint64_t op;
	enum ibv_wr_opcode opcode;
} srnic_ops[] = {
	{ IBV_QP_EX_WITH_RDMA_WRITE,		IBV_WR_RDMA_WRITE },
	{ IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM,	IBV_WR_RDMA_WRITE_WITH_IMM },
	{ IBV_QP_EX_WITH_SEND,			IBV_WR_SEND },
	{ IBV_QP_EX_WITH_SEND_WITH_IMM,		IBV_WR_SEND_WITH_IMM },
	{ IBV_QP_EX_WITH_RDMA_READ,		IBV_WR_RDMA_READ },
	{ IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP,	IBV_WR_ATOMIC_CMP_AND_SWP },
	{ IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD,	IBV_WR_ATOMIC_FETCH_AND_ADD },
	{ IBV_QP_EX_WITH_LOCAL_INV,		IBV_WR_LOCAL_INV },
	{ IBV_QP_EX_WITH_BIND_MW,		IBV_WR_BIND_MW },
	{ IBV_QP_EX_WITH_SEND_WITH_INV,		IBV_WR_SEND_WITH_INV },
	{ SRNIC_QP_EX_WITH_FLUSH,		SRNIC_WR_FLUSH },
	{ SRNIC_QP_EX_WITH_ATOMIC_WRITE,	SRNIC_WR_ATOMIC_WRITE },
};

/**
 * srnic_wr_ops_known - can a QP be made for these operations?
 * @ops: IBV_QP_EX_WITH_*
 */
bool srnic_wr_ops_known(uint64_t ops)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(srnic_ops); i++)
		if (srnic_wr_known(srnic_ops[i].opcode))
			ops &= ~srnic_ops[i].op;
	return !ops;
}

static void srnic_wr_start(struct ibv_qp_ex *qpx)
{
	struct srnic_qp *qp = to_srnic_qp_ex(qpx);

	pthread_mutex_lock(&qp->sq.lock);
	qp->batch = (struct srnic_batch){ .head = qp->sq.head };
}

/* Keeps the first error until the end of the batch. */
static void srnic_wr_check(struct srnic_batch *batch, int err)
{
	if (!batch->err)
		batch->err = err;
}

static int srnic_wr_complete(struct ibv_qp_ex *qpx)
{
	struct srnic_qp *qp = to_srnic_qp_ex(qpx);
	bool doorbell = false;
	int err;

	if (qp->batch.unaddressed)
		srnic_wr_check(&qp->batch, EINVAL);
	err = qp->batch.err;

	if (!err)
		doorbell = srnic_wq_publish(qp, &qp->sq, qp->batch.head);
	pthread_mutex_unlock(&qp->sq.lock);
	return doorbell ? srnic_doorbell(qp, true) : err;
}

static void srnic_wr_abort(struct ibv_qp_ex *qpx)
{
	pthread_mutex_unlock(&to_srnic_qp_ex(qpx)->sq.lock);
}

/*
 * Begins a WR. @wr has the opcode's fields; the rest comes from the QP. Data is
 * inline if an inline setter is called; IBV_SEND_INLINE is ignored.
 */
static void srnic_wr_begin(struct ibv_qp_ex *qpx, uint64_t op,
			   struct ibv_send_wr *wr)
{
	struct srnic_qp *qp = to_srnic_qp_ex(qpx);
	struct srnic_batch *batch = &qp->batch;
	struct srnic_sqe *sqe;
	int err;

	batch->sqe = NULL;
	if (batch->unaddressed)
		srnic_wr_check(batch, EINVAL);
	if (batch->err)
		return;
	if (!(qp->send_ops & op)) {
		batch->err = EINVAL;
		return;
	}
	if (srnic_wq_full(&qp->sq, batch->head)) {
		batch->err = ENOMEM;
		return;
	}

	wr->wr_id = qpx->wr_id;
	wr->send_flags = qpx->wr_flags & ~IBV_SEND_INLINE;
	sqe = srnic_ring_entry(&qp->sq.ring, batch->head);
	err = srnic_put_head(qp, sqe, wr);
	if (err) {
		batch->err = err;
		return;
	}
	batch->sqe = sqe;
	if (qp->ud)
		batch->unaddressed = sqe;
	batch->opcode = wr->opcode;
	batch->head++;
}

static void srnic_wr_send(struct ibv_qp_ex *qpx)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };

	srnic_wr_begin(qpx, IBV_QP_EX_WITH_SEND, &wr);
}

static void srnic_wr_send_imm(struct ibv_qp_ex *qpx, __be32 imm_data)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND_WITH_IMM,
		.imm_data = imm_data,
	};

	srnic_wr_begin(qpx, IBV_QP_EX_WITH_SEND_WITH_IMM, &wr);
}

static void srnic_wr_send_inv(struct ibv_qp_ex *qpx, uint32_t invalidate_rkey)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND_WITH_INV,
		.invalidate_rkey = invalidate_rkey,
	};

	srnic_wr_begin(qpx, IBV_QP_EX_WITH_SEND_WITH_INV, &wr);
}

static void srnic_wr_rdma_write(struct ibv_qp_ex *qpx, uint32_t rkey,
				uint64_t remote_addr)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE,
		.wr.rdma = { remote_addr, rkey },
	};

	srnic_wr_begin(qpx, IBV_QP_EX_WITH_RDMA_WRITE, &wr);
}

static void srnic_wr_rdma_write_imm(struct ibv_qp_ex *qpx, uint32_t rkey,
				    uint64_t remote_addr, __be32 imm_data)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.imm_data = imm_data,
		.wr.rdma = { remote_addr, rkey },
	};

	srnic_wr_begin(qpx, IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM, &wr);
}

static void srnic_wr_rdma_read(struct ibv_qp_ex *qpx, uint32_t rkey,
			       uint64_t remote_addr)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_READ,
		.wr.rdma = { remote_addr, rkey },
	};

	srnic_wr_begin(qpx, IBV_QP_EX_WITH_RDMA_READ, &wr);
}

static void srnic_wr_atomic_cmp_swp(struct ibv_qp_ex *qpx, uint32_t rkey,
				    uint64_t remote_addr, uint64_t compare,
				    uint64_t swap)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_ATOMIC_CMP_AND_SWP,
		.wr.atomic = { remote_addr, compare, swap, rkey },
	};

	srnic_wr_begin(qpx, IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP, &wr);
}

static void srnic_wr_atomic_fetch_add(struct ibv_qp_ex *qpx, uint32_t rkey,
				      uint64_t remote_addr, uint64_t add)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
		.wr.atomic = { remote_addr, add, 0, rkey },
	};

	srnic_wr_begin(qpx, IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD, &wr);
}

static void srnic_wr_local_inv(struct ibv_qp_ex *qpx, uint32_t invalidate_rkey)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_LOCAL_INV,
		.invalidate_rkey = invalidate_rkey,
	};

	srnic_wr_begin(qpx, IBV_QP_EX_WITH_LOCAL_INV, &wr);
}

static void srnic_wr_bind_mw(struct ibv_qp_ex *qpx, struct ibv_mw *mw,
			     uint32_t rkey,
			     const struct ibv_mw_bind_info *bind_info)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_BIND_MW,
		.bind_mw = { mw, rkey, *bind_info },
	};

	if (!srnic_wr_bindable(&wr))
		srnic_wr_check(&to_srnic_qp_ex(qpx)->batch, EINVAL);
	srnic_wr_begin(qpx, IBV_QP_EX_WITH_BIND_MW, &wr);
}

static void srnic_wr_atomic_write(struct ibv_qp_ex *qpx, uint32_t rkey,
				  uint64_t remote_addr, const void *atomic_wr)
{
	struct srnic_batch *batch = &to_srnic_qp_ex(qpx)->batch;
	struct ibv_send_wr wr = {
		.opcode = SRNIC_WR_ATOMIC_WRITE,
		.wr.rdma = { remote_addr, rkey },
	};

	srnic_wr_begin(qpx, SRNIC_QP_EX_WITH_ATOMIC_WRITE, &wr);
	if (batch->sqe)
		memcpy(&batch->sqe->arg[0], atomic_wr,
		       sizeof(batch->sqe->arg[0]));
}

static void srnic_wr_flush(struct ibv_qp_ex *qpx, uint32_t rkey,
			   uint64_t remote_addr, size_t len, uint8_t type,
			   uint8_t level)
{
	struct srnic_batch *batch = &to_srnic_qp_ex(qpx)->batch;
	struct ibv_send_wr wr = {
		.opcode = SRNIC_WR_FLUSH,
		.wr.rdma = { remote_addr, rkey },
	};

	if (!type || type & ~SRNIC_FLUSH_TYPES || level > SRNIC_FLUSH_MR)
		srnic_wr_check(batch, EINVAL);
	srnic_wr_begin(qpx, SRNIC_QP_EX_WITH_FLUSH, &wr);
	if (!batch->sqe)
		return;
	batch->sqe->arg[0] = len;
	batch->sqe->arg[1] = type;
	batch->sqe->arg[2] = level;
}

/* Only one setter may set the data of a WR, once. */
static struct srnic_sqe *srnic_wr_data(struct srnic_batch *batch)
{
	struct srnic_sqe *sqe = batch->sqe;

	batch->sqe = NULL;
	if (!sqe)
		srnic_wr_check(batch, EINVAL);
	return sqe;
}

static void srnic_wr_set_sge_list(struct ibv_qp_ex *qpx, size_t num_sge,
				  const struct ibv_sge *sg_list)
{
	struct srnic_qp *qp = to_srnic_qp_ex(qpx);
	struct srnic_batch *batch = &qp->batch;
	struct srnic_sqe *sqe = srnic_wr_data(batch);

	if (sqe)
		srnic_wr_check(batch, srnic_put_sges(qp, sqe, batch->opcode,
						     sg_list, num_sge));
}

static void srnic_wr_set_sge(struct ibv_qp_ex *qpx, uint32_t lkey,
			     uint64_t addr, uint32_t length)
{
	struct ibv_sge sge = { .addr = addr, .length = length, .lkey = lkey };

	srnic_wr_set_sge_list(qpx, 1, &sge);
}

static void srnic_wr_set_inline_data_list(struct ibv_qp_ex *qpx, size_t num_buf,
					  const struct ibv_data_buf *buf_list)
{
	struct srnic_qp *qp = to_srnic_qp_ex(qpx);
	struct srnic_batch *batch = &qp->batch;
	struct srnic_sqe *sqe = srnic_wr_data(batch);
	int err;

	if (!sqe)
		return;
	err = srnic_put_inline(qp, sqe, batch->opcode, NULL, 0);
	for (; !err && num_buf; num_buf--, buf_list++)
		err = srnic_put_inline(qp, sqe, batch->opcode, buf_list->addr,
				       buf_list->length);
	srnic_wr_check(batch, err);
}

static void srnic_wr_set_inline_data(struct ibv_qp_ex *qpx, void *addr,
				     size_t length)
{
	struct ibv_data_buf buf = { .addr = addr, .length = length };

	srnic_wr_set_inline_data_list(qpx, 1, &buf);
}

/* Once for each WR of a UD QP */
static void srnic_wr_set_ud_addr(struct ibv_qp_ex *qpx, struct ibv_ah *ah,
				 uint32_t remote_qpn, uint32_t remote_qkey)
{
	struct srnic_batch *batch = &to_srnic_qp_ex(qpx)->batch;

	if (batch->unaddressed && ah)
		srnic_put_address(batch->unaddressed, ah, remote_qpn, remote_qkey);
	else
		srnic_wr_check(batch, EINVAL);
	batch->unaddressed = NULL;
}

/*
 * libibverbs checks VERBS_QP_EX in comp_mask of struct verbs_qp, which follows the
 * last call of a release. Releases have added calls without a new number of the
 * provider interface, so the offset of comp_mask may differ from that in the tree that
 * this provider was built in. But creating a QP clears comp_mask, which shows where it is.
 */
#define SRNIC_QP_EX_END                                                        \
	(offsetof(struct ibv_qp_ex, wr_abort) +                                \
	 sizeof(((struct ibv_qp_ex *)NULL)->wr_abort))
#define SRNIC_QP_EX_TAIL                                                       \
	(offsetof(struct verbs_qp, comp_mask) + sizeof(uint64_t) -             \
	 SRNIC_QP_EX_END)

/**
 * srnic_wr_prepare - prepare a QP for the ibv_wr_* calls, before the kernel creates it
 * @qp: QP, all zero
 */
void srnic_wr_prepare(struct srnic_qp *qp)
{
	memset((uint8_t *)&qp->vqp + SRNIC_QP_EX_END, 0xff, SRNIC_QP_EX_TAIL);
}

static uint32_t *srnic_find_comp_mask(struct verbs_qp *vqp)
{
	uint8_t *tail = (uint8_t *)vqp + SRNIC_QP_EX_END;
	uint32_t *found = &vqp->comp_mask;
	size_t i;

	for (i = 0; i < SRNIC_QP_EX_TAIL; i += sizeof(uint64_t)) {
		uint32_t *word = (uint32_t *)(tail + i);

		if (!*word)
			found = word;
	}
	memset(tail, 0, SRNIC_QP_EX_TAIL);
	return found;
}

/* Calls that releases have added behind wr_abort, in their order */
static void (*const srnic_new_calls[])(void) = {
	(void (*)(void))srnic_wr_atomic_write,
	(void (*)(void))srnic_wr_flush,
};

/* Sets those of them that the libibverbs in use has: it has comp_mask behind them. */
static void srnic_wr_init_new(struct verbs_qp *vqp, const uint32_t *comp_mask)
{
	uint8_t *at = (uint8_t *)vqp + SRNIC_QP_EX_END;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(srnic_new_calls); i++) {
		uint8_t *behind = at + sizeof(srnic_new_calls[i]);

		if (behind > (uint8_t *)comp_mask)
			return;
		memcpy(at, &srnic_new_calls[i], sizeof(srnic_new_calls[i]));
		at = behind;
	}
}

/**
 * srnic_wr_init - set the ibv_wr_* calls of a QP
 * @qp: new QP, after srnic_wr_prepare()
 * @ops: IBV_QP_EX_WITH_* that its program is going to use; others fail the batch
 */
void srnic_wr_init(struct srnic_qp *qp, uint64_t ops)
{
	uint32_t *comp_mask = srnic_find_comp_mask(&qp->vqp);
	struct ibv_qp_ex *qpx = &qp->vqp.qp_ex;

	qp->send_ops = ops;
	*comp_mask = VERBS_QP_EX;
	srnic_wr_init_new(&qp->vqp, comp_mask);

	qpx->wr_start = srnic_wr_start;
	qpx->wr_complete = srnic_wr_complete;
	qpx->wr_abort = srnic_wr_abort;
	qpx->wr_atomic_cmp_swp = srnic_wr_atomic_cmp_swp;
	qpx->wr_atomic_fetch_add = srnic_wr_atomic_fetch_add;
	qpx->wr_bind_mw = srnic_wr_bind_mw;
	qpx->wr_local_inv = srnic_wr_local_inv;
	qpx->wr_rdma_read = srnic_wr_rdma_read;
	qpx->wr_rdma_write = srnic_wr_rdma_write;
	qpx->wr_rdma_write_imm = srnic_wr_rdma_write_imm;
	qpx->wr_send = srnic_wr_send;
	qpx->wr_send_imm = srnic_wr_send_imm;
	qpx->wr_send_inv = srnic_wr_send_inv;
	qpx->wr_set_inline_data = srnic_wr_set_inline_data;
	qpx->wr_set_inline_data_list = srnic_wr_set_inline_data_list;
	qpx->wr_set_sge = srnic_wr_set_sge;
	qpx->wr_set_ud_addr = srnic_wr_set_ud_addr;
	qpx->wr_set_sge_list = srnic_wr_set_sge_list;
}
