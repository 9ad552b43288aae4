// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * DMA buffers. ib_core's importer (ib_umem_dmabuf_get) maps the buffer for a device
 * that does DMA. srnic does none, the CPU copies: it maps the buffer into the kernel,
 * if the exporter supports that. Most exporters of system memory do; device memory
 * cannot be mapped this way. srnic attaches the device as well: at that moment the
 * exporter pins memory that it could otherwise move or swap out, even while it is
 * mapped. Exporters with a pin callback, which pin later, are refused.
 */

#include <linux/dma-buf.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/overflow.h>
#include "compat.h"
#include "memory/dmabuf.h"

/* The argument of MODULE_IMPORT_NS() is a string in newer kernels only */
MODULE_INFO(import_ns, "DMA_BUF");

/**
 * srnic_dmabuf_get - hold and map a buffer
 * @db: filled
 * @dev: the RDMA device
 * @fd: its file descriptor, of the calling process
 * @offset: of the requested part, octets
 * @length: of that part, octets, not zero
 * @writable: the caller is going to write the buffer
 *
 * The exporter does not move the memory while the device is attached. Context: process, may sleep.
 *
 * Return: 0, -EBADF or -EINVAL if @fd is no DMA buffer, -EINVAL if the part is not in
 * the buffer, -EACCES if the buffer is read-only, -EOPNOTSUPP if the exporter cannot map
 * it or moves it, or if it is I/O memory; or an errno of the exporter.
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
 * srnic_dmabuf_put - unmap and release a buffer
 * @db: its memory is not in use any more; may have no buffer, and has none afterwards
 *
 * Context: process, may sleep.
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

/* A write of a part of a cache line needs the rest of the line up to date */
static enum dma_data_direction access_direction(bool write)
{
	return write ? DMA_BIDIRECTIONAL : DMA_FROM_DEVICE;
}

/**
 * srnic_dmabuf_begin - the CPU is about to access a buffer
 * @buf: held
 * @write: the CPU may write, too
 *
 * The exporter may wait for devices that use the buffer. Context: process, may sleep.
 *
 * Return: 0, and srnic_dmabuf_end() has to follow; or an errno of the exporter.
 */
int srnic_dmabuf_begin(struct dma_buf *buf, bool write)
{
	return dma_buf_begin_cpu_access(buf, access_direction(write));
}

/**
 * srnic_dmabuf_end - end an access of the CPU
 * @buf: as passed to srnic_dmabuf_begin()
 * @write: as passed to srnic_dmabuf_begin()
 *
 * Context: process, may sleep. An error of the exporter is ignored: the data is in its memory.
 */
void srnic_dmabuf_end(struct dma_buf *buf, bool write)
{
	dma_buf_end_cpu_access(buf, access_direction(write));
}
