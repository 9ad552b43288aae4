/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* What the vectors are made of: a function for each of rnicpi.h, by the type that it has there. */
#ifndef OPS_H
#define OPS_H

#include <rnicpi/rnicpi.h>

#define RI_DO(name)	extern typeof(*(ri_op_##name##_t)NULL) ri_do_##name

RI_DO(rnic_open);
RI_DO(rnic_close);
RI_DO(async_set_event_handler);
RI_DO(rnic_get_hdl);
RI_DO(rnic_query);
RI_DO(rnic_modify);
RI_DO(rnic_free_hdl);
RI_DO(rnic_diag);
RI_DO(pd_alloc);
RI_DO(pd_dealloc);
RI_DO(cq_create);
RI_DO(cq_query);
RI_DO(cq_modify);
RI_DO(cq_destroy);
RI_DO(special_qp_get);
RI_DO(cq_set_event_handler);
RI_DO(cq_req_notification);
RI_DO(cq_poll);
RI_DO(qp_create);
RI_DO(qp_query);
RI_DO(qp_modify);
RI_DO(qp_destroy);
RI_DO(qp_postsq);
RI_DO(qp_post_send);
RI_DO(qp_post_rdma_read);
RI_DO(qp_post_rdma_write);
RI_DO(qp_post_bind);
RI_DO(qp_post_fmr);
RI_DO(qp_post_local_invalidate);
RI_DO(qp_post_atomic);
RI_DO(qp_post_datagram);
RI_DO(qp_postrq);
RI_DO(qp_post_recv);
RI_DO(srq_create);
RI_DO(srq_query);
RI_DO(srq_modify);
RI_DO(srq_destroy);
RI_DO(srq_post);
RI_DO(srq_post_recv);
RI_DO(ltag_alloc);
RI_DO(mr_reg);
RI_DO(mr_query);
RI_DO(mr_rereg);
RI_DO(mr_dereg);
RI_DO(mr_reg_phys);
RI_DO(mr_rereg_phys);
RI_DO(mr_reg_shared);
RI_DO(mw_alloc);
RI_DO(mw_dealloc);
RI_DO(mw_query);
RI_DO(mem_pin);
RI_DO(mem_unpin);
RI_DO(mem_map);
RI_DO(mem_unmap);
RI_DO(mem_sync_rread);
RI_DO(mem_sync_rwrite);
RI_DO(ah_create);
RI_DO(ah_query);
RI_DO(ah_modify);
RI_DO(ah_destroy);
RI_DO(mcast_attach);
RI_DO(mcast_detach);
RI_DO(process_sma_mad);

#endif
