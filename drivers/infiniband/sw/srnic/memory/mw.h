/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Memory windows: remote rights to a part of a region, given by a send WR. */
#ifndef SRNIC_MW_H
#define SRNIC_MW_H

#include <rdma/srnic-abi.h>
#include "memory/tpt.h"

/**
 * struct srnic_window - the part of a window that the TPT refers to
 * @tpte: its entry; Valid while it is bound. Its PBL is that of the region
 * @rcu: frees the memory after lookups are over
 * @region: @tpte.lock: the region it is bound to, which counts it; NULL once
 *	    it is unbound and no access is in progress any more
 * @qp: @tpte.lock: the QP it is bound to, which counts it; NULL for a window of
 *	verbs type 1, which all of the PD may use
 *
 * Not part of struct srnic_mw, which the core frees at once.
 */
struct srnic_window {
	struct srnic_tpte tpte;
	struct rcu_head rcu;
	struct srnic_tpte *region;
	struct srnic_qp *qp;
};

/**
 * struct srnic_mw - a memory window
 * @ibmw: the verbs object; the core frees it
 * @window: freed after lookups are over
 */
struct srnic_mw {
	struct ib_mw ibmw;
	struct srnic_window *window;
};

static inline struct srnic_mw *to_srnic_mw(struct ib_mw *ibmw)
{
	return container_of(ibmw, struct srnic_mw, ibmw);
}

int srnic_mw_alloc(struct ib_mw *ibmw);
void srnic_mw_dealloc(struct ib_mw *ibmw);
enum srnic_wc_status srnic_mw_bind(struct srnic_qp *qp, const struct srnic_sqe *sqe);
void srnic_mw_unbind(struct srnic_tpte *tpte);

#endif
