// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * srnic: device, context and memory regions.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "join.h"
#include "srnic.h"

static void srnic_free_context(struct ibv_context *ibctx);

static int srnic_query_device_ex(struct ibv_context *ibctx,
				 const struct ibv_query_device_ex_input *input,
				 struct ibv_device_attr_ex *attr,
				 size_t attr_size)
{
	struct ib_uverbs_ex_query_device_resp resp;
	size_t resp_size = sizeof(resp);
	uint64_t ver;
	int ret;

	ret = ibv_cmd_query_device_any(ibctx, input, attr, attr_size, &resp,
				       &resp_size);
	if (ret)
		return ret;

	ver = resp.base.fw_ver;
	snprintf(attr->orig_attr.fw_ver, sizeof(attr->orig_attr.fw_ver),
		 "%" PRIu64 ".%" PRIu64 ".%" PRIu64, ver >> 32,
		 (ver >> 16) & 0xffff, ver & 0xffff);
	return 0;
}

static int srnic_query_port(struct ibv_context *ibctx, uint8_t port,
			    struct ibv_port_attr *attr)
{
	struct ibv_query_port cmd = {};

	return ibv_cmd_query_port(ibctx, port, attr, &cmd, sizeof(cmd));
}

static struct ibv_mr *srnic_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
				   uint64_t hca_va, int access)
{
	struct ib_uverbs_reg_mr_resp resp = {};
	struct ibv_reg_mr cmd = {};
	struct verbs_mr *vmr;
	int ret;

	vmr = calloc(1, sizeof(*vmr));
	if (!vmr)
		return NULL;

	ret = ibv_cmd_reg_mr(pd, addr, length, hca_va, access, vmr, &cmd,
			     sizeof(cmd), &resp, sizeof(resp));
	if (ret) {
		free(vmr);
		errno = ret;
		return NULL;
	}
	return &vmr->ibv_mr;
}

/*
 * Does not call libibverbs' function for this: its arguments differ between versions
 * with the same ABI number.
 */
static struct ibv_mr *srnic_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length,
					  uint64_t iova, int fd, int access)
{
	DECLARE_COMMAND_BUFFER(cmdb, UVERBS_OBJECT_MR, UVERBS_METHOD_REG_DMABUF_MR, 9);
	struct ib_uverbs_attr *handle;
	struct verbs_mr *vmr;
	int ret;

	vmr = calloc(1, sizeof(*vmr));
	if (!vmr)
		return NULL;

	handle = fill_attr_out_obj(cmdb, UVERBS_ATTR_REG_DMABUF_MR_HANDLE);
	fill_attr_out_ptr(cmdb, UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, &vmr->ibv_mr.lkey);
	fill_attr_out_ptr(cmdb, UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY, &vmr->ibv_mr.rkey);
	fill_attr_in_obj(cmdb, UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE, pd->handle);
	fill_attr_in_uint64(cmdb, UVERBS_ATTR_REG_DMABUF_MR_OFFSET, offset);
	fill_attr_in_uint64(cmdb, UVERBS_ATTR_REG_DMABUF_MR_LENGTH, length);
	fill_attr_in_uint64(cmdb, UVERBS_ATTR_REG_DMABUF_MR_IOVA, iova);
	fill_attr_in_uint32(cmdb, UVERBS_ATTR_REG_DMABUF_MR_FD, fd);
	fill_attr_in_uint32(cmdb, UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS, access);
	ret = execute_ioctl(pd->context, cmdb);
	if (ret) {
		free(vmr);
		return NULL;
	}
	vmr->ibv_mr.handle = read_attr_obj(UVERBS_ATTR_REG_DMABUF_MR_HANDLE, handle);
	vmr->ibv_mr.context = pd->context;
	vmr->ibv_mr.pd = pd;
	vmr->ibv_mr.addr = (void *)(uintptr_t)offset;
	vmr->ibv_mr.length = length;
	vmr->mr_type = IBV_MR_TYPE_DMABUF_MR;
	return &vmr->ibv_mr;
}

/* In place: the lkey does not change, and the address only if the caller asks for it */
static int srnic_rereg_mr(struct verbs_mr *vmr, int flags, struct ibv_pd *pd,
			  void *addr, size_t length, int access)
{
	struct ib_uverbs_rereg_mr_resp resp = {};
	struct ibv_rereg_mr cmd = {};
	int ret;

	ret = ibv_cmd_rereg_mr(vmr, flags, addr, length, (uintptr_t)addr, access,
			       pd, &cmd, sizeof(cmd), &resp, sizeof(resp));
	if (ret)
		errno = ret;
	return ret;
}

static int srnic_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice,
			   uint32_t flags, struct ibv_sge *sges, uint32_t num_sge)
{
	int ret = ibv_cmd_advise_mr(pd, advice, flags, sges, num_sge);

	/* the kernel has no on-demand paging */
	return ret == EPROTONOSUPPORT ? EOPNOTSUPP : ret;
}

static int srnic_dereg_mr(struct verbs_mr *vmr)
{
	int ret = ibv_cmd_dereg_mr(vmr);

	if (!ret)
		free(vmr);
	return ret;
}

/* Imports a region of another context of the same opened device */
static struct ibv_mr *srnic_import_mr(struct ibv_pd *pd, uint32_t handle)
{
	struct verbs_mr *vmr;
	int ret;

	vmr = calloc(1, sizeof(*vmr));
	if (!vmr)
		return NULL;

	ret = ibv_cmd_query_mr(pd, vmr, handle);
	if (ret) {
		free(vmr);
		errno = ret;
		return NULL;
	}
	return &vmr->ibv_mr;
}

static void srnic_unimport_mr(struct ibv_mr *mr)
{
	free(container_of(mr, struct verbs_mr, ibv_mr));
}

static const struct verbs_context_ops srnic_ctx_ops = {
	.advise_mr = srnic_advise_mr,
	.alloc_dm = srnic_alloc_dm,
	.alloc_mw = srnic_alloc_mw,
	.alloc_parent_domain = srnic_alloc_parent_domain,
	.alloc_pd = srnic_alloc_pd,
	.alloc_td = srnic_alloc_td,
	.bind_mw = srnic_bind_mw,
	.create_ah = srnic_create_ah,
	.create_cq = srnic_create_cq,
	.create_cq_ex = srnic_create_cq_ex,
	.create_qp = srnic_create_qp,
	.create_qp_ex = srnic_create_qp_ex,
	.create_srq = srnic_create_srq,
	.create_srq_ex = srnic_create_srq_ex,
	.dealloc_mw = srnic_dealloc_mw,
	.dealloc_pd = srnic_dealloc_pd,
	.dealloc_td = srnic_dealloc_td,
	.dereg_mr = srnic_dereg_mr,
	.destroy_ah = srnic_destroy_ah,
	.destroy_cq = srnic_destroy_cq,
	.destroy_qp = srnic_destroy_qp,
	.destroy_srq = srnic_destroy_srq,
	.free_context = srnic_free_context,
	.free_dm = srnic_free_dm,
	.import_dm = srnic_import_dm,
	.import_mr = srnic_import_mr,
	.import_pd = srnic_import_pd,
	.modify_qp = srnic_modify_qp,
	.modify_srq = srnic_modify_srq,
	.poll_cq = srnic_poll_cq,
	.post_recv = srnic_post_recv,
	.post_send = srnic_post_send,
	.post_srq_recv = srnic_post_srq_recv,
	.query_device_ex = srnic_query_device_ex,
	.query_port = srnic_query_port,
	.query_qp = srnic_query_qp,
	.query_rt_values = srnic_query_rt_values,
	.query_srq = srnic_query_srq,
	.reg_dm_mr = srnic_reg_dm_mr,
	.reg_dmabuf_mr = srnic_reg_dmabuf_mr,
	.reg_mr = srnic_reg_mr,
	.rereg_mr = srnic_rereg_mr,
	.req_notify_cq = srnic_req_notify_cq,
	.resize_cq = srnic_resize_cq,
	.unimport_dm = srnic_unimport_dm,
	.unimport_mr = srnic_unimport_mr,
	.unimport_pd = srnic_unimport_pd,
};

static int srnic_get_context(struct srnic_ctx *ctx,
			     struct srnic_uresp_alloc_ctx *answer)
{
	struct srnic_cmd_alloc_ctx_resp resp = {};
	struct srnic_cmd_alloc_ctx cmd = {
		.features = SRNIC_FEATURES_KNOWN,
		.required = SRNIC_FEATURES_REQUIRED,
	};
	int ret;

#if IBVERBS_PABI_VERSION > 34	/* one more argument, which is not used here */
	ret = ibv_cmd_get_context(&ctx->vctx, &cmd.ibv_cmd, sizeof(cmd), NULL,
				  &resp.ibv_resp, sizeof(resp));
#else
	ret = ibv_cmd_get_context(&ctx->vctx, &cmd.ibv_cmd, sizeof(cmd),
				  &resp.ibv_resp, sizeof(resp));
#endif
	*answer = resp.drv_payload;
	return ret;
}

/* Negotiates features. Also detects a kernel that has not written a response. */
static int srnic_start_context(struct srnic_ctx *ctx)
{
	struct srnic_uresp_alloc_ctx answer;
	int ret = srnic_get_context(ctx, &answer);

	if (!ret && (answer.features & SRNIC_FEATURES_REQUIRED) !=
			    SRNIC_FEATURES_REQUIRED)
		ret = EOPNOTSUPP;
	return ret;
}

/*
 * The process that opened the device has negotiated. Its provider, which may be of
 * another version, uses the features that it and the kernel know. This provider must
 * know all of them, and they must include the features that it requires.
 */
static int srnic_join_context(struct srnic_ctx *ctx)
{
	DECLARE_COMMAND_BUFFER(cmdb, UVERBS_OBJECT_DEVICE,
			       UVERBS_METHOD_QUERY_CONTEXT, 1);
	struct srnic_uresp_alloc_ctx answer = {};
	int ret;

	fill_attr_out_ptr(cmdb, SRNIC_ATTR_QUERY_CONTEXT_RESP, &answer);
	ret = ibv_cmd_query_context(&ctx->vctx.context, cmdb);
	if (!ret && !srnic_may_join(answer.features, SRNIC_FEATURES_KNOWN,
				    SRNIC_FEATURES_REQUIRED)) {
		verbs_err(&ctx->vctx,
			  "the context was opened for features %#" PRIx64
			  ", these are known: %#" PRIx64
			  ", and these needed: %#" PRIx64 "\n",
			  (uint64_t)answer.features, SRNIC_FEATURES_KNOWN,
			  SRNIC_FEATURES_REQUIRED);
		ret = EOPNOTSUPP;
	}
	return ret;
}

static struct verbs_context *srnic_new_context(struct ibv_device *ibdev,
					       int cmd_fd,
					       int (*begin)(struct srnic_ctx *))
{
	struct srnic_ctx *ctx;
	int ret;

	ctx = verbs_init_and_alloc_context(ibdev, cmd_fd, ctx, vctx,
					   SRNIC_DRIVER_ID);
	if (!ctx)
		return NULL;

	ret = begin(ctx);
	if (ret) {
		verbs_err(&ctx->vctx, "no context: %s\n", strerror(ret));
		goto err;
	}

	ret = pthread_mutex_init(&ctx->qpn_lock, NULL);
	if (ret)
		goto err;
	ret = pthread_cond_init(&ctx->qpn_freed, NULL);
	if (ret) {
		pthread_mutex_destroy(&ctx->qpn_lock);
		goto err;
	}

	verbs_set_ops(&ctx->vctx, &srnic_ctx_ops);
	return &ctx->vctx;

err:
	verbs_uninit_context(&ctx->vctx);
	free(ctx);
	errno = ret;
	return NULL;
}

static struct verbs_context *srnic_alloc_context(struct ibv_device *ibdev,
						 int cmd_fd, void *private_data)
{
	return srnic_new_context(ibdev, cmd_fd, srnic_start_context);
}

/* cmd_fd is of a device that this or another process has opened */
static struct verbs_context *srnic_import_context(struct ibv_device *ibdev,
						  int cmd_fd)
{
	return srnic_new_context(ibdev, cmd_fd, srnic_join_context);
}

static void srnic_free_context(struct ibv_context *ibctx)
{
	struct srnic_ctx *ctx = to_srnic_ctx(ibctx);
	unsigned int i;

	/* Leaves of QPs that the program has not destroyed. */
	for (i = 0; i < SRNIC_QPN_ROOT_SIZE; i++)
		free(ctx->qpn_root[i]);
	pthread_cond_destroy(&ctx->qpn_freed);
	pthread_mutex_destroy(&ctx->qpn_lock);
	verbs_uninit_context(&ctx->vctx);
	free(ctx);
}

/*
 * A device of type srnic_plain is for programs that are written for InfiniBand, and newer ones look
 * for no other type of node (UCX since 1.14). In the kernel the device has no type of node:
 * otherwise RDS and SMC would take it for theirs.
 */
static struct verbs_device *srnic_alloc_device(struct verbs_sysfs_dev *sysfs)
{
	struct srnic_device *dev = calloc(1, sizeof(*dev));

	if (sysfs->node_type == IBV_NODE_UNSPECIFIED)
		sysfs->node_type = IBV_NODE_CA;
	return dev ? &dev->vdev : NULL;
}

static void srnic_uninit_device(struct verbs_device *vdev)
{
	free(container_of(vdev, struct srnic_device, vdev));
}

static const struct verbs_match_ent srnic_match_table[] = {
	VERBS_DRIVER_ID(SRNIC_DRIVER_ID),
	{},
};

static const struct verbs_device_ops srnic_dev_ops = {
	.name = "srnic",
	.match_min_abi_version = SRNIC_ABI_VERSION,
	.match_max_abi_version = SRNIC_ABI_VERSION,
	.match_table = srnic_match_table,
	.alloc_device = srnic_alloc_device,
	.uninit_device = srnic_uninit_device,
	.alloc_context = srnic_alloc_context,
	.import_context = srnic_import_context,
};

bool srnic_is_ours(struct ibv_device *ibdev)
{
	return verbs_get_device(ibdev)->ops == &srnic_dev_ops;
}

PROVIDER_DRIVER(srnic, srnic_dev_ops);
