// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Work requests and their completions. */
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "rnicpi.h"

static ri_api_return_t rdma(ri_wr_type_t type, uint32_t wr_flags, ri_wr_id_t id, uint32_t len,
			    uint64_t addr, ri_rtag_t rtag)
{
	ri_data_seg_t seg = seg_of(&a, 0, len);
	ri_wr_flags_t f = (ri_wr_flags_t)wr_flags;

	if (type == RI_WR_TYPE_RDMA_READ)
		return ri_qp_post_rdma_read(a.rnic, a.qp, type, f, id, &seg, addr, 1, rtag, &err);
	return ri_qp_post_rdma_write(a.rnic, a.qp, type, f, id, &seg, addr, rtag, 1, 0, &err);
}

void transfers(void)
{
	uint64_t at;
	ri_rc_wc_t wc;

	open_pair();
	at = (uintptr_t)b.buf + 8192;
	memset(a.buf, 7, 20000);
	expect(RI_RET_SUCCESS, rdma(RI_WR_TYPE_RDMA_WRITE, SIGNALED, 1, 20000, at, b.rtag));
	wc = take(&a, a.scq, 1, RI_WC_TYPE_RDMA_WRITE, RI_WC_STATUS_SUCCESS);
	require(wc.bytes_transferred == 20000, "of all that move data: %u", wc.bytes_transferred);
	expect(RI_RET_SUCCESS, rdma(RI_WR_TYPE_RDMA_READ, SIGNALED, 2, 100, at, b.rtag));
	take(&a, a.scq, 2, RI_WC_TYPE_RDMA_READ, RI_WC_STATUS_SUCCESS);
	require(b.buf[8192] == 7 && b.buf[8192 + 19999] == 7 && !b.buf[8192 + 20000], "data");
	memset(b.buf + 8192, 9, 100);
	expect(RI_RET_SUCCESS, rdma(RI_WR_TYPE_RDMA_READ, SIGNALED, 3, 100, at, b.rtag));
	wc = take(&a, a.scq, 3, RI_WC_TYPE_RDMA_READ, RI_WC_STATUS_SUCCESS);
	require(a.buf[0] == 9 && a.buf[99] == 9 && a.buf[100] == 7 && wc.bytes_transferred == 100,
		"data");
	/* an unsignaled WR is done with the next signaled one */
	expect(RI_RET_SUCCESS, rdma(RI_WR_TYPE_RDMA_WRITE, NONE, 4, 100, at, b.rtag));
	expect(RI_RET_SUCCESS, rdma(RI_WR_TYPE_RDMA_WRITE, SIGNALED, 5, 0, at, b.rtag));
	take(&a, a.scq, 5, RI_WC_TYPE_RDMA_WRITE, RI_WC_STATUS_SUCCESS);
	close_pair();
}

/* The flags that each opcode allows (L6346) */
void flags(void)
{
	static const uint32_t all[] = { 1, 4, 8, 0x10, 0x20, 0x40 };
	static const struct {
		ri_wr_type_t type;
		uint32_t good;
	} rows[] = {
		{ RI_WR_TYPE_SEND, 0x6d },
		{ RI_WR_TYPE_RDMA_WRITE, 0x69 },
		{ RI_WR_TYPE_RDMA_READ, 0x21 },
	};
	ri_wr_id_t id = 0;
	unsigned int i, j;
	ri_wr_recv_t recv = { .flags = SIGNALED };
	ri_api_return_t want;
	uint_t one = 1;
	ri_rc_wc_t wc;

	open_pair();
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		for (j = 0; j < ARRAY_SIZE(all); j++) {
			ri_wr_t wr = { .wr_common = { rows[i].type, (ri_wr_flags_t)(all[j] | 1), ++id } };
			bool good = rows[i].good & all[j];

			one = 1;
			if (rows[i].type == RI_WR_TYPE_SEND)
				post_recv(&b, id, 0, 10);
			want = good ? RI_RET_SUCCESS : RI_RET_WR_INVALID_FLAGS;
			expect(want, ri_qp_postsq(a.rnic, a.qp, &wr, &one, &err));
			require(one == good, "%u posted", one);
			if (!good)
				continue;
			wc = take(&a, a.scq, id, i == 0 ? RI_WC_TYPE_SEND :
				  i == 1 ? RI_WC_TYPE_RDMA_WRITE : RI_WC_TYPE_RDMA_READ,
				  RI_WC_STATUS_SUCCESS);
			require(wc.flags == (all[j] == RI_WR_SOLICITED_EVENT_FLAG ?
					     RI_WC_FLAG_SOLICITED_EVENT : 0), "%#x", wc.flags);
		}
	}
	one = 1;
	expect(RI_RET_WR_INVALID_FLAGS, ri_qp_postrq(b.rnic, b.qp, &recv, &one, &err));
	expect(RI_RET_WR_INVALID_TYPE, rdma(RI_WR_TYPE_SEND, NONE, 1, 0, 0, 0));
	expect(RI_RET_WR_INVALID_TYPE, rdma((ri_wr_type_t)99, NONE, 1, 0, 0, 0));
	expect(RI_RET_WR_INVALID_TYPE, rdma(RI_WR_TYPE_RDMA_WRITE_IMMEDIATE, NONE, 1, 0, 0, 0));
	close_pair();
}

/* Types that a program may post, each with the flags that it allows (L6346) */
void flags_all(void)
{
	const uint32_t any = RI_WR_SIGNALED_FLAG | RI_WR_LOCAL_SOLICITED_FLAG | RI_WR_COALESCE_FLAG |
			     RI_WR_CONSUMER_FLAG0 | RI_WR_CONSUMER_FLAG1;
	const uint32_t write = any | RI_WR_READ_FENCE_FLAG | RI_WR_INLINE_OK_FLAG;
	const struct {
		ri_wr_type_t type;
		uint32_t good;
	} rows[] = {
		{ RI_WR_TYPE_SEND, write | RI_WR_SOLICITED_EVENT_FLAG },
		{ RI_WR_TYPE_SEND_INVALIDATE, write | RI_WR_SOLICITED_EVENT_FLAG },
		{ RI_WR_TYPE_RDMA_WRITE, write },
		{ RI_WR_TYPE_RDMA_READ, any },
		{ RI_WR_TYPE_BIND, any },
		{ RI_WR_TYPE_LOCAL_INVALIDATE_MR, any | RI_WR_LOCAL_FENCE_FLAG },
		{ RI_WR_TYPE_LOCAL_INVALIDATE_MW, any | RI_WR_LOCAL_FENCE_FLAG },
		{ RI_WR_TYPE_RDMA_READ_LOCAL_INVALIDATE, any },
	};
	ri_api_return_t want;
	ri_mw_handle_t mw;
	ri_qp_attr_t attr;
	ri_rtag_t rtag;
	unsigned int i, bit;
	uint_t one;

	open_end(&a);
	attr = qp_attr_of(&a);
	attr.sq_size = 32 * ARRAY_SIZE(rows);
	renew_qp(&a, &attr);
	expect(RI_RET_SUCCESS, ri_mw_alloc(a.rnic, a.pd, RI_MW_TYPE_NARROW, &mw, &rtag, NULL, NULL,
					   &err));
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		for (bit = 0; bit < 32; bit++) {
			ri_wr_t wr = { .wr_common = { rows[i].type, (ri_wr_flags_t)(1U << bit), 1 } };

			if (rows[i].type == RI_WR_TYPE_BIND) {
				wr.wr_bind.mw_handle = mw;
				wr.wr_bind.rtag = rtag;
				wr.wr_bind.mr_handle = a.mr;
				wr.wr_bind.ltag = a.ltag;
				wr.wr_bind.vaddr = (uintptr_t)a.buf;
				wr.wr_bind.length = 1;
			} else if (rows[i].type == RI_WR_TYPE_LOCAL_INVALIDATE_MW) {
				wr.wr_li.mrw_handle.mw_handle = mw;
			} else if (rows[i].type == RI_WR_TYPE_LOCAL_INVALIDATE_MR) {
				wr.wr_li.mrw_handle.mr_handle = a.mr;
			}
			one = 1;
			want = rows[i].good & 1U << bit ? RI_RET_SUCCESS : RI_RET_WR_INVALID_FLAGS;
			expect(want, ri_qp_postsq(a.rnic, a.qp, &wr, &one, &err));
		}
	}
	/* Idle keeps them */
	expect(RI_RET_SUCCESS, ri_mw_dealloc(a.rnic, mw, &err));
	close_end(&a);
}

static uint_t *set(uint_t *num, uint_t to)
{
	*num = to;
	return num;
}

/* A list that is none, and one with more than a message has, are no list (L3145, L3316) */
static void wrong_lists(void)
{
	ri_data_seg_t segs[2] = { seg_of(&a, 0, UINT32_MAX), seg_of(&a, 0, 1) };
	ri_wr_recv_t recv = { NONE, 1, NULL, 1 };
	uint_t one = 1;

	expect(RI_RET_WR_SG_INVALID_FORMAT, ri_qp_post_send(a.rnic, a.qp, RI_WR_TYPE_SEND, NONE, 1,
							    NULL, 0, 1, 0, &err));
	expect(RI_RET_WR_SG_INVALID_FORMAT, ri_qp_post_rdma_write(a.rnic, a.qp, RI_WR_TYPE_RDMA_WRITE,
								  NONE, 1, NULL, 0, 1, 1, 0, &err));
	expect(RI_RET_WR_SG_INVALID_FORMAT, ri_qp_post_rdma_read(a.rnic, a.qp, RI_WR_TYPE_RDMA_READ,
								 NONE, 1, NULL, 0, 1, 1, &err));
	expect(RI_RET_WR_SG_INVALID_FORMAT, ri_qp_post_recv(a.rnic, a.qp, NONE, 1, NULL, 1, &err));
	expect(RI_RET_WR_SG_INVALID_FORMAT, ri_qp_postrq(a.rnic, a.qp, &recv, &one, &err));
	expect(RI_RET_WR_SG_INVALID_FORMAT, ri_qp_post_send(a.rnic, a.qp, RI_WR_TYPE_SEND, NONE, 1,
							    segs, 0, 2, 0, &err));
	expect(RI_RET_WR_SG_INVALID_FORMAT, ri_qp_post_recv(a.rnic, a.qp, NONE, 1, segs, 2, &err));
}

void sizes(void)
{
	ri_data_seg_t segs[100];
	ri_wr_t wr[3] = { { .wr_send = { RI_WR_TYPE_SEND, SIGNALED, 1, segs, 0, 1, 0 } } };
	ri_wr_recv_t recv = { NONE, 1, segs, 100 };
	ri_qp_attr_t attr;
	uint_t num = 1, i;

	open_end(&a);
	open_end(&b);
	for (i = 0; i < ARRAY_SIZE(segs); i++)
		segs[i] = seg_of(&a, i, 1);
	wr[0].wr_send.num_sgls = 100;
	expect(RI_RET_RNIC_SG_LIMIT_EXCEEDED, ri_qp_postsq(a.rnic, a.qp, wr, &num, &err));
	require(!num, "%u", num);
	expect(RI_RET_RNIC_SG_LIMIT_EXCEEDED, ri_qp_post_rdma_read(a.rnic, a.qp,
								   RI_WR_TYPE_RDMA_READ, SIGNALED,
								   1, segs, 0, 100, b.rtag, &err));
	num = 1;
	expect(RI_RET_RNIC_SG_LIMIT_EXCEEDED, ri_qp_postrq(a.rnic, a.qp, &recv, &num, &err));
	/* nothing is posted if nothing is looked at (L3089, L3286) */
	expect(RI_RET_INVALID_PARAMETER, ri_qp_postsq(a.rnic, a.qp, NULL, set(&num, 3), &err));
	require(!num, "%u", num);
	expect(RI_RET_INVALID_PARAMETER, ri_qp_postsq(a.rnic, a.qp, wr, NULL, &err));
	expect(RI_RET_INVALID_PARAMETER, ri_qp_postrq(a.rnic, a.qp, NULL, set(&num, 3), &err));
	require(!num, "%u", num);
	expect(RI_RET_QP_INVALID_HANDLE, ri_qp_postsq(a.rnic, STALE, wr, set(&num, 3), &err));
	require(!num, "%u", num);
	expect(RI_RET_QP_INVALID_HANDLE, ri_qp_postrq(a.rnic, a.scq, &recv, set(&num, 3), &err));
	require(!num, "%u", num);
	expect(RI_RET_SRQ_INVALID_HANDLE, ri_srq_post(a.rnic, a.scq, &recv, set(&num, 3), &err));
	require(!num, "%u", num);
	wrong_lists();
	/* as many receives as the QP reports (in Idle: RI-24), and no more */
	expect(RI_RET_SUCCESS, ri_qp_query(a.rnic, a.qp, &attr, &err));
	require(attr.rq_size >= WRS && attr.sq_size >= WRS, "%u, %u", attr.rq_size, attr.sq_size);
	for (i = 0; i < attr.rq_size; i++)
		post_recv(&a, i, 0, 10);
	recv.num_sgls = 1;
	num = 1;
	expect(RI_RET_QP_CAPACITY_EXCEEDED, ri_qp_postrq(a.rnic, a.qp, &recv, &num, &err));
	require(!num, "%u", num);
	/* the first of three is posted, the second is invalid */
	wr[0].wr_send.num_sgls = 0;
	wr[1] = wr[2] = wr[0];
	wr[1].wr_common.type = (ri_wr_type_t)77;
	connect_sockets();
	turn(false, true);
	post_recv(&b, 5, 0, 10);
	num = 3;
	expect(RI_RET_WR_INVALID_TYPE, ri_qp_postsq(a.rnic, a.qp, wr, &num, &err));
	require(num == 1, "%u", num);
	take(&a, a.scq, 1, RI_WC_TYPE_SEND, RI_WC_STATUS_SUCCESS);
	close_pair();
}

void opaque(void)
{
	uint32_t bits = RI_WR_CONSUMER_FLAG0 | RI_WR_CONSUMER_FLAG2, back;
	ri_data_seg_t seg;

	open_pair();
	seg = seg_of(&b, 0, 10);
	/* of a receive no others are valid than the third, and COALESCE (L3290) */
	expect(RI_RET_WR_INVALID_FLAGS, ri_qp_post_recv(b.rnic, b.qp, RI_WR_CONSUMER_FLAG0, 9, &seg, 1,
							&err));
	expect(RI_RET_WR_INVALID_FLAGS, ri_qp_post_recv(b.rnic, b.qp, RI_WR_CONSUMER_FLAG1, 9, &seg, 1,
							&err));
	expect(RI_RET_SUCCESS, ri_qp_post_recv(b.rnic, b.qp, RI_WR_CONSUMER_FLAG2, 1ULL << 63 | 9,
					       &seg, 1, &err));
	expect(RI_RET_SUCCESS, ri_qp_post_send(a.rnic, a.qp, RI_WR_TYPE_SEND,
					       (ri_wr_flags_t)(SIGNALED | bits), -1ULL, NULL, 0, 0,
					       0, &err));
	back = take(&a, a.scq, -1ULL, RI_WC_TYPE_SEND, RI_WC_STATUS_SUCCESS).flags;
	require((back & (RI_WC_FLAG_CONSUMER0 | RI_WC_FLAG_CONSUMER1 | RI_WC_FLAG_CONSUMER2)) ==
		(RI_WC_FLAG_CONSUMER0 | RI_WC_FLAG_CONSUMER2), "%#x", back);
	back = take(&b, b.rcq, 1ULL << 63 | 9, RI_WC_TYPE_DATA_RECEIVED,
		    RI_WC_STATUS_SUCCESS).flags;
	require(back & RI_WC_FLAG_CONSUMER2 && !(back & RI_WC_FLAG_CONSUMER0), "%#x", back);
	close_pair();
}

void windows(void)
{
	ri_wr_t wr = { .wr_bind = { .type = RI_WR_TYPE_BIND, .flags = SIGNALED, .id = 1,
				    .mem_attr = RI_MEM_FLAGS_REMOTE_WRITE, .length = 100 } };
	ri_stag_state_t state;
	ri_mrw_handle_t h;
	ri_mw_handle_t mw;
	ri_mem_attr_t attr;
	ri_rtag_t rtag, is;
	ri_rc_wc_t wc;
	uint_t one = 1;

	open_pair();
	/* the peer sends first */
	expect(RI_RET_SUCCESS, rdma(RI_WR_TYPE_RDMA_WRITE, SIGNALED, 9, 0, 0, 0));
	take(&a, a.scq, 9, RI_WC_TYPE_RDMA_WRITE, RI_WC_STATUS_SUCCESS);
	expect(RI_RET_SUCCESS, ri_mw_alloc(b.rnic, b.pd, RI_MW_TYPE_NARROW, &mw, &rtag, NULL, NULL,
					   &err));
	wr.wr_bind.mw_handle = mw;
	wr.wr_bind.mr_handle = b.mr;
	wr.wr_bind.ltag = b.ltag;
	wr.wr_bind.vaddr = (uintptr_t)b.buf + 500;
	/* its key is the consumer's, and the rest of the RTag the window's (L5472, L6346) */
	rtag ^= 0x5a;
	wr.wr_bind.rtag = rtag ^ 0x100;
	expect(RI_RET_MEM_INVALID_RTAG, ri_qp_postsq(b.rnic, b.qp, &wr, &one, &err));
	wr.wr_bind.rtag = rtag;
	wr.wr_bind.ltag = a.ltag;
	one = 1;
	expect(RI_RET_MEM_INVALID_LTAG, ri_qp_postsq(b.rnic, b.qp, &wr, &one, &err));
	wr.wr_bind.ltag = b.ltag;
	one = 1;
	expect(RI_RET_SUCCESS, ri_qp_postsq(b.rnic, b.qp, &wr, &one, &err));
	take(&b, b.scq, 1, RI_WC_TYPE_BIND, RI_WC_STATUS_SUCCESS);
	expect(RI_RET_SUCCESS, ri_mw_query(b.rnic, mw, NULL, &state, NULL, &attr, &is, &err));
	require(state == RI_STAG_STATE_VALID && is == rtag && wr.wr_bind.rtag == rtag &&
		attr & RI_MEM_FLAGS_REMOTE_WRITE, "bound as %#x, not %#x", is, rtag);
	memset(a.buf, 5, 100);
	expect(RI_RET_SUCCESS, rdma(RI_WR_TYPE_RDMA_WRITE, SIGNALED, 2, 100,
				    (uintptr_t)b.buf + 500, rtag));
	expect(RI_RET_SUCCESS, rdma(RI_WR_TYPE_RDMA_READ, SIGNALED, 3, 1, (uintptr_t)b.buf,
				    b.rtag));
	take(&a, a.scq, 2, RI_WC_TYPE_RDMA_WRITE, RI_WC_STATUS_SUCCESS);
	take(&a, a.scq, 3, RI_WC_TYPE_RDMA_READ, RI_WC_STATUS_SUCCESS);
	require(b.buf[500] == 5 && b.buf[599] == 5, "data");
	expect(RI_RET_WINDOWS_BOUND, ri_mr_dereg(b.rnic, b.mr, &err));
	h.mw_handle = mw;
	expect(RI_RET_SUCCESS, ri_qp_post_local_invalidate(b.rnic, b.qp,
							   RI_WR_TYPE_LOCAL_INVALIDATE_MW, SIGNALED,
							   4, 0, rtag, h, &err));
	take(&b, b.scq, 4, RI_WC_TYPE_LOCAL_INVALIDATE, RI_WC_STATUS_SUCCESS);
	one = 1;
	wr.wr_bind.rtag = rtag ^ 0xff;
	expect(RI_RET_SUCCESS, ri_qp_postsq(b.rnic, b.qp, &wr, &one, &err));
	take(&b, b.scq, 1, RI_WC_TYPE_BIND, RI_WC_STATUS_SUCCESS);
	/* the peer's message invalidates it */
	post_recv(&b, 6, 0, 100);
	expect(RI_RET_SUCCESS, ri_qp_post_send(a.rnic, a.qp, RI_WR_TYPE_SEND_INVALIDATE, SIGNALED,
					       7, NULL, wr.wr_bind.rtag, 0, 0, &err));
	wc = take(&a, a.scq, 7, RI_WC_TYPE_SEND, RI_WC_STATUS_SUCCESS);
	require(wc.flags == RIX_WC_FLAG_SEND_INVALIDATE, "%#x", wc.flags);
	wc = take(&b, b.rcq, 6, RI_WC_TYPE_DATA_RECEIVED, RI_WC_STATUS_SUCCESS);
	require(wc.flags & RI_WC_FLAG_RTAG_INVALIDATE && wc.invalidated_rtag == wr.wr_bind.rtag,
		"RTag %#x", wc.invalidated_rtag);
	expect(RI_RET_SUCCESS, ri_mw_query(b.rnic, mw, NULL, &state, NULL, NULL, NULL, &err));
	require(state == RI_STAG_STATE_INVALID, "invalidated");
	one = 1;
	wr.wr_bind.length = 0;
	expect(RI_RET_INVALID_WINDOW_TYPE, ri_qp_postsq(b.rnic, b.qp, &wr, &one, &err));
	one = 1;
	wr.wr_bind.mw_handle = NULL;
	expect(RI_RET_MW_INVALID_HANDLE, ri_qp_postsq(b.rnic, b.qp, &wr, &one, &err));
	one = 1;
	wr.wr_bind.mw_handle = mw;
	wr.wr_bind.mr_handle = STALE;
	expect(RI_RET_MR_INVALID_HANDLE, ri_qp_postsq(b.rnic, b.qp, &wr, &one, &err));
	expect(RI_RET_SUCCESS, ri_mw_dealloc(b.rnic, mw, &err));
	close_pair();
}

/* Memory that the process cannot write to cannot be shared so (L4104) */
static void share_constant(void)
{
	ri_mr_reg_attr_t attr = { .length = 4096, .mem_attr = RI_MEM_FLAGS_LOCAL_READ, .pd = b.pd };
	ri_mr_handle_t mr, out;
	ri_ltag_t ltag;

	attr.va = (uintptr_t)mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	expect(RI_RET_SUCCESS, ri_mr_reg(b.rnic, &attr, &mr, &ltag, NULL, NULL, NULL, &err));
	attr.mem_attr = RI_MEM_FLAGS_LOCAL;
	expect(RI_RET_MEM_INVALID_ACCESS, ri_mr_reg_shared(b.rnic, mr, &attr, &out, &ltag, NULL, NULL,
							   NULL, &err));
	attr.mem_attr = RI_MEM_FLAGS_LOCAL_READ;
	attr.va++;
	expect(RI_RET_MEM_INVALID_ADDRESS, ri_mr_reg_shared(b.rnic, mr, &attr, &out, &ltag, NULL,
							    NULL, NULL, &err));
	expect(RI_RET_SUCCESS, ri_mr_dereg(b.rnic, mr, &err));
}

void shared_region(void)
{
	ri_mr_reg_attr_t attr = { .mem_attr = (ri_mem_attr_t)(
				  RI_MEM_FLAGS_LOCAL | RI_MEM_FLAGS_REMOTE_WRITE) };
	ri_mr_handle_t mr;
	ri_mr_info_t info;
	ri_ltag_t ltag;
	ri_rtag_t rtag;

	open_pair();
	attr.pd = NULL;
	/* attributes are of the output if there is one (L4057), and all memory is coherent (L4058) */
	attr.length = 77;
	attr.mem_attr = (ri_mem_attr_t)(attr.mem_attr | RI_MEM_FLAGS_NONCOHERENT);
	expect(RI_RET_PD_INVALID_HANDLE, ri_mr_reg_shared(b.rnic, b.mr, &attr, &mr, &ltag, &rtag,
							  NULL, NULL, &err));
	require(attr.length == 77 && attr.mem_attr & RI_MEM_FLAGS_NONCOHERENT, "as they were");
	attr.pd = b.pd;
	attr.va = (uintptr_t)b.buf + (1ULL << 40);	/* with its place in a page of any size */
	expect(RI_RET_SUCCESS, ri_mr_reg_shared(b.rnic, b.mr, &attr, &mr, &ltag, &rtag, NULL, NULL,
						&err));
	require(attr.length == BUF_BYTES && rtag != b.rtag, "its length, and an STag of its own");
	require(!(attr.mem_attr & RI_MEM_FLAGS_NONCOHERENT), "attributes %#x", attr.mem_attr);
	expect(RI_RET_SUCCESS, ri_mr_query(b.rnic, b.mr, &info, &err));
	require(info.is_shared_region, "both are shared");
	expect(RI_RET_SUCCESS, ri_mr_query(b.rnic, mr, &info, &err));
	require(info.is_shared_region && info.local_lb == attr.va, "both are shared");
	memset(a.buf, 6, 10);
	expect(RI_RET_SUCCESS, rdma(RI_WR_TYPE_RDMA_WRITE, SIGNALED, 1, 10, attr.va + 100, rtag));
	expect(RI_RET_SUCCESS, rdma(RI_WR_TYPE_RDMA_READ, SIGNALED, 2, 1, (uintptr_t)b.buf,
				    b.rtag));
	take(&a, a.scq, 1, RI_WC_TYPE_RDMA_WRITE, RI_WC_STATUS_SUCCESS);
	take(&a, a.scq, 2, RI_WC_TYPE_RDMA_READ, RI_WC_STATUS_SUCCESS);
	require(b.buf[100] == 6 && b.buf[109] == 6, "the same memory");
	expect(RI_RET_MR_INVALID_HANDLE, ri_mr_reg_shared(b.rnic, a.mr, &attr, &mr, &ltag, &rtag,
							  NULL, NULL, &err));
	expect(RI_RET_SUCCESS, ri_mr_dereg(b.rnic, mr, &err));
	share_constant();
	close_pair();
}

void shared_queue(void)
{
	ri_srq_attr_t attr = { .max_wrs = 10, .max_sgl = 2 };
	ri_qp_attr_t qp;
	ri_srq_handle_t srq;
	ri_wr_recv_t wr[2];
	ri_data_seg_t seg;
	uint_t num = 2;

	open_end(&a);
	open_end(&b);
	seg = seg_of(&b, 4096, 100);
	wr[0] = (ri_wr_recv_t){ RI_WR_CONSUMER_FLAG2, 11, &seg, 1 };
	wr[1] = (ri_wr_recv_t){ NONE, 12, &seg, 1 };
	attr.pd = b.pd;
	expect(RI_RET_SUCCESS, ri_srq_create(b.rnic, &attr, &srq, NULL, &attr, &err));
	expect(RI_RET_SUCCESS, ri_qp_destroy(b.rnic, b.qp, &err));
	qp = qp_attr_of(&b);
	qp.srq_valid = 1;
	qp.srq.srq_handle = STALE;
	expect(RI_RET_SRQ_INVALID_HANDLE, ri_qp_create(b.rnic, &qp, &b.qp, NULL, &b, &err));
	qp.srq.srq_handle = srq;
	expect(RI_RET_SUCCESS, ri_qp_create(b.rnic, &qp, &b.qp, NULL, &b, &err));
	expect(RI_RET_SUCCESS, ri_qp_query(b.rnic, b.qp, &qp, &err));
	require(qp.srq.srq_os_data == &attr, "the SRQ's os_data");
	expect(RI_RET_QP_TIED_TO_SRQ, ri_qp_post_recv(b.rnic, b.qp, NONE, 1, &seg, 1, &err));
	expect(RI_RET_SRQ_INUSE, ri_srq_destroy(b.rnic, srq, &err));
	expect(RI_RET_SUCCESS, ri_srq_post(b.rnic, srq, wr, &num, &err));
	connect_sockets();
	turn(false, true);
	post_send(&a, 1, 0, 50);
	post_send(&a, 2, 0, 60);
	take(&a, a.scq, 1, RI_WC_TYPE_SEND, RI_WC_STATUS_SUCCESS);
	take(&a, a.scq, 2, RI_WC_TYPE_SEND, RI_WC_STATUS_SUCCESS);
	require(take(&b, b.rcq, 11, RI_WC_TYPE_DATA_RECEIVED, RI_WC_STATUS_SUCCESS).flags &
		RI_WC_FLAG_CONSUMER2, "the consumer's bit");
	require(take(&b, b.rcq, 12, RI_WC_TYPE_DATA_RECEIVED, RI_WC_STATUS_SUCCESS)
		.bytes_transferred == 60, "bytes");
	expect(RI_RET_SUCCESS, ri_srq_post_recv(b.rnic, srq, NONE, 13, &seg, 1, &err));
	expect(RI_RET_SRQ_INVALID_HANDLE, ri_srq_post_recv(b.rnic, STALE, NONE, 13, &seg, 1, &err));
	expect(RI_RET_WR_INVALID_FLAGS, ri_srq_post_recv(b.rnic, srq, SIGNALED, 13, &seg, 1, &err));
	expect(RI_RET_RNIC_SG_LIMIT_EXCEEDED, ri_srq_post_recv(b.rnic, srq, NONE, 13, &seg, 99,
							       &err));
	expect(RI_RET_WR_SG_INVALID_FORMAT, ri_srq_post_recv(b.rnic, srq, NONE, 13, NULL, 1, &err));
	wr[0].sg_list = NULL;
	num = 2;
	expect(RI_RET_WR_SG_INVALID_FORMAT, ri_srq_post(b.rnic, srq, wr, &num, &err));
	expect(RI_RET_SUCCESS, ri_qp_destroy(b.rnic, b.qp, &err));
	expect(RI_RET_SUCCESS, ri_srq_destroy(b.rnic, srq, &err));
	qp = qp_attr_of(&b);
	expect(RI_RET_SUCCESS, ri_qp_create(b.rnic, &qp, &b.qp, NULL, &b, &err));
	close_pair();
}

/* L6108, rq_size: no sum over the QPs is looked at, and one QP may take all that the SRQ has */
void shared_whole(void)
{
	ri_srq_attr_t attr = { .max_wrs = 10, .max_sgl = 1 };
	ri_qp_handle_t others[10];
	ri_data_seg_t seg;
	ri_srq_handle_t srq;
	ri_qp_attr_t qp;
	unsigned int i;

	open_end(&a);
	open_end(&b);
	seg = seg_of(&b, 0, 100);
	attr.pd = b.pd;
	expect(RI_RET_SUCCESS, ri_srq_create(b.rnic, &attr, &srq, NULL, NULL, &err));
	for (i = 0; i < 10; i++) {
		qp = qp_attr_of(&b);
		qp.srq_valid = 1;
		qp.srq.srq_handle = srq;
		qp.rq_size = 1000;
		expect(RI_RET_SUCCESS, ri_qp_create(b.rnic, &qp, &others[i], NULL, NULL, &err));
	}
	qp = qp_attr_of(&b);
	qp.srq_valid = 1;
	qp.srq.srq_handle = srq;
	qp.rq_size = 1;
	renew_qp(&b, &qp);
	for (i = 0; i < attr.max_wrs; i++)
		expect(RI_RET_SUCCESS, ri_srq_post_recv(b.rnic, srq, NONE, i, &seg, 1, &err));
	connect_sockets();
	turn(false, true);
	/* none of them is posted again before the last one is taken */
	for (i = 0; i < attr.max_wrs; i++) {
		post_send(&a, i, 0, 10);
		take(&a, a.scq, i, RI_WC_TYPE_SEND, RI_WC_STATUS_SUCCESS);
	}
	for (i = 0; i < attr.max_wrs; i++)
		take(&b, b.rcq, i, RI_WC_TYPE_DATA_RECEIVED, RI_WC_STATUS_SUCCESS);
	for (i = 0; i < 10; i++)
		expect(RI_RET_SUCCESS, ri_qp_destroy(b.rnic, others[i], &err));
	expect(RI_RET_SUCCESS, ri_qp_destroy(b.rnic, b.qp, &err));
	expect(RI_RET_SUCCESS, ri_srq_destroy(b.rnic, srq, &err));
	qp = qp_attr_of(&b);
	expect(RI_RET_SUCCESS, ri_qp_create(b.rnic, &qp, &b.qp, NULL, &b, &err));
	close_pair();
}

static bool is_told(ri_cq_handle_t cq, int ms)
{
	struct pollfd fd = { .fd = rix_cq_fd(cq), .events = POLLIN };

	return poll(&fd, 1, ms) == 1;
}

void notification(void)
{
	ri_wr_id_t id;

	open_pair();
	for (id = 1; id <= 4; id++)
		post_recv(&b, id, 0, 10);
	require(rix_cq_fd(STALE) == -1, "no descriptor");
	expect(RI_RET_CQ_EMPTY, rix_cq_ack(b.rcq, &err));
	expect(RI_RET_CQ_INVALID_HANDLE, rix_cq_ack(NULL, &err));
	expect(RI_RET_SUCCESS, ri_cq_req_notification(b.rnic, b.rcq, RI_CMPLT_NOTIFY_SOLICITED,
						      &err));
	post_send(&a, 1, 0, 10);
	take(&b, b.rcq, 1, RI_WC_TYPE_DATA_RECEIVED, RI_WC_STATUS_SUCCESS);
	require(!is_told(b.rcq, 50), "one that is not solicited is not told");
	expect(RI_RET_SUCCESS, ri_cq_req_notification(b.rnic, b.rcq, RI_CMPLT_NOTIFY_ANY, &err));
	post_send(&a, 2, 0, 10);
	require(is_told(b.rcq, LONG_MS), "told");
	expect(RI_RET_SUCCESS, rix_cq_ack(b.rcq, &err));
	require(!is_told(b.rcq, 0), "once");
	/* it is not armed again by itself (L2289) */
	post_send(&a, 3, 0, 10);
	require(!is_told(b.rcq, 50), "once");
	/* nor told of what is there already */
	expect(RI_RET_SUCCESS, ri_cq_req_notification(b.rnic, b.rcq, RI_CMPLT_NOTIFY_ANY, &err));
	require(!is_told(b.rcq, 50), "of what has come before");
	take(&b, b.rcq, 2, RI_WC_TYPE_DATA_RECEIVED, RI_WC_STATUS_SUCCESS);
	take(&b, b.rcq, 3, RI_WC_TYPE_DATA_RECEIVED, RI_WC_STATUS_SUCCESS);
	/* what is asked for already is not taken back (L2276) */
	expect(RI_RET_SUCCESS, ri_cq_req_notification(b.rnic, b.rcq, RI_CMPLT_NOTIFY_SOLICITED,
						      &err));
	post_send(&a, 4, 0, 10);
	require(is_told(b.rcq, LONG_MS), "told");
	take(&b, b.rcq, 4, RI_WC_TYPE_DATA_RECEIVED, RI_WC_STATUS_SUCCESS);
	close_pair();
}

/* Local errors are the poster's; an access that the peer does not allow ends the stream */
void access_errors(void)
{
	ri_data_seg_t seg;

	open_pair();
	seg = seg_of(&a, 0, 10);
	seg.tag.ltag ^= 0x100;
	expect(RI_RET_SUCCESS, ri_qp_post_send(a.rnic, a.qp, RI_WR_TYPE_SEND, NONE, 1, &seg, 0, 1,
					       0, &err));
	take(&a, a.scq, 1, RI_WC_TYPE_SEND, RI_WC_STATUS_INVALID_STAG_ERROR);
	close_pair();
	open_pair();
	seg = seg_of(&a, BUF_BYTES - 5, 10);
	expect(RI_RET_SUCCESS, ri_qp_post_send(a.rnic, a.qp, RI_WR_TYPE_SEND, NONE, 2, &seg, 0, 1,
					       0, &err));
	take(&a, a.scq, 2, RI_WC_TYPE_SEND, RI_WC_STATUS_BASE_BOUNDS_VIOLATION_ERROR);
	close_pair();
	open_pair();
	expect(RI_RET_SUCCESS, rdma(RI_WR_TYPE_RDMA_READ, NONE, 3, 10, 0, b.rtag ^ 0x100));
	take(&a, a.scq, 3, RI_WC_TYPE_RDMA_READ, RI_WC_STATUS_REMOTE_TERMINATION_ERROR);
	close_pair();
}
