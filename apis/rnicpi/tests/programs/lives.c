// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Objects that are used again and again, and how long what they need lives. */
#include <dirent.h>
#include <endian.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "rnicpi.h"

static void arm(struct end *e, ri_cq_handle_t cq)
{
	expect(RI_RET_SUCCESS, ri_cq_req_notification(e->rnic, cq, RI_CMPLT_NOTIFY_ANY, &err));
}

/* A completion has come since arm(); it stays in the CQ */
static void await_completion(ri_cq_handle_t cq)
{
	struct pollfd fd = { .fd = rix_cq_fd(cq), .events = POLLIN };

	require(poll(&fd, 1, LONG_MS) == 1, "no completion");
	expect(RI_RET_SUCCESS, rix_cq_ack(cq, &err));
}

static void require_empty(struct end *e, ri_cq_handle_t cq)
{
	uint_t one = 1;
	ri_wc_t wc;

	expect(RI_RET_CQ_EMPTY, ri_cq_poll(e->rnic, cq, &wc, &one, &err));
}

static void one_message(struct end *from, struct end *to)
{
	post_recv(to, 100, 4096, 100);
	post_send(from, 101, 0, 100);
	take(from, from->scq, 101, RI_WC_TYPE_SEND, RI_WC_STATUS_SUCCESS);
	take(to, to->rcq, 100, RI_WC_TYPE_DATA_RECEIVED, RI_WC_STATUS_SUCCESS);
}

/* --- from Error to Idle --- */

/* The recipe of L2783: to Error, to Idle, and then the completions, of Sends and of receives */
void reaped(void)
{
	unsigned int round;
	ri_wr_id_t id;

	open_end(&a);
	open_end(&b);
	for (round = 0; round < 5; round++) {
		for (id = 10; id < 15; id++)
			post_recv(&a, id, 4096, 100);
		connect_sockets();
		turn(false, true);
		post_recv(&b, 1, 4096, 100);
		post_send(&a, 20, 0, 10);
		take(&b, b.rcq, 1, RI_WC_TYPE_DATA_RECEIVED, RI_WC_STATUS_SUCCESS);
		arm(&a, a.rcq);
		post_send(&b, 2, 0, 10);
		await_completion(a.rcq);
		make_idle(&a);
		require_state(&a, RI_QP_STATE_IDLE);
		take(&a, a.scq, 20, RI_WC_TYPE_SEND, RI_WC_STATUS_SUCCESS);
		require_empty(&a, a.scq);
		take(&a, a.rcq, 10, RI_WC_TYPE_DATA_RECEIVED, RI_WC_STATUS_SUCCESS);
		for (id = 11; id < 15; id++)
			take(&a, a.rcq, id, RI_WC_TYPE_DATA_RECEIVED,
			     RI_WC_STATUS_WR_FLUSHED_ERROR);
		require_empty(&a, a.rcq);
		make_idle(&b);
		take(&b, b.scq, 2, RI_WC_TYPE_SEND, RI_WC_STATUS_SUCCESS);
		close(a.fd);
		close(b.fd);
	}
	connect_sockets();
	turn(false, true);
	one_message(&a, &b);
	one_message(&b, &a);
	close_pair();
}

/* Those of another QP, and its order, are not touched; a QP that is destroyed has none of them */
void reaped_others(void)
{
	ri_qp_attr_t attr;
	ri_qp_handle_t qp;
	ri_wr_id_t id;

	open_end(&a);
	qp = a.qp;
	attr = qp_attr_of(&a);
	expect(RI_RET_SUCCESS, ri_qp_create(a.rnic, &attr, &a.qp, NULL, &a, &err));
	for (id = 0; id < 4; id++)
		post_recv(&a, id, 0, 10);
	make_idle(&a);
	for (id = 4; id < 8; id++)
		post_recv(&a, id, 0, 10);
	make_idle(&a);
	expect(RI_RET_SUCCESS, ri_qp_destroy(a.rnic, qp, &err));
	for (id = 0; id < 8; id++)
		take(&a, a.rcq, id, RI_WC_TYPE_DATA_RECEIVED, RI_WC_STATUS_WR_FLUSHED_ERROR);
	require_empty(&a, a.rcq);
	post_recv(&a, 8, 0, 10);
	make_idle(&a);
	expect(RI_RET_SUCCESS, ri_qp_destroy(a.rnic, a.qp, &err));
	require_empty(&a, a.rcq);
	expect(RI_RET_SUCCESS, ri_qp_create(a.rnic, &attr, &a.qp, NULL, &a, &err));
	close_end(&a);
}

/* --- Sends that are not signaled --- */

static void fill_sq(struct end *e, uint32_t wrs)
{
	ri_data_seg_t seg = seg_of(e, 0, 10);
	uint32_t i;

	for (i = 0; i < wrs; i++)
		expect(RI_RET_SUCCESS, ri_qp_post_send(e->rnic, e->qp, RI_WR_TYPE_SEND, NONE, i,
						       &seg, 0, 1, 0, &err));
	expect(RI_RET_QP_CAPACITY_EXCEEDED, ri_qp_post_send(e->rnic, e->qp, RI_WR_TYPE_SEND, NONE,
							    i, &seg, 0, 1, 0, &err));
}

static void hear(struct end *e, uint32_t wrs)
{
	uint32_t i;

	for (i = 0; i < wrs; i++)
		take(e, e->rcq, i, RI_WC_TYPE_DATA_RECEIVED, RI_WC_STATUS_SUCCESS);
}

static void forget_events(struct end *e)
{
	struct rix_event event;

	while (rix_get_event(e->rnic, &event, NULL) == RI_RET_SUCCESS)
		;
}

/* All WRs of a QP at rest are complete, and it is as if newly created (L2791) */
void unsignaled(void)
{
	enum { BY_STATE, BY_EVENT, BY_ERROR } how;
	ri_qp_attr_t attr;
	uint32_t i, id, wrs;

	open_end(&a);
	open_end(&b);
	listen_to(&a);
	expect(RI_RET_SUCCESS, ri_qp_query(a.rnic, a.qp, &attr, &err));
	wrs = attr.sq_size;
	expect(RI_RET_SUCCESS, ri_qp_query(b.rnic, b.qp, &attr, &err));
	require(attr.rq_size >= wrs, "%u receives for %u Sends", attr.rq_size, wrs);
	for (i = 0; i < 12; i++) {
		how = i % 3;
		for (id = 0; id < wrs; id++)
			post_recv(&b, id, 4096, 100);
		if (i & 1)
			fill_sq(&a, wrs);	/* in Idle */
		connect_sockets();
		turn(false, true);
		if (!(i & 1))
			fill_sq(&a, wrs);
		hear(&b, wrs);
		if (how == BY_ERROR) {
			make_idle(&a);
			make_idle(&b);
		} else {
			set_state(&a, RI_QP_STATE_CLOSING, RI_RET_SUCCESS);
			if (how == BY_STATE) {
				require_state(&a, RI_QP_STATE_IDLE);
				set_state(&a, RI_QP_STATE_READY_TO_SEND, RI_RET_INVALID_LLP_HANDLE);
			}
			await_event(&a, RI_EVENT_QP_LLP_CLOSE_COMPLETE, &a);
			require_state(&b, RI_QP_STATE_IDLE);
		}
		forget_events(&a);
		close(a.fd);
		close(b.fd);
	}
	require_empty(&a, a.scq);
	a.fd = b.fd = -1;
	close_pair();
}

/* --- receives of an SRQ --- */

static uint32_t crc32c(const unsigned char *p, size_t len)
{
	uint32_t crc = ~0u;
	int bit;

	while (len--)
		for (crc ^= *p++, bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	return ~crc;
}

/* The first segment of the first Send, with 100 bytes */
static void say_segment(int fd, bool last)
{
	unsigned char fpdu[124] = { 0, 18 + 100, 0x01, 0x43, [15] = 1 };
	uint32_t crc;

	if (last)
		fpdu[2] |= 0x40;
	crc = htole32(crc32c(fpdu, 120));
	memcpy(fpdu + 120, &crc, sizeof(crc));
	require(write(fd, fpdu, sizeof(fpdu)) == sizeof(fpdu), "write");
}

static ri_srq_handle_t srq;

static ri_api_return_t post_to_srq(void)
{
	ri_data_seg_t seg = seg_of(&b, 4096, 1000);

	return ri_srq_post_recv(b.rnic, srq, NONE, 1, &seg, 1, &err);
}

/* b, with an SRQ, is the responder; a is a socket alone. Returns when a receive is taken. */
static void half_a_turn(bool whole)
{
	ri_qp_attr_t attr = qp_attr_of(&b);
	struct rix_mpa_frame got;

	attr.srq_valid = 1;
	attr.srq.srq_handle = srq;
	attr.qp_xport.qp_iwarp.rq_hiwat = 1;
	expect(RI_RET_SUCCESS, ri_qp_create(b.rnic, &attr, &b.qp, NULL, &b, &err));
	connect_sockets();
	turn_ask(&a, false, true);
	turn_answer(&b, false, true);
	expect(RI_RET_SUCCESS, rix_mpa_recv(a.fd, 1, &got, &err));
	say_segment(a.fd, whole);
	await_event(&b, RI_EVENT_QP_RQ_LIMIT_REACHED, &b);
}

/* Whatever becomes of a receive that is taken, the SRQ takes another one in its place (RDMAC 6.3.5) */
void shared_slots(void)
{
	const struct linger reset = { .l_onoff = 1 };
	ri_srq_attr_t srq_attr = { .max_wrs = 8, .max_sgl = 1 };
	unsigned int i, round;
	ri_qp_attr_t attr;

	open_end(&b);
	listen_to(&b);
	expect(RI_RET_SUCCESS, ri_qp_destroy(b.rnic, b.qp, &err));
	srq_attr.pd = b.pd;
	expect(RI_RET_SUCCESS, ri_srq_create(b.rnic, &srq_attr, &srq, NULL, &b, &err));
	for (i = 0; i < srq_attr.max_wrs; i++)
		expect(RI_RET_SUCCESS, post_to_srq());
	for (round = 0; round < 5 * 2 * srq_attr.max_wrs; round++) {
		expect(RI_RET_QP_CAPACITY_EXCEEDED, post_to_srq());
		half_a_turn(round % 5 >= 3);
		if (round % 5 == 1) {
			setsockopt(a.fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
			close(a.fd);
			a.fd = -1;
			require_state(&b, RI_QP_STATE_ERROR);
		}
		if (round % 5 == 2 || round % 5 == 3)
			make_idle(&b);
		expect(RI_RET_SUCCESS, ri_qp_destroy(b.rnic, b.qp, &err));
		if (a.fd >= 0)
			close(a.fd);
		close(b.fd);
		require_empty(&b, b.rcq);
		expect(RI_RET_SUCCESS, post_to_srq());
	}
	expect(RI_RET_SUCCESS, ri_srq_destroy(b.rnic, srq, &err));
	attr = qp_attr_of(&b);
	expect(RI_RET_SUCCESS, ri_qp_create(b.rnic, &attr, &b.qp, NULL, &b, &err));
	b.fd = -1;
	close_end(&b);
}

/* --- what a program has --- */

/* More bytes than the provider's tables for one more range of QP numbers */
#define SLACK	(1 << 17)

static unsigned int descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int n = 0;

	require(dir, "/proc");
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static unsigned int mappings(void)
{
	FILE *file = fopen("/proc/self/maps", "r");
	unsigned int n = 0;
	char line[512];

	require(file, "/proc");
	while (fgets(line, sizeof(line), file))
		n += !!strstr(line, "uverbs");
	fclose(file);
	return n;
}

struct use {
	size_t heap;
	unsigned int descriptors, mappings;
};

static struct use use_now(void)
{
	return (struct use){ mallinfo2().uordblks, descriptors(), mappings() };
}

static void require_no_more(const char *what, struct use before, struct use after)
{
	note("%s: %zu bytes, then %zu; %u descriptors, then %u; %u mappings, then %u", what,
	     before.heap, after.heap, before.descriptors, after.descriptors, before.mappings,
	     after.mappings);
	require(after.heap < before.heap + SLACK, "memory stays");
	require(after.descriptors == before.descriptors && after.mappings == before.mappings,
		"they stay");
}

/* --- many connections --- */

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

/* A conversation of new QPs, with a completion that nobody takes. Return: the time of a poll */
static uint64_t converse_and_forget(void)
{
	ri_qp_attr_t attr = qp_attr_of(&a);
	uint_t one = 1;
	uint64_t ns;
	ri_wc_t wc;

	connect_sockets();
	turn(false, true);
	post_recv(&b, 1, 4096, 100);
	post_recv(&b, 2, 4096, 100);
	arm(&b, b.rcq);
	post_send(&a, 3, 0, 10);
	await_completion(b.rcq);
	ns = now_ns();
	expect(RI_RET_SUCCESS, ri_cq_poll(b.rnic, b.rcq, &wc, &one, &err));
	ns = now_ns() - ns;
	set_state(&b, RI_QP_STATE_ERROR, RI_RET_SUCCESS);
	renew_qp(&a, &attr);
	attr = qp_attr_of(&b);
	renew_qp(&b, &attr);
	close(a.fd);
	close(b.fd);
	return ns;
}

static uint64_t converse_often(unsigned int rounds)
{
	uint64_t least = UINT64_MAX, ns;

	while (rounds--) {
		ns = converse_and_forget();
		least = ns < least ? ns : least;
	}
	return least;
}

/* Pages of the program that are in memory, in KiB: those of its rings as well */
static unsigned long resident(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	unsigned long pages;

	require(file && fscanf(file, "%*u %lu", &pages) == 1, "/proc");
	fclose(file);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

/* What the program has and the time of a poll do not depend on the QPs that there were */
void many(void)
{
	unsigned int rounds = env_uint("RNICPI_CONNECTIONS", 300);
	uint64_t first, last, begin;
	unsigned long pages;
	struct use before;

	open_end(&a);
	open_end(&b);
	first = converse_often(30);
	before = use_now();
	pages = resident();
	begin = now_ms();
	converse_often(rounds);
	note("%u connections in %llu ms; %lu KiB are resident, then %lu", rounds,
	     (unsigned long long)(now_ms() - begin), pages, resident());
	require_no_more("connections", before, use_now());
	/* the least of more, since other programs may have the CPUs by now */
	last = converse_often(150);
	note("a poll takes %llu ns, then %llu", (unsigned long long)first, (unsigned long long)last);
	require(last < 3 * first + 1000, "polls become slower");
	a.fd = b.fd = -1;
	close_pair();
}

/* --- calls on what another thread ends --- */

static struct things {
	ri_rnic_handle_t rnic;
	ri_pd_handle_t pd;
	ri_cq_handle_t cq;
	ri_qp_handle_t qp;
	ri_srq_handle_t srq;
	ri_mr_handle_t mr;
	ri_mw_handle_t mw;
	ri_ltag_t ltag;
	ri_rtag_t rtag;
} o;
static char memory[4096];

static ri_mr_reg_attr_t mr_attr(void)
{
	return (ri_mr_reg_attr_t){
		.va = (uintptr_t)memory, .length = sizeof(memory), .pd = o.pd,
		.mem_attr = RI_MEM_FLAGS_LOCAL,
	};
}

static ri_qp_attr_t qp_attr(void)
{
	const struct end e = { .scq = o.cq, .rcq = o.cq, .pd = o.pd };
	ri_qp_attr_t attr = qp_attr_of(&e);

	attr.srq_valid = 1;
	attr.srq.srq_handle = o.srq;
	return attr;
}

static void make_rnic(void)
{
	o.rnic = get_rnic();
}

static void make_pd(void)
{
	require(!ri_pd_alloc(o.rnic, &o.pd, NULL, NULL, NULL), "a PD");
}

static void make_cq(void)
{
	ri_cq_attr_t attr = { .num_cqe = 64 };

	require(!ri_cq_create(o.rnic, &attr, &o.cq, NULL, NULL, NULL), "a CQ");
}

static void make_srq(void)
{
	ri_srq_attr_t attr = { .max_wrs = 16, .max_sgl = 1, .pd = o.pd };

	require(!ri_srq_create(o.rnic, &attr, &o.srq, NULL, NULL, NULL), "an SRQ");
}

static void make_qp(void)
{
	ri_qp_attr_t attr = qp_attr();

	attr.srq_valid = 0;
	require(!ri_qp_create(o.rnic, &attr, &o.qp, NULL, NULL, NULL), "a QP");
}

static void make_mr(void)
{
	ri_mr_reg_attr_t attr = mr_attr();

	require(!ri_mr_reg(o.rnic, &attr, &o.mr, &o.ltag, NULL, NULL, NULL, NULL), "a region");
}

static void make_mw(void)
{
	require(!ri_mw_alloc(o.rnic, o.pd, RI_MW_TYPE_NARROW, &o.mw, &o.rtag, NULL, NULL, NULL),
		"a window");
}

static ri_api_return_t end_rnic(void) { return ri_rnic_free_hdl(find_vp(), o.rnic, NULL); }
static ri_api_return_t end_pd(void) { return ri_pd_dealloc(o.rnic, o.pd, NULL); }
static ri_api_return_t end_cq(void) { return ri_cq_destroy(o.rnic, o.cq, NULL); }
static ri_api_return_t end_srq(void) { return ri_srq_destroy(o.rnic, o.srq, NULL); }
static ri_api_return_t end_qp(void) { return ri_qp_destroy(o.rnic, o.qp, NULL); }
static ri_api_return_t end_mr(void) { return ri_mr_dereg(o.rnic, o.mr, NULL); }
static ri_api_return_t end_mw(void) { return ri_mw_dealloc(o.rnic, o.mw, NULL); }

static ri_api_return_t query_rnic(void)
{
	uint64_t room[512];
	uint_t size = sizeof(room);

	return ri_rnic_query(o.rnic, (ri_rnic_query_flags_t)0, (ri_rnic_attr_t *)room, &size, NULL);
}

static ri_api_return_t event_of_rnic(void)
{
	struct rix_event event;

	rix_event_fd(o.rnic);
	rix_to_ibv_context(o.rnic);
	return rix_get_event(o.rnic, &event, NULL);
}

static ri_api_return_t use_pd(void)
{
	ri_pd_handle_t pd;
	ri_api_return_t ret = ri_pd_alloc(o.rnic, &pd, NULL, NULL, NULL);

	return ret ? ret : ri_pd_dealloc(o.rnic, pd, NULL);
}

static ri_api_return_t use_cq(void)
{
	ri_cq_attr_t attr = { .num_cqe = 4 };
	ri_cq_handle_t cq;
	ri_api_return_t ret = ri_cq_create(o.rnic, &attr, &cq, NULL, NULL, NULL);

	return ret ? ret : ri_cq_destroy(o.rnic, cq, NULL);
}

static ri_api_return_t use_srq(void)
{
	ri_srq_attr_t attr = { .max_wrs = 4, .max_sgl = 1, .pd = o.pd };
	ri_srq_handle_t made;
	ri_api_return_t ret = ri_srq_create(o.rnic, &attr, &made, NULL, NULL, NULL);

	return ret ? ret : ri_srq_destroy(o.rnic, made, NULL);
}

static ri_api_return_t use_qp(void)
{
	ri_qp_attr_t attr = qp_attr();
	ri_qp_handle_t qp;
	ri_api_return_t ret = ri_qp_create(o.rnic, &attr, &qp, NULL, NULL, NULL);

	return ret ? ret : ri_qp_destroy(o.rnic, qp, NULL);
}

static ri_api_return_t use_mr(void)
{
	ri_mr_reg_attr_t attr = mr_attr();
	ri_mr_handle_t mr;
	ri_ltag_t ltag;
	ri_rtag_t rtag;
	ri_api_return_t ret = ri_mr_reg(o.rnic, &attr, &mr, &ltag, &rtag, NULL, NULL, NULL);

	return ret ? ret : ri_mr_dereg(o.rnic, mr, NULL);
}

static ri_api_return_t use_mw(void)
{
	ri_mw_handle_t mw;
	ri_rtag_t rtag;
	ri_api_return_t ret = ri_mw_alloc(o.rnic, o.pd, RI_MW_TYPE_NARROW, &mw, &rtag, NULL, NULL,
					  NULL);

	return ret ? ret : ri_mw_dealloc(o.rnic, mw, NULL);
}

static ri_api_return_t query_cq(void)
{
	ri_cq_attr_t attr;

	rix_cq_fd(o.cq);
	rix_to_ibv_cq(o.cq);
	return ri_cq_query(o.rnic, o.cq, &attr, NULL);
}

static ri_api_return_t modify_cq(void)
{
	ri_cq_attr_t attr = { .num_cqe = 100 };

	return ri_cq_modify(o.rnic, o.cq, RI_CQ_MODIFY_MASK_NUM_CQE, &attr, NULL);
}

static ri_api_return_t poll_cq(void)
{
	uint_t one = 1;
	ri_wc_t wc;

	return ri_cq_poll(o.rnic, o.cq, &wc, &one, NULL);
}

static ri_api_return_t arm_cq(void)
{
	return ri_cq_req_notification(o.rnic, o.cq, RI_CMPLT_NOTIFY_ANY, NULL);
}

static ri_api_return_t ack_cq(void)
{
	return rix_cq_ack(o.cq, NULL);
}

static ri_api_return_t query_srq(void)
{
	ri_srq_attr_t attr;

	return ri_srq_query(o.rnic, o.srq, &attr, NULL);
}

static ri_api_return_t modify_srq(void)
{
	ri_srq_attr_t attr = { .lowat = 1 };

	return ri_srq_modify(o.rnic, o.srq, RI_SRQ_ATTR_LOWAT, &attr, NULL);
}

static ri_api_return_t recv_srq(void)
{
	return ri_srq_post_recv(o.rnic, o.srq, NONE, 1, NULL, 0, NULL);
}

static ri_api_return_t query_qp(void)
{
	ri_qp_attr_t attr;

	rix_to_ibv_qp(o.qp);
	return ri_qp_query(o.rnic, o.qp, &attr, NULL);
}

static ri_api_return_t modify_qp(void)
{
	ri_qp_attr_t attr = { .state = RI_QP_STATE_IDLE };

	return ri_qp_modify(o.rnic, o.qp, RI_QP_ATTR_NEXT_STATE, &attr, NULL);
}

/* To Error, and to Idle again */
static ri_api_return_t turn_qp(void)
{
	ri_qp_attr_t attr = { .state = RI_QP_STATE_ERROR };
	ri_api_return_t ret = ri_qp_modify(o.rnic, o.qp, RI_QP_ATTR_NEXT_STATE, &attr, NULL);

	return ret ? ret : modify_qp();
}

static ri_api_return_t send_qp(void)
{
	return ri_qp_post_send(o.rnic, o.qp, RI_WR_TYPE_SEND, SIGNALED, 1, NULL, 0, 0, 0, NULL);
}

static ri_api_return_t recv_qp(void)
{
	return ri_qp_post_recv(o.rnic, o.qp, NONE, 1, NULL, 0, NULL);
}

static ri_api_return_t query_mr(void)
{
	ri_mr_info_t info;

	return ri_mr_query(o.rnic, o.mr, &info, NULL);
}

static ri_api_return_t rereg_mr(void)
{
	ri_mr_reg_attr_t attr = mr_attr();
	ri_mr_handle_t mr;
	ri_ltag_t ltag;
	ri_rtag_t rtag;

	return ri_mr_rereg(o.rnic, o.mr, RI_MR_REREG_ACCESS, &attr, &mr, &ltag, &rtag, NULL, NULL,
			   NULL);
}

static ri_api_return_t share_mr(void)
{
	ri_mr_reg_attr_t attr = mr_attr();
	ri_mr_handle_t mr;
	ri_ltag_t ltag;
	ri_rtag_t rtag;
	ri_api_return_t ret = ri_mr_reg_shared(o.rnic, o.mr, &attr, &mr, &ltag, &rtag, NULL, NULL,
					       NULL);

	return ret ? ret : ri_mr_dereg(o.rnic, mr, NULL);
}

static ri_api_return_t bind_mw(void)
{
	return ri_qp_post_bind(o.rnic, o.qp, RI_WR_TYPE_BIND, NONE, 1, o.mw, o.rtag, o.mr, o.ltag,
			       (uintptr_t)memory, 16, RI_MEM_FLAGS_LOCAL_READ, NULL);
}

static ri_api_return_t query_mw(void)
{
	return ri_mw_query(o.rnic, o.mw, NULL, NULL, NULL, NULL, NULL, NULL);
}

/* A call on an object, the end of that, and what they say before and after it */
static const struct pair {
	const char *what;
	void (*make)(void);
	ri_api_return_t (*call)(void);
	ri_api_return_t (*end)(void);
	ri_api_return_t invalid;
	ri_api_return_t inuse;	/* as long as the call has made something of the object */
} pairs[] = {
	{ "query, RNIC", make_rnic, query_rnic, end_rnic, RI_RET_RNIC_INVALID_HANDLE, 0 },
	{ "event, RNIC", make_rnic, event_of_rnic, end_rnic, RI_RET_RNIC_INVALID_HANDLE, 0 },
	{ "PD, RNIC", make_rnic, use_pd, end_rnic, RI_RET_RNIC_INVALID_HANDLE, RI_RET_RNIC_INUSE },
	{ "CQ, RNIC", make_rnic, use_cq, end_rnic, RI_RET_RNIC_INVALID_HANDLE, RI_RET_RNIC_INUSE },
	{ "SRQ, PD", make_pd, use_srq, end_pd, RI_RET_PD_INVALID_HANDLE, RI_RET_PD_INUSE },
	{ "region, PD", make_pd, use_mr, end_pd, RI_RET_PD_INVALID_HANDLE, RI_RET_PD_INUSE },
	{ "window, PD", make_pd, use_mw, end_pd, RI_RET_PD_INVALID_HANDLE, RI_RET_PD_INUSE },
	{ "PD, PD", make_pd, end_pd, end_pd, RI_RET_PD_INVALID_HANDLE, 0 },
	{ "QP, CQ", make_cq, use_qp, end_cq, RI_RET_CQ_INVALID_HANDLE, RI_RET_CQ_INUSE },
	{ "query, CQ", make_cq, query_cq, end_cq, RI_RET_CQ_INVALID_HANDLE, 0 },
	{ "resize, CQ", make_cq, modify_cq, end_cq, RI_RET_CQ_INVALID_HANDLE, 0 },
	{ "poll, CQ", make_cq, poll_cq, end_cq, RI_RET_CQ_INVALID_HANDLE, 0 },
	{ "arm, CQ", make_cq, arm_cq, end_cq, RI_RET_CQ_INVALID_HANDLE, 0 },
	{ "ack, CQ", make_cq, ack_cq, end_cq, RI_RET_CQ_INVALID_HANDLE, 0 },
	{ "CQ, CQ", make_cq, end_cq, end_cq, RI_RET_CQ_INVALID_HANDLE, 0 },
	{ "QP, SRQ", make_srq, use_qp, end_srq, RI_RET_SRQ_INVALID_HANDLE, RI_RET_SRQ_INUSE },
	{ "query, SRQ", make_srq, query_srq, end_srq, RI_RET_SRQ_INVALID_HANDLE, 0 },
	{ "modify, SRQ", make_srq, modify_srq, end_srq, RI_RET_SRQ_INVALID_HANDLE, 0 },
	{ "receive, SRQ", make_srq, recv_srq, end_srq, RI_RET_SRQ_INVALID_HANDLE, 0 },
	{ "SRQ, SRQ", make_srq, end_srq, end_srq, RI_RET_SRQ_INVALID_HANDLE, 0 },
	{ "query, QP", make_qp, query_qp, end_qp, RI_RET_QP_INVALID_HANDLE, 0 },
	{ "modify, QP", make_qp, modify_qp, end_qp, RI_RET_QP_INVALID_HANDLE, 0 },
	{ "turn, QP", make_qp, turn_qp, end_qp, RI_RET_QP_INVALID_HANDLE, 0 },
	{ "Send, QP", make_qp, send_qp, end_qp, RI_RET_QP_INVALID_HANDLE, 0 },
	{ "receive, QP", make_qp, recv_qp, end_qp, RI_RET_QP_INVALID_HANDLE, 0 },
	{ "QP, QP", make_qp, end_qp, end_qp, RI_RET_QP_INVALID_HANDLE, 0 },
	{ "query, region", make_mr, query_mr, end_mr, RI_RET_MR_INVALID_HANDLE, 0 },
	{ "rereg, region", make_mr, rereg_mr, end_mr, RI_RET_MR_INVALID_HANDLE, 0 },
	{ "share, region", make_mr, share_mr, end_mr, RI_RET_MR_INVALID_HANDLE, 0 },
	{ "bind, region", make_mr, bind_mw, end_mr, RI_RET_MR_INVALID_HANDLE, 0 },
	{ "region, region", make_mr, end_mr, end_mr, RI_RET_MR_INVALID_HANDLE, 0 },
	{ "query, window", make_mw, query_mw, end_mw, RI_RET_MW_INVALID_HANDLE, 0 },
	{ "bind, window", make_mw, bind_mw, end_mw, RI_RET_MW_INVALID_HANDLE, 0 },
	{ "window, window", make_mw, end_mw, end_mw, RI_RET_MW_INVALID_HANDLE, 0 },
};

static atomic_uint calls, good;

static bool is_expected(const struct pair *pair, ri_api_return_t ret)
{
	switch (ret) {
	case RI_RET_SUCCESS:
	case RI_RET_CQ_EMPTY:
	case RI_RET_QP_CAPACITY_EXCEEDED:
	case RI_RET_STILL_FLUSHING_WQES:
		return true;
	default:
		return ret == pair->invalid || (ret && ret == pair->inuse);
	}
}

/* Calls until the object is no more */
static void *call_often(void *arg)
{
	const struct pair *pair = arg;
	ri_api_return_t ret;

	do {
		ret = pair->call();
		require(is_expected(pair, ret), "%s: %s", pair->what, rix_strerror(ret));
		good += !ret;
		calls++;
		/* others run; and nothing is made of the object meanwhile */
		if (pair->inuse || calls % 8 == 0)
			usleep(100);
	} while (ret != pair->invalid);
	return NULL;
}

static void race(const struct pair *pair, useconds_t delay)
{
	bool twice = pair->call == pair->end;
	uint64_t end = now_ms() + LONG_MS;
	ri_api_return_t ret;
	pthread_t thread;

	calls = good = 0;
	pair->make();
	require(!pthread_create(&thread, NULL, call_often, (void *)pair), "a thread");
	while (!twice && !calls && now_ms() < end)
		sched_yield();
	if (delay)
		usleep(delay);
	do
		ret = pair->end();
	while (ret && ret == pair->inuse && now_ms() < end && !sched_yield());
	pthread_join(thread, NULL);
	require(twice ? good + !ret == 1 && (!ret || ret == pair->invalid) : !ret, "%s: %s, %u times",
		pair->what, rix_strerror(ret), good);
}

/* Calls on one object are as if one came after the other (L992), for each call and each end */
void ends(void)
{
	unsigned int rounds = env_uint("RNICPI_RACES", 10), i, round;
	uint64_t begin;

	make_rnic();
	make_pd();
	make_cq();
	make_srq();
	make_qp();
	make_mr();
	make_mw();
	for (i = 0; i < ARRAY_SIZE(pairs); i++) {
		const struct things all = o;

		begin = now_ms();
		for (round = 0; round < rounds; round++) {
			race(&pairs[i], round % 4 * 50);
			o = all;
		}
		note("%s: %u ms", pairs[i].what, (unsigned int)(now_ms() - begin));
	}
	require(!end_mw() && !end_qp() && !end_mr() && !end_srq() && !end_cq() && !end_pd() &&
		!end_rnic(), "the others are as they were");
}

/* --- completions of what another thread ends --- */

static atomic_bool enough;

static void *poll_often(void *arg)
{
	struct end *e = arg;
	ri_api_return_t ret;
	uint_t num;
	ri_wc_t wc[4];

	while (!enough) {
		num = ARRAY_SIZE(wc);
		ret = ri_cq_poll(e->rnic, e->rcq, wc, &num, NULL);
		require(ret == RI_RET_SUCCESS || ret == RI_RET_CQ_EMPTY, "%s", rix_strerror(ret));
		sched_yield();
	}
	return NULL;
}

/* A thread polls the CQ of a server; another one ends QPs and SRQs whose completions are in it */
void ends_polled(void)
{
	unsigned int rounds = env_uint("RNICPI_ROUNDS", 30), i;
	ri_srq_attr_t srq_attr = { .max_wrs = 8, .max_sgl = 1 };
	ri_qp_attr_t attr;
	pthread_t thread;

	open_end(&a);
	open_end(&b);
	srq_attr.pd = b.pd;
	require(!pthread_create(&thread, NULL, poll_often, &b), "a thread");
	for (i = 0; i < rounds; i++) {
		expect(RI_RET_SUCCESS, ri_qp_destroy(b.rnic, b.qp, &err));
		expect(RI_RET_SUCCESS, ri_srq_create(b.rnic, &srq_attr, &srq, NULL, &b, &err));
		expect(RI_RET_SUCCESS, post_to_srq());
		expect(RI_RET_SUCCESS, post_to_srq());
		attr = qp_attr_of(&b);
		attr.srq_valid = 1;
		attr.srq.srq_handle = srq;
		expect(RI_RET_SUCCESS, ri_qp_create(b.rnic, &attr, &b.qp, NULL, &b, &err));
		connect_sockets();
		turn(false, true);
		post_send(&a, 1, 0, 10);
		take(&a, a.scq, 1, RI_WC_TYPE_SEND, RI_WC_STATUS_SUCCESS);
		if (i & 1)
			make_idle(&b);
		expect(RI_RET_SUCCESS, ri_qp_destroy(b.rnic, b.qp, &err));
		expect(RI_RET_SUCCESS, ri_srq_destroy(b.rnic, srq, &err));
		attr = qp_attr_of(&b);
		expect(RI_RET_SUCCESS, ri_qp_create(b.rnic, &attr, &b.qp, NULL, &b, &err));
		attr = qp_attr_of(&a);
		renew_qp(&a, &attr);
		close(a.fd);
		close(b.fd);
	}
	enough = true;
	pthread_join(thread, NULL);
	a.fd = b.fd = -1;
	close_pair();
}

/* --- devices that go --- */

/* As close_end(), of a device that find_vp() does not find */
static void end_objects(struct end *e, ri_vp_handle_t vp)
{
	expect(RI_RET_SUCCESS, ri_qp_destroy(e->rnic, e->qp, &err));
	expect(RI_RET_SUCCESS, ri_mr_dereg(e->rnic, e->mr, &err));
	expect(RI_RET_SUCCESS, ri_cq_destroy(e->rnic, e->scq, &err));
	expect(RI_RET_SUCCESS, ri_cq_destroy(e->rnic, e->rcq, &err));
	expect(RI_RET_SUCCESS, ri_pd_dealloc(e->rnic, e->pd, &err));
	expect(RI_RET_SUCCESS, ri_rnic_free_hdl(vp, e->rnic, &err));
}

/* a is told and its objects end; b is not told, and ends its objects */
static void lose_device(ri_vp_handle_t vp, const char *netdev)
{
	ri_srq_attr_t attr = { .max_wrs = 8, .max_sgl = 1 };
	ri_srq_handle_t of_a;
	ri_mw_handle_t window;
	ri_rtag_t rtag;

	open_pair();
	listen_to(&a);
	attr.pd = a.pd;
	expect(RI_RET_SUCCESS, ri_srq_create(a.rnic, &attr, &of_a, NULL, NULL, &err));
	expect(RI_RET_SUCCESS, ri_mw_alloc(a.rnic, a.pd, RI_MW_TYPE_NARROW, &window, &rtag, NULL,
					   NULL, &err));
	post_recv(&b, 1, 0, 100);
	post_send(&a, 1, 0, 100);
	shell("rdma link delete %s", rix_rnic_name(vp), NULL);
	await_event(&a, RI_EVENT_LOCAL_CATASTROPHIC_ERROR, NULL);
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_pd_dealloc(a.rnic, a.pd, &err));
	require(rix_event_fd(a.rnic) == -1 && rix_cq_fd(a.scq) == -1, "closed");
	end_objects(&b, vp);
	free(a.buf);
	free(b.buf);
	close(a.fd);
	close(b.fd);
	shell("rdma link add %s type srnic netdev %s", rix_rnic_name(vp), netdev);
}

/* Nothing of a device that has gone stays in a program that runs on (RI-12) */
void removed_again(void)
{
	ri_vp_handle_t vp = find_vp();
	const char *netdev = getenv("RNICPI_NETDEV");
	struct use before;
	unsigned int i;

	require(netdev, "no RNICPI_NETDEV");
	lose_device(vp, netdev);
	before = use_now();
	for (i = 0; i < 10; i++)
		lose_device(vp, netdev);
	require_no_more("devices", before, use_now());
}
