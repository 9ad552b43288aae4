/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * librnicpi's own objects. A program has a handle of each, see handle.h.
 *
 * ri_lock protects creation, changes and end of objects. Posts and polls take the lock of their
 * queue only: no model of locking allows a program to destroy an object that it uses.
 */
#ifndef RNIC_H
#define RNIC_H

#include <pthread.h>
#include <stdbool.h>
#include <infiniband/verbs.h>
#include <srnicdv.h>
#include <handle.h>
#include <rnicpi/rnicpi.h>
#include "rnicpi/shared/answer.h"
#include "rnicpi/shared/ops.h"
#include "rnicpi/shared/rules.h"

#define QPN_BUCKETS	256

/**
 * struct rnic_vp - a device, which a program may open more than once; never freed
 * @next: in the list of all
 * @handle: the program's
 * @name: name of the device in verbs
 * @lib_path: path of the library that has its vectors
 */
struct rnic_vp {
	struct rnic_vp *next;
	ri_vp_handle_t handle;
	char name[IBV_SYSFS_NAME_MAX];
	char lib_path[RI_MAX_LIB_PATH_LEN];
};

/**
 * struct rnic - an RNIC handle (ri_rnic_get_hdl)
 * @vp: its device
 * @ops: the vector that created it
 * @ctx: context of verbs
 * @native: the device is srnic
 * @attr: attributes of verbs
 * @dev: attributes of srnic
 * @users: number of its objects; ri_lock, as the next four
 * @os_data: the program's
 * @cqs: list of its CQs
 * @srqs: list of its SRQs
 * @event_fd: descriptor for events; -1: not open
 * @qps: by QP number, also destroyed ones whose completions may still wait; @qp_lock
 */
struct rnic {
	struct rnic_vp *vp;
	const struct ri_ops *ops;
	struct ibv_context *ctx;
	bool native;
	struct ibv_device_attr attr;
	struct srnic_uresp_dev_query dev;
	unsigned int users;
	ri_os_data_t os_data;
	struct rnic_cq *cqs;
	struct rnic_srq *srqs;
	int event_fd;
	pthread_mutex_t qp_lock;
	struct rnic_qp *qps[QPN_BUCKETS];
};

/* The RNIC handle is the first member of each object of one: see ri_find() */
struct rnic_pd {
	struct rnic *rnic;
	struct ibv_pd *pd;
	ri_pd_handle_t handle;
	unsigned int users;
};

/* @number: identifies it in events, as that of an SRQ */
struct rnic_cq {
	struct rnic *rnic;
	pthread_mutex_t poll_lock;	/* frees slots in the order of the completions */
	struct rnic_cq *next;
	uint32_t number;
	struct ibv_cq *cq;
	struct ibv_comp_channel *channel;
	ri_os_data_t os_data;
	unsigned int users;
};

/* Data of a WR that a completion of RNICPI has, but not one of verbs */
struct rnic_slot {
	ri_wr_id_t id;
	uint32_t flags;		/* ri_wc_flags_t */
	uint32_t type;		/* ri_wc_type_t */
	uint32_t bytes;
	uint32_t next;		/* next free slot, of an SRQ */
};

/* The slots of a queue. Those of a QP are taken and freed in order, head to tail. */
struct rnic_ring {
	pthread_mutex_t lock;
	struct rnic_slot *slots;
	uint32_t size;
	uint32_t head;
	uint32_t tail;
};

struct rnic_srq {
	struct rnic *rnic;
	struct rnic_srq *next;
	uint32_t number;
	struct rnic_pd *pd;
	struct ibv_srq *srq;
	struct rnic_ring ring;	/* @head: first free slot, counted from 1; 0: none */
	uint32_t max_sge;
	uint32_t lowat;		/* as it was set last */
	ri_srq_handle_t handle;
	ri_os_data_t os_data;
	unsigned int users;
};

/**
 * struct rnic_qp - a QP
 * @next: of its bucket
 * @dead: it is destroyed, and kept so that polls recognize its completions
 * @turning: its stream is being attached, without ri_lock; see ri_qp_find_settled()
 * @llp, @have_llp: its stream, as it was set
 */
struct rnic_qp {
	struct rnic *rnic;
	struct rnic_qp *next;
	struct rnic_pd *pd;
	struct rnic_cq *scq, *rcq;
	struct rnic_srq *srq;
	struct ibv_qp *qp;
	uint32_t qpn;
	bool dead;
	bool turning;
	ri_os_data_t os_data;
	struct rnic_ring sq, rq;	/* no @rq with an SRQ */
	struct ri_qp_attr attr;
	uint32_t max_inline;
	uint32_t windows;	/* bound to it, at the last ri_qp_look() */
	bool have_llp;
	struct ri_linux_llp llp;
};

struct rnic_mr {
	struct rnic *rnic;
	struct rnic_pd *pd;
	struct ibv_mr *mr;
	ri_mr_reg_attr_t attr;
	bool shared;
};

struct rnic_mw {
	struct rnic *rnic;
	struct rnic_pd *pd;
	struct ibv_mw *mw;
};

extern pthread_mutex_t ri_lock;
extern const struct ri_ops ri_al_ops, ri_vp_ops;

/* Library paths of devices, for ri_svc_lib_reg() */
#define NATIVE_PATH	"libsrnic.so.1"
#define OTHER_PATH	"libibverbs.so.1"

/* device.c */
bool ri_vp_is_known(const char *lib_path);
struct ibv_device **ri_device_list(void);
ri_vp_handle_t ri_vp_of(struct ibv_device *device);
void ri_vps_renew(void);
struct ri_limits ri_limits_of(const struct rnic *rnic);

/* address.c */
bool ri_netdev_of(const struct ibv_device *device, char *name, size_t size);

/* error.c */
void *ri_find(ri_rnic_handle_t rnic, enum ri_kind kind, ri_handle_t handle, ri_api_return_t *ret);
ri_wc_status_t ri_status_of(const struct rnic *rnic, const struct ibv_wc *wc);
void ri_restore_errno(const int *saved);

/* The caller's errno is not changed (4.6.3) */
#define KEEP_ERRNO const int saved_ __attribute__((cleanup(ri_restore_errno), unused)) = errno

/* ring.c */
#define RI_SEND_ID	(1ULL << 63)	/* in the wr_id of verbs; the rest is a place in the ring */

bool ri_ring_init(struct rnic_ring *ring, uint32_t size);
bool ri_srq_ring_init(struct rnic_ring *ring, uint32_t size);
void ri_ring_free(struct rnic_ring *ring);
void ri_ring_reset(struct rnic_ring *ring);
struct rnic_slot *ri_ring_next(struct rnic_ring *ring, uint64_t *place);
struct rnic_slot *ri_srq_ring_next(struct rnic_ring *ring, uint64_t *place);
bool ri_slot_end(struct rnic_qp *qp, const struct ibv_wc *wc, struct rnic_slot *slot);

/* qp_state.c */
struct rnic_qp *ri_qp_of_number(struct rnic *rnic, uint32_t qpn);
void ri_qp_forget(struct rnic *rnic, const struct rnic_srq *srq);

/* rnic_hdl.c */
ri_api_return_t ri_do_get_hdl(const struct ri_ops *ops, ri_vp_handle_t vp_hdl, ri_rnic_handle_t *rnic,
			      ri_os_data_t os_data, ri_err_data_t *err_data);

/* qp.c */
uint32_t ri_terminate_bytes(char *buf, const struct srnic_terminate *term);

#endif
