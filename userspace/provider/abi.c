// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * srnic: checks of the layout that is shared with the kernel: sizes and offsets
 * that existing kernels and providers rely on.
 */
#include <assert.h>
#include <stddef.h>

#include <rdma/srnic-abi.h>

#define SRNIC_ABI_SIZE(name, bytes)                                            \
	static_assert(sizeof(struct name) == (bytes), #name)
#define SRNIC_ABI_FIELD(name, field, at)                                       \
	static_assert(offsetof(struct name, field) == (at), #name "." #field)

SRNIC_ABI_SIZE(srnic_ureq_alloc_ctx, 16);
SRNIC_ABI_FIELD(srnic_ureq_alloc_ctx, required, 8);
SRNIC_ABI_SIZE(srnic_uresp_alloc_ctx, 24);
SRNIC_ABI_FIELD(srnic_uresp_alloc_ctx, max_inline, 8);
SRNIC_ABI_FIELD(srnic_uresp_alloc_ctx, max_recv_sge, 16);
SRNIC_ABI_SIZE(srnic_mmap, 16);
SRNIC_ABI_FIELD(srnic_mmap, size, 8);
SRNIC_ABI_SIZE(srnic_uresp_create_cq, 24);
SRNIC_ABI_FIELD(srnic_uresp_create_cq, entries, 16);
SRNIC_ABI_FIELD(srnic_uresp_create_cq, cqe_size, 20);
SRNIC_ABI_SIZE(srnic_ureq_resize_cq, 8);
SRNIC_ABI_FIELD(srnic_ureq_resize_cq, reserved, 4);
SRNIC_ABI_SIZE(srnic_uresp_resize_cq, 24);
SRNIC_ABI_FIELD(srnic_uresp_resize_cq, entries, 16);
SRNIC_ABI_SIZE(srnic_ureq_qp_resize, 16);
SRNIC_ABI_FIELD(srnic_ureq_qp_resize, reserved, 12);
SRNIC_ABI_SIZE(srnic_uresp_qp_resize, 40);
SRNIC_ABI_FIELD(srnic_uresp_qp_resize, rq, 16);
SRNIC_ABI_FIELD(srnic_uresp_qp_resize, rq_entries, 36);
SRNIC_ABI_SIZE(srnic_ureq_create_qp, 8);
SRNIC_ABI_SIZE(srnic_uresp_create_qp, 56);
SRNIC_ABI_FIELD(srnic_uresp_create_qp, rq, 16);
SRNIC_ABI_FIELD(srnic_uresp_create_qp, sq_entries, 32);
SRNIC_ABI_FIELD(srnic_uresp_create_qp, rq_entries, 36);
SRNIC_ABI_FIELD(srnic_uresp_create_qp, sqe_size, 40);
SRNIC_ABI_FIELD(srnic_uresp_create_qp, rqe_size, 44);
SRNIC_ABI_FIELD(srnic_uresp_create_qp, qpn, 48);
SRNIC_ABI_FIELD(srnic_uresp_create_qp, max_write_sge, 52);
SRNIC_ABI_SIZE(srnic_uresp_create_srq, 24);
SRNIC_ABI_FIELD(srnic_uresp_create_srq, entries, 16);
SRNIC_ABI_FIELD(srnic_uresp_create_srq, rqe_size, 20);
SRNIC_ABI_SIZE(srnic_uresp_create_ah, 8);
SRNIC_ABI_FIELD(srnic_uresp_create_ah, number, 0);
SRNIC_ABI_SIZE(srnic_ring_hdr, 256);
SRNIC_ABI_FIELD(srnic_ring_hdr, moved_entries, 16);
SRNIC_ABI_FIELD(srnic_ring_hdr, lost, 20);
SRNIC_ABI_FIELD(srnic_ring_hdr, producer, 64);
SRNIC_ABI_FIELD(srnic_ring_hdr, consumer, 128);
SRNIC_ABI_FIELD(srnic_ring_hdr, flags, 192);
SRNIC_ABI_SIZE(srnic_sge, 16);
SRNIC_ABI_FIELD(srnic_sge, lkey, 12);
SRNIC_ABI_SIZE(srnic_sqe, 64);
SRNIC_ABI_FIELD(srnic_sqe, opcode, 8);
SRNIC_ABI_FIELD(srnic_sqe, num_sge, 10);
SRNIC_ABI_FIELD(srnic_sqe, inline_len, 12);
SRNIC_ABI_FIELD(srnic_sqe, rkey, 16);
SRNIC_ABI_FIELD(srnic_sqe, stag, 20);
SRNIC_ABI_FIELD(srnic_sqe, remote_addr, 24);
SRNIC_ABI_FIELD(srnic_sqe, arg, 32);
SRNIC_ABI_SIZE(srnic_rqe, 16);
SRNIC_ABI_FIELD(srnic_rqe, num_sge, 8);
SRNIC_ABI_SIZE(srnic_cqe, 64);
SRNIC_ABI_FIELD(srnic_cqe, status, 8);
SRNIC_ABI_FIELD(srnic_cqe, qpn, 20);
SRNIC_ABI_FIELD(srnic_cqe, flags, 24);
SRNIC_ABI_FIELD(srnic_cqe, data, 28);
SRNIC_ABI_FIELD(srnic_cqe, vendor_err, 32);
SRNIC_ABI_FIELD(srnic_cqe, wqe_index, 36);
SRNIC_ABI_FIELD(srnic_cqe, timestamp, 40);
SRNIC_ABI_FIELD(srnic_cqe, wallclock, 48);
SRNIC_ABI_FIELD(srnic_cqe, src_qp, 56);
SRNIC_ABI_SIZE(srnic_terminate, 64);
SRNIC_ABI_FIELD(srnic_terminate, hdrct, 4);
SRNIC_ABI_FIELD(srnic_terminate, ddp, 12);
SRNIC_ABI_FIELD(srnic_terminate, rdmap, 30);
SRNIC_ABI_SIZE(srnic_uresp_terminate, 128);
SRNIC_ABI_FIELD(srnic_uresp_terminate, received, 64);
