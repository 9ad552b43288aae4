// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* kernel/mr.c, mw.c, pin.c: regions of kernel memory, shared ones, windows, pins and maps. */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/io.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "rnicpi_pair.h"

#define OK	RI_RET_SUCCESS
#define ALL	(RI_MEM_FLAGS_LOCAL | RI_MEM_FLAGS_REMOTE)

/* ri_mr_reg of vmalloc memory; other addresses are refused */
static void kernel_memory(struct kunit *test)
{
	struct pair *p = pair_connected(test);
	ri_mr_reg_attr_t attr = { .mem_attr = ALL, .pd = p->pd, .length = 3 * PAGE_SIZE };
	char *mem = vmalloc(4 * PAGE_SIZE);
	ri_mr_handle_t mr;
	ri_ltag_t ltag;
	ri_rtag_t rtag;

	KUNIT_ASSERT_NOT_NULL(test, mem);
	memset(mem, 0, 4 * PAGE_SIZE);
	attr.va = (uintptr_t)mem + 5;
	KUNIT_ASSERT_EQ(test, ri_mr_reg(p->rnic, &attr, &mr, &ltag, &rtag, NULL, NULL, NULL), OK);
	memset(p->a.mem, 'v', 3 * PAGE_SIZE);
	pair_write_to(p, attr.va, rtag, 3 * PAGE_SIZE, RI_WC_STATUS_SUCCESS);
	KUNIT_EXPECT_NULL(test, memchr_inv(mem + 5, 'v', 3 * PAGE_SIZE));
	KUNIT_EXPECT_EQ(test, mem[4], 0);
	KUNIT_EXPECT_EQ(test, mem[5 + 3 * PAGE_SIZE], 0);
	KUNIT_EXPECT_EQ(test, ri_mr_dereg(p->rnic, mr, NULL), OK);
#define BAD(field, value, code) do {							\
	ri_mr_reg_attr_t bad = attr;							\
											\
	bad.field = value;								\
	KUNIT_EXPECT_EQ_MSG(test, ri_mr_reg(p->rnic, &bad, &mr, &ltag, &rtag, NULL, NULL,	\
					    NULL), code, #field);			\
} while (0)
	BAD(va, 0, RI_RET_MEM_INVALID_ADDRESS);
	BAD(length, 0, RI_RET_MEM_INVALID_LENGTH);
	BAD(length, 1ull << 40, RI_RET_MEM_INVALID_LENGTH);
	/* no process is associated with the RNIC handle (L5833) */
	BAD(mem_attr, ALL | RI_MEM_FLAGS_USER_VA, RI_RET_MEM_INVALID_ADDRESS);
	BAD(mem_attr, RI_MEM_FLAGS_REMOTE_WRITE, RI_RET_MEM_INVALID_ACCESS);
	BAD(pd, NULL, RI_RET_PD_INVALID_HANDLE);
	vfree(mem);
	pair_close(p);
}

#define REREG(region, mask, tag)							\
	ri_mr_rereg(p->rnic, region, mask, &attr, &out, &ltag, tag, NULL, NULL, NULL)

/* Is the region as it was? */
static bool is_valid(const struct pair *p, ri_mr_handle_t mr, ri_ltag_t ltag)
{
	ri_mr_info_t info;

	return ri_mr_query(p->rnic, mr, &info, NULL) == OK &&
	       info.stag_state == RI_STAG_STATE_VALID && info.ltag == ltag;
}

/* RI-50: four codes leave a region as it was, with any other it is gone (L3781) */
static void rereg(struct kunit *test)
{
	struct pair *p = pair_connected(test);
	ri_mr_reg_attr_t attr = { .mem_attr = ALL, .pd = p->pd }, mine = {
		.va = (uintptr_t)p->b.mem, .length = 100, .mem_attr = RI_MEM_FLAGS_LOCAL,
		.pd = p->pd,
	};
	const struct {
		u32 mask, mem_attr;
		ri_pd_handle_t pd;
		u64 va, length;
		ri_api_return_t ret;
	} ends[] = {
		{ RI_MR_REREG_PD, 0, p->a.cq, 0, 0, RI_RET_PD_INVALID_HANDLE },
		{ RI_MR_REREG_ACCESS, RI_MEM_FLAGS_REMOTE_WRITE, NULL, 0, 0,
		  RI_RET_MEM_INVALID_ACCESS },
		{ RI_MR_REREG_TRANSLATE, 0, NULL, mine.va, 0, RI_RET_MEM_INVALID_LENGTH },
		{ RI_MR_REREG_TRANSLATE, 0, NULL, mine.va, 1ull << 40, RI_RET_MEM_INVALID_LENGTH },
		{ RI_MR_REREG_TRANSLATE, 0, NULL, 0, 100, RI_RET_MEM_INVALID_ADDRESS },
		{ RI_MR_REREG_TRANSLATE, 0, NULL, ~0ull - 10, 100, RI_RET_MEM_INVALID_ADDRESS },
	};
	ri_ltag_t was = p->a.tag, ltag = 0;
	ri_mr_handle_t mr, out;
	ri_rtag_t rtag;
	u32 i;

	/* remote rights are asked for, without an RTag */
	KUNIT_EXPECT_EQ(test, REREG(p->a.mr, RI_MR_REREG_ACCESS, NULL), RI_RET_INVALID_PARAMETER);
	KUNIT_EXPECT_TRUE(test, is_valid(p, p->a.mr, was));
	KUNIT_EXPECT_EQ(test, REREG(p->a.mr, 0, &rtag), RI_RET_INVALID_PARAMETER);
	KUNIT_EXPECT_EQ(test, REREG(p->a.mr, 1 << 9, &rtag), RI_RET_INVALID_PARAMETER);
	KUNIT_EXPECT_EQ(test, REREG(p->pd, RI_MR_REREG_PD, &rtag), RI_RET_MR_INVALID_HANDLE);
	KUNIT_EXPECT_TRUE(test, is_valid(p, p->a.mr, was));
	/* remote rights that it has already, and are not asked for, need none (L3753) */
	KUNIT_EXPECT_EQ(test, REREG(p->a.mr, RI_MR_REREG_PD, NULL), OK);
	KUNIT_EXPECT_TRUE(test, is_valid(p, p->a.mr, ltag));

	for (i = 0; i < ARRAY_SIZE(ends); i++) {
		KUNIT_ASSERT_EQ(test, ri_mr_reg(p->rnic, &mine, &mr, &ltag, NULL, NULL, NULL,
						NULL), OK);
		attr = (ri_mr_reg_attr_t){
			.va = ends[i].va, .length = ends[i].length, .pd = ends[i].pd,
			.mem_attr = ends[i].mem_attr,
		};
		KUNIT_EXPECT_EQ_MSG(test, REREG(mr, ends[i].mask, &rtag), ends[i].ret, "%u", i);
		KUNIT_EXPECT_EQ_MSG(test, ri_mr_dereg(p->rnic, mr, NULL),
				    RI_RET_MR_INVALID_HANDLE, "%u", i);
	}
	pair_close(p);
}

struct again {
	struct pair *p;
	ri_api_return_t ret;
	struct completion done;
};

static int rereg_thread(void *data)
{
	struct again *t = data;
	struct pair *p = t->p;
	ri_mr_reg_attr_t attr = { .mem_attr = RI_MEM_FLAGS_LOCAL };
	ri_mr_handle_t out;
	ri_ltag_t ltag;

	t->ret = REREG(p->a.mr, RI_MR_REREG_ACCESS, NULL);
	complete(&t->done);
	return 0;
}

/* RI-05: a post that has looked a region up has it for as long as it takes */
static void rereg_waits_for_posts(struct kunit *test)
{
	struct pair *p = pair_idle(test, RI_PHYS_PAGE_LIST_MODE, 0);
	struct again t = { .p = p };
	struct task_struct *task = kthread_create(rereg_thread, &t, "kunit-rereg");
	u32 i;

	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	init_completion(&t.done);
	/* as a post; with a single CPU the thread begins afterwards */
	rcu_read_lock();
	wake_up_process(task);
	for (i = 0; i < 300 && !completion_done(&t.done); i++)
		mdelay(1);
	KUNIT_EXPECT_FALSE(test, completion_done(&t.done));
	rcu_read_unlock();
	KUNIT_ASSERT_GT(test, wait_for_completion_timeout(&t.done, 10 * HZ), 0);
	KUNIT_EXPECT_EQ(test, t.ret, OK);
	pair_close(p);
}

/* RI-47: with RI_MEM_FLAGS_CONSUMER_OWNS_KEY a region has the key of the LTag that was passed */
static void keys(struct kunit *test)
{
	struct pair *p = pair_connected(test);
	ri_mr_reg_attr_t attr = {
		.va = (uintptr_t)p->b.mem, .length = PAGE_SIZE, .pd = p->pd,
		.mem_attr = ALL | RI_MEM_FLAGS_CONSUMER_OWNS_KEY,
	};
	ri_ltag_t ltag = 0x42, second = 0x43, third = 0x45, old;
	ri_phys_addr_t list[1] = { pair_phys(p->b.mem) & PAGE_MASK };
	ri_mr_reg_phys_attr_t pages = pair_phys_attr(p, list, 1, 0x10000, PAGE_SIZE);
	ri_rnic_attr_t *rnic = kunit_kzalloc(test, 4096, GFP_KERNEL);
	ri_mr_handle_t mr, shared, listed, out;
	uint_t size = 4096;
	ri_mr_info_t info;
	ri_rtag_t rtag;

	KUNIT_ASSERT_NOT_NULL(test, rnic);
	KUNIT_EXPECT_EQ(test, ri_rnic_query(p->rnic, 0, rnic, &size, NULL), OK);
	KUNIT_EXPECT_TRUE(test, rnic->rnic_flags & RI_RNIC_EXT_INDEX_KEY_SPLIT);

	KUNIT_ASSERT_EQ(test, ri_mr_reg(p->rnic, &attr, &mr, &ltag, &rtag, NULL, NULL, NULL), OK);
	KUNIT_EXPECT_EQ(test, ltag & 0xff, 0x42);
	KUNIT_EXPECT_EQ(test, ltag, rtag);
	KUNIT_EXPECT_EQ(test, ri_mr_query(p->rnic, mr, &info, NULL), OK);
	KUNIT_EXPECT_EQ(test, info.ltag, ltag);
	KUNIT_EXPECT_TRUE(test, info.attr.mem_attr & RI_MEM_FLAGS_CONSUMER_OWNS_KEY);
	memset(p->a.mem, 'k', 100);
	pair_write_to(p, attr.va, rtag, 100, RI_WC_STATUS_SUCCESS);
	KUNIT_EXPECT_NULL(test, memchr_inv(p->b.mem, 'k', 100));

	/* a new key, with whatever else changes */
	old = ltag;
	ltag = 0x44;
	KUNIT_EXPECT_EQ(test, REREG(mr, RI_MR_REREG_ACCESS, &rtag), OK);
	KUNIT_EXPECT_EQ(test, ltag & 0xff, 0x44);
	KUNIT_EXPECT_NE(test, ltag, old);
	pair_write_to(p, attr.va, rtag, 100, RI_WC_STATUS_SUCCESS);

	KUNIT_ASSERT_EQ(test, ri_mr_reg_shared(p->rnic, mr, &attr, &shared, &second, &rtag, NULL,
					       NULL, NULL), OK);
	KUNIT_EXPECT_EQ(test, second & 0xff, 0x43);
	pair_write_to(p, attr.va, rtag, 100, RI_WC_STATUS_SUCCESS);

	pages.common.mem_attr |= RI_MEM_FLAGS_CONSUMER_OWNS_KEY;
	KUNIT_ASSERT_EQ(test, ri_mr_reg_phys(p->rnic, &pages, &listed, &third, &rtag, NULL, NULL,
					     NULL), OK);
	KUNIT_EXPECT_EQ(test, third & 0xff, 0x45);
	third = 0x46;
	KUNIT_EXPECT_EQ(test, ri_mr_rereg_phys(p->rnic, listed, RI_MR_REREG_TRANSLATE, &pages,
					       &out, &third, &rtag, NULL, NULL, NULL), OK);
	KUNIT_EXPECT_EQ(test, third & 0xff, 0x46);
	pair_write_to(p, 0x10000, rtag, 100, RI_WC_STATUS_SUCCESS);
	KUNIT_EXPECT_EQ(test, ri_mr_dereg(p->rnic, listed, NULL), OK);
	KUNIT_EXPECT_EQ(test, ri_mr_dereg(p->rnic, shared, NULL), OK);
	KUNIT_EXPECT_EQ(test, ri_mr_dereg(p->rnic, mr, NULL), OK);
	pair_close(p);
}

/* RI-53: a shared region has the same memory and its own rights; both stay shared */
static void shared(struct kunit *test)
{
	struct pair *p = pair_connected(test);
	ri_mr_reg_attr_t attr = { .va = (uintptr_t)p->b.mem, .mem_attr = RI_MEM_FLAGS_LOCAL_READ,
				  .pd = p->pd };
	ri_mr_reg_phys_attr_t phys = { .common = attr };
	ri_mrw_handle_t handle;
	ri_mr_handle_t mr, out;
	ri_mr_info_t info;
	ri_ltag_t ltag;

	/* RI-89: its length is of the output; so is NONCOHERENT, and a call that fails has none */
	attr.mem_attr |= RI_MEM_FLAGS_NONCOHERENT;
	attr.length = 77;
	attr.pd = NULL;
	KUNIT_EXPECT_EQ(test, ri_mr_reg_shared(p->rnic, p->b.mr, &attr, &mr, &ltag, NULL, NULL,
					       NULL, NULL), RI_RET_PD_INVALID_HANDLE);
	KUNIT_EXPECT_EQ(test, attr.length, 77);
	attr.pd = p->pd;
	KUNIT_ASSERT_EQ(test, ri_mr_reg_shared(p->rnic, p->b.mr, &attr, &mr, &ltag, NULL, NULL,
					       NULL, NULL), OK);
	KUNIT_EXPECT_EQ(test, attr.length, PAIR_BYTES);
	KUNIT_EXPECT_EQ(test, attr.mem_attr, RI_MEM_FLAGS_LOCAL_READ);
	KUNIT_EXPECT_NE(test, ltag, p->b.tag);
	KUNIT_EXPECT_EQ(test, ri_mr_query(p->rnic, mr, &info, NULL), OK);
	KUNIT_EXPECT_TRUE(test, info.is_shared_region);
	KUNIT_EXPECT_EQ(test, info.attr.mem_attr, RI_MEM_FLAGS_LOCAL_READ);
	KUNIT_EXPECT_EQ(test, ri_mr_query(p->rnic, p->b.mr, &info, NULL), OK);
	KUNIT_EXPECT_TRUE(test, info.is_shared_region);
	KUNIT_EXPECT_EQ(test, ri_mr_rereg_phys(p->rnic, mr, RI_MR_REREG_ACCESS, &phys, &out, &ltag,
					       NULL, NULL, NULL, NULL), RI_RET_MR_INVALID_HANDLE);
	handle.mr_handle = mr;
	KUNIT_EXPECT_EQ(test, ri_qp_post_local_invalidate(p->rnic, p->b.qp,
							  RI_WR_TYPE_LOCAL_INVALIDATE_MR,
							  RI_WR_SIGNALED_FLAG, 1, ltag, 0, handle,
							  NULL), OK);
	pair_expect(p, &p->b, 1, RI_WC_TYPE_LOCAL_INVALIDATE, RI_WC_STATUS_ACCESS_VIOLATION_ERROR);
	/* it can be registered anew, and is shared for ever (L754, L3767) */
	attr.mem_attr = RI_MEM_FLAGS_LOCAL;
	KUNIT_EXPECT_EQ(test, REREG(mr, RI_MR_REREG_ACCESS, NULL), OK);
	KUNIT_EXPECT_EQ(test, ri_mr_query(p->rnic, mr, &info, NULL), OK);
	KUNIT_EXPECT_TRUE(test, info.is_shared_region);
	attr.length = 100;
	KUNIT_EXPECT_EQ(test, REREG(mr, RI_MR_REREG_TRANSLATE, NULL), OK);
	KUNIT_EXPECT_EQ(test, ri_mr_query(p->rnic, mr, &info, NULL), OK);
	KUNIT_EXPECT_TRUE(test, info.is_shared_region);
	KUNIT_EXPECT_TRUE(test, is_valid(p, p->b.mr, p->b.tag));
	KUNIT_EXPECT_EQ(test, ri_mr_dereg(p->rnic, mr, NULL), OK);
	pair_close(p);
}

/* RI-51, RI-57, RI-90: a window is bound and used, holds its region and QP, and is invalidated */
static void window(struct kunit *test)
{
	struct pair *p = pair_connected(test);
	ri_mr_reg_attr_t attr = { .mem_attr = ALL, .pd = p->pd };
	ri_mr_reg_phys_attr_t phys = { };
	ri_qp_attr_t to = { .state = RI_QP_STATE_ERROR };
	ri_stag_state_t state;
	ri_mrw_handle_t handle;
	ri_mem_attr_t rights;
	ri_mr_handle_t out;
	ri_mw_handle_t mw;
	ri_ltag_t ltag;
	ri_rtag_t rtag, is;

	KUNIT_EXPECT_EQ(test, ri_mw_alloc(p->rnic, p->pd, RI_MW_TYPE_WIDE, &mw, &rtag, NULL, NULL,
					  NULL), RI_RET_WINDOW_TYPE_UNSUPPORTED);
	KUNIT_ASSERT_EQ(test, ri_mw_alloc(p->rnic, p->pd, RI_MW_TYPE_NARROW, &mw, &rtag, NULL, NULL,
					  NULL), OK);
	KUNIT_EXPECT_EQ(test, ri_mw_query(p->rnic, mw, NULL, &state, NULL, &rights, NULL, NULL),
			OK);
	KUNIT_EXPECT_EQ(test, state, RI_STAG_STATE_INVALID);
	KUNIT_EXPECT_EQ(test, rights, 0);
	rtag = (rtag & ~0xff) | 0x42;
#define BIND(len, rtag)									\
	ri_qp_post_bind(p->rnic, p->b.qp, RI_WR_TYPE_BIND, RI_WR_SIGNALED_FLAG, 1, mw, rtag,	\
			p->b.mr, p->b.tag, (uintptr_t)p->b.mem + 8, len,			\
			RI_MEM_FLAGS_REMOTE_WRITE, NULL)
	KUNIT_EXPECT_EQ(test, BIND(0, rtag), RI_RET_INVALID_WINDOW_TYPE);
	KUNIT_EXPECT_EQ(test, BIND(100, rtag + 0x100), RI_RET_MEM_INVALID_RTAG);
	KUNIT_ASSERT_EQ(test, BIND(100, rtag), OK);
	pair_expect(p, &p->b, 1, RI_WC_TYPE_BIND, RI_WC_STATUS_SUCCESS);
	KUNIT_EXPECT_EQ(test, ri_mw_query(p->rnic, mw, NULL, &state, NULL, &rights, &is, NULL), OK);
	KUNIT_EXPECT_EQ(test, state, RI_STAG_STATE_VALID);
	KUNIT_EXPECT_EQ(test, rights, RI_MEM_FLAGS_REMOTE_WRITE);
	KUNIT_EXPECT_EQ(test, is, rtag);
	memset(p->a.mem, 'w', 100);
	pair_write_to(p, (uintptr_t)p->b.mem + 8, rtag, 100, RI_WC_STATUS_SUCCESS);
	KUNIT_EXPECT_NULL(test, memchr_inv(p->b.mem + 8, 'w', 100));

	KUNIT_EXPECT_EQ(test, ri_mr_dereg(p->rnic, p->b.mr, NULL), RI_RET_WINDOWS_BOUND);
	KUNIT_EXPECT_EQ(test, ri_mr_rereg(p->rnic, p->b.mr, RI_MR_REREG_ACCESS, &attr, &out, &ltag,
					  &is, NULL, NULL, NULL), RI_RET_WINDOWS_BOUND);
	phys.common = attr;
	KUNIT_EXPECT_EQ(test, ri_mr_rereg_phys(p->rnic, p->b.mr, RI_MR_REREG_ACCESS, &phys, &out,
					       &ltag, &is, NULL, NULL, NULL), RI_RET_WINDOWS_BOUND);
	KUNIT_EXPECT_EQ(test, ri_qp_destroy(p->rnic, p->b.qp, NULL), RI_RET_WINDOWS_BOUND);
	handle.mw_handle = mw;
	KUNIT_EXPECT_EQ(test, ri_qp_post_local_invalidate(p->rnic, p->b.qp,
							  RI_WR_TYPE_LOCAL_INVALIDATE_MW,
							  RI_WR_SIGNALED_FLAG, 2, 0, rtag, handle,
							  NULL), OK);
	pair_expect(p, &p->b, 2, RI_WC_TYPE_LOCAL_INVALIDATE, RI_WC_STATUS_SUCCESS);

	/* bound again, it holds the QP in Error, too */
	KUNIT_ASSERT_EQ(test, BIND(100, rtag), OK);
	pair_expect(p, &p->b, 1, RI_WC_TYPE_BIND, RI_WC_STATUS_SUCCESS);
	KUNIT_EXPECT_EQ(test, ri_qp_modify(p->rnic, p->b.qp, RI_QP_ATTR_NEXT_STATE, &to, NULL), OK);
	to.state = RI_QP_STATE_IDLE;
	KUNIT_EXPECT_EQ(test, ri_qp_modify(p->rnic, p->b.qp, RI_QP_ATTR_NEXT_STATE, &to, NULL),
			RI_RET_WINDOWS_BOUND);
	KUNIT_EXPECT_EQ(test, ri_mw_dealloc(p->rnic, mw, NULL), OK);
	KUNIT_EXPECT_EQ(test, ri_mw_dealloc(p->rnic, mw, NULL), RI_RET_MW_INVALID_HANDLE);
	pair_close(p);
}

struct asker {
	struct pair *p;
	bool stop;
	unsigned int refused;
	struct completion done;
};

static int ask(void *data)
{
	struct asker *t = data;
	struct pair *p = t->p;
	ri_qp_attr_t *qp = kzalloc(sizeof(*qp), GFP_KERNEL);
	ri_mr_info_t mr;

	while (qp && !READ_ONCE(t->stop)) {
		t->refused += ri_qp_query(p->rnic, p->b.qp, qp, NULL) != OK;
		t->refused += ri_mr_query(p->rnic, p->b.mr, &mr, NULL) != OK;
		usleep_range(50, 100);
	}
	kfree(qp);
	complete(&t->done);
	return 0;
}

/* An end that fails since windows are bound changes nothing for other threads meanwhile */
static void refused_ends(struct kunit *test)
{
	struct pair *p = pair_connected(test);
	struct asker t = { .p = p };
	ri_mw_handle_t mw;
	ri_rtag_t rtag;
	u32 i;

	KUNIT_ASSERT_EQ(test, ri_mw_alloc(p->rnic, p->pd, RI_MW_TYPE_NARROW, &mw, &rtag, NULL, NULL,
					  NULL), OK);
	KUNIT_ASSERT_EQ(test, BIND(100, rtag), OK);
	pair_expect(p, &p->b, 1, RI_WC_TYPE_BIND, RI_WC_STATUS_SUCCESS);
	init_completion(&t.done);
	KUNIT_ASSERT_FALSE(test, IS_ERR(kthread_run(ask, &t, "kunit-ask")));
	for (i = 0; i < 20; i++) {
		KUNIT_EXPECT_EQ(test, ri_qp_destroy(p->rnic, p->b.qp, NULL), RI_RET_WINDOWS_BOUND);
		KUNIT_EXPECT_EQ(test, ri_mr_dereg(p->rnic, p->b.mr, NULL), RI_RET_WINDOWS_BOUND);
		usleep_range(1000, 2000);
	}
	WRITE_ONCE(t.stop, true);
	wait_for_completion(&t.done);
	KUNIT_EXPECT_EQ(test, t.refused, 0);
	KUNIT_EXPECT_EQ(test, ri_mw_dealloc(p->rnic, mw, NULL), OK);
	pair_close(p);
}

/* A Read that invalidates its sink (RI-62) */
static void read_invalidate(struct kunit *test)
{
	struct pair *p = pair_connected(test);
	ri_mr_reg_phys_attr_t attr;
	ri_data_seg_t seg[2] = { };
	ri_phys_addr_t list[2];
	ri_mr_handle_t mr;
	ri_mr_info_t info;
	ri_ltag_t ltag;
	ri_rtag_t rtag;

	pair_two_pages(&p->b, list);
	attr = pair_phys_attr(p, list, 2, 0, 2 * PAGE_SIZE);
	KUNIT_ASSERT_EQ(test, ri_mr_reg_phys(p->rnic, &attr, &mr, &ltag, &rtag, NULL, NULL, NULL),
			OK);
	seg[0] = (ri_data_seg_t){ .tag.ltag = ltag, .len = 40 };
	memset(p->a.mem, 'r', 40);
#define READ_INV(n)									\
	ri_qp_post_rdma_read(p->rnic, p->b.qp, RI_WR_TYPE_RDMA_READ_LOCAL_INVALIDATE,		\
			     RI_WR_SIGNALED_FLAG, 1, seg, (uintptr_t)p->a.mem, n, p->a.tag, NULL)
	KUNIT_EXPECT_EQ(test, READ_INV(2), RI_RET_WR_SG_INVALID_FORMAT);
	KUNIT_ASSERT_EQ(test, READ_INV(1), OK);
	pair_expect(p, &p->b, 1, RI_WC_TYPE_RDMA_READ_LOCAL_INVALIDATE, RI_WC_STATUS_SUCCESS);
	KUNIT_EXPECT_EQ(test, p->b.wc.rc_wc.bytes_transferred, 40);
	KUNIT_EXPECT_NULL(test, memchr_inv(p->b.mem + PAGE_SIZE, 'r', 40));
	KUNIT_EXPECT_EQ(test, ri_mr_query(p->rnic, mr, &info, NULL), OK);
	KUNIT_EXPECT_EQ(test, info.stag_state, RI_STAG_STATE_INVALID);
	KUNIT_EXPECT_EQ(test, ri_mr_dereg(p->rnic, mr, NULL), OK);
	pair_close(p);
}

/* ----- pins and maps ----- */

/* RI-59: pins nest and overlap, and end with the same parameters; by RNIC or by service */
static void pins(struct kunit *test)
{
	struct pair *p = pair_idle(test, RI_PHYS_PAGE_LIST_MODE, 0);
	void *data = p, *other = test;
	char *at = p->a.mem;

#define PIN(at, len, data)	ri_mem_pin(p->rnic, at, len, data, NULL)
#define UNPIN(at, len, data)	ri_mem_unpin(p->rnic, at, len, data, NULL)
	KUNIT_EXPECT_EQ(test, PIN(at, 5000, data), OK);
	KUNIT_EXPECT_EQ(test, PIN(at, 5000, data), OK);
	KUNIT_EXPECT_EQ(test, PIN(at + 100, 300, data), OK);
	KUNIT_EXPECT_EQ(test, ri_svc_mem_pin(at, 5000, other, NULL), OK);
	KUNIT_EXPECT_EQ(test, UNPIN(at, 4999, data), RI_RET_INVALID_PARAMETER);
	KUNIT_EXPECT_EQ(test, UNPIN(at + 1, 5000, data), RI_RET_INVALID_PARAMETER);
	KUNIT_EXPECT_EQ(test, UNPIN(at, 5000, NULL), RI_RET_INVALID_PARAMETER);
	KUNIT_EXPECT_EQ(test, UNPIN(at, 5000, data), OK);
	KUNIT_EXPECT_EQ(test, UNPIN(at, 5000, data), OK);
	KUNIT_EXPECT_EQ(test, UNPIN(at, 5000, data), RI_RET_INVALID_PARAMETER);
	KUNIT_EXPECT_EQ(test, ri_svc_mem_unpin(at, 5000, other, NULL), OK);
	KUNIT_EXPECT_EQ(test, UNPIN(at + 100, 300, data), OK);
	KUNIT_EXPECT_EQ(test, PIN(NULL, 10, data), RI_RET_INVALID_PARAMETER);
	KUNIT_EXPECT_EQ(test, PIN(at, 0, data), RI_RET_INVALID_PARAMETER);
	KUNIT_EXPECT_EQ(test, PIN(at, ~0ull, data), RI_RET_INVALID_PARAMETER);
	KUNIT_EXPECT_EQ(test, ri_mem_pin(p->pd, at, 10, data, NULL), RI_RET_RNIC_INVALID_HANDLE);
	pair_close(p);
}

/* RI-59: a map covers the contiguous part, and the caller continues after it */
static void maps(struct kunit *test)
{
	struct pair *p = pair_idle(test, RI_PHYS_PAGE_LIST_MODE, 0);
	char *mem = vmalloc(4 * PAGE_SIZE), *at, *first;
	ri_phys_buf_t io, other;
	u64 left = 4 * PAGE_SIZE - 10;

	KUNIT_ASSERT_NOT_NULL(test, mem);
	for (at = mem + 10; left; at += io.phys_len, left -= io.phys_len) {
		KUNIT_ASSERT_EQ(test, ri_mem_map(p->rnic, at, left, &io, p, NULL), OK);
		KUNIT_ASSERT_GT(test, io.phys_len, 0);
		KUNIT_ASSERT_LE(test, io.phys_len, left);
		*at = 'm';
		KUNIT_EXPECT_EQ(test, *(char *)phys_to_virt(io.phys_address), 'm');
		at[io.phys_len - 1] = 'e';
		first = phys_to_virt(io.phys_address);
		KUNIT_EXPECT_EQ(test, first[io.phys_len - 1], 'e');
		KUNIT_EXPECT_EQ(test, ri_mem_unmap(p->rnic, &io, p, NULL), OK);
	}
	/* one map covers all of contiguous memory */
	KUNIT_EXPECT_EQ(test, ri_mem_map(p->rnic, p->a.mem + 1, PAIR_BYTES - 1, &io, p, NULL), OK);
	KUNIT_EXPECT_EQ(test, io.phys_len, PAIR_BYTES - 1);
	KUNIT_EXPECT_EQ(test, io.phys_address, pair_phys(p->a.mem + 1));
	/* a map ends once, and with what it began with (L4370) */
#define UNMAP(what, data)	ri_mem_unmap(p->rnic, what, data, NULL)
	KUNIT_EXPECT_EQ(test, UNMAP(&io, test), RI_RET_INVALID_PARAMETER);
	other = io;
	other.phys_address++;
	KUNIT_EXPECT_EQ(test, UNMAP(&other, p), RI_RET_INVALID_PARAMETER);
	other = io;
	other.phys_len--;
	KUNIT_EXPECT_EQ(test, UNMAP(&other, p), RI_RET_INVALID_PARAMETER);
	KUNIT_EXPECT_EQ(test, UNMAP(&io, p), OK);
	KUNIT_EXPECT_EQ(test, UNMAP(&io, p), RI_RET_INVALID_PARAMETER);
	/* one that is left ends with the RNIC handle */
	KUNIT_EXPECT_EQ(test, ri_mem_map(p->rnic, p->a.mem, 1, &io, p, NULL), OK);
	KUNIT_EXPECT_EQ(test, ri_mem_map(p->rnic, NULL, 1, &io, p, NULL), RI_RET_INVALID_PARAMETER);
	KUNIT_EXPECT_EQ(test, ri_mem_map(p->rnic, mem, 0, &io, p, NULL), RI_RET_INVALID_PARAMETER);
	KUNIT_EXPECT_EQ(test, ri_mem_unmap(p->rnic, NULL, p, NULL), RI_RET_INVALID_PARAMETER);
	vfree(mem);
	pair_close(p);
}

static struct kunit_case memory_cases[] = {
	KUNIT_CASE(kernel_memory),
	KUNIT_CASE(rereg),
	KUNIT_CASE(rereg_waits_for_posts),
	KUNIT_CASE(keys),
	KUNIT_CASE(shared),
	KUNIT_CASE(window),
	KUNIT_CASE(refused_ends),
	KUNIT_CASE(read_invalidate),
	KUNIT_CASE(pins),
	KUNIT_CASE(maps),
	{}
};

static struct kunit_suite memory_suite = {
	.name = "srnic-rnicpi-memory",
	.test_cases = memory_cases,
};

kunit_test_suite(memory_suite);
