// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Test memory: single pages that are not adjacent, patterns, registration. */

#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "selftest.h"

/**
 * st_buf_new - memory of single pages
 * @b: filled in
 * @dev: the device that will use it
 * @off: of the first octet in the first page
 * @len: octets
 *
 * Return: 0 or -ENOMEM, with nothing to free.
 */
int st_buf_new(struct st_buf *b, struct ib_device *dev, unsigned int off, u32 len)
{
	unsigned int i, in_page;
	u32 left = len;

	memset(b, 0, sizeof(*b));
	b->dev = dev;
	b->off = off;
	b->len = len;
	b->npages = DIV_ROUND_UP(off + len, PAGE_SIZE);
	b->pages = kvcalloc(b->npages, sizeof(*b->pages), GFP_KERNEL);
	b->sg = kvcalloc(b->npages, sizeof(*b->sg), GFP_KERNEL);
	if (!b->pages || !b->sg)
		goto fail;
	sg_init_table(b->sg, b->npages);
	for (i = 0; i < b->npages; i++) {
		/* filled from the end, so that pages in order are rarely adjacent */
		b->pages[b->npages - 1 - i] = alloc_page(GFP_KERNEL);
		if (!b->pages[b->npages - 1 - i])
			goto fail;
	}
	b->map = vmap(b->pages, b->npages, VM_MAP, PAGE_KERNEL);
	if (!b->map)
		goto fail;
	b->v = b->map + off;
	for (i = 0; i < b->npages; i++) {
		in_page = i ? 0 : off;
		sg_set_page(&b->sg[i], b->pages[i],
			    min_t(u32, left, PAGE_SIZE - in_page), in_page);
		left -= b->sg[i].length;
	}
	if (ib_dma_map_sg(dev, b->sg, b->npages, DMA_BIDIRECTIONAL) != b->npages)
		goto fail;
	return 0;
fail:
	st_buf_free(b);
	return -ENOMEM;
}

/**
 * st_buf_free - undo st_buf_new()
 * @b: from st_buf_new(), which may have failed
 */
void st_buf_free(struct st_buf *b)
{
	unsigned int i;

	vunmap(b->map);
	for (i = 0; b->pages && i < b->npages; i++)
		if (b->pages[i])
			__free_page(b->pages[i]);
	kvfree(b->pages);
	kvfree(b->sg);
	memset(b, 0, sizeof(*b));
}

static u32 pattern(u32 seed, u32 at)
{
	u32 x = seed * 2654435761U + at * 2246822519U;

	return x ^ x >> 15;
}

/**
 * st_fill - write a pattern
 * @p: where
 * @len: octets
 * @seed: which
 */
void st_fill(void *p, u32 len, u32 seed)
{
	u8 *v = p;
	u32 i;

	for (i = 0; i < len; i++)
		v[i] = pattern(seed, i);
}

/**
 * st_is - is the pattern there?
 * @p: where
 * @len: octets
 * @seed: as it was written
 *
 * Return: false, having said where the first wrong octet is, or true.
 */
bool st_is(const void *p, u32 len, u32 seed)
{
	const u8 *v = p;
	u32 i;

	for (i = 0; i < len; i++) {
		if (v[i] != (u8)pattern(seed, i)) {
			st_log("octet %u of %u is %02x, not %02x\n", i, len, v[i],
			       (u8)pattern(seed, i));
			return false;
		}
	}
	return true;
}

/**
 * st_is_value - is every octet @value?
 * @p: where
 * @len: octets
 * @value: of each
 */
bool st_is_value(const void *p, u32 len, u8 value)
{
	return !memchr_inv(p, value, len);
}

/**
 * st_sges - SGEs with the local DMA lkey for a part of a buffer
 * @b: the buffer
 * @sge: filled in
 * @max: how many there may be
 * @from: first octet
 * @len: octets
 *
 * Return: SGEs used, or -E2BIG.
 */
int st_sges(const struct st_buf *b, struct ib_sge *sge, int max, u32 from, u32 len)
{
	unsigned int at = b->off + from;
	int n = 0;

	while (len) {
		u32 in_page = at & ~PAGE_MASK;

		if (n == max)
			return -E2BIG;
		sge[n].addr = sg_dma_address(&b->sg[at >> PAGE_SHIFT]) -
			      (at >> PAGE_SHIFT ? 0 : b->off) + in_page;
		sge[n].length = min_t(u32, len, PAGE_SIZE - in_page);
		sge[n].lkey = 0;	/* the caller sets it */
		at += sge[n].length;
		len -= sge[n].length;
		n++;
	}
	return n;
}

/**
 * st_map - map a whole buffer for a region's next registration
 * @mr: from ib_alloc_mr(), Invalid
 * @b: the buffer
 *
 * Return: 0 or -EIO.
 */
int st_map(struct ib_mr *mr, const struct st_buf *b)
{
	int n = ib_map_mr_sg(mr, b->sg, b->npages, NULL, PAGE_SIZE);

	st_check(n == b->npages, "%d of %u pages mapped", n, b->npages);
	st_check(mr->length == b->len, "length %llu, not %u", (u64)mr->length, b->len);
	return 0;
}

/**
 * st_register - register a buffer under the region's present key, and wait
 * @e: connected
 * @mr: Invalid
 * @b: the buffer
 * @access: IB_ACCESS_*
 *
 * Return: 0 or an error.
 */
int st_register(struct st_end *e, struct ib_mr *mr, const struct st_buf *b, int access)
{
	struct st_op op;

	st_try(st_map(mr, b));
	st_try(st_reg(e, &op, mr, mr->rkey, access));
	return st_wait_ok(e, &op);
}
