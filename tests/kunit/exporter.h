/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef SRNIC_TEST_EXPORTER_H
#define SRNIC_TEST_EXPORTER_H

#include <linux/dma-direction.h>
#include <linux/types.h>

struct dma_buf;
struct kunit;

/**
 * struct exporter - an exporter of DMA buffers
 * @mem: of its buffer
 * @begun: accesses that it was told of
 * @ended: of these
 * @mapped: maps that there are
 * @unlocked: calls without the buffer's lock
 * @direction: of the last access
 * @err: it refuses accesses
 * @on_end: called at the end of an access, or NULL
 * @arg: for @on_end
 */
struct exporter {
	u8 *mem;
	u32 begun;
	u32 ended;
	u32 mapped;
	u32 unlocked;
	enum dma_data_direction direction;
	int err;
	void (*on_end)(void *arg);
	void *arg;
};

extern struct exporter exporter;

struct dma_buf *exporter_begins(struct kunit *test, void *mem, size_t size);

#endif
