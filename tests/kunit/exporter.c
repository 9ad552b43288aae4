// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* An exporter of DMA buffers that counts calls: no suites, what others use. */

#include <kunit/test.h>
#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/fcntl.h>
#include <linux/scatterlist.h>
#include "compat.h"
#include "exporter.h"

struct exporter exporter;

static int begin_access(struct dma_buf *buf, enum dma_data_direction direction)
{
	might_sleep();
	if (exporter.err)
		return exporter.err;
	exporter.begun++;
	exporter.direction = direction;
	return 0;
}

static int end_access(struct dma_buf *buf, enum dma_data_direction direction)
{
	might_sleep();
	if (exporter.on_end)
		exporter.on_end(exporter.arg);
	exporter.ended++;
	return 0;
}

/* Newer kernels require the buffer's lock to be held; older ones have another lock */
static void count_unlocked(struct dma_buf *buf)
{
#ifdef SRNIC_HAVE_DMA_BUF_UNLOCKED
	exporter.unlocked += !dma_resv_is_locked(buf->resv);
#endif
}

static int exporter_vmap(struct dma_buf *buf, struct iosys_map *map)
{
	count_unlocked(buf);
	exporter.mapped++;
	iosys_map_set_vaddr(map, exporter.mem);
	return 0;
}

static void exporter_vunmap(struct dma_buf *buf, struct iosys_map *map)
{
	count_unlocked(buf);
	exporter.mapped--;
}

static struct sg_table *no_map(struct dma_buf_attachment *attach,
			       enum dma_data_direction direction)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static void no_unmap(struct dma_buf_attachment *attach, struct sg_table *sgt,
		     enum dma_data_direction direction)
{
}

static void no_release(struct dma_buf *buf)
{
}

static const struct dma_buf_ops exporter_ops = {
	.map_dma_buf = no_map,
	.unmap_dma_buf = no_unmap,
	.release = no_release,
	.begin_cpu_access = begin_access,
	.end_cpu_access = end_access,
	.vmap = exporter_vmap,
	.vunmap = exporter_vunmap,
};

/**
 * exporter_begins - a DMA buffer
 * @test: the test
 * @mem: its memory
 * @size: in octets
 *
 * Context: process. What was counted before is forgotten.
 * Return: the buffer, with a reference.
 */
struct dma_buf *exporter_begins(struct kunit *test, void *mem, size_t size)
{
	DEFINE_DMA_BUF_EXPORT_INFO(info);
	struct dma_buf *buf;

	memset(&exporter, 0, sizeof(exporter));
	exporter.mem = mem;
	info.ops = &exporter_ops;
	info.size = size;
	info.flags = O_RDWR;
	info.priv = &exporter;
	buf = dma_buf_export(&info);
	KUNIT_ASSERT_FALSE(test, IS_ERR(buf));
	return buf;
}
