// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Wrong calls of the driver's method for device memory, and random ones. */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <rdma/rdma_user_ioctl.h>
#include <rdma/srnic-abi.h>
#include "badinput.h"

#define LEN	10000	/* three pages, the last of them in part */

struct copy {
	struct ib_uverbs_ioctl_hdr hdr;
	struct ib_uverbs_attr attr[2];
};

static void good_copy(struct copy *cmd, const struct ibv_dm *dm,
		      const struct srnic_ureq_dm_copy *req)
{
	*cmd = (struct copy){
		.hdr = { .length = sizeof(struct copy), .object_id = UVERBS_OBJECT_DM,
			 .method_id = SRNIC_METHOD_DM_COPY, .num_attrs = 2,
			 .driver_id = SRNIC_DRIVER_ID },
		.attr = {
			{ .attr_id = SRNIC_ATTR_DM_COPY_HANDLE,
			  .flags = UVERBS_ATTR_F_MANDATORY, .data = dm->handle },
			{ .attr_id = SRNIC_ATTR_DM_COPY_REQ, .len = sizeof(*req),
			  .flags = UVERBS_ATTR_F_MANDATORY, .data = (uintptr_t)req },
		},
	};
}

static int try_copy(const struct ibv_dm *dm, const struct copy *cmd)
{
	struct copy copy = *cmd;

	return ioctl(dm->context->cmd_fd, RDMA_VERBS_IOCTL, &copy) ? errno : 0;
}

static void no_copy(const struct ibv_dm *dm, const struct copy *cmd, int want, const char *what)
{
	int err = try_copy(dm, cmd);

	require(err == want, "%s: %s in place of %s", what, strerror(err), strerror(want));
}

static void no_copy_of(const struct ibv_dm *dm, const struct srnic_ureq_dm_copy *req, int want,
		       const char *what)
{
	struct copy cmd;

	good_copy(&cmd, dm, req);
	no_copy(dm, &cmd, want, what);
}

static void bad_calls(const struct ibv_dm *dm, const struct srnic_ureq_dm_copy *good)
{
	struct copy cmd;

	good_copy(&cmd, dm, good);
	cmd.attr[0].data += 1000;
	no_copy(dm, &cmd, ENOENT, "no such memory");
	good_copy(&cmd, dm, good);
	cmd.attr[1].data = 8;
	no_copy(dm, &cmd, EFAULT, "no request");
	for (unsigned int n = 9; n < sizeof(*good); n++) {
		good_copy(&cmd, dm, good);
		cmd.attr[1].len = n;
		no_copy(dm, &cmd, EINVAL, "a short request");
	}
	good_copy(&cmd, dm, good);
	cmd.hdr.method_id += 100;
	no_copy(dm, &cmd, EPROTONOSUPPORT, "no such method");
}

static void bad_requests(const struct ibv_dm *dm, const struct srnic_ureq_dm_copy *good)
{
	struct srnic_ureq_dm_copy req = *good;

	req.reserved = 1;
	no_copy_of(dm, &req, EOPNOTSUPP, "a field that is not known");
	req = *good;
	req.op = 2;
	no_copy_of(dm, &req, EOPNOTSUPP, "an operation that is not known");
	for (req.op = SRNIC_DM_WRITE; req.op <= SRNIC_DM_READ; req.op++) {
		req.addr = 8;
		no_copy_of(dm, &req, EFAULT, "from nowhere");
		req.addr = 1ULL << 63;
		no_copy_of(dm, &req, EFAULT, "from the kernel's memory");
		req.addr = good->addr;
		req.length = LEN + 1;
		no_copy_of(dm, &req, EINVAL, "a byte too many, within the page");
		req.length = UINT64_MAX;
		no_copy_of(dm, &req, EINVAL, "all");
		req.offset = 2;
		no_copy_of(dm, &req, EINVAL, "so long that it wraps");
		req.offset = LEN + 1;
		req.length = 0;
		no_copy_of(dm, &req, EINVAL, "behind it");
		req = (struct srnic_ureq_dm_copy){ .addr = req.addr, .length = good->length,
						   .op = req.op };
	}
}

/* A copy, if it is made, is between these two */
void case_dm(void)
{
	struct ibv_alloc_dm_attr attr = { .length = LEN };
	static uint8_t mem[3 * LEN];
	struct srnic_ureq_dm_copy good = { .addr = (uintptr_t)(mem + LEN), .length = LEN }, req;
	struct rng r = { env_uint("BADINPUT_SEED", 1) };
	struct ibv_dm *dm;
	struct copy cmd;

	if (!on_srnic())
		skip("only srnic has this method");
	dm = ibv_alloc_dm(test_context(), &attr);
	require(dm, "ibv_alloc_dm: %s", strerror(errno));
	bad_calls(dm, &good);
	bad_requests(dm, &good);
	for (unsigned int i = 0; i < 2000; i++) {
		req = good;
		req.offset = rng_below(&r, 2) ? rng_next(&r) : rng_below(&r, LEN + 100);
		req.length = rng_below(&r, 2) ? rng_next(&r) : rng_below(&r, LEN + 100);
		req.op = rng_below(&r, 3);
		req.reserved = rng_below(&r, 4) ? 0 : rng_next(&r);
		good_copy(&cmd, dm, &req);
		cmd.attr[rng_below(&r, 2)].flags = rng_below(&r, 2);
		try_copy(dm, &cmd);
	}
	require(!ibv_free_dm(dm), "ibv_free_dm");
}
