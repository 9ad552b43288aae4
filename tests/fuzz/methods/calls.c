// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * One random call: a table tells how to make each valid call, which may then be spoilt. An
 * attribute, and a word of a command, is a letter of a text:
 *
 *	ioctl	P C Q S M W A D	handle of a PD, CQ, QP, SRQ, MR, MW, AH, DM
 *		+		a new handle, of the kind of the next letter
 *		>		a new file descriptor
 *		i o		a question and an answer, of so many bytes
 *		f		file descriptor of a TCP connection
 *	command	r		two words: where the answer goes
 *		p c q s m w a	handles, as above
 *		@ # =		two words: an address, a length, the address once more
 *		n 1 0 -		a small number, 1, 0, all ones
 *		x		access flags
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl.h>
#include <rdma/srnic-abi.h>
#include "common.h"
#include "cases.h"
#include "methods.h"

#define NS		(1U << UVERBS_ID_NS_SHIFT)
#define MAX_ATTRS	16

struct slot {
	uint16_t id;
	char what;
	char kind;	/* of a new handle */
	uint16_t len;
};

/* Some calls must succeed at times, or the driver's code behind them is not reached */
#define MUST	true
#define MAY	false

static const struct method {
	const char *name;
	bool must;
	uint16_t object, method;
	struct slot slot[MAX_ATTRS];
} methods[] = {
#define OURS(_object, _method, _must) \
	.name = #_method, .must = _must, .object = UVERBS_OBJECT_##_object, \
	.method = SRNIC_METHOD_##_method
#define CORE(_object, _method, _must) \
	.name = #_method, .must = _must, .object = UVERBS_OBJECT_##_object, \
	.method = UVERBS_METHOD_##_method
	{ OURS(QP, QP_QUERY_TERMINATE, MUST), .slot = {
		{ SRNIC_ATTR_QUERY_TERMINATE_QP, 'Q' },
		{ SRNIC_ATTR_QUERY_TERMINATE_RESP, 'o', .len = sizeof(struct srnic_uresp_terminate) } } },
	{ OURS(QP, QP_MODIFY, MUST), .slot = {
		{ SRNIC_ATTR_QP_MODIFY_QP, 'Q' },
		{ SRNIC_ATTR_QP_MODIFY_REQ, 'i', .len = sizeof(struct srnic_ureq_qp_modify) },
		{ SRNIC_ATTR_QP_MODIFY_STREAM_FD, 'f' },
		{ SRNIC_ATTR_QP_MODIFY_LAST_MSG, 'i', .len = 40 } } },
	{ OURS(QP, QP_QUERY, MUST), .slot = {
		{ SRNIC_ATTR_QUERY_HANDLE, 'Q' },
		{ SRNIC_ATTR_QUERY_RESP, 'o', .len = sizeof(struct srnic_uresp_qp_query) } } },
	{ OURS(QP, QP_ARM_RQ, MUST), .slot = {
		{ SRNIC_ATTR_QP_ARM_RQ_QP, 'Q' },
		{ SRNIC_ATTR_QP_ARM_RQ_LIMIT, 'i', .len = 4 } } },
	{ OURS(QP, QP_RESIZE, MUST), .slot = {
		{ SRNIC_ATTR_QP_RESIZE_QP, 'Q' },
		{ SRNIC_ATTR_QP_RESIZE_REQ, 'i', .len = sizeof(struct srnic_ureq_qp_resize) },
		{ SRNIC_ATTR_QP_RESIZE_RESP, 'o', .len = sizeof(struct srnic_uresp_qp_resize) } } },
	{ OURS(DEVICE, DEV_QUERY, MUST), .slot = {
		{ SRNIC_ATTR_QUERY_RESP, 'o', .len = sizeof(struct srnic_uresp_dev_query) } } },
	{ OURS(CQ, CQ_QUERY, MUST), .slot = {
		{ SRNIC_ATTR_QUERY_HANDLE, 'C' },
		{ SRNIC_ATTR_QUERY_RESP, 'o', .len = sizeof(struct srnic_uresp_cq_query) } } },
	{ OURS(SRQ, SRQ_QUERY, MUST), .slot = {
		{ SRNIC_ATTR_QUERY_HANDLE, 'S' },
		{ SRNIC_ATTR_QUERY_RESP, 'o', .len = sizeof(struct srnic_uresp_srq_query) } } },
	{ OURS(MR, MR_QUERY, MUST), .slot = {
		{ SRNIC_ATTR_QUERY_HANDLE, 'M' },
		{ SRNIC_ATTR_QUERY_RESP, 'o', .len = sizeof(struct srnic_uresp_mr_query) } } },
	{ OURS(MW, MW_QUERY, MUST), .slot = {
		{ SRNIC_ATTR_QUERY_HANDLE, 'W' },
		{ SRNIC_ATTR_QUERY_RESP, 'o', .len = sizeof(struct srnic_uresp_mw_query) } } },
	{ OURS(MR, MR_REG_SHARED, MUST), .slot = {
		{ SRNIC_ATTR_MR_REG_SHARED_HANDLE, '+', 'M' },
		{ SRNIC_ATTR_MR_REG_SHARED_SOURCE, 'M' },
		{ SRNIC_ATTR_MR_REG_SHARED_PD, 'P' },
		{ SRNIC_ATTR_MR_REG_SHARED_REQ, 'i', .len = sizeof(struct srnic_ureq_mr_reg_shared) },
		{ SRNIC_ATTR_MR_REG_SHARED_STAG, 'o', .len = 4 } } },
	{ OURS(MR, MR_SET_KEY, MUST), .slot = {
		{ SRNIC_ATTR_MR_SET_KEY_HANDLE, 'M' },
		{ SRNIC_ATTR_MR_SET_KEY_KEY, 'i', .len = 4 },
		{ SRNIC_ATTR_MR_SET_KEY_STAG, 'o', .len = 4 } } },
	{ OURS(DM, DM_COPY, MUST), .slot = {
		{ SRNIC_ATTR_DM_COPY_HANDLE, 'D' },
		{ SRNIC_ATTR_DM_COPY_REQ, 'i', .len = sizeof(struct srnic_ureq_dm_copy) } } },
	{ .name = "EVENTS_OPEN", .must = MUST, .object = SRNIC_OBJECT_EVENTS,
	  .method = SRNIC_METHOD_EVENTS_OPEN, .slot = { { SRNIC_ATTR_EVENTS_OPEN_FD, '>' } } },
	{ CORE(DEVICE, QUERY_CONTEXT, MUST), .slot = {
		{ UVERBS_ATTR_QUERY_CONTEXT_NUM_COMP_VECTORS, 'o', .len = 4 },
		{ UVERBS_ATTR_QUERY_CONTEXT_CORE_SUPPORT, 'o', .len = 8 },
		{ SRNIC_ATTR_QUERY_CONTEXT_RESP, 'o', .len = sizeof(struct srnic_uresp_alloc_ctx) } } },
	{ CORE(DM, DM_ALLOC, MUST), .slot = {
		{ UVERBS_ATTR_ALLOC_DM_HANDLE, '+', 'D' },
		{ UVERBS_ATTR_ALLOC_DM_LENGTH, 'i', .len = 8 },
		{ UVERBS_ATTR_ALLOC_DM_ALIGNMENT, 'i', .len = 4 } } },
	{ CORE(DM, DM_FREE, MUST), .slot = { { UVERBS_ATTR_FREE_DM_HANDLE, 'D' } } },
	{ CORE(MR, DM_MR_REG, MUST), .slot = {
		{ UVERBS_ATTR_REG_DM_MR_HANDLE, '+', 'M' },
		{ UVERBS_ATTR_REG_DM_MR_OFFSET, 'i', .len = 8 },
		{ UVERBS_ATTR_REG_DM_MR_LENGTH, 'i', .len = 8 },
		{ UVERBS_ATTR_REG_DM_MR_PD_HANDLE, 'P' },
		{ UVERBS_ATTR_REG_DM_MR_ACCESS_FLAGS, 'i', .len = 4 },
		{ UVERBS_ATTR_REG_DM_MR_DM_HANDLE, 'D' },
		{ UVERBS_ATTR_REG_DM_MR_RESP_LKEY, 'o', .len = 4 },
		{ UVERBS_ATTR_REG_DM_MR_RESP_RKEY, 'o', .len = 4 } } },
	{ CORE(MR, QUERY_MR, MUST), .slot = {
		{ UVERBS_ATTR_QUERY_MR_HANDLE, 'M' },
		{ UVERBS_ATTR_QUERY_MR_RESP_LKEY, 'o', .len = 4 },
		{ UVERBS_ATTR_QUERY_MR_RESP_RKEY, 'o', .len = 4 },
		{ UVERBS_ATTR_QUERY_MR_RESP_LENGTH, 'o', .len = 8 },
		{ UVERBS_ATTR_QUERY_MR_RESP_IOVA, 'o', .len = 8 } } },
	{ CORE(MR, ADVISE_MR, MAY), .slot = {
		{ UVERBS_ATTR_ADVISE_MR_PD_HANDLE, 'P' },
		{ UVERBS_ATTR_ADVISE_MR_ADVICE, 'i', .len = 8 },
		{ UVERBS_ATTR_ADVISE_MR_FLAGS, 'i', .len = 4 },
		{ UVERBS_ATTR_ADVISE_MR_SGE_LIST, 'i', .len = 16 } } },
	{ CORE(MR, REG_DMABUF_MR, MAY), .slot = {
		{ UVERBS_ATTR_REG_DMABUF_MR_HANDLE, '+', 'M' },
		{ UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE, 'P' },
		{ UVERBS_ATTR_REG_DMABUF_MR_OFFSET, 'i', .len = 8 },
		{ UVERBS_ATTR_REG_DMABUF_MR_LENGTH, 'i', .len = 8 },
		{ UVERBS_ATTR_REG_DMABUF_MR_IOVA, 'i', .len = 8 },
		{ UVERBS_ATTR_REG_DMABUF_MR_FD, 'f' },
		{ UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS, 'i', .len = 4 },
		{ UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, 'o', .len = 4 },
		{ UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY, 'o', .len = 4 } } },
	{ CORE(MR, MR_DESTROY, MUST), .slot = { { UVERBS_ATTR_DESTROY_MR_HANDLE, 'M' } } },
	{ CORE(MW, MW_DESTROY, MUST), .slot = { { UVERBS_ATTR_DESTROY_MW_HANDLE, 'W' } } },
	{ CORE(PD, PD_DESTROY, MUST), .slot = { { UVERBS_ATTR_DESTROY_PD_HANDLE, 'P' } } },
	{ CORE(CQ, CQ_CREATE, MUST), .slot = {
		{ UVERBS_ATTR_CREATE_CQ_HANDLE, '+', 'C' },
		{ UVERBS_ATTR_CREATE_CQ_CQE, 'i', .len = 4 },
		{ UVERBS_ATTR_CREATE_CQ_USER_HANDLE, 'i', .len = 8 },
		{ UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, 'i', .len = 4 },
		{ UVERBS_ATTR_CREATE_CQ_RESP_CQE, 'o', .len = 4 },
		{ UVERBS_ATTR_UHW_OUT, 'o', .len = sizeof(struct srnic_uresp_create_cq) },
		{ UVERBS_ATTR_CREATE_CQ_FLAGS, 'i', .len = 4 } } },
	{ CORE(CQ, CQ_DESTROY, MUST), .slot = {
		{ UVERBS_ATTR_DESTROY_CQ_HANDLE, 'C' },
		{ UVERBS_ATTR_DESTROY_CQ_RESP, 'o', .len = 8 } } },
	{ CORE(QP, QP_CREATE, MUST), .slot = {
		{ UVERBS_ATTR_CREATE_QP_HANDLE, '+', 'Q' },
		{ UVERBS_ATTR_CREATE_QP_PD_HANDLE, 'P' },
		{ UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, 'C' },
		{ UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, 'C' },
		{ UVERBS_ATTR_CREATE_QP_USER_HANDLE, 'i', .len = 8 },
		{ UVERBS_ATTR_CREATE_QP_CAP, 'i', .len = 20 },
		{ UVERBS_ATTR_CREATE_QP_TYPE, 'i', .len = 8 },
		{ UVERBS_ATTR_CREATE_QP_RESP_CAP, 'o', .len = 20 },
		{ UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, 'o', .len = 4 },
		{ UVERBS_ATTR_UHW_OUT, 'o', .len = sizeof(struct srnic_uresp_create_qp) },
		{ UVERBS_ATTR_UHW_IN, 'i', .len = sizeof(struct srnic_ureq_create_qp) },
		{ UVERBS_ATTR_CREATE_QP_SRQ_HANDLE, 'S' } } },
	{ CORE(QP, QP_DESTROY, MUST), .slot = {
		{ UVERBS_ATTR_DESTROY_QP_HANDLE, 'Q' },
		{ UVERBS_ATTR_DESTROY_QP_RESP, 'o', .len = 4 } } },
	{ CORE(SRQ, SRQ_CREATE, MUST), .slot = {
		{ UVERBS_ATTR_CREATE_SRQ_HANDLE, '+', 'S' },
		{ UVERBS_ATTR_CREATE_SRQ_PD_HANDLE, 'P' },
		{ UVERBS_ATTR_CREATE_SRQ_USER_HANDLE, 'i', .len = 8 },
		{ UVERBS_ATTR_CREATE_SRQ_MAX_WR, 'i', .len = 4 },
		{ UVERBS_ATTR_CREATE_SRQ_MAX_SGE, 'i', .len = 4 },
		{ UVERBS_ATTR_CREATE_SRQ_LIMIT, 'i', .len = 4 },
		{ UVERBS_ATTR_CREATE_SRQ_TYPE, 'i', .len = 8 },
		{ UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR, 'o', .len = 4 },
		{ UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE, 'o', .len = 4 },
		{ UVERBS_ATTR_UHW_OUT, 'o', .len = sizeof(struct srnic_uresp_create_srq) } } },
	{ CORE(SRQ, SRQ_DESTROY, MUST), .slot = {
		{ UVERBS_ATTR_DESTROY_SRQ_HANDLE, 'S' },
		{ UVERBS_ATTR_DESTROY_SRQ_RESP, 'o', .len = 4 } } },
	{ CORE(ASYNC_EVENT, ASYNC_EVENT_ALLOC, MUST), .slot = {
		{ UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE, '>' } } },
};

static const struct command {
	const char *name;
	bool must;
	uint8_t nr;
	char made;		/* kind of the object whose handle is the response's first word */
	const char *words;
	uint8_t driver;		/* bytes of the driver's request, and of its response */
	uint8_t answer, driver_answer;
} commands[] = {
#define ANSWER(_name)	.answer = sizeof(struct ib_uverbs_##_name##_resp)
#define DRIVER(_name)	.driver_answer = sizeof(struct srnic_uresp_##_name)
#define CMD(_nr, _must) .name = #_nr, .must = _must, .nr = IB_USER_VERBS_CMD_##_nr
	{ CMD(QUERY_DEVICE, MUST), .words = "r", ANSWER(query_device) },
	{ CMD(QUERY_PORT, MUST), .words = "r10", ANSWER(query_port) },
	{ CMD(ALLOC_PD, MUST), 'P', "r", ANSWER(alloc_pd) },
	{ CMD(DEALLOC_PD, MUST), .words = "p" },
	{ CMD(REG_MR, MUST), 'M', "r@#=px", ANSWER(reg_mr) },
	{ CMD(REREG_MR, MUST), .words = "rm4@#=px", ANSWER(rereg_mr) },
	{ CMD(DEREG_MR, MUST), .words = "m" },
	{ CMD(ALLOC_MW, MUST), 'W', "rp1", ANSWER(alloc_mw) },
	{ CMD(DEALLOC_MW, MUST), .words = "w" },
	{ CMD(CREATE_CQ, MUST), 'C', "r00n0-0", ANSWER(create_cq), DRIVER(create_cq) },
	{ CMD(RESIZE_CQ, MUST), .words = "rcn", .driver = 8, ANSWER(resize_cq), DRIVER(resize_cq) },
	{ CMD(DESTROY_CQ, MUST), .words = "rc0", ANSWER(destroy_cq) },
	{ CMD(CREATE_QP, MUST), 'Q', "r00pccsnn111t", 8, ANSWER(create_qp), DRIVER(create_qp) },
	{ CMD(QUERY_QP, MUST), .words = "rq0", ANSWER(query_qp) },
	{ CMD(MODIFY_QP, MUST), .words = "0000000000000000q1000000z000" },
	{ CMD(DESTROY_QP, MUST), .words = "rq0", ANSWER(destroy_qp) },
	{ CMD(CREATE_SRQ, MUST), 'S', "r00pn10", ANSWER(create_srq), DRIVER(create_srq) },
	{ CMD(MODIFY_SRQ, MUST), .words = "sfnn" },
	{ CMD(QUERY_SRQ, MUST), .words = "rs0", ANSWER(query_srq) },
	{ CMD(DESTROY_SRQ, MUST), .words = "rs0", ANSWER(destroy_srq) },
	{ CMD(CREATE_AH, MAY), 'A', "r00p00000000y", ANSWER(create_ah), DRIVER(create_ah) },
	{ CMD(DESTROY_AH, MAY), .words = "a" },
	{ CMD(POST_SEND, MUST), .words = "rq00v", ANSWER(post_send) },
	{ CMD(POST_RECV, MUST), .words = "rq00u", ANSWER(post_recv) },
	{ CMD(POST_SRQ_RECV, MAY), .words = "rs00u", ANSWER(post_srq_recv) },
	{ CMD(POLL_CQ, MAY), .words = "rc1", .answer = 64 },
	{ CMD(REQ_NOTIFY_CQ, MAY), .words = "c0" },
	{ CMD(PEEK_CQ, MAY), .words = "rc1", .answer = 8 },
	{ CMD(CREATE_COMP_CHANNEL, MAY), .words = "r", ANSWER(create_comp_channel) },
};

/* And one row for commands that the table lacks */
#define NUM_METHODS	ARRAY_SIZE(methods)
#define NUM_COMMANDS	ARRAY_SIZE(commands)
const unsigned int num_calls = NUM_METHODS + NUM_COMMANDS + 1;

const char *call_name(unsigned int i)
{
	if (i < NUM_METHODS)
		return methods[i].name;
	i -= NUM_METHODS;
	return i < NUM_COMMANDS ? commands[i].name : "other commands";
}

bool call_must_succeed(unsigned int i)
{
	if (i < NUM_METHODS)
		return methods[i].must;
	i -= NUM_METHODS;
	return i < NUM_COMMANDS && commands[i].must;
}

static void count(unsigned int i, int err)
{
	atomic_fetch_add_explicit(&tallies[i].calls, 1, memory_order_relaxed);
	if (!err)
		atomic_fetch_add_explicit(&tallies[i].good, 1, memory_order_relaxed);
}

static enum kind kind_of(char letter)
{
	static const char letters[] = "PCQSMWAD";
	const char *at = strchr(letters, letter & ~0x20);

	return at ? (enum kind)(at - letters) : PD;
}

static int some_file(struct rng *r)
{
	return files[rng_below(r, FILES)];
}

/* Addresses that are mapped, not mapped, and at the border */
static uint64_t some_address(struct rng *r)
{
	switch (rng_below(r, 12)) {
	case 0: return 0;
	case 1: return 8 + rng_below(r, 64);
	case 2: return (uintptr_t)edge - rng_below(r, 64);
	case 3: return rng_next(r);
	case 4: return UINT64_MAX - rng_below(r, 4096);
	default: return (uintptr_t)area + 8 * rng_below(r, 4096);
	}
}

/* Requests are read from here; several threads may be changing them */
static void *some_place(struct rng *r)
{
	return area + 65536 + rng_below(r, 256) * 512;
}

static uint32_t small(struct rng *r)
{
	if (chance(r, 1))
		return rng_next(r);
	return chance(r, 2) ? 1U << rng_below(r, 17) : 1 + rng_below(r, 40);
}

/* Ioctl ------------------------------------------------------------------------- */

/* Both ends of a connection; @far is left to the caller, to be closed */
static int connection(struct rng *r, int *far)
{
	struct sockaddr_storage name;
	socklen_t len = sizeof(name);
	int listener, near;

	resolve(test_addr, 0, &name);
	listener = socket(name.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	near = socket(name.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	*far = -1;
	if (listener >= 0 && near >= 0 && !bind(listener, (struct sockaddr *)&name, len) &&
	    !listen(listener, 1) && !getsockname(listener, (struct sockaddr *)&name, &len) &&
	    !connect(near, (struct sockaddr *)&name, len))
		*far = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (listener >= 0)
		close(listener);
	return near;
}

static uint32_t access_flags(struct rng *r)
{
	return chance(r, 90) ? rng_below(r, 16) : rng_next(r);
}

/* Contents that may make the request valid */
static void fill_question(struct rng *r, const struct method *m, const struct slot *s, void *to)
{
	uint32_t *w = to;

	for (unsigned int i = 0; i < 64; i++)
		w[i] = chance(r, 60) ? 0 : small(r);
	if (m->object == UVERBS_OBJECT_QP && m->method == SRNIC_METHOD_QP_MODIFY && s->len != 40) {
		*(struct srnic_ureq_qp_modify *)to = (struct srnic_ureq_qp_modify){
			.state = SRNIC_QP_MODIFY_RTS, .flags = rng_below(r, 64), .ird = rng_below(r, 9),
			.ord = rng_below(r, 9), .keepalive = chance(r, 50) ? 0 : rng_below(r, 100),
		};
	} else if (m->object == UVERBS_OBJECT_QP && m->method == SRNIC_METHOD_QP_ARM_RQ) {
		w[0] = chance(r, 20) ? SRNIC_QP_RQ_DISARM : rng_below(r, 3);
	} else if (m->object == UVERBS_OBJECT_QP && m->method == SRNIC_METHOD_QP_RESIZE) {
		*(struct srnic_ureq_qp_resize *)to = (struct srnic_ureq_qp_resize){
			.step = chance(r, 90) ? 1 + rng_below(r, 3) : rng_below(r, 6),
			.max_send_wr = chance(r, 80) ? 16U << rng_below(r, 3) : small(r),
			.max_recv_wr = chance(r, 80) ? 16U << rng_below(r, 3) : small(r),
		};
	} else if (m->object == UVERBS_OBJECT_MR && m->method == SRNIC_METHOD_MR_REG_SHARED) {
		*(struct srnic_ureq_mr_reg_shared *)to = (struct srnic_ureq_mr_reg_shared){
			.iova = chance(r, 80) ? 4096ULL * rng_below(r, 1000) : some_address(r),
			.access = access_flags(r),
		};
	} else if (m->object == UVERBS_OBJECT_MR && m->method == SRNIC_METHOD_MR_SET_KEY) {
		w[0] = rng_below(r, 257);
	} else if (m->object == UVERBS_OBJECT_DM && m->method == SRNIC_METHOD_DM_COPY) {
		*(struct srnic_ureq_dm_copy *)to = (struct srnic_ureq_dm_copy){
			.offset = rng_below(r, 64), .addr = some_address(r),
			.length = rng_below(r, 128), .op = rng_below(r, 2),
		};
	} else if (m->object == UVERBS_OBJECT_DM && m->method == UVERBS_METHOD_DM_ALLOC) {
		*(uint64_t *)to = s->len == 8 ? 8 * small(r) : 0;
	} else if (m->object == UVERBS_OBJECT_MR && s->len == 4) {
		/* a region of device memory must be zero-based */
		w[0] = access_flags(r) | (m->method == UVERBS_METHOD_DM_MR_REG && chance(r, 90) ?
					  IB_UVERBS_ACCESS_ZERO_BASED : 0);
	} else if (m->object == UVERBS_OBJECT_MR && s->len == 8) {
		*(uint64_t *)to = 8 * rng_below(r, 20);
	} else if (s->id == UVERBS_ATTR_CREATE_QP_TYPE && m->object == UVERBS_OBJECT_QP) {
		w[0] = chance(r, 90) ? IB_UVERBS_QPT_RC : rng_below(r, 10);
		w[1] = 0;
	} else if (s->id == UVERBS_ATTR_CREATE_CQ_CQE && m->object == UVERBS_OBJECT_CQ) {
		w[0] = small(r);
	} else if (s->len == 20) {
		for (int i = 0; i < 5; i++)
			w[i] = 1 + (chance(r, 2) ? small(r) : rng_below(r, 8));
	} else if (m->object == UVERBS_OBJECT_SRQ && s->id == UVERBS_ATTR_CREATE_SRQ_TYPE) {
		*(uint64_t *)to = chance(r, 90) ? IB_UVERBS_SRQT_BASIC : rng_below(r, 4);
	} else if (m->object == UVERBS_OBJECT_SRQ && s->len == 4) {
		w[0] = s->id == UVERBS_ATTR_CREATE_SRQ_MAX_WR ? small(r) :
		       s->id == UVERBS_ATTR_CREATE_SRQ_MAX_SGE ? 1 + rng_below(r, 4) : 0;
	} else if (m->object == UVERBS_OBJECT_CQ && s->len == 4) {
		w[0] = chance(r, 80) ? 0 : rng_below(r, 4);
	}
}

/* Up to eight bytes are passed in the attribute's data itself */
static void put_question(struct rng *r, const struct method *m, const struct slot *s,
			 struct ib_uverbs_attr *a)
{
	void *to = some_place(r);

	fill_question(r, m, s, to);
	a->len = s->len;
	if (s->len <= 8) {
		a->data = 0;
		memcpy(&a->data, to, s->len);
	} else {
		a->data = (uintptr_t)to;
	}
}

struct call {
	struct ib_uverbs_ioctl_hdr hdr;
	struct ib_uverbs_attr attr[MAX_ATTRS];
};

/* Optional attributes are the last of a table's row, and are left out at times */
static bool is_optional(const struct method *m, const struct slot *s)
{
	if (m->object == UVERBS_OBJECT_QP && m->method == SRNIC_METHOD_QP_MODIFY)
		return s->id == SRNIC_ATTR_QP_MODIFY_LAST_MSG;
	return (m->object == UVERBS_OBJECT_DEVICE && m->method == UVERBS_METHOD_QUERY_CONTEXT) ||
	       (m->object == UVERBS_OBJECT_CQ && m->method == UVERBS_METHOD_CQ_CREATE &&
		s->id == UVERBS_ATTR_CREATE_CQ_FLAGS) ||
	       (m->object == UVERBS_OBJECT_QP && m->method == UVERBS_METHOD_QP_CREATE &&
		(s->id == UVERBS_ATTR_UHW_IN || s->id == UVERBS_ATTR_CREATE_QP_SRQ_HANDLE));
}

/* A call with valid handles and numbers. @far, @near: ends of its TCP connection, or -1 */
static void right_call(struct rng *r, const struct method *m, struct call *c, int *near, int *far)
{
	int n = 0;

	memset(c, 0, sizeof(*c));
	c->hdr.object_id = m->object;
	c->hdr.method_id = m->method;
	c->hdr.driver_id = SRNIC_DRIVER_ID;
	for (int i = 0; i < MAX_ATTRS && m->slot[i].what; i++) {
		const struct slot *s = &m->slot[i];
		struct ib_uverbs_attr *a = &c->attr[n];

		if (is_optional(m, s) && chance(r, 50))
			continue;
		a->attr_id = s->id;
		a->flags = UVERBS_ATTR_F_MANDATORY;
		switch (s->what) {
		case '+':
		case '>':
			break;
		case 'i':
			put_question(r, m, s, a);
			break;
		case 'o':
			a->len = s->len;
			a->data = (uintptr_t)area + 8 * rng_below(r, 4096);
			break;
		case 'f':
			if (*near < 0 && chance(r, 60))
				*near = connection(r, far);
			a->data_s64 = *near >= 0 ? *near : (int)rng_below(r, 40);
			break;
		default:
			a->data = some_handle(r, kind_of(s->what));
		}
		n++;
	}
	c->hdr.num_attrs = n;
}

static void spoil_attr(struct rng *r, struct ib_uverbs_attr *a)
{
	switch (rng_below(r, 7)) {
	case 0: a->attr_id = rng_below(r, 16) + (chance(r, 50) ? NS : 0); break;
	case 1: a->len = chance(r, 80) ? rng_below(r, 130) : rng_next(r); break;
	case 2: a->flags = rng_next(r); break;
	case 3: a->attr_data.reserved = rng_next(r); break;
	case 4: a->data = some_address(r); break;
	case 5: a->data = some_handle(r, rng_below(r, KINDS)); break;
	default: a->data = (int)rng_below(r, 40) - 1;
	}
}

/* Shuffle, repeat or drop attributes, or change their types */
static void spoil_list(struct rng *r, struct call *c)
{
	unsigned int n = c->hdr.num_attrs, i = rng_below(r, n + 1), k = rng_below(r, n + 1);
	struct ib_uverbs_attr a;

	if (i >= MAX_ATTRS || k >= MAX_ATTRS)
		return;
	switch (rng_below(r, 5)) {
	case 0:
		a = c->attr[i];
		c->attr[i] = c->attr[k];
		c->attr[k] = a;
		break;
	case 1:
		if (n < MAX_ATTRS)
			c->attr[c->hdr.num_attrs++] = c->attr[i];
		break;
	case 2:
		if (n) {
			c->attr[i] = c->attr[n - 1];
			c->hdr.num_attrs--;
		}
		break;
	default:
		spoil_attr(r, &c->attr[i]);
	}
}

static void spoil_header(struct rng *r, struct call *c)
{
	switch (rng_below(r, 7)) {
	case 0: c->hdr.num_attrs = chance(r, 90) ? rng_below(r, MAX_ATTRS + 1) : rng_next(r); break;
	case 1: c->hdr.method_id = rng_below(r, 12) + (chance(r, 50) ? NS : 0); break;
	case 2: c->hdr.object_id = rng_below(r, 24) + (chance(r, 20) ? NS : 0); break;
	case 3: c->hdr.driver_id = rng_next(r); break;
	case 4: c->hdr.reserved1 = rng_next(r); break;
	case 5: c->hdr.reserved2 = rng_next(r); break;
	default: c->hdr.length = chance(r, 50) ? rng_below(r, sizeof(*c) + 16) : rng_next(r);
	}
}

/* Read from a descriptor that a call has made, then close it */
static void use_descriptor(struct rng *r, int fd)
{
	uint8_t buf[256];

	if (fd < 0)
		return;
	fcntl(fd, F_SETFL, O_NONBLOCK);
	for (uint32_t i = rng_below(r, 3); i; i--)
		if (read(fd, buf, rng_below(r, sizeof(buf) + 1)) < 0)
			break;
	/* at times it stays open for a while, so that it gets events */
	if (chance(r, 30))
		usleep(rng_below(r, 2000));
	close(fd);
}

static const struct method *method_of(const struct call *c)
{
	for (unsigned int i = 0; i < NUM_METHODS; i++)
		if (methods[i].object == c->hdr.object_id && methods[i].method == c->hdr.method_id)
			return &methods[i];
	return NULL;
}

/* Keep new handles of a call that succeeded, even if it was spoilt */
static void remember(struct rng *r, const struct call *c)
{
	const struct method *m = method_of(c);

	for (int i = 0; m && i < MAX_ATTRS && m->slot[i].what; i++) {
		const struct slot *s = &m->slot[i];

		for (int k = 0; k < c->hdr.num_attrs && k < MAX_ATTRS; k++) {
			if (c->attr[k].attr_id != s->id)
				continue;
			if (s->what == '+')
				new_handle(r, kind_of(s->kind), c->attr[k].data);
			else if (s->what == '>')
				use_descriptor(r, c->attr[k].data_s64);
		}
	}
}

/*
 * Each such call that fails, as all do on an open device that has a context already, leaks the
 * struct of the calling task, with any driver: ib_alloc_ucontext() takes a reference, by
 * rdma_restrack_set_name(), and UVERBS_HANDLER(UVERBS_METHOD_GET_CONTEXT) then frees the context
 * without rdma_restrack_put(). The command (ib_uverbs_get_context()) has that, and is called. The
 * leak is in all of 6.1, 6.12 and 7.3. On a later kernel the method is called, and kmemleak shows
 * whether it still leaks.
 */
static bool loses_a_task(const struct call *c)
{
	unsigned int major, minor;
	struct utsname u;

	return c->hdr.object_id == UVERBS_OBJECT_DEVICE &&
	       c->hdr.method_id == UVERBS_METHOD_GET_CONTEXT && !uname(&u) &&
	       sscanf(u.release, "%u.%u", &major, &minor) == 2 &&
	       (major < 7 || (major == 7 && minor <= 3));
}

void random_ioctl(struct rng *r)
{
	unsigned int i = rng_below(r, NUM_METHODS);
	int near = -1, far = -1, err;
	struct call c;

	/* a hand-over takes longer than all others */
	if (methods[i].object == UVERBS_OBJECT_QP &&
	    methods[i].method == SRNIC_METHOD_QP_MODIFY && chance(r, 70))
		return;
	right_call(r, &methods[i], &c, &near, &far);
	if (chance(r, 65))
		for (uint32_t n = 1 + rng_below(r, 3); n; n--)
			spoil_list(r, &c);
	c.hdr.length = sizeof(c.hdr) + c.hdr.num_attrs * sizeof(c.attr[0]);
	if (chance(r, 8))
		spoil_header(r, &c);
	if (loses_a_task(&c)) {
		atomic_fetch_add_explicit(left_out, 1, memory_order_relaxed);
		goto out;
	}
	err = ioctl(some_file(r), RDMA_VERBS_IOCTL, &c) ? errno : 0;
	/* counted as the method that was called after spoiling */
	for (unsigned int k = 0; k < NUM_METHODS; k++)
		if (&methods[k] == method_of(&c))
			i = k;
	count(i, err);
	if (!err)
		remember(r, &c);
out:
	if (near >= 0)
		close(near);
	if (far >= 0) {
		if (chance(r, 50) && send(far, area, rng_below(r, 200), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
			errno = 0;
		close(far);
	}
}

/* Commands ---------------------------------------------------------------------- */

struct cmd {
	struct ib_uverbs_cmd_hdr hdr;
	uint32_t word[96];
};

static uint32_t *put_long(uint32_t *w, uint64_t v)
{
	memcpy(w, &v, sizeof(v));
	return w + 2;
}

static uint32_t *put_word(struct rng *r, uint32_t *w, char letter, void *answer)
{
	switch (letter) {
	case 'r': return put_long(w, (uintptr_t)answer);
	case '@': return put_long(w, (uintptr_t)area + 131072 + 8 * rng_below(r, 8192));
	case '=':
		memcpy(w, w - 4, 8);
		return w + 2;
	case '#': return put_long(w, chance(r, 95) ? rng_below(r, 60000) : rng_next(r));
	case 'p': *w = some_handle(r, PD); break;
	case 'c': *w = some_handle(r, CQ); break;
	case 'q': *w = some_handle(r, QP); break;
	case 's': *w = some_handle(r, SRQ); break;
	case 'm': *w = some_handle(r, MR); break;
	case 'w': *w = some_handle(r, MW); break;
	case 'a': *w = some_handle(r, AH); break;
	case 'n': *w = small(r); break;
	case 'x': *w = access_flags(r); break;
	case '1': *w = 1; break;
	case '4': *w = 1 << rng_below(r, 3); break;
	case '-': *w = UINT32_MAX; break;
	case 'f': *w = 1 + rng_below(r, 3); break;
	case 'u': *w = sizeof(struct ib_uverbs_recv_wr); break;
	case 'v': *w = sizeof(struct ib_uverbs_send_wr); break;
	case 't':	/* sq_sig_all, qp_type, is_srq */
		*w = rng_below(r, 2) | (chance(r, 90) ? IB_UVERBS_QPT_RC : rng_below(r, 10)) << 8 |
		     chance(r, 40) << 16;
		break;
	case 'y':	/* static_rate, is_global, port_num */
		*w = 1 << 8 | 1 << 16;
		break;
	case 'z':	/* qp_state */
		*w = rng_below(r, 7);
		break;
	default: *w = 0;
	}
	return w + 1;
}

/* Return: bytes of the command, whose response goes to @answer */
static size_t right_command(struct rng *r, const struct command *d, struct cmd *c, void *answer)
{
	uint32_t *w = c->word;

	memset(c, 0, sizeof(*c));
	for (const char *p = d->words; *p; p++)
		w = put_word(r, w, *p, answer);
	if ((w - c->word) % 2 && d->driver)
		w++;
	for (unsigned int i = 0; i < d->driver / 4U; i++)
		*w++ = i ? 0 : 1 + rng_below(r, 3);
	c->hdr.command = d->nr;
	c->hdr.in_words = sizeof(c->hdr) / 4 + (w - c->word);
	c->hdr.out_words = (d->answer + d->driver_answer) / 4;
	return c->hdr.in_words * 4;
}

static size_t spoil_command(struct rng *r, struct cmd *c, size_t len)
{
	switch (rng_below(r, 7)) {
	case 0:
		c->hdr.command = chance(r, 70) ? rng_below(r, 64) : rng_next(r);
		break;
	case 1:
		c->hdr.command |= IB_USER_VERBS_CMD_FLAG_EXTENDED;
		break;
	case 2:
		c->hdr.out_words = chance(r, 90) ? rng_below(r, 60) : rng_next(r);
		break;
	case 3:	/* more or fewer bytes, which may be those of the driver */
		c->hdr.in_words = 2 + rng_below(r, 80);
		return c->hdr.in_words * 4;
	case 4:
		return rng_below(r, sizeof(*c) + 1);
	default:
		c->word[rng_below(r, c->hdr.in_words > 2 ? c->hdr.in_words - 2 : 1) % 96] =
			chance(r, 50) ? small(r) : rng_next(r);
	}
	return len;
}

/* The same command by the ioctl method, which needs no write(2) */
static int invoke_write(struct rng *r, const struct command *d, const struct cmd *c, int fd)
{
	size_t bytes = c->hdr.in_words > 2 ? (c->hdr.in_words - 2) * 4 : 0;
	size_t core = bytes > d->driver ? bytes - d->driver : bytes;
	struct call io = {
		.hdr = { .object_id = UVERBS_OBJECT_DEVICE, .method_id = UVERBS_METHOD_INVOKE_WRITE,
			 .num_attrs = 3, .driver_id = SRNIC_DRIVER_ID },
		.attr = {
			{ .attr_id = UVERBS_ATTR_CORE_IN, .len = core,
			  .flags = UVERBS_ATTR_F_MANDATORY, .data = (uintptr_t)c->word },
			{ .attr_id = UVERBS_ATTR_WRITE_CMD, .len = 8, .flags = UVERBS_ATTR_F_MANDATORY,
			  .data = c->hdr.command },
			{ .attr_id = UVERBS_ATTR_CORE_OUT, .len = d->answer,
			  .flags = UVERBS_ATTR_F_MANDATORY, .data = (uintptr_t)some_place(r) },
		},
	};

	if (d->driver && bytes > core)
		io.attr[io.hdr.num_attrs++] = (struct ib_uverbs_attr){
			.attr_id = UVERBS_ATTR_UHW_IN, .len = bytes - core,
			.flags = UVERBS_ATTR_F_MANDATORY,
			.data = (uintptr_t)c->word + core };
	if (d->driver_answer)
		io.attr[io.hdr.num_attrs++] = (struct ib_uverbs_attr){
			.attr_id = UVERBS_ATTR_UHW_OUT, .len = d->driver_answer,
			.flags = UVERBS_ATTR_F_MANDATORY, .data = (uintptr_t)some_place(r) };
	if (chance(r, 20))
		spoil_list(r, &io);
	io.hdr.length = sizeof(io.hdr) + io.hdr.num_attrs * sizeof(io.attr[0]);
	return ioctl(fd, RDMA_VERBS_IOCTL, &io) ? errno : 0;
}

void random_write(struct rng *r)
{
	unsigned int i = rng_below(r, NUM_COMMANDS);
	uint32_t *answer = some_place(r);
	const struct command *d = &commands[i];
	int fd = some_file(r), err;
	bool spoilt = chance(r, 50);
	struct cmd c;
	size_t len;

	len = right_command(r, d, &c, answer);
	if (spoilt)
		for (uint32_t n = 1 + rng_below(r, 2); n; n--)
			len = spoil_command(r, &c, len);
	if (chance(r, 25)) {
		err = invoke_write(r, d, &c, fd);
		spoilt = true;	/* its response is elsewhere */
	} else {
		err = write(fd, &c, len) < 0 ? errno : 0;
	}
	if (c.hdr.command != d->nr)
		i = NUM_COMMANDS;
	count(NUM_METHODS + i, err);
	if (err || spoilt)
		return;
	if (d->made)
		new_handle(r, kind_of(d->made), answer[0]);
	if (d->nr == IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL)
		use_descriptor(r, answer[0]);
}

/* A valid command, made by the caller. Return: 0 or an errno */
int one_write(int fd, uint32_t command, const void *core, uint32_t core_len, uint32_t out_len)
{
	struct cmd c = {
		.hdr = { command, (sizeof(c.hdr) + core_len) / 4, out_len / 4 },
	};

	memcpy(c.word, core, core_len);
	return write(fd, &c, sizeof(c.hdr) + core_len) < 0 ? errno : 0;
}
