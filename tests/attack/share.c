// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Regions that share the memory of other regions, which are destroyed, changed or given other keys
 * meanwhile.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include "attack.h"

#define MEM	65536
#define HANDLES	64	/* handles are small numbers: most of these are objects of the context */

static struct ibv_context *ctx;
static struct ibv_pd *pds[2];
static uint8_t *mem;
static uint64_t end;
static atomic_uint shared, registered, destroyed, changed, keyed;

static int share(uint32_t source, struct ibv_pd *pd, uint32_t access, uint32_t *handle)
{
	struct srnic_ureq_mr_reg_shared req = { .iova = (uintptr_t)mem, .access = access };
	uint32_t stag;
	struct method_call call = {
		.hdr = METHOD_HDR(UVERBS_OBJECT_MR, SRNIC_METHOD_MR_REG_SHARED, 5),
		.attr = {
			ATTR_NUMBER(SRNIC_ATTR_MR_REG_SHARED_HANDLE, 0),
			ATTR_NUMBER(SRNIC_ATTR_MR_REG_SHARED_SOURCE, source),
			ATTR_NUMBER(SRNIC_ATTR_MR_REG_SHARED_PD, pd->handle),
			ATTR_BYTES(SRNIC_ATTR_MR_REG_SHARED_REQ, &req, sizeof(req)),
			ATTR_BYTES(SRNIC_ATTR_MR_REG_SHARED_STAG, &stag, sizeof(stag)),
		},
	};
	int err = call_method(ctx, &call);

	if (!err)
		*handle = call.attr[0].data;
	return err;
}

static int set_key(uint32_t handle, uint32_t key)
{
	uint32_t stag = key;
	struct method_call call = {
		.hdr = METHOD_HDR(UVERBS_OBJECT_MR, SRNIC_METHOD_MR_SET_KEY, 3),
		.attr = {
			ATTR_NUMBER(SRNIC_ATTR_MR_SET_KEY_HANDLE, handle),
			ATTR_BYTES(SRNIC_ATTR_MR_SET_KEY_KEY, key, sizeof(key)),	/* inline */
			ATTR_BYTES(SRNIC_ATTR_MR_SET_KEY_STAG, &stag, sizeof(stag)),
		},
	};
	int err = call_method(ctx, &call);

	require(err || (stag & 0xff) == key, "STag %08x for the key %u", stag, key);
	return err;
}

static int destroy(uint32_t handle)
{
	struct method_call call = {
		.hdr = METHOD_HDR(UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY, 1),
		.attr = { ATTR_NUMBER(UVERBS_ATTR_DESTROY_MR_HANDLE, handle) },
	};

	return call_method(ctx, &call);
}

static int rereg(uint32_t handle, struct rng *r)
{
	uint32_t answer[4];
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_rereg_mr cmd;
	} req = {
		.hdr = { IB_USER_VERBS_CMD_REREG_MR, sizeof(req) / 4, sizeof(answer) / 8 },
		.cmd = { .response = (uintptr_t)answer, .mr_handle = handle,
			 .flags = 1 + rng_below(r, 7), .length = 4096 * (1 + rng_below(r, 8)),
			 .pd_handle = pds[rng_below(r, 2)]->handle, .access_flags = rng_below(r, 16) },
	};

	req.cmd.start = (uintptr_t)mem + 4096 * rng_below(r, 3);
	req.cmd.hca_va = req.cmd.start;
	return write(ctx->cmd_fd, &req, sizeof(req)) == sizeof(req) ? 0 : errno;
}

/* Errors of a handle that is another object's, was destroyed, or is in use */
static bool fitting(int err)
{
	return !err || err == ENOENT || err == EINVAL || err == EBUSY || err == EACCES ||
	       err == EPERM || err == EOPNOTSUPP || err == ENOMEM;
}

static void *one_of_three(void *arg)
{
	struct rng r = { (uintptr_t)arg + env_uint("ATTACK_SEED", 1) };

	while (now_ms() < end) {
		uint32_t handle = rng_below(&r, HANDLES), made = 0;
		struct ibv_mr *mr;
		int err = 0;

		switch (rng_below(&r, 7)) {
		case 0:
		case 1:
			err = share(handle, pds[rng_below(&r, 2)], rng_below(&r, 16), &made);
			if (!err) {
				shared++;
				if (rng_below(&r, 4))
					destroy(made);
			}
			break;
		case 2:
			/* the other half is pinned for reading, until a call wants to write */
			mr = ibv_reg_mr(pds[rng_below(&r, 2)], mem, MEM,
					rng_below(&r, 2) ? ACCESS_ALL | IBV_ACCESS_MW_BIND : 0);
			registered += !!mr;
			if (mr && rng_below(&r, 3))
				ibv_dereg_mr(mr);	/* another thread may have done it */
			break;
		case 3:
			err = destroy(handle);
			destroyed += !err;
			break;
		case 4:
			err = rereg(handle, &r);
			changed += !err;
			break;
		case 5:
			err = set_key(handle, rng_below(&r, 256));
			keyed += !err;
			break;
		default:
			usleep(100);
		}
		require(fitting(err), "%s", strerror(err));
	}
	return NULL;
}

void case_share(void)
{
	pthread_t t[3];

	ctx = test_context();
	for (int i = 0; i < 2; i++) {
		pds[i] = ibv_alloc_pd(ctx);
		require(pds[i], "%s", strerror(errno));
	}
	mem = mmap(NULL, MEM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	require(mem != MAP_FAILED, "%s", strerror(errno));
	memset(mem, 1, MEM);
	end = attack_end();
	for (int i = 0; i < 3; i++)
		t[i] = thread_of(one_of_three, (void *)(uintptr_t)i);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	note("%u regions shared, %u registered, %u handles destroyed, %u registered anew, %u keys set",
	     shared, registered, destroyed, changed, keyed);
	require(shared && registered && destroyed && keyed, "nothing was tried");
	_exit(EXIT_PASS);	/* with all remaining objects */
}
