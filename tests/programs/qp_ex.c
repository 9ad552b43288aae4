// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* ibv_create_qp_ex and the ibv_wr_* calls. */
#include <endian.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>
#include "cq.h"

#define OPS	(IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_READ |	\
		 IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)
#define SIG	IBV_SEND_SIGNALED

static struct pair p;
static struct ibv_qp_ex *qpx;
static uint64_t key;

static void qp_ex_hook(struct end *e, struct ibv_qp_init_attr_ex *attr)
{
	attr->comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	attr->send_ops_flags = OPS;
	attr->cap.max_inline_data = 200;
}

static void open_ex(void)
{
	end_hook = qp_ex_hook;
	pair_open(&p);
	qpx = ibv_qp_to_qp_ex(p.a.qp);
	require(qpx, "ibv_qp_to_qp_ex");
}

static void begin(uint64_t wr_id, unsigned int flags)
{
	qpx->wr_id = wr_id;
	qpx->wr_flags = flags;
}

static void complete(int want, const char *what)
{
	int err = ibv_wr_complete(qpx);

	require(err == want, "%s: %s", what, strerror(err));
}

/* New data in @from; the destination @to is cleared. */
static void fresh(uint8_t *from, uint8_t *to, uint32_t len)
{
	pattern_fill(from, ++key, 0, len);
	memset(to, 0, len + 1);
}

static void must_match(const uint8_t *at, uint32_t len, const char *what)
{
	size_t where;
	uint8_t want;

	require(pattern_matches(at, key, 0, len, &where, &want), "%s: byte %zu", what, where);
	require(!at[len], "%s: a byte too many", what);
}

enum setter { SGE, SGE_LIST, INLINE, INLINE_LIST, SETTERS };

static const char *const setter_name[] = {
	"ibv_wr_set_sge", "ibv_wr_set_sge_list", "ibv_wr_set_inline_data",
	"ibv_wr_set_inline_data_list",
};

/* The first @len bytes of a's buffer, in pieces if it is a list */
static void set_data(enum setter how, uint32_t len)
{
	struct ibv_sge sge[] = { sge_of(&p.a, 0, len / 3), sge_of(&p.a, len / 3, 0),
				 sge_of(&p.a, len / 3, len - len / 3) };
	struct ibv_data_buf buf[] = { { p.a.buf, len / 3 }, { NULL, 0 },
				      { p.a.buf + len / 3, len - len / 3 } };

	switch (how) {
	case SGE:
		ibv_wr_set_sge(qpx, p.a.mr->lkey, (uintptr_t)p.a.buf, len);
		break;
	case SGE_LIST:
		ibv_wr_set_sge_list(qpx, 3, sge);
		break;
	case INLINE:
		ibv_wr_set_inline_data(qpx, p.a.buf, len);
		break;
	default:
		ibv_wr_set_inline_data_list(qpx, 3, buf);
	}
	/* inline data is copied at once */
	if (how >= INLINE)
		memset(p.a.buf, 0xee, len);
}

static void sends_and_writes(void)
{
	for (enum setter how = 0; how < SETTERS; how++) {
		const uint32_t len = how < INLINE ? 5000 : 200;
		const char *what = setter_name[how];

		fresh(p.a.buf, p.b.buf, len);
		must_recv(&p.b, 1, 0, len);
		ibv_wr_start(qpx);
		/* as perftest does: the setter decides, not the flag */
		begin(2, SIG | (how % 2 ? IBV_SEND_INLINE : 0));
		ibv_wr_send(qpx);
		set_data(how, len);
		complete(0, what);
		require(expect_wc(p.b.rcq, 1, IBV_WC_SUCCESS, what).byte_len == len, "%s", what);
		expect_wc(p.a.scq, 2, IBV_WC_SUCCESS, what);
		must_match(p.b.buf, len, what);

		fresh(p.a.buf, p.b.buf + 9000, len);
		ibv_wr_start(qpx);
		begin(3, 0);
		ibv_wr_rdma_write(qpx, p.b.mr->rkey, (uintptr_t)p.b.buf + 9000);
		set_data(how, len);
		/* behind it a message without data, which shows that it has arrived */
		must_recv(&p.b, 4, 0, 10);
		begin(4, SIG | IBV_SEND_SOLICITED);
		ibv_wr_send(qpx);
		complete(0, what);
		require(!expect_wc(p.b.rcq, 4, IBV_WC_SUCCESS, what).byte_len, "%s", what);
		expect_wc(p.a.scq, 4, IBV_WC_SUCCESS, what);
		must_match(p.b.buf + 9000, len, what);
	}
}

static void immediate(void)
{
	const uint32_t len = 3000;

	for (enum setter how = SGE; how <= SGE_LIST; how++) {
		struct ibv_wc wc;

		fresh(p.a.buf, p.b.buf, len);
		must_recv(&p.b, 8, 9000, 64);
		ibv_wr_start(qpx);
		begin(9, SIG);
		ibv_wr_rdma_write_imm(qpx, p.b.mr->rkey, (uintptr_t)p.b.buf, htobe32(0x12345678));
		set_data(how, len);
		complete(0, "immediate data");
		wc = expect_wc(p.b.rcq, 8, IBV_WC_SUCCESS, "immediate data");
		require(wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM && wc.wc_flags == IBV_WC_WITH_IMM &&
			be32toh(wc.imm_data) == 0x12345678, "immediate data");
		expect_wc(p.a.scq, 9, IBV_WC_SUCCESS, "immediate data");
		must_match(p.b.buf, len, "immediate data");
	}
}

static void atomics(void)
{
	static uint64_t word __attribute__((aligned(4096))) = 1000;
	struct ibv_mr *mr = ibv_reg_mr(p.b.pd, &word, sizeof(word),
				       ACCESS_ALL | IBV_ACCESS_REMOTE_ATOMIC);
	volatile uint64_t *old = (void *)p.a.buf;

	require(mr, "ibv_reg_mr: %s", strerror(errno));
	*old = 0;
	ibv_wr_start(qpx);
	begin(10, SIG);
	ibv_wr_atomic_fetch_add(qpx, mr->rkey, (uintptr_t)&word, 234);
	ibv_wr_set_sge(qpx, p.a.mr->lkey, (uintptr_t)old, sizeof(*old));
	complete(0, "fetch and add");
	expect_wc(p.a.scq, 10, IBV_WC_SUCCESS, "fetch and add");
	require(*old == 1000 && *(volatile uint64_t *)&word == 1234, "fetch and add");
	require(!ibv_dereg_mr(mr), "%s", strerror(errno));
}

static void reads(void)
{
	const uint32_t len = 7001;

	for (enum setter how = SGE; how <= SGE_LIST; how++) {
		struct ibv_sge sge = sge_of(&p.a, 100, len);

		fresh(p.b.buf, p.a.buf + 100, len);
		ibv_wr_start(qpx);
		begin(5, SIG | IBV_SEND_FENCE);
		ibv_wr_rdma_read(qpx, p.b.mr->rkey, (uintptr_t)p.b.buf);
		if (how == SGE)
			ibv_wr_set_sge(qpx, sge.lkey, sge.addr, sge.length);
		else
			ibv_wr_set_sge_list(qpx, 1, &sge);
		complete(0, "READ");
		require(expect_wc(p.a.scq, 5, IBV_WC_SUCCESS, "READ").byte_len == len, "READ");
		must_match(p.a.buf + 100, len, "READ");
	}
}

void case_qp_ex(void)
{
	static const uint64_t never[] = { IBV_QP_EX_WITH_TSO, OPS | IBV_QP_EX_WITH_TSO, 1ULL << 40 };
	struct ibv_qp_init_attr_ex attr = { .qp_type = IBV_QPT_RC, .cap = DEFAULT_CAP };
	struct ibv_qp *qp;

	open_ex();
	sends_and_writes();
	reads();
	immediate();
	atomics();
	pair_works(&p, "ibv_post_send on such a QP");

	attr.send_cq = p.a.scq;
	attr.recv_cq = p.a.rcq;
	attr.pd = p.a.pd;
	attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	for (size_t i = 0; i < ARRAY_SIZE(never); i++) {
		attr.send_ops_flags = never[i];
		errno = 0;
		require(!ibv_create_qp_ex(p.a.id->verbs, &attr) && errno == EOPNOTSUPP,
			"operations %#llx: %s", (unsigned long long)never[i], strerror(errno));
	}
	attr.send_ops_flags = OPS;
	attr.comp_mask |= IBV_QP_INIT_ATTR_RX_HASH;
	require(!ibv_create_qp_ex(p.a.id->verbs, &attr) && errno == EOPNOTSUPP, "%s",
		strerror(errno));
	attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS;
	attr.create_flags = IBV_QP_CREATE_SCATTER_FCS;
	require(!ibv_create_qp_ex(p.a.id->verbs, &attr) && errno == EOPNOTSUPP, "%s",
		strerror(errno));
	attr.create_flags = 0;
	qp = ibv_create_qp_ex(p.a.id->verbs, &attr);
	require(qp, "%s", strerror(errno));
	require(!ibv_qp_to_qp_ex(qp), "a QP without operations");
	require(!ibv_destroy_qp(qp), "%s", strerror(errno));
	pair_close(&p);
}

static void good(uint64_t wr_id)
{
	begin(wr_id, SIG);
	ibv_wr_send(qpx);
	ibv_wr_set_sge(qpx, p.a.mr->lkey, (uintptr_t)p.a.buf, 64);
}

static void bad_not_asked_for(void)
{
	ibv_wr_send_imm(qpx, 0);
}

static void bad_atomic(void)
{
	ibv_wr_atomic_cmp_swp(qpx, p.b.mr->rkey, (uintptr_t)p.b.buf, 1, 2);
	ibv_wr_set_sge(qpx, p.a.mr->lkey, (uintptr_t)p.a.buf, 8);
}

static void bad_flag(void)
{
	begin(1, SIG | IBV_SEND_IP_CSUM);
	ibv_wr_send(qpx);
}

static void bad_sges(void)
{
	struct ibv_sge sge[5] = { { 0 } };

	ibv_wr_send(qpx);
	ibv_wr_set_sge_list(qpx, p.a.cap.max_send_sge + 1, sge);
}

static void bad_read_sges(void)
{
	struct ibv_sge sge[64] = { { 0 } };

	ibv_wr_rdma_read(qpx, p.b.mr->rkey, (uintptr_t)p.b.buf);
	ibv_wr_set_sge_list(qpx, p.a.cap.max_send_sge + 1, sge);
}

static void bad_read_inline(void)
{
	ibv_wr_rdma_read(qpx, p.b.mr->rkey, (uintptr_t)p.b.buf);
	ibv_wr_set_inline_data(qpx, p.a.buf, 8);
}

static void bad_inline(void)
{
	ibv_wr_send(qpx);
	ibv_wr_set_inline_data(qpx, p.a.buf, p.a.cap.max_inline_data + 1);
}

static void bad_inline_sum(void)
{
	struct ibv_data_buf buf[2] = { { p.a.buf, p.a.cap.max_inline_data }, { p.a.buf, 1 } };

	ibv_wr_send(qpx);
	ibv_wr_set_inline_data_list(qpx, 2, buf);
}

static void bad_two_setters(void)
{
	ibv_wr_send(qpx);
	ibv_wr_set_inline_data(qpx, p.a.buf, 8);
	ibv_wr_set_inline_data(qpx, p.a.buf, 8);
}

static void bad_length(void)
{
	struct ibv_sge sge[2] = { sge_of(&p.a, 0, UINT32_MAX), sge_of(&p.a, 0, 1) };

	ibv_wr_send(qpx);
	ibv_wr_set_sge_list(qpx, 2, sge);
}

/* A batch with an error is not posted at all, wherever the error is. */
static void errors(void)
{
	static const struct {
		void (*make)(void);
		const char *what;
	} rows[] = {
		{ bad_not_asked_for, "an operation that was not asked for" },
		{ bad_atomic, "an atomic that was not asked for" },
		{ bad_flag, "an unknown flag" },
		{ bad_sges, "an SGE too many" },
		{ bad_read_sges, "a READ with an SGE too many" },
		{ bad_read_inline, "a READ with inline data" },
		{ bad_inline, "a byte of inline data too many" },
		{ bad_inline_sum, "a byte of inline data too many, in a list" },
		{ bad_two_setters, "data set twice" },
		{ bad_length, "more data than a message may have" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		for (int where = 0; where < 3; where++) {
			ibv_wr_start(qpx);
			for (int k = 0; k < 3; k++) {
				begin(50 + k, SIG);
				if (k == where)
					rows[i].make();
				else
					good(50 + k);
			}
			complete(EINVAL, rows[i].what);
		}
	/* a setter before any WR */
	ibv_wr_start(qpx);
	ibv_wr_set_sge(qpx, p.a.mr->lkey, (uintptr_t)p.a.buf, 64);
	good(50);
	complete(EINVAL, "data of nothing");
	expect_no_wc(p.a.scq, 100, "after failed batches");
}

static void *batches(void *arg)
{
	const uint64_t base = *(uint64_t *)arg;

	for (uint64_t i = 0; i < 100; i++) {
		int err;

		do {
			ibv_wr_start(qpx);
			good(base + 2 * i);
			good(base + 2 * i + 1);
			err = ibv_wr_complete(qpx);
			if (err)
				usleep(100);
		} while (err == ENOMEM);
		require(!err, "%s", strerror(err));
	}
	return NULL;
}

/* Two threads: batches do not mix. */
static void threads(void)
{
	uint64_t base[2] = { 1000, 2000 }, next[2] = { 1000, 2000 };
	pthread_t thread[2];
	int last = -1, posted;

	for (posted = 0; posted < 16; posted++)
		must_recv(&p.b, posted, 0, 64);
	for (int i = 0; i < 2; i++)
		require(!pthread_create(&thread[i], NULL, batches, &base[i]), "pthread_create");
	for (int n = 0; n < 400; n++) {
		struct ibv_wc wc;
		int who;

		/*
		 * before the completion is polled, post the receive for the WR that will take its
		 * slot
		 */
		expect_wc(p.b.rcq, n, IBV_WC_SUCCESS, "two threads");
		if (posted < 400)
			must_recv(&p.b, posted++, 0, 64);
		wc = wait_wc(p.a.scq, "two threads");
		who = wc.wr_id >= 2000;
		require(wc.status == IBV_WC_SUCCESS && wc.wr_id == next[who]++, "%llu, %s",
			(unsigned long long)wc.wr_id, ibv_wc_status_str(wc.status));
		require(!(n % 2) || who == last, "batches mix at %llu",
			(unsigned long long)wc.wr_id);
		last = who;
	}
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
}

void case_qp_ex_batch(void)
{
	const unsigned int depth = 16;
	struct ibv_wc wc;

	open_ex();
	require(p.a.cap.max_send_wr == depth, "%u", p.a.cap.max_send_wr);
	errors();

	/* an aborted batch, and an empty one, post nothing */
	ibv_wr_start(qpx);
	good(1);
	good(2);
	ibv_wr_abort(qpx);
	ibv_wr_start(qpx);
	complete(0, "an empty batch");
	expect_no_wc(p.a.scq, 100, "after an aborted batch");

	/* a full queue, to the last slot; one more fails, and the batch is not posted */
	for (unsigned int i = 0; i < depth; i++)
		must_recv(&p.b, i, 0, 64);
	ibv_wr_start(qpx);
	for (unsigned int i = 0; i <= depth; i++)
		good(i);
	complete(ENOMEM, "one more than the queue takes");
	expect_no_wc(p.a.scq, 100, "after a batch too long");
	/* no WR of a batch runs before the batch is complete */
	ibv_wr_start(qpx);
	for (unsigned int i = 0; i < depth; i++)
		good(i);
	usleep(50000);
	require(!ibv_poll_cq(p.a.scq, 1, &wc), "a WR that was not posted has completed");
	complete(0, "the whole queue");
	for (unsigned int i = 0; i < depth; i++)
		expect_wc(p.b.rcq, i, IBV_WC_SUCCESS, "the whole queue");
	/* WR-04: slots are free when completions are polled */
	ibv_wr_start(qpx);
	good(99);
	complete(ENOMEM, "not polled");
	for (unsigned int i = 0; i < depth; i++)
		expect_wc(p.a.scq, i, IBV_WC_SUCCESS, "the whole queue");

	/* batches and ibv_post_send() in turn, in order */
	for (int i = 0; i < 6; i++)
		must_recv(&p.b, 10 + i, 0, 64);
	for (int i = 0; i < 6; i += 3) {
		send_plain(&p.a, 10 + i, SIG);
		ibv_wr_start(qpx);
		good(11 + i);
		good(12 + i);
		complete(0, "by turns");
	}
	for (int i = 0; i < 6; i++) {
		expect_wc(p.a.scq, 10 + i, IBV_WC_SUCCESS, "by turns");
		expect_wc(p.b.rcq, 10 + i, IBV_WC_SUCCESS, "by turns");
	}
	threads();
	pair_close(&p);
}
