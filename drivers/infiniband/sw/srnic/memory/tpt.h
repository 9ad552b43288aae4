/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * TPT: the translation and protection table. One table has all STags of a
 * device, of regions (mr.c) and of windows (mw.c).
 */
#ifndef SRNIC_TPT_H
#define SRNIC_TPT_H

#include <linux/percpu.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>
#include "queue/event.h"

struct dma_buf;
struct srnic_device;
struct srnic_odp;
struct srnic_qp;
struct srnic_sge;

#define SRNIC_STAG_KEY_BITS	8
#define SRNIC_STAG_INDEX(stag)	((stag) >> SRNIC_STAG_KEY_BITS)
#define SRNIC_MAX_STAG_INDEX	((1U << 24) - 1)

/* Rights that an access needs; bits of struct srnic_tpte.rights */
#define SRNIC_LOCAL_READ	1
#define SRNIC_LOCAL_WRITE	2
#define SRNIC_REMOTE_READ	4
#define SRNIC_REMOTE_WRITE	8
#define SRNIC_REMOTE_ATOMIC	16
#define SRNIC_READ_SINK		32	/* data of our own Reads may be placed */
/* Properties of a region that a bind checks; an access needs neither */
#define SRNIC_BINDABLE		64	/* windows may be bound to it (MR-40) */
#define SRNIC_ZERO_BASED	128	/* registered with IB_ZERO_BASED: its TOs start with 0 */
/* A peer may flush what it has written */
#define SRNIC_FLUSH_GLOBAL	256
#define SRNIC_FLUSH_PERSISTENT	512	/* no region has it */
/* The rights that a Query reports; the others are internal */
#define SRNIC_QUERY_RIGHTS	(SRNIC_LOCAL_READ | SRNIC_LOCAL_WRITE | SRNIC_REMOTE_RIGHTS | \
				 SRNIC_BINDABLE | SRNIC_ZERO_BASED | SRNIC_FLUSH_GLOBAL)
#define SRNIC_REMOTE_RIGHTS	(SRNIC_REMOTE_READ | SRNIC_REMOTE_WRITE | SRNIC_REMOTE_ATOMIC)

enum srnic_stag_type {
	SRNIC_STAG_USER,	/* region of user memory, pinned or paged on demand */
	SRNIC_STAG_DMA,		/* region of all kernel memory, TO is the kernel address */
	SRNIC_STAG_FAST_REG,	/* region whose memory a fast-register WR sets */
	SRNIC_STAG_WINDOW,	/* window on a region, of one QP while Valid (verbs: type 2B) */
	SRNIC_STAG_PD_WINDOW,	/* window on a region, of all of its PD (verbs: type 1) */
};

/* Errors of an access, in the order of the checks */
enum srnic_tpt_err {
	SRNIC_TPT_OK,
	SRNIC_TPT_STAG,		/* unknown, wrong key, Invalid state */
	SRNIC_TPT_PD,		/* other PD, or bound to another QP */
	SRNIC_TPT_ACCESS,	/* right missing */
	SRNIC_TPT_WRAP,		/* TO + length wraps 2^64 */
	SRNIC_TPT_BOUNDS,	/* outside of the region */
	SRNIC_TPT_SLEEPS,	/* no error: a caller that may sleep has to repeat the access */
};

/* Errors of an invalidation (MR-32, MR-33) */
enum srnic_inv_err {
	SRNIC_INV_OK,
	SRNIC_INV_STAG,		/* unknown, or Valid with another key */
	SRNIC_INV_PD,		/* other PD, or bound to another QP */
	SRNIC_INV_ACCESS,	/* cannot be invalidated at all, or not by a peer */
	SRNIC_INV_BOUND,	/* windows are bound to the region */
	SRNIC_INV_COUNT,
	SRNIC_INV_BUSY = SRNIC_INV_COUNT,	/* no error: accesses are in progress */
};

/**
 * struct srnic_pbl - physical buffer list: a page list, or a block list (RDMAC verbs 7.6.2)
 * @shift: log2 of the page size in bytes; 0: a block list
 * @count: entries in use
 * @max: entries allocated
 * @modulus: of a list that is registered: the TO and the offset in the list of a region's first
 *	     octet are equal modulo this (MR-08)
 * @dmabuf: the DMA buffer that the memory belongs to; its exporter is notified of each
 *	    access. NULL for other memory
 * @odp: the memory is paged on demand: offsets in the list are user addresses, and there are no
 *	 entries. NULL for other memory
 * @ends: of a block list: octets of the list up to the end of each block; blocks have any size,
 *	  at any address (MR-12). NULL for a page list
 * @addr: kernel address of each page or block
 */
struct srnic_pbl {
	u32 shift;
	u32 count;
	u32 max;
	u32 modulus;
	struct dma_buf *dmabuf;
	struct srnic_odp *odp;
	u64 *ends;
	u64 addr[];
};

/**
 * struct srnic_tpt_users - accesses in progress
 * @lock: protects @count; innermost, taken in softirq, too
 * @count: accesses
 */
struct srnic_tpt_users {
	spinlock_t lock;	/* see above */
	unsigned int count;
};

/**
 * struct srnic_tpte - entry of the TPT, embedded in the region or window
 * @dev: its device
 * @type: fixed at creation
 * @users: accesses in progress, if not @cpu_users
 * @cpu_users: accesses in progress, counted on the CPU on which they began, for entries that
 *	       many QPs use; or NULL
 * @lock: protects what follows, except as srnic_tpte_validate() says; taken in softirq, too
 * @stag: full STag
 * @valid: Valid state; in Invalid state no access is possible
 * @shared: of a region: other regions have the same memory, so it stays Valid (MR-29)
 * @rights: SRNIC_LOCAL_READ ...; of a region also SRNIC_BINDABLE, SRNIC_ZERO_BASED
 * @pd: protection domain
 * @qpn: the one QP that may use it, 0 if all of the PD may
 * @base: TO of the first octet
 * @length: octets
 * @pbl: the memory; NULL for all of the kernel's. Replaced only while the entry is Invalid
 *	 and has no users
 * @off: offset of the first octet from the start of @pbl
 * @holds: callers between srnic_tpt_hold() and srnic_tpt_release(); an invalidation is one, too
 * @idle: tasks that wait for accesses in progress, or @holds, to end
 * @windows: of a region: windows bound to it
 */
struct srnic_tpte {
	struct srnic_device *dev;
	enum srnic_stag_type type;
	struct srnic_tpt_users users;
	struct srnic_tpt_users __percpu *cpu_users;

	spinlock_t lock;	/* see above */
	u32 stag;
	bool valid;
	bool shared;
	u16 rights;
	struct ib_pd *pd;
	u32 qpn;
	u64 base;
	u64 length;
	struct srnic_pbl *pbl;
	u64 off;
	unsigned int holds;
	wait_queue_head_t idle;
	unsigned int windows;
};

/**
 * struct srnic_access - an access to check
 * @stag: all 32 bits
 * @to: tagged offset of the first octet
 * @length: octets; not zero (a zero-length access needs no check, MR-19), but srnic_tpt_test()
 * @need: rights, SRNIC_LOCAL_READ ...
 * @pd: PD of the QP (or SRQ)
 * @qpn: number of the QP that makes the access
 * @privileged: STag 0, all kernel memory, is allowed (MM-08, MM-09)
 * @nowait: the caller may not sleep
 * @nofault: the caller waits for no page that is paged on demand
 */
struct srnic_access {
	u32 stag;
	u64 to;
	u64 length;
	u16 need;
	struct ib_pd *pd;
	u32 qpn;
	bool privileged;
	bool nowait;
	bool nofault;
};

/* Rights of accesses that write */
#define SRNIC_WRITE_RIGHTS \
	(SRNIC_LOCAL_WRITE | SRNIC_REMOTE_WRITE | SRNIC_REMOTE_ATOMIC | SRNIC_READ_SINK)

/**
 * struct srnic_span - memory of an access that passed its check
 * @tpte: kept until srnic_tpt_put(); NULL for STag 0
 * @users: where the access is counted
 * @pbl: as in the entry
 * @off: offset of the access's first octet in @pbl, or its kernel address
 * @left: octets from there to the end of the region or window
 * @write: the access may write
 * @nofault: a page that is paged on demand, and not here, is not taken in
 */
struct srnic_span {
	struct srnic_tpte *tpte;
	struct srnic_tpt_users *users;
	const struct srnic_pbl *pbl;
	u64 off;
	u64 left;
	bool write;
	bool nofault;
};

/**
 * typedef srnic_span_fn - looks at a piece of the memory of an access, or changes it
 * @ctx: as passed to srnic_span_visit()
 * @at: kernel address of the piece, which is contiguous
 * @len: its octets
 *
 * Context: must not sleep.
 */
typedef void (*srnic_span_fn)(void *ctx, void *at, u32 len);

/**
 * struct srnic_sge_walk - a walk over a part of an SGE list
 * @sge: the current SGE
 * @off: its bytes before the next piece
 * @left: bytes of the part behind the current piece
 * @rest: bytes of @sge from the current piece on
 * @acc: the access to the current piece
 */
struct srnic_sge_walk {
	const struct srnic_sge *sge;
	u32 off;
	u32 left;
	u32 rest;
	struct srnic_access acc;
};

static inline bool srnic_tpte_is_window(const struct srnic_tpte *tpte)
{
	return tpte->type == SRNIC_STAG_WINDOW || tpte->type == SRNIC_STAG_PD_WINDOW;
}

/**
 * srnic_tpte_validate - make an entry Valid
 * @tpte: Invalid and not in use, all that an access reads is set; its lock is held, or
 *	  it is not in the table yet
 *
 * An access reads the entry under the lock of its users only. To change what an access
 * reads, make the entry Invalid first, and then wait until srnic_tpt_in_use() is false.
 */
static inline void srnic_tpte_validate(struct srnic_tpte *tpte)
{
	/* pairs with srnic_tpt_check() */
	smp_store_release(&tpte->valid, true);
}

enum srnic_tpt_err srnic_tpt_check(const struct srnic_tpte *tpte,
				   const struct srnic_access *acc);
enum srnic_tpt_err srnic_tpt_test(struct srnic_device *dev, const struct srnic_access *acc);
enum srnic_tpt_err srnic_tpt_get(struct srnic_device *dev,
				 const struct srnic_access *acc,
				 struct srnic_span *span);
void srnic_tpt_put(struct srnic_span *span);
void srnic_tpt_take_in(struct srnic_device *dev, const struct srnic_access *acc);
void *srnic_span_addr(const struct srnic_span *span, u64 at, u32 *len);
enum srnic_tpt_err srnic_span_read(const struct srnic_span *span, u64 at, void *dst, u32 len);
enum srnic_tpt_err srnic_span_write(const struct srnic_span *span, u64 at, const void *src,
				    u32 len);
enum srnic_tpt_err srnic_span_visit(const struct srnic_span *span, u64 at, u32 len,
				    srnic_span_fn fn, void *ctx);
struct srnic_sge_walk srnic_sge_walk(const struct srnic_qp *qp, struct ib_pd *pd, u8 need,
				     const struct srnic_sge *sge, u32 off, u32 len);
bool srnic_sge_next(struct srnic_sge_walk *walk);
enum srnic_wc_status srnic_tpt_wc_status(enum srnic_tpt_err err);
enum rdmap_err srnic_tpt_tagged_err(enum srnic_tpt_err err);
enum rdmap_err srnic_tpt_read_err(enum srnic_tpt_err err);
enum rdmap_err srnic_tpt_atomic_err(enum srnic_tpt_err err);

void srnic_tpte_init(struct srnic_tpte *tpte, struct ib_pd *pd, enum srnic_stag_type type);
void srnic_tpte_spread(struct srnic_tpte *tpte);
bool srnic_tpt_in_use(struct srnic_tpte *tpte);
int srnic_tpt_insert(struct srnic_tpte *tpte);
int srnic_tpt_insert_drawn(struct srnic_tpte *tpte, u32 (*draw)(void));
int srnic_tpt_remove(struct srnic_tpte *tpte);
struct srnic_tpte *srnic_tpt_find(struct srnic_device *dev, u32 stag);
void srnic_tpt_quiesce(struct srnic_tpte *tpte);
int srnic_tpt_suspend(struct srnic_tpte *tpte);
bool srnic_tpt_hold(struct srnic_tpte *tpte);
void srnic_tpt_release(struct srnic_tpte *tpte);

enum srnic_inv_err srnic_tpt_invalidate(struct srnic_qp *qp, u32 stag, bool remote);
enum srnic_inv_err srnic_tpt_try_invalidate(struct srnic_qp *qp, u32 stag, bool remote);
enum srnic_wc_status srnic_inv_wc_status(enum srnic_inv_err err);
enum srnic_wc_status srnic_inv_recv_status(enum srnic_inv_err err);
enum rdmap_err srnic_inv_remote_err(enum srnic_inv_err err);

/*
 * May an access outlast its copy? The exporter of a DMA buffer is told of its end before a
 * completion tells the program, which may let its device read the buffer then.
 */
static inline bool srnic_span_may_stay(const struct srnic_span *span)
{
	return !span->pbl || !span->pbl->dmabuf;
}

#endif
