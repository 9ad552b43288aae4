/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Memory regions: registration, reregistration and deregistration. */
#ifndef SRNIC_MR_H
#define SRNIC_MR_H

#include <rdma/srnic-abi.h>
#include "compat.h"
#include "memory/dmabuf.h"
#include "memory/tpt.h"

struct srnic_dm;
struct srnic_shared;

/* The IB_ACCESS_* that regions take */
#define SRNIC_MR_ACCESS (IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
			 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC | \
			 IB_ACCESS_FLUSH_GLOBAL | IB_ACCESS_MW_BIND | IB_ZERO_BASED | \
			 IB_ACCESS_OPTIONAL)
/*
 * Regions of user memory also take these, where the kernel has on-demand paging. Huge pages are
 * paged like others.
 */
#define SRNIC_USER_MR_ACCESS (SRNIC_MR_ACCESS |						\
			      (IS_ENABLED(CONFIG_INFINIBAND_ON_DEMAND_PAGING) ?		\
			       IB_ACCESS_ON_DEMAND | IB_ACCESS_HUGETLB : 0))

/**
 * struct srnic_mr - a memory region
 * @ibmr: the verbs object; lkey and rkey are the STag
 * @tpte: its entry in the TPT, with the PBL
 * @rcu: frees the memory after lookups are over
 * @umem: pinned user memory or NULL
 * @on_demand: registered as memory that is paged on demand
 * @shared: owns the memory and the PBL of a shared region; else NULL
 * @dmabuf: mapped DMA buffer or none
 * @next: fast-register: PBL for the next WR, which exchanges it with that of @tpte
 * @mapped: @next was set since the last WR; if not, the next WR registers the same memory again
 * @native_status: set by rnicpi.ko: the next WR fails with it. scripts/in-tree drops it
 * @native_local: set by rnicpi.ko: without the Remote Access Flag (MR-04). Dropped, too
 * @fbo: offset of the memory that was mapped last in its list
 */
struct srnic_mr {
	struct ib_mr ibmr;
	struct srnic_tpte tpte;
	struct rcu_head rcu;
	struct ib_umem *umem;
	bool on_demand;
	struct srnic_shared *shared;
	struct srnic_dmabuf dmabuf;
	struct srnic_pbl *next;
	bool mapped;
	enum srnic_wc_status native_status;
	bool native_local;
	u64 fbo;
};

static inline struct srnic_mr *to_srnic_mr(struct ib_mr *ibmr)
{
	return container_of(ibmr, struct srnic_mr, ibmr);
}

/* mr.c */
u16 srnic_access_to_rights(int access);
struct ib_mr *srnic_mr_reg_user(struct ib_pd *pd, u64 start, u64 length,
				u64 iova, int access);
struct ib_mr *srnic_mr_reg_dmabuf(struct ib_pd *pd, int fd, u64 offset, u64 length,
				  u64 iova, int access);
struct ib_mr *srnic_mr_reg_dm(struct ib_pd *pd, struct srnic_dm *dm, u64 offset, u64 length,
			      int access);
struct ib_mr *srnic_mr_reg_shared(struct ib_pd *pd, struct ib_mr *source, u64 iova, int access);
int srnic_mr_rereg(struct ib_mr *ibmr, int flags, u64 start, u64 length,
		   u64 iova, int access, struct ib_pd *pd);
int srnic_mr_set_key(struct ib_mr *ibmr, u8 key);
struct ib_mr *srnic_mr_get_dma(struct ib_pd *pd, int access);
struct ib_mr *srnic_mr_alloc(struct ib_pd *pd, enum ib_mr_type type, u32 max_sg);
int srnic_mr_dereg(struct ib_mr *ibmr);
int srnic_mr_advise(struct ib_pd *pd, enum ib_uverbs_advise_mr_advice advice, u32 flags,
		    struct ib_sge *sge, u32 count, struct uverbs_attr_bundle *attrs);

/* mr_fast.c */
void srnic_mr_begin(struct srnic_mr *mr, u32 modulus, u64 fbo);
int srnic_mr_add(struct srnic_mr *mr, u64 addr, u64 length);
int srnic_mr_map_sg(struct ib_mr *ibmr, struct scatterlist *sg, int n,
		    unsigned int *offset);
enum srnic_wc_status srnic_mr_fast_register(struct srnic_qp *qp,
					    const struct srnic_sqe *sqe);
enum srnic_wc_status srnic_mr_register(struct srnic_mr *mr, u32 stag, const struct ib_pd *pd,
				       u64 iova, u64 length, int access);

#endif
