// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* kernel/qp.c, qp_modify.c, post.c, srq.c, cq.c: queues, their limits, states and streams. */
#include <linux/delay.h>
#include <linux/file.h>
#include <linux/kthread.h>
#include <linux/net.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include <rdma/ib_verbs.h>
#include "peer.h"
#include "queue/srq.h"
#include "rnicpi/kernel/rnic.h"
#include "rnicpi_pair.h"
#include "srnic.h"

#define OK	RI_RET_SUCCESS

/* RI-19, RI-20: each limit has its own code; the call returns the actual attributes */
static void create(struct kunit *test)
{
	ri_qp_attr_t *attr = kunit_kzalloc(test, sizeof(*attr), GFP_KERNEL);
	struct pair *p = pair_idle(test, RI_PHYS_PAGE_LIST_MODE, 0);
	ri_data_seg_t segs[4] = { };
	ri_qp_handle_t qp;

	KUNIT_ASSERT_NOT_NULL(test, attr);
#define BAD(field, value, code) do {							\
	ri_qp_attr_t bad = pair_qp_attr(p, &p->a);					\
											\
	bad.field = value;								\
	KUNIT_EXPECT_EQ_MSG(test, ri_qp_create(p->rnic, &bad, &qp, NULL, NULL, NULL), code,	\
			    #field);							\
} while (0)
	BAD(sq_size, SRNIC_MAX_QP_WR + 1, RI_RET_RNIC_WR_LIMIT_EXCEEDED);
	BAD(rq_size, SRNIC_MAX_QP_WR + 1, RI_RET_RNIC_WR_LIMIT_EXCEEDED);
	BAD(sq_max_sges, SRNIC_MAX_SGE + 1, RI_RET_RNIC_SG_LIMIT_EXCEEDED);
	BAD(sq_max_sges_rdmaw, SRNIC_MAX_SGE + 1, RI_RET_RNIC_SG_LIMIT_EXCEEDED);
	BAD(rq_max_sges, SRNIC_MAX_SGE + 1, RI_RET_RNIC_SG_LIMIT_EXCEEDED);
	BAD(max_rdma_read_incoming, 100000, RI_RET_RNIC_IRD_ORD_EXCEEDED);
	BAD(max_rdma_read_outgoing, 100000, RI_RET_RNIC_IRD_ORD_EXCEEDED);
	BAD(qp_xport.qp_iwarp.mpa_attrs.ddp_rdmap_version, 2, RI_RET_INVALID_DDP_RDMAP_VERSION);
	/* CRC is valid in create, and the device requires it (L2574) */
	BAD(qp_xport.qp_iwarp.mpa_attrs.crc_enabled, 0, RI_RET_MPA_ATTR_UNSUPPORTED);
	BAD(pd, p->a.cq, RI_RET_PD_INVALID_HANDLE);
	BAD(scq.scq_handle, p->pd, RI_RET_CQ_INVALID_HANDLE);
	BAD(rcq.rcq_handle, NULL, RI_RET_CQ_INVALID_HANDLE);
	BAD(srq_valid, 1, RI_RET_SRQ_INVALID_HANDLE);
	KUNIT_EXPECT_EQ(test, ri_qp_create(p->rnic, NULL, &qp, NULL, NULL, NULL),
			RI_RET_INVALID_PARAMETER);
	/* SGEs of Writes and of other WRs are apart */
	*attr = pair_qp_attr(p, &p->a);
	attr->sq_max_sges = 2;
	attr->sq_max_sges_rdmaw = 3;
	KUNIT_ASSERT_EQ(test, ri_qp_create(p->rnic, attr, &qp, NULL, NULL, NULL), OK);
	KUNIT_EXPECT_EQ(test, attr->sq_max_sges, 2);
	KUNIT_EXPECT_EQ(test, attr->sq_max_sges_rdmaw, 3);
	KUNIT_EXPECT_EQ(test, ri_qp_post_send(p->rnic, qp, RI_WR_TYPE_SEND, 0, 1, segs, 0, 3, 0,
					      NULL), RI_RET_RNIC_SG_LIMIT_EXCEEDED);
	KUNIT_EXPECT_EQ(test, ri_qp_post_rdma_write(p->rnic, qp, RI_WR_TYPE_RDMA_WRITE, 0, 1, segs,
						    0, 0, 4, 0, NULL),
			RI_RET_RNIC_SG_LIMIT_EXCEEDED);
	KUNIT_EXPECT_EQ(test, ri_qp_post_rdma_write(p->rnic, qp, RI_WR_TYPE_RDMA_WRITE, 0, 1, segs,
						    0, 0, 3, 0, NULL), OK);
	KUNIT_EXPECT_EQ(test, attr->state, RI_QP_STATE_IDLE);
	KUNIT_EXPECT_GE(test, attr->sq_size, PAIR_DEPTH);
	KUNIT_EXPECT_GT(test, attr->qp_id, 0);
	KUNIT_EXPECT_EQ(test, ri_qp_query(p->rnic, qp, attr, NULL), OK);
	KUNIT_EXPECT_PTR_EQ(test, attr->scq.scq_os_data, (void *)&p->a);
	KUNIT_EXPECT_PTR_EQ(test, attr->pd, p->pd);
	KUNIT_EXPECT_NULL(test, attr->qp_xport.qp_iwarp.llp_stream_handle);
	KUNIT_EXPECT_EQ(test, ri_qp_destroy(p->rnic, qp, NULL), OK);
	pair_close(p);
#undef BAD
}

/* RI-19, RI-22: sizes with an SRQ are at least as asked for; markers are not valid in create */
static void create_shared(struct kunit *test)
{
	ri_qp_attr_t *attr = kunit_kzalloc(test, sizeof(*attr), GFP_KERNEL);
	struct pair *p = pair_idle(test, RI_PHYS_PAGE_LIST_MODE, 0);
	ri_srq_attr_t srq_attr = { .max_wrs = 4, .max_sgl = 1, .pd = p->pd };
	ri_srq_handle_t srq;
	ri_mpa_attr_t *mpa;
	ri_qp_handle_t qp;

	KUNIT_ASSERT_NOT_NULL(test, attr);
	KUNIT_ASSERT_EQ(test, ri_srq_create(p->rnic, &srq_attr, &srq, NULL, NULL, NULL), OK);
	*attr = pair_qp_attr(p, &p->a);
	attr->srq_valid = 1;
	attr->srq.srq_handle = srq;
	attr->rq_size = 1000;
	attr->rq_max_sges = 3;
	mpa = &attr->qp_xport.qp_iwarp.mpa_attrs;
	mpa->recv_marker_enabled = 1;
	mpa->xmit_marker_enabled = 1;
	KUNIT_ASSERT_EQ(test, ri_qp_create(p->rnic, attr, &qp, NULL, NULL, NULL), OK);
	KUNIT_EXPECT_GE(test, attr->rq_size, 1000);
	KUNIT_EXPECT_GE(test, attr->rq_max_sges, 3);
	KUNIT_EXPECT_EQ(test, ri_qp_query(p->rnic, qp, attr, NULL), OK);
	KUNIT_EXPECT_GE(test, attr->rq_size, 1000);
	KUNIT_EXPECT_FALSE(test, mpa->recv_marker_enabled);
	KUNIT_EXPECT_FALSE(test, mpa->xmit_marker_enabled);
	KUNIT_EXPECT_TRUE(test, mpa->crc_enabled);
	KUNIT_EXPECT_EQ(test, ri_qp_destroy(p->rnic, qp, NULL), OK);
	KUNIT_EXPECT_EQ(test, ri_srq_destroy(p->rnic, srq, NULL), OK);
	pair_close(p);
}

/* RI-21, RI-22, RI-70: a call with an error changes nothing; each error has its code */
static void modify_wrong(struct kunit *test)
{
	ri_qp_attr_t *attr = kunit_kzalloc(test, 2 * sizeof(*attr), GFP_KERNEL);
	ri_qp_attr_t *now = attr + 1;
	struct pair *p = pair_idle(test, RI_PHYS_PAGE_LIST_MODE, 0);
	struct ri_linux_llp llp = { .size = sizeof(llp) };
	char last[4] = "abc";

	KUNIT_ASSERT_NOT_NULL(test, attr);
	attr->qp_xport.qp_iwarp.llp_stream_handle = &llp;
	attr->qp_xport.qp_iwarp.stream_msg_buf = last;
	attr->qp_xport.qp_iwarp.stream_msg_buf_length = 4;
	attr->max_rdma_read_incoming = 2;
#define BAD(mask, new_state, code) do {							\
	attr->state = new_state;							\
	KUNIT_EXPECT_EQ_MSG(test, ri_qp_modify(p->rnic, p->a.qp, mask, attr, NULL), code, #mask); \
} while (0)
#define IRD	RI_QP_ATTR_MAX_RDMA_READ_INCOMING
#define STATE	RI_QP_ATTR_NEXT_STATE
	BAD(1 << 12, 0, RI_RET_INVALID_PARAMETER);
	BAD(RI_QP_ATTR_RQ_HIWAT, 0, RI_RET_QP_ATTRIBUTE_CANT_CHANGE);
	attr->sq_size = 100000;
	BAD(RI_QP_ATTR_SQ_SIZE | IRD, 0, RI_RET_RNIC_WR_LIMIT_EXCEEDED);
	attr->sq_size = 5;
	BAD(STATE | RI_QP_ATTR_SQ_SIZE | IRD, RI_QP_STATE_ERROR, RI_RET_QP_ATTRIBUTE_CANT_CHANGE);
	BAD(STATE | IRD, RI_QP_STATE_CLOSING, RI_RET_QP_INVALID_STATE);
	BAD(STATE | IRD, RI_QP_STATE_TIMEWAIT, RI_RET_QP_INVALID_STATE);
	BAD(STATE | IRD, RI_QP_STATE_READY_TO_SEND, RI_RET_INVALID_LLP_HANDLE);
	BAD(RI_QP_ATTR_LLP_STREAM_HANDLE | IRD, 0, RI_RET_INVALID_LLP_HANDLE);
	BAD(RI_QP_ATTR_STREAM_MSG_BUFFER | IRD, 0, RI_RET_LLP_BAD_STATE);
	attr->qp_xport.qp_iwarp.mpa_attrs.ddp_rdmap_version = 2;
	BAD(RI_QP_ATTR_MPA_ATTR | IRD, 0, RI_RET_INVALID_DDP_RDMAP_VERSION);
	attr->qp_xport.qp_iwarp.mpa_attrs.ddp_rdmap_version = 1;
	BAD(RI_QP_ATTR_MPA_ATTR | IRD, 0, RI_RET_MPA_ATTR_UNSUPPORTED);
	KUNIT_EXPECT_EQ(test, ri_qp_query(p->rnic, p->a.qp, now, NULL), OK);
	KUNIT_EXPECT_EQ(test, now->max_rdma_read_incoming, 4);
	KUNIT_EXPECT_EQ(test, now->state, RI_QP_STATE_IDLE);
	BAD(IRD, 0, OK);
	KUNIT_EXPECT_EQ(test, ri_qp_query(p->rnic, p->a.qp, now, NULL), OK);
	KUNIT_EXPECT_EQ(test, now->max_rdma_read_incoming, 2);
	attr->max_rdma_read_incoming = 100000;
	BAD(IRD, 0, RI_RET_RNIC_IRD_ORD_EXCEEDED);
	/* L2687-93: the actual sizes are told */
	attr->sq_size = 5;
	attr->rq_size = 3;
	BAD(RI_QP_ATTR_SQ_SIZE | RI_QP_ATTR_RQ_SIZE, 0, OK);
	KUNIT_EXPECT_EQ(test, attr->sq_size, 8);
	KUNIT_EXPECT_EQ(test, attr->rq_size, 4);
	KUNIT_EXPECT_EQ(test, ri_qp_query(p->rnic, p->a.qp, now, NULL), OK);
	KUNIT_EXPECT_EQ(test, now->sq_size, 8);
	KUNIT_EXPECT_EQ(test, now->rq_size, 4);
	pair_connect(p);
	pair_recv(p, &p->a, 1, 0, 1);
	pair_recv(p, &p->a, 2, 0, 1);
	attr->rq_size = 1;
	BAD(RI_QP_ATTR_SQ_SIZE | RI_QP_ATTR_RQ_SIZE, 0, RI_RET_QP_CANNOT_SHRINK);
	attr->rq_size = 16;
	BAD(RI_QP_ATTR_RQ_SIZE, 0, OK);
	KUNIT_EXPECT_EQ(test, ri_qp_query(p->rnic, p->a.qp, now, NULL), OK);
	KUNIT_EXPECT_EQ(test, now->sq_size, 8);
	KUNIT_EXPECT_EQ(test, now->rq_size, 16);
	BAD(RI_QP_ATTR_MPA_ATTR, 0, RI_RET_LLP_BAD_STATE);
	BAD(RI_QP_ATTR_LLP_STREAM_HANDLE, 0, RI_RET_LLP_BAD_STATE);
	attr->max_rdma_read_incoming = 1;
	BAD(IRD, 0, RI_RET_QP_ATTRIBUTE_CANT_CHANGE);
	pair_close(p);
}

static ri_api_return_t set_stream(struct pair *p, struct pair_end *e, struct file *file)
{
	struct ri_linux_llp llp = { .size = sizeof(llp), .file = file };
	ri_qp_attr_t attr = { .qp_xport.qp_iwarp.llp_stream_handle = &llp };

	return ri_qp_modify(p->rnic, e->qp, RI_QP_ATTR_LLP_STREAM_HANDLE, &attr, NULL);
}

/* RI-68: only a connected TCP socket can be a stream; otherwise the QP stays Idle */
static void bad_streams(struct kunit *test)
{
	struct pair *p = pair_idle(test, RI_PHYS_PAGE_LIST_MODE, 0);
	struct file *file, *a, *b;
	struct socket *sock;

	KUNIT_ASSERT_EQ(test, 0, sock_create_kern(&init_net, AF_INET, SOCK_STREAM, IPPROTO_TCP,
						  &sock));
	file = sock_alloc_file(sock, O_RDWR, NULL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(file));
	KUNIT_EXPECT_EQ(test, pair_attach(p, &p->a, file, NULL, 0), RI_RET_INVALID_LLP_HANDLE);
	/* in a call of its own as well (L2749) */
	KUNIT_EXPECT_EQ(test, set_stream(p, &p->a, file), RI_RET_INVALID_LLP_HANDLE);
	fput(file);
	KUNIT_ASSERT_EQ(test, 0, sock_create_kern(&init_net, AF_INET, SOCK_DGRAM, IPPROTO_UDP,
						  &sock));
	file = sock_alloc_file(sock, O_RDWR, NULL);
	KUNIT_ASSERT_FALSE(test, IS_ERR(file));
	KUNIT_EXPECT_EQ(test, pair_attach(p, &p->a, file, NULL, 0), RI_RET_INVALID_LLP_HANDLE);
	fput(file);

	pair_files(p, &a, &b);
	KUNIT_EXPECT_EQ(test, kernel_sock_shutdown(sock_from_file(b), SHUT_WR), 0);
	KUNIT_EXPECT_EQ(test, pair_attach(p, &p->a, b, NULL, 0), RI_RET_INVALID_LLP_HANDLE);
	fput(a);
	fput(b);
	/* a stream belongs to one QP; a QP whose stream was refused can have another one */
	pair_files(p, &a, &b);
	KUNIT_EXPECT_EQ(test, pair_attach(p, &p->a, a, NULL, 0), OK);
	KUNIT_EXPECT_EQ(test, pair_attach(p, &p->b, a, NULL, 0), RI_RET_INVALID_LLP_HANDLE);
	KUNIT_EXPECT_EQ(test, pair_attach(p, &p->b, b, NULL, 0), OK);
	fput(a);
	fput(b);
	pair_recv(p, &p->b, 1, 0, 10);
	pair_send(p, &p->a, 2, 0, 10);
	pair_expect(p, &p->b, 1, RI_WC_TYPE_DATA_RECEIVED, RI_WC_STATUS_SUCCESS);
	pair_close(p);
}

static ri_api_return_t to_state(struct pair *p, struct pair_end *e, ri_qp_state_t state)
{
	ri_qp_attr_t attr = { .state = state };

	return ri_qp_modify(p->rnic, e->qp, RI_QP_ATTR_NEXT_STATE, &attr, NULL);
}

static ri_api_return_t set_mpa(struct pair *p, struct pair_end *e, ri_mpa_attr_t mpa)
{
	ri_qp_attr_t attr = { .qp_xport.qp_iwarp.mpa_attrs = mpa };

	return ri_qp_modify(p->rnic, e->qp, RI_QP_ATTR_MPA_ATTR, &attr, NULL);
}

/* RI-29: zero is the RDMA Consortium's version */
static void version_0(struct kunit *test)
{
	struct pair *p = pair_idle(test, RI_PHYS_PAGE_LIST_MODE, 0);

	KUNIT_EXPECT_EQ(test, set_mpa(p, &p->a, (ri_mpa_attr_t){ }), OK);
	KUNIT_EXPECT_EQ(test, set_mpa(p, &p->b, (ri_mpa_attr_t){ }), OK);
	pair_connect(p);
	pair_recv(p, &p->b, 1, 0, 10);
	pair_send(p, &p->a, 2, 0, 10);
	pair_expect(p, &p->b, 1, RI_WC_TYPE_DATA_RECEIVED, RI_WC_STATUS_SUCCESS);
	pair_expect(p, &p->a, 2, RI_WC_TYPE_SEND, RI_WC_STATUS_SUCCESS);
	pair_close(p);
}

/* RI-73: the version is each QP's own, and a QP takes no other */
static void other_version(struct kunit *test)
{
	struct pair *p = pair_idle(test, RI_PHYS_PAGE_LIST_MODE, 0);

	KUNIT_EXPECT_EQ(test, set_mpa(p, &p->a, (ri_mpa_attr_t){ }), OK);
	KUNIT_EXPECT_EQ(test, set_mpa(p, &p->b, (ri_mpa_attr_t){ 1, 1, 1, 1 }), OK);
	pair_connect(p);
	pair_send(p, &p->a, 2, 0, 10);
	KUNIT_EXPECT_TRUE(test, pair_event(p, RI_EVENT_QP_REMOTE_OP_ERROR_DDP_VERSION, &p->b));
	pair_close(p);
}

/* RI-68: a QP holds the file that is set, in a call of its own, too, until it has another one */
static void stream_is_held(struct kunit *test)
{
	struct pair *p = pair_idle(test, RI_PHYS_PAGE_LIST_MODE, 0);
	ri_qp_attr_t bad = { .state = RI_QP_STATE_CLOSING };
	struct file *a, *b, *c, *d;

	pair_files(p, &a, &b);
	pair_files(p, &c, &d);
	KUNIT_EXPECT_EQ(test, set_stream(p, &p->a, c), OK);
	KUNIT_EXPECT_EQ(test, file_count(c), 2);
	KUNIT_EXPECT_EQ(test, set_stream(p, &p->a, c), OK);
	KUNIT_EXPECT_EQ(test, file_count(c), 2);
	KUNIT_EXPECT_EQ(test, set_stream(p, &p->a, a), OK);
	KUNIT_EXPECT_EQ(test, file_count(a), 2);
	KUNIT_EXPECT_EQ(test, file_count(c), 1);
	/* a call that fails changes nothing */
	bad.qp_xport.qp_iwarp.llp_stream_handle = &(struct ri_linux_llp){
		.size = sizeof(struct ri_linux_llp), .file = c,
	};
	KUNIT_EXPECT_EQ(test, ri_qp_modify(p->rnic, p->a.qp, RI_QP_ATTR_NEXT_STATE |
					   RI_QP_ATTR_LLP_STREAM_HANDLE, &bad, NULL),
			RI_RET_QP_INVALID_STATE);
	KUNIT_EXPECT_EQ(test, file_count(a), 2);
	KUNIT_EXPECT_EQ(test, file_count(c), 1);
	/* the consumer has done with it, and the QP has not */
	fput(a);
	KUNIT_EXPECT_EQ(test, to_state(p, &p->a, RI_QP_STATE_READY_TO_SEND), OK);
	KUNIT_EXPECT_EQ(test, pair_attach(p, &p->b, b, NULL, 0), OK);
	fput(b);
	pair_recv(p, &p->b, 1, 0, 10);
	pair_send(p, &p->a, 2, 0, 10);
	pair_expect(p, &p->b, 1, RI_WC_TYPE_DATA_RECEIVED, RI_WC_STATUS_SUCCESS);
	pair_close(p);
	fput(c);
	fput(d);
}

/* The end of a QP that has not used its stream lets go of it */
static void stream_is_let_go(struct kunit *test)
{
	struct pair *p = pair_idle(test, RI_PHYS_PAGE_LIST_MODE, 0);
	struct file *a, *b;

	pair_files(p, &a, &b);
	KUNIT_EXPECT_EQ(test, set_stream(p, &p->a, a), OK);
	KUNIT_EXPECT_EQ(test, file_count(a), 2);
	pair_destroy_qps(p);
	KUNIT_EXPECT_EQ(test, file_count(a), 1);
	fput(a);
	fput(b);
	pair_close(p);
}

/* RI-68: a stream ends with its connection: the next one needs a handle of its own (L2749) */
static void stream_has_ended(struct kunit *test)
{
	ri_qp_attr_t *attr = kunit_kzalloc(test, sizeof(*attr), GFP_KERNEL);
	struct pair *p = pair_connected(test);

	KUNIT_ASSERT_NOT_NULL(test, attr);
	KUNIT_EXPECT_EQ(test, to_state(p, &p->a, RI_QP_STATE_CLOSING), OK);
	KUNIT_EXPECT_TRUE(test, pair_event(p, RI_EVENT_QP_LLP_CLOSE_COMPLETE, &p->a));
	KUNIT_EXPECT_TRUE(test, pair_event(p, RI_EVENT_QP_LLP_CLOSE_COMPLETE, &p->b));
	KUNIT_EXPECT_EQ(test, to_state(p, &p->a, RI_QP_STATE_READY_TO_SEND),
			RI_RET_INVALID_LLP_HANDLE);
	KUNIT_EXPECT_EQ(test, ri_qp_query(p->rnic, p->b.qp, attr, NULL), OK);
	KUNIT_EXPECT_EQ(test, attr->state, RI_QP_STATE_IDLE);
	KUNIT_EXPECT_NULL(test, attr->qp_xport.qp_iwarp.llp_stream_handle);
	pair_connect(p);
	pair_recv(p, &p->b, 1, 0, 10);
	pair_send(p, &p->a, 2, 0, 10);
	pair_expect(p, &p->b, 1, RI_WC_TYPE_DATA_RECEIVED, RI_WC_STATUS_SUCCESS);
	pair_close(p);
}

/*
 * RI-66, RI-67, RI-86: the QP sends the last message in streaming mode, from kernel memory, and
 * FPDUs after it; a responder sends no FPDU before its peer has (RI-74)
 */
static void last_message(struct kunit *test)
{
	struct pair *p = pair_idle(test, RI_PHYS_PAGE_LIST_MODE, 0);
	char reply[20] = "my last words", got[20];
	struct kvec vec = { .iov_base = got, .iov_len = sizeof(got) };
	struct msghdr msg = { };
	struct file *a, *b;
	ri_qp_attr_t *attr = kunit_kzalloc(test, sizeof(*attr), GFP_KERNEL);
	unsigned long ids = 0;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, attr);
	pair_files(p, &a, &b);
	pair_recv(p, &p->a, 1, 0, 10);
	pair_recv(p, &p->b, 2, 0, 10);
	KUNIT_ASSERT_EQ(test, pair_attach(p, &p->b, b, reply, sizeof(reply)), OK);
	KUNIT_EXPECT_EQ(test, ri_qp_query(p->rnic, p->b.qp, attr, NULL), OK);
	KUNIT_EXPECT_NULL(test, attr->qp_xport.qp_iwarp.stream_msg_buf);
	KUNIT_ASSERT_NOT_NULL(test, attr->qp_xport.qp_iwarp.llp_stream_handle);
	KUNIT_EXPECT_PTR_EQ(test, attr->qp_xport.qp_iwarp.llp_stream_handle->file, b);
	/* held until the peer has sent */
	pair_send(p, &p->b, 3, 0, 10);
	KUNIT_ASSERT_EQ(test, kernel_recvmsg(sock_from_file(a), &msg, &vec, 1, sizeof(got),
					     MSG_WAITALL), (int)sizeof(got));
	KUNIT_EXPECT_STREQ(test, got, reply);
	KUNIT_ASSERT_EQ(test, pair_attach(p, &p->a, a, NULL, 0), OK);
	fput(a);
	fput(b);
	pair_send(p, &p->a, 4, 0, 10);
	pair_expect(p, &p->b, 2, RI_WC_TYPE_DATA_RECEIVED, RI_WC_STATUS_SUCCESS);
	/* completions of its send and receive queues come in any order */
	for (i = 0; i < 2; i++) {
		KUNIT_ASSERT_TRUE(test, pair_wait(p, &p->a));
		KUNIT_EXPECT_EQ(test, p->a.wc.rc_wc.op_status, RI_WC_STATUS_SUCCESS);
		ids |= BIT(p->a.wc.rc_wc.id);
	}
	KUNIT_EXPECT_EQ(test, ids, BIT(1) | BIT(4));
	pair_close(p);
}

/* RI-25, RI-26: an abort flushes; WRs posted in Error are flushed; then the QP is as new */
static void flushed(struct kunit *test)
{
	ri_qp_attr_t attr = { .state = RI_QP_STATE_ERROR };
	struct pair *p = pair_connected(test);
	ri_api_return_t ret;
	u32 i;

	pair_recv(p, &p->a, 1, 0, 10);
	KUNIT_EXPECT_EQ(test, ri_qp_modify(p->rnic, p->a.qp, RI_QP_ATTR_NEXT_STATE, &attr, NULL),
			OK);
	pair_expect(p, &p->a, 1, RI_WC_TYPE_DATA_RECEIVED, RI_WC_STATUS_WR_FLUSHED_ERROR);
	pair_recv(p, &p->a, 2, 0, 10);
	pair_expect(p, &p->a, 2, RI_WC_TYPE_DATA_RECEIVED, RI_WC_STATUS_WR_FLUSHED_ERROR);
	pair_send(p, &p->a, 3, 0, 10);
	pair_expect(p, &p->a, 3, RI_WC_TYPE_SEND, RI_WC_STATUS_WR_FLUSHED_ERROR);
	KUNIT_EXPECT_EQ(test, p->a.wc.rc_wc.flags, 0);
	KUNIT_EXPECT_EQ(test, ri_qp_post_send(p->rnic, p->a.qp, RI_WR_TYPE_SEND_INVALIDATE,
					      RI_WR_SIGNALED_FLAG | RI_WR_SOLICITED_EVENT_FLAG, 6,
					      NULL, p->b.tag, 0, 0, NULL), OK);
	pair_expect(p, &p->a, 6, RI_WC_TYPE_SEND, RI_WC_STATUS_WR_FLUSHED_ERROR);
	KUNIT_EXPECT_EQ(test, p->a.wc.rc_wc.flags,
			RI_WC_FLAG_SOLICITED_EVENT | RIX_WC_FLAG_SEND_INVALIDATE);
	attr.state = RI_QP_STATE_IDLE;
	for (i = 0; i < 1000; i++) {
		ret = ri_qp_modify(p->rnic, p->a.qp, RI_QP_ATTR_NEXT_STATE, &attr, NULL);
		if (ret != RI_RET_STILL_FLUSHING_WQES)
			break;
		usleep_range(1000, 2000);
	}
	KUNIT_EXPECT_EQ(test, ret, OK);
	/* the abort resets the peer's stream */
	KUNIT_EXPECT_TRUE(test, pair_event(p, RI_EVENT_QP_LLP_CONNECTION_RESET, &p->b));
	KUNIT_EXPECT_EQ(test, ri_qp_modify(p->rnic, p->b.qp, RI_QP_ATTR_NEXT_STATE, &attr, NULL),
			OK);
	pair_connect(p);
	pair_recv(p, &p->b, 4, 0, 10);
	pair_send(p, &p->a, 5, 0, 10);
	pair_expect(p, &p->b, 4, RI_WC_TYPE_DATA_RECEIVED, RI_WC_STATUS_SUCCESS);
	pair_expect(p, &p->a, 5, RI_WC_TYPE_SEND, RI_WC_STATUS_SUCCESS);
	pair_close(p);
}

/* RI-61: each opcode has its flags; SGE lists that are too long; full queues (RI-01) */
static void posts_wrong(struct kunit *test)
{
	struct pair *p = pair_connected(test);
	ri_data_seg_t seg[5] = { };
	ri_wr_t wrs[3] = { };
	ri_wr_recv_t recv = { .flags = RI_WR_SIGNALED_FLAG };
	uint_t n = 3;
	u32 i;

#define POST(type, flags, num)							\
	ri_qp_post_send(p->rnic, p->a.qp, type, flags, 1, seg, 0, num, 0, NULL)
	KUNIT_EXPECT_EQ(test, POST(RI_WR_TYPE_SEND, 0, 5), RI_RET_RNIC_SG_LIMIT_EXCEEDED);
	KUNIT_EXPECT_EQ(test, POST(RI_WR_TYPE_RDMA_READ, 0, 1), RI_RET_WR_INVALID_TYPE);
	KUNIT_EXPECT_EQ(test, POST(RI_WR_TYPE_SEND_IMMEDIATE, 0, 1), RI_RET_WR_INVALID_TYPE);
	KUNIT_EXPECT_EQ(test, POST(99, 0, 1), RI_RET_WR_INVALID_TYPE);
	KUNIT_EXPECT_EQ(test, POST(RI_WR_TYPE_SEND, RI_WR_LOCAL_FENCE_FLAG, 1),
			RI_RET_WR_INVALID_FLAGS);
	KUNIT_EXPECT_EQ(test, POST(RI_WR_TYPE_SEND, RI_WR_CONSUMER_FLAG0, 1),
			RI_RET_WR_INVALID_FLAGS);
	KUNIT_EXPECT_EQ(test, ri_qp_post_rdma_write(p->rnic, p->a.qp, RI_WR_TYPE_RDMA_WRITE,
						    RI_WR_SOLICITED_EVENT_FLAG, 1, seg, 0, 0, 1, 0,
						    NULL), RI_RET_WR_INVALID_FLAGS);
	KUNIT_EXPECT_EQ(test, ri_qp_post_rdma_read(p->rnic, p->a.qp, RI_WR_TYPE_RDMA_READ,
						   RI_WR_READ_FENCE_FLAG, 1, seg, 0, 1, 0, NULL),
			RI_RET_WR_INVALID_FLAGS);
	n = 1;
	KUNIT_EXPECT_EQ(test, ri_qp_postrq(p->rnic, p->a.qp, &recv, &n, NULL),
			RI_RET_WR_INVALID_FLAGS);
	KUNIT_EXPECT_EQ(test, n, 0);
	KUNIT_EXPECT_EQ(test, ri_qp_post_recv(p->rnic, p->a.qp, 0, 1, seg, 5, NULL),
			RI_RET_RNIC_SG_LIMIT_EXCEEDED);
	/* the first two are posted, the third is invalid */
	n = 3;
	for (i = 0; i < 3; i++)
		wrs[i].wr_common = (ri_wr_common_t){
			.type = RI_WR_TYPE_LOCAL_INVALIDATE_MR, .id = i,
		};
	wrs[0].wr_li.ltag = p->a.tag;
	wrs[0].wr_li.mrw_handle.mr_handle = p->a.mr;
	wrs[1] = wrs[0];
	wrs[2].wr_common.type = RI_WR_TYPE_FETCH_AND_ADD;
	KUNIT_EXPECT_EQ(test, ri_qp_postsq(p->rnic, p->a.qp, wrs, &n, NULL),
			RI_RET_RNIC_ATOMICS_UNSUPPORTED);
	KUNIT_EXPECT_EQ(test, n, 2);
	/* what is invalidated has a handle, and a list that is not empty is there (L3145, L3156) */
	n = 1;
	wrs[0].wr_li.mrw_handle.mr_handle = p->pd;
	KUNIT_EXPECT_EQ(test, ri_qp_postsq(p->rnic, p->a.qp, wrs, &n, NULL),
			RI_RET_MR_INVALID_HANDLE);
	n = 1;
	wrs[0].wr_common.type = RI_WR_TYPE_LOCAL_INVALIDATE_MW;
	wrs[0].wr_li.mrw_handle.mw_handle = p->a.mr;
	KUNIT_EXPECT_EQ(test, ri_qp_postsq(p->rnic, p->a.qp, wrs, &n, NULL),
			RI_RET_MW_INVALID_HANDLE);
	KUNIT_EXPECT_EQ(test, ri_qp_post_send(p->rnic, p->a.qp, RI_WR_TYPE_SEND, 0, 1, NULL, 0, 1,
					      0, NULL), RI_RET_WR_SG_INVALID_FORMAT);
	KUNIT_EXPECT_EQ(test, ri_qp_post_recv(p->rnic, p->a.qp, 0, 1, NULL, 1, NULL),
			RI_RET_WR_SG_INVALID_FORMAT);
	KUNIT_EXPECT_EQ(test, ri_qp_postsq(p->rnic, p->a.qp, NULL, &n, NULL),
			RI_RET_INVALID_PARAMETER);
	/* nothing is posted if nothing is looked at (L3089, L3286) */
	KUNIT_EXPECT_EQ(test, n, 0);
	n = 3;
	KUNIT_EXPECT_EQ(test, ri_qp_postsq(p->rnic, p->pd, wrs, &n, NULL),
			RI_RET_QP_INVALID_HANDLE);
	KUNIT_EXPECT_EQ(test, n, 0);
	n = 3;
	KUNIT_EXPECT_EQ(test, ri_qp_postrq(p->rnic, p->pd, &recv, &n, NULL),
			RI_RET_QP_INVALID_HANDLE);
	KUNIT_EXPECT_EQ(test, n, 0);
	n = 3;
	KUNIT_EXPECT_EQ(test, ri_srq_post(p->rnic, p->pd, &recv, &n, NULL),
			RI_RET_SRQ_INVALID_HANDLE);
	KUNIT_EXPECT_EQ(test, n, 0);
	for (i = 0; i < PAIR_DEPTH; i++)
		pair_recv(p, &p->b, i, 0, 1);
	KUNIT_EXPECT_EQ(test, ri_qp_post_recv(p->rnic, p->b.qp, 0, 1, seg, 1, NULL),
			RI_RET_QP_CAPACITY_EXCEEDED);
	pair_close(p);
#undef POST
}

/* RI-08: an error is reported once: by the call, or by a completion */
static void told_once(struct kunit *test)
{
	struct pair *p = pair_connected(test);
	ri_data_seg_t seg = { .len = 10 };
	unsigned int i;
	uint_t n = 1;

#define POST(type, id)								\
	ri_qp_post_send(p->rnic, p->a.qp, type, RI_WR_SIGNALED_FLAG, id, &seg, 0, 1, 0, NULL)
	KUNIT_EXPECT_EQ(test, POST(99, 1), RI_RET_WR_INVALID_TYPE);
	msleep(20);
	KUNIT_EXPECT_EQ(test, ri_cq_poll(p->rnic, p->a.cq, &p->a.wc, &n, NULL), RI_RET_CQ_EMPTY);
	KUNIT_EXPECT_EQ(test, p->num_events, 0);
	seg.tag.ltag = 0x100;
	KUNIT_EXPECT_EQ(test, POST(RI_WR_TYPE_SEND, 2), OK);
	pair_expect(p, &p->a, 2, RI_WC_TYPE_SEND, RI_WC_STATUS_INVALID_STAG_ERROR);
	msleep(20);
	n = 1;
	KUNIT_EXPECT_EQ(test, ri_cq_poll(p->rnic, p->a.cq, &p->a.wc, &n, NULL), RI_RET_CQ_EMPTY);
	for (i = 0; i < min_t(unsigned int, READ_ONCE(p->num_events), PAIR_EVENTS); i++)
		KUNIT_EXPECT_PTR_NE(test, p->events[i].event_data.resource_os_data,
				    (ri_os_data_t)&p->a);
	pair_close(p);
#undef POST
}

/* AE-15: no receive is posted for a Send: an error at once, whatever the device's policy is */
static void no_receive(struct kunit *test)
{
	struct pair *p = pair_connected(test);
	const struct srnic_device *dev = to_srnic_dev(p->ibdev);

	KUNIT_EXPECT_NE(test, dev->policy.now.no_receive, 0);
	pair_send(p, &p->a, 1, 0, 10);
	KUNIT_EXPECT_TRUE(test, pair_event(p, RI_EVENT_QP_RQ_PROTECTION_ERROR_INVALID_MSN,
					   &p->b));
	KUNIT_EXPECT_EQ(test, srnic_counter(dev, SRNIC_CNT_RX_RNR), 0);
	KUNIT_EXPECT_EQ(test, srnic_counter(dev, SRNIC_CNT_RQ_EMPTY), 1);
	pair_close(p);
}

/* RI-60: inline data is copied when it is posted, and its tag is ignored */
static void inlined(struct kunit *test)
{
	struct pair *p = pair_idle(test, RI_PHYS_PAGE_LIST_MODE, 0);
	ri_data_seg_t seg = { .addr.vaddr = (uintptr_t)p->a.mem, .tag.ltag = 0x777, .len = 8 };

	seg.addr.vaddr = (uintptr_t)p->a.mem;
	strscpy(p->a.mem, "before", sizeof("before"));
	/* in Idle, so that nothing is sent yet */
	pair_recv(p, &p->b, 1, 100, 8);
	KUNIT_EXPECT_EQ(test, ri_qp_post_send(p->rnic, p->a.qp, RI_WR_TYPE_SEND,
					      RI_WR_SIGNALED_FLAG | RI_WR_INLINE_OK_FLAG, 2, &seg,
					      0, 1, 0, NULL), OK);
	strscpy(p->a.mem, "after", sizeof("after"));
	pair_connect(p);
	pair_expect(p, &p->a, 2, RI_WC_TYPE_SEND, RI_WC_STATUS_SUCCESS);
	pair_expect(p, &p->b, 1, RI_WC_TYPE_DATA_RECEIVED, RI_WC_STATUS_SUCCESS);
	KUNIT_EXPECT_STREQ(test, p->b.mem + 100, "before");
	pair_close(p);
}

/* The object stays as long as the test does not end it */
static struct rnic_obj *of_handle(struct pair *p, enum ri_kind kind, ri_handle_t handle)
{
	struct rnic_obj *obj;
	ri_api_return_t ret;

	rcu_read_lock();
	obj = ri_find(p->rnic, kind, handle, &ret);
	rcu_read_unlock();
	return obj;
}

/* New QPs, of which b's has the attributes @attr */
static void renew(struct pair *p, ri_qp_attr_t *attr)
{
	pair_destroy_qps(p);
	KUNIT_ASSERT_EQ(p->test, ri_qp_create(p->rnic, attr, &p->b.qp, NULL, &p->b, NULL), OK);
	*attr = pair_qp_attr(p, &p->a);
	KUNIT_ASSERT_EQ(p->test, ri_qp_create(p->rnic, attr, &p->a.qp, NULL, &p->a, NULL), OK);
}

/* ... b's takes its receives from an SRQ */
static void share(struct pair *p, ri_qp_attr_t *attr, ri_srq_handle_t srq)
{
	*attr = pair_qp_attr(p, &p->b);
	attr->srq_valid = 1;
	attr->srq.srq_handle = srq;
	renew(p, attr);
}

/* RI-23: Read Responses are what enable_rdma_write enables */
static void reads_disabled(struct kunit *test)
{
	ri_qp_attr_t *attr = kunit_kzalloc(test, sizeof(*attr), GFP_KERNEL);
	struct pair *p = pair_idle(test, RI_PHYS_PAGE_LIST_MODE, 0);
	ri_data_seg_t seg = pair_seg(&p->b, 0, 10);

	KUNIT_ASSERT_NOT_NULL(test, attr);
	*attr = pair_qp_attr(p, &p->b);
	attr->enable_rdma_write = 0;
	renew(p, attr);
	pair_connect(p);
	memset(p->a.mem, 7, 10);
	KUNIT_EXPECT_EQ(test, ri_qp_post_rdma_read(p->rnic, p->b.qp, RI_WR_TYPE_RDMA_READ,
						   RI_WR_SIGNALED_FLAG, 1, &seg,
						   (uintptr_t)p->a.mem, 1, p->a.tag, NULL), OK);
	pair_expect(p, &p->b, 1, RI_WC_TYPE_RDMA_READ, RI_WC_STATUS_WR_FLUSHED_ERROR);
	KUNIT_EXPECT_TRUE(test, pair_event(p, RI_EVENT_QP_REMOTE_OP_ERROR_RDMA_WR_RD_RESP_DISABLED,
					   &p->b));
	KUNIT_EXPECT_EQ(test, p->b.mem[0], 0);
	pair_close(p);
}

/* RI-22: its SQ is resized, and rq_size stays what create was asked for (L2554) */
static void expect_rq_size_stays(struct pair *p, ri_qp_attr_t *attr)
{
	struct kunit *test = p->test;
	u32 rq_size;

	KUNIT_EXPECT_EQ(test, ri_qp_query(p->rnic, p->b.qp, attr, NULL), OK);
	rq_size = attr->rq_size;
	KUNIT_EXPECT_GT(test, rq_size, 0);
	attr->sq_size = 4 * attr->sq_size;
	KUNIT_EXPECT_EQ(test, ri_qp_modify(p->rnic, p->b.qp, RI_QP_ATTR_SQ_SIZE, attr, NULL), OK);
	KUNIT_EXPECT_EQ(test, ri_qp_query(p->rnic, p->b.qp, attr, NULL), OK);
	KUNIT_EXPECT_EQ(test, attr->rq_size, rq_size);
}

/* RI-41, RI-44, RI-45: an SRQ, whose low water mark raises one event when it is reached */
static void shared_queue(struct kunit *test)
{
	ri_qp_attr_t *attr = kunit_kzalloc(test, sizeof(*attr), GFP_KERNEL);
	struct pair *p = pair_idle(test, RI_PHYS_PAGE_LIST_MODE, 0);
	ri_srq_attr_t srq_attr = { .max_wrs = 8, .max_sgl = 1, .lowat = 9, .pd = p->pd };
	ri_data_seg_t seg = pair_seg(&p->b, 0, 10);
	struct rnic_obj *obj;
	ri_srq_handle_t srq;
	u32 i, size;

	KUNIT_ASSERT_NOT_NULL(test, attr);
#define CREATE	ri_srq_create(p->rnic, &srq_attr, &srq, NULL, &srq_attr, NULL)
	KUNIT_EXPECT_EQ(test, CREATE, RI_RET_SRQ_LIMIT_OUT_OF_RANGE);
	srq_attr.lowat = 2;
	srq_attr.max_sgl = SRNIC_MAX_SGE + 1;
	KUNIT_EXPECT_EQ(test, CREATE, RI_RET_RNIC_SG_LIMIT_EXCEEDED);
	srq_attr.max_sgl = 1;
	srq_attr.pd = NULL;
	KUNIT_EXPECT_EQ(test, CREATE, RI_RET_PD_INVALID_HANDLE);
	srq_attr.pd = p->pd;
	KUNIT_ASSERT_EQ(test, CREATE, OK);
	share(p, attr, srq);
	expect_rq_size_stays(p, attr);
	KUNIT_EXPECT_EQ(test, ri_qp_post_recv(p->rnic, p->b.qp, 0, 1, &seg, 1, NULL),
			RI_RET_QP_TIED_TO_SRQ);
	KUNIT_EXPECT_EQ(test, ri_srq_destroy(p->rnic, srq, NULL), RI_RET_SRQ_INUSE);
	for (i = 0; i < 5; i++)
		KUNIT_EXPECT_EQ(test, ri_srq_post_recv(p->rnic, srq, 0, i, &seg, 1, NULL), OK);
	pair_connect(p);
	/* RI-43: a mark of 0 is the first receive that is taken */
	attr->qp_xport.qp_iwarp.rq_hiwat = 0;
	KUNIT_EXPECT_EQ(test, ri_qp_modify(p->rnic, p->b.qp, RI_QP_ATTR_RQ_HIWAT, attr, NULL), OK);
	KUNIT_EXPECT_EQ(test, ri_qp_query(p->rnic, p->b.qp, attr, NULL), OK);
	KUNIT_EXPECT_TRUE(test, attr->qp_xport.qp_iwarp.rq_armed);
	for (i = 0; i < 2; i++) {
		pair_send(p, &p->a, 10 + i, 0, 10);
		pair_expect(p, &p->b, i, RI_WC_TYPE_DATA_RECEIVED, RI_WC_STATUS_SUCCESS);
	}
	KUNIT_EXPECT_TRUE(test, pair_event(p, RI_EVENT_QP_RQ_LIMIT_REACHED, &p->b));
	KUNIT_EXPECT_EQ(test, p->num_events, 1);
	KUNIT_EXPECT_EQ(test, ri_srq_query(p->rnic, srq, &srq_attr, NULL), OK);
	KUNIT_EXPECT_EQ(test, srq_attr.lowat, 2);
	KUNIT_EXPECT_TRUE(test, srq_attr.srq_armed);
	pair_send(p, &p->a, 12, 0, 10);
	KUNIT_EXPECT_TRUE(test, pair_event(p, RI_EVENT_SRQ_LIMIT_REACHED, &srq_attr));
	KUNIT_EXPECT_EQ(test, ri_srq_query(p->rnic, srq, &srq_attr, NULL), OK);
	KUNIT_EXPECT_FALSE(test, srq_attr.srq_armed);
	/* RI-44: a mark of its size is in range, and 0 does not arm (L3453) */
	size = srq_attr.max_wrs;
	srq_attr = (ri_srq_attr_t){ .lowat = size };
	KUNIT_EXPECT_EQ(test, ri_srq_modify(p->rnic, srq, RI_SRQ_ATTR_LOWAT, &srq_attr, NULL), OK);
	KUNIT_EXPECT_EQ(test, srq_attr.max_wrs, size);
	KUNIT_EXPECT_TRUE(test, srq_attr.srq_armed);
	srq_attr.lowat = 0;
	KUNIT_EXPECT_EQ(test, ri_srq_modify(p->rnic, srq, RI_SRQ_ATTR_LOWAT, &srq_attr, NULL), OK);
	KUNIT_EXPECT_FALSE(test, srq_attr.srq_armed);
	KUNIT_EXPECT_EQ(test, ri_srq_query(p->rnic, srq, &srq_attr, NULL), OK);
	KUNIT_EXPECT_FALSE(test, srq_attr.srq_armed);
	srq_attr.lowat = size + 1;
	KUNIT_EXPECT_EQ(test, ri_srq_modify(p->rnic, srq, RI_SRQ_ATTR_LOWAT, &srq_attr, NULL),
			RI_RET_SRQ_LIMIT_OUT_OF_RANGE);
	/* one that the device takes no receives from any more */
	obj = of_handle(p, RI_KIND_SRQ, srq);
	KUNIT_ASSERT_NOT_NULL(test, obj);
	to_srnic_srq(to_srq(obj)->srq)->broken = true;
	srq_attr.lowat = 1;
	KUNIT_EXPECT_EQ(test, ri_srq_modify(p->rnic, srq, RI_SRQ_ATTR_LOWAT, &srq_attr, NULL),
			RI_RET_SRQ_IN_ERROR);
	KUNIT_EXPECT_EQ(test, ri_srq_query(p->rnic, srq, &srq_attr, NULL), RI_RET_SRQ_IN_ERROR);
	to_srnic_srq(to_srq(obj)->srq)->broken = false;
	pair_destroy_qps(p);
	KUNIT_EXPECT_EQ(test, ri_srq_destroy(p->rnic, srq, NULL), OK);
	pair_close(p);
}

static ri_api_return_t srq_recv(struct pair *p, ri_srq_handle_t srq, ri_wr_id_t id)
{
	ri_data_seg_t seg = pair_seg(&p->b, 0, 10);

	return ri_srq_post_recv(p->rnic, srq, 0, id, &seg, 1, NULL);
}

/* Posts as many receives as the SRQ is said to take (L6131). Return: how many it has */
static u32 srq_fill(struct pair *p, ri_srq_handle_t srq, u32 posted)
{
	ri_srq_attr_t is;

	KUNIT_ASSERT_EQ(p->test, ri_srq_query(p->rnic, srq, &is, NULL), OK);
	for (; posted < is.max_wrs; posted++)
		KUNIT_EXPECT_EQ(p->test, srq_recv(p, srq, posted), OK);
	KUNIT_EXPECT_EQ(p->test, srq_recv(p, srq, posted), RI_RET_QP_CAPACITY_EXCEEDED);
	return posted;
}

/* RI-91: an SRQ is resized with receives outstanding, or not at all, and its mark stays */
static void shared_resized(struct kunit *test)
{
	ri_qp_attr_t *attr = kunit_kzalloc(test, sizeof(*attr), GFP_KERNEL);
	struct pair *p = pair_idle(test, RI_PHYS_PAGE_LIST_MODE, 0);
	ri_srq_attr_t srq_attr = { .max_wrs = 8, .max_sgl = 1, .lowat = 2, .pd = p->pd }, is;
	ri_srq_attr_t to = { .lowat = 1 };
	ri_srq_handle_t srq;
	u32 i, posted = 0;

	KUNIT_ASSERT_NOT_NULL(test, attr);
	KUNIT_ASSERT_EQ(test, ri_srq_create(p->rnic, &srq_attr, &srq, NULL, &srq_attr, NULL), OK);
	share(p, attr, srq);
	for (; posted < 5; posted++)
		KUNIT_EXPECT_EQ(test, srq_recv(p, srq, posted), OK);
#define RESIZE(mask, attrs)	\
	ri_srq_modify(p->rnic, srq, RI_SRQ_ATTR_MAX_WRS | (mask), attrs, NULL)
	to.max_wrs = 4;
	KUNIT_EXPECT_EQ(test, RESIZE(0, &to), RI_RET_SRQ_CANNOT_SHRINK);
	KUNIT_EXPECT_EQ(test, RESIZE(RI_SRQ_ATTR_LOWAT, &to), RI_RET_SRQ_CANNOT_SHRINK);
	to.max_wrs = SRNIC_MAX_SRQ_WR + 1;
	KUNIT_EXPECT_EQ(test, RESIZE(RI_SRQ_ATTR_LOWAT, &to), RI_RET_RNIC_WR_LIMIT_EXCEEDED);
	to.max_wrs = 8;
	to.lowat = 9;
	KUNIT_EXPECT_EQ(test, RESIZE(RI_SRQ_ATTR_LOWAT, &to), RI_RET_SRQ_LIMIT_OUT_OF_RANGE);
	KUNIT_EXPECT_EQ(test, RESIZE(4, &to), RI_RET_INVALID_PARAMETER);
	KUNIT_EXPECT_EQ(test, RESIZE(0, NULL), RI_RET_INVALID_PARAMETER);
	/* none of them has changed anything */
	KUNIT_EXPECT_EQ(test, ri_srq_query(p->rnic, srq, &is, NULL), OK);
	KUNIT_EXPECT_EQ(test, is.max_wrs, srq_attr.max_wrs);
	KUNIT_EXPECT_EQ(test, is.lowat, 2);
	KUNIT_EXPECT_TRUE(test, is.srq_armed);
	to.max_wrs = 5;
	KUNIT_EXPECT_EQ(test, RESIZE(0, &to), OK);
	KUNIT_EXPECT_GE(test, to.max_wrs, 5);
	KUNIT_EXPECT_EQ(test, to.lowat, 2);
	posted = srq_fill(p, srq, posted);
	to.max_wrs = 20;
	KUNIT_EXPECT_EQ(test, RESIZE(0, &to), OK);
	KUNIT_EXPECT_GE(test, to.max_wrs, 20);
	posted = srq_fill(p, srq, posted);
	pair_connect(p);
	for (i = 0; i < posted - 2; i++) {
		KUNIT_EXPECT_EQ(test, p->num_events, 0);
		pair_send(p, &p->a, i, 0, 10);
		pair_expect(p, &p->a, i, RI_WC_TYPE_SEND, RI_WC_STATUS_SUCCESS);
		pair_expect(p, &p->b, i, RI_WC_TYPE_DATA_RECEIVED, RI_WC_STATUS_SUCCESS);
	}
	KUNIT_EXPECT_TRUE(test, pair_event(p, RI_EVENT_SRQ_LIMIT_REACHED, &srq_attr));
	/* an armed mark has to be in range of the new size */
	to = (ri_srq_attr_t){ .lowat = 9 };
	KUNIT_EXPECT_EQ(test, ri_srq_modify(p->rnic, srq, RI_SRQ_ATTR_LOWAT, &to, NULL), OK);
	to.max_wrs = 8;
	KUNIT_EXPECT_EQ(test, RESIZE(0, &to), RI_RET_SRQ_LIMIT_OUT_OF_RANGE);
	pair_destroy_qps(p);
	KUNIT_EXPECT_EQ(test, ri_srq_destroy(p->rnic, srq, NULL), OK);
	pair_close(p);
}

/* Sizes of a CQ: above the limit, larger, and smaller than the completions in it (RI-40) */
static void cq_sizes(struct kunit *test)
{
	struct pair *p = pair_connected(test);
	ri_cq_attr_t attr = { .num_cqe = SRNIC_MAX_CQE + 1 };
	ri_cq_handle_t cq;
	u32 i;

	KUNIT_EXPECT_EQ(test, ri_cq_create(p->rnic, &attr, &cq, NULL, NULL, NULL),
			RI_RET_CQ_CAPACITY_EXCEEDED);
	/* the page of create has no such error (L2034): at least so many */
	attr.num_cqe = 0;
	KUNIT_EXPECT_EQ(test, ri_cq_create(p->rnic, &attr, &cq, NULL, NULL, NULL), OK);
	KUNIT_EXPECT_EQ(test, ri_cq_destroy(p->rnic, cq, NULL), OK);
	attr.num_cqe = 0;
#define MODIFY(mask)	ri_cq_modify(p->rnic, p->a.cq, mask, &attr, NULL)
	KUNIT_EXPECT_EQ(test, MODIFY(RI_CQ_MODIFY_MASK_NUM_CQE), RI_RET_INVALID_PARAMETER);
	attr.num_cqe = SRNIC_MAX_CQE + 1;
	KUNIT_EXPECT_EQ(test, MODIFY(RI_CQ_MODIFY_MASK_NUM_CQE), RI_RET_CQ_CAPACITY_EXCEEDED);
	attr.num_cqe = 200;
	KUNIT_EXPECT_EQ(test, MODIFY(2), RI_RET_INVALID_PARAMETER);
	KUNIT_EXPECT_EQ(test, MODIFY(RI_CQ_MODIFY_MASK_NUM_CQE), OK);
	KUNIT_EXPECT_GE(test, attr.num_cqe, 200);
	for (i = 0; i < 4; i++) {
		pair_recv(p, &p->b, i, 0, 10);
		pair_send(p, &p->a, i, 0, 10);
		pair_expect(p, &p->b, i, RI_WC_TYPE_DATA_RECEIVED, RI_WC_STATUS_SUCCESS);
	}
	msleep(20);
	attr.num_cqe = 2;
	KUNIT_EXPECT_EQ(test, MODIFY(RI_CQ_MODIFY_MASK_NUM_CQE), RI_RET_CQ_WOULD_OVERFLOW);
	KUNIT_EXPECT_EQ(test, ri_cq_query(p->rnic, p->a.cq, &attr, NULL), OK);
	KUNIT_EXPECT_EQ(test, attr.handler_id, p->handler_id);
	for (i = 0; i < 4; i++)
		pair_expect(p, &p->a, i, RI_WC_TYPE_SEND, RI_WC_STATUS_SUCCESS);
	pair_close(p);
}

/* RI-28: completions of a destroyed QP that were not polled are discarded */
static void destroyed(struct kunit *test)
{
	struct pair *p = pair_connected(test);
	uint_t n = 1;

	pair_recv(p, &p->b, 1, 0, 10);
	pair_send(p, &p->a, 2, 0, 10);
	msleep(20);
	pair_recv(p, &p->b, 3, 0, 10);
	pair_destroy_qps(p);
	KUNIT_EXPECT_EQ(test, ri_cq_poll(p->rnic, p->a.cq, &p->a.wc, &n, NULL), RI_RET_CQ_EMPTY);
	KUNIT_EXPECT_EQ(test, n, 0);
	n = 1;
	KUNIT_EXPECT_EQ(test, ri_cq_poll(p->rnic, p->b.cq, &p->b.wc, &n, NULL), RI_RET_CQ_EMPTY);
	n = 0;
	KUNIT_EXPECT_EQ(test, ri_cq_poll(p->rnic, p->b.cq, &p->b.wc, &n, NULL),
			RI_RET_INVALID_PARAMETER);
	pair_close(p);
}

#define THREADS	4
#define WRITES	200

struct poster {
	struct pair *p;
	u32 first;
	ri_api_return_t ret;
	struct completion done;
};

/* Writes of four bytes each; each thread writes its own numbers */
static int post_many(void *data)
{
	struct poster *t = data;
	struct pair *p = t->p;
	u32 i;

	for (i = t->first; i < t->first + WRITES;) {
		ri_data_seg_t seg = pair_seg(&p->a, i * sizeof(u32), sizeof(u32));

		t->ret = ri_qp_post_rdma_write(p->rnic, p->a.qp, RI_WR_TYPE_RDMA_WRITE,
					       RI_WR_SIGNALED_FLAG, i, &seg,
					       (uintptr_t)p->b.mem + i * sizeof(u32), p->b.tag, 1,
					       0, NULL);
		if (!t->ret)
			i++;
		else if (t->ret == RI_RET_QP_CAPACITY_EXCEEDED)
			usleep_range(20, 50);
		else
			break;
	}
	complete(&t->done);
	return 0;
}

/* RI-04, RI-05: threads post to one QP while another polls; each WR completes once */
static void threads(struct kunit *test)
{
	struct poster *t = kunit_kzalloc(test, THREADS * sizeof(*t), GFP_KERNEL);
	u8 *seen = kunit_kzalloc(test, THREADS * WRITES, GFP_KERNEL);
	struct pair *p = pair_connected(test);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, t);
	KUNIT_ASSERT_NOT_NULL(test, seen);
	for (i = 0; i < THREADS * WRITES; i++)
		((u32 *)p->a.mem)[i] = i + 1;
	for (i = 0; i < THREADS; i++) {
		t[i] = (struct poster){ .p = p, .first = i * WRITES };
		init_completion(&t[i].done);
		KUNIT_ASSERT_FALSE(test, IS_ERR(kthread_run(post_many, &t[i], "kunit-post/%u", i)));
	}
	for (i = 0; i < THREADS * WRITES; i++) {
		if (!pair_wait(p, &p->a))
			break;
		KUNIT_EXPECT_EQ(test, p->a.wc.rc_wc.op_status, RI_WC_STATUS_SUCCESS);
		if (p->a.wc.rc_wc.id < THREADS * WRITES)
			seen[p->a.wc.rc_wc.id]++;
	}
	KUNIT_EXPECT_EQ(test, i, THREADS * WRITES);
	for (i = 0; i < THREADS; i++) {
		wait_for_completion(&t[i].done);
		KUNIT_EXPECT_EQ(test, t[i].ret, OK);
	}
	KUNIT_EXPECT_NULL(test, memchr_inv(seen, 1, THREADS * WRITES));
	pair_recv(p, &p->b, 1, PAIR_BYTES - 1, 1);
	pair_send(p, &p->a, 2, PAIR_BYTES - 1, 1);
	pair_expect(p, &p->b, 1, RI_WC_TYPE_DATA_RECEIVED, RI_WC_STATUS_SUCCESS);
	KUNIT_EXPECT_EQ(test, memcmp(p->a.mem, p->b.mem, THREADS * WRITES * sizeof(u32)), 0);
	pair_close(p);
}

/* RI-40: a CQ that overflows raises one event, and cannot be used any more */
static void overflow(struct kunit *test)
{
	ri_qp_attr_t *attr = kunit_kzalloc(test, sizeof(*attr), GFP_KERNEL);
	struct pair *p = pair_connected(test);
	ri_cq_attr_t cq_attr = { .num_cqe = 2 };
	ri_api_return_t ret;
	ri_cq_handle_t cq;
	uint_t n;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, attr);
	pair_destroy_qps(p);
	KUNIT_ASSERT_EQ(test, ri_cq_create(p->rnic, &cq_attr, &cq, NULL, &cq_attr, NULL), OK);
	*attr = pair_qp_attr(p, &p->a);
	attr->scq.scq_handle = cq;
	KUNIT_ASSERT_EQ(test, ri_qp_create(p->rnic, attr, &p->a.qp, NULL, &p->a, NULL), OK);
	*attr = pair_qp_attr(p, &p->b);
	KUNIT_ASSERT_EQ(test, ri_qp_create(p->rnic, attr, &p->b.qp, NULL, &p->b, NULL), OK);
	pair_connect(p);
	for (i = 0; i <= cq_attr.num_cqe; i++) {
		pair_recv(p, &p->b, i, 0, 1);
		pair_send(p, &p->a, i, 0, 1);
	}
	KUNIT_EXPECT_TRUE(test, pair_event(p, RI_EVENT_CQ_OVERFLOW_DETECTED, &cq_attr));
	KUNIT_EXPECT_TRUE(test, pair_event(p, RI_EVENT_QP_CQ_SQ_ERROR, &p->a));
	KUNIT_EXPECT_EQ(test, ri_cq_query(p->rnic, cq, &cq_attr, NULL), RI_RET_CQ_ERROR);
	KUNIT_EXPECT_EQ(test, ri_cq_modify(p->rnic, cq, RI_CQ_MODIFY_MASK_NUM_CQE, &cq_attr, NULL),
			RI_RET_CQ_ERROR);
	/* completions from before the overflow can be polled, to the last one (L2489) */
	do {
		n = 1;
		ret = ri_cq_poll(p->rnic, cq, &p->a.wc, &n, NULL);
	} while (!ret);
	KUNIT_EXPECT_EQ(test, ret, RI_RET_CQ_EMPTY);
	pair_destroy_qps(p);
	KUNIT_EXPECT_EQ(test, ri_cq_destroy(p->rnic, cq, NULL), OK);
	pair_close(p);
}

static int claimed;

static void claim_again(struct ib_qp *ibqp, enum srnic_event event)
{
	static const struct srnic_llp_ops ops;

	claimed = srnic_qp_claim(to_srnic_qp(ibqp), &ops, &claimed);
}

/* A QP in Idle has no claim, already when its last event is raised */
static void idle_has_no_claim(struct kunit *test)
{
	struct peer *p = peer_open(test, 1, 1);

	claimed = -EAGAIN;
	p->qp->native_event = claim_again;
	peer_close(p);
	peer_expect_closed(p, "FIN", SRNIC_QP_IDLE);
	KUNIT_EXPECT_EQ(test, claimed, 0);
	srnic_qp_unclaim(p->qp, &claimed);
}

static struct kunit_case qp_cases[] = {
	KUNIT_CASE(create),
	KUNIT_CASE(create_shared),
	KUNIT_CASE(modify_wrong),
	KUNIT_CASE(bad_streams),
	KUNIT_CASE(version_0),
	KUNIT_CASE(other_version),
	KUNIT_CASE(stream_is_held),
	KUNIT_CASE(stream_is_let_go),
	KUNIT_CASE(stream_has_ended),
	KUNIT_CASE(last_message),
	KUNIT_CASE(flushed),
	KUNIT_CASE(posts_wrong),
	KUNIT_CASE(told_once),
	KUNIT_CASE(no_receive),
	KUNIT_CASE(inlined),
	KUNIT_CASE(reads_disabled),
	KUNIT_CASE(shared_queue),
	KUNIT_CASE(shared_resized),
	KUNIT_CASE(cq_sizes),
	KUNIT_CASE(destroyed),
	KUNIT_CASE(threads),
	KUNIT_CASE(overflow),
	KUNIT_CASE(idle_has_no_claim),
	{}
};

static struct kunit_suite qp_suite = {
	.name = "srnic-rnicpi-qp",
	.test_cases = qp_cases,
};

kunit_test_suite(qp_suite);
