// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * dmabuf: regions of a DMA buffer, from the driver of the first card.
 *
 *	dmabuf --list			names of the cases
 *	dmabuf ADDR CASE		run one, over the device that has address ADDR
 *
 * Both ends of the connection are in one process. Exit status 0: passed, 1: failed.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <libdrm/drm.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include "cases.h"
#include "pair.h"

#define DUMB_SIZE	(128 * 128 * 4)

/* A DMA buffer of DUMB_SIZE octets, from the driver of the first card (vgem, for instance) */
static void make_dmabuf(int *rw, int *ro)
{
	struct drm_mode_create_dumb dumb = { .width = 128, .height = 128, .bpp = 32 };
	struct drm_prime_handle prime = { .flags = DRM_CLOEXEC | DRM_RDWR };
	int card = open("/dev/dri/card0", O_RDWR);

	require(card >= 0, "no driver that makes DMA buffers: %s", strerror(errno));
	require(!ioctl(card, DRM_IOCTL_MODE_CREATE_DUMB, &dumb) && dumb.size == DUMB_SIZE,
		"%s", strerror(errno));
	prime.handle = dumb.handle;
	require(!ioctl(card, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime), "%s", strerror(errno));
	*rw = prime.fd;
	/* a handle has one buffer, with the rights of the first export */
	require(!ioctl(card, DRM_IOCTL_MODE_CREATE_DUMB, &dumb), "%s", strerror(errno));
	prime = (struct drm_prime_handle){ .handle = dumb.handle, .flags = DRM_CLOEXEC };
	require(!ioctl(card, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime), "%s", strerror(errno));
	*ro = prime.fd;
	close(card);
}

static void refused_dmabuf(struct ibv_pd *pd, int fd, uint64_t off, size_t len, int access,
			   int err, const char *what)
{
	struct ibv_mr *mr = ibv_reg_dmabuf_mr(pd, off, len, 0, fd, access);

	require(!mr && errno == err, "%s: %s", what, mr ? "taken" : strerror(errno));
}

/* A DMA buffer can be registered like other memory, at any offset, and outlives its files. */
static void case_dmabuf(void)
{
	const uint64_t off = 4099, iova = 0x7000000 + off % 4096;	/* as the core requires */
	const uint32_t len = 40000;
	struct ibv_mr *mr, *ro_mr;
	struct ibv_sge sge;
	int rw, ro, pipes[2];
	struct pair p;
	uint8_t *mem;

	make_dmabuf(&rw, &ro);
	pair_open(&p);
	refused_dmabuf(p.b.pd, 9999, 0, 1, 0, EBADF, "no file");
	require(!pipe(pipes), "pipe");
	refused_dmabuf(p.b.pd, pipes[0], 0, 1, 0, EINVAL, "another file");
	refused_dmabuf(p.b.pd, rw, 0, 0, 0, EINVAL, "nothing");
	refused_dmabuf(p.b.pd, rw, 0, DUMB_SIZE + 1, 0, EINVAL, "an octet too many");
	refused_dmabuf(p.b.pd, rw, DUMB_SIZE, 1, 0, EINVAL, "behind the end");
	refused_dmabuf(p.b.pd, rw, -4096ULL, 8192, 0, EINVAL, "offset and length wrap");
	refused_dmabuf(p.b.pd, ro, 0, 1, IBV_ACCESS_LOCAL_WRITE, EACCES, "read-only");
	ro_mr = ibv_reg_dmabuf_mr(p.b.pd, 0, DUMB_SIZE, 0, ro, IBV_ACCESS_REMOTE_READ);
	require(ro_mr, "read-only: %s", strerror(errno));
	require(!ibv_dereg_mr(ro_mr), "%s", strerror(errno));

	mr = ibv_reg_dmabuf_mr(p.b.pd, off, len, iova, rw, ACCESS_ALL);
	require(mr, "ibv_reg_dmabuf_mr: %s", strerror(errno));
	mem = mmap(NULL, DUMB_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, rw, 0);
	require(mem != MAP_FAILED, "mmap: %s", strerror(errno));
	close(rw);
	close(ro);
	memset(mem, 0xee, DUMB_SIZE);
	for (uint32_t i = 0; i < len; i++)
		p.a.buf[i] = i % 251;
	sge = sge_of(&p.a, 0, len);
	require(!post_wr(&p.a, IBV_WR_RDMA_WRITE, 1, &sge, 1, IBV_SEND_SIGNALED, iova, mr->rkey),
		"ibv_post_send");
	expect_wc(p.a.scq, 1, IBV_WC_SUCCESS, "Write");
	memset(p.a.buf, 0, len);
	sge = sge_of(&p.a, 1, len - 1);
	require(!post_wr(&p.a, IBV_WR_RDMA_READ, 2, &sge, 1, IBV_SEND_SIGNALED, iova + 1,
			 mr->rkey), "ibv_post_send");
	expect_wc(p.a.scq, 2, IBV_WC_SUCCESS, "Read");
	for (uint32_t i = 0; i < len; i++)
		require(mem[off + i] == i % 251 && p.a.buf[i] == (i ? i % 251 : 0), "octet %u", i);
	require(mem[off - 1] == 0xee && mem[off + len] == 0xee, "beside it");

	/* and as the source of a SEND */
	sge = (struct ibv_sge){ iova + 5, 100, mr->lkey };
	must_recv(&p.a, 3, 0, 100);
	require(!post_wr(&p.b, IBV_WR_SEND, 4, &sge, 1, IBV_SEND_SIGNALED, 0, 0), "Send");
	expect_wc(p.b.scq, 4, IBV_WC_SUCCESS, "Send");
	expect_wc(p.a.rcq, 3, IBV_WC_SUCCESS, "receive");
	require(!memcmp(p.a.buf, mem + off + 5, 100), "what was sent");
	require(!ibv_dereg_mr(mr), "%s", strerror(errno));
	munmap(mem, DUMB_SIZE);
	pair_works(&p, "without the buffer");
	pair_close(&p);
}

static const struct test_case cases[] = {
	{ "dmabuf", case_dmabuf, "DMA buffers, at odd offsets, read-only, of another size" },
};

static const struct test_program prog = {
	.usage = "dmabuf --list | ADDR CASE",
	.timeout_env = "DMABUF_TIMEOUT",
	.timeout = 50,
	.cases = cases,
	.count = ARRAY_SIZE(cases),
};

int main(int argc, char **argv)
{
	return run_cases(&prog, argc, argv);
}
