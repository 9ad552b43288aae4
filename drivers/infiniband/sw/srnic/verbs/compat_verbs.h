/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * verbs.c has the methods as the newest kernel declares them. These wrappers have the
 * prototypes of older kernels. verbs.c includes this file before its table.
 */

#ifndef SRNIC_HAVE_CREATE_CQ_ATTRS
static int compat_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
			    struct ib_udata *udata)
{
	return srnic_create_cq(ibcq, attr,
			       udata ? rdma_udata_to_uverbs_attr_bundle(udata) : NULL);
}

#define srnic_create_cq compat_create_cq
#endif

#ifndef SRNIC_HAVE_RESIZE_USER_CQ
static int compat_resize_cq(struct ib_cq *ibcq, int cqe, struct ib_udata *udata)
{
	return srnic_resize_cq(ibcq, cqe, udata);
}

#define srnic_resize_cq compat_resize_cq
#define resize_user_cq resize_cq
#endif

#ifndef SRNIC_HAVE_REG_MR_DMAH
static struct ib_mr *compat_reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 iova,
					int access, struct ib_udata *udata)
{
	return srnic_reg_user_mr(pd, start, length, iova, access, NULL, udata);
}

#define srnic_reg_user_mr compat_reg_user_mr
#endif

#ifndef SRNIC_HAVE_REG_DMABUF_DMAH
#ifdef SRNIC_HAVE_REG_DMABUF_ATTRS
#define COMPAT_DMABUF_ATTRS	struct uverbs_attr_bundle *attrs
#else
#define COMPAT_DMABUF_ATTRS	struct ib_udata *udata
#endif
static struct ib_mr *compat_reg_user_mr_dmabuf(struct ib_pd *pd, u64 offset, u64 length,
					       u64 iova, int fd, int access,
					       COMPAT_DMABUF_ATTRS)
{
#ifndef SRNIC_HAVE_REG_DMABUF_ATTRS
	struct uverbs_attr_bundle *attrs = rdma_udata_to_uverbs_attr_bundle(udata);
#endif

	return srnic_reg_user_mr_dmabuf(pd, offset, length, iova, fd, access, NULL, attrs);
}

#define srnic_reg_user_mr_dmabuf compat_reg_user_mr_dmabuf
#endif
