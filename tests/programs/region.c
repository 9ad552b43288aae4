// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Regions of memory of a test's own. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include "region.h"

/* Private memory that nobody has touched */
uint8_t *pages(size_t len, int prot)
{
	uint8_t *mem = mmap(NULL, len, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	require(mem != MAP_FAILED, "mmap: %s", strerror(errno));
	return mem;
}

struct ibv_mr *region(struct ibv_pd *pd, void *mem, size_t len, int access)
{
	struct ibv_mr *mr = ibv_reg_mr(pd, mem, len, access);

	require(mr, "ibv_reg_mr: %s", strerror(errno));
	return mr;
}

void end_region(struct ibv_mr *mr)
{
	int err = ibv_dereg_mr(mr);

	require(!err, "ibv_dereg_mr: %s", strerror(err));
}

/*
 * a's access to 100 octets of b ends the connection. @read: a READ, whose WC has a remote access
 * error; else a WRITE
 */
void must_be_refused(struct pair *p, uint64_t to, uint32_t rkey, bool read, const char *what)
{
	struct ibv_sge sge = sge_of(&p->a, 0, 100);
	int err = post_wr(&p->a, read ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE, 7, &sge, 1,
			  IBV_SEND_SIGNALED, to, rkey);

	require(!err, "post: %s", strerror(err));
	if (read)
		expect_wc(p->a.scq, 7, IBV_WC_REM_ACCESS_ERR, what);
	expect_disconnected(&p->a, what);
	expect_disconnected(&p->b, what);
}
