// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Driver attributes of each object in `rdma resource show -dd`. Every user may
 * read them, so they contain no key and no address of a process.
 */

#include <net/netlink.h>
#include <rdma/rdma_netlink.h>
#include "device/nldev.h"
#include "memory/mr.h"
#include "qp/qp.h"
#include "queue/cq.h"
#include "queue/state.h"
#include "queue/wq.h"
#include "srnic.h"

static int nest_end(struct sk_buff *msg, struct nlattr *nest, bool failed)
{
	if (failed) {
		nla_nest_cancel(msg, nest);
		return -EMSGSIZE;
	}
	nla_nest_end(msg, nest);
	return 0;
}

static const char *stag_type_name(enum srnic_stag_type type)
{
	switch (type) {
	case SRNIC_STAG_USER:
		return "user";
	case SRNIC_STAG_DMA:
		return "dma";
	case SRNIC_STAG_FAST_REG:
		return "fast_reg";
	case SRNIC_STAG_WINDOW:
	case SRNIC_STAG_PD_WINDOW:
		return "window";
	}
	return "unknown";
}

/**
 * srnic_fill_res_mr_entry - attributes of a memory region
 * @msg: answer
 * @ibmr: the region; the core keeps it
 *
 * Context: process.
 * Return: 0 or -EMSGSIZE.
 */
int srnic_fill_res_mr_entry(struct sk_buff *msg, struct ib_mr *ibmr)
{
	struct srnic_tpte *tpte = &to_srnic_mr(ibmr)->tpte;
	struct nlattr *nest = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
	u32 blocks = 0, shift = 0;
	bool on_demand = false, failed;

	/* a reregistration may be exchanging the list */
	spin_lock_bh(&tpte->lock);
	if (tpte->pbl) {
		blocks = tpte->pbl->count;
		shift = tpte->pbl->shift;
		on_demand = tpte->pbl->odp;
	}
	spin_unlock_bh(&tpte->lock);
	if (!nest)
		return -EMSGSIZE;
	failed = rdma_nl_put_driver_string(msg, "type", on_demand ? "on_demand" :
					   stag_type_name(tpte->type)) ||
		 rdma_nl_put_driver_string(msg, "state",
					   READ_ONCE(tpte->valid) ? "VALID" : "INVALID") ||
		 rdma_nl_put_driver_u32_hex(msg, "rights", READ_ONCE(tpte->rights)) ||
		 rdma_nl_put_driver_u32(msg, "windows", READ_ONCE(tpte->windows));
	/* blocks of a block list have sizes of their own */
	if (!failed && (shift || blocks) && !on_demand)
		failed = rdma_nl_put_driver_u32(msg, "blocks", blocks);
	if (!failed && shift)
		failed = rdma_nl_put_driver_u64(msg, "block_size", BIT_ULL(shift));
	return nest_end(msg, nest, failed);
}

/**
 * srnic_fill_res_cq_entry - attributes of a completion queue
 * @msg: answer
 * @ibcq: the CQ; the core keeps it, but its ring may be gone
 *
 * Context: process.
 * Return: 0 or -EMSGSIZE.
 */
int srnic_fill_res_cq_entry(struct sk_buff *msg, struct ib_cq *ibcq)
{
	struct srnic_cq *cq = container_of(ibcq, struct srnic_cq, ibcq);
	struct nlattr *nest = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
	u32 produced = READ_ONCE(cq->producer);
	bool failed;

	if (!nest)
		return -EMSGSIZE;
	failed = rdma_nl_put_driver_u32(msg, "produced", produced) ||
		 rdma_nl_put_driver_u32(msg, "overflowed", READ_ONCE(cq->overflowed));
	/* a user's consumer index is in the ring, and known to the user */
	if (!failed && cq->kernel)
		failed = rdma_nl_put_driver_u32(msg, "waiting",
						produced - READ_ONCE(cq->consumer));
	return nest_end(msg, nest, failed);
}

static int put_fill(struct sk_buff *msg, const char *name, int fill)
{
	if (fill < 0)
		return rdma_nl_put_driver_string(msg, name, "corrupt");
	return rdma_nl_put_driver_u32(msg, name, fill);
}

/* The rings exist as long as srnic_qp_find() finds the QP */
static int put_queues(struct sk_buff *msg, struct srnic_qp *qp)
{
	struct srnic_wq_use use;

	srnic_wq_query(qp, &use);
	return rdma_nl_put_driver_u32(msg, "sq_size", use.sq_size) ||
	       put_fill(msg, "sq_fill", use.sq_fill) ||
	       rdma_nl_put_driver_u32(msg, "rq_size", use.rq_size) ||
	       (use.rq_size && put_fill(msg, "rq_fill", use.rq_fill));
}

static int put_terminate(struct sk_buff *msg, struct srnic_qp *qp)
{
	const struct rdmap_error *err;
	struct rdmap_term term;
	bool local, sent;

	if (!srnic_qp_terminate(qp, &term, &local, &sent))
		return 0;
	err = &term.err;
	return rdma_nl_put_driver_string(msg, "terminate", local ? "sent" : "received") ||
	       rdma_nl_put_driver_u32_hex(msg, "terminate_code",
					  err->layer << 12 | err->etype << 8 | err->code);
}

static int put_qp(struct sk_buff *msg, struct srnic_qp *qp)
{
	return rdma_nl_put_driver_string(msg, "state",
					 srnic_qp_state_name(srnic_qp_state(qp))) ||
	       rdma_nl_put_driver_u32(msg, "ird", READ_ONCE(qp->ird)) ||
	       rdma_nl_put_driver_u32(msg, "ord", READ_ONCE(qp->ord)) ||
	       rdma_nl_put_driver_u32(msg, "reads_in",
				      READ_ONCE(qp->irq_tail) - READ_ONCE(qp->irq_head)) ||
	       rdma_nl_put_driver_u32(msg, "reads_out",
				      READ_ONCE(qp->orq_tail) - READ_ONCE(qp->orq_head)) ||
	       rdma_nl_put_driver_u32(msg, "windows", READ_ONCE(qp->windows)) ||
	       put_queues(msg, qp) ||
	       put_terminate(msg, qp);
}

/**
 * srnic_fill_res_qp_entry - attributes of a queue pair
 * @msg: answer
 * @ibqp: the QP; the core keeps it, but it may be being destroyed
 *
 * Context: process.
 * Return: 0 or -EMSGSIZE.
 */
int srnic_fill_res_qp_entry(struct sk_buff *msg, struct ib_qp *ibqp)
{
	struct srnic_qp *qp;
	struct nlattr *nest;
	int err;

	qp = srnic_qp_find(to_srnic_dev(ibqp->device), ibqp->qp_num);
	if (!qp)
		return 0;
	nest = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
	err = nest ? nest_end(msg, nest, put_qp(msg, qp)) : -EMSGSIZE;
	srnic_qp_put(qp);
	return err;
}
