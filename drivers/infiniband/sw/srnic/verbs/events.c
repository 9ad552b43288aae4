// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The descriptor from which a program reads its events (RDMAC verbs 9.5). It reports all events,
 * with details; Linux verbs omit some, and map several kinds to one.
 */

#include <linux/fs.h>
#include <linux/poll.h>
#include <linux/uaccess.h>
#include <rdma/uverbs_ioctl.h>
#include <rdma/uverbs_std_types.h>
#include "queue/event_queue.h"
#include "srnic.h"
#include "verbs/events.h"

#define UVERBS_MODULE_NAME srnic
#include <rdma/uverbs_named_ioctl.h>

static_assert(sizeof(struct srnic_event_record) == 88);
static_assert(offsetof(struct srnic_event_record, term) == 24);

struct event_file {
	struct ib_uobject uobj;		/* first: the core makes and frees it */
	struct srnic_event_queue queue;
};

/* Reads one record, truncated to the program's buffer */
static ssize_t events_read(struct file *filp, char __user *buf, size_t count, loff_t *pos)
{
	struct event_file *file = filp->private_data;
	ssize_t bytes = srnic_event_bytes(count, sizeof(struct srnic_event_record));
	struct srnic_event_record rec = { };
	int err;

	if (bytes < 0)
		return bytes;
	while ((err = srnic_event_queue_take(&file->queue, &rec)) == -EAGAIN) {
		if (filp->f_flags & O_NONBLOCK)
			return err;
		err = wait_event_interruptible(file->queue.wait,
					       srnic_event_queue_has(&file->queue));
		if (err)
			return err;
	}
	if (err)
		return err;
	return copy_to_user(buf, &rec, bytes) ? -EFAULT : bytes;
}

static __poll_t events_poll(struct file *filp, struct poll_table_struct *wait)
{
	struct event_file *file = filp->private_data;

	poll_wait(filp, &file->queue.wait, wait);
	return srnic_event_queue_has(&file->queue) ? EPOLLIN | EPOLLRDNORM : 0;
}

static const struct file_operations event_fops = {
	.owner = THIS_MODULE,
	.read = events_read,
	.poll = events_poll,
	.release = uverbs_uobject_fd_release,
};

/* The program has closed the descriptor, or the device is leaving */
static void events_destroy(struct ib_uobject *uobj, enum rdma_remove_reason why)
{
	struct event_file *file = container_of(uobj, struct event_file, uobj);

	srnic_event_queue_end(&file->queue, uobj->context);
}

/* AE-01 */
static int UVERBS_HANDLER(SRNIC_METHOD_EVENTS_OPEN)(struct uverbs_attr_bundle *attrs)
{
	struct ib_uobject *uobj = uverbs_attr_get_uobject(attrs, SRNIC_ATTR_EVENTS_OPEN_FD);

	if (IS_ERR(uobj))
		return PTR_ERR(uobj);
	return srnic_event_queue_open(&container_of(uobj, struct event_file, uobj)->queue,
				      uobj->context);
}

DECLARE_UVERBS_NAMED_METHOD(SRNIC_METHOD_EVENTS_OPEN,
			    UVERBS_ATTR_FD(SRNIC_ATTR_EVENTS_OPEN_FD, SRNIC_OBJECT_EVENTS,
					   UVERBS_ACCESS_NEW, UA_MANDATORY));

DECLARE_UVERBS_NAMED_OBJECT(SRNIC_OBJECT_EVENTS,
			    UVERBS_TYPE_ALLOC_FD(sizeof(struct event_file), events_destroy,
						 &event_fops, "[srnic_events]", O_RDONLY),
			    &UVERBS_METHOD(SRNIC_METHOD_EVENTS_OPEN));

const struct uapi_definition srnic_uapi_event_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(SRNIC_OBJECT_EVENTS),
	{ },
};
