// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Allowed uses of QPs, regions and windows, and the errors of others. */
#include <poll.h>
#include <string.h>
#include <unistd.h>
#include "rnicpi.h"

/* From a's first bytes to b, or back */
static void post_rdma(ri_wr_type_t type, ri_wr_id_t id, uint32_t len, uint64_t addr, ri_rtag_t rtag)
{
	ri_data_seg_t seg = seg_of(&a, 0, len);

	if (type == RI_WR_TYPE_RDMA_READ)
		expect(RI_RET_SUCCESS, ri_qp_post_rdma_read(a.rnic, a.qp, type, SIGNALED, id, &seg,
							    addr, 1, rtag, &err));
	else
		expect(RI_RET_SUCCESS, ri_qp_post_rdma_write(a.rnic, a.qp, type, SIGNALED, id, &seg,
							     addr, rtag, 1, 0, &err));
}

static void write_b(ri_wr_id_t id, uint32_t len, uint32_t at, ri_rtag_t rtag)
{
	post_rdma(RI_WR_TYPE_RDMA_WRITE, id, len, (uintptr_t)b.buf + at, rtag);
	take(&a, a.scq, id, RI_WC_TYPE_RDMA_WRITE, RI_WC_STATUS_SUCCESS);
}

static void read_b(ri_wr_id_t id, uint32_t len, uint32_t at, ri_rtag_t rtag, ri_wc_status_t want)
{
	post_rdma(RI_WR_TYPE_RDMA_READ, id, len, (uintptr_t)b.buf + at, rtag);
	take(&a, a.scq, id, RI_WC_TYPE_RDMA_READ, want);
}

/* A Read after the Writes: its completion shows that they have arrived */
static void flush_b(void)
{
	read_b(999, 1, 0, b.rtag, RI_WC_STATUS_SUCCESS);
}

static void open_without(bool reads, bool writes)
{
	ri_qp_attr_t attr;

	open_end(&a);
	open_end(&b);
	attr = qp_attr_of(&b);
	attr.enable_rdma_read = reads;
	attr.enable_rdma_write = writes;
	renew_qp(&b, &attr);
	listen_to(&b);
	connect_sockets();
	turn(false, true);
}

/* b reads from a */
static void read_a(uint32_t len, ri_wc_status_t want)
{
	ri_data_seg_t seg = seg_of(&b, 100, len);

	expect(RI_RET_SUCCESS, ri_qp_post_rdma_read(b.rnic, b.qp, RI_WR_TYPE_RDMA_READ, SIGNALED, 5,
						    &seg, (uintptr_t)a.buf, 1, a.rtag, &err));
	take(&b, b.scq, 5, RI_WC_TYPE_RDMA_READ, want);
}

/* Fixed at create: Read Requests, and Writes with Read Responses (RI-23, RDMAC verbs 9.2.5.1) */
void disabled(void)
{
	open_without(true, false);
	flush_b();
	/* what b itself reads is not taken, if it has data */
	memset(a.buf, 7, 10);
	read_a(0, RI_WC_STATUS_SUCCESS);
	read_a(10, RI_WC_STATUS_WR_FLUSHED_ERROR);
	await_event(&b, RI_EVENT_QP_REMOTE_OP_ERROR_RDMA_WR_RD_RESP_DISABLED, &b);
	require(!b.buf[100], "nothing was read");
	close_pair();
	open_without(true, false);
	write_b(1, 10, 0, b.rtag);
	await_event(&b, RI_EVENT_QP_REMOTE_OP_ERROR_RDMA_WR_RD_RESP_DISABLED, &b);
	close_pair();
	open_without(false, true);
	memset(a.buf, 7, 10);
	write_b(1, 10, 0, b.rtag);
	read_a(10, RI_WC_STATUS_SUCCESS);
	require(b.buf[100] == 7 && b.buf[109] == 7, "b's Read");
	read_b(2, 10, 0, b.rtag, RI_WC_STATUS_REMOTE_TERMINATION_ERROR);
	await_event(&b, RI_EVENT_QP_REMOTE_OP_ERROR_RDMA_RD_DISABLED, &b);
	require(b.buf[0] == 7 && b.buf[9] == 7, "the Write");
	close_pair();
	open_without(false, false);
	write_b(1, 10, 0, b.rtag);
	await_event(&b, RI_EVENT_QP_REMOTE_OP_ERROR_RDMA_WR_RD_RESP_DISABLED, &b);
	require(!b.buf[0], "nothing was written");
	close_pair();
}

/* WRs posted in Error complete as flushed (RI-25) */
void post_in_error(void)
{
	open_pair();
	post_recv(&a, 4, 0, 10);
	set_state(&a, RI_QP_STATE_ERROR, RI_RET_SUCCESS);
	require_state(&a, RI_QP_STATE_ERROR);
	/* earlier WRs are flushed, so the next post has to flush itself */
	take(&a, a.rcq, 4, RI_WC_TYPE_DATA_RECEIVED, RI_WC_STATUS_WR_FLUSHED_ERROR);
	post_send(&a, 5, 0, 10);
	take(&a, a.scq, 5, RI_WC_TYPE_SEND, RI_WC_STATUS_WR_FLUSHED_ERROR);
	post_recv(&a, 6, 0, 10);
	take(&a, a.rcq, 6, RI_WC_TYPE_DATA_RECEIVED, RI_WC_STATUS_WR_FLUSHED_ERROR);
	close_pair();
}

static bool is_told(struct end *e, ri_cq_handle_t cq, int ms)
{
	struct pollfd fd = { .fd = rix_cq_fd(cq), .events = POLLIN };
	bool told = poll(&fd, 1, ms) == 1;

	(void)e;
	if (told)
		expect(RI_RET_SUCCESS, rix_cq_ack(cq, &err));
	return told;
}

/* Notifications for solicited messages and for errors (RI-33) */
void solicited(void)
{
	ri_data_seg_t seg;
	int i;

	open_pair();
	for (i = 1; i <= 3; i++)
		post_recv(&b, i, 0, 10);
	expect(RI_RET_SUCCESS, ri_cq_req_notification(b.rnic, b.rcq, RI_CMPLT_NOTIFY_SOLICITED,
						      &err));
	post_send(&a, 1, 0, 10);
	take(&b, b.rcq, 1, RI_WC_TYPE_DATA_RECEIVED, RI_WC_STATUS_SUCCESS);
	require(!is_told(&b, b.rcq, 50), "one that was not sent so is not told");
	seg = seg_of(&a, 0, 10);
	expect(RI_RET_SUCCESS, ri_qp_post_send(a.rnic, a.qp, RI_WR_TYPE_SEND,
					       RI_WR_SOLICITED_EVENT_FLAG, 2, &seg, 0, 1, 0, &err));
	require(is_told(&b, b.rcq, LONG_MS), "one that was");
	take(&b, b.rcq, 2, RI_WC_TYPE_DATA_RECEIVED, RI_WC_STATUS_SUCCESS);
	expect(RI_RET_SUCCESS, ri_cq_req_notification(b.rnic, b.rcq, RI_CMPLT_NOTIFY_SOLICITED,
						      &err));
	require(!is_told(&b, b.rcq, 50), "nothing as yet");
	set_state(&b, RI_QP_STATE_ERROR, RI_RET_SUCCESS);
	require(is_told(&b, b.rcq, LONG_MS), "one that is flushed");
	take(&b, b.rcq, 3, RI_WC_TYPE_DATA_RECEIVED, RI_WC_STATUS_WR_FLUSHED_ERROR);
	close_pair();
}

struct region {
	ri_mr_handle_t mr;
	ri_ltag_t ltag;
	ri_rtag_t rtag;
};

static struct region reg_in(struct end *e, ri_pd_handle_t pd, uint32_t attr)
{
	ri_mr_reg_attr_t mr = { .va = (uintptr_t)e->buf, .length = BUF_BYTES, .pd = pd,
				.mem_attr = (ri_mem_attr_t)attr };
	struct region r;

	expect(RI_RET_SUCCESS, ri_mr_reg(e->rnic, &mr, &r.mr, &r.ltag, &r.rtag, NULL, NULL, &err));
	return r;
}

static void end_region(struct end *e, struct region *r)
{
	expect(RI_RET_SUCCESS, ri_mr_dereg(e->rnic, r->mr, &err));
}

/* The PD of the SRQ is that of its receives; the QP has another (RI-46) */
void srq_pd(void)
{
	ri_srq_attr_t attr = { .max_wrs = 4, .max_sgl = 1 };
	ri_srq_handle_t srq;
	struct region own;
	ri_data_seg_t seg;
	ri_pd_handle_t pd;
	ri_qp_attr_t qp;

	open_end(&a);
	open_end(&b);
	expect(RI_RET_SUCCESS, ri_pd_alloc(b.rnic, &pd, NULL, NULL, &err));
	own = reg_in(&b, pd, RI_MEM_FLAGS_LOCAL);
	attr.pd = pd;
	expect(RI_RET_SUCCESS, ri_srq_create(b.rnic, &attr, &srq, NULL, NULL, &err));
	qp = qp_attr_of(&b);
	qp.srq_valid = 1;
	qp.srq.srq_handle = srq;
	renew_qp(&b, &qp);
	seg = seg_of(&b, 0, 100);
	seg.tag.ltag = own.ltag;
	expect(RI_RET_SUCCESS, ri_srq_post_recv(b.rnic, srq, NONE, 1, &seg, 1, &err));
	seg.tag.ltag = b.ltag;		/* of the QP's PD */
	expect(RI_RET_SUCCESS, ri_srq_post_recv(b.rnic, srq, NONE, 2, &seg, 1, &err));
	connect_sockets();
	turn(false, true);
	post_send(&a, 1, 0, 50);
	take(&b, b.rcq, 1, RI_WC_TYPE_DATA_RECEIVED, RI_WC_STATUS_SUCCESS);
	post_send(&a, 2, 0, 50);
	take(&b, b.rcq, 2, RI_WC_TYPE_DATA_RECEIVED, RI_WC_STATUS_INVALID_PD_ERROR);
	qp = qp_attr_of(&b);
	renew_qp(&b, &qp);
	expect(RI_RET_SUCCESS, ri_srq_destroy(b.rnic, srq, &err));
	end_region(&b, &own);
	expect(RI_RET_SUCCESS, ri_pd_dealloc(b.rnic, pd, &err));
	close_pair();
}

static struct region region_of(const struct end *e)
{
	return (struct region){ e->mr, e->ltag, e->rtag };
}

static ri_wr_t bind_of(ri_mw_handle_t mw, ri_rtag_t rtag, struct region to, uint64_t va,
		       uint64_t len, uint32_t attr)
{
	return (ri_wr_t){ .wr_bind = { .type = RI_WR_TYPE_BIND, .flags = SIGNALED, .id = 1,
				       .mw_handle = mw, .rtag = rtag, .mr_handle = to.mr,
				       .ltag = to.ltag, .vaddr = va, .length = len,
				       .mem_attr = (ri_mem_attr_t)attr } };
}

static void bind_fails(uint32_t mr_attr, uint32_t mw_attr, uint32_t more, ri_wc_status_t want)
{
	struct region region;
	ri_mw_handle_t mw;
	ri_rtag_t rtag;
	uint_t one = 1;
	ri_wr_t wr;

	open_pair();
	region = reg_in(&a, a.pd, mr_attr);
	expect(RI_RET_SUCCESS, ri_mw_alloc(a.rnic, a.pd, RI_MW_TYPE_NARROW, &mw, &rtag, NULL, NULL,
					   &err));
	wr = bind_of(mw, rtag, region, (uintptr_t)a.buf, BUF_BYTES + more, mw_attr);
	expect(RI_RET_SUCCESS, ri_qp_postsq(a.rnic, a.qp, &wr, &one, &err));
	take(&a, a.scq, 1, RI_WC_TYPE_BIND, want);
	expect(RI_RET_SUCCESS, ri_mw_dealloc(a.rnic, mw, &err));
	end_region(&a, &region);
	close_pair();
}

/* Regions that may only be read, or only be written to; and windows (RI-49) */
void rights(void)
{
	struct region region;

	open_pair();
	listen_to(&b);
	region = reg_in(&b, b.pd, RI_MEM_FLAGS_LOCAL | RI_MEM_FLAGS_REMOTE_READ);
	read_b(1, 10, 0, region.rtag, RI_WC_STATUS_SUCCESS);
	write_b(2, 10, 0, region.rtag);
	await_event(&b, RI_EVENT_QP_PROTECTION_ERROR_ACCESS_VIOLATION, &b);
	end_region(&b, &region);
	close_pair();
	open_pair();
	listen_to(&b);
	region = reg_in(&b, b.pd, RI_MEM_FLAGS_LOCAL | RI_MEM_FLAGS_REMOTE_WRITE);
	write_b(1, 10, 0, region.rtag);
	read_b(2, 10, 0, region.rtag, RI_WC_STATUS_REMOTE_TERMINATION_ERROR);
	await_event(&b, RI_EVENT_QP_IRRQ_PROTECTION_ERROR_ACCESS_VIOLATION, &b);
	end_region(&b, &region);
	close_pair();
	bind_fails(RI_MEM_FLAGS_LOCAL, RI_MEM_FLAGS_REMOTE_READ, 0,
		   RI_WC_STATUS_ACCESS_VIOLATION_ERROR);
	bind_fails(RI_MEM_FLAGS_LOCAL | RI_MEM_FLAGS_BINDING, RI_MEM_FLAGS_REMOTE_READ, 1,
		   RI_WC_STATUS_BASE_BOUNDS_VIOLATION_ERROR);
	bind_fails(RI_MEM_FLAGS_LOCAL_READ | RI_MEM_FLAGS_BINDING, RI_MEM_FLAGS_REMOTE_WRITE, 0,
		   RI_WC_STATUS_ACCESS_VIOLATION_ERROR);
}

static void bind_from_idle(ri_boolean_t enable, ri_wc_status_t want)
{
	ri_mw_handle_t mw;
	ri_qp_attr_t attr;
	ri_rtag_t rtag;
	uint_t one = 1;
	ri_wr_t wr;

	open_end(&a);
	open_end(&b);
	attr = qp_attr_of(&a);
	attr.qp_xport.qp_iwarp.enable_bind = enable;
	renew_qp(&a, &attr);
	expect(RI_RET_SUCCESS, ri_mw_alloc(a.rnic, a.pd, RI_MW_TYPE_NARROW, &mw, &rtag, NULL, NULL,
					   &err));
	wr = bind_of(mw, rtag, region_of(&a), (uintptr_t)a.buf, 100, RI_MEM_FLAGS_REMOTE_READ);
	expect(RI_RET_SUCCESS, ri_qp_postsq(a.rnic, a.qp, &wr, &one, &err));
	connect_sockets();
	turn(false, true);
	take(&a, a.scq, 1, RI_WC_TYPE_BIND, want);
	expect(RI_RET_SUCCESS, ri_mw_dealloc(a.rnic, mw, &err));
	close_pair();
}

/* Without enable_bind a QP binds no window, even if the bind was posted in Idle (RI-23) */
void bind_disabled(void)
{
	bind_from_idle(1, RI_WC_STATUS_SUCCESS);
	bind_from_idle(0, RI_WC_STATUS_ACCESS_VIOLATION_ERROR);
}

/* After these errors the region is as it was; after others it is gone (RI-50) */
static void rereg_of(bool stays, uint32_t mask, ri_mr_reg_attr_t attr, ri_api_return_t want)
{
	struct region region = reg_in(&a, a.pd, RI_MEM_FLAGS_LOCAL | RI_MEM_FLAGS_BINDING);
	ri_mr_handle_t out;
	ri_mr_info_t info;
	ri_ltag_t ltag;
	ri_rtag_t rtag;

	expect(want, ri_mr_rereg(a.rnic, region.mr, (ri_mr_rereg_t)mask, &attr, &out, &ltag, &rtag,
				 NULL, NULL, &err));
	if (stays) {
		expect(RI_RET_SUCCESS, ri_mr_query(a.rnic, region.mr, &info, &err));
		require(info.ltag == region.ltag && info.attr.length == BUF_BYTES &&
			info.attr.pd == a.pd && info.stag_state == RI_STAG_STATE_VALID, "as it was");
		end_region(&a, &region);
		return;
	}
	expect(RI_RET_MR_INVALID_HANDLE, ri_mr_query(a.rnic, region.mr, &info, &err));
	expect(RI_RET_MR_INVALID_HANDLE, ri_mr_dereg(a.rnic, region.mr, &err));
}

static void rereg_bound(void)
{
	struct region region = reg_in(&a, a.pd, RI_MEM_FLAGS_LOCAL | RI_MEM_FLAGS_BINDING);
	ri_mr_reg_attr_t attr = { .mem_attr = RI_MEM_FLAGS_LOCAL };
	ri_mr_handle_t out;
	ri_mw_handle_t mw;
	ri_mr_info_t info;
	ri_ltag_t ltag;
	ri_rtag_t rtag;
	uint_t one = 1;
	ri_wr_t wr;

	expect(RI_RET_SUCCESS, ri_mw_alloc(a.rnic, a.pd, RI_MW_TYPE_NARROW, &mw, &rtag, NULL, NULL,
					   &err));
	wr = bind_of(mw, rtag, region, (uintptr_t)a.buf, 100, RI_MEM_FLAGS_REMOTE_READ);
	expect(RI_RET_SUCCESS, ri_qp_postsq(a.rnic, a.qp, &wr, &one, &err));
	take(&a, a.scq, 1, RI_WC_TYPE_BIND, RI_WC_STATUS_SUCCESS);
	expect(RI_RET_WINDOWS_BOUND, ri_mr_rereg(a.rnic, region.mr, RI_MR_REREG_ACCESS, &attr, &out,
						 &ltag, &rtag, NULL, NULL, &err));
	/* nor does another error end it */
	attr.pd = STALE;
	expect(RI_RET_WINDOWS_BOUND, ri_mr_rereg(a.rnic, region.mr, RI_MR_REREG_PD, &attr, &out,
						 &ltag, &rtag, NULL, NULL, &err));
	expect(RI_RET_SUCCESS, ri_mr_query(a.rnic, region.mr, &info, &err));
	require(info.attr.mem_attr & RI_MEM_FLAGS_BINDING, "as it was");
	expect(RI_RET_SUCCESS, ri_mw_dealloc(a.rnic, mw, &err));
	end_region(&a, &region);
}

void rereg(void)
{
	ri_mr_reg_attr_t attr = { .mem_attr = RI_MEM_FLAGS_LOCAL, .length = BUF_BYTES };

	open_pair();
	attr.pd = a.pd;
	attr.va = (uintptr_t)a.buf;
	rereg_of(true, 0, attr, RI_RET_INVALID_PARAMETER);
	rereg_of(true, 0x80, attr, RI_RET_INVALID_PARAMETER);
	rereg_of(true, RI_MR_REREG_TRANSLATE, attr, RI_RET_SUCCESS);
	rereg_bound();
	attr.pd = b.pd;
	rereg_of(false, RI_MR_REREG_PD, attr, RI_RET_PD_INVALID_HANDLE);
	attr.pd = a.pd;
	attr.mem_attr = RI_MEM_FLAGS_REMOTE_WRITE;
	rereg_of(false, RI_MR_REREG_ACCESS, attr, RI_RET_MEM_INVALID_ACCESS);
	attr.mem_attr = RI_MEM_FLAGS_LOCAL;
	attr.length = 0;
	rereg_of(false, RI_MR_REREG_TRANSLATE, attr, RI_RET_MEM_INVALID_LENGTH);
	attr.length = BUF_BYTES;
	attr.va = 4096;
	rereg_of(false, RI_MR_REREG_TRANSLATE, attr, RI_RET_MEM_INVALID_ADDRESS);
	close_pair();
}

static bool splits_tags(void)
{
	uint64_t room[512];
	uint_t size = sizeof(room);

	expect(RI_RET_SUCCESS, ri_rnic_query(b.rnic, (ri_rnic_query_flags_t)0,
					     (ri_rnic_attr_t *)room, &size, &err));
	return ((ri_rnic_attr_t *)room)->rnic_flags & RI_RNIC_EXT_INDEX_KEY_SPLIT;
}

/* The key is that of @want, the rest of the STag is the RNIC's; the peer can use it */
static void require_key(const struct region *r, ri_ltag_t want)
{
	ri_mr_info_t info;

	require(r->ltag == r->rtag && (r->ltag & 255) == (want & 255), "%#x, not of %#x", r->ltag,
		want);
	expect(RI_RET_SUCCESS, ri_mr_query(b.rnic, r->mr, &info, &err));
	require(info.ltag == r->ltag && info.stag_state == RI_STAG_STATE_VALID, "%#x", info.ltag);
	write_b(1, 10, 0, r->rtag);
	flush_b();
}

static void rereg_key(struct region *r, uint32_t mask, const ri_mr_reg_attr_t *attr, ri_ltag_t want)
{
	r->ltag = want;
	expect(RI_RET_SUCCESS, ri_mr_rereg(b.rnic, r->mr, (ri_mr_rereg_t)mask, attr, &r->mr,
					   &r->ltag, &r->rtag, NULL, NULL, &err));
}

/* On input the LTag has the key if the consumer owns that (L3616, L3749, L4061, L5469) (RI-47) */
void keys(void)
{
	const uint32_t other = RI_MEM_FLAGS_LOCAL | RI_MEM_FLAGS_REMOTE_WRITE;
	const uint32_t owned = other | RI_MEM_FLAGS_CONSUMER_OWNS_KEY;
	ri_mr_reg_attr_t attr = { .length = BUF_BYTES };
	struct region r, shared;
	unsigned int i, same = 0;
	ri_mr_info_t info;

	open_pair();
	require(splits_tags(), "RI_RNIC_EXT_INDEX_KEY_SPLIT");
	attr.va = (uintptr_t)b.buf;
	attr.pd = b.pd;
	for (i = 0; i < 256; i += 51) {
		attr.mem_attr = (ri_mem_attr_t)owned;
		r.ltag = 0xabcdef00 | i;
		expect(RI_RET_SUCCESS, ri_mr_reg(b.rnic, &attr, &r.mr, &r.ltag, &r.rtag, NULL, NULL,
						 &err));
		require_key(&r, i);
		expect(RI_RET_SUCCESS, ri_mr_query(b.rnic, r.mr, &info, &err));
		require(info.attr.mem_attr & RI_MEM_FLAGS_CONSUMER_OWNS_KEY, "%#x",
			info.attr.mem_attr);
		rereg_key(&r, RI_MR_REREG_ACCESS, &attr, i + 1);
		require_key(&r, i + 1);
		rereg_key(&r, RI_MR_REREG_TRANSLATE, &attr, i + 2);
		require_key(&r, i + 2);
		shared.ltag = i + 3;
		expect(RI_RET_SUCCESS, ri_mr_reg_shared(b.rnic, r.mr, &attr, &shared.mr,
							&shared.ltag, &shared.rtag, NULL, NULL,
							&err));
		require_key(&shared, i + 3);
		require_key(&r, i + 2);
		end_region(&b, &shared);
		end_region(&b, &r);
		/* else it is the RNIC's (L3619) */
		attr.mem_attr = (ri_mem_attr_t)other;
		r.ltag = i;
		expect(RI_RET_SUCCESS, ri_mr_reg(b.rnic, &attr, &r.mr, &r.ltag, &r.rtag, NULL, NULL,
						 &err));
		same += (r.ltag & 255) == i;
		attr.mem_attr = (ri_mem_attr_t)owned;
		rereg_key(&r, RI_MR_REREG_ACCESS, &attr, i + 4);
		require_key(&r, i + 4);
		if (i < 255)
			end_region(&b, &r);
	}
	require(same < 6, "a key that nobody has asked for");
	/* the STag with the key before is none */
	post_rdma(RI_WR_TYPE_RDMA_WRITE, 2, 10, (uintptr_t)b.buf, r.rtag ^ 1);
	require_state(&b, RI_QP_STATE_ERROR);
	end_region(&b, &r);
	close_pair();
}

/* STag 0 is for privileged callers, and for local access (RI-54) */
void stag0(void)
{
	ri_qp_attr_t attr;
	ri_data_seg_t seg;

	open_pair();
	attr = qp_attr_of(&a);
	attr.enable_stag0_fastreg = 1;
	expect(RI_RET_NO_PERMISSION, ri_qp_create(a.rnic, &attr, &a.qp, NULL, &a, &err));
	seg = seg_of(&a, 0, 10);
	seg.tag.ltag = 0;
	expect(RI_RET_SUCCESS, ri_qp_post_send(a.rnic, a.qp, RI_WR_TYPE_SEND, NONE, 1, &seg, 0, 1, 0,
					       &err));
	take(&a, a.scq, 1, RI_WC_TYPE_SEND, RI_WC_STATUS_INVALID_STAG_ERROR);
	close_pair();
	/* a Write to the peer's STag 0 is not sent */
	open_pair();
	post_rdma(RI_WR_TYPE_RDMA_WRITE, 1, 10, (uintptr_t)b.buf, 0);
	take(&a, a.scq, 1, RI_WC_TYPE_RDMA_WRITE, RI_WC_STATUS_INVALID_STAG_ERROR);
	close_pair();
}

/* A narrow window belongs to the QP that bound it (RI-56), and holds that QP (RI-57) */
void narrow(void)
{
	ri_qp_handle_t first_a, first_b;
	ri_qp_attr_t attr;
	ri_mw_handle_t mw;
	ri_rtag_t rtag;
	uint_t one = 1;
	ri_wr_t wr;
	int fd[2];

	open_pair();
	listen_to(&b);
	write_b(1, 0, 0, 0);		/* the peer sends first */
	expect(RI_RET_WINDOW_TYPE_UNSUPPORTED, ri_mw_alloc(b.rnic, b.pd, RI_MW_TYPE_WIDE, &mw,
							   &rtag, NULL, NULL, &err));
	expect(RI_RET_SUCCESS, ri_mw_alloc(b.rnic, b.pd, RI_MW_TYPE_NARROW, &mw, &rtag, NULL, NULL,
					   &err));
	wr = bind_of(mw, rtag, region_of(&b), (uintptr_t)b.buf, 100, RI_MEM_FLAGS_REMOTE_WRITE);
	expect(RI_RET_SUCCESS, ri_qp_postsq(b.rnic, b.qp, &wr, &one, &err));
	take(&b, b.scq, 1, RI_WC_TYPE_BIND, RI_WC_STATUS_SUCCESS);
	write_b(2, 10, 0, wr.wr_bind.rtag);
	flush_b();
	/* another pair of QPs of the same PDs */
	first_a = a.qp;
	first_b = b.qp;
	fd[0] = a.fd;
	fd[1] = b.fd;
	attr = qp_attr_of(&a);
	expect(RI_RET_SUCCESS, ri_qp_create(a.rnic, &attr, &a.qp, NULL, &a, &err));
	attr = qp_attr_of(&b);
	expect(RI_RET_SUCCESS, ri_qp_create(b.rnic, &attr, &b.qp, NULL, &b, &err));
	connect_sockets();
	turn(false, true);
	write_b(3, 10, 0, wr.wr_bind.rtag);
	await_event(&b, RI_EVENT_QP_PROTECTION_ERROR_INVALID_PD, &b);
	expect(RI_RET_WINDOWS_BOUND, ri_qp_destroy(b.rnic, first_b, &err));
	expect(RI_RET_SUCCESS, ri_qp_query(b.rnic, first_b, &attr, &err));
	require(attr.state == RI_QP_STATE_READY_TO_SEND, "it goes on");
	attr.state = RI_QP_STATE_ERROR;
	expect(RI_RET_SUCCESS, ri_qp_modify(b.rnic, first_b, RI_QP_ATTR_NEXT_STATE, &attr, &err));
	attr.state = RI_QP_STATE_IDLE;
	expect(RI_RET_WINDOWS_BOUND, ri_qp_modify(b.rnic, first_b, RI_QP_ATTR_NEXT_STATE, &attr,
						  &err));
	expect(RI_RET_SUCCESS, ri_mw_dealloc(b.rnic, mw, &err));
	expect(RI_RET_SUCCESS, ri_qp_destroy(b.rnic, first_b, &err));
	expect(RI_RET_SUCCESS, ri_qp_destroy(a.rnic, first_a, &err));
	close(fd[0]);
	close(fd[1]);
	close_pair();
}

/* Inline data is copied when it is posted, without its STag (RI-60) */
void inline_data(void)
{
	ri_data_seg_t seg;

	open_pair();
	post_recv(&a, 1, 4096, 100);
	post_recv(&b, 2, 4096, 100);
	memset(b.buf, 5, 64);
	seg = seg_of(&b, 0, 64);
	seg.tag.ltag = 0xbad00;
	/* it waits, since the peer has to send first */
	expect(RI_RET_SUCCESS, ri_qp_post_send(b.rnic, b.qp, RI_WR_TYPE_SEND,
					       (ri_wr_flags_t)(SIGNALED | RI_WR_INLINE_OK_FLAG), 3,
					       &seg, 0, 1, 0, &err));
	memset(b.buf, 6, 64);
	post_send(&a, 4, 0, 10);
	take(&b, b.scq, 3, RI_WC_TYPE_SEND, RI_WC_STATUS_SUCCESS);
	take(&a, a.rcq, 1, RI_WC_TYPE_DATA_RECEIVED, RI_WC_STATUS_SUCCESS);
	require(a.buf[4096] == 5 && a.buf[4096 + 63] == 5, "as it was when it was posted: %d",
		a.buf[4096]);
	close_pair();
}

/* A Read that invalidates its sink when the data has arrived (RI-62) */
void read_invalidate(void)
{
	ri_wr_type_t type = RI_WR_TYPE_RDMA_READ_LOCAL_INVALIDATE;
	ri_data_seg_t seg[2];
	struct region sink;
	ri_mr_info_t info;
	ri_rc_wc_t wc;

	open_pair();
	memset(b.buf + 4096, 9, 100);
	sink = reg_in(&a, a.pd, RI_MEM_FLAGS_LOCAL | RI_MEM_FLAGS_REMOTE_WRITE);
	seg[0] = seg_of(&a, 0, 100);
	seg[0].tag.ltag = sink.ltag;
	seg[1] = seg[0];
	expect(RI_RET_WR_SG_INVALID_FORMAT, ri_qp_post_rdma_read(a.rnic, a.qp, type, SIGNALED, 1, seg,
								 0, 2, b.rtag, &err));
	expect(RI_RET_SUCCESS, ri_qp_post_rdma_read(a.rnic, a.qp, type, SIGNALED, 2, seg,
						    (uintptr_t)b.buf + 4096, 1, b.rtag, &err));
	wc = take(&a, a.scq, 2, RI_WC_TYPE_RDMA_READ_LOCAL_INVALIDATE, RI_WC_STATUS_SUCCESS);
	require(wc.bytes_transferred == 100 && a.buf[0] == 9 && a.buf[99] == 9 && !a.buf[100],
		"data");
	expect(RI_RET_SUCCESS, ri_mr_query(a.rnic, sink.mr, &info, &err));
	require(info.stag_state == RI_STAG_STATE_INVALID, "invalidated");
	expect(RI_RET_SUCCESS, ri_qp_post_rdma_read(a.rnic, a.qp, RI_WR_TYPE_RDMA_READ, SIGNALED, 3,
						    seg, (uintptr_t)b.buf, 1, b.rtag, &err));
	take(&a, a.scq, 3, RI_WC_TYPE_RDMA_READ, RI_WC_STATUS_INVALID_STAG_ERROR);
	end_region(&a, &sink);
	close_pair();
}

/* Results of a post: return code, completion and events (D-8) */
struct told {
	ri_api_return_t ret;
	ri_wc_status_t status;
	unsigned int immediate, wcs, events;
};

static struct told tell(ri_wr_t *wr)
{
	struct told t = { 0 };
	struct rix_event event;
	uint64_t end = now_ms() + LONG_MS;
	uint_t one = 1;
	ri_wc_t wc;

	open_pair();
	listen_to(&a);
	wr->wr_send.sg_list->addr.vaddr += (uintptr_t)a.buf;
	wr->wr_send.sg_list->tag.ltag ^= a.ltag;
	if (wr->wr_common.type == RI_WR_TYPE_RDMA_WRITE)
		wr->wr_rdma_write.rtag ^= b.rtag;
	if (wr->wr_common.type == RI_WR_TYPE_RDMA_READ)
		wr->wr_rdma_read.rtag ^= b.rtag;
	t.ret = ri_qp_postsq(a.rnic, a.qp, wr, &one, &err);
	t.immediate = t.ret != RI_RET_SUCCESS;
	if (t.immediate)
		end = now_ms() + 50;
	while (now_ms() < end) {
		one = 1;
		if (!ri_cq_poll(a.rnic, a.scq, &wc, &one, &err)) {
			t.status = wc.rc_wc.op_status;
			t.wcs += wc.rc_wc.op_status != RI_WC_STATUS_SUCCESS;
			end = now_ms() + 300;	/* and nothing more */
		}
		if (!rix_get_event(a.rnic, &event, &err))
			t.events++;
		usleep(1000);
	}
	close_pair();
	return t;
}

void errors_once(void)
{
	static const struct {
		const char *what;
		uint32_t type, flags, num, len, at, tag;
		ri_api_return_t ret;
		ri_wc_status_t status;
		unsigned int events;
	} rows[] = {
		{ "what the peer refuses", RI_WR_TYPE_RDMA_WRITE, 1, 1, 10, 0, 0, 0, 0, 1 },
		{ "a type that is none", 77, 1, 1, 10, 0, 0, RI_RET_WR_INVALID_TYPE, 0, 0 },
		{ "a flag of others", RI_WR_TYPE_SEND, 0x11, 1, 10, 0, 0, RI_RET_WR_INVALID_FLAGS, 0,
		  0 },
		{ "a long list", RI_WR_TYPE_SEND, 1, 60, 10, 0, 0, RI_RET_RNIC_SG_LIMIT_EXCEEDED, 0,
		  0 },
		{ "an LTag", RI_WR_TYPE_RDMA_WRITE, 1, 1, 10, 0, 0x100, 0,
		  RI_WC_STATUS_INVALID_STAG_ERROR, 0 },
		{ "bounds", RI_WR_TYPE_RDMA_WRITE, 1, 1, 10, BUF_BYTES, 0, 0,
		  RI_WC_STATUS_BASE_BOUNDS_VIOLATION_ERROR, 0 },
	};
	ri_data_seg_t seg[64];
	struct told t;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		ri_wr_t wr = { .wr_send = { (ri_wr_type_t)rows[i].type, (ri_wr_flags_t)rows[i].flags,
					    1, seg, 0, rows[i].num, 0 } };

		memset(seg, 0, sizeof(seg));
		seg[0].addr.vaddr = rows[i].at;
		seg[0].tag.ltag = rows[i].tag;
		seg[0].len = rows[i].len;
		if (rows[i].type == RI_WR_TYPE_RDMA_WRITE)
			wr.wr_rdma_write = (ri_wr_rdma_write_t){ RI_WR_TYPE_RDMA_WRITE, SIGNALED, 1,
								 seg, 0, 0, 1, 0 };
		t = tell(&wr);
		require(t.ret == rows[i].ret && t.status == rows[i].status &&
			t.immediate == !!rows[i].ret && t.wcs == !!rows[i].status &&
			t.events == rows[i].events, "%s: %d, status %d, %u completions, %u events",
			rows[i].what, t.ret, t.status, t.wcs, t.events);
	}
}

/* vp_data, for the provider's kernel part, is ignored (RI-84) */
void vp_data(void)
{
	ri_cq_attr_t cq = { .num_cqe = 4 };
	ri_rnic_handle_t rnic;
	ri_cq_handle_t c;
	ri_pd_handle_t pd;

	expect(RI_RET_SUCCESS, ri_rnic_get_hdl(find_vp(), RI_CONSUMER_LOCATION_USER, &rnic, STALE,
					       NULL, &err));
	expect(RI_RET_SUCCESS, ri_pd_alloc(rnic, &pd, STALE, NULL, &err));
	expect(RI_RET_SUCCESS, ri_cq_create(rnic, &cq, &c, STALE, NULL, &err));
	expect(RI_RET_SUCCESS, ri_cq_destroy(rnic, c, &err));
	expect(RI_RET_SUCCESS, ri_pd_dealloc(rnic, pd, &err));
	expect(RI_RET_SUCCESS, ri_rnic_free_hdl(find_vp(), rnic, &err));
}

/* No address of anything, and another one for each object */
static ri_os_data_t opaque_of(unsigned int n)
{
	return (ri_os_data_t)(0xdead0000UL + n);
}

static void own_event(ri_rnic_handle_t rnic, ri_os_data_t want)
{
	struct pollfd fd = { .fd = rix_event_fd(rnic), .events = POLLIN };
	struct rix_event event;

	require(poll(&fd, 1, LONG_MS) == 1, "an event");
	expect(RI_RET_SUCCESS, rix_get_event(rnic, &event, &err));
	require(event.record.event_data.resource_os_data == want, "%p",
		event.record.event_data.resource_os_data);
}

/* 4.6.1: os_data is the consumer's: completions, events and queries have it, and nothing reads it */
void os_data(void)
{
	ri_mr_reg_attr_t mr_attr = { .length = BUF_BYTES, .mem_attr = RI_MEM_FLAGS_LOCAL };
	ri_srq_attr_t srq_attr = { .max_wrs = 8, .max_sgl = 1 };
	ri_cq_attr_t cq_attr = { .num_cqe = 16 };
	ri_data_seg_t seg = { .len = 10 };
	uint64_t end = now_ms() + LONG_MS;
	ri_rtag_t rtag = 0;
	struct end before;
	ri_mw_handle_t mw;
	ri_srq_handle_t srq;
	ri_qp_attr_t attr;
	ri_rc_wc_t rc;
	uint_t one;
	ri_wc_t wc;

	open_end(&a);
	open_end(&b);
	before = b;
	expect(RI_RET_SUCCESS, ri_rnic_get_hdl(find_vp(), RI_CONSUMER_LOCATION_USER, &b.rnic, NULL,
					       opaque_of(1), &err));
	expect(RI_RET_SUCCESS, ri_pd_alloc(b.rnic, &b.pd, NULL, opaque_of(2), &err));
	mr_attr.pd = srq_attr.pd = b.pd;
	mr_attr.va = (uintptr_t)b.buf;
	expect(RI_RET_SUCCESS, ri_mr_reg(b.rnic, &mr_attr, &b.mr, &b.ltag, NULL, NULL, opaque_of(3),
					 &err));
	expect(RI_RET_SUCCESS, ri_mr_rereg(b.rnic, b.mr, RI_MR_REREG_ACCESS, &mr_attr, &b.mr,
					   &b.ltag, NULL, NULL, opaque_of(4), &err));
	expect(RI_RET_SUCCESS, ri_mw_alloc(b.rnic, b.pd, RI_MW_TYPE_NARROW, &mw, &rtag, NULL,
					   opaque_of(5), &err));
	expect(RI_RET_SUCCESS, ri_cq_create(b.rnic, &cq_attr, &b.scq, NULL, opaque_of(6), &err));
	expect(RI_RET_SUCCESS, ri_cq_create(b.rnic, &cq_attr, &b.rcq, NULL, opaque_of(7), &err));
	expect(RI_RET_SUCCESS, ri_srq_create(b.rnic, &srq_attr, &srq, NULL, opaque_of(8), &err));
	attr = qp_attr_of(&b);
	attr.srq_valid = 1;
	attr.srq.srq_handle = srq;
	expect(RI_RET_SUCCESS, ri_qp_create(b.rnic, &attr, &b.qp, NULL, opaque_of(9), &err));
	expect(RI_RET_SUCCESS, ri_qp_query(b.rnic, b.qp, &attr, &err));
	require(attr.scq.scq_os_data == opaque_of(6) && attr.rcq.rcq_os_data == opaque_of(7) &&
		attr.srq.srq_os_data == opaque_of(8), "%p, %p, %p", attr.scq.scq_os_data,
		attr.rcq.rcq_os_data, attr.srq.srq_os_data);
	listen_to(&b);
	connect_sockets();
	turn(false, true);
	srq_attr.lowat = 1;
	seg.addr.vaddr = (uintptr_t)b.buf;
	seg.tag.ltag = b.ltag;
	expect(RI_RET_SUCCESS, ri_srq_post_recv(b.rnic, srq, NONE, 1, &seg, 1, &err));
	expect(RI_RET_SUCCESS, ri_srq_modify(b.rnic, srq, RI_SRQ_ATTR_LOWAT, &srq_attr, &err));
	post_send(&a, 1, 0, 10);
	own_event(b.rnic, opaque_of(8));
	do
		one = 1;
	while (ri_cq_poll(b.rnic, b.rcq, &wc, &one, &err) && now_ms() < end);
	rc = wc.rc_wc;
	require(one && rc.cq_os_data == opaque_of(7) && rc.qp_os_data == opaque_of(9), "%p, %p",
		rc.cq_os_data, rc.qp_os_data);
	set_state(&a, RI_QP_STATE_ERROR, RI_RET_SUCCESS);
	own_event(b.rnic, opaque_of(9));
	expect(RI_RET_SUCCESS, ri_qp_destroy(b.rnic, b.qp, &err));
	expect(RI_RET_SUCCESS, ri_srq_destroy(b.rnic, srq, &err));
	expect(RI_RET_SUCCESS, ri_cq_destroy(b.rnic, b.scq, &err));
	expect(RI_RET_SUCCESS, ri_cq_destroy(b.rnic, b.rcq, &err));
	expect(RI_RET_SUCCESS, ri_mw_dealloc(b.rnic, mw, &err));
	expect(RI_RET_SUCCESS, ri_mr_dereg(b.rnic, b.mr, &err));
	expect(RI_RET_SUCCESS, ri_pd_dealloc(b.rnic, b.pd, &err));
	expect(RI_RET_SUCCESS, ri_rnic_free_hdl(find_vp(), b.rnic, &err));
	before.fd = b.fd;
	b = before;
	close_pair();
}
