// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Wrong calls of the driver's method for device memory, and random ones. */
#include <errno.h>
#include <string.h>
#include "badinput.h"
#include "method.h"

#define LEN	10000	/* three pages, the last of them in part */

static struct method_call good_copy(const struct ibv_dm *dm, const struct srnic_ureq_dm_copy *req)
{
	return (struct method_call){
		.hdr = METHOD_HDR(UVERBS_OBJECT_DM, SRNIC_METHOD_DM_COPY, 2),
		.attr = {
			ATTR_NUMBER(SRNIC_ATTR_DM_COPY_HANDLE, dm->handle),
			ATTR_BYTES(SRNIC_ATTR_DM_COPY_REQ, req, sizeof(*req)),
		},
	};
}

static void no_copy(const struct ibv_dm *dm, struct method_call *cmd, int want, const char *what)
{
	int err = call_method(dm->context, cmd);

	require(err == want, "%s: %s in place of %s", what, strerror(err), strerror(want));
}

static void no_copy_of(const struct ibv_dm *dm, const struct srnic_ureq_dm_copy *req, int want,
		       const char *what)
{
	struct method_call cmd = good_copy(dm, req);

	no_copy(dm, &cmd, want, what);
}

static void bad_calls(const struct ibv_dm *dm, const struct srnic_ureq_dm_copy *good)
{
	struct method_call cmd = good_copy(dm, good);

	cmd.attr[0].data += 1000;
	no_copy(dm, &cmd, ENOENT, "no such memory");
	cmd = good_copy(dm, good);
	cmd.attr[1].data = 8;
	no_copy(dm, &cmd, EFAULT, "no request");
	for (unsigned int n = 9; n < sizeof(*good); n++) {
		cmd = good_copy(dm, good);
		cmd.attr[1].len = n;
		no_copy(dm, &cmd, EINVAL, "a short request");
	}
	cmd = good_copy(dm, good);
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
	struct method_call cmd;

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
		cmd = good_copy(dm, &req);
		cmd.attr[rng_below(&r, 2)].flags = rng_below(&r, 2);
		call_method(dm->context, &cmd);
	}
	require(!ibv_free_dm(dm), "ibv_free_dm");
}
