// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* kernel/phys.c, mr.c: regions of physical memory, fast-register, STag 0. */
#include <linux/mm.h>
#include "rnicpi/kernel/rnic.h"
#include "rnicpi_pair.h"
#include "srnic.h"

#define OK	RI_RET_SUCCESS
#define VA	(5 * PAGE_SIZE)
#define ALL	(RI_MEM_FLAGS_LOCAL | RI_MEM_FLAGS_REMOTE)

/* ri_mr_reg_phys: pages in any order form a region; each error has its own code */
static void pages(struct kunit *test)
{
	struct pair *p = pair_connected(test);
	ri_mr_reg_phys_attr_t attr, good;
	ri_phys_addr_t list[2];
	ri_mr_handle_t mr, out;
	ri_mr_info_t info;
	ri_ltag_t ltag;
	ri_rtag_t rtag;

	pair_two_pages(&p->b, list);
	good = pair_phys_attr(p, list, 2, 0x10000 + 100, 2 * PAGE_SIZE - 100);
#define REG(rt)	ri_mr_reg_phys(p->rnic, &attr, &mr, &ltag, rt, NULL, NULL, NULL)
#define WRONG(field, value, code) do {						\
	attr = good;								\
	attr.field = value;							\
	KUNIT_EXPECT_EQ_MSG(test, REG(&rtag), code, #field);			\
} while (0)
	WRONG(pble_size, PAGE_SIZE - 1, RI_RET_MEM_INVALID_PBLE_LENGTH);
	WRONG(pble_size, 3 * PAGE_SIZE, RI_RET_MEM_INVALID_PBLE_LENGTH);
	WRONG(pble_size, 512, RI_RET_MEM_INVALID_PBLE_LENGTH);
	WRONG(phys_buf_list, NULL, RI_RET_MEM_INVALID_PBLE);
	WRONG(nbufs, 0, RI_RET_MEM_INVALID_LENGTH);
	WRONG(address_offset, PAGE_SIZE, RI_RET_MEM_INVALID_OFFSET);
	WRONG(common.length, 2 * PAGE_SIZE - 99, RI_RET_MEM_INVALID_LENGTH);
	WRONG(common.length, 0, RI_RET_MEM_INVALID_LENGTH);
	WRONG(common.va, 0x10000 + 101, RI_RET_MEM_INVALID_ADDRESS);
	WRONG(common.mem_attr, RI_MEM_FLAGS_REMOTE_WRITE, RI_RET_MEM_INVALID_ACCESS);
	WRONG(common.mem_attr, 1 << 20, RI_RET_MEM_INVALID_ACCESS);
	WRONG(common.pd, p->rnic, RI_RET_PD_INVALID_HANDLE);
	list[1]++;
	WRONG(nbufs, 2, RI_RET_MEM_INVALID_PBLE);
	list[1] = ~0ull << PAGE_SHIFT;
	WRONG(nbufs, 2, RI_RET_MEM_INVALID_PBLE);
	pair_two_pages(&p->b, list);
	attr = good;
	KUNIT_EXPECT_EQ(test, REG(NULL), RI_RET_INVALID_PARAMETER);

	KUNIT_ASSERT_EQ(test, REG(&rtag), OK);
	memset(p->a.mem, 'x', 2 * PAGE_SIZE);
	pair_write_to(p, 0x10000 + 100, rtag, 2 * PAGE_SIZE - 100, RI_WC_STATUS_SUCCESS);
	KUNIT_EXPECT_NULL(test, memchr_inv(p->b.mem, 'x', PAGE_SIZE));
	KUNIT_EXPECT_EQ(test, p->b.mem[PAGE_SIZE + 99], 0);
	KUNIT_EXPECT_NULL(test, memchr_inv(p->b.mem + PAGE_SIZE + 100, 'x', PAGE_SIZE - 100));

	KUNIT_EXPECT_EQ(test, ri_mr_query(p->rnic, mr, &info, NULL), OK);
	KUNIT_EXPECT_EQ(test, info.local_lb, 0x10000 + 100);
	KUNIT_EXPECT_EQ(test, info.remote_ub, 0x10000 + 2 * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, info.stag_state, RI_STAG_STATE_VALID);
	KUNIT_EXPECT_FALSE(test, info.is_shared_region);

	/* rereg: attributes outside the mask stay; after an error the region is gone (RI-50) */
	attr.common.mem_attr = RI_MEM_FLAGS_LOCAL;
	KUNIT_EXPECT_EQ(test, ri_mr_rereg_phys(p->rnic, mr, 0, &attr, &out, &ltag, &rtag, NULL,
					       NULL, NULL), RI_RET_INVALID_PARAMETER);
	KUNIT_EXPECT_EQ(test, ri_mr_rereg_phys(p->rnic, mr, RI_MR_REREG_ACCESS, &attr, &out, &ltag,
					       &rtag, NULL, NULL, NULL), OK);
	KUNIT_EXPECT_PTR_EQ(test, out, mr);
	KUNIT_EXPECT_EQ(test, ri_mr_query(p->rnic, mr, &info, NULL), OK);
	KUNIT_EXPECT_EQ(test, info.local_lb, 0x10000 + 100);
	KUNIT_EXPECT_EQ(test, info.remote_ub, 0);
	attr.pble_size = 1;
	KUNIT_EXPECT_EQ(test, ri_mr_rereg_phys(p->rnic, mr, RI_MR_REREG_TRANSLATE, &attr, &out,
					       &ltag, &rtag, NULL, NULL, NULL),
			RI_RET_MEM_INVALID_PBLE_LENGTH);
	KUNIT_EXPECT_EQ(test, ri_mr_dereg(p->rnic, mr, NULL), RI_RET_MR_INVALID_HANDLE);
	pair_close(p);
}

/* Block mode: blocks of any size, equal ones and others, at any address (L536-41, L5911) */
static void blocks(struct kunit *test)
{
	struct pair *p = pair_idle(test, RI_PHYS_BLOCK_LIST_MODE, 1);
	ri_mr_reg_phys_attr_t attr;
	ri_phys_addr_t list[2];
	ri_phys_buf_t bufs[2];
	ri_mr_handle_t mr;
	ri_ltag_t ltag;
	ri_rtag_t rtag;

	pair_connect(p);
	list[0] = pair_phys(p->b.mem) + 3001;
	list[1] = pair_phys(p->b.mem) + 7;
	attr = pair_phys_attr(p, list, 2, 0, 3000);
	attr.pble_size = 1536;
	KUNIT_ASSERT_EQ(test, REG(&rtag), OK);
	memset(p->a.mem, 'y', PAGE_SIZE);
	pair_write_to(p, 0, rtag, 3000, RI_WC_STATUS_SUCCESS);
	KUNIT_EXPECT_NULL(test, memchr_inv(p->b.mem + 3001, 'y', 1536));
	KUNIT_EXPECT_NULL(test, memchr_inv(p->b.mem + 7, 'y', 3000 - 1536));
	KUNIT_EXPECT_EQ(test, p->b.mem[6], 0);
	KUNIT_EXPECT_EQ(test, p->b.mem[7 + 3000 - 1536], 0);
	KUNIT_EXPECT_EQ(test, ri_mr_dereg(p->rnic, mr, NULL), OK);

	/* of a size that nothing divides; VA modulo size is the offset; a byte more is too long */
	memset(p->b.mem, 0, PAIR_BYTES);
	attr = pair_phys_attr(p, list, 2, 100 * 997 + 990, 1004);
	attr.pble_size = 997;
	attr.address_offset = 989;
	KUNIT_EXPECT_EQ(test, REG(&rtag), RI_RET_MEM_INVALID_ADDRESS);
	attr.address_offset = 990;
	attr.common.length = 1005;
	KUNIT_EXPECT_EQ(test, REG(&rtag), RI_RET_MEM_INVALID_LENGTH);
	attr.common.length = 1004;
	KUNIT_ASSERT_EQ(test, REG(&rtag), OK);
	pair_write_to(p, attr.common.va, rtag, 1004, RI_WC_STATUS_SUCCESS);
	KUNIT_EXPECT_NULL(test, memchr_inv(p->b.mem + 3001 + 990, 'y', 7));
	KUNIT_EXPECT_NULL(test, memchr_inv(p->b.mem + 7, 'y', 997));
	KUNIT_EXPECT_EQ(test, p->b.mem[3001 + 989], 0);
	KUNIT_EXPECT_EQ(test, p->b.mem[3001 + 997], 0);
	KUNIT_EXPECT_EQ(test, p->b.mem[6], 0);
	KUNIT_EXPECT_EQ(test, p->b.mem[7 + 997], 0);
	KUNIT_EXPECT_EQ(test, ri_mr_dereg(p->rnic, mr, NULL), OK);

	memset(p->b.mem, 0, PAIR_BYTES);
	bufs[0] = (ri_phys_buf_t){ pair_phys(p->b.mem) + 5000, 1024 };
	bufs[1] = (ri_phys_buf_t){ pair_phys(p->b.mem), 512 };
	attr = pair_phys_attr(p, NULL, 2, 0, 600);
	attr.phys_buf_list = bufs;
	attr.pble_size = 0;
	/* the offset skips more than a piece of the first block */
	attr.address_offset = 900;
	attr.common.va = 901;
	KUNIT_EXPECT_EQ(test, REG(&rtag), RI_RET_MEM_INVALID_ADDRESS);
	attr.common.va = 900;
	KUNIT_ASSERT_EQ(test, REG(&rtag), OK);
	pair_write_to(p, 900, rtag, 600, RI_WC_STATUS_SUCCESS);
	KUNIT_EXPECT_NULL(test, memchr_inv(p->b.mem + 5900, 'y', 124));
	KUNIT_EXPECT_NULL(test, memchr_inv(p->b.mem, 'y', 600 - 124));
	KUNIT_EXPECT_EQ(test, p->b.mem[5899], 0);
	KUNIT_EXPECT_EQ(test, p->b.mem[600 - 124], 0);
	KUNIT_EXPECT_EQ(test, ri_mr_dereg(p->rnic, mr, NULL), OK);
	bufs[1].phys_len = 0;
	KUNIT_EXPECT_EQ(test, REG(&rtag), RI_RET_MEM_INVALID_PBLE_LENGTH);
	attr.pble_size = RI_MAX_BLOCK + 1;
	attr.phys_buf_list = list;
	KUNIT_EXPECT_EQ(test, REG(&rtag), RI_RET_MEM_INVALID_PBLE_LENGTH);
	pair_close(p);
}

/* ----- fast-register ----- */

static void fmr(struct pair *p, ri_mr_reg_phys_attr_t *attr, ri_ltag_t ltag, ri_mr_handle_t mr,
		ri_wc_status_t status)
{
	KUNIT_EXPECT_EQ(p->test, ri_qp_post_fmr(p->rnic, p->b.qp, RI_WR_TYPE_FAST_REGISTER,
						RI_WR_SIGNALED_FLAG, 60, attr, ltag, ltag, mr,
						NULL), OK);
	pair_expect(p, &p->b, 60, RI_WC_TYPE_FAST_REGISTER, status);
}

/* An STag with room for @room pages or blocks, and rights of @mem_attr */
static ri_ltag_t ltag_for(struct pair *p, uint_t room, u32 mem_attr, ri_mr_handle_t *mr)
{
	ri_ltag_t ltag = 0;
	ri_rtag_t rtag;

	KUNIT_ASSERT_EQ(p->test, ri_ltag_alloc(p->rnic, &room, p->pd, mem_attr, mr, &ltag, &rtag,
					       NULL, NULL, NULL), OK);
	return ltag;
}

static void invalidate(struct pair *p, ri_ltag_t ltag, ri_mr_handle_t mr)
{
	ri_mrw_handle_t handle = { .mr_handle = mr };

	KUNIT_EXPECT_EQ(p->test, ri_qp_post_local_invalidate(p->rnic, p->b.qp,
							     RI_WR_TYPE_LOCAL_INVALIDATE_MR,
							     RI_WR_SIGNALED_FLAG |
							     RI_WR_LOCAL_FENCE_FLAG, 61, ltag, 0,
							     handle, NULL), OK);
	pair_expect(p, &p->b, 61, RI_WC_TYPE_LOCAL_INVALIDATE, RI_WC_STATUS_SUCCESS);
}

/* Replaces the two QPs after an error, and connects the new ones */
static void again(struct pair *p)
{
	ri_qp_attr_t *attr = kunit_kzalloc(p->test, sizeof(*attr), GFP_KERNEL);
	struct pair_end *ends[] = { &p->a, &p->b };
	u32 i;

	KUNIT_ASSERT_NOT_NULL(p->test, attr);
	pair_destroy_qps(p);
	for (i = 0; i < 2; i++) {
		*attr = pair_qp_attr(p, ends[i]);
		attr->enable_stag0_fastreg = 1;
		KUNIT_ASSERT_EQ(p->test, ri_qp_create(p->rnic, attr, &ends[i]->qp, NULL, ends[i],
						      NULL), OK);
	}
	pair_connect(p);
}

/*
 * RI-55, RI-47: a WR registers memory with an STag of ri_ltag_alloc() and the consumer's key; it
 * is used, invalidated and registered again; the WR's status reports each error
 */
static void fast_register(struct kunit *test)
{
	struct pair *p = pair_connected(test);
	ri_mr_reg_phys_attr_t attr, good;
	ri_phys_addr_t list[3];
	ri_mr_handle_t mr;
	ri_ltag_t ltag = 0xab;
	ri_rtag_t rtag;
	uint_t room = 0;

	KUNIT_EXPECT_EQ(test, ri_ltag_alloc(p->rnic, &room, p->pd, ALL, &mr, &ltag, &rtag, NULL,
					    NULL, NULL), RI_RET_INVALID_PARAMETER);
	room = SRNIC_MAX_FR_BLOCKS + 1;
	KUNIT_EXPECT_EQ(test, ri_ltag_alloc(p->rnic, &room, p->pd, ALL, &mr, &ltag, &rtag, NULL,
					    NULL, NULL), RI_RET_RESOURCE_SHORTAGE);
	room = 2;
	KUNIT_ASSERT_EQ(test, ri_ltag_alloc(p->rnic, &room, p->pd, ALL, &mr, &ltag, &rtag, NULL,
					    NULL, NULL), OK);
	KUNIT_EXPECT_EQ(test, room, 2);
	KUNIT_EXPECT_EQ(test, ltag & 0xff, 0xab);
	KUNIT_EXPECT_EQ(test, ltag, rtag);
	pair_two_pages(&p->b, list);
	list[2] = list[0];
	good = pair_phys_attr(p, list, 2, VA, 2 * PAGE_SIZE);

	attr = good;
	ltag = (ltag & ~0xff) | 0x11;
	fmr(p, &attr, ltag, mr, RI_WC_STATUS_SUCCESS);
	memset(p->a.mem, 'z', PAGE_SIZE);
	pair_write_to(p, VA, ltag, PAGE_SIZE, RI_WC_STATUS_SUCCESS);
	KUNIT_EXPECT_NULL(test, memchr_inv(p->b.mem + PAGE_SIZE, 'z', PAGE_SIZE));
	/* invalidated, and registered anew */
	invalidate(p, ltag, mr);
	fmr(p, &attr, ltag + 1, mr, RI_WC_STATUS_SUCCESS);
	/* while it is Valid it cannot be registered */
	fmr(p, &attr, ltag + 1, mr, RI_WC_STATUS_STAG_NOT_IN_INVALID_STATE_ERROR);

	/* immediate errors: the tag or the handle does not match the region */
	again(p);
	KUNIT_EXPECT_EQ(test, ri_qp_post_fmr(p->rnic, p->b.qp, RI_WR_TYPE_FAST_REGISTER, 0, 1,
					     &attr, ltag + 0x100, ltag, mr, NULL),
			RI_RET_MEM_INVALID_LTAG);
	KUNIT_EXPECT_EQ(test, ri_qp_post_fmr(p->rnic, p->b.qp, RI_WR_TYPE_FAST_REGISTER, 0, 1,
					     &attr, ltag, ltag, p->pd, NULL),
			RI_RET_MR_INVALID_HANDLE);
	KUNIT_EXPECT_EQ(test, ri_qp_post_fmr(p->rnic, p->b.qp, RI_WR_TYPE_FAST_REGISTER, 0, 1,
					     NULL, ltag, ltag, mr, NULL), RI_RET_INVALID_PARAMETER);
	KUNIT_EXPECT_EQ(test, ri_mr_dereg(p->rnic, mr, NULL), OK);
	pair_close(p);
}

/* RI-55: each error of a WR's list, one after the other */
static void bad_fast_registers(struct kunit *test)
{
	static const struct {
		uint_t nbufs, pble_size, address_offset;
		u64 va, length;
		u32 mem_attr;
		ri_wc_status_t status;
	} rows[] = {
		{ 2, 1000, 0, VA, 100, ALL, RI_WC_STATUS_INVALID_FMR_PAGE_SIZE_ERROR },
		{ 2, 3 * PAGE_SIZE, 0, VA, 100, ALL, RI_WC_STATUS_INVALID_FMR_PAGE_SIZE_ERROR },
		{ 2, 4 * PAGE_SIZE, 0, VA, 100, ALL, RI_WC_STATUS_INVALID_FMR_PBL_ENTRY_ERROR },
		{ 2, PAGE_SIZE, PAGE_SIZE, VA, 100, ALL, RI_WC_STATUS_INVALID_FMR_FBO_ERROR },
		{ 2, PAGE_SIZE, 0, VA, 0, ALL, RI_WC_STATUS_INVALID_FMR_LENGTH_ERROR },
		{ 2, PAGE_SIZE, 1, VA + 1, 2 * PAGE_SIZE, ALL,
		  RI_WC_STATUS_INVALID_FMR_LENGTH_ERROR },
		{ 2, PAGE_SIZE, 0, VA, 100, RI_MEM_FLAGS_REMOTE_WRITE,
		  RI_WC_STATUS_INVALID_FMR_PERMS_ERROR },
		{ 3, PAGE_SIZE, 0, VA, 100, ALL, RI_WC_STATUS_FMR_PBL_TOO_LONG_ERROR },
		{ 2, PAGE_SIZE, 0, VA + 1, 100, ALL, RI_WC_STATUS_INVALID_FMR_VA_ERROR },
		{ 2, PAGE_SIZE, 0, ~0ull << PAGE_SHIFT, 2 * PAGE_SIZE, ALL,
		  RI_WC_STATUS_INVALID_FMR_VA_ERROR },
	};
	struct pair *p = pair_connected(test);
	ri_mr_reg_phys_attr_t attr;
	ri_phys_addr_t list[3];
	ri_mr_handle_t mr;
	ri_ltag_t ltag;
	u32 i;

	ltag = ltag_for(p, 2, ALL, &mr);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		pair_two_pages(&p->b, list);
		list[2] = list[0];
		attr = pair_phys_attr(p, list, rows[i].nbufs, rows[i].va, rows[i].length);
		attr.pble_size = rows[i].pble_size;
		attr.address_offset = rows[i].address_offset;
		attr.common.mem_attr = rows[i].mem_attr;
		kunit_info(test, "row %u\n", i);
		fmr(p, &attr, ltag, mr, rows[i].status);
		again(p);
	}
	KUNIT_EXPECT_EQ(test, ri_mr_dereg(p->rnic, mr, NULL), OK);
	pair_close(p);
}

/* a's memory is read from a region of b, and written there again */
static void read_back(struct pair *p, u64 to, ri_rtag_t rtag, u32 len)
{
	ri_data_seg_t seg = pair_seg(&p->a, 0, len);
	u32 i;

	for (i = 0; i < len; i++)
		p->a.mem[i] = 1 + i % 101;
	pair_write_to(p, to, rtag, len, RI_WC_STATUS_SUCCESS);
	memset(p->a.mem, 0, len);
	KUNIT_EXPECT_EQ(p->test, ri_qp_post_rdma_read(p->rnic, p->a.qp, RI_WR_TYPE_RDMA_READ,
						      RI_WR_SIGNALED_FLAG, 70, &seg, to, 1, rtag,
						      NULL), OK);
	pair_expect(p, &p->a, 70, RI_WC_TYPE_RDMA_READ, RI_WC_STATUS_SUCCESS);
	for (i = 0; i < len; i++)
		if (p->a.mem[i] != 1 + i % 101)
			KUNIT_FAIL(p->test, "octet %u", i);
}

/*
 * As many blocks as an STag of ri_ltag_alloc() was allocated for, of any size, are registered by a
 * WR, used, invalidated and registered anew
 */
static void fast_register_blocks(struct kunit *test)
{
	struct pair *p = pair_idle(test, RI_PHYS_BLOCK_LIST_MODE, 1);
	ri_mr_reg_phys_attr_t attr;
	ri_phys_addr_t list[3];
	ri_mr_handle_t mr;
	ri_ltag_t ltag;
	u32 i;

	pair_connect(p);
	ltag = ltag_for(p, 3, ALL, &mr);
	for (i = 1; i <= 2; i++) {
		list[0] = pair_phys(p->b.mem) + 5001;
		list[1] = pair_phys(p->b.mem) + i;
		list[2] = pair_phys(p->b.mem) + 2500;
		attr = pair_phys_attr(p, list, 3, i * 1000 + i, 3000 - i);
		attr.pble_size = 1000;
		attr.address_offset = i;
		fmr(p, &attr, ltag + i, mr, RI_WC_STATUS_SUCCESS);
		read_back(p, attr.common.va, ltag + i, 3000 - i);
		KUNIT_EXPECT_EQ(test, p->b.mem[5001 + i], 1);
		KUNIT_EXPECT_EQ(test, p->b.mem[i], 1 + (1000 - i) % 101);
		KUNIT_EXPECT_EQ(test, p->b.mem[2500 + 999], 1 + (3000 - i - 1) % 101);
		KUNIT_EXPECT_EQ(test, p->b.mem[2500 + 1000], 0);
		invalidate(p, ltag + i, mr);
	}
	attr.common.length++;
	fmr(p, &attr, ltag, mr, RI_WC_STATUS_INVALID_FMR_LENGTH_ERROR);
	KUNIT_EXPECT_EQ(test, ri_mr_dereg(p->rnic, mr, NULL), OK);
	pair_close(p);
}

/*
 * MR-04, MR-35: an STag that was allocated without remote rights cannot get them by a WR, after an
 * invalidation neither; one that was allocated with them may have them, or not
 */
static void remote_access_flag(struct kunit *test)
{
	static const struct {
		u32 mem_attr;
		bool remote;
	} rows[] = {
		{ RI_MEM_FLAGS_LOCAL | RI_MEM_FLAGS_REMOTE_WRITE, true },
		{ RI_MEM_FLAGS_LOCAL_READ | RI_MEM_FLAGS_REMOTE_READ, true },
		{ RI_MEM_FLAGS_LOCAL_READ, false },
		{ RI_MEM_FLAGS_LOCAL, false },
	};
	struct pair *p = pair_connected(test);
	ri_mr_reg_phys_attr_t attr;
	ri_mr_handle_t mr;
	ri_phys_addr_t list[2];
	ri_ltag_t ltag;
	bool refused;
	u32 i;

	pair_two_pages(&p->b, list);
	attr = pair_phys_attr(p, list, 2, VA, 100);
	for (i = 0; i < 2 * ARRAY_SIZE(rows); i++) {
		if (i % ARRAY_SIZE(rows) == 0)
			ltag = ltag_for(p, 2, i ? RI_MEM_FLAGS_LOCAL : ALL, &mr);
		refused = i >= ARRAY_SIZE(rows) && rows[i % ARRAY_SIZE(rows)].remote;
		attr.common.mem_attr = rows[i % ARRAY_SIZE(rows)].mem_attr;
		kunit_info(test, "row %u\n", i);
		fmr(p, &attr, ltag, mr,
		    refused ? RI_WC_STATUS_INVALID_FMR_PERMS_ERROR : RI_WC_STATUS_SUCCESS);
		if (refused) {
			again(p);
			continue;
		}
		invalidate(p, ltag, mr);
		if (i == ARRAY_SIZE(rows) - 1)
			KUNIT_EXPECT_EQ(test, ri_mr_dereg(p->rnic, mr, NULL), OK);
	}
	KUNIT_EXPECT_EQ(test, ri_mr_dereg(p->rnic, mr, NULL), OK);
	pair_close(p);
}

/* A list of two pages, of entries of @size bytes, is refused in mode @mode of the RNIC */
static void refused(struct kunit *test, ri_pbl_mode_t mode, int privileged, u64 va, u32 size,
		    ri_wc_status_t status)
{
	struct pair *p = pair_idle(test, mode, privileged);
	ri_mr_reg_phys_attr_t attr;
	ri_phys_addr_t list[2];
	ri_mr_handle_t mr;
	ri_ltag_t ltag;

	pair_connect(p);
	ltag = ltag_for(p, 2, ALL, &mr);
	pair_two_pages(&p->b, list);
	attr = pair_phys_attr(p, list, 2, va, 100);
	attr.pble_size = size;
	fmr(p, &attr, ltag, mr, status);
	KUNIT_EXPECT_EQ(test, ri_mr_dereg(p->rnic, mr, NULL), OK);
	pair_close(p);
}

/* RI-55: in block mode an invalid block size has another status */
static void bad_block(struct kunit *test)
{
	refused(test, RI_PHYS_BLOCK_LIST_MODE, 1, 0, RI_MAX_BLOCK + 1,
		RI_WC_STATUS_INVALID_FMR_BLOCK_SIZE_ERROR);
}

/* RI-54, RI-55: a QP without the privilege cannot fast-register */
static void not_privileged(struct kunit *test)
{
	refused(test, RI_PHYS_PAGE_LIST_MODE, 0, VA, PAGE_SIZE,
		RI_WC_STATUS_FMR_QP_NOT_PRIVILEGED_ERROR);
}

/* RI-54: and cannot use STag 0 */
static void not_privileged_stag0(struct kunit *test)
{
	struct pair *p = pair_idle(test, RI_PHYS_PAGE_LIST_MODE, 0);
	ri_data_seg_t seg = { .len = 10 };

	pair_connect(p);
	seg.addr.paddr = pair_phys(p->a.mem);
	KUNIT_EXPECT_EQ(test, ri_qp_post_send(p->rnic, p->a.qp, RI_WR_TYPE_SEND,
					      RI_WR_SIGNALED_FLAG, 1, &seg, 0, 1, 0, NULL), OK);
	pair_expect(p, &p->a, 1, RI_WC_TYPE_SEND, RI_WC_STATUS_INVALID_STAG_ERROR);
	pair_close(p);
}

/* RI-54: STag 0 is physical memory, for local access: for Sends and receives, not for peers */
static void stag0(struct kunit *test)
{
	struct pair *p = pair_connected(test);
	ri_data_seg_t out = { .len = 500 }, in = { .len = 500 };

	out.addr.paddr = pair_phys(p->a.mem) + 30;
	in.addr.paddr = pair_phys(p->b.mem) + 77;
	memset(p->a.mem + 30, 's', 500);
	KUNIT_EXPECT_EQ(test, ri_qp_post_recv(p->rnic, p->b.qp, 0, 1, &in, 1, NULL), OK);
	KUNIT_EXPECT_EQ(test, ri_qp_post_send(p->rnic, p->a.qp, RI_WR_TYPE_SEND,
					      RI_WR_SIGNALED_FLAG | RI_WR_INLINE_OK_FLAG, 2, &out,
					      0, 1, 0, NULL), OK);
	pair_expect(p, &p->b, 1, RI_WC_TYPE_DATA_RECEIVED, RI_WC_STATUS_SUCCESS);
	pair_expect(p, &p->a, 2, RI_WC_TYPE_SEND, RI_WC_STATUS_SUCCESS);
	KUNIT_EXPECT_NULL(test, memchr_inv(p->b.mem + 77, 's', 500));
	KUNIT_EXPECT_EQ(test, p->b.mem[77 + 500], 0);
	KUNIT_EXPECT_EQ(test, ri_qp_post_rdma_write(p->rnic, p->a.qp, RI_WR_TYPE_RDMA_WRITE,
						    RI_WR_SIGNALED_FLAG, 3, &out, 0, 0, 1, 0, NULL),
			OK);
	pair_expect(p, &p->a, 3, RI_WC_TYPE_RDMA_WRITE, RI_WC_STATUS_INVALID_STAG_ERROR);
	pair_close(p);
}

static struct kunit_case phys_cases[] = {
	KUNIT_CASE(pages),
	KUNIT_CASE(blocks),
	KUNIT_CASE(fast_register),
	KUNIT_CASE(bad_fast_registers),
	KUNIT_CASE(fast_register_blocks),
	KUNIT_CASE(remote_access_flag),
	KUNIT_CASE(bad_block),
	KUNIT_CASE(not_privileged),
	KUNIT_CASE(not_privileged_stag0),
	KUNIT_CASE(stag0),
	{}
};

static struct kunit_suite phys_suite = {
	.name = "srnic-rnicpi-phys",
	.test_cases = phys_cases,
};

kunit_test_suite(phys_suite);
