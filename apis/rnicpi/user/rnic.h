/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * librnicpi's own objects. A program has a handle of each, see handle.h.
 *
 * A call enters the objects that it uses, by handle_enter(), so that they stay: a call that ends
 * an object waits for the calls in it, and calls that begin meanwhile wait for the end (4.3). An
 * object counts the objects that need it as its users, and ends only without users. The QP of a
 * completion stays for a thread that holds poll_lock of the CQ.
 *
 * Locks, outer to inner: the mutex of a QP or an SRQ, poll_lock of a CQ, qp_lock, the lock of a
 * ring. ri_lock protects the lists below, and is held for a short time only.
 */
#ifndef RNIC_H
#define RNIC_H

#include <pthread.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <sys/types.h>
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
 * @ops: the vector that created it; first, for handle_owner()
 * @vp: its device
 * @ctx: context of verbs
 * @native: the device is srnic
 * @attr: attributes of verbs
 * @dev: attributes of srnic
 * @users: number of its objects
 * @os_data: the program's
 * @cqs: list of its CQs; ri_lock, as the next two
 * @srqs: list of its SRQs
 * @event_fd: descriptor for events; -1: not open
 * @qps: by QP number; @qp_lock
 */
struct rnic {
	const struct ri_ops *ops;
	struct rnic_vp *vp;
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

/* The RNIC handle is the first member of each object of one: see ri_enter() */
struct rnic_pd {
	struct rnic *rnic;
	struct ibv_pd *pd;
	ri_pd_handle_t handle;
	unsigned int users;
};

/* A completion that verbs has no more, and the program has not taken yet */
struct rnic_kept {
	const struct rnic_qp *qp;
	ri_wc_t wc;
};

/**
 * struct rnic_cq - a CQ
 * @number: identifies it in events, as that of an SRQ
 * @poll_lock: held while completions are taken, so that their order stays; protects the rest
 * @kept: completions, @first to @end, that were taken from verbs when a QP came to rest: older than
 *	  those in verbs, and no more than the CQ has entries
 * @room: entries allocated
 * @overflowed: @kept had no room for a completion
 */
struct rnic_cq {
	struct rnic *rnic;
	struct rnic_cq *next;
	uint32_t number;
	struct ibv_cq *cq;
	struct ibv_comp_channel *channel;
	ri_os_data_t os_data;
	unsigned int users;
	pthread_mutex_t poll_lock;
	struct rnic_kept *kept;
	uint32_t first, end, room;
	bool overflowed;
};

/* Data of a WR that its completion has in RNICPI and not in verbs */
struct rnic_slot {
	ri_wr_id_t id;
	uint32_t flags;		/* ri_wc_flags_t */
	uint32_t type;		/* ri_wc_type_t */
	uint32_t bytes;
	uint32_t next;		/* next free slot, of an SRQ */
};

/*
 * The slots of a queue. Those of a QP are taken in order. There are twice as many as WRs: verbs may
 * take new WRs in place of all completed ones before librnicpi has polled their completions.
 */
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
	pthread_mutex_t mutex;	/* protects the next two */
	uint32_t size;		/* WRs that it takes; @ring may have more slots */
	uint32_t lowat;		/* as it was set last */
	ri_os_data_t os_data;
	unsigned int users;
};

/**
 * struct rnic_qp - a QP
 * @next: of its bucket
 * @handle: its handle
 * @dead: it is destroyed in verbs, and its completions are being discarded; atomic
 * @mutex: protects its state and attributes
 * @turning: its stream is being attached, without @mutex; others that change the QP wait for
 *	     @turned
 * @restless: it was in RTS, and did not come to rest since then, see ri_qp_look()
 * @llp, @have_llp: its stream, as it was set
 * @socket: the inode of @llp's socket: the descriptor may be another one's since then
 */
struct rnic_qp {
	struct rnic *rnic;
	struct rnic_qp *next;
	ri_qp_handle_t handle;
	struct rnic_pd *pd;
	struct rnic_cq *scq, *rcq;
	struct rnic_srq *srq;
	struct ibv_qp *qp;
	uint32_t qpn;
	bool dead;
	pthread_mutex_t mutex;
	pthread_cond_t turned;
	bool turning;
	bool restless;
	ri_os_data_t os_data;
	struct rnic_ring sq, rq;	/* no @rq with an SRQ */
	struct ri_qp_attr attr;
	uint32_t max_send_sge, max_write_sge, max_recv_sge;	/* they do not change */
	uint32_t max_inline;
	uint32_t windows;	/* bound to it, at the last ri_qp_look() */
	bool have_llp;
	struct ri_linux_llp llp;
	ino_t socket;
};

struct rnic_mr {
	struct rnic *rnic;
	struct rnic_pd *pd;
	struct ibv_mr *mr;
	ri_mr_reg_attr_t attr;
	bool shared;		/* atomic */
};

struct rnic_mw {
	struct rnic *rnic;
	struct rnic_pd *pd;
	struct ibv_mw *mw;	/* its rkey is that of ri_mw_alloc(), with any key */
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
#define RI_MAX_ADDRS	128

bool ri_netdev_of(const struct ibv_device *device, char *name, size_t size);
unsigned int ri_addresses_of(struct ibv_device *device, struct in6_addr *addrs);

/* call.c */
#define RI_IN_USE	(-1)	/* no errno: the object has users */

bool ri_new_handle(enum ri_kind kind, void *object, ri_handle_t *handle);
void *ri_enter(ri_rnic_handle_t rnic, enum ri_kind kind, ri_handle_t handle, ri_api_return_t *ret);
void *ri_enter_more(ri_rnic_handle_t rnic, enum ri_kind kind, ri_handle_t handle,
		    ri_api_return_t *ret);
struct rnic *ri_enter_rnic(ri_rnic_handle_t rnic);
void *ri_close(ri_rnic_handle_t rnic, enum ri_kind kind, ri_handle_t handle, ri_api_return_t *ret);
ri_api_return_t ri_end(ri_rnic_handle_t rnic, enum ri_kind kind, ri_handle_t handle,
		       int (*end)(void *object), ri_api_return_t inuse, ri_err_data_t *err_data);
bool ri_end_all(ri_rnic_handle_t rnic);

static inline void ri_use(unsigned int *users, int n)
{
	__atomic_fetch_add(users, n, __ATOMIC_ACQ_REL);
}

static inline bool ri_is_used(const unsigned int *users)
{
	return __atomic_load_n(users, __ATOMIC_ACQUIRE);
}

/* They end an object except its memory. Return: 0, an errno or RI_IN_USE */
int ri_pd_end(void *pd);
int ri_cq_end(void *cq);
int ri_srq_end(void *srq);
int ri_qp_end(void *qp);
int ri_mr_end(void *mr);
int ri_mw_end(void *mw);

/* error.c */
ri_wc_status_t ri_status_of(const struct rnic *rnic, const struct ibv_wc *wc);
void ri_restore_errno(const int *saved);

/* The caller's errno is not changed (4.6.3) */
#define KEEP_ERRNO const int saved_ __attribute__((cleanup(ri_restore_errno), unused)) = errno

/* ring.c */
#define RI_SEND_ID	(1ULL << 63)	/* in the wr_id of verbs; the rest is a place in the ring */

bool ri_ring_init(struct rnic_ring *ring, uint32_t size);
bool ri_srq_ring_init(struct rnic_ring *ring, uint32_t size);
uint32_t ri_srq_ring_grow(struct rnic_ring *ring, uint32_t size);
bool ri_ring_grow(struct rnic_ring *ring, uint32_t size);
void ri_ring_free(struct rnic_ring *ring);
void ri_ring_rest(struct rnic_ring *ring);
bool ri_ring_full(const struct rnic_ring *ring);
void ri_ring_take(struct rnic_ring *ring, const struct rnic_slot *slot);
struct rnic_slot *ri_srq_ring_next(struct rnic_ring *ring, uint64_t *place);
bool ri_slot_end(struct rnic_qp *qp, const struct ibv_wc *wc, struct rnic_slot *slot);

/* qp_state.c */
ri_qp_handle_t ri_qp_handle_of(struct rnic *rnic, uint32_t qpn, ri_os_data_t *os_data);

/* cq.c */
void ri_cq_keep(struct rnic_cq *cq, const struct rnic_qp *gone);

/* rnic_hdl.c */
void ri_rnic_free(struct rnic *rnic);
bool ri_end_all(ri_rnic_handle_t rnic);
ri_api_return_t ri_do_get_hdl(const struct ri_ops *ops, ri_vp_handle_t vp_hdl,
			      ri_consumer_domain_t location, ri_rnic_handle_t *rnic,
			      ri_os_data_t os_data, ri_err_data_t *err_data);

/* qp.c */
uint32_t ri_terminate_bytes(char *buf, const struct srnic_terminate *term);

#endif
