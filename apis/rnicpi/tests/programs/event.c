// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Asynchronous events. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "rnicpi.h"

/* A normal close has one event at each end (RI-38, RI-81) */
void event_close(void)
{
	struct rix_event event;

	open_pair();
	expect(RI_RET_INVALID_PARAMETER, rix_get_event(a.rnic, &event, &err));
	listen_to(&a);
	require(rix_event_fd(a.rnic) == rix_event_fd(a.rnic), "one descriptor");
	require(rix_event_fd(STALE) == -1, "none of what is no RNIC");
	expect(RI_RET_RNIC_INVALID_HANDLE, rix_get_event(STALE, &event, &err));
	expect(RI_RET_INVALID_PARAMETER, rix_get_event(a.rnic, NULL, &err));
	no_event(&a, 0);
	set_state(&a, RI_QP_STATE_CLOSING, RI_RET_SUCCESS);
	event = await_event(&a, RI_EVENT_QP_LLP_CLOSE_COMPLETE, &a);
	require(!event.terminate_msg_length && !event.record.err_data, "no error");
	no_event(&a, 50);
	/* b has not opened its events in time */
	require_state(&b, RI_QP_STATE_IDLE);
	listen_to(&b);
	no_event(&b, 50);
	close_pair();
}

/* A Write to an invalid STag: both ends get an event, with the Terminate message */
void event_terminate(void)
{
	ri_data_seg_t seg;
	struct rix_event event;

	open_pair();
	listen_to(&a);
	listen_to(&b);
	seg = seg_of(&a, 0, 64);
	expect(RI_RET_SUCCESS, ri_qp_post_rdma_write(a.rnic, a.qp, RI_WR_TYPE_RDMA_WRITE, NONE, 1,
						     &seg, 0, b.rtag ^ 0x100, 1, 0, &err));
	event = await_event(&b, RI_EVENT_QP_PROTECTION_ERROR_STAG_QP_MISMATCH, &b);
	require(event.is_terminate_local && event.terminate_msg_length == 4 + 2 + 14 &&
		event.terminate_buffer[0] == 0x11 && event.record.err_data >> 32 == RI_ERR_LAYER_VP,
		"what b has sent: %u bytes", event.terminate_msg_length);
	event = await_event(&a, RI_EVENT_QP_TERMINATE_MESSAGE_RECEIVED, &a);
	require(!event.is_terminate_local && event.terminate_msg_length == 4 + 2 + 14 &&
		event.terminate_buffer[0] == 0x11, "what a has received: %u bytes",
		event.terminate_msg_length);
	no_event(&a, 50);
	no_event(&b, 0);
	close_pair();
}

/* A message for which no receive is posted, whatever the device's policy is (AE-15) */
void event_no_receive(void)
{
	open_pair();
	listen_to(&a);
	listen_to(&b);
	post_send(&a, 1, 0, 10);
	await_event(&b, RI_EVENT_QP_RQ_PROTECTION_ERROR_INVALID_MSN, &b);
	await_event(&a, RI_EVENT_QP_TERMINATE_MESSAGE_RECEIVED, &a);
	no_event(&a, 50);
	no_event(&b, 0);
	close_pair();
}

/* The peer resets the connection: verbs have no event for it */
void event_reset(void)
{
	open_pair();
	listen_to(&a);
	listen_to(&b);
	set_state(&b, RI_QP_STATE_ERROR, RI_RET_SUCCESS);
	await_event(&a, RI_EVENT_QP_LLP_CONNECTION_RESET, &a);
	no_event(&a, 0);
	close_pair();
}

static ri_srq_handle_t make_srq(struct end *e, ri_srq_attr_t *attr, uint32_t hiwat)
{
	ri_srq_handle_t srq;
	ri_qp_attr_t qp;

	attr->pd = e->pd;
	expect(RI_RET_SUCCESS, ri_srq_create(e->rnic, attr, &srq, NULL, attr, &err));
	expect(RI_RET_SUCCESS, ri_qp_destroy(e->rnic, e->qp, &err));
	qp = qp_attr_of(e);
	qp.srq_valid = 1;
	qp.srq.srq_handle = srq;
	qp.qp_xport.qp_iwarp.rq_hiwat = hiwat;
	expect(RI_RET_SUCCESS, ri_qp_create(e->rnic, &qp, &e->qp, NULL, e, &err));
	return srq;
}

static void post_srq(struct end *e, ri_srq_handle_t srq, unsigned int n)
{
	ri_data_seg_t seg = seg_of(e, 0, 100);

	while (n--)
		expect(RI_RET_SUCCESS, ri_srq_post_recv(e->rnic, srq, NONE, n, &seg, 1, &err));
}

/* Consumes a receive of b's SRQ */
static void send_one(void)
{
	uint64_t end = now_ms() + LONG_MS;
	uint_t one = 0;
	ri_wc_t wc;

	post_send(&a, 1, 0, 10);
	take(&a, a.scq, 1, RI_WC_TYPE_SEND, RI_WC_STATUS_SUCCESS);
	while (!one && now_ms() < end) {
		one = 1;
		ri_cq_poll(b.rnic, b.rcq, &wc, &one, &err);
	}
	require(one && !wc.rc_wc.op_status, "a receive");
}

static void end_srq(ri_srq_handle_t srq)
{
	ri_qp_attr_t qp = qp_attr_of(&b);

	expect(RI_RET_SUCCESS, ri_qp_destroy(b.rnic, b.qp, &err));
	expect(RI_RET_SUCCESS, ri_srq_destroy(b.rnic, srq, &err));
	expect(RI_RET_SUCCESS, ri_qp_create(b.rnic, &qp, &b.qp, NULL, &b, &err));
	close_pair();
}

static ri_srq_handle_t open_with_srq(ri_srq_attr_t *attr, uint32_t hiwat, unsigned int receives)
{
	ri_srq_handle_t srq;

	open_end(&a);
	open_end(&b);
	srq = make_srq(&b, attr, hiwat);
	listen_to(&b);
	post_srq(&b, srq, receives);
	connect_sockets();
	turn(false, true);
	return srq;
}

/* At the mark, once for each time it is armed; lowat is inclusive (RI-44) */
void event_lowat(void)
{
	ri_srq_attr_t attr = { .max_wrs = 8, .max_sgl = 1, .lowat = 2 };
	ri_srq_handle_t srq = open_with_srq(&attr, 0, 6);

	send_one();
	send_one();
	send_one();
	no_event(&b, 50);
	send_one();		/* two are left */
	await_event(&b, RI_EVENT_SRQ_LIMIT_REACHED, &attr);
	send_one();
	no_event(&b, 50);
	/* 0 does not arm (L3453) */
	attr.lowat = 0;
	expect(RI_RET_SUCCESS, ri_srq_modify(b.rnic, srq, RI_SRQ_ATTR_LOWAT, &attr, &err));
	send_one();		/* none is left */
	no_event(&b, 50);
	post_srq(&b, srq, 6);
	attr.lowat = attr.max_wrs;
	expect(RI_RET_SUCCESS, ri_srq_modify(b.rnic, srq, RI_SRQ_ATTR_LOWAT, &attr, &err));
	expect(RI_RET_SUCCESS, ri_srq_query(b.rnic, srq, &attr, &err));
	require(attr.lowat == attr.max_wrs && attr.srq_armed, "as it was set");
	send_one();
	await_event(&b, RI_EVENT_SRQ_LIMIT_REACHED, &attr);
	expect(RI_RET_SUCCESS, ri_srq_query(b.rnic, srq, &attr, &err));
	require(attr.lowat == attr.max_wrs && !attr.srq_armed, "it has been told");
	end_srq(srq);
}

static ri_wr_id_t posted, taken;

static void post_next(ri_srq_handle_t srq, ri_api_return_t want)
{
	ri_data_seg_t seg = seg_of(&b, 0, 100);
	ri_api_return_t ret = ri_srq_post_recv(b.rnic, srq, NONE, posted, &seg, 1, &err);

	require(ret == want, "receive %llu: %d", (unsigned long long)posted, ret);
	posted += !ret;
}

/* As many receives as the SRQ is said to take (L6131), and no more */
static void post_all(ri_srq_handle_t srq)
{
	ri_srq_attr_t is;

	expect(RI_RET_SUCCESS, ri_srq_query(b.rnic, srq, &is, &err));
	while (posted - taken < is.max_wrs)
		post_next(srq, RI_RET_SUCCESS);
	post_next(srq, RI_RET_QP_CAPACITY_EXCEEDED);
}

/* Each completion has the receive that it belongs to. Until @left are posted */
static void take_until(ri_wr_id_t left)
{
	while (posted - taken > left) {
		no_event(&b, 0);
		post_send(&a, 1, 0, 10);
		take(&a, a.scq, 1, RI_WC_TYPE_SEND, RI_WC_STATUS_SUCCESS);
		take(&b, b.rcq, taken++, RI_WC_TYPE_DATA_RECEIVED, RI_WC_STATUS_SUCCESS);
	}
}

static ri_api_return_t resize(ri_srq_handle_t srq, uint32_t mask, uint32_t max_wrs, uint32_t lowat)
{
	ri_srq_attr_t attr = { .max_wrs = max_wrs, .lowat = lowat }, is;
	ri_api_return_t ret = ri_srq_modify(b.rnic, srq, (ri_srq_attr_mask_t)mask, &attr, &err);

	if (ret)
		return ret;
	require(ri_srq_query(b.rnic, srq, &is, &err) == RI_RET_SUCCESS, "a query");
	require(attr.max_wrs == is.max_wrs && attr.lowat == is.lowat &&
		attr.srq_armed == is.srq_armed, "what is, is passed out (L6145)");
	require(!(mask & RI_SRQ_ATTR_MAX_WRS) || is.max_wrs >= max_wrs, "%u (L3454-56)", is.max_wrs);
	return ret;
}

/* L3449-74: with receives outstanding, to fewer and to more than before; a mark stays where it is */
void event_resized(void)
{
	const uint32_t size = RI_SRQ_ATTR_MAX_WRS, mark = RI_SRQ_ATTR_LOWAT;
	ri_srq_attr_t attr = { .max_wrs = 16, .max_sgl = 1, .lowat = 2 }, is;
	ri_srq_handle_t srq = open_with_srq(&attr, 0, 0);

	while (posted < 5)
		post_next(srq, RI_RET_SUCCESS);
	expect(RI_RET_SRQ_CANNOT_SHRINK, resize(srq, size, 4, 0));
	expect(RI_RET_SRQ_CANNOT_SHRINK, resize(srq, size | mark, 4, 1));
	expect(RI_RET_RNIC_WR_LIMIT_EXCEEDED, resize(srq, size | mark, -1, 1));
	expect(RI_RET_SRQ_LIMIT_OUT_OF_RANGE, resize(srq, size | mark, 8, 9));
	expect(RI_RET_INVALID_PARAMETER, resize(srq, size | mark | 4, 8, 1));
	/* none of them has changed anything */
	expect(RI_RET_SUCCESS, ri_srq_query(b.rnic, srq, &is, &err));
	require(is.max_wrs == attr.max_wrs && is.lowat == 2 && is.srq_armed, "%u, %u", is.max_wrs,
		is.lowat);
	expect(RI_RET_SUCCESS, resize(srq, size, 5, 0));
	post_all(srq);
	expect(RI_RET_SUCCESS, resize(srq, size, 40, 0));
	post_all(srq);
	take_until(2);
	await_event(&b, RI_EVENT_SRQ_LIMIT_REACHED, &attr);
	/* an armed mark has to be in range of the new size */
	expect(RI_RET_SUCCESS, resize(srq, mark, 0, 9));
	expect(RI_RET_SRQ_LIMIT_OUT_OF_RANGE, resize(srq, size, 8, 0));
	expect(RI_RET_SUCCESS, resize(srq, size | mark, 8, 8));
	post_all(srq);
	take_until(8);
	await_event(&b, RI_EVENT_SRQ_LIMIT_REACHED, &attr);
	/* a mark of the whole SRQ, which becomes larger */
	expect(RI_RET_SUCCESS, ri_srq_query(b.rnic, srq, &is, &err));
	expect(RI_RET_SUCCESS, resize(srq, mark, 0, is.max_wrs));
	expect(RI_RET_SUCCESS, resize(srq, size, 2 * is.max_wrs, 0));
	post_all(srq);
	take_until(is.max_wrs);
	await_event(&b, RI_EVENT_SRQ_LIMIT_REACHED, &attr);
	/* the mark has been told: it is in no SRQ's way */
	take_until(1);
	expect(RI_RET_SUCCESS, resize(srq, size, 1, 0));
	post_all(srq);
	take_until(0);
	end_srq(srq);
}

static ri_api_return_t set_hiwat(struct end *e, uint32_t mask, uint32_t hiwat, bool armed)
{
	ri_qp_attr_t attr = { 0 };

	attr.qp_xport.qp_iwarp.rq_hiwat = hiwat;
	attr.qp_xport.qp_iwarp.rq_armed = armed;
	return ri_qp_modify(e->rnic, e->qp, (ri_qp_attr_mask_t)mask, &attr, &err);
}

static void require_mark(uint32_t hiwat, bool armed)
{
	ri_qp_attr_t attr;

	expect(RI_RET_SUCCESS, ri_qp_query(b.rnic, b.qp, &attr, &err));
	require(attr.qp_xport.qp_iwarp.rq_hiwat == hiwat &&
		attr.qp_xport.qp_iwarp.rq_armed == armed, "mark %u, armed %u",
		attr.qp_xport.qp_iwarp.rq_hiwat, attr.qp_xport.qp_iwarp.rq_armed);
}

/* Of a QP with an SRQ (RI-43): one receive at most is in progress */
void event_hiwat(void)
{
	ri_srq_attr_t attr = { .max_wrs = 16, .max_sgl = 1 };
	ri_srq_handle_t srq = open_with_srq(&attr, 0, 10);

	require_mark(0, false);
	send_one();
	no_event(&b, 50);	/* 0 at create is no mark */
	expect(RI_RET_SUCCESS, set_hiwat(&b, RI_QP_ATTR_RQ_HIWAT, 0, false));
	require_mark(0, true);
	send_one();
	await_event(&b, RI_EVENT_QP_RQ_LIMIT_REACHED, &b);
	require_mark(0, false);
	send_one();
	no_event(&b, 50);
	expect(RI_RET_SUCCESS, set_hiwat(&b, RI_QP_ATTR_RQ_HIWAT, 1, false));
	send_one();
	await_event(&b, RI_EVENT_QP_RQ_LIMIT_REACHED, &b);
	expect(RI_RET_SUCCESS, set_hiwat(&b, RI_QP_ATTR_RQ_ARMED, 0, true));
	require_mark(1, true);
	expect(RI_RET_SUCCESS, set_hiwat(&b, RI_QP_ATTR_RQ_ARMED, 0, false));
	send_one();
	no_event(&b, 50);
	expect(RI_RET_SUCCESS, set_hiwat(&b, RI_QP_ATTR_RQ_HIWAT | RI_QP_ATTR_RQ_ARMED, 2, true));
	send_one();
	no_event(&b, 50);	/* never two */
	expect(RI_RET_SRQ_LIMIT_OUT_OF_RANGE, set_hiwat(&b, RI_QP_ATTR_RQ_HIWAT, -1, false));
	require_mark(2, true);
	expect(RI_RET_QP_ATTRIBUTE_CANT_CHANGE, set_hiwat(&a, RI_QP_ATTR_RQ_HIWAT, 1, false));
	expect(RI_RET_QP_ATTRIBUTE_CANT_CHANGE, set_hiwat(&a, RI_QP_ATTR_RQ_ARMED, 0, true));
	end_srq(srq);
}

/* Effective from create on, and not changed by a call that fails (RI-21) */
void event_hiwat_create(void)
{
	ri_srq_attr_t attr = { .max_wrs = 16, .max_sgl = 1 };
	ri_srq_handle_t srq = open_with_srq(&attr, 1, 4);
	ri_qp_attr_t bad = { .state = RI_QP_STATE_IDLE };

	require_mark(1, true);
	expect(RI_RET_QP_INVALID_STATE, ri_qp_modify(b.rnic, b.qp, (ri_qp_attr_mask_t)(
						     RI_QP_ATTR_NEXT_STATE | RI_QP_ATTR_RQ_ARMED),
						     &bad, &err));
	require_mark(1, true);
	send_one();
	await_event(&b, RI_EVENT_QP_RQ_LIMIT_REACHED, &b);
	end_srq(srq);
}

/* With an SRQ no receive is flushed: an event reports that the QP takes no more (RI-39) */
void event_last_wqe(void)
{
	ri_srq_attr_t attr = { .max_wrs = 8, .max_sgl = 1 };
	ri_srq_handle_t srq = open_with_srq(&attr, 0, 4);

	send_one();
	set_state(&b, RI_QP_STATE_ERROR, RI_RET_SUCCESS);
	await_event(&b, RI_EVENT_QP_LAST_WQE_REACHED, &b);
	no_event(&b, 50);
	end_srq(srq);
}

/* A QP of a CQ that has overflowed works no more: neither in Error, nor with another stream (L2067) */
static void works_no_more(ri_cq_handle_t cq)
{
	uint_t one = 1;
	ri_wc_t wc;

	set_state(&b, RI_QP_STATE_READY_TO_SEND, RI_RET_QP_INVALID_STATE);
	post_recv(&b, 100, 0, 10);
	make_idle(&b);
	require_state(&b, RI_QP_STATE_IDLE);
	make_idle(&a);
	close(a.fd);
	close(b.fd);
	connect_sockets();
	post_recv(&b, 101, 0, 10);
	turn(false, true);
	post_send(&a, 101, 0, 10);
	await_event(&b, RI_EVENT_QP_CQ_RQ_ERROR, &b);
	require_state(&b, RI_QP_STATE_ERROR);
	expect(RI_RET_CQ_EMPTY, ri_cq_poll(b.rnic, cq, &wc, &one, &err));
}

/* A CQ that overflows cannot be used any more, nor can its QPs (RI-40) */
void event_overflow(void)
{
	ri_cq_attr_t attr = { .num_cqe = 1 }, old;
	uint_t i, many = 32;
	ri_qp_attr_t qp;
	ri_cq_handle_t cq;
	ri_wc_t wc[32];

	open_end(&a);
	open_end(&b);
	expect(RI_RET_SUCCESS, ri_cq_create(b.rnic, &attr, &cq, NULL, &attr, &err));
	expect(RI_RET_SUCCESS, ri_qp_destroy(b.rnic, b.qp, &err));
	qp = qp_attr_of(&b);
	qp.rcq.rcq_handle = cq;
	expect(RI_RET_SUCCESS, ri_qp_create(b.rnic, &qp, &b.qp, NULL, &b, &err));
	listen_to(&b);
	for (i = 0; i <= attr.num_cqe; i++)
		post_recv(&b, i, 0, 10);
	connect_sockets();
	turn(false, true);
	for (i = 0; i <= attr.num_cqe; i++)
		post_send(&a, i, 0, 10);
	await_event(&b, RI_EVENT_CQ_OVERFLOW_DETECTED, &attr);
	await_event(&b, RI_EVENT_QP_CQ_RQ_ERROR, &b);
	expect(RI_RET_CQ_ERROR, ri_cq_query(b.rnic, cq, &old, &err));
	old.num_cqe = 100;
	expect(RI_RET_CQ_ERROR, ri_cq_modify(b.rnic, cq, RI_CQ_MODIFY_MASK_NUM_CQE, &old, &err));
	expect(RI_RET_SUCCESS, ri_cq_poll(b.rnic, cq, wc, &many, &err));
	require(many == attr.num_cqe && !wc[0].rc_wc.op_status, "%u of before", many);
	require_state(&b, RI_QP_STATE_ERROR);
	works_no_more(cq);
	expect(RI_RET_SUCCESS, ri_qp_destroy(b.rnic, b.qp, &err));
	expect(RI_RET_SUCCESS, ri_cq_destroy(b.rnic, cq, &err));
	qp = qp_attr_of(&b);
	expect(RI_RET_SUCCESS, ri_qp_create(b.rnic, &qp, &b.qp, NULL, &b, &err));
	close_pair();
}

/* Destroyed objects have no events and completions (RI-28, RI-37) */
void event_destroyed(void)
{
	ri_qp_attr_t qp;

	open_pair();
	listen_to(&a);
	set_state(&b, RI_QP_STATE_ERROR, RI_RET_SUCCESS);
	require(event_is_ready(&a, LONG_MS), "an event");
	expect(RI_RET_SUCCESS, ri_qp_destroy(a.rnic, a.qp, &err));
	no_event(&a, 0);
	qp = qp_attr_of(&a);
	expect(RI_RET_SUCCESS, ri_qp_create(a.rnic, &qp, &a.qp, NULL, &a, &err));
	close_pair();
}

/* The device leaves, under traffic, and comes back: old handles are invalid (RI-12) */
void event_removed(void)
{
	ri_vp_handle_t vp = find_vp();
	const char *name = rix_rnic_name(vp);
	ri_qp_attr_t attr;
	const char *netdev = getenv("RNICPI_NETDEV");
	ri_pd_handle_t pd;

	require(netdev, "no RNICPI_NETDEV");
	open_pair();
	listen_to(&a);
	post_recv(&b, 1, 0, 100);
	post_send(&a, 1, 0, 100);
	shell("rdma link delete %s", name, NULL);
	await_event(&a, RI_EVENT_LOCAL_CATASTROPHIC_ERROR, NULL);
	require(rix_event_fd(a.rnic) == -1, "closed");
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_qp_query(a.rnic, a.qp, &attr, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_qp_destroy(a.rnic, a.qp, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_rnic_free_hdl(vp, a.rnic, &err));
	/* b has not opened its events: its calls fail */
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_pd_alloc(b.rnic, &pd, NULL, NULL, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_qp_query(b.rnic, b.qp, &attr, &err));
	expect(RI_RET_RNIC_NOT_OPEN, ri_rnic_get_hdl(vp, RI_CONSUMER_LOCATION_USER,
						     &b.rnic, NULL, NULL, &err));
	shell("rdma link add %s type srnic netdev %s", name, netdev);
	free(a.buf);
	open_pair();
	close_pair();
}
