// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Data segments as scatter/gather elements. A descriptor has up to 252 segments, a work request a
 * few; the data of a descriptor that has more goes through a buffer of the library. No message is
 * longer than MaxTransferSize, whatever the segments of a receive are, and so no buffer is.
 */
#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>
#include "bounce.h"
#include "check.h"

#define MAX_IOV		252

/* Lists the segments that are not empty. Return: false if there are more than @max */
static bool direct(struct vipl_vi *vi, const struct vipl_work *work, bool written,
		   struct ibv_sge *sge, int max, int *n)
{
	unsigned int i;

	*n = 0;
	for (i = vipl_first_data(work); i < work->cs.SegCount; i++) {
		const VIP_DATA_SEGMENT *seg = &work->ds[i].Local;

		if (!seg->Length)
			continue;
		if (*n == max)
			return false;
		vipl_memory_key(vi->nic, vi->ptag, seg, written, &sge[*n].lkey);
		sge[*n].addr = seg->Data.AddressBits;
		sge[*n].length = seg->Length;
		++*n;
	}
	return true;
}

static int segments(const struct vipl_work *work, struct iovec *iov)
{
	unsigned int i;
	int n = 0;

	for (i = vipl_first_data(work); i < work->cs.SegCount; i++) {
		iov[n].iov_base = work->ds[i].Local.Data.Address;
		iov[n++].iov_len = work->ds[i].Local.Length;
	}
	return n;
}

/* A buffer without a descriptor begins with the pointer to the next such buffer */
static struct ibv_mr **next_of(const struct ibv_mr *spare)
{
	return spare->addr;
}

static size_t buffer_bytes(const struct vipl_vi *vi)
{
	size_t len = vi->attribs.MaxTransferSize;

	return len > sizeof(struct ibv_mr *) ? len : sizeof(struct ibv_mr *);
}

static struct ibv_mr *take_buffer(struct vipl_vi *vi)
{
	struct ibv_mr *mr = vi->spare;

	if (!mr)
		return vipl_memory_alloc(vi->ptag, buffer_bytes(vi));
	vi->spare = *next_of(mr);
	return mr;
}

static bool make_bounce(struct vipl_vi *vi, struct vipl_work *work, struct ibv_sge *sge)
{
	uint64_t len = vipl_data_bytes(work);

	work->bounce = take_buffer(vi);
	if (!work->bounce)
		return false;
	sge->addr = (uintptr_t)work->bounce->addr;
	sge->length = len < vi->attribs.MaxTransferSize ? len : vi->attribs.MaxTransferSize;
	sge->lkey = work->bounce->lkey;
	return true;
}

/* The library copies by itself if the kernel lacks CONFIG_CROSS_MEMORY_ATTACH */
static void copy_here(const struct iovec *segs, int n, char *bounce, size_t len, bool in)
{
	int i;

	for (i = 0; i < n && len; i++) {
		size_t part = segs[i].iov_len < len ? segs[i].iov_len : len;

		memcpy(in ? segs[i].iov_base : bounce, in ? bounce : segs[i].iov_base, part);
		bounce += part;
		len -= part;
	}
}

/* The kernel copies: memory that the program has unmapped causes an error, and no fault. */
static bool copy(const struct iovec *segs, int n, void *bounce, size_t len, bool in)
{
	struct iovec whole = { bounce, len };
	ssize_t got = in ? process_vm_writev(getpid(), &whole, 1, segs, n, 0) :
			   process_vm_readv(getpid(), &whole, 1, segs, n, 0);

	if (got >= 0 || errno != ENOSYS)
		return got == (ssize_t)len;
	copy_here(segs, n, bounce, len, in);
	return true;
}

/**
 * vipl_bounce_out() - Make the SGEs of the data that a descriptor sends
 * @vi: the descriptor's memory is checked
 * @work: the descriptor
 * @sge: set to the data
 * @max: size of @sge
 *
 * Context: the NIC's lock is held.
 * Return: number of @sge used, -1 without memory.
 */
int vipl_bounce_out(struct vipl_vi *vi, struct vipl_work *work, struct ibv_sge *sge, int max)
{
	struct iovec from[MAX_IOV];
	int n;

	if (direct(vi, work, false, sge, max, &n))
		return n;
	n = segments(work, from);
	if (!make_bounce(vi, work, sge) || !copy(from, n, work->bounce->addr, sge->length, false))
		return -1;
	return 1;
}

/**
 * vipl_bounce_in() - Make the SGEs for the data that a descriptor receives or reads
 * @vi: the descriptor's memory is checked
 * @work: the descriptor
 * @sge: set to the destination
 * @max: size of @sge
 *
 * Context: the NIC's lock is held.
 * Return: number of @sge used, -1 without memory.
 */
int vipl_bounce_in(struct vipl_vi *vi, struct vipl_work *work, struct ibv_sge *sge, int max)
{
	int n;

	if (direct(vi, work, true, sge, max, &n))
		return n;
	return make_bounce(vi, work, sge) ? 1 : -1;
}

/**
 * vipl_bounce_scatter() - Copy data to the segments of a descriptor
 * @work: the descriptor, whose memory is checked
 * @data: in memory of the library
 * @len: bytes, which fit into the segments
 *
 * Context: the NIC's lock is held.
 * Return: false if the program has unmapped its memory.
 */
bool vipl_bounce_scatter(const struct vipl_work *work, const void *data, uint32_t len)
{
	struct iovec to[MAX_IOV];
	int n = segments(work, to);

	return copy(to, n, (void *)data, len, true);
}

/**
 * vipl_bounce_copy() - Copy data into memory of the program
 * @to: the destination, of @len bytes
 * @data: in memory of the library
 * @len: bytes
 *
 * Context: the NIC's lock is held.
 * Return: false if the program has unmapped its memory.
 */
bool vipl_bounce_copy(const VIP_DATA_SEGMENT *to, const void *data, uint32_t len)
{
	struct iovec iov = { to->Data.Address, len };

	return copy(&iov, 1, (void *)data, len, true);
}

/**
 * vipl_bounce_back() - Scatter received data, if it is in a bounce buffer
 * @work: a completed descriptor
 * @len: bytes received
 *
 * Context: the NIC's lock is held.
 * Return: false if the program has unmapped its memory.
 */
bool vipl_bounce_back(struct vipl_work *work, uint32_t len)
{
	if (!work->bounce || !(work->op == VIP_STATUS_OP_RECEIVE ||
			       work->op == VIP_STATUS_OP_RDMA_READ))
		return true;
	return vipl_bounce_scatter(work, work->bounce->addr, len);
}

/**
 * vipl_bounce_free() - Keep the bounce buffer of a descriptor for another one
 * @vi: its VI
 * @work: without WRs in progress
 *
 * Context: the NIC's lock is held.
 */
void vipl_bounce_free(struct vipl_vi *vi, struct vipl_work *work)
{
	if (!work->bounce)
		return;
	*next_of(work->bounce) = vi->spare;
	vi->spare = work->bounce;
	work->bounce = NULL;
}

/**
 * vipl_bounce_release() - Free the bounce buffers of a VI, as its tag and MaxTransferSize may change
 * @vi: without WRs in progress
 *
 * Context: the NIC's lock is held; sleeps.
 */
void vipl_bounce_release(struct vipl_vi *vi)
{
	struct ibv_mr *mr;

	while ((mr = vi->spare)) {
		vi->spare = *next_of(mr);
		vipl_memory_free(mr);
	}
}
