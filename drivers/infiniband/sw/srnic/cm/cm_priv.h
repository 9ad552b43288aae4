/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Private header of cm.c, cm_*.c, and of the rendezvous in ib/. */
#ifndef SRNIC_CM_PRIV_H
#define SRNIC_CM_PRIV_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/socket.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <rdma/iw_cm.h>
#include "cm/cm.h"
#include "cm/cm_user.h"
#include "engine/stream.h"
#include "qp/qp.h"
#include "srnic.h"
#include "wire/mpa.h"
#include "wire/rdmap.h"

/* Time-outs that the administrator can change are in struct srnic_policy, in seconds */
/* To hand a start-up frame to TCP, whose empty send buffer has room for it */
#define SRNIC_CM_SEND_MS	(1 * MSEC_PER_SEC)
/* Between two attempts of a listener to bind its port */
#define SRNIC_CM_LISTEN_MS	(1 * MSEC_PER_SEC)
/* Age from which a half-open connection may be evicted if all places are taken */
#define SRNIC_CM_GRACE_MS	100
/* Until a listener tries again after accept has failed without memory */
#define SRNIC_CM_RETRY_MS	100

/* Places for half-open connections of a listener: its backlog, within these bounds */
#define SRNIC_CM_MIN_HALF_OPEN	64
#define SRNIC_CM_MAX_HALF_OPEN	1024
/* Connections accepted in one run of a listener's work */
#define SRNIC_CM_ACCEPT_BATCH	16

/* iw_cm_event.private_data_len, .ird and .ord have 8 bits */
#define SRNIC_CM_EVENT_MAX	255

/*
 * States of an endpoint. Each arrow is taken under srnic_ep.lock.
 *
 *  connect()                      TCP accept          listen()
 *      |                               |                  |
 *      v          peer closed,         v                  v
 *  CONNECTING <-- rev 1 is next   AWAIT_REQUEST       LISTENING
 *      | TCP is up       |             | CONNECT_REQUEST  |
 *      | Request sent    |             v                  |
 *      +----------> AWAIT_REPLY    REPORTED               |
 *      |                 |             | accept():        |
 *      |           Reply |             | Reply sent       |
 *      |   CONNECT_REPLY |             | ESTABLISHED      |
 *      |                 v             v                  | destroy_listen()
 *      |                 +-- ATTACHED -+                  |
 *      | CONNECT_REPLY         | closed(): CLOSE          |
 *      | with an error         |                          |
 *      +-----------------------+--------------------------+
 *                              v
 *                           CLOSED
 *
 * A listener that waits for its port, or for the interface to come into its
 * namespace, is LISTENING without a stream.
 *
 * Every state with a socket of its own also goes to CLOSED on errors and time-
 * outs. If a last frame has to reach the peer (a Reply with R, a Terminate), the
 * stream is handed to linger.c then.
 */
enum srnic_ep_state {
	SRNIC_EP_IDLE,
	SRNIC_EP_LISTENING,
	SRNIC_EP_CONNECTING,
	SRNIC_EP_AWAIT_REPLY,
	SRNIC_EP_AWAIT_REQUEST,
	SRNIC_EP_REPORTED,
	SRNIC_EP_ATTACHED,
	SRNIC_EP_CLOSED,
};

/* srnic_ep.flags: messages to an endpoint's work */
enum {
	SRNIC_EPF_ABORT,	/* give up */
	SRNIC_EPF_EVICT,	/* give up if still half-open */
	SRNIC_EPF_GONE,		/* the QP has finished with the stream */
	SRNIC_EPF_LISTENS,	/* a listener, until destroy_listen */
	SRNIC_EPF_WAITS,	/* ... without a socket */
};

struct srnic_ep;
struct srnic_pair;

/**
 * struct srnic_ep_ops - callbacks of an endpoint's user: iw_cm or rendezvous
 * @request: passive: a valid Request has arrived; report or answer it
 * @established: active: the Reply accepts with @mpa; attach the stream and report it.
 *		 Returns 0, or an errno for a connection that ends with a Terminate
 * @failed: active: the connection has failed; @event has the reason and the contents of
 *	    the Reply. Gives up the claim. The endpoint ends afterwards
 * @closed: attached: the QP has finished with the stream; @err as in llp_ops. NULL if
 *	    the endpoint does not own the claim of the QP: the owner has a closed() of its own
 * @waits: passive: request() may wait for others, as for memory of a user's cgroup, so it is left
 *	   to the endpoint's own work: a listener may be everybody's
 * @as_infiniband: the programs expect InfiniBand's behaviour: receives stay posted when the
 *		   peer closes, and a message waits for a receive
 * @bind: active: binds the socket to @ep->local if the port is a special one.
 *	  Returns 0; -EAGAIN if the port is not special; an errno. May be NULL
 *
 * Context: process, with the endpoint locked.
 */
struct srnic_ep_ops {
	void (*request)(struct srnic_ep *ep);
	int (*established)(struct srnic_ep *ep, const struct mpa_result *mpa);
	void (*failed)(struct srnic_ep *ep, struct iw_cm_event *event);
	void (*closed)(struct srnic_ep *ep, int err);
	bool waits;
	bool as_infiniband;
	int (*bind)(struct srnic_ep *ep, struct socket *sock);
};

/*
 * An endpoint: a connection or a listener.
 *
 * Lifetime: @ref counts one for the endpoint being in any state except CLOSED,
 * one for @work while it is queued, one for a QP claimed or attached (that is,
 * for the argument of the llp_ops), and one for each lookup by @handle. A
 * half-open connection holds its listener. Callbacks of the socket need no
 * reference: the stream is unhooked before the reference of the state is dropped.
 *
 * @cm_id: a reference (add_ref) is held until the last event is delivered
 * @qp: held and claimed from connect() or accept() to the end of set-up, and
 *	not longer: destroy_qp waits for it
 *
 * iwcm knows passive endpoints by @handle and not by address. It may drop a
 * CONNECT_REQUEST without accept() or reject(), so an endpoint must not wait
 * for these without a bound, and they may come when the endpoint is gone.
 *
 * Lock order: @lock of a listener, @lock of its child, @half_lock, then locks
 * of iwcm. No callback from the socket or the QP takes @lock: they queue @work,
 * those of the QP with a flag set. @lock is held over srnic_qp_attach() and over events, so
 * CLOSE, which the work sends, comes after ESTABLISHED or CONNECT_REPLY.
 */
struct srnic_ep {
	struct kref ref;

	/* immutable after creation */
	const struct srnic_ep_ops *ops;
	struct srnic_device *dev;	/* held */
	struct srnic_user *user;	/* held: the work has its credentials and memory cgroup */
	u32 handle;
	struct srnic_policy policy;	/* copied at creation */
	unsigned long born;		/* jiffies */

	/* messages to the work */
	struct delayed_work work;
	unsigned long flags;		/* SRNIC_EPF_* */
	int close_err;			/* valid with SRNIC_EPF_GONE */

	/* lock */
	struct mutex lock;
	enum srnic_ep_state state;
	unsigned long deadline;		/* jiffies; 0: none */
	struct srnic_stream *stream;	/* owned until it is attached */
	struct iw_cm_id *cm_id;		/* iw_cm only */
	struct srnic_pair *pair;	/* rendezvous only: held by an attempt */
	bool itself;			/* ... of a QP that is its own peer */
	struct srnic_qp *qp;
	u32 qpn;			/* of @qp, also after it is released */
	bool no_events;			/* iwcm gets no more events */
	struct sockaddr_storage local;
	struct sockaddr_storage remote;

	/* lock: MPA start-up */
	struct mpa_hello req;
	struct mpa_hello reply;
	bool send_imm;			/* both ends offer RDMAP_SEND_IMM */
	bool acks;			/* both ends offer RDMAP_ACK */
	bool placement;			/* ... and RDMAP_FLUSH, RDMAP_ATOMIC_WRITE */
	bool large_fpdus;		/* both ends offer FPDUs of several TCP segments */
	u32 got;			/* octets in @frame */
	u32 want;			/* octets of the frame, as far as known */
	u8 frame[MPA_MAX_HELLO];

	/* lock: active side, requested by the ULP */
	u8 rev;
	u16 ird;
	u16 ord;
	u16 pd_len;
	void *pdata;

	/* listener: immutable once SRNIC_EPF_LISTENS is set; active side */
	u64 net;			/* cookie of the caller's network namespace */
	int backlog;

	/* passive side, while half-open; the listener's half_lock */
	struct srnic_ep *listener;	/* held */
	struct list_head sibling;

	/* lock: listener */
	int wait_err;			/* the error because of which there is no socket */

	/* half_lock: listener; also serializes CONNECT_REQUEST with its end */
	spinlock_t half_lock;
	struct list_head half_open;	/* oldest first */
	u32 num_half;
	u32 max_half;
	bool stopped;			/* no more events */
};

/* cm.c */
extern const struct srnic_ep_ops srnic_iw_ops;
struct srnic_ep *srnic_ep_new(struct srnic_device *dev, struct srnic_user *user,
			      const struct srnic_ep_ops *ops);
u64 srnic_cm_net(const struct iw_cm_id *id);
struct srnic_ep *srnic_ep_next(const struct srnic_device *dev, unsigned long *handle);
struct srnic_ep *srnic_ep_find(const struct iw_cm_id *id);
void srnic_ep_put(struct srnic_ep *ep);
bool srnic_cm_queue(struct workqueue_struct *wq, struct delayed_work *work, struct kref *ref,
		    unsigned long delay);
void srnic_ep_kick(struct srnic_ep *ep);
void srnic_ep_note(struct srnic_ep *ep, const char *event, int status);
void srnic_ep_fate(struct srnic_ep *ep, enum srnic_counter counter, int status);
void srnic_ep_notify(struct srnic_ep *ep, int flag);
void srnic_ep_deadline(struct srnic_ep *ep, unsigned int ms);
void srnic_ep_deadline_s(struct srnic_ep *ep, unsigned int seconds);
bool srnic_ep_expired(const struct srnic_ep *ep);
bool srnic_ep_unwanted(const struct srnic_ep *ep);
void srnic_ep_await(struct srnic_ep *ep);
void srnic_ep_adopt(struct srnic_ep *ep, struct srnic_stream *stream);
void srnic_ep_linger(struct srnic_ep *ep);
void srnic_ep_close(struct srnic_ep *ep, bool abort);
void srnic_ep_drop_stream(struct srnic_ep *ep, bool abort);
int srnic_ep_claim(struct srnic_ep *ep, const struct iw_cm_id *id, u32 qpn);
void srnic_ep_unclaim(struct srnic_ep *ep);
int srnic_ep_attach(struct srnic_ep *ep, bool initiator,
		    const struct mpa_result *mpa, u32 last_len);

/* cm_active.c */
int srnic_cm_connect(struct iw_cm_id *id, struct iw_cm_conn_param *param);
int srnic_ep_connect(struct srnic_ep *ep);
int srnic_iw_established(struct srnic_ep *ep, const struct mpa_result *mpa);
void srnic_iw_failed(struct srnic_ep *ep, struct iw_cm_event *event);
void srnic_ep_run_active(struct srnic_ep *ep);

/* cm_listen.c */
int srnic_cm_listen(struct iw_cm_id *id, int backlog);
int srnic_cm_destroy_listen(struct iw_cm_id *id);
int srnic_ep_listen(struct srnic_ep *ep);
void srnic_ep_unlisten(struct srnic_ep *ep);
void srnic_iw_request(struct srnic_ep *ep);
bool srnic_ep_v6only(const struct srnic_ep *ep);
void srnic_ep_set_tos(struct socket *sock, const struct iw_cm_id *id);
void srnic_ep_leave(struct srnic_ep *ep);
void srnic_ep_run_listener(struct srnic_ep *ep);
void srnic_ep_run_passive(struct srnic_ep *ep);

/* cm_mpa.c */
int srnic_ep_send_request(struct srnic_ep *ep);
int srnic_ep_read_hello(struct srnic_ep *ep, enum mpa_role role,
			struct mpa_hello *hello);
int srnic_ep_probe(struct srnic_ep *ep);
u32 srnic_ep_put_reply(struct srnic_ep *ep, const struct mpa_hello *reply,
		       const void *pdata, u32 pd_len);
void srnic_ep_refuse(struct srnic_ep *ep, const void *pdata, u32 pd_len);
void srnic_ep_terminate(struct srnic_ep *ep, enum rdmap_err err);
bool srnic_ep_pdata(struct srnic_ep *ep, const struct mpa_hello *hello,
		    struct iw_cm_event *event);
u8 srnic_ep_event_depth(u16 depth, u16 own);

#endif
