// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Reading what was received where it is, in TCP's buffers, by a cursor that keeps its place. */

#include <linux/highmem.h>
#include <linux/skbuff.h>
#include <net/tcp.h>
#include "compat.h"
#include "engine/stream.h"

/* Move to the buffer of the position. Buffers may overlap: the sequence number tells the offset. */
static void cursor_next(struct srnic_cursor *cur)
{
	u32 seq = TCP_SKB_CB(cur->skb)->seq + cur->off;

	do {
		cur->skb = skb_queue_next(cur->queue, cur->skb);
		cur->off = seq - TCP_SKB_CB(cur->skb)->seq;
	} while (cur->off >= cur->skb->len);
	cur->part = NULL;
}

/* Find the part that has the position, from the head of the buffer; parts may have parts */
static void cursor_find(struct srnic_cursor *cur)
{
	struct sk_buff *part = cur->skb;
	u32 left = cur->off;

	while (left >= skb_pagelen(part)) {
		left -= skb_pagelen(part);
		for (part = skb_shinfo(part)->frag_list; left >= part->len; part = part->next)
			left -= part->len;
	}
	cur->part = part;
	cur->frag = 0;
	cur->begin = cur->off - left;
}

static const skb_frag_t *cursor_frag(const struct srnic_cursor *cur)
{
	return &skb_shinfo(cur->part)->frags[cur->frag - 1];
}

/* Bytes of the linear data or fragment that @cur has got to */
static u32 cursor_size(const struct srnic_cursor *cur)
{
	return cur->frag ? skb_frag_size(cursor_frag(cur)) : skb_headlen(cur->part);
}

/* How many of @len bytes are in one piece at @cur? At least one is, and @cur gets to it */
static u32 cursor_fit(struct srnic_cursor *cur, u32 len)
{
	if (cur->off >= cur->skb->len)
		cursor_next(cur);
	if (!cur->part)
		cursor_find(cur);
	while (cur->off - cur->begin >= cursor_size(cur)) {
		cur->begin += cursor_size(cur);
		if (cur->frag < skb_shinfo(cur->part)->nr_frags) {
			cur->frag++;
		} else if (cur->part != cur->skb && cur->part->next &&
			   !skb_has_frag_list(cur->part)) {
			cur->part = cur->part->next;
			cur->frag = 0;
		} else {	/* into a list, or out of a list that is within another */
			cursor_find(cur);
		}
	}
	return min(len, cur->begin + cursor_size(cur) - cur->off);
}

/*
 * Map the bytes that are in one piece at @cur, at most @len, which is set to their number.
 * They may be used until cursor_pass(), also by a caller that sleeps.
 */
static const u8 *cursor_map(struct srnic_cursor *cur, u32 *len)
{
	struct page *page;
	u32 at;

	if (cur->at)
		return cur->at;
	*len = cursor_fit(cur, *len);
	at = cur->off - cur->begin;
	if (!cur->frag)
		return cur->part->data + at;
	at += skb_frag_off(cursor_frag(cur));
	page = skb_frag_page(cursor_frag(cur)) + (at >> PAGE_SHIFT);
	at = offset_in_page(at);
	if (skb_frag_must_loop(page))
		*len = min_t(u32, *len, PAGE_SIZE - at);
	return (u8 *)kmap_local_page(page) + at;
}

/* Unmap @data, from cursor_map(), and go on behind its @len bytes */
static void cursor_pass(struct srnic_cursor *cur, const u8 *data, u32 len)
{
	if (cur->frag)
		kunmap_local(data);
	srnic_cursor_skip(cur, len);
}

/**
 * srnic_cursor_is_readable - are bytes in memory that the CPU can read?
 * @cur: a cursor with @len bytes behind it
 * @len: how many
 *
 * To be called before any other function looks at the bytes. Context: any, with the socket locked.
 */
bool srnic_cursor_is_readable(struct srnic_cursor cur, u32 len)
{
	while (!cur.at && len) {
		u32 n = cursor_fit(&cur, len);

		if (!skb_frags_readable(cur.part))
			return false;
		cur.off += n;
		len -= n;
	}
	return true;
}

/**
 * srnic_cursor_copy - copy bytes, and go on behind them
 * @cur: a cursor with @len bytes behind it
 * @dst: where to
 * @len: how many
 * Context: any, with the socket locked.
 */
void srnic_cursor_copy(struct srnic_cursor *cur, void *dst, u32 len)
{
	while (len) {
		u32 n = len;
		const u8 *data = cursor_map(cur, &n);

		memcpy(dst, data, n);
		cursor_pass(cur, data, n);
		dst += n;
		len -= n;
	}
}

/**
 * srnic_cursor_walk - look at bytes where they are, piece by piece, and go on behind them
 * @cur: a cursor with @len bytes behind it
 * @len: how many
 * @actor: called for each piece, in order
 * @ctx: its argument
 *
 * Context: any, with the socket locked; sleeps as much as @actor does.
 */
void srnic_cursor_walk(struct srnic_cursor *cur, u32 len, srnic_stream_actor actor, void *ctx)
{
	while (len) {
		u32 n = len;
		const u8 *data = cursor_map(cur, &n);

		actor(ctx, data, n);
		cursor_pass(cur, data, n);
		len -= n;
	}
}
