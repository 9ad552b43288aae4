// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * odp.c, rx.c: accesses to pages that come late, or that the process loses again. The test is the
 * process: it has the pages, and answers in place of the kernel's memory management.
 */
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/mm.h>
#include <linux/rwsem.h>
#include <linux/tcp.h>
#include <net/sock.h>
#include "engine/stream.h"
#include "memory/odp.h"
#include "memory/tpt.h"
#include "odp_test.h"
#include "peer.h"
#include "verbs/verbs.h"
#include "wire/atomic.h"

#define PAGES	4
#define START	0x100000
#define SIZE	(PAGES * PAGE_SIZE)
#define ALL	(SRNIC_LOCAL_READ | SRNIC_LOCAL_WRITE | SRNIC_REMOTE_READ | \
		 SRNIC_REMOTE_WRITE | SRNIC_READ_SINK)
#define SIGNAL	IB_SEND_SIGNALED
#define RKEY	0x8765
#define TEXT	"these octets are late"
#define QUOTED	0xc000	/* M and D of HdrCt */
/* More than any access tries */
#define MANY	U32_MAX

/*
 * @late: pages wait for @go; @asked: one does
 * @lost: so often, in a row, a page that is asked for is lost at once
 * @sk: of a QP, or NULL: whoever asks for a page with it locked waits for @go, too
 * @err: a page that is asked for is not there
 */
static struct {
	struct mm_struct *mm;
	struct page *page[PAGES];
	bool late;
	struct completion asked;
	struct completion go;
	u32 lost;
	struct sock *sk;
	int err;
} process;

static void process_waits(void)
{
	complete(&process.asked);
	wait_for_completion_timeout(&process.go, 30 * HZ);
}

int odp_test_insert(struct mmu_interval_notifier *notifier, struct mm_struct *mm,
		    unsigned long start, unsigned long length,
		    const struct mmu_interval_notifier_ops *ops)
{
	notifier->mm = process.mm;
	notifier->ops = ops;
	notifier->invalidate_seq = 1;
	return 0;
}

void odp_test_remove(struct mmu_interval_notifier *notifier)
{
}

unsigned long odp_test_begin(struct mmu_interval_notifier *notifier)
{
	u32 lost;

	if (process.sk && sock_owned_by_user_nocheck(process.sk))
		process_waits();
	lost = READ_ONCE(process.lost);
	if (!lost)
		return notifier->invalidate_seq;
	/* the test may end it just now */
	cmpxchg(&process.lost, lost, lost - 1);
	/* no longer so when it is compared */
	return notifier->invalidate_seq - 2;
}

static long test_pages(unsigned long start, unsigned long count, struct page **pages)
{
	unsigned long i, first = (start - START) / PAGE_SIZE;

	if (process.late)
		process_waits();
	/* as get_user_pages_remote() does: whoever tries for seconds leaves the CPU to others */
	cond_resched();
	if (process.err)
		return process.err;
	for (i = 0; i < count; i++) {
		pages[i] = process.page[first + i];
		get_page(pages[i]);
	}
	return count;
}

#ifdef SRNIC_HAVE_GUP_WITHOUT_VMAS
long odp_test_pages(struct mm_struct *mm, unsigned long start, unsigned long count,
		    unsigned int flags, struct page **pages, int *locked)
#else
long odp_test_pages(struct mm_struct *mm, unsigned long start, unsigned long count,
		    unsigned int flags, struct page **pages, struct vm_area_struct **vmas,
		    int *locked)
#endif
{
	return test_pages(start, count, pages);
}

static void process_ends(void)
{
	int i;

	for (i = 0; i < PAGES; i++)
		put_page(process.page[i]);
}

/* A process that has all of its pages */
static void process_begins(struct kunit *test)
{
	int i;

	memset(&process, 0, sizeof(process));
	init_completion(&process.asked);
	init_completion(&process.go);
	process.mm = kunit_kzalloc(test, sizeof(*process.mm) + cpumask_size(), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, process.mm);
	atomic_set(&process.mm->mm_users, 1);
	atomic_set(&process.mm->mm_count, 1);
	init_rwsem(&process.mm->mmap_lock);
	process.mm->task_size = START + SIZE;
	for (i = 0; i < PAGES; i++) {
		process.page[i] = alloc_page(GFP_KERNEL | __GFP_ZERO);
		KUNIT_ASSERT_NOT_NULL(test, process.page[i]);
	}
}

/* Its memory, registered; no page is known to the region yet */
struct paged {
	struct kunit *test;
	struct peer *p;
	struct srnic_pbl *pbl;
	struct srnic_tpte *mr;
};

static struct paged paged_idle(struct kunit *test)
{
	struct paged m = { .test = test };

	process_begins(test);
	m.pbl = kunit_kzalloc(test, sizeof(*m.pbl), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, m.pbl);
	m.p = peer_idle(test);
	return m;
}

static void paged_connect(struct paged *m)
{
	peer_connect(m->p, 2, 2);
	m->pbl->odp = srnic_odp_new(m->p->dev, START, SIZE);
	KUNIT_ASSERT_FALSE(m->test, IS_ERR(m->pbl->odp));
	m->mr = peer_region(m->p, m->p->pd, (void *)START, SIZE, ALL);
	m->mr->pbl = m->pbl;
}

static struct paged paged_open(struct kunit *test)
{
	struct paged m = paged_idle(test);

	paged_connect(&m);
	return m;
}

static void paged_close(struct paged *m)
{
	KUNIT_EXPECT_EQ(m->test, srnic_qp_destroy(m->p->qp), 0);
	m->p->qp = NULL;
	peer_unregister(m->p, m->mr);
	srnic_odp_free(m->pbl->odp);
	process_ends();
}

static const u8 *octets(u32 off)
{
	return (u8 *)page_address(process.page[off / PAGE_SIZE]) + off % PAGE_SIZE;
}

static bool has_text(u32 off)
{
	return !memcmp(octets(off), TEXT, strlen(TEXT));
}

static void write_text(const struct paged *m, u32 off)
{
	struct ddp_hdr hdr = HDR_WRITE(m->mr->stag, m->mr->base + off);

	peer_send(m->p, &hdr, TEXT, strlen(TEXT));
}

static bool all_acked(const struct peer *p)
{
	const struct tcp_sock *tp = tcp_sk(p->sock->sk);

	return READ_ONCE(tp->snd_una) == READ_ONCE(tp->write_seq);
}

/* Nothing but what waits for the page is held up: TCP, what this end sends, whoever looks */
static void expect_free(const struct paged *m)
{
	struct kunit *test = m->test;
	struct sock *sk = m->p->qp->stream->sock->sk;

	KUNIT_ASSERT_NE(test, 0, wait_for_completion_timeout(&process.asked, 10 * HZ));
	KUNIT_EXPECT_FALSE(test, sock_owned_by_user_nocheck(sk));
	write_text(m, 2 * PAGE_SIZE);
	KUNIT_EXPECT_TRUE(test, peer_until(all_acked(m->p)));
	KUNIT_EXPECT_EQ(test, 0, peer_post(m->p, IB_WR_SEND, 1, SIGNAL, NULL, 0, 0));
	peer_expect(m->p, ULP_SEND, 0);
	peer_wc(m->p, m->p->scq, 1, SRNIC_WC_SUCCESS);
	KUNIT_EXPECT_FALSE(test, has_text(PAGE_SIZE + 9));
	KUNIT_EXPECT_FALSE(test, has_text(2 * PAGE_SIZE));
}

static void late(struct kunit *test, bool markers, bool by_threads)
{
	struct paged m = paged_idle(test);

	m.p->rx_markers = markers;
	m.p->by_threads = by_threads;
	paged_connect(&m);
	process.late = true;
	write_text(&m, PAGE_SIZE + 9);
	expect_free(&m);
	process.late = false;
	complete(&process.go);
	KUNIT_EXPECT_TRUE(test, peer_until(has_text(PAGE_SIZE + 9)));
	KUNIT_EXPECT_TRUE(test, peer_until(has_text(2 * PAGE_SIZE)));
	paged_close(&m);
}

static void a_late_page(struct kunit *test)
{
	late(test, false, false);
}

static void a_late_page_for_threads(struct kunit *test)
{
	late(test, false, true);
}

static void a_late_page_with_markers(struct kunit *test)
{
	late(test, true, false);
}

/* Accesses of the owner of rx to the memory at an offset, each of which leaves TEXT there */
static void a_write(const struct paged *m, u32 off)
{
	write_text(m, off);
}

static void a_receive(const struct paged *m, u32 off)
{
	struct ib_sge sge = peer_sge(m->mr, off, strlen(TEXT));
	struct ddp_hdr hdr = HDR_SEND(1);

	peer_post_recv(m->p, 1, &sge);
	peer_send(m->p, &hdr, TEXT, strlen(TEXT));
}

static void a_read_response(const struct paged *m, u32 off)
{
	struct ddp_hdr hdr = HDR_READ_RESP(m->mr->stag, m->mr->base + off);
	struct ib_sge sge = peer_sge(m->mr, off, strlen(TEXT));

	KUNIT_EXPECT_EQ(m->test, 0, peer_post(m->p, IB_WR_RDMA_READ, 1, SIGNAL, &sge, 0x1000,
					      RKEY));
	peer_expect(m->p, ULP_READ_REQ, 28);
	peer_send(m->p, &hdr, TEXT, strlen(TEXT));
}

/* The first octets only */
static u64 text_word(void)
{
	u64 word;

	memcpy(&word, TEXT, sizeof(word));
	return word;
}

static void an_atomic_response(const struct paged *m, u32 off)
{
	struct ib_sge sge = peer_sge(m->mr, off, sizeof(u64));
	struct ib_atomic_wr wr = {
		.wr = { .wr_id = 1, .opcode = IB_WR_ATOMIC_FETCH_AND_ADD, .send_flags = SIGNAL,
			.sg_list = &sge, .num_sge = 1 },
		.remote_addr = 0x1000, .rkey = RKEY,
	};
	struct rdmap_atomic_resp resp = { .value = text_word() };
	struct ddp_hdr hdr = {
		.last = true, .version = 1, .ulp = 0x4b, .qn = 3, .msn = 1,
	};
	const struct ib_send_wr *bad;
	u8 buf[RDMAP_ATOMIC_RESP_LEN];

	KUNIT_EXPECT_EQ(m->test, 0, srnic_verbs_ops.post_send(&m->p->qp->ibqp, &wr.wr, &bad));
	peer_expect(m->p, 0x4a, RDMAP_ATOMIC_REQ_LEN);
	resp.id = get_unaligned_be32(m->p->data + 4);
	rdmap_atomic_resp_encode(buf, &resp);
	peer_send(m->p, &hdr, buf, sizeof(buf));
}

static void an_atomic_write(const struct paged *m, u32 off)
{
	struct rdmap_atomic_req req = {
		.aopcode = RDMAP_ATOMIC_WRITE, .stag = m->mr->stag, .to = m->mr->base + off,
		.data = be64_to_cpu((__force __be64)text_word()),
	};
	struct ddp_hdr hdr = {
		.last = true, .version = 1, .ulp = 0x4a, .qn = 1, .msn = 1,
	};
	u8 buf[RDMAP_ATOMIC_REQ_LEN];

	rdmap_atomic_req_encode(buf, &req);
	peer_send(m->p, &hdr, buf, sizeof(buf));
}

static const struct row {
	const char *what;
	void (*access)(const struct paged *m, u32 off);
	bool placement;		/* on a QP that takes Atomic Writes */
	bool word;		/* eight octets, aligned */
	u16 code;		/* of the Terminate if there is no page */
	u16 hdrct;
	bool receive;		/* ... but a receive WR fails */
	bool send;		/* ... but a send WR fails */
} rows[] = {
	{ "Write", a_write, .code = 0x1100, .hdrct = QUOTED },
	{ "receive", a_receive, .receive = true },
	{ "Read Response", a_read_response, .send = true, .code = 0x1100, .hdrct = QUOTED },
	{ "Atomic Response", an_atomic_response, .word = true, .send = true },
	{ "Atomic Write", an_atomic_write, .placement = true, .word = true, .code = 0x0102,
	  .hdrct = QUOTED },
};

static struct paged paged_for(struct kunit *test, const struct row *row)
{
	struct paged m = paged_idle(test);

	m.p->placement = row->placement;
	m.p->acks = row->placement;
	paged_connect(&m);
	return m;
}

/* Each kind of access waits for its pages without the socket, and is made when they are here */
static void each_access_waits(struct kunit *test)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const u32 off = rows[i].word ? 8 : PAGE_SIZE - 5;
		struct paged m = paged_for(test, &rows[i]);
		u32 len = rows[i].word ? sizeof(u64) : strlen(TEXT);
		u8 got[32];

		process.late = true;
		rows[i].access(&m, off);
		KUNIT_EXPECT_NE_MSG(test, 0, wait_for_completion_timeout(&process.asked, 10 * HZ),
				    "%s", rows[i].what);
		KUNIT_EXPECT_FALSE_MSG(test, sock_owned_by_user_nocheck(m.p->qp->stream->sock->sk),
				       "%s", rows[i].what);
		process.late = false;
		complete(&process.go);
		if (rows[i].receive)
			peer_wc(m.p, m.p->rcq, 1, SRNIC_WC_SUCCESS);
		if (rows[i].send)
			peer_wc(m.p, m.p->scq, 1, SRNIC_WC_SUCCESS);
		if (rows[i].word)
			KUNIT_EXPECT_TRUE_MSG(test, peer_until(!memcmp(octets(off), TEXT, len)),
					      "%s", rows[i].what);
		else
			KUNIT_EXPECT_TRUE_MSG(test, peer_until(!memcmp(octets(PAGE_SIZE), TEXT + 5,
								       len - 5)),
					      "%s", rows[i].what);
		memcpy(got, octets(off), rows[i].word ? len : 5);
		KUNIT_EXPECT_EQ_MSG(test, memcmp(got, TEXT, rows[i].word ? len : 5), 0, "%s",
				    rows[i].what);
		KUNIT_EXPECT_EQ_MSG(test, srnic_qp_state(m.p->qp), SRNIC_QP_RTS, "%s",
				    rows[i].what);
		paged_close(&m);
	}
}

/* So does each SGE of a receive */
static void each_sge_waits(struct kunit *test)
{
	struct paged m = paged_open(test);
	struct ib_sge sges[] = { peer_sge(m.mr, 0, 8), peer_sge(m.mr, 2 * PAGE_SIZE, 99) };
	struct ib_recv_wr wr = { .wr_id = 1, .sg_list = sges, .num_sge = ARRAY_SIZE(sges) };
	struct ddp_hdr hdr = HDR_SEND(1);
	const struct ib_recv_wr *bad;
	u32 i;

	KUNIT_ASSERT_EQ(test, srnic_verbs_ops.post_recv(&m.p->qp->ibqp, &wr, &bad), 0);
	process.late = true;
	peer_send(m.p, &hdr, TEXT, strlen(TEXT));
	for (i = 0; i < ARRAY_SIZE(sges); i++) {
		KUNIT_EXPECT_NE_MSG(test, 0, wait_for_completion_timeout(&process.asked, 10 * HZ),
				    "SGE %u", i);
		KUNIT_EXPECT_FALSE_MSG(test, sock_owned_by_user_nocheck(m.p->qp->stream->sock->sk),
				       "SGE %u", i);
		complete(&process.go);
	}
	peer_wc(m.p, m.p->rcq, 1, SRNIC_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, memcmp(octets(0), TEXT, 8), 0);
	KUNIT_EXPECT_EQ(test, memcmp(octets(2 * PAGE_SIZE), TEXT + 8, strlen(TEXT) - 8), 0);
	paged_close(&m);
}

static void expect_no_page(struct kunit *test, struct paged *m, const struct row *row)
{
	if (row->receive)
		peer_wc(m->p, m->p->rcq, 1, SRNIC_WC_ACCESS);
	if (row->send)
		peer_wc(m->p, m->p->scq, 1, SRNIC_WC_ACCESS);
	if (row->placement)
		m->p->skip = 0x4e;	/* an acknowledgment */
	peer_expect_terminate(m->p, row->what, row->code, row->hdrct);
	peer_close(m->p);
	peer_expect_closed(m->p, row->what, SRNIC_QP_ERROR);
}

/* Memory that the process does not have: the error of the access */
static void no_page(struct kunit *test)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct paged m = paged_for(test, &rows[i]);

		process.err = -EFAULT;
		rows[i].access(&m, 8);
		expect_no_page(test, &m, &rows[i]);
		paged_close(&m);
	}
}

/* The same if the process loses the page each time, for as long as it likes: no kthread stays */
static void a_page_that_never_stays(struct kunit *test)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct paged m = paged_for(test, &rows[i]);

		process.lost = MANY;
		rows[i].access(&m, 8);
		expect_no_page(test, &m, &rows[i]);
		KUNIT_EXPECT_GT_MSG(test, process.lost, 0, "%s", rows[i].what);
		paged_close(&m);
	}
}

/* ... nor the tx kthread */
static void a_source_that_never_stays(struct kunit *test)
{
	struct paged m = paged_open(test);
	struct ib_sge sge = peer_sge(m.mr, 5, 50);

	process.lost = MANY;
	KUNIT_EXPECT_EQ(test, 0, peer_post(m.p, IB_WR_SEND, 1, SIGNAL, &sge, 0, 0));
	peer_wc(m.p, m.p->scq, 1, SRNIC_WC_ACCESS);
	KUNIT_EXPECT_GT(test, process.lost, 0);
	peer_close(m.p);
	peer_expect_closed(m.p, "a source", SRNIC_QP_ERROR);
	paged_close(&m);
}

/* A page that is lost some times is waited for */
static void a_page_that_stays_at_last(struct kunit *test)
{
	struct paged m = paged_open(test);

	process.lost = 300;
	write_text(&m, PAGE_SIZE - 4);
	KUNIT_EXPECT_TRUE(test, peer_until(!READ_ONCE(process.lost) &&
					   !memcmp(octets(PAGE_SIZE), TEXT + 4, 4)));
	KUNIT_EXPECT_EQ(test, srnic_qp_state(m.p->qp), SRNIC_QP_RTS);
	paged_close(&m);
}

/* The QP ends while a page is awaited: as soon as the page is here, whatever waits behind it */
static void destroyed_meanwhile(struct kunit *test)
{
	struct paged m = paged_open(test);

	process.lost = MANY;
	write_text(&m, 0);
	write_text(&m, PAGE_SIZE);
	KUNIT_EXPECT_TRUE(test, peer_until(process.lost < MANY));
	paged_close(&m);
	KUNIT_EXPECT_GT(test, process.lost, 0);
}

/* A Write whose first octets come in TCP buffers of their own */
static void write_in_two(const struct paged *m, u32 off, u32 first)
{
	struct octets *fpdu = kunit_kzalloc(m->test, sizeof(*fpdu), GFP_KERNEL);
	struct ddp_hdr hdr = HDR_WRITE(m->mr->stag, m->mr->base + off);
	struct peer *p = m->p;

	KUNIT_ASSERT_NOT_NULL(m->test, fpdu);
	p->out.len = ddp_encode(p->out.at, &hdr);
	first += MPA_LEN_FIELD + p->out.len;
	octets_add(m->test, &p->out, TEXT, strlen(TEXT));
	octets_fpdu(m->test, fpdu, &p->out);
	peer_send_octets(p, fpdu->at, first);
	peer_send_octets(p, fpdu->at + first, fpdu->len - first);
}

/* ... nor for the other pages of the FPDU, where they are taken in with the socket locked */
static void ended_in_the_middle(struct kunit *test)
{
	struct paged m = paged_open(test);

	process.sk = m.p->qp->stream->sock->sk;
	/* in vain before the socket is locked */
	process.lost = MANY;
	write_in_two(&m, PAGE_SIZE - 5, 5);
	/* no sooner: a QP that ends before the copy begins places nothing */
	KUNIT_ASSERT_NE(test, 0, wait_for_completion_timeout(&process.asked, 10 * HZ));
	KUNIT_EXPECT_EQ(test, srnic_qp_modify(m.p->qp, SRNIC_QP_ERROR), 0);
	WRITE_ONCE(process.lost, 0);
	complete_all(&process.go);
	peer_expect_closed(m.p, "in the middle", SRNIC_QP_ERROR);
	KUNIT_EXPECT_EQ(test, memcmp(octets(PAGE_SIZE - 5), TEXT, 5), 0);
	KUNIT_EXPECT_EQ(test, octets(PAGE_SIZE)[0], 0);
	paged_close(&m);
}

/* What came before the stream was reset is taken, although a QP gets its kthreads for it alone */
static void reset_before_the_kthreads(struct kunit *test)
{
	static const struct {
		const char *what;
		bool markers;
	} rows[] = {
		{ "a page that is not here" },
		{ "markers", .markers = true },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct paged m = paged_idle(test);
		struct srnic_qp *qp = m.p->qp;

		m.p->rx_markers = rows[i].markers;
		qp->kernel = false;
		paged_connect(&m);
		qp->kernel = true;
		KUNIT_ASSERT_TRUE(test, test_and_clear_bit(SRNIC_QPF_NO_KTHREADS, &qp->flags));
		write_text(&m, PAGE_SIZE + 9);
		peer_reset(m.p);
		KUNIT_ASSERT_TRUE(test, peer_until(srnic_stream_state(qp->stream) ==
						   SRNIC_STREAM_RESET));
		KUNIT_EXPECT_FALSE_MSG(test, has_text(PAGE_SIZE + 9), "%s", rows[i].what);
		set_bit(SRNIC_QPF_NO_KTHREADS, &qp->flags);
		srnic_qp_want_kthreads(qp);
		peer_expect_closed(m.p, rows[i].what, SRNIC_QP_ERROR);
		KUNIT_EXPECT_TRUE_MSG(test, has_text(PAGE_SIZE + 9), "%s", rows[i].what);
		paged_close(&m);
	}
}

static struct kunit_case odp_cases[] = {
	KUNIT_CASE(a_late_page),
	KUNIT_CASE(a_late_page_for_threads),
	KUNIT_CASE(a_late_page_with_markers),
	KUNIT_CASE(each_access_waits),
	KUNIT_CASE(each_sge_waits),
	KUNIT_CASE(no_page),
	KUNIT_CASE(a_page_that_never_stays),
	KUNIT_CASE(a_source_that_never_stays),
	KUNIT_CASE(a_page_that_stays_at_last),
	KUNIT_CASE(destroyed_meanwhile),
	KUNIT_CASE(ended_in_the_middle),
	KUNIT_CASE(reset_before_the_kthreads),
	{ }
};

static struct kunit_suite odp_suite = {
	.name = "srnic-odp",
	.test_cases = odp_cases,
};

kunit_test_suite(odp_suite);
