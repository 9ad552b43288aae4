/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The functions of the vectors, declared with their types in rnicpi.h. */
#ifndef OPS_H
#define OPS_H

#include <rnicpi/rnicpi.h>

extern typeof(*(ri_op_rnic_open_t)NULL) ri_do_rnic_open;
extern typeof(*(ri_op_rnic_close_t)NULL) ri_do_rnic_close;
extern typeof(*(ri_op_async_set_event_handler_t)NULL) ri_do_async_set_event_handler;
extern typeof(*(ri_op_rnic_get_hdl_t)NULL) ri_do_rnic_get_hdl;
extern typeof(*(ri_op_rnic_query_t)NULL) ri_do_rnic_query;
extern typeof(*(ri_op_rnic_modify_t)NULL) ri_do_rnic_modify;
extern typeof(*(ri_op_rnic_free_hdl_t)NULL) ri_do_rnic_free_hdl;
extern typeof(*(ri_op_rnic_diag_t)NULL) ri_do_rnic_diag;
extern typeof(*(ri_op_pd_alloc_t)NULL) ri_do_pd_alloc;
extern typeof(*(ri_op_pd_dealloc_t)NULL) ri_do_pd_dealloc;
extern typeof(*(ri_op_cq_create_t)NULL) ri_do_cq_create;
extern typeof(*(ri_op_cq_query_t)NULL) ri_do_cq_query;
extern typeof(*(ri_op_cq_modify_t)NULL) ri_do_cq_modify;
extern typeof(*(ri_op_cq_destroy_t)NULL) ri_do_cq_destroy;
extern typeof(*(ri_op_special_qp_get_t)NULL) ri_do_special_qp_get;
extern typeof(*(ri_op_cq_set_event_handler_t)NULL) ri_do_cq_set_event_handler;
extern typeof(*(ri_op_cq_req_notification_t)NULL) ri_do_cq_req_notification;
extern typeof(*(ri_op_cq_poll_t)NULL) ri_do_cq_poll;
extern typeof(*(ri_op_qp_create_t)NULL) ri_do_qp_create;
extern typeof(*(ri_op_qp_query_t)NULL) ri_do_qp_query;
extern typeof(*(ri_op_qp_modify_t)NULL) ri_do_qp_modify;
extern typeof(*(ri_op_qp_destroy_t)NULL) ri_do_qp_destroy;
extern typeof(*(ri_op_qp_postsq_t)NULL) ri_do_qp_postsq;
extern typeof(*(ri_op_qp_post_send_t)NULL) ri_do_qp_post_send;
extern typeof(*(ri_op_qp_post_rdma_read_t)NULL) ri_do_qp_post_rdma_read;
extern typeof(*(ri_op_qp_post_rdma_write_t)NULL) ri_do_qp_post_rdma_write;
extern typeof(*(ri_op_qp_post_bind_t)NULL) ri_do_qp_post_bind;
extern typeof(*(ri_op_qp_post_fmr_t)NULL) ri_do_qp_post_fmr;
extern typeof(*(ri_op_qp_post_local_invalidate_t)NULL) ri_do_qp_post_local_invalidate;
extern typeof(*(ri_op_qp_post_atomic_t)NULL) ri_do_qp_post_atomic;
extern typeof(*(ri_op_qp_post_datagram_t)NULL) ri_do_qp_post_datagram;
extern typeof(*(ri_op_qp_postrq_t)NULL) ri_do_qp_postrq;
extern typeof(*(ri_op_qp_post_recv_t)NULL) ri_do_qp_post_recv;
extern typeof(*(ri_op_srq_create_t)NULL) ri_do_srq_create;
extern typeof(*(ri_op_srq_query_t)NULL) ri_do_srq_query;
extern typeof(*(ri_op_srq_modify_t)NULL) ri_do_srq_modify;
extern typeof(*(ri_op_srq_destroy_t)NULL) ri_do_srq_destroy;
extern typeof(*(ri_op_srq_post_t)NULL) ri_do_srq_post;
extern typeof(*(ri_op_srq_post_recv_t)NULL) ri_do_srq_post_recv;
extern typeof(*(ri_op_ltag_alloc_t)NULL) ri_do_ltag_alloc;
extern typeof(*(ri_op_mr_reg_t)NULL) ri_do_mr_reg;
extern typeof(*(ri_op_mr_query_t)NULL) ri_do_mr_query;
extern typeof(*(ri_op_mr_rereg_t)NULL) ri_do_mr_rereg;
extern typeof(*(ri_op_mr_dereg_t)NULL) ri_do_mr_dereg;
extern typeof(*(ri_op_mr_reg_phys_t)NULL) ri_do_mr_reg_phys;
extern typeof(*(ri_op_mr_rereg_phys_t)NULL) ri_do_mr_rereg_phys;
extern typeof(*(ri_op_mr_reg_shared_t)NULL) ri_do_mr_reg_shared;
extern typeof(*(ri_op_mw_alloc_t)NULL) ri_do_mw_alloc;
extern typeof(*(ri_op_mw_dealloc_t)NULL) ri_do_mw_dealloc;
extern typeof(*(ri_op_mw_query_t)NULL) ri_do_mw_query;
extern typeof(*(ri_op_mem_pin_t)NULL) ri_do_mem_pin;
extern typeof(*(ri_op_mem_unpin_t)NULL) ri_do_mem_unpin;
extern typeof(*(ri_op_mem_map_t)NULL) ri_do_mem_map;
extern typeof(*(ri_op_mem_unmap_t)NULL) ri_do_mem_unmap;
extern typeof(*(ri_op_mem_sync_rread_t)NULL) ri_do_mem_sync_rread;
extern typeof(*(ri_op_mem_sync_rwrite_t)NULL) ri_do_mem_sync_rwrite;
extern typeof(*(ri_op_ah_create_t)NULL) ri_do_ah_create;
extern typeof(*(ri_op_ah_query_t)NULL) ri_do_ah_query;
extern typeof(*(ri_op_ah_modify_t)NULL) ri_do_ah_modify;
extern typeof(*(ri_op_ah_destroy_t)NULL) ri_do_ah_destroy;
extern typeof(*(ri_op_mcast_attach_t)NULL) ri_do_mcast_attach;
extern typeof(*(ri_op_mcast_detach_t)NULL) ri_do_mcast_detach;
extern typeof(*(ri_op_process_sma_mad_t)NULL) ri_do_process_sma_mad;

#endif
