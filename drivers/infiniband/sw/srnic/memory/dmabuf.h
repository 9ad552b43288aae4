/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* DMA buffers of other drivers, as memory of a region. */
#ifndef SRNIC_DMABUF_H
#define SRNIC_DMABUF_H

#include <linux/iosys-map.h>
#include <linux/types.h>

struct device;
struct dma_buf;
struct dma_buf_attachment;

/**
 * struct srnic_dmabuf - a buffer that is mapped
 * @buf: the buffer, held; NULL for none
 * @attach: keeps the exporter from moving it
 * @map: its mapping in the kernel
 */
struct srnic_dmabuf {
	struct dma_buf *buf;
	struct dma_buf_attachment *attach;
	struct iosys_map map;
};

int srnic_dmabuf_get(struct srnic_dmabuf *db, struct device *dev, int fd, u64 offset,
		     u64 length, bool writable);
void srnic_dmabuf_put(struct srnic_dmabuf *db);
int srnic_dmabuf_begin(struct dma_buf *buf, bool write);
void srnic_dmabuf_end(struct dma_buf *buf, bool write);

#endif
