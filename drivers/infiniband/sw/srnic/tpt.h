/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * TPT: the translation and protection table. One table for all STags of a
 * device, whatever made them (user MR, DMA MR, fast-register MR).
 */
#ifndef SRNIC_TPT_H
#define SRNIC_TPT_H

#include <linux/completion.h>
#include <linux/refcount.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>
#include "event.h"

struct srnic_device;

#define SRNIC_STAG_KEY_BITS	8
#define SRNIC_STAG_INDEX(stag)	((stag) >> SRNIC_STAG_KEY_BITS)
#define SRNIC_MAX_STAG_INDEX	((1U << 24) - 1)

/* What an access needs; bits of struct srnic_mr.rights */
#define SRNIC_LOCAL_READ	1
#define SRNIC_LOCAL_WRITE	2
#define SRNIC_REMOTE_READ	4
#define SRNIC_REMOTE_WRITE	8

enum srnic_mr_type {
	SRNIC_MR_USER,		/* pinned user memory */
	SRNIC_MR_DMA,		/* all kernel memory, TO is the kernel address */
	SRNIC_MR_FAST_REG,	/* memory set by a fast-register WR */
};

/* What is wrong with an access, in the order in which it is checked */
enum srnic_tpt_err {
	SRNIC_TPT_OK,
	SRNIC_TPT_STAG,		/* unknown, wrong key, Invalid state */
	SRNIC_TPT_PD,		/* other PD, or bound to another QP */
	SRNIC_TPT_ACCESS,	/* right missing */
	SRNIC_TPT_WRAP,		/* TO + length wraps 2^64 */
	SRNIC_TPT_BOUNDS,	/* outside of the region */
};

/**
 * struct srnic_pbl - physical buffer list: equal blocks of memory
 * @shift: log2 of the block size in bytes
 * @count: entries in use
 * @max: entries there is room for
 * @addr: kernel address of each block
 */
struct srnic_pbl {
	u32 shift;
	u32 count;
	u32 max;
	u64 addr[];
};

/**
 * struct srnic_mr - a memory region, entry of the TPT
 * @ibmr: the verbs object; lkey and rkey are the STag
 * @dev: its device
 * @type: fixed at creation
 * @ref: one for the table, one for each access in progress
 * @idle: completed when @ref drops to zero
 * @rcu: frees the memory after lookups are over
 * @stag: full STag. With @valid, @rights, @base, @length: changed by
 *	  fast-register and invalidate only, see tpt.c
 * @valid: Valid state; in Invalid state no access is possible
 * @rights: SRNIC_LOCAL_READ ...
 * @base: TO of the first octet
 * @length: octets
 * @fbo: first byte offset: where the region starts in the first block
 * @pbl: NULL for SRNIC_MR_DMA
 * @umem: pinned user memory or NULL
 */
struct srnic_mr {
	struct ib_mr ibmr;
	struct srnic_device *dev;
	enum srnic_mr_type type;
	refcount_t ref;
	struct completion idle;
	struct rcu_head rcu;

	u32 stag;
	bool valid;
	u8 rights;
	u64 base;
	u64 length;
	u64 fbo;
	struct srnic_pbl *pbl;
	struct ib_umem *umem;
};

/**
 * struct srnic_access - an access to check
 * @stag: all 32 bits
 * @to: tagged offset of the first octet
 * @length: octets; not zero (a zero-length access needs no check, MR-19)
 * @need: rights, SRNIC_LOCAL_READ ...
 * @pd: PD of the QP (or SRQ)
 * @qpn: QP the access is made on
 * @privileged: STag 0, all kernel memory, is allowed (MM-08, MM-09)
 */
struct srnic_access {
	u32 stag;
	u64 to;
	u64 length;
	u8 need;
	struct ib_pd *pd;
	u32 qpn;
	bool privileged;
};

static inline struct srnic_mr *to_srnic_mr(struct ib_mr *ibmr)
{
	return container_of(ibmr, struct srnic_mr, ibmr);
}

enum srnic_tpt_err srnic_tpt_check(const struct srnic_mr *mr,
				   const struct srnic_access *acc);
enum srnic_tpt_err srnic_tpt_get(struct srnic_device *dev,
				 const struct srnic_access *acc,
				 struct srnic_mr **mr);
void srnic_tpt_put(struct srnic_mr *mr);
void *srnic_tpt_addr(const struct srnic_mr *mr, u64 to, u32 *len);
enum srnic_wc_status srnic_tpt_wc_status(enum srnic_tpt_err err);
enum rdmap_err srnic_tpt_tagged_err(enum srnic_tpt_err err);
enum rdmap_err srnic_tpt_read_err(enum srnic_tpt_err err);
enum rdmap_err srnic_tpt_invalidate_remote(struct srnic_device *dev, u32 stag);

struct ib_mr *srnic_tpt_reg_user(struct ib_pd *pd, u64 start, u64 length,
				 u64 iova, int access);
struct ib_mr *srnic_tpt_get_dma(struct ib_pd *pd, int access);
int srnic_tpt_dereg(struct ib_mr *ibmr);

#endif
