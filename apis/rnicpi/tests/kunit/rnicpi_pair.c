// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Two endpoints of RNICPI, which the test creates with RNICPI's calls only. */
#include <linux/delay.h>
#include <linux/file.h>
#include <linux/in.h>
#include <linux/mm.h>
#include <linux/rtnetlink.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include <rdma/ib_verbs.h>
#include <rdma/srnic-abi.h>
#include "engine/kthreads.h"
#include "engine/linger.h"
#include "compat.h"
#include "fake.h"
#include "rnicpi/kernel/rnic.h"
#include "rnicpi_pair.h"
#include "device/device.h"

#define WAIT_MS	10000

/* ----- return codes ----- */

#define FUNCTIONS	100
#define CODES		86

static DEFINE_SPINLOCK(seen_lock);
static struct {
	const char *function;
	DECLARE_BITMAP(codes, CODES);
} seen[FUNCTIONS];

/**
 * note_seen - tell the log what a call of the interface has returned, once for each code
 * @function: its name
 * @ret: its result
 *
 * scripts/kunit keeps lines that begin with #, and apis/rnicpi/tests/codes reads them.
 * Context: any.
 *
 * Return: @ret.
 */
ri_api_return_t note_seen(const char *function, ri_api_return_t ret)
{
	unsigned long flags;
	bool new = false;
	u32 i = 0;

	spin_lock_irqsave(&seen_lock, flags);
	while (i < FUNCTIONS && seen[i].function && strcmp(seen[i].function, function))
		i++;
	if (i < FUNCTIONS && ret < CODES) {
		seen[i].function = function;
		new = !__test_and_set_bit(ret, seen[i].codes);
	}
	spin_unlock_irqrestore(&seen_lock, flags);
	if (new)
		pr_info("# %s gave %u\n", function, ret);
	return ret;
}

/* ----- pairs ----- */

static void attached(struct rix_client *client, ri_vp_handle_t vp_hdl)
{
	struct pair *p = container_of(client, struct pair, client);

	p->vp = vp_hdl;
	p->attached++;
}

static void detaching(struct rix_client *client, ri_vp_handle_t vp_hdl)
{
	container_of(client, struct pair, client)->detached++;
}

static void device_begin(struct pair *p)
{
	struct net_device *lo = init_net.loopback_dev;

	rtnl_lock();
	if (!(lo->flags & IFF_UP))
		dev_change_flags(lo, lo->flags | IFF_UP, NULL);
	rtnl_unlock();
	KUNIT_ASSERT_EQ(p->test, srnic_device_add("kunit%d", lo, RDMA_NODE_RNIC), 0);
	p->ibdev = ib_device_get_by_netdev(lo, SRNIC_DRIVER_ID);
	KUNIT_ASSERT_NOT_NULL(p->test, p->ibdev);
}

/**
 * pair_end_device - the device leaves, with or without objects
 * @p: with a device
 */
void pair_end_device(struct pair *p)
{
	struct ib_device *ibdev = p->ibdev;

	p->ibdev = NULL;
	if (ibdev)
		ib_unregister_device_and_put(ibdev);
}

static void free_pair(struct kunit_resource *res)
{
	struct pair *p = res->data;

	pair_end_device(p);
	if (p->client.attached)
		rix_client_unregister(&p->client);
	ri_kvp_exit();
	srnic_kthreads_exit();
	srnic_linger_exit();
	srnic_release_exit();
	kfree(p->a.mem);
	kfree(p->b.mem);
}

static int keep_pair(struct kunit_resource *res, void *context)
{
	res->data = context;
	return 0;
}

/**
 * pair_device - a device that nobody has opened
 * @test: whose end is its end
 */
struct pair *pair_device(struct kunit *test)
{
	struct pair *p = kunit_kzalloc(test, sizeof(*p), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, p);
	p->test = test;
	KUNIT_ASSERT_EQ(test, tests_protocol(), 0);
	KUNIT_ASSERT_EQ(test, srnic_release_init(), 0);
	KUNIT_ASSERT_EQ(test, srnic_linger_init(), 0);
	KUNIT_ASSERT_EQ(test, srnic_kthreads_init(), 0);
	KUNIT_ASSERT_EQ(test, ri_kvp_init(), 0);
	kunit_alloc_resource(test, keep_pair, free_pair, GFP_KERNEL, p);
	p->client.attached = attached;
	p->client.detaching = detaching;
	rix_client_register(&p->client);
	device_begin(p);
	KUNIT_ASSERT_EQ(test, p->attached, 1);
	return p;
}

/* The pair for upcalls; there is one pair at a time */
static struct pair *current_pair;

static void on_event(ri_os_data_t vp_data, ri_event_record_t *event)
{
	struct pair *p = current_pair;

	p->vp_data = vp_data;
	if (p->num_events < PAIR_EVENTS)
		p->events[p->num_events] = *event;
	/* the event before the count, see pair_event() */
	smp_store_release(&p->num_events, p->num_events + 1);
}

static void on_cq(ri_os_data_t vp_data, ri_os_data_t cq_data)
{
	struct pair_end *e = cq_data;

	current_pair->vp_data = vp_data;
	/* as above */
	smp_store_release(&e->told, e->told + 1);
}

/**
 * pair_open - a device that is open, with an RNIC handle and a PD
 * @test: whose end is its end
 * @mode: of its physical buffers
 */
struct pair *pair_open(struct kunit *test, ri_pbl_mode_t mode)
{
	struct pair *p = pair_device(test);

	current_pair = p;
	KUNIT_ASSERT_EQ(test, ri_rnic_open(p->vp, mode, p, NULL), RI_RET_SUCCESS);
	p->open = true;
	KUNIT_ASSERT_EQ(test, ri_async_set_event_handler(p->vp, on_event, NULL), RI_RET_SUCCESS);
	KUNIT_ASSERT_EQ(test, ri_cq_set_event_handler(p->vp, &p->handler_id, on_cq, NULL),
			RI_RET_SUCCESS);
	KUNIT_ASSERT_EQ(test, ri_rnic_get_hdl(p->vp, RI_CONSUMER_LOCATION_KERNEL, &p->rnic, NULL,
					      NULL, NULL), RI_RET_SUCCESS);
	KUNIT_ASSERT_EQ(test, ri_pd_alloc(p->rnic, &p->pd, NULL, p, NULL), RI_RET_SUCCESS);
	return p;
}

/**
 * pair_qp_attr - attributes of an end's QP
 * @p: open
 * @e: with a CQ
 */
ri_qp_attr_t pair_qp_attr(const struct pair *p, const struct pair_end *e)
{
	return (ri_qp_attr_t){
		.scq.scq_handle = e->cq,
		.rcq.rcq_handle = e->cq,
		.pd = p->pd,
		.sq_size = PAIR_DEPTH,
		.rq_size = PAIR_DEPTH,
		.sq_max_sges = 4,
		.sq_max_sges_rdmaw = 4,
		.rq_max_sges = 4,
		.enable_rdma_read = 1,
		.enable_rdma_write = 1,
		.max_rdma_read_outgoing = 4,
		.max_rdma_read_incoming = 4,
		.qp_xport.qp_iwarp.enable_bind = 1,
		.qp_xport.qp_iwarp.mpa_attrs = { .crc_enabled = 1, .ddp_rdmap_version = 1 },
	};
}

static void begin_end(struct pair *p, struct pair_end *e, ri_boolean_t privileged)
{
	ri_cq_attr_t cq = { .num_cqe = 4 * PAIR_DEPTH, .handler_id = p->handler_id };
	ri_mr_reg_attr_t mr = {
		.length = PAIR_BYTES,
		.mem_attr = RI_MEM_FLAGS_LOCAL | RI_MEM_FLAGS_REMOTE | RI_MEM_FLAGS_BINDING,
		.pd = p->pd,
	};
	ri_qp_attr_t attr;
	ri_rtag_t rtag;

	KUNIT_ASSERT_EQ(p->test, ri_cq_create(p->rnic, &cq, &e->cq, NULL, e, NULL),
			RI_RET_SUCCESS);
	attr = pair_qp_attr(p, e);
	attr.enable_stag0_fastreg = privileged;
	KUNIT_ASSERT_EQ(p->test, ri_qp_create(p->rnic, &attr, &e->qp, NULL, e, NULL),
			RI_RET_SUCCESS);
	e->mem = kzalloc(PAIR_BYTES, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(p->test, e->mem);
	mr.va = (uintptr_t)e->mem;
	KUNIT_ASSERT_EQ(p->test, ri_mr_reg(p->rnic, &mr, &e->mr, &e->tag, &rtag, NULL, NULL, NULL),
			RI_RET_SUCCESS);
	KUNIT_ASSERT_EQ(p->test, e->tag, rtag);
}

/**
 * pair_idle - two QPs that are Idle
 * @test: whose end is their end
 * @mode: of physical buffers
 * @privileged: STag 0 and fast-registers are allowed
 */
struct pair *pair_idle(struct kunit *test, ri_pbl_mode_t mode, ri_boolean_t privileged)
{
	struct pair *p = pair_open(test, mode);

	begin_end(p, &p->a, privileged);
	begin_end(p, &p->b, privileged);
	return p;
}

static struct file *file_of(struct pair *p, struct socket *sock)
{
	struct file *file = sock_alloc_file(sock, O_RDWR, NULL);

	KUNIT_ASSERT_FALSE(p->test, IS_ERR(file));
	return file;
}

/**
 * pair_files - a TCP connection over the loopback interface
 * @p: with a device
 * @a: one end, which connected
 * @b: the other
 */
void pair_files(struct pair *p, struct file **a, struct file **b)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	struct sockaddr_unsized *sa = (struct sockaddr_unsized *)&addr;
	struct socket *listener, *active, *passive;

	KUNIT_ASSERT_EQ(p->test, 0, sock_create_kern(&init_net, AF_INET, SOCK_STREAM,
						     IPPROTO_TCP, &listener));
	KUNIT_ASSERT_EQ(p->test, 0, kernel_bind(listener, sa, sizeof(addr)));
	KUNIT_ASSERT_EQ(p->test, 0, kernel_listen(listener, 1));
	KUNIT_ASSERT_GT(p->test, kernel_getsockname(listener, (struct sockaddr *)&addr), 0);
	KUNIT_ASSERT_EQ(p->test, 0, sock_create_kern(&init_net, AF_INET, SOCK_STREAM,
						     IPPROTO_TCP, &active));
	KUNIT_ASSERT_EQ(p->test, 0, kernel_connect(active, sa, sizeof(addr), 0));
	KUNIT_ASSERT_EQ(p->test, 0, kernel_accept(listener, &passive, 0));
	sock_release(listener);
	*a = file_of(p, active);
	*b = file_of(p, passive);
}

/**
 * pair_attach - an end gets a stream
 * @p: Idle
 * @e: of it
 * @file: of a socket
 * @last: last message, and then the other end sends first; or NULL
 * @len: its bytes
 */
ri_api_return_t pair_attach(struct pair *p, struct pair_end *e, struct file *file, char *last,
			    uint32_t len)
{
	struct ri_linux_llp llp = { .size = sizeof(llp), .file = file };
	ri_qp_attr_t attr = {
		.state = RI_QP_STATE_READY_TO_SEND,
		.qp_xport.qp_iwarp = {
			.llp_stream_handle = &llp,
			.stream_msg_buf = last,
			.stream_msg_buf_length = len,
		},
	};

	return ri_qp_modify(p->rnic, e->qp, RI_QP_ATTR_NEXT_STATE | RI_QP_ATTR_LLP_STREAM_HANDLE |
			    (last ? RI_QP_ATTR_STREAM_MSG_BUFFER : 0), &attr, NULL);
}

/**
 * pair_connect - both ends get the two ends of a connection
 * @p: Idle
 */
void pair_connect(struct pair *p)
{
	struct file *a, *b;

	pair_files(p, &a, &b);
	KUNIT_ASSERT_EQ(p->test, pair_attach(p, &p->a, a, NULL, 0), RI_RET_SUCCESS);
	KUNIT_ASSERT_EQ(p->test, pair_attach(p, &p->b, b, NULL, 0), RI_RET_SUCCESS);
	/* the QPs have references of their own */
	fput(a);
	fput(b);
}

/**
 * pair_connected - two QPs that are connected
 * @test: whose end is their end
 */
struct pair *pair_connected(struct kunit *test)
{
	struct pair *p = pair_idle(test, RI_PHYS_PAGE_LIST_MODE, 1);

	pair_connect(p);
	return p;
}

/**
 * pair_destroy_qps - destroy the QPs that there are
 * @p: in any state
 */
void pair_destroy_qps(struct pair *p)
{
	if (p->a.qp)
		KUNIT_EXPECT_EQ(p->test, ri_qp_destroy(p->rnic, p->a.qp, NULL), RI_RET_SUCCESS);
	if (p->b.qp)
		KUNIT_EXPECT_EQ(p->test, ri_qp_destroy(p->rnic, p->b.qp, NULL), RI_RET_SUCCESS);
	p->a.qp = NULL;
	p->b.qp = NULL;
}

static void close_end(struct pair *p, struct pair_end *e)
{
	if (e->mr)
		KUNIT_EXPECT_EQ(p->test, ri_mr_dereg(p->rnic, e->mr, NULL), RI_RET_SUCCESS);
	if (e->cq)
		KUNIT_EXPECT_EQ(p->test, ri_cq_destroy(p->rnic, e->cq, NULL), RI_RET_SUCCESS);
}

/**
 * pair_close - end all that a pair has, in order
 * @p: open
 */
void pair_close(struct pair *p)
{
	pair_destroy_qps(p);
	close_end(p, &p->a);
	close_end(p, &p->b);
	KUNIT_EXPECT_EQ(p->test, ri_pd_dealloc(p->rnic, p->pd, NULL), RI_RET_SUCCESS);
	KUNIT_EXPECT_EQ(p->test, ri_rnic_free_hdl(p->vp, p->rnic, NULL), RI_RET_SUCCESS);
	KUNIT_EXPECT_EQ(p->test, ri_rnic_close(p->vp, NULL), RI_RET_SUCCESS);
	p->open = false;
}

/* ----- memory ----- */

/**
 * pair_phys - the physical address of kernel memory
 * @at: the memory
 */
u64 pair_phys(const void *at)
{
	return virt_to_phys((void *)at);
}

/**
 * pair_two_pages - two pages of an end's memory, the second one first
 * @e: with memory
 * @list: set to their addresses
 */
void pair_two_pages(const struct pair_end *e, ri_phys_addr_t list[2])
{
	list[0] = pair_phys(e->mem + PAGE_SIZE);
	list[1] = pair_phys(e->mem);
}

/**
 * pair_phys_attr - attributes of a region of pages, with all rights
 * @p: with a PD
 * @list: the pages
 * @n: how many
 * @va: TO of the first byte
 * @length: bytes
 */
ri_mr_reg_phys_attr_t pair_phys_attr(const struct pair *p, ri_phys_addr_t *list, uint_t n,
				     u64 va, u64 length)
{
	return (ri_mr_reg_phys_attr_t){
		.common = {
			.va = va, .length = length, .pd = p->pd,
			.mem_attr = RI_MEM_FLAGS_LOCAL | RI_MEM_FLAGS_REMOTE,
		},
		.phys_buf_list = list,
		.nbufs = n,
		.pble_size = PAGE_SIZE,
		.address_offset = va % PAGE_SIZE,
	};
}

/* ----- WRs ----- */

/**
 * pair_seg - a part of an end's memory
 * @e: with memory
 * @off: where it begins
 * @len: bytes
 */
ri_data_seg_t pair_seg(const struct pair_end *e, uint32_t off, uint32_t len)
{
	return (ri_data_seg_t){
		.addr.vaddr = (uintptr_t)e->mem + off, .tag.ltag = e->tag, .len = len,
	};
}

/**
 * pair_recv - post a receive
 * @p: connected, or not yet
 * @e: at this end
 * @id: of the WR
 * @off: into this part of its memory
 * @len: bytes
 */
void pair_recv(struct pair *p, struct pair_end *e, ri_wr_id_t id, uint32_t off, uint32_t len)
{
	ri_data_seg_t seg = pair_seg(e, off, len);

	KUNIT_EXPECT_EQ(p->test, ri_qp_post_recv(p->rnic, e->qp, 0, id, &seg, 1, NULL),
			RI_RET_SUCCESS);
}

/**
 * pair_send - post a Send
 * @p: connected
 * @e: at this end
 * @id: of the WR
 * @off: this part of its memory
 * @len: bytes
 */
void pair_send(struct pair *p, struct pair_end *e, ri_wr_id_t id, uint32_t off, uint32_t len)
{
	ri_data_seg_t seg = pair_seg(e, off, len);

	KUNIT_EXPECT_EQ(p->test, ri_qp_post_send(p->rnic, e->qp, RI_WR_TYPE_SEND,
						 RI_WR_SIGNALED_FLAG, id, &seg, 0, 1, 0, NULL),
			RI_RET_SUCCESS);
}

/**
 * pair_wait - wait for a completion
 * @p: with QPs
 * @e: at this end; it is in its wc
 *
 * Return: false if there is none in time.
 */
bool pair_wait(struct pair *p, struct pair_end *e)
{
	unsigned long end = jiffies + msecs_to_jiffies(WAIT_MS);
	ri_api_return_t ret;
	uint_t one;

	do {
		one = 1;
		ret = ri_cq_poll(p->rnic, e->cq, &e->wc, &one, NULL);
		if (!ret)
			return true;
		usleep_range(50, 200);
	} while (ret == RI_RET_CQ_EMPTY && time_before(jiffies, end));
	return false;
}

/**
 * pair_expect - the next completion
 * @p: with QPs
 * @e: at this end
 * @id: of the WR
 * @type: of it
 * @status: of it
 */
void pair_expect(struct pair *p, struct pair_end *e, ri_wr_id_t id, ri_wc_type_t type,
		 ri_wc_status_t status)
{
	KUNIT_ASSERT_TRUE_MSG(p->test, pair_wait(p, e), "WR %llu", id);
	KUNIT_EXPECT_EQ(p->test, e->wc.rc_wc.id, id);
	KUNIT_EXPECT_EQ_MSG(p->test, e->wc.rc_wc.op_type, type, "WR %llu", id);
	KUNIT_EXPECT_EQ_MSG(p->test, e->wc.rc_wc.op_status, status, "WR %llu", id);
	KUNIT_EXPECT_PTR_EQ(p->test, e->wc.rc_wc.cq_os_data, (void *)e);
	KUNIT_EXPECT_PTR_EQ(p->test, e->wc.rc_wc.qp_os_data, (void *)e);
}

/**
 * pair_write_to - a writes to b, and both ends have completions when this returns
 * @p: connected
 * @to: where
 * @rtag: of a region of b
 * @len: bytes, the first ones of a's memory
 * @status: that of a's completion
 */
void pair_write_to(struct pair *p, u64 to, ri_rtag_t rtag, u32 len, ri_wc_status_t status)
{
	ri_data_seg_t seg = pair_seg(&p->a, 0, len);

	KUNIT_EXPECT_EQ(p->test, ri_qp_post_rdma_write(p->rnic, p->a.qp, RI_WR_TYPE_RDMA_WRITE,
						       RI_WR_SIGNALED_FLAG, 50, &seg, to, rtag, 1,
						       0, NULL), RI_RET_SUCCESS);
	pair_expect(p, &p->a, 50, RI_WC_TYPE_RDMA_WRITE, status);
	/* a Send after the Write: its completion shows that the Write has arrived */
	pair_recv(p, &p->b, 51, 0, 0);
	pair_send(p, &p->a, 52, 0, 0);
	pair_expect(p, &p->b, 51, RI_WC_TYPE_DATA_RECEIVED, RI_WC_STATUS_SUCCESS);
	pair_expect(p, &p->a, 52, RI_WC_TYPE_SEND, RI_WC_STATUS_SUCCESS);
}

/**
 * pair_event - wait for an event
 * @p: open
 * @type: of it
 * @os_data: of its object
 *
 * Return: false if there is none in time.
 */
bool pair_event(struct pair *p, ri_async_event_type_t type, ri_os_data_t os_data)
{
	unsigned long end = jiffies + msecs_to_jiffies(WAIT_MS);
	unsigned int i, n;

	do {
		/* pairs with on_event() */
		n = smp_load_acquire(&p->num_events);
		n = min_t(unsigned int, n, PAIR_EVENTS);
		for (i = 0; i < n; i++)
			if (p->events[i].event_type == type &&
			    p->events[i].event_data.resource_os_data == os_data)
				return true;
		usleep_range(50, 200);
	} while (time_before(jiffies, end));
	for (i = 0; i < n; i++)
		kunit_info(p->test, "event %u\n", p->events[i].event_type);
	return false;
}
