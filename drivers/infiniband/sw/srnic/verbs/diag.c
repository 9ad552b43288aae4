// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Diagnosis for an administrator's program: the state of a device and its QPs, as text, and
 * a reset. rdma(8) shows the same for one object at a time.
 */

#include <linux/capability.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>
#include <rdma/uverbs_ioctl.h>
#include <rdma/uverbs_std_types.h>
#include "qp/qp.h"
#include "queue/holder.h"
#include "queue/state.h"
#include "srnic.h"
#include "verbs/diag.h"
#include "verbs/native.h"

#define UVERBS_MODULE_NAME srnic
#include <rdma/uverbs_named_ioctl.h>

static_assert(sizeof(struct srnic_ureq_diag) == 24);
static_assert(offsetof(struct srnic_ureq_diag, buf) == 8);

/* About the text of all QPs that a device can have */
#define MAX_TEXT	(32U << 20)

/**
 * struct text - text that is being written
 * @buf: the buffer, or NULL
 * @size: bytes of @buf
 * @len: bytes of the whole text, which may be more than @size
 */
struct text {
	char *buf;
	size_t size;
	size_t len;
};

static __printf(2, 3) void say(struct text *text, const char *format, ...)
{
	size_t room = text->len < text->size ? text->size - text->len : 0;
	va_list args;

	va_start(args, format);
	text->len += vsnprintf(room ? text->buf + text->len : NULL, room, format, args);
	va_end(args);
}

static void say_counters(struct text *text, struct ib_device *ibdev)
{
	struct rdma_hw_stats *stats = ibdev->ops.alloc_hw_port_stats(ibdev, 1);
	int i;

	if (!stats)
		return;
	ibdev->ops.get_hw_stats(ibdev, stats, 1, 0);
	for (i = 0; i < stats->num_counters; i++)
		say(text, "%s %llu\n", stats->descs[i].name, stats->value[i]);
	rdma_free_hw_stats_struct(stats);
}

static void say_device(struct text *text, struct srnic_device *dev)
{
	say(text, "device %s\nversion %u.%u.%u\nnetdev %s\n", dev_name(&dev->ibdev.dev),
	    SRNIC_VERSION_MAJOR, SRNIC_VERSION_MINOR, SRNIC_VERSION_PATCH,
	    netdev_name(dev->netdev));
	say(text, "qps %ld\ncqs %ld\nsrqs %ld\npds %ld\nmrs %ld\nmws %ld\n",
	    srnic_held(dev, SRNIC_KIND_QP), srnic_held(dev, SRNIC_KIND_CQ),
	    srnic_held(dev, SRNIC_KIND_SRQ), srnic_held(dev, SRNIC_KIND_PD),
	    srnic_held(dev, SRNIC_KIND_MR), srnic_held(dev, SRNIC_KIND_MW));
	say_counters(text, &dev->ibdev);
}

static void say_terminate(struct text *text, struct srnic_qp *qp)
{
	struct rdmap_term term;
	bool local, sent;

	if (srnic_qp_terminate(qp, &term, &local, &sent))
		say(text, "terminate %s %u/%u/%#x\n",
		    !local ? "received" : sent ? "sent" : "unsent",
		    term.err.layer, term.err.etype, term.err.code);
}

static void say_qp(struct text *text, struct srnic_qp *qp)
{
	say(text, "qp %u\nstate %s\nconsumer %s\nird %u\nord %u\n", qp->ibqp.qp_num,
	    srnic_qp_state_name(srnic_qp_state(qp)), qp->kernel ? "kernel" : "user",
	    READ_ONCE(qp->ird), READ_ONCE(qp->ord));
	say(text, "reads_in %u\nreads_out %u\nwindows %u\nerror %u\n",
	    READ_ONCE(qp->irq_tail) - READ_ONCE(qp->irq_head),
	    READ_ONCE(qp->orq_tail) - READ_ONCE(qp->orq_head),
	    READ_ONCE(qp->windows), READ_ONCE(qp->error));
	say(text, "sq_size %u\nsq_fetched %u\nsq_completed %u\nrq_size %u\nrq_taken %u\n",
	    qp->sq.entries, READ_ONCE(qp->sq_fetched), READ_ONCE(qp->sq_completed),
	    qp->rq.entries, READ_ONCE(qp->rq_taken));
	say_terminate(text, qp);
}

/* May miss QPs that are created meanwhile */
static int each_qp(struct srnic_device *dev, void (*fn)(struct text *, struct srnic_qp *),
		   struct text *text)
{
	struct srnic_qp *qp;
	unsigned long qpn;
	void *entry;

	xa_for_each(&dev->qps, qpn, entry) {
		qp = srnic_qp_find(dev, qpn);
		if (!qp)
			continue;
		fn(text, qp);
		srnic_qp_put(qp);
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}

/* All WRs are flushed; the owner, a program or a kernel consumer, gets an event */
static void reset_qp(struct text *text, struct srnic_qp *qp)
{
	srnic_qp_abort(qp);
	srnic_qp_raise(qp, SRNIC_EV_QP_CATASTROPHIC);
}

static int say_answer(struct text *text, struct srnic_device *dev, u32 op, struct srnic_qp *qp)
{
	switch (op) {
	case SRNIC_DIAG_QP:
		say_qp(text, qp);
		return 0;
	case SRNIC_DIAG_DUMP:
		say_device(text, dev);
		return each_qp(dev, say_qp, text);
	default:
		say_device(text, dev);
		return 0;
	}
}

/*
 * Return: the text; ERR_PTR(-ENOSPC) if it is longer than @size; another ERR_PTR. @need is set
 * to the bytes of the text, with the NUL of vsnprintf().
 */
static char *answer(struct srnic_device *dev, u32 op, struct srnic_qp *qp, u64 size, u64 *need)
{
	struct text text = { .size = min_t(u64, size, MAX_TEXT) };
	int err;

	if (text.size) {
		text.buf = kvzalloc(text.size, SRNIC_GFP_USER);
		if (!text.buf)
			return ERR_PTR(-ENOMEM);
	}
	err = say_answer(&text, dev, op, qp);
	*need = text.len + 1;
	if (!err && *need > text.size)
		err = -ENOSPC;
	if (!err)
		return text.buf;
	kvfree(text.buf);
	return ERR_PTR(err);
}

static int answer_user(const struct srnic_ureq_diag *req, struct srnic_device *dev,
		       struct srnic_qp *qp, u64 *need)
{
	char *text = answer(dev, req->op, qp, req->size, need);
	int err = 0;

	if (IS_ERR(text))
		return PTR_ERR(text);
	if (copy_to_user(u64_to_user_ptr(req->buf), text, *need))
		err = -EFAULT;
	kvfree(text);
	return err;
}

/**
 * srnic_native_diag - describe a device or a QP, or reset all QPs of a device
 * @ibdev: srnic's
 * @op: SRNIC_DIAG_*
 * @ibqp: a QP of the device, alive, for SRNIC_DIAG_QP; otherwise ignored
 * @buf: set to lines of a name and a value, and a NUL
 * @size: in: bytes of @buf; out: bytes of the text. SRNIC_DIAG_RESET ignores @buf and @size
 *
 * Context: process, may sleep.
 *
 * Return: 0; -ENOSPC: only @size is set; -ENOMEM; -EINTR: the task has got a fatal signal.
 */
int srnic_native_diag(struct ib_device *ibdev, u32 op, struct ib_qp *ibqp, char *buf, u64 *size)
{
	struct srnic_device *dev = to_srnic_dev(ibdev);
	char *text;
	u64 need = 0;

	if (op == SRNIC_DIAG_RESET)
		return each_qp(dev, reset_qp, NULL);
	text = answer(dev, op, op == SRNIC_DIAG_QP ? to_srnic_qp(ibqp) : NULL, buf ? *size : 0,
		      &need);
	if (!IS_ERR(text))
		memcpy(buf, text, need);
	if (need)
		*size = need;
	if (IS_ERR(text))
		return PTR_ERR(text);
	kvfree(text);
	return 0;
}
EXPORT_SYMBOL_GPL(srnic_native_diag);

static struct srnic_qp *asked_qp(struct uverbs_attr_bundle *attrs)
{
	struct ib_qp *ibqp;

	if (!uverbs_attr_is_valid(attrs, SRNIC_ATTR_DIAG_QP))
		return NULL;
	ibqp = uverbs_attr_get_obj(attrs, SRNIC_ATTR_DIAG_QP);
	return IS_ERR(ibqp) ? ERR_CAST(ibqp) : to_srnic_qp(ibqp);
}

static int check(const struct srnic_ureq_diag *req, const struct srnic_qp *qp)
{
	if (!capable(CAP_NET_ADMIN))
		return -EPERM;
	if (req->op > SRNIC_DIAG_RESET || req->reserved)
		return -EOPNOTSUPP;
	return (req->op == SRNIC_DIAG_QP) == !!qp ? 0 : -EINVAL;
}

/* Covers QPs of all users, so the caller needs the capability that changes the policy */
static int UVERBS_HANDLER(SRNIC_METHOD_DIAG)(struct uverbs_attr_bundle *attrs)
{
	struct ib_ucontext *uctx = ib_uverbs_get_ucontext(attrs);
	struct srnic_qp *qp = asked_qp(attrs);
	struct srnic_ureq_diag req = { };
	struct srnic_device *dev;
	u64 need = 0;
	int err, copy;

	if (IS_ERR(uctx) || IS_ERR(qp))
		return IS_ERR(uctx) ? PTR_ERR(uctx) : PTR_ERR(qp);
	dev = to_srnic_dev(uctx->device);
	err = uverbs_copy_from(&req, attrs, SRNIC_ATTR_DIAG_REQ);
	if (!err)
		err = check(&req, qp);
	if (err)
		return err;
	if (req.op == SRNIC_DIAG_RESET)
		return each_qp(dev, reset_qp, NULL);
	err = answer_user(&req, dev, qp, &need);
	copy = uverbs_copy_to(attrs, SRNIC_ATTR_DIAG_SIZE, &need, sizeof(need));
	return err ?: copy;
}

DECLARE_UVERBS_NAMED_METHOD(SRNIC_METHOD_DIAG,
			    UVERBS_ATTR_PTR_IN(SRNIC_ATTR_DIAG_REQ,
					       UVERBS_ATTR_STRUCT(struct srnic_ureq_diag, size),
					       UA_MANDATORY),
			    UVERBS_ATTR_IDR(SRNIC_ATTR_DIAG_QP, UVERBS_OBJECT_QP,
					    UVERBS_ACCESS_READ, UA_OPTIONAL),
			    UVERBS_ATTR_PTR_OUT(SRNIC_ATTR_DIAG_SIZE, UVERBS_ATTR_TYPE(u64),
						UA_MANDATORY));

ADD_UVERBS_METHODS(srnic_diag_object, UVERBS_OBJECT_DEVICE,
		   &UVERBS_METHOD(SRNIC_METHOD_DIAG));

const struct uapi_definition srnic_uapi_diag_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_DEVICE, &srnic_diag_object),
	{ },
};
