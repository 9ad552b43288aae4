/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * rnicpi.ko's own objects. A consumer has a handle of each, a number that calls look up. A stale
 * handle finds nothing.
 *
 * Objects are created and ended under ri_lock. Calls for any context look up and work in an RCU
 * read section; a call that sleeps holds the object, or ri_lock. A call that ends an object hides
 * the object, and waits for both kinds of calls: then nobody else knows it.
 */
#ifndef RNIC_H
#define RNIC_H

#include <linux/completion.h>
#include <linux/hashtable.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/sizes.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>
#include <rnicpi/rnicpi.h>
#include "rnicpi/driver/native.h"
#include "rnicpi/shared/answer.h"
#include "rnicpi/shared/ops.h"
#include "rnicpi/shared/rules.h"

#define RI_MAX_CQ_HANDLERS	16

/* Bytes of a physical buffer in block mode */
#define RI_MIN_BLOCK		1U
#define RI_MAX_BLOCK		SZ_1G

struct file;
struct rnic;

/**
 * struct rnic_obj - common first member of all objects
 * @kind: immutable, as @handle, @rnic and @os_data
 * @handle: the consumer's
 * @rnic: the RNIC handle that it was created with; NULL for a device
 * @os_data: the consumer's
 * @hidden: it is being ended: a lookup of its handle fails
 * @ref: held by each call that sleeps, and until a call ends the object
 * @idle: completed when nothing holds @ref
 * @users: ri_lock: number of objects that use it
 * @link: ri_lock: in @rnic->objects, in the order of creation
 * @rcu: frees it
 */
struct rnic_obj {
	enum ri_kind kind;
	ri_handle_t handle;
	struct rnic *rnic;
	ri_os_data_t os_data;
	bool hidden;
	struct kref ref;
	struct completion idle;
	unsigned int users;
	struct list_head link;
	struct rcu_head rcu;
};

/* A device that is VP_CLOSING has no handlers any more, and ri_rnic_close() waits for the last */
enum vp_state { VP_CLOSED, VP_OPEN, VP_CLOSING };

/**
 * struct rnic_vp - a device
 * @obj: its os_data is that of ri_rnic_open()
 * @ibdev: of the RDMA core, alive
 * @handler: for the RDMA core's events
 * @state: ri_lock, as @mode, @rnics and @leaving
 * @mode: whether physical buffers are pages or blocks
 * @leaving: it cannot be opened any more
 * @rnics: its RNIC handles
 * @async: event handler, or NULL
 * @cq_handlers: completion handlers by id less 1, or NULL
 * @cq_ids: ri_lock: number of ids in use
 * @wq: calls the handlers
 * @lock: protects @events; taken with irqs off
 * @events: events that wait for @work
 * @work: calls @async for each event
 */
struct rnic_vp {
	struct rnic_obj obj;
	struct ib_device *ibdev;
	struct ib_event_handler handler;
	enum vp_state state;
	ri_pbl_mode_t mode;
	bool leaving;
	struct list_head rnics;
	ri_async_event_callback_t async;
	ri_cq_event_callback_t cq_handlers[RI_MAX_CQ_HANDLERS];
	unsigned int cq_ids;
	struct workqueue_struct *wq;
	spinlock_t lock;	/* see above */
	struct list_head events;
	struct work_struct work;
};

/**
 * struct rnic - an RNIC handle (ri_rnic_get_hdl)
 * @obj: its link is in @vp->rnics
 * @vp: its device
 * @objects: ri_lock: its objects
 * @qps: by QP number
 * @map_lock: protects @maps; taken with irqs off
 * @maps: what ri_mem_map() has mapped, by physical address
 */
struct rnic {
	struct rnic_obj obj;
	struct rnic_vp *vp;
	struct list_head objects;
	struct xarray qps;
	spinlock_t map_lock;	/* see above */
	DECLARE_HASHTABLE(maps, 6);
};

struct rnic_pd {
	struct rnic_obj obj;
	struct ib_pd *pd;
};

struct rnic_cq {
	struct rnic_obj obj;
	struct ib_cq *cq;
	ri_cq_event_handler_id_t handler_id;
	struct work_struct work;	/* calls the handler */
};

struct rnic_srq {
	struct rnic_obj obj;
	struct rnic_pd *pd;
	struct ib_srq *srq;
	u32 size;
	u32 max_sge;
	u32 lowat;
};

/**
 * struct rnic_qp - a QP
 * @obj: common part
 * @pd: its PD; the QP is a user of it, and of the CQs and the SRQ
 * @scq: of its SQ
 * @rcq: of its RQ
 * @srq: or NULL
 * @qp: of the RDMA core
 * @max_inline: bytes
 * @mutex: serializes calls that change or query the QP; protects what follows
 * @attr: attributes of creation, and as set later
 * @windows: bound to it, at the last ri_qp_look()
 * @llp: the stream handle that was set
 * @have_llp: @llp is set
 * @attached: the stream of @llp has been attached
 * @file: of @llp, with a reference; NULL without @have_llp
 */
struct rnic_qp {
	struct rnic_obj obj;
	struct rnic_pd *pd;
	struct rnic_cq *scq, *rcq;
	struct rnic_srq *srq;
	struct ib_qp *qp;
	u32 max_inline;
	struct mutex mutex;	/* see above */
	struct ri_qp_attr attr;
	u32 windows;
	struct ri_linux_llp llp;
	bool have_llp;
	bool attached;
	struct file *file;
};

/**
 * struct rnic_mr - a region
 * @obj: common part
 * @pd: its PD
 * @mr: of the RDMA core; another one after ri_mr_rereg()
 * @attr: as it was registered
 */
struct rnic_mr {
	struct rnic_obj obj;
	struct rnic_pd *pd;
	struct ib_mr *mr;
	ri_mr_reg_attr_t attr;
};

struct rnic_mw {
	struct rnic_obj obj;
	struct rnic_pd *pd;
	struct ib_mw *mw;
};

extern struct mutex ri_lock;
extern ri_ops_t ri_vector;

/* handle.c */
int ri_handle_new(struct rnic_obj *obj, enum ri_kind kind);
int ri_enter(struct rnic_obj *obj, enum ri_kind kind, struct rnic *rnic, ri_os_data_t os_data);
void ri_leave(struct rnic_obj *obj);
struct rnic_obj *ri_look_up(enum ri_kind kind, ri_handle_t handle);
bool ri_is_rnic(ri_rnic_handle_t rnic);
struct rnic_obj *ri_find(ri_rnic_handle_t rnic, enum ri_kind kind, ri_handle_t handle,
			 ri_api_return_t *ret);
struct rnic_obj *ri_get(ri_rnic_handle_t rnic, enum ri_kind kind, ri_handle_t handle,
			ri_api_return_t *ret);
void ri_put(struct rnic_obj *obj);
void ri_quiesce(struct rnic_obj *obj);
void ri_show(struct rnic_obj *obj);
struct rnic_obj *ri_hide(ri_rnic_handle_t rnic, enum ri_kind kind, ri_handle_t handle,
			 ri_api_return_t inuse, ri_api_return_t *ret);

/* upcall.c */
int ri_upcall_init(struct rnic_vp *vp);
void ri_upcall_flush(struct rnic_vp *vp);
void ri_raise(struct rnic_vp *vp, struct rnic_obj *obj, ri_async_event_type_t type);
void ri_upcall_end(struct rnic_vp *vp, struct rnic_obj *obj);
void ri_qp_event(struct ib_qp *ibqp, enum srnic_event event);
void ri_srq_event(struct ib_event *event, void *context);
void ri_cq_event(struct ib_event *event, void *context);
void ri_cq_ready(struct ib_cq *ibcq, void *context);
void ri_cq_ready_init(struct rnic_cq *cq);
void ri_cq_ready_end(struct rnic_cq *cq);

/* rnic.c */
struct ri_limits ri_limits_of(const struct rnic *rnic);

/* kvp.c */
int ri_kvp_init(void);
void ri_kvp_exit(void);

/* pin.c */
bool ri_is_memory(ri_vaddr_t vaddr, ri_length_t len);
void ri_maps_end(struct rnic *rnic);
void ri_pin_exit(void);

/* kal.c */
void ri_kal_leaving(ri_vp_handle_t vp_hdl);
void ri_kal_forget(ri_rnic_handle_t rnic);
void ri_kal_gone(ri_vp_handle_t vp_hdl);

/* Without ri_lock; nobody else knows the object. The end of a device calls them, too. */
int ri_qp_end(struct rnic_qp *qp);
void ri_cq_end(struct rnic_cq *cq);
void ri_srq_end(struct rnic_srq *srq);
int ri_mr_end(struct rnic_mr *mr);
void ri_mw_end(struct rnic_mw *mw);
void ri_pd_end(struct rnic_pd *pd);
void ri_rnic_end(struct rnic *rnic);

/* qp_modify.c */
void ri_qp_hold_stream(struct rnic_qp *qp);
void ri_qp_refresh(struct rnic_qp *qp);

/* phys.c */
enum srnic_wc_status ri_phys_list(struct rnic_vp *vp, struct ib_mr *mr,
				  const ri_mr_reg_phys_attr_t *attr);
u32 ri_phys_blocks(struct rnic_vp *vp, const ri_mr_reg_phys_attr_t *attr);

static inline struct rnic *to_rnic(struct rnic_obj *obj)
{
	return container_of(obj, struct rnic, obj);
}

static inline struct rnic_vp *to_vp(struct rnic_obj *obj)
{
	return container_of(obj, struct rnic_vp, obj);
}

static inline struct rnic_pd *to_pd(struct rnic_obj *obj)
{
	return container_of(obj, struct rnic_pd, obj);
}

static inline struct rnic_cq *to_cq(struct rnic_obj *obj)
{
	return container_of(obj, struct rnic_cq, obj);
}

static inline struct rnic_qp *to_qp(struct rnic_obj *obj)
{
	return container_of(obj, struct rnic_qp, obj);
}

static inline struct rnic_srq *to_srq(struct rnic_obj *obj)
{
	return container_of(obj, struct rnic_srq, obj);
}

static inline struct rnic_mr *to_mr(struct rnic_obj *obj)
{
	return container_of(obj, struct rnic_mr, obj);
}

static inline struct rnic_mw *to_mw(struct rnic_obj *obj)
{
	return container_of(obj, struct rnic_mw, obj);
}

#endif
