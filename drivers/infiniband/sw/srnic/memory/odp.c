// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * On-demand paging: user memory that is registered and not pinned. A page is taken in when it is
 * accessed, through the tables of the process, whose rights and limits apply then. From that
 * moment on the region knows the page's address, without a reference to it, until the MMU
 * notifier tells that the process loses the page, or a right to it.
 *
 * A copy into or out of a page holds the region's lock for reading; the notifier takes it for
 * writing to forget pages. So when the notifier returns no copy touches them. The lock is no
 * mutex: copies are made in softirq, and notifiers are called in the reclaim of memory. Readers in
 * softirq pass a writer that waits for such a lock, and would keep it waiting for as long as copies
 * overlap. So both go through a gate first, where the writer stays.
 *
 * A page that is to be written is marked dirty when it is taken in. Whoever cleans it calls the
 * notifier first, so the next access takes it in anew.
 *
 * Page by page, as the process may have them anywhere. All of a process's address space is a
 * region like any other: the table is sparse.
 */

#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/xarray.h>
#include "compat.h"
#include "memory/odp.h"
#include "srnic.h"

/* Pages that are taken in at a time: those of the largest FPDU */
#define ODP_BATCH	17
/*
 * If the process loses pages again and again an access takes them in so often at least, and for so
 * long. A thread that does nothing else leaves room for a page once in hundreds of times.
 */
#define ODP_TRIES	1000
#define ODP_PATIENCE	(2 * HZ)
/* Pages that are forgotten at a time: copies wait so long */
#define ODP_FORGET	256
/* The tag of a page that may be written */
#define ODP_WRITABLE	1

/**
 * struct srnic_odp - pages of a process
 * @notifier: of the process's memory, in the range of the region; refers to its mm
 * @dev: counts
 * @memcg: of the process, charged for pages of files and for the table; referenced
 * @gate: taken before @lock; held until a copy has that, and over changes
 * @lock: held for reading over a copy, in softirq, too; for writing over changes of @pages
 * @pages: by user address / PAGE_SIZE: kernel address of the page, tagged
 */
struct srnic_odp {
	struct mmu_interval_notifier notifier;
	struct srnic_device *dev;
	struct mem_cgroup *memcg;
	spinlock_t gate;	/* see above */
	rwlock_t lock;	/* see above */
	struct xarray pages;
};

static void copy_begins(struct srnic_odp *odp)
	__acquires(&odp->lock)
{
	spin_lock_bh(&odp->gate);
	read_lock(&odp->lock);
	spin_unlock(&odp->gate);
}

static void copy_ends(struct srnic_odp *odp)
	__releases(&odp->lock)
{
	read_unlock_bh(&odp->lock);
}

/* Waits for the copies that have begun */
static void change_begins(struct srnic_odp *odp)
	__acquires(&odp->gate) __acquires(&odp->lock)
{
	spin_lock_bh(&odp->gate);
	write_lock(&odp->lock);
}

static void change_ends(struct srnic_odp *odp)
	__releases(&odp->lock) __releases(&odp->gate)
{
	write_unlock(&odp->lock);
	spin_unlock_bh(&odp->gate);
}

/*
 * A change has begun, and ends from time to time: there may be very many pages. Return: how many
 * are forgotten
 */
static unsigned long odp_forget(struct srnic_odp *odp, unsigned long first, unsigned long last,
				bool may_sleep)
	__must_hold(&odp->gate) __must_hold(&odp->lock)
{
	unsigned long i, count = 0;
	void *page;

	xa_for_each_range(&odp->pages, i, page, first, last) {
		xa_erase(&odp->pages, i);
		if (++count % ODP_FORGET)
			continue;
		change_ends(odp);
		if (may_sleep)
			cond_resched();
		change_begins(odp);
	}
	return count;
}

/* The process is losing pages, or rights to them. Waits for copies, and for nothing else. */
static bool odp_invalidate(struct mmu_interval_notifier *notifier,
			   const struct mmu_notifier_range *range, unsigned long seq)
{
	struct srnic_odp *odp = container_of(notifier, struct srnic_odp, notifier);
	unsigned long first = range->start >> PAGE_SHIFT, last = (range->end - 1) >> PAGE_SHIFT;
	unsigned long count;

	change_begins(odp);
	/* from now on no page comes in that odp_store() did not store before */
	mmu_interval_set_seq(notifier, seq);
	count = odp_forget(odp, first, last, mmu_notifier_range_blockable(range));
	change_ends(odp);
	srnic_count_often(odp->dev, SRNIC_CNT_ODP_INVALIDATION, count);
	return true;
}

static const struct mmu_interval_notifier_ops odp_ops = {
	.invalidate = odp_invalidate,
};

/**
 * srnic_odp_new - begin with memory of the calling process
 * @dev: the device
 * @start: user address
 * @length: bytes, not zero; U64_MAX from address 0 on is all of the address space
 *
 * The process need not have the memory yet. Context: process, may sleep.
 *
 * Return: no page yet; or an ERR_PTR: -EINVAL for a range that no process can have, -ENOMEM,
 * -EINTR.
 */
struct srnic_odp *srnic_odp_new(struct srnic_device *dev, u64 start, u64 length)
{
	unsigned long first = start & PAGE_MASK, last;
	struct srnic_odp *odp;
	u64 end;
	int err;

	if (check_add_overflow(start, length - 1, &end) || end > ULONG_MAX)
		return ERR_PTR(-EINVAL);
	last = end | ~PAGE_MASK;
	/* the interval's length has to fit a long */
	if (!first && last == ULONG_MAX)
		last -= PAGE_SIZE;
	odp = kzalloc(sizeof(*odp), GFP_KERNEL_ACCOUNT);
	if (!odp)
		return ERR_PTR(-ENOMEM);
	odp->dev = dev;
	spin_lock_init(&odp->gate);
	rwlock_init(&odp->lock);
	xa_init_flags(&odp->pages, XA_FLAGS_LOCK_BH | XA_FLAGS_ACCOUNT);
	err = mmu_interval_notifier_insert(&odp->notifier, current->mm, first, last - first + 1,
					   &odp_ops);
	if (err) {
		kfree(odp);
		return ERR_PTR(err);
	}
	odp->memcg = get_mem_cgroup_from_mm(current->mm);
	return odp;
}

/**
 * srnic_odp_free - end with memory of a process
 * @odp: nothing accesses it; may be NULL
 * Context: process, may sleep.
 */
void srnic_odp_free(struct srnic_odp *odp)
{
	if (!odp)
		return;
	mmu_interval_notifier_remove(&odp->notifier);
	/* what is left to xa_destroy() goes with interrupts off */
	change_begins(odp);
	odp_forget(odp, 0, ULONG_MAX, true);
	change_ends(odp);
	xa_destroy(&odp->pages);
	mem_cgroup_put(odp->memcg);
	kfree(odp);
}

/* odp->lock is held. Return: the page's address, or NULL if it is not here, with this right */
static void *odp_find(const struct srnic_odp *odp, u64 addr, bool write)
{
	void *page = xa_load((struct xarray *)&odp->pages, addr >> PAGE_SHIFT);

	if (!page || (write && xa_pointer_tag(page) != ODP_WRITABLE))
		return NULL;
	return xa_untag_pointer(page);
}

/*
 * The process had these pages at @seq. Places in the table are made while that may sleep.
 * Return: -EAGAIN if the process may have lost some since; -ENOMEM
 */
static int odp_store(struct srnic_odp *odp, unsigned long first, struct page **pages, int count,
		     bool write, unsigned long seq)
{
	int i, err = 0;

	for (i = 0; i < count && !err; i++)
		err = xa_reserve_bh(&odp->pages, first + i, GFP_KERNEL);
	if (err)
		return err;
	change_begins(odp);
	if (mmu_interval_read_retry(&odp->notifier, seq))
		err = -EAGAIN;
	for (i = 0; i < count && !err; i++) {
		void *page = xa_tag_pointer(page_address(pages[i]), write ? ODP_WRITABLE : 0);

		/* another fault that failed may have given up the place */
		if (xa_is_err(xa_store(&odp->pages, first + i, page, 0)))
			err = -EAGAIN;
	}
	change_ends(odp);
	return err;
}

/* Places that were made, and not used, go */
static void odp_unreserve(struct srnic_odp *odp, unsigned long first, int count)
{
	while (count-- > 0)
		xa_cmpxchg_bh(&odp->pages, first + count, XA_ZERO_ENTRY, NULL, 0);
}

/*
 * The process cannot end meanwhile. Return: pages taken in from @addr on; -EAGAIN if the process
 * has lost some meanwhile; or another errno
 */
static int odp_take_in(struct srnic_odp *odp, u64 addr, int count, enum srnic_odp_want want)
{
	struct mm_struct *mm = odp->notifier.mm;
	unsigned int flags = want == SRNIC_ODP_WRITE ? FOLL_WRITE :
			     want == SRNIC_ODP_PRESENT ? FOLL_NOFAULT : 0;
	unsigned long first = addr >> PAGE_SHIFT, seq;
	struct page *pages[ODP_BATCH];
	int got, i, err;

	seq = mmu_interval_read_begin(&odp->notifier);
	mmap_read_lock(mm);
	/* mmap_lock stays held */
	got = get_user_pages_remote(mm, addr & PAGE_MASK, count, flags, pages, NULL);
	mmap_read_unlock(mm);
	if (got > 0)
		err = odp_store(odp, first, pages, got, want == SRNIC_ODP_WRITE, seq);
	else
		err = got == -ENOMEM ? got : -EFAULT;
	for (i = 0; i < got; i++)
		put_page(pages[i]);
	if (err)
		got = 0;
	odp_unreserve(odp, first + got, count - got);
	return err ?: got;
}

/*
 * Take in pages from @addr on, one at least, those of @len bytes at most. The caller may be a
 * kthread of the QP, or another process. Return: as odp_take_in().
 */
static int odp_fault(struct srnic_odp *odp, u64 addr, u64 len, enum srnic_odp_want want)
{
	unsigned long off = offset_in_page(addr);
	unsigned long end = off + min_t(u64, len, ODP_BATCH * PAGE_SIZE - off);
	struct mm_struct *mm = odp->notifier.mm;
	struct mem_cgroup *old;
	int got;

	/* a tag is no part of an address: the notifier would not find the page */
	if (addr >= mm->task_size)
		return -EFAULT;
	if (!mmget_not_zero(mm))
		return -EFAULT;	/* the process has ended */
	old = set_active_memcg(odp->memcg);
	got = odp_take_in(odp, addr, DIV_ROUND_UP(end, PAGE_SIZE), want);
	set_active_memcg(old);
	/* its end, if this is it, must not be this task's work: it may wait for this task */
	mmput_async(mm);
	return got;
}

/**
 * srnic_odp_walk - access memory piece by piece
 * @odp: kept by the caller
 * @addr: user address
 * @len: bytes, of an FPDU at most: softirqs are off over them
 * @write: the pages are written
 * @may_sleep: a page that is not here is taken in
 * @fn: called for each piece, in order
 * @ctx: its argument
 *
 * Context: process or softirq; sleeps only if @may_sleep.
 *
 * Return: 0; -EAGAIN if a page is not here and the caller may not sleep; another errno if the
 * process does not have a page, or not with this right, or loses what was taken in before @fn is
 * called, ODP_TRIES times and for ODP_PATIENCE. In case of an error @fn may have been called for
 * pieces before it.
 */
int srnic_odp_walk(struct srnic_odp *odp, u64 addr, u32 len, bool write, bool may_sleep,
		   srnic_span_fn fn, void *ctx)
{
	enum srnic_odp_want want = write ? SRNIC_ODP_WRITE : SRNIC_ODP_READ;
	unsigned long until = 0;
	int tries = 0, got = 0;
	void *page;

	for (;;) {
		copy_begins(odp);
		while (len && (page = odp_find(odp, addr, write))) {
			u32 n = min_t(u32, len, PAGE_SIZE - offset_in_page(addr));

			fn(ctx, page + offset_in_page(addr), n);
			addr += n;
			len -= n;
		}
		copy_ends(odp);
		if (!len)
			return 0;
		if (!may_sleep)
			return -EAGAIN;
		/* whoever loses them for ever must not hold the QP's kthread */
		if (!tries++)
			until = jiffies + ODP_PATIENCE;
		else if (tries > ODP_TRIES && time_after(jiffies, until))
			return -EFAULT;
		/* all at once, but where some were lost, one by one: that takes less time */
		got = odp_fault(odp, addr, got < 0 ? 1 : len, want);
		if (got < 0 && got != -EAGAIN)
			return got;
		srnic_count_often(odp->dev, SRNIC_CNT_ODP_FAULT, max(got, 0));
	}
}

/**
 * srnic_odp_prefetch - take pages in before they are accessed
 * @odp: kept by the caller
 * @addr: user address
 * @len: bytes
 * @want: what for
 *
 * Context: process, may sleep; a signal that ends the task ends the call.
 *
 * Return: 0; -EFAULT if the process does not have all of the memory, or not with this right,
 * except for SRNIC_ODP_PRESENT; -ENOMEM; -EINTR.
 */
int srnic_odp_prefetch(struct srnic_odp *odp, u64 addr, u64 len, enum srnic_odp_want want)
{
	while (len) {
		int got = odp_fault(odp, addr, len, want);
		u64 n;

		if (fatal_signal_pending(current))
			return -EINTR;
		/* what was lost again meanwhile was here */
		if (got < 0 && got != -EAGAIN && (want != SRNIC_ODP_PRESENT || got == -ENOMEM))
			return got;
		if (got > 0)
			srnic_count_often(odp->dev, SRNIC_CNT_ODP_PREFETCH, got);
		n = max(got, 1) * PAGE_SIZE - offset_in_page(addr);
		n = min(n, len);
		addr += n;
		len -= n;
		cond_resched();
	}
	return 0;
}
