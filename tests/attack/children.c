// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Children with an inherited descriptor of the device ring the doorbells of their parent's QPs,
 * move them to Error and destroy them, while the parent uses them and after it has ended.
 */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include "attack.h"

#define CHILDREN	4

/* By write(), which the core accepts only from the opener of the file */
static void doorbell(struct ibv_qp *qp, uint32_t command)
{
	uint32_t answer;
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_post_send cmd;
	} req = {
		.hdr = { command, sizeof(req) / 4, sizeof(answer) / 4 },
		.cmd = { .response = (uintptr_t)&answer, .qp_handle = qp->handle,
			 .wqe_size = sizeof(struct ib_uverbs_send_wr) },
	};
	ssize_t n = write(qp->context->cmd_fd, &req, sizeof(req));

	require(n < 0 && errno == EACCES, "a child's doorbell: %zd, %s", n, strerror(errno));
}

/* By the method, which the core accepts from any process with the descriptor */
static void destroy(struct ibv_qp *qp)
{
	struct ib_uverbs_destroy_qp_resp answer;
	struct method_call call = {
		.hdr = METHOD_HDR(UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY, 2),
		.attr = {
			ATTR_NUMBER(UVERBS_ATTR_DESTROY_QP_HANDLE, qp->handle),
			ATTR_BYTES(UVERBS_ATTR_DESTROY_QP_RESP, &answer, sizeof(answer)),
		},
	};

	call_method(qp->context, &call);
}

static void objects(struct ibv_context *ctx, struct rng *r)
{
	struct ibv_cq *cq = ibv_create_cq(ctx, 10, NULL, NULL, 0);
	struct ibv_pd *pd = ibv_alloc_pd(ctx);

	if (cq && rng_below(r, 2))
		ibv_destroy_cq(cq);
	if (pd && rng_below(r, 2))
		ibv_dealloc_pd(pd);
}

static void child(struct pair *p, struct rng *r)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_qp_init_attr init;

	for (int i = 0; i < 40; i++) {
		struct ibv_qp *qp = rng_below(r, 2) ? p->a.qp : p->b.qp;

		switch (rng_below(r, 9)) {
		case 0:
		case 1:
			doorbell(qp, IB_USER_VERBS_CMD_POST_SEND);
			break;
		case 2:
			doorbell(qp, IB_USER_VERBS_CMD_POST_RECV);
			break;
		case 3:
			if (!rng_below(r, 6))
				destroy(qp);
			break;
		case 4:
			if (!rng_below(r, 4))
				ibv_modify_qp(qp, &attr, IBV_QP_STATE);
			break;
		case 5:
		case 6:
			objects(qp->context, r);
			break;
		case 7:
			ibv_query_qp(qp, &attr, IBV_QP_STATE, &init);
			attr.qp_state = IBV_QPS_ERR;
			break;
		default:
			usleep(500);
		}
	}
}

static void life(struct rng *r)
{
	bool goes_first = rng_below(r, 2);
	pid_t pid[CHILDREN];
	struct pair p;

	pair_open(&p);
	for (int i = 0; i < CHILDREN; i++) {
		struct rng own = { rng_next(r) };

		/* not fork_child(): this child may outlive its parent */
		pid[i] = fork();
		require(pid[i] >= 0, "%s", strerror(errno));
		if (!pid[i]) {
			deadline_set(20, NULL);
			child(&p, &own);
			_exit(EXIT_PASS);
		}
	}
	for (int i = 0; i < 30; i++)
		one_message(&p, i);
	for (int i = 0; i < CHILDREN && !goes_first; i++) {
		int status;

		require(waitpid(pid[i], &status, 0) == pid[i] && !status, "child %d: status %#x",
			i, status);
	}
}

void case_children(void)
{
	require(!in_lives(life).killed, "a life was killed");
}
