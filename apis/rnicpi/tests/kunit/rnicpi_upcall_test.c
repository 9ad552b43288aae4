// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* kernel/upcall.c: handlers, their upcalls, and when upcalls stop. */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/file.h>
#include <linux/mm.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>
#include "rnicpi/kernel/rnic.h"
#include "rnicpi_pair.h"

#define OK	RI_RET_SUCCESS

static void no_cq(ri_os_data_t vp_data, ri_os_data_t cq_data)
{
}

/* RI-34: ids are assigned up to the limit; each has one handler */
static void ids(struct kunit *test)
{
	struct pair *p = pair_open(test, RI_PHYS_PAGE_LIST_MODE);
	ri_cq_event_handler_id_t id;
	ri_cq_attr_t attr = { .num_cqe = 1 };
	ri_cq_handle_t cq;
	u32 i;

	KUNIT_EXPECT_EQ(test, p->handler_id, 1);
	for (i = 2; i <= RI_MAX_CQ_HANDLERS; i++) {
		id = 0;
		KUNIT_EXPECT_EQ(test, ri_cq_set_event_handler(p->vp, &id, no_cq, NULL), OK);
		KUNIT_EXPECT_EQ(test, id, i);
	}
	id = 0;
	KUNIT_EXPECT_EQ(test, ri_cq_set_event_handler(p->vp, &id, no_cq, NULL),
			RI_RET_RESOURCE_SHORTAGE);
	id = RI_MAX_CQ_HANDLERS + 1;
	KUNIT_EXPECT_EQ(test, ri_cq_set_event_handler(p->vp, &id, no_cq, NULL),
			RI_RET_INVALID_HANDLER_ID);
	KUNIT_EXPECT_EQ(test, ri_cq_set_event_handler(p->vp, NULL, no_cq, NULL),
			RI_RET_INVALID_PARAMETER);
	KUNIT_EXPECT_EQ(test, ri_cq_set_event_handler(p->rnic, &id, no_cq, NULL),
			RI_RET_VP_INVALID_HANDLE);
	attr.handler_id = RI_MAX_CQ_HANDLERS + 1;
	KUNIT_EXPECT_EQ(test, ri_cq_create(p->rnic, &attr, &cq, NULL, NULL, NULL),
			RI_RET_CQ_INVALID_EVENT_HANDLER);
	pair_close(p);
}

/* A Send from a to b, and both completions; the contents do not matter */
static void exchange(struct pair *p)
{
	pair_recv(p, &p->b, 1, 0, 10);
	pair_send(p, &p->a, 2, 0, 10);
	pair_expect(p, &p->b, 1, RI_WC_TYPE_DATA_RECEIVED, RI_WC_STATUS_SUCCESS);
	pair_expect(p, &p->a, 2, RI_WC_TYPE_SEND, RI_WC_STATUS_SUCCESS);
}

static bool told(const unsigned int *n, unsigned int want)
{
	u32 i;

	for (i = 0; i < 10000 && READ_ONCE(*n) < want; i++)
		usleep_range(100, 200);
	/* a surplus one would come soon */
	usleep_range(2000, 3000);
	return READ_ONCE(*n) == want;
}

/*
 * RI-31, RI-32, RI-36: a request for notification causes one upcall, which has the os_data of the
 * RNIC and of the CQ. There is none after the handler was removed. With handler id 0 the request
 * fails
 */
static void notified(struct kunit *test)
{
	struct pair *p = pair_connected(test);
	ri_cq_attr_t attr = { .num_cqe = 1 };
	ri_cq_handle_t cq;

	exchange(p);
	KUNIT_EXPECT_EQ(test, p->b.told, 0);
	KUNIT_EXPECT_EQ(test, ri_cq_req_notification(p->rnic, p->b.cq, RI_CMPLT_NOTIFY_ANY, NULL),
			OK);
	exchange(p);
	exchange(p);
	KUNIT_EXPECT_TRUE(test, told(&p->b.told, 1));
	KUNIT_EXPECT_PTR_EQ(test, p->vp_data, (void *)p);
	KUNIT_EXPECT_EQ(test, p->a.told, 0);
	/* solicited completions only: a Send without the bit causes none */
	KUNIT_EXPECT_EQ(test, ri_cq_req_notification(p->rnic, p->b.cq, RI_CMPLT_NOTIFY_SOLICITED,
						     NULL), OK);
	exchange(p);
	KUNIT_EXPECT_TRUE(test, told(&p->b.told, 1));
	/* any beats solicited */
	KUNIT_EXPECT_EQ(test, ri_cq_req_notification(p->rnic, p->b.cq, RI_CMPLT_NOTIFY_ANY, NULL),
			OK);
	exchange(p);
	KUNIT_EXPECT_TRUE(test, told(&p->b.told, 2));
	KUNIT_EXPECT_EQ(test, ri_cq_req_notification(p->rnic, p->b.cq, 2, NULL),
			RI_RET_INVALID_PARAMETER);

	KUNIT_EXPECT_EQ(test, ri_cq_set_event_handler(p->vp, &p->handler_id, NULL, NULL), OK);
	KUNIT_EXPECT_EQ(test, ri_cq_req_notification(p->rnic, p->b.cq, RI_CMPLT_NOTIFY_ANY, NULL),
			OK);
	exchange(p);
	KUNIT_EXPECT_TRUE(test, told(&p->b.told, 2));

	KUNIT_ASSERT_EQ(test, ri_cq_create(p->rnic, &attr, &cq, NULL, NULL, NULL), OK);
	KUNIT_EXPECT_EQ(test, ri_cq_req_notification(p->rnic, cq, RI_CMPLT_NOTIFY_ANY, NULL),
			RI_RET_CQ_NO_EVENT_HANDLER);
	KUNIT_EXPECT_EQ(test, ri_cq_destroy(p->rnic, cq, NULL), OK);
	pair_close(p);
}

static void set_state(struct pair *p, struct pair_end *e, ri_qp_state_t state)
{
	ri_qp_attr_t attr = { .state = state };

	KUNIT_EXPECT_EQ(p->test, ri_qp_modify(p->rnic, e->qp, RI_QP_ATTR_NEXT_STATE, &attr, NULL),
			OK);
}

static unsigned int other_events;

static void other_event(ri_os_data_t vp_data, ri_event_record_t *event)
{
	other_events++;
}

/*
 * RI-35, RI-36: events of both ends of an orderly close, with the QPs' os_data. A handler
 * replaces another; events without a handler are lost
 */
static void events(struct kunit *test)
{
	struct pair *p = pair_connected(test);

	set_state(p, &p->a, RI_QP_STATE_CLOSING);
	KUNIT_EXPECT_TRUE(test, pair_event(p, RI_EVENT_QP_LLP_CLOSE_COMPLETE, &p->a));
	KUNIT_EXPECT_TRUE(test, pair_event(p, RI_EVENT_QP_LLP_CLOSE_COMPLETE, &p->b));
	KUNIT_EXPECT_EQ(test, p->num_events, 2);
	KUNIT_EXPECT_PTR_EQ(test, p->vp_data, (void *)p);

	other_events = 0;
	KUNIT_EXPECT_EQ(test, ri_async_set_event_handler(p->vp, other_event, NULL), OK);
	pair_connect(p);
	set_state(p, &p->a, RI_QP_STATE_CLOSING);
	KUNIT_EXPECT_TRUE(test, told(&other_events, 2));
	KUNIT_EXPECT_EQ(test, ri_async_set_event_handler(p->vp, NULL, NULL), OK);
	pair_connect(p);
	set_state(p, &p->a, RI_QP_STATE_CLOSING);
	msleep(50);
	KUNIT_EXPECT_EQ(test, ri_async_set_event_handler(p->vp, other_event, NULL), OK);
	KUNIT_EXPECT_TRUE(test, told(&other_events, 2));
	KUNIT_EXPECT_EQ(test, p->num_events, 2);
	KUNIT_EXPECT_EQ(test, ri_async_set_event_handler(p->rnic, other_event, NULL),
			RI_RET_VP_INVALID_HANDLE);
	pair_close(p);
}

/* A Terminate: one end requests it, the other gets an event, and both have the message (RI-27) */
static void terminate(struct kunit *test)
{
	ri_qp_attr_t *a = kunit_kzalloc(test, 2 * sizeof(*a), GFP_KERNEL), *b = a + 1;
	struct pair *p = pair_connected(test);
	ri_iwarp_qp_attr_t *ia = &a->qp_xport.qp_iwarp, *ib;

	KUNIT_ASSERT_NOT_NULL(test, a);
	ib = &b->qp_xport.qp_iwarp;
	set_state(p, &p->a, RI_QP_STATE_TERMINATE);
	KUNIT_EXPECT_TRUE(test, pair_event(p, RI_EVENT_QP_TERMINATE_MESSAGE_RECEIVED, &p->b));
	KUNIT_EXPECT_EQ(test, ri_qp_query(p->rnic, p->a.qp, a, NULL), OK);
	KUNIT_EXPECT_EQ(test, ri_qp_query(p->rnic, p->b.qp, b, NULL), OK);
	KUNIT_EXPECT_EQ(test, ia->is_terminate_local, 1);
	KUNIT_EXPECT_EQ(test, ib->is_terminate_local, 0);
	KUNIT_EXPECT_GE(test, ia->terminate_msg_length, 4);
	KUNIT_EXPECT_EQ(test, ia->terminate_msg_length, ib->terminate_msg_length);
	KUNIT_EXPECT_EQ(test, memcmp(ia->terminate_buffer, ib->terminate_buffer,
				     ia->terminate_msg_length), 0);
	pair_close(p);
}

/* ----- RI-37 ----- */

static struct slow {
	struct completion begun, go_on;
	bool done;
} slow;

/* With a time-out, so that a test that fails does not block */
static void slow_pause(void)
{
	complete(&slow.begun);
	wait_for_completion_timeout(&slow.go_on, 20 * HZ);
}

static void slow_cq(ri_os_data_t vp_data, ri_os_data_t cq_data)
{
	slow_pause();
	msleep(20);
	WRITE_ONCE(slow.done, true);
}

static void slow_event(ri_os_data_t vp_data, ri_event_record_t *event)
{
	slow_cq(vp_data, NULL);
}

static void slow_begin(void)
{
	init_completion(&slow.begun);
	init_completion(&slow.go_on);
	slow.done = false;
}

/* The handler is running, and continues when a task waits for its end */
static void slow_wait(struct kunit *test)
{
	KUNIT_ASSERT_GT(test, wait_for_completion_timeout(&slow.begun, 10 * HZ), 0);
	complete_all(&slow.go_on);
}

/* The end of a CQ waits for its handler, which sleeps */
static void cq_end_waits(struct kunit *test)
{
	struct pair *p = pair_connected(test);

	slow_begin();
	KUNIT_EXPECT_EQ(test, ri_cq_set_event_handler(p->vp, &p->handler_id, slow_cq, NULL), OK);
	KUNIT_EXPECT_EQ(test, ri_cq_req_notification(p->rnic, p->b.cq, RI_CMPLT_NOTIFY_ANY, NULL),
			OK);
	exchange(p);
	pair_destroy_qps(p);
	slow_wait(test);
	KUNIT_EXPECT_EQ(test, ri_cq_destroy(p->rnic, p->b.cq, NULL), OK);
	KUNIT_EXPECT_TRUE(test, slow.done);
	p->b.cq = NULL;
	pair_close(p);
}

/* The end of a QP waits for the handler of its event; none of its events is reported after it */
static void qp_end_waits(struct kunit *test)
{
	struct pair *p = pair_connected(test);

	slow_begin();
	KUNIT_EXPECT_EQ(test, ri_async_set_event_handler(p->vp, slow_event, NULL), OK);
	set_state(p, &p->a, RI_QP_STATE_CLOSING);
	slow_wait(test);
	pair_destroy_qps(p);
	KUNIT_EXPECT_TRUE(test, slow.done);
	slow.done = false;
	msleep(50);
	KUNIT_EXPECT_FALSE(test, slow.done);
	pair_close(p);
}

/* So does the replacement of a handler: its caller may free what the old one uses */
static void handler_end_waits(struct kunit *test)
{
	struct pair *p = pair_connected(test);

	slow_begin();
	KUNIT_EXPECT_EQ(test, ri_async_set_event_handler(p->vp, slow_event, NULL), OK);
	set_state(p, &p->a, RI_QP_STATE_CLOSING);
	slow_wait(test);
	KUNIT_EXPECT_EQ(test, ri_async_set_event_handler(p->vp, NULL, NULL), OK);
	KUNIT_EXPECT_TRUE(test, slow.done);
	slow_begin();
	pair_connect(p);
	KUNIT_EXPECT_EQ(test, ri_cq_set_event_handler(p->vp, &p->handler_id, slow_cq, NULL), OK);
	KUNIT_EXPECT_EQ(test, ri_cq_req_notification(p->rnic, p->b.cq, RI_CMPLT_NOTIFY_ANY, NULL),
			OK);
	exchange(p);
	slow_wait(test);
	KUNIT_EXPECT_EQ(test, ri_cq_set_event_handler(p->vp, &p->handler_id, NULL, NULL), OK);
	KUNIT_EXPECT_TRUE(test, slow.done);
	pair_close(p);
}

static struct pair *ending;
static unsigned int ended;

static void end_cq(ri_os_data_t vp_data, ri_os_data_t cq_data)
{
	slow_pause();
	KUNIT_EXPECT_EQ(ending->test, ri_cq_destroy(ending->rnic, ending->b.cq, NULL), OK);
	WRITE_ONCE(ended, 1);
}

/* A pair whose b has begun to end its own CQ, in its handler */
static struct pair *ends_in(struct kunit *test, ri_cq_event_callback_t handler)
{
	struct pair *p = pair_connected(test);

	ending = p;
	ended = 0;
	slow_begin();
	KUNIT_EXPECT_EQ(test, ri_cq_set_event_handler(p->vp, &p->handler_id, handler, NULL), OK);
	KUNIT_EXPECT_EQ(test, ri_cq_req_notification(p->rnic, p->b.cq, RI_CMPLT_NOTIFY_ANY, NULL),
			OK);
	exchange(p);
	KUNIT_ASSERT_GT(test, wait_for_completion_timeout(&slow.begun, 10 * HZ), 0);
	pair_destroy_qps(p);
	complete_all(&slow.go_on);
	return p;
}

/* A handler that ends its own CQ does not wait for itself */
static void cq_ends_itself(struct kunit *test)
{
	struct pair *p = ends_in(test, end_cq);

	KUNIT_ASSERT_TRUE(test, told(&ended, 1));
	p->b.cq = NULL;
	pair_close(p);
}

static void end_and_stay(ri_os_data_t vp_data, ri_os_data_t cq_data)
{
	slow_pause();
	KUNIT_EXPECT_EQ(ending->test, ri_cq_destroy(ending->rnic, ending->b.cq, NULL), OK);
	WRITE_ONCE(ended, 1);
	msleep(1000);
	WRITE_ONCE(slow.done, true);
}

/* b's handler ends its own CQ, and is still running afterwards */
static struct pair *stays(struct kunit *test)
{
	struct pair *p = ends_in(test, end_and_stay);

	while (!READ_ONCE(ended))
		usleep_range(100, 200);
	p->b.cq = NULL;
	return p;
}

/* L1416, L1841: the ends of the RNIC handle and of the RNIC wait for such a handler, too */
static void rnic_end_waits(struct kunit *test)
{
	struct pair *p = stays(test);

	pair_close(p);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(slow.done));
	/* it uses what ends with the test */
	if (!READ_ONCE(slow.done))
		msleep(1500);
}

/* ----- contexts ----- */

static DEFINE_SPINLOCK(consumer_lock);

/*
 * RI-02, RI-03: posts, polls, arms, maps and syncs do not sleep or reschedule, under a
 * consumer's spinlock with interrupts off, through the vector for callers that lock
 */
static void atomic_context(struct kunit *test)
{
	struct pair *p = pair_connected(test);
	const ri_ops_t *al;
	ri_data_seg_t in = pair_seg(&p->a, 0, 64), out = pair_seg(&p->b, 0, 64);
	ri_wr_recv_t recv = { .id = 1, .sg_list = &out, .num_sgls = 1 };
	ri_wr_t send = { .wr_send = { RI_WR_TYPE_SEND, RI_WR_SIGNALED_FLAG, 2, &in, 0, 1, 0 } };
	ri_srq_attr_t srq_attr = { .max_wrs = 4, .max_sgl = 1, .pd = p->pd };
	ri_phys_addr_t list[1] = { virt_to_phys(p->a.mem + PAGE_SIZE) };
	ri_mr_reg_phys_attr_t phys = {
		.common = { .va = 5 * PAGE_SIZE, .length = PAGE_SIZE,
			    .mem_attr = RI_MEM_FLAGS_LOCAL },
		.phys_buf_list = list, .nbufs = 1, .pble_size = PAGE_SIZE,
	};
	ri_cq_handle_t empty = NULL;
	ri_cq_attr_t cq_attr = { .num_cqe = 1 };
	ri_mrw_handle_t handle;
	ri_api_return_t ret[20], polled;
	unsigned long flags;
	ri_srq_handle_t srq;
	ri_ltag_t ltag = 1;
	ri_phys_buf_t io;
	ri_mw_handle_t mw;
	ri_mr_handle_t mr;
	ri_rtag_t rtag;
	uint_t one = 1;
	u32 i, n = 0;

	KUNIT_ASSERT_EQ(test, rix_rnic_vectors(p->vp, &al, NULL, NULL), OK);
	KUNIT_ASSERT_EQ(test, ri_srq_create(p->rnic, &srq_attr, &srq, NULL, NULL, NULL), OK);
	KUNIT_ASSERT_EQ(test, ri_cq_create(p->rnic, &cq_attr, &empty, NULL, NULL, NULL), OK);
	KUNIT_ASSERT_EQ(test, ri_mw_alloc(p->rnic, p->pd, RI_MW_TYPE_NARROW, &mw, &rtag, NULL, NULL,
					  NULL), OK);
	KUNIT_ASSERT_EQ(test, ri_ltag_alloc(p->rnic, &one, p->pd, RI_MEM_FLAGS_LOCAL, &mr, &ltag,
					    NULL, NULL, NULL, NULL), OK);
	phys.common.pd = p->pd;
	handle.mr_handle = mr;
	spin_lock_irqsave(&consumer_lock, flags);
	ret[n++] = al->ri_op_qp_postrq(p->rnic, p->b.qp, &recv, &one, NULL);
	ret[n++] = al->ri_op_qp_post_recv(p->rnic, p->b.qp, 0, 3, &out, 1, NULL);
	ret[n++] = al->ri_op_cq_req_notification(p->rnic, p->b.cq, RI_CMPLT_NOTIFY_ANY, NULL);
	ret[n++] = al->ri_op_qp_postsq(p->rnic, p->a.qp, &send, &one, NULL);
	ret[n++] = al->ri_op_qp_post_rdma_write(p->rnic, p->a.qp, RI_WR_TYPE_RDMA_WRITE, 0, 4, &in,
						(uintptr_t)p->b.mem, p->b.tag, 1, 0, NULL);
	ret[n++] = al->ri_op_mem_map(p->rnic, p->a.mem, 64, &io, NULL, NULL);
	ret[n++] = al->ri_op_mem_unmap(p->rnic, &io, NULL, NULL);
	ret[n++] = al->ri_op_mem_sync_rread(p->rnic, &in, 1, NULL);
	ret[n++] = al->ri_op_mem_sync_rwrite(p->rnic, &in, 1, NULL);
	ret[n++] = al->ri_op_qp_post_send(p->rnic, p->a.qp, RI_WR_TYPE_SEND, 0, 5, &in, 0, 1, 0,
					  NULL);
	ret[n++] = al->ri_op_qp_post_rdma_read(p->rnic, p->a.qp, RI_WR_TYPE_RDMA_READ, 0, 6, &in,
					       (uintptr_t)p->b.mem, 1, p->b.tag, NULL);
	ret[n++] = al->ri_op_qp_post_bind(p->rnic, p->a.qp, RI_WR_TYPE_BIND, 0, 7, mw, rtag,
					  p->a.mr, p->a.tag, (uintptr_t)p->a.mem, 64,
					  RI_MEM_FLAGS_REMOTE_READ, NULL);
	ret[n++] = al->ri_op_qp_post_fmr(p->rnic, p->a.qp, RI_WR_TYPE_FAST_REGISTER, 0, 8, &phys,
					 ltag, ltag, mr, NULL);
	ret[n++] = al->ri_op_qp_post_local_invalidate(p->rnic, p->a.qp,
						      RI_WR_TYPE_LOCAL_INVALIDATE_MR,
						      RI_WR_SIGNALED_FLAG, 9, ltag, 0, handle,
						      NULL);
	one = 1;
	ret[n++] = al->ri_op_srq_post(p->rnic, srq, &recv, &one, NULL);
	ret[n++] = al->ri_op_srq_post_recv(p->rnic, srq, 0, 10, &out, 1, NULL);
	one = 1;
	polled = al->ri_op_cq_poll(p->rnic, empty, &p->b.wc, &one, NULL);
	spin_unlock_irqrestore(&consumer_lock, flags);
	for (i = 0; i < n; i++)
		KUNIT_EXPECT_EQ_MSG(test, ret[i], OK, "call %u", i);
	KUNIT_EXPECT_EQ(test, polled, RI_RET_CQ_EMPTY);
	pair_expect(p, &p->a, 2, RI_WC_TYPE_SEND, RI_WC_STATUS_SUCCESS);
	pair_expect(p, &p->a, 9, RI_WC_TYPE_LOCAL_INVALIDATE, RI_WC_STATUS_SUCCESS);
	KUNIT_EXPECT_EQ(test, ri_mw_dealloc(p->rnic, mw, NULL), OK);
	KUNIT_EXPECT_EQ(test, ri_mr_dereg(p->rnic, mr, NULL), OK);
	KUNIT_EXPECT_EQ(test, ri_srq_destroy(p->rnic, srq, NULL), OK);
	KUNIT_EXPECT_EQ(test, ri_cq_destroy(p->rnic, empty, NULL), OK);
	pair_close(p);
}

static struct kunit_case upcall_cases[] = {
	KUNIT_CASE(ids),
	KUNIT_CASE(notified),
	KUNIT_CASE(events),
	KUNIT_CASE(terminate),
	KUNIT_CASE(cq_end_waits),
	KUNIT_CASE(qp_end_waits),
	KUNIT_CASE(handler_end_waits),
	KUNIT_CASE(cq_ends_itself),
	KUNIT_CASE(rnic_end_waits),
	KUNIT_CASE(atomic_context),
	{}
};

static struct kunit_suite upcall_suite = {
	.name = "srnic-rnicpi-upcall",
	.test_cases = upcall_cases,
};

kunit_test_suite(upcall_suite);
