// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * srnic_talk: a kernel consumer of RNICPI. While it is loaded pairs of QPs on an RNIC send a
 * message to and fro, over TCP connections in the network namespace of the task that loads it.
 * Unloading it ends all objects under traffic.
 */

#include <linux/atomic.h>
#include <linux/file.h>
#include <linux/inet.h>
#include <linux/module.h>
#include <linux/net.h>
#include <linux/nsproxy.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include <rnicpi/rnicpi.h>
#include <rnicpi/rix_kernel.h>

#define TALKERS	2
#define DEPTH	8
#define BYTES	3000

static char *netdev = "";
module_param(netdev, charp, 0444);
MODULE_PARM_DESC(netdev, "interface of the RNIC");
static char *addr = "";
module_param(addr, charp, 0444);
MODULE_PARM_DESC(addr, "IPv4 address of the interface");
static bool leave;
module_param(leave, bool, 0644);
MODULE_PARM_DESC(leave, "let others end what is left when the RNIC goes");

static atomic_t rounds, events, spoilt;

static int get_count(char *buf, const struct kernel_param *kp)
{
	return sysfs_emit(buf, "%d\n", atomic_read(kp->arg));
}

static const struct kernel_param_ops count_ops = { .get = get_count };
module_param_cb(rounds, &count_ops, &rounds, 0444);
module_param_cb(events, &count_ops, &events, 0444);
module_param_cb(spoilt, &count_ops, &spoilt, 0444);

struct end {
	ri_qp_handle_t qp;
	char mem[2][BYTES];	/* to send, to receive */
};

struct talker {
	ri_cq_handle_t cq;
	struct end end[2];
	ri_mr_handle_t mr;	/* of all of this */
	ri_ltag_t tag;
};

static ri_vp_handle_t vp;
static ri_rnic_handle_t rnic;
static ri_pd_handle_t pd;
static struct talker *talkers;

static ri_data_seg_t part(const struct talker *t, const struct end *e, int which)
{
	return (ri_data_seg_t){
		.addr.vaddr = (uintptr_t)e->mem[which], .tag.ltag = t->tag, .len = BYTES,
	};
}

static ri_api_return_t recv(struct talker *t, struct end *e)
{
	ri_data_seg_t seg = part(t, e, 1);

	return ri_qp_post_recv(rnic, e->qp, 0, (uintptr_t)e, &seg, 1, NULL);
}

static ri_api_return_t send(struct talker *t, struct end *e)
{
	ri_data_seg_t seg = part(t, e, 0);

	return ri_qp_post_send(rnic, e->qp, RI_WR_TYPE_SEND, RI_WR_SIGNALED_FLAG, (uintptr_t)e,
			       &seg, 0, 1, 0, NULL);
}

/* Checks the message of the other end, and sends one back */
static void received(struct talker *t, struct end *e)
{
	const struct end *other = e == &t->end[0] ? &t->end[1] : &t->end[0];

	if (memcmp(e->mem[1], other->mem[0], BYTES))
		atomic_inc(&spoilt);
	atomic_inc(&rounds);
	recv(t, e);
	send(t, e);
}

static void on_cq(ri_os_data_t vp_data, ri_os_data_t cq_data)
{
	struct talker *t = cq_data;
	ri_wc_t wc;
	uint_t one = 1;

	ri_cq_req_notification(rnic, t->cq, RI_CMPLT_NOTIFY_ANY, NULL);
	while (!ri_cq_poll(rnic, t->cq, &wc, &one, NULL)) {
		if (wc.rc_wc.op_type == RI_WC_TYPE_DATA_RECEIVED && !wc.rc_wc.op_status)
			received(t, (struct end *)(uintptr_t)wc.rc_wc.id);
	}
}

static void on_event(ri_os_data_t vp_data, ri_event_record_t *event)
{
	atomic_inc(&events);
}

static int connect(struct socket **active, struct socket **passive)
{
	struct net *net = current->nsproxy->net_ns;
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_addr.s_addr = in_aton(addr) };
	struct socket *listener;
	int err;

	err = sock_create_kern(net, AF_INET, SOCK_STREAM, IPPROTO_TCP, &listener);
	if (err)
		return err;
	err = kernel_bind(listener, (void *)&sin, sizeof(sin)) ?: kernel_listen(listener, 1);
	if (!err && kernel_getsockname(listener, (struct sockaddr *)&sin) < 0)
		err = -EIO;
	if (!err)
		err = sock_create_kern(net, AF_INET, SOCK_STREAM, IPPROTO_TCP, active);
	if (!err) {
		err = kernel_connect(*active, (void *)&sin, sizeof(sin), 0) ?:
		      kernel_accept(listener, passive, 0);
		if (err)
			sock_release(*active);
	}
	sock_release(listener);
	return err;
}

/* The QP has a reference of its own, or none */
static int attach(struct end *e, struct socket *sock)
{
	struct file *file = sock_alloc_file(sock, O_RDWR, NULL);
	struct ri_linux_llp llp = { .size = sizeof(llp), .file = file };
	ri_qp_attr_t attr = {
		.state = RI_QP_STATE_READY_TO_SEND,
		.qp_xport.qp_iwarp.llp_stream_handle = &llp,
	};
	ri_api_return_t ret;

	if (IS_ERR(file))
		return PTR_ERR(file);
	ret = ri_qp_modify(rnic, e->qp, RI_QP_ATTR_NEXT_STATE | RI_QP_ATTR_LLP_STREAM_HANDLE, &attr,
			   NULL);
	fput(file);
	return ret ? -EIO : 0;
}

static int begin_talk(struct talker *t)
{
	struct socket *active, *passive;
	int err = connect(&active, &passive);

	if (err)
		return err;
	err = attach(&t->end[0], active);
	if (err)
		sock_release(passive);
	else
		err = attach(&t->end[1], passive);
	if (err)
		return err;
	ri_cq_req_notification(rnic, t->cq, RI_CMPLT_NOTIFY_ANY, NULL);
	return recv(t, &t->end[0]) || recv(t, &t->end[1]) || send(t, &t->end[0]) ? -EIO : 0;
}

static ri_api_return_t make_talker(struct talker *t, ri_cq_event_handler_id_t id)
{
	ri_cq_attr_t cq = { .num_cqe = 4 * DEPTH, .handler_id = id };
	ri_mr_reg_attr_t mr = {
		.va = (uintptr_t)t, .length = sizeof(*t),
		.mem_attr = RI_MEM_FLAGS_LOCAL, .pd = pd,
	};
	ri_api_return_t ret = ri_mr_reg(rnic, &mr, &t->mr, &t->tag, NULL, NULL, t, NULL);
	int i;

	if (!ret)
		ret = ri_cq_create(rnic, &cq, &t->cq, NULL, t, NULL);
	for (i = 0; i < 2 && !ret; i++) {
		ri_qp_attr_t attr = {
			.scq.scq_handle = t->cq, .rcq.rcq_handle = t->cq, .pd = pd,
			.sq_size = DEPTH, .rq_size = DEPTH, .sq_max_sges = 1, .rq_max_sges = 1,
			.qp_xport.qp_iwarp.mpa_attrs = {
				.crc_enabled = 1, .ddp_rdmap_version = 1,
			},
		};

		memset(t->end[i].mem[0], 'a' + i, BYTES);
		ret = ri_qp_create(rnic, &attr, &t->end[i].qp, NULL, t, NULL);
	}
	return ret;
}

static void end_talker(struct talker *t)
{
	ri_qp_destroy(rnic, t->end[0].qp, NULL);
	ri_qp_destroy(rnic, t->end[1].qp, NULL);
	ri_cq_destroy(rnic, t->cq, NULL);
	ri_mr_dereg(rnic, t->mr, NULL);
}

static void end_all(void)
{
	int i;

	for (i = 0; i < TALKERS; i++)
		end_talker(&talkers[i]);
	ri_pd_dealloc(rnic, pd, NULL);
	if (ri_rnic_free_hdl(vp, rnic, NULL) || ri_rnic_close(vp, NULL))
		pr_err("srnic_talk: something is left\n");
	rnic = NULL;
	vp = NULL;
}

static ri_api_return_t begin_rnic(ri_cq_event_handler_id_t *id)
{
	ri_api_return_t ret = ri_rnic_open(vp, RI_PHYS_PAGE_LIST_MODE, &rnic, NULL);

	if (!ret)
		ret = ri_async_set_event_handler(vp, on_event, NULL);
	if (!ret)
		ret = ri_cq_set_event_handler(vp, id, on_cq, NULL);
	if (!ret)
		ret = ri_rnic_get_hdl(vp, RI_CONSUMER_LOCATION_KERNEL, &rnic, NULL, NULL, NULL);
	return ret ?: ri_pd_alloc(rnic, &pd, NULL, NULL, NULL);
}

static void attached(struct rix_client *client, ri_vp_handle_t vp_hdl)
{
	ri_cq_event_handler_id_t id = 0;
	char name[IFNAMSIZ];
	int i;

	if (vp || rix_rnic_info(vp_hdl, name, sizeof(name), NULL, NULL) || strcmp(name, netdev))
		return;
	vp = vp_hdl;
	if (begin_rnic(&id))
		return;
	for (i = 0; i < TALKERS; i++)
		if (make_talker(&talkers[i], id) || begin_talk(&talkers[i]))
			pr_err("srnic_talk: talker %d does not begin\n", i);
}

static void detaching(struct rix_client *client, ri_vp_handle_t vp_hdl)
{
	if (vp != vp_hdl)
		return;
	if (!leave)
		end_all();
	vp = NULL;
}

static struct rix_client client = { .attached = attached, .detaching = detaching };

static int __init talk_init(void)
{
	talkers = kcalloc(TALKERS, sizeof(*talkers), GFP_KERNEL);
	if (!talkers)
		return -ENOMEM;
	rix_client_register(&client);
	return 0;
}
module_init(talk_init);

static void __exit talk_exit(void)
{
	rix_client_unregister(&client);
	kfree(talkers);
}
module_exit(talk_exit);

MODULE_DESCRIPTION("A kernel consumer of RNICPI, for tests");
MODULE_LICENSE("Dual BSD/GPL");
