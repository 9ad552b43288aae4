// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* rnicpi/: the RNIC Programming Interface of the kernel, through its calls. */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/file.h>
#include <linux/in6.h>
#include <linux/kthread.h>
#include <linux/net.h>
#include <linux/slab.h>
#include <net/sock.h>
#include <rdma/ib_verbs.h>
#include <rdma/srnic-abi.h>
#include "rnicpi/kernel/rnic.h"
#include "rnicpi_pair.h"
#include "queue/cq.h"
#include "srnic.h"

#define OK	RI_RET_SUCCESS

/* From attach to detach: two endpoints on the loopback interface exchange data; no leaks */
static void echo(struct kunit *test)
{
	struct pair *p = pair_connected(test);

	pair_recv(p, &p->b, 1, 0, 100);
	pair_recv(p, &p->a, 2, 1000, 100);
	strscpy(p->a.mem, "there", sizeof("there"));
	pair_send(p, &p->a, 3, 0, 100);
	pair_expect(p, &p->b, 1, RI_WC_TYPE_DATA_RECEIVED, RI_WC_STATUS_SUCCESS);
	KUNIT_EXPECT_EQ(test, p->b.wc.rc_wc.bytes_transferred, 100);
	KUNIT_EXPECT_STREQ(test, p->b.mem, "there");
	pair_expect(p, &p->a, 3, RI_WC_TYPE_SEND, RI_WC_STATUS_SUCCESS);
	pair_send(p, &p->b, 4, 0, 50);
	pair_expect(p, &p->a, 2, RI_WC_TYPE_DATA_RECEIVED, RI_WC_STATUS_SUCCESS);
	KUNIT_EXPECT_EQ(test, p->a.wc.rc_wc.bytes_transferred, 50);
	KUNIT_EXPECT_STREQ(test, p->a.mem + 1000, "there");
	pair_close(p);
	pair_end_device(p);
	KUNIT_EXPECT_EQ(test, p->detached, 1);
}

/* ----- attach, open and their ends ----- */

static ri_services_dev_arg_t services(void)
{
	return (ri_services_dev_arg_t){
		.rnicpi_major_version = 1, .query_size = 500, .lib_path = "lib", .hw_path = "hw",
	};
}

/* Another provider's RNIC, with a handle that is not one of rnicpi.ko's numbers */
static int other_vp;
#define OTHER	((ri_vp_handle_t)&other_vp)

static ri_api_return_t attach_other(ri_services_dev_arg_t svcs, const char *dev_info,
				    ri_ops_t *al, ri_ops_t *vp)
{
	return ri_svc_attach(OTHER, (ri_dev_info_t)dev_info, &svcs, al, vp, NULL);
}

/* RI-07, and the codes of ri_svc_attach() and ri_svc_detach() */
static void attaches(struct kunit *test)
{
	ri_services_dev_arg_t svcs = services(), bad;
	ri_ops_t hole = ri_vector;
	struct pair *p = pair_device(test);
	ri_err_data_t err = 77;

	KUNIT_EXPECT_EQ(test, ri_svc_attach(NULL, "x", &svcs, &ri_vector, NULL, &err),
			RI_RET_VP_INVALID_HANDLE);
	KUNIT_EXPECT_EQ(test, err, (u64)RI_ERR_LAYER_AL << 32);
	KUNIT_EXPECT_EQ(test, attach_other(svcs, "x", NULL, &ri_vector), RI_RET_INVALID_PARAMETER);
	KUNIT_EXPECT_EQ(test, ri_svc_attach(OTHER, "x", NULL, &ri_vector, NULL, NULL),
			RI_RET_INVALID_PARAMETER);
	hole.ri_op_ah_query = NULL;
	KUNIT_EXPECT_EQ(test, attach_other(svcs, "x", &hole, NULL), RI_RET_INVALID_PARAMETER);
	KUNIT_EXPECT_EQ(test, attach_other(svcs, "x", &ri_vector, &hole), RI_RET_INVALID_PARAMETER);
	KUNIT_EXPECT_EQ(test, attach_other(svcs, "", &ri_vector, NULL), RI_RET_INVALID_DEV_INFO);
	bad = services();
	bad.rnicpi_major_version = 2;
	KUNIT_EXPECT_EQ(test, attach_other(bad, "x", &ri_vector, NULL), RI_RET_INVALID_VP_VERSION);
	bad = services();
	bad.hw_path[0] = 0;
	KUNIT_EXPECT_EQ(test, attach_other(bad, "x", &ri_vector, NULL), RI_RET_INVALID_HW_PATH);
	bad = services();
	memset(bad.lib_path, 'x', sizeof(bad.lib_path));
	KUNIT_EXPECT_EQ(test, attach_other(bad, "x", &ri_vector, NULL), RI_RET_INVALID_LIB_PATH);
	/* attach our own device once more */
	KUNIT_EXPECT_EQ(test, ri_svc_attach(p->vp, "lo", &svcs, &ri_vector, NULL, NULL),
			RI_RET_RNIC_INUSE);
	KUNIT_EXPECT_EQ(test, p->attached, 1);

	KUNIT_EXPECT_EQ(test, attach_other(svcs, "x", &ri_vector, NULL), OK);
	KUNIT_EXPECT_EQ(test, p->attached, 2);
	KUNIT_EXPECT_PTR_EQ(test, p->vp, OTHER);
	KUNIT_EXPECT_EQ(test, ri_svc_detach(OTHER, NULL), OK);
	KUNIT_EXPECT_EQ(test, ri_svc_detach(OTHER, &err), RI_RET_VP_INVALID_HANDLE);
}

/* A provider that counts calls of its ri_rnic_open() */
static unsigned int opened;

static ri_api_return_t other_open(ri_vp_handle_t vp_hdl, ri_pbl_mode_t mode,
				  ri_os_data_t os_data, ri_err_data_t *err_data)
{
	opened++;
	return OK;
}

static ri_api_return_t other_close(ri_vp_handle_t vp_hdl, ri_err_data_t *err_data)
{
	return OK;
}

static void open_it(struct rix_client *client, ri_vp_handle_t vp_hdl)
{
	ri_rnic_open(vp_hdl, RI_PHYS_PAGE_LIST_MODE, NULL, NULL);
}

static void close_it(struct rix_client *client, ri_vp_handle_t vp_hdl)
{
	ri_rnic_close(vp_hdl, NULL);
}

/*
 * RI-82: a client opens an RNIC from within ri_svc_attach(), of this provider and of any other;
 * ri_svc_detach() fails until it is closed, and succeeds afterwards.
 */
static void opens_in_attach(struct kunit *test)
{
	struct rix_client client = { .attached = open_it, .detaching = close_it };
	struct pair *p = pair_device(test);
	ri_services_dev_arg_t svcs = services();
	ri_ops_t ops = ri_vector;

	ops.ri_op_rnic_open = other_open;
	ops.ri_op_rnic_close = other_close;
	opened = 0;
	rix_client_register(&client);
	/* the client has opened it already */
	KUNIT_EXPECT_EQ(test, ri_rnic_open(p->vp, RI_PHYS_PAGE_LIST_MODE, NULL, NULL),
			RI_RET_RNIC_INUSE);
	KUNIT_EXPECT_EQ(test, ri_svc_detach(p->vp, NULL), RI_RET_RNIC_INUSE);

	KUNIT_EXPECT_EQ(test, attach_other(svcs, "x", &ops, NULL), OK);
	KUNIT_EXPECT_EQ(test, opened, 1);
	KUNIT_EXPECT_EQ(test, ri_svc_detach(OTHER, NULL), RI_RET_RNIC_INUSE);
	KUNIT_EXPECT_EQ(test, ri_rnic_close(OTHER, NULL), OK);
	KUNIT_EXPECT_EQ(test, ri_svc_detach(OTHER, NULL), OK);
	rix_client_unregister(&client);
}

/* ----- clients ----- */

/* RNICs of another provider, beside the device */
#define OTHERS	3
static int others[OTHERS];

/* A client that counts what it is told of each, and may wait in its first call */
struct counter {
	struct rix_client client;
	unsigned int came[OTHERS], went[OTHERS], device_came, device_went;
	struct completion begun, go_on;
	bool waits;
};

static void counter_pause(struct counter *c)
{
	if (!c->waits)
		return;
	c->waits = false;
	complete(&c->begun);
	wait_for_completion_timeout(&c->go_on, 10 * HZ);
}

static void counter_came(struct rix_client *client, ri_vp_handle_t vp_hdl)
{
	struct counter *c = container_of(client, struct counter, client);
	int *of = vp_hdl;

	if (of >= others && of < others + OTHERS)
		c->came[of - others]++;
	else
		c->device_came++;
	counter_pause(c);
}

static void counter_went(struct rix_client *client, ri_vp_handle_t vp_hdl)
{
	struct counter *c = container_of(client, struct counter, client);
	int *of = vp_hdl;

	if (of >= others && of < others + OTHERS)
		c->went[of - others]++;
	else
		c->device_went++;
	counter_pause(c);
}

static struct counter *counter_new(struct kunit *test, bool waits)
{
	struct counter *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, c);
	c->client.attached = counter_came;
	c->client.detaching = counter_went;
	c->waits = waits;
	init_completion(&c->begun);
	init_completion(&c->go_on);
	return c;
}

static ri_api_return_t attach_one(int i)
{
	ri_services_dev_arg_t svcs = services();

	return ri_svc_attach(&others[i], "x", &svcs, &ri_vector, NULL, NULL);
}

/* A call of another thread */
struct call {
	void (*fn)(struct call *call);
	struct counter *counter;
	struct pair *pair;
	struct completion done;
};

static int call_thread(void *data)
{
	struct call *call = data;

	call->fn(call);
	complete(&call->done);
	return 0;
}

/* The call is under way, or done, when this returns */
static void call_begin(struct kunit *test, struct call *call)
{
	init_completion(&call->done);
	KUNIT_ASSERT_FALSE(test, IS_ERR(kthread_run(call_thread, call, "kunit-call")));
	msleep(100);
}

static void call_end(struct kunit *test, struct call *call)
{
	KUNIT_EXPECT_GT(test, wait_for_completion_timeout(&call->done, 20 * HZ), 0);
}

static void detach_first(struct call *call)
{
	ri_svc_detach(&others[0], NULL);
}

static void attach_last(struct call *call)
{
	attach_one(OTHERS - 1);
}

static void register_it(struct call *call)
{
	rix_client_register(&call->counter->client);
}

static void unregister_it(struct call *call)
{
	rix_client_unregister(&call->counter->client);
}

static void end_device(struct call *call)
{
	pair_end_device(call->pair);
}

/* A client that goes while another RNIC goes is told of each of them once */
static void client_goes(struct kunit *test)
{
	struct counter *c = counter_new(test, false);
	struct call going = { .fn = unregister_it, .counter = c };
	struct call gone = { .fn = detach_first };
	u32 i;

	pair_device(test);
	for (i = 0; i < OTHERS; i++)
		KUNIT_ASSERT_EQ(test, attach_one(i), OK);
	rix_client_register(&c->client);
	c->waits = true;
	call_begin(test, &going);
	KUNIT_ASSERT_GT(test, wait_for_completion_timeout(&c->begun, 10 * HZ), 0);
	call_begin(test, &gone);
	complete_all(&c->go_on);
	call_end(test, &going);
	call_end(test, &gone);
	KUNIT_EXPECT_EQ(test, c->device_came, 1);
	KUNIT_EXPECT_EQ(test, c->device_went, 1);
	for (i = 0; i < OTHERS; i++) {
		KUNIT_EXPECT_EQ_MSG(test, c->came[i], 1, "%u", i);
		KUNIT_EXPECT_EQ_MSG(test, c->went[i], 1, "%u", i);
	}
	for (i = 1; i < OTHERS; i++)
		KUNIT_EXPECT_EQ(test, ri_svc_detach(&others[i], NULL), OK);
}

/* A client that comes while an RNIC comes is told of it once */
static void client_comes(struct kunit *test)
{
	struct counter *first = counter_new(test, true), *c = counter_new(test, false);
	struct call holds = { .fn = register_it, .counter = first };
	struct call comes = { .fn = register_it, .counter = c };
	struct call rnic = { .fn = attach_last };

	pair_device(test);
	/* the first client is in a callback, and the others wait for it, one behind the other */
	call_begin(test, &holds);
	KUNIT_ASSERT_GT(test, wait_for_completion_timeout(&first->begun, 10 * HZ), 0);
	call_begin(test, &comes);
	call_begin(test, &rnic);
	complete_all(&first->go_on);
	call_end(test, &holds);
	call_end(test, &comes);
	call_end(test, &rnic);
	KUNIT_EXPECT_EQ(test, first->came[OTHERS - 1], 1);
	KUNIT_EXPECT_EQ(test, c->came[OTHERS - 1], 1);
	KUNIT_EXPECT_EQ(test, ri_svc_detach(&others[OTHERS - 1], NULL), OK);
	rix_client_unregister(&c->client);
	rix_client_unregister(&first->client);
	KUNIT_EXPECT_EQ(test, c->went[OTHERS - 1], 1);
	KUNIT_EXPECT_EQ(test, first->went[OTHERS - 1], 1);
}

/* A client that comes while a device goes is told that it goes if it was told that it is there */
static void client_comes_late(struct kunit *test)
{
	struct counter *first = counter_new(test, false), *c = counter_new(test, false);
	struct call comes = { .fn = register_it, .counter = c };
	struct pair *p = pair_idle(test, RI_PHYS_PAGE_LIST_MODE, 0);
	struct call goes = { .fn = end_device, .pair = p };

	rix_client_register(&first->client);
	first->waits = true;
	call_begin(test, &goes);
	KUNIT_ASSERT_GT(test, wait_for_completion_timeout(&first->begun, 10 * HZ), 0);
	call_begin(test, &comes);
	complete_all(&first->go_on);
	call_end(test, &comes);
	call_end(test, &goes);
	KUNIT_EXPECT_EQ(test, first->device_went, 1);
	KUNIT_EXPECT_EQ(test, c->device_went, c->device_came);
	rix_client_unregister(&c->client);
	rix_client_unregister(&first->client);
}

/* A call that has looked a vector up finds that the RNIC has gone: the vector is still there */
static void vector_stays(struct kunit *test)
{
	struct pair *p = pair_device(test);
	const struct ri_ops *ops = ri_svc_ops(p->vp);
	ri_cq_event_handler_id_t id = 0;
	ri_rnic_handle_t rnic;
	ri_data_seg_t seg = { };

	/* it is no RNIC handle (L4433) */
	KUNIT_EXPECT_EQ(test, ri_mem_sync_rread(p->vp, &seg, 1, NULL), RI_RET_RNIC_INVALID_HANDLE);
	pair_end_device(p);
	rcu_barrier();
	KUNIT_EXPECT_EQ(test, ops->ri_op_rnic_open(p->vp, RI_PHYS_PAGE_LIST_MODE, NULL, NULL),
			RI_RET_VP_INVALID_HANDLE);
	KUNIT_EXPECT_EQ(test, ops->ri_op_cq_set_event_handler(p->vp, &id, NULL, NULL),
			RI_RET_VP_INVALID_HANDLE);
	KUNIT_EXPECT_EQ(test, ops->ri_op_async_set_event_handler(p->vp, NULL, NULL),
			RI_RET_VP_INVALID_HANDLE);
	KUNIT_EXPECT_EQ(test, ops->ri_op_rnic_get_hdl(p->vp, RI_CONSUMER_LOCATION_KERNEL, &rnic,
						      NULL, NULL, NULL), RI_RET_VP_INVALID_HANDLE);
}

/* ----- ends ----- */

/* RI-11: objects that are in use cannot be ended */
static void order_of_ends(struct kunit *test)
{
	struct pair *p = pair_idle(test, RI_PHYS_PAGE_LIST_MODE, 0);
	ri_vp_handle_t vp = p->vp;
	ri_rnic_handle_t rnic = p->rnic;

	KUNIT_EXPECT_EQ(test, ri_svc_detach(vp, NULL), RI_RET_RNIC_INUSE);
	KUNIT_EXPECT_EQ(test, ri_rnic_close(vp, NULL), RI_RET_RNIC_INUSE);
	KUNIT_EXPECT_EQ(test, ri_rnic_free_hdl(vp, rnic, NULL), RI_RET_RNIC_INUSE);
	KUNIT_EXPECT_EQ(test, ri_pd_dealloc(rnic, p->pd, NULL), RI_RET_PD_INUSE);
	KUNIT_EXPECT_EQ(test, ri_cq_destroy(rnic, p->a.cq, NULL), RI_RET_CQ_INUSE);
	pair_close(p);
	/* stale handles */
	KUNIT_EXPECT_EQ(test, ri_pd_dealloc(rnic, p->pd, NULL), RI_RET_RNIC_INVALID_HANDLE);
	KUNIT_EXPECT_EQ(test, ri_rnic_free_hdl(vp, rnic, NULL), RI_RET_RNIC_INVALID_HANDLE);
	KUNIT_EXPECT_EQ(test, ri_rnic_close(vp, NULL), RI_RET_VP_INVALID_HANDLE);
	KUNIT_EXPECT_EQ(test, ri_rnic_get_hdl(vp, RI_CONSUMER_LOCATION_KERNEL, &rnic, NULL, NULL,
					      NULL), RI_RET_RNIC_NOT_OPEN);
	KUNIT_EXPECT_EQ(test, ri_rnic_open(vp, 7, NULL, NULL), RI_RET_INVALID_PARAMETER);
	KUNIT_EXPECT_EQ(test, ri_rnic_open(vp, RI_PHYS_BLOCK_LIST_MODE, NULL, NULL), OK);
	KUNIT_EXPECT_EQ(test, ri_rnic_get_hdl(vp, 77, &rnic, NULL, NULL, NULL),
			RI_RET_INVALID_PARAMETER);
	KUNIT_EXPECT_EQ(test, ri_rnic_close(vp, NULL), OK);
}

/* RI-14: each kind of handle has its own code; a handle of another kind is invalid */
static void handles(struct kunit *test)
{
	struct pair *p = pair_idle(test, RI_PHYS_PAGE_LIST_MODE, 0);
	ri_handle_t none = (ri_handle_t)~0ul;
	ri_cq_attr_t cq;
	ri_qp_attr_t *qp = kunit_kzalloc(test, sizeof(*qp), GFP_KERNEL);
	ri_srq_attr_t srq = { };
	ri_mr_info_t mr;

	KUNIT_ASSERT_NOT_NULL(test, qp);
	KUNIT_EXPECT_EQ(test, ri_cq_query(p->rnic, p->pd, &cq, NULL), RI_RET_CQ_INVALID_HANDLE);
	KUNIT_EXPECT_EQ(test, ri_cq_query(p->pd, p->a.cq, &cq, NULL), RI_RET_RNIC_INVALID_HANDLE);
	KUNIT_EXPECT_EQ(test, ri_qp_query(p->rnic, p->a.cq, qp, NULL), RI_RET_QP_INVALID_HANDLE);
	KUNIT_EXPECT_EQ(test, ri_mr_query(p->rnic, p->a.qp, &mr, NULL), RI_RET_MR_INVALID_HANDLE);
	KUNIT_EXPECT_EQ(test, ri_mw_dealloc(p->rnic, p->a.mr, NULL), RI_RET_MW_INVALID_HANDLE);
	KUNIT_EXPECT_EQ(test, ri_srq_query(p->rnic, none, &srq, NULL), RI_RET_SRQ_INVALID_HANDLE);
	KUNIT_EXPECT_EQ(test, ri_pd_dealloc(p->rnic, NULL, NULL), RI_RET_PD_INVALID_HANDLE);
	KUNIT_EXPECT_EQ(test, ri_pd_dealloc(none, p->pd, NULL), RI_RET_RNIC_INVALID_HANDLE);
	KUNIT_EXPECT_EQ(test, ri_rnic_close(none, NULL), RI_RET_VP_INVALID_HANDLE);
	/* whatever else is wrong */
	KUNIT_EXPECT_EQ(test, ri_pd_alloc(none, NULL, NULL, NULL, NULL),
			RI_RET_RNIC_INVALID_HANDLE);
	KUNIT_EXPECT_EQ(test, ri_vector.ri_op_pd_alloc(none, NULL, NULL, NULL, NULL),
			RI_RET_RNIC_INVALID_HANDLE);
	KUNIT_EXPECT_EQ(test, ri_vector.ri_op_cq_create(none, NULL, NULL, NULL, NULL, NULL),
			RI_RET_RNIC_INVALID_HANDLE);
	KUNIT_EXPECT_EQ(test, ri_vector.ri_op_qp_create(none, NULL, NULL, NULL, NULL, NULL),
			RI_RET_RNIC_INVALID_HANDLE);
	KUNIT_EXPECT_EQ(test, ri_vector.ri_op_srq_create(none, NULL, NULL, NULL, NULL, NULL),
			RI_RET_RNIC_INVALID_HANDLE);
	/* through the vector itself, too */
	KUNIT_EXPECT_EQ(test, ri_vector.ri_op_cq_query(none, p->a.cq, &cq, NULL),
			RI_RET_RNIC_INVALID_HANDLE);
	pair_close(p);
}

/* ri_rnic_query: the limits; all pointers point into the buffer (RI-79) */
static void query(struct kunit *test)
{
	struct pair *p = pair_open(test, RI_PHYS_BLOCK_LIST_MODE);
	ri_iwarp_port_attr_t *port;
	ri_rnic_attr_t *attr;
	uint_t size = 0, need;
	u32 i, found = 0;

	attr = kunit_kzalloc(test, sizeof(*attr), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, attr);
	/* L1706 */
	KUNIT_EXPECT_EQ(test, ri_rnic_query(p->rnic, 2, attr, &size, NULL),
			RI_RET_INVALID_PARAMETER);
	KUNIT_EXPECT_EQ(test, ri_rnic_query(p->rnic, 0, attr, NULL, NULL),
			RI_RET_INVALID_PARAMETER);
	KUNIT_EXPECT_EQ(test, ri_rnic_query(p->rnic, 0, NULL, &size, NULL),
			RI_RET_INVALID_PARAMETER);
	KUNIT_EXPECT_EQ(test, ri_rnic_query(p->rnic, RI_QUERY_RNIC_PORT_INFO, attr, &size, NULL),
			RI_RET_BUFFER_TOO_SMALL);
	need = size;
	attr = kunit_kzalloc(test, need, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, attr);
	size--;
	KUNIT_EXPECT_EQ(test, ri_rnic_query(p->rnic, RI_QUERY_RNIC_PORT_INFO, attr, &size, NULL),
			RI_RET_BUFFER_TOO_SMALL);
	KUNIT_EXPECT_EQ(test, attr->max_qps, 0);
	KUNIT_ASSERT_EQ(test, ri_rnic_query(p->rnic, RI_QUERY_RNIC_PORT_INFO, attr, &size, NULL),
			OK);
	KUNIT_EXPECT_EQ(test, size, need);
	KUNIT_EXPECT_EQ(test, attr->max_qps, SRNIC_MAX_QP);
	KUNIT_EXPECT_EQ(test, attr->max_cq_event_handlers, RI_MAX_CQ_HANDLERS);
	KUNIT_EXPECT_EQ(test, attr->stag0_value, 0);
	KUNIT_EXPECT_TRUE(test, attr->rnic_flags & RI_RNIC_EXT_BLOCK_MODE);
	KUNIT_EXPECT_EQ(test, attr->block_size_low, RI_MIN_BLOCK);
	KUNIT_EXPECT_EQ(test, attr->block_size_hi, RI_MAX_BLOCK);
	KUNIT_EXPECT_EQ(test, attr->trans_attr.iwarp->num_ports, 1);
	port = attr->trans_attr.iwarp->port_attrs;
	KUNIT_ASSERT_NOT_NULL(test, port);
	KUNIT_EXPECT_LE(test, (ulong)(port->ipv4_addrs + port->num_ipv4_addrs),
			(ulong)attr + need);
	for (i = 0; i < port->num_ipv4_addrs; i++)
		found += port->ipv4_addrs[i].s_addr == htonl(INADDR_LOOPBACK);
	KUNIT_EXPECT_EQ(test, found, 1);
	pair_close(p);
}

/* RN-14: the mode is that of Open */
static void query_in_page_mode(struct kunit *test)
{
	struct pair *p = pair_open(test, RI_PHYS_PAGE_LIST_MODE);
	ri_rnic_attr_t *attr = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL);
	uint_t size = PAGE_SIZE;

	KUNIT_ASSERT_NOT_NULL(test, attr);
	KUNIT_EXPECT_EQ(test, ri_rnic_query(p->rnic, RI_QUERY_RNIC_PORT_INFO, attr, &size, NULL),
			OK);
	KUNIT_EXPECT_FALSE(test, attr->rnic_flags & RI_RNIC_EXT_BLOCK_MODE);
	KUNIT_EXPECT_TRUE(test, attr->mem_page_sizes_bit_mask & PAGE_SIZE);
	pair_close(p);
}

/* 1.3: functions of InfiniBand, and an optional one, fail and create no handle */
static void of_infiniband(struct kunit *test)
{
	struct pair *p = pair_idle(test, RI_PHYS_PAGE_LIST_MODE, 0);
	ri_handle_t handle = NULL;
	ri_rnic_modify_req_t modify = { };
	ri_ud_address_vector_t av = { };
	ri_data_seg_t seg = { };
	ri_qp_attr_t *qp = kunit_kzalloc(test, sizeof(*qp), GFP_KERNEL);
	ri_gid_t gid = { };
	char mad[4];

	KUNIT_ASSERT_NOT_NULL(test, qp);
#define X	RI_RET_XPORT_UNSUPPORTED
	KUNIT_EXPECT_EQ(test, ri_rnic_modify(p->rnic, 0, &modify, NULL), X);
	KUNIT_EXPECT_EQ(test, ri_rnic_diag(p->rnic, RI_DIAG_RNIC_DUMP, NULL, NULL, NULL, NULL),
			RI_RET_OP_UNSUPPORTED);
	KUNIT_EXPECT_EQ(test, ri_special_qp_get(p->rnic, 1, RI_SQP_TYPE_GSI, qp, &handle, NULL,
						NULL, NULL), X);
	KUNIT_EXPECT_EQ(test, ri_ah_create(p->rnic, p->pd, &av, &handle, NULL, NULL, NULL), X);
	KUNIT_EXPECT_EQ(test, ri_ah_query(p->rnic, p->pd, &av, &handle, NULL), X);
	KUNIT_EXPECT_EQ(test, ri_ah_modify(p->rnic, p->pd, &av, NULL), X);
	KUNIT_EXPECT_EQ(test, ri_ah_destroy(p->rnic, p->pd, NULL), X);
	KUNIT_EXPECT_EQ(test, ri_mcast_attach(p->rnic, 1, &gid, p->a.qp, NULL, NULL, NULL), X);
	KUNIT_EXPECT_EQ(test, ri_mcast_detach(p->rnic, 1, &gid, p->a.qp, NULL), X);
	KUNIT_EXPECT_EQ(test, ri_process_sma_mad(p->rnic, 1, mad, mad, NULL), X);
	KUNIT_EXPECT_EQ(test, ri_qp_post_atomic(p->rnic, p->a.qp, RI_WR_TYPE_FETCH_AND_ADD, 0, 1,
						1, 1, 1, &seg, NULL),
			RI_RET_RNIC_ATOMICS_UNSUPPORTED);
	KUNIT_EXPECT_EQ(test, ri_qp_post_datagram(p->rnic, p->a.qp, RI_WR_TYPE_SEND, 0, 1, &seg, 1,
						  0, NULL, 1, 1, 1, NULL),
			RI_RET_WR_INVALID_TYPE);
#undef X
	KUNIT_EXPECT_NULL(test, handle);
	pair_close(p);
}

static ri_api_return_t other_get_hdl(ri_vp_handle_t vp_hdl, ri_consumer_domain_t location,
				     ri_rnic_handle_t *rnic, ri_vp_data_t vp_data,
				     ri_os_data_t os_data, ri_err_data_t *err_data)
{
	/* an address that is no other handle */
	*rnic = os_data;
	return OK;
}

static ri_api_return_t other_free_hdl(ri_vp_handle_t vp_hdl, ri_rnic_handle_t rnic,
				      ri_err_data_t *err_data)
{
	return OK;
}

/* Calls by each of the two vectors */
static unsigned int calls_by_al, calls_by_vp;

static ri_api_return_t al_pd_alloc(ri_rnic_handle_t rnic, ri_pd_handle_t *pd, ri_vp_data_t vp_data,
				   ri_os_data_t os_data, ri_err_data_t *err_data)
{
	calls_by_al++;
	return OK;
}

static ri_api_return_t vp_pd_alloc(ri_rnic_handle_t rnic, ri_pd_handle_t *pd, ri_vp_data_t vp_data,
				   ri_os_data_t os_data, ri_err_data_t *err_data)
{
	calls_by_vp++;
	return OK;
}

/* RI-06: an RNIC handle has the vector that created it, of any provider, for all its calls */
static void vectors(struct kunit *test)
{
	ri_ops_t al = ri_vector, vp = ri_vector;
	const ri_ops_t *by_al, *by_vp;
	ri_rnic_handle_t one, two;
	int first, second;

	pair_device(test);
	al.ri_op_rnic_get_hdl = other_get_hdl;
	al.ri_op_rnic_free_hdl = other_free_hdl;
	vp = al;
	al.ri_op_pd_alloc = al_pd_alloc;
	vp.ri_op_pd_alloc = vp_pd_alloc;
	calls_by_al = 0;
	calls_by_vp = 0;
	KUNIT_ASSERT_EQ(test, attach_other(services(), "x", &al, &vp), OK);
	KUNIT_EXPECT_EQ(test, rix_rnic_vectors(&first, &by_al, &by_vp, NULL),
			RI_RET_VP_INVALID_HANDLE);
	KUNIT_ASSERT_EQ(test, rix_rnic_vectors(OTHER, &by_al, &by_vp, NULL), OK);
	KUNIT_EXPECT_EQ(test, by_al->ri_op_rnic_get_hdl(OTHER, RI_CONSUMER_LOCATION_KERNEL, &one,
							NULL, &first, NULL), OK);
	KUNIT_EXPECT_EQ(test, by_vp->ri_op_rnic_get_hdl(OTHER, RI_CONSUMER_LOCATION_KERNEL, &two,
							NULL, &second, NULL), OK);
	KUNIT_EXPECT_PTR_EQ(test, ri_svc_ops(one), (const ri_ops_t *)&al);
	KUNIT_EXPECT_PTR_EQ(test, ri_svc_ops(two), (const ri_ops_t *)&vp);
	KUNIT_EXPECT_EQ(test, ri_pd_alloc(one, NULL, NULL, NULL, NULL), OK);
	KUNIT_EXPECT_EQ(test, calls_by_al, 1);
	KUNIT_EXPECT_EQ(test, ri_pd_alloc(two, NULL, NULL, NULL, NULL), OK);
	KUNIT_EXPECT_EQ(test, ri_pd_alloc(two, NULL, NULL, NULL, NULL), OK);
	KUNIT_EXPECT_EQ(test, calls_by_al, 1);
	KUNIT_EXPECT_EQ(test, calls_by_vp, 2);
	KUNIT_EXPECT_EQ(test, ri_rnic_free_hdl(OTHER, one, NULL), OK);
	KUNIT_EXPECT_EQ(test, ri_rnic_free_hdl(OTHER, two, NULL), OK);
	KUNIT_EXPECT_PTR_EQ(test, ri_svc_ops(two), &ri_no_ops);
	KUNIT_EXPECT_EQ(test, ri_svc_detach(OTHER, NULL), OK);
}

/* RI-84: vp_data may have any value, and is ignored */
static void vp_data(struct kunit *test)
{
	struct pair *p = pair_open(test, RI_PHYS_PAGE_LIST_MODE);
	ri_cq_attr_t attr = { .num_cqe = 1 };
	ri_vp_data_t data = (ri_vp_data_t)~0ul;
	ri_rnic_handle_t rnic;
	ri_cq_handle_t cq;
	ri_pd_handle_t pd;

	KUNIT_ASSERT_EQ(test, ri_rnic_get_hdl(p->vp, RI_CONSUMER_LOCATION_KERNEL, &rnic, data,
					      NULL, NULL), OK);
	KUNIT_ASSERT_EQ(test, ri_pd_alloc(rnic, &pd, data, NULL, NULL), OK);
	KUNIT_ASSERT_EQ(test, ri_cq_create(rnic, &attr, &cq, data, NULL, NULL), OK);
	KUNIT_EXPECT_EQ(test, ri_cq_destroy(rnic, cq, NULL), OK);
	KUNIT_EXPECT_EQ(test, ri_pd_dealloc(rnic, pd, NULL), OK);
	KUNIT_EXPECT_EQ(test, ri_rnic_free_hdl(p->vp, rnic, NULL), OK);
	pair_close(p);
}

/*
 * RI-12: the device leaves, and the consumer ends nothing: there is an event, and then all
 * handles are invalid
 */
static void device_goes(struct kunit *test)
{
	struct pair *p = pair_connected(test);
	ri_cq_attr_t cq;

	pair_recv(p, &p->b, 1, 0, 100);
	pair_end_device(p);
	KUNIT_EXPECT_EQ(test, p->detached, 1);
	KUNIT_EXPECT_TRUE(test, pair_event(p, RI_EVENT_RNIC_LOCAL_CATASTROPHIC_ERROR, p));
	KUNIT_EXPECT_EQ(test, ri_cq_query(p->rnic, p->a.cq, &cq, NULL),
			RI_RET_RNIC_INVALID_HANDLE);
	KUNIT_EXPECT_EQ(test, ri_rnic_close(p->vp, NULL), RI_RET_VP_INVALID_HANDLE);
	p->open = false;
}

/*
 * A device that was opened without the access layer's knowledge is detached while its
 * consumer uses it: the device can leave all the same, without leaks.
 */
static void goes_detached(struct kunit *test)
{
	struct pair *p = pair_device(test);
	ri_rnic_handle_t rnic;
	ri_pd_handle_t pd;

	KUNIT_ASSERT_EQ(test, ri_vector.ri_op_rnic_open(p->vp, RI_PHYS_PAGE_LIST_MODE, NULL,
							NULL), OK);
	KUNIT_ASSERT_EQ(test, ri_rnic_get_hdl(p->vp, RI_CONSUMER_LOCATION_KERNEL, &rnic, NULL,
					      NULL, NULL), OK);
	KUNIT_ASSERT_EQ(test, ri_pd_alloc(rnic, &pd, NULL, NULL, NULL), OK);
	KUNIT_ASSERT_EQ(test, ri_svc_detach(p->vp, NULL), OK);
	pair_end_device(p);
	KUNIT_EXPECT_EQ(test, p->detached, 1);
	KUNIT_EXPECT_PTR_EQ(test, ri_svc_ops(rnic), &ri_no_ops);
	KUNIT_EXPECT_EQ(test, ri_vector.ri_op_pd_dealloc(rnic, pd, NULL),
			RI_RET_RNIC_INVALID_HANDLE);
}

/* Asks for all that there is, until it is stopped */
static void ask_on(struct call *call)
{
	struct pair *p = call->pair;
	ri_qp_attr_t *qp = kzalloc(sizeof(*qp), GFP_KERNEL);
	ri_cq_attr_t cq = { .num_cqe = 100 };
	uint_t size, one = 1;
	ri_rnic_attr_t attr;
	ri_mr_info_t mr;
	ri_wc_t wc;

	while (qp && !READ_ONCE(p->stop)) {
		ri_qp_query(p->rnic, READ_ONCE(p->b.qp), qp, NULL);
		ri_cq_query(p->rnic, READ_ONCE(p->b.cq), &cq, NULL);
		ri_cq_modify(p->rnic, READ_ONCE(p->b.cq), RI_CQ_MODIFY_MASK_NUM_CQE, &cq, NULL);
		ri_cq_poll(p->rnic, READ_ONCE(p->b.cq), &wc, &one, NULL);
		ri_mr_query(p->rnic, READ_ONCE(p->b.mr), &mr, NULL);
		size = 0;
		ri_rnic_query(p->rnic, RI_QUERY_RNIC_PORT_INFO, &attr, &size, NULL);
		ri_async_set_event_handler(p->vp, NULL, NULL);
		cond_resched();
	}
	kfree(qp);
}

/* RI-05, RI-12: the device leaves while threads are in calls on what there is of it */
static void device_goes_in_calls(struct kunit *test)
{
	struct pair *p = pair_connected(test);
	struct call asks[2] = { { .fn = ask_on, .pair = p }, { .fn = ask_on, .pair = p } };
	ri_cq_attr_t cq;

	call_begin(test, &asks[0]);
	call_begin(test, &asks[1]);
	pair_end_device(p);
	KUNIT_EXPECT_EQ(test, ri_cq_query(p->rnic, p->a.cq, &cq, NULL),
			RI_RET_RNIC_INVALID_HANDLE);
	msleep(50);
	WRITE_ONCE(p->stop, true);
	call_end(test, &asks[0]);
	call_end(test, &asks[1]);
	p->open = false;
}

/* RI-05: objects are made and ended while threads are in calls on them */
static void ends_in_calls(struct kunit *test)
{
	ri_qp_attr_t *attr = kunit_kzalloc(test, sizeof(*attr), GFP_KERNEL);
	struct pair *p = pair_idle(test, RI_PHYS_PAGE_LIST_MODE, 0);
	struct call asks[2] = { { .fn = ask_on, .pair = p }, { .fn = ask_on, .pair = p } };
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, attr);
	call_begin(test, &asks[0]);
	call_begin(test, &asks[1]);
	for (i = 0; i < 50; i++) {
		ri_cq_attr_t cq = { .num_cqe = 4 * PAIR_DEPTH };

		KUNIT_EXPECT_EQ(test, ri_qp_destroy(p->rnic, p->b.qp, NULL), OK);
		KUNIT_EXPECT_EQ(test, ri_cq_destroy(p->rnic, p->b.cq, NULL), OK);
		KUNIT_ASSERT_EQ(test, ri_cq_create(p->rnic, &cq, &p->b.cq, NULL, &p->b, NULL), OK);
		*attr = pair_qp_attr(p, &p->b);
		KUNIT_ASSERT_EQ(test, ri_qp_create(p->rnic, attr, &p->b.qp, NULL, &p->b, NULL), OK);
	}
	WRITE_ONCE(p->stop, true);
	call_end(test, &asks[0]);
	call_end(test, &asks[1]);
	pair_close(p);
}

static void resize_cq(struct call *call)
{
	ri_cq_attr_t cq = { .num_cqe = 200 };

	KUNIT_EXPECT_EQ(call->pair->test, ri_cq_modify(call->pair->rnic, call->pair->a.cq,
						       RI_CQ_MODIFY_MASK_NUM_CQE, &cq, NULL), OK);
}

static void destroy_cq(struct call *call)
{
	KUNIT_EXPECT_EQ(call->pair->test, ri_cq_destroy(call->pair->rnic, call->pair->a.cq, NULL),
			OK);
}

/* RI-05: an end waits for a call that sleeps, which sees the object to the last */
static void end_waits_for_call(struct kunit *test)
{
	struct pair *p = pair_idle(test, RI_PHYS_PAGE_LIST_MODE, 0);
	struct call sleeps = { .fn = resize_cq, .pair = p };
	struct call ends = { .fn = destroy_cq, .pair = p };
	ri_api_return_t ret;
	struct srnic_cq *cq;

	pair_destroy_qps(p);
	mutex_lock(&ri_lock);
	cq = to_srnic_cq(to_cq(ri_find(p->rnic, RI_KIND_CQ, p->a.cq, &ret))->cq);
	mutex_unlock(&ri_lock);
	mutex_lock(&cq->resize);
	call_begin(test, &sleeps);
	call_begin(test, &ends);
	KUNIT_ASSERT_FALSE(test, completion_done(&ends.done));
	mutex_unlock(&cq->resize);
	call_end(test, &sleeps);
	call_end(test, &ends);
	p->a.cq = NULL;
	pair_close(p);
}

static struct kunit_case rnicpi_cases[] = {
	KUNIT_CASE(echo),
	KUNIT_CASE(attaches),
	KUNIT_CASE(opens_in_attach),
	KUNIT_CASE(client_goes),
	KUNIT_CASE(client_comes),
	KUNIT_CASE(client_comes_late),
	KUNIT_CASE(vector_stays),
	KUNIT_CASE(order_of_ends),
	KUNIT_CASE(handles),
	KUNIT_CASE(query),
	KUNIT_CASE(query_in_page_mode),
	KUNIT_CASE(of_infiniband),
	KUNIT_CASE(vectors),
	KUNIT_CASE(vp_data),
	KUNIT_CASE(device_goes),
	KUNIT_CASE(goes_detached),
	KUNIT_CASE(end_waits_for_call),
	KUNIT_CASE(ends_in_calls),
	KUNIT_CASE(device_goes_in_calls),
	{}
};

static struct kunit_suite rnicpi_suite = {
	.name = "srnic-rnicpi",
	.test_cases = rnicpi_cases,
};

kunit_test_suite(rnicpi_suite);
