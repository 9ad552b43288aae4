// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * DMA buffers. ib_core's importer (ib_umem_dmabuf_get) maps the buffer for a device
 * that does DMA, which srnic has not: its CPU does the copying. So it maps the buffer
 * into the kernel, as far as the exporter can do that; most of those whose memory is
 * system memory can, device memory cannot be had this way. It attaches the device all
 * the same: that is when an exporter pins memory that it could move or swap out, which
 * it may do below a mapping. Those that pin at another time are not for us.
 */

#include <linux/dma-buf.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/overflow.h>
#include "compat.h"
#include "memory/dmabuf.h"

/* MODULE_IMPORT_NS() of the namespace, or of its name: that differs */
MODULE_INFO(import_ns, "DMA_BUF");

/**
 * srnic_dmabuf_get - hold and map a buffer
 * @db: filled
 * @dev: the RDMA device
 * @fd: its file descriptor, of the calling process
 * @offset: of the part that is wanted, octets
 * @length: of that part, octets, not zero
 * @writable: the buffer is to be written
 *
 * The exporter keeps the memory where it is while it is attached. May sleep.
 *
 * Return: 0, -EBADF or -EINVAL if @fd is no DMA buffer, -EINVAL if the part is not in
 * the buffer, -EACCES if it must not be written, -EOPNOTSUPP if the exporter cannot map
 * it or moves it, or it is not memory, or what the exporter says.
 */
int srnic_dmabuf_get(struct srnic_dmabuf *db, struct device *dev, int fd, u64 offset,
		     u64 length, bool writable)
{
	struct dma_buf *buf = dma_buf_get(fd);
	struct dma_buf_attachment *attach;
	struct iosys_map map;
	u64 end;
	int err;

	if (IS_ERR(buf))
		return PTR_ERR(buf);
	err = -EINVAL;
	if (!length || check_add_overflow(offset, length, &end) || end > buf->size)
		goto put;
	err = -EACCES;
	if (writable && !(buf->file->f_mode & FMODE_WRITE))
		goto put;
	err = -EOPNOTSUPP;
	if (!buf->ops->vmap || buf->ops->pin)
		goto put;
	attach = dma_buf_attach(buf, dev);
	if (IS_ERR(attach)) {
		err = PTR_ERR(attach);
		goto put;
	}
	err = dma_buf_vmap_unlocked(buf, &map);
	if (err)
		goto detach;
	if (map.is_iomem) {
		dma_buf_vunmap_unlocked(buf, &map);
		err = -EOPNOTSUPP;
		goto detach;
	}
	db->buf = buf;
	db->attach = attach;
	db->map = map;
	return 0;
detach:
	dma_buf_detach(buf, attach);
put:
	dma_buf_put(buf);
	return err;
}

/**
 * srnic_dmabuf_put - let the buffer go
 * @db: nobody uses its memory any more; may be of no buffer, and is so afterwards
 *
 * May sleep.
 */
void srnic_dmabuf_put(struct srnic_dmabuf *db)
{
	if (!db->buf)
		return;
	dma_buf_vunmap_unlocked(db->buf, &db->map);
	dma_buf_detach(db->buf, db->attach);
	dma_buf_put(db->buf);
	db->buf = NULL;
}

/* A part of a cache line that is written has to be there before */
static enum dma_data_direction access_direction(bool write)
{
	return write ? DMA_BIDIRECTIONAL : DMA_FROM_DEVICE;
}

/**
 * srnic_dmabuf_begin - the CPU is about to access a buffer
 * @buf: held
 * @write: it may write, too
 *
 * Waits for devices that work on the buffer, as its exporter sees fit. May sleep.
 *
 * Return: 0 and srnic_dmabuf_end() has to follow, or what the exporter says.
 */
int srnic_dmabuf_begin(struct dma_buf *buf, bool write)
{
	return dma_buf_begin_cpu_access(buf, access_direction(write));
}

/**
 * srnic_dmabuf_end - the access is over
 * @buf: as srnic_dmabuf_begin() had it
 * @write: as srnic_dmabuf_begin() had it
 *
 * May sleep. An exporter that fails here has no one to tell: the data is in its memory.
 */
void srnic_dmabuf_end(struct dma_buf *buf, bool write)
{
	dma_buf_end_cpu_access(buf, access_direction(write));
}
