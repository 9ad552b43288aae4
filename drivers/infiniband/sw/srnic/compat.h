/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Differences between kernels. The source is written for the newest one; what an older
 * one lacks stands here, and, of the methods of a device, in compat_verbs.h. features.sh
 * finds out what there is.
 */
#ifndef SRNIC_COMPAT_H
#define SRNIC_COMPAT_H

#include "srnic_features.h"

#ifdef SRNIC_HAVE_UNALIGNED_H
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif

#ifdef SRNIC_HAVE_RDMA_ITER_H
#include <rdma/iter.h>
#else
#include <rdma/ib_umem.h>
#endif

#include <linux/mm.h>

#ifndef SRNIC_HAVE_VM_FLAGS_MOD
static inline void vm_flags_mod(struct vm_area_struct *vma, vm_flags_t set, vm_flags_t clear)
{
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
}
#endif

struct ib_dmah;

/* without WQ_PERCPU a workqueue is per CPU unless it is WQ_UNBOUND */
#ifndef SRNIC_HAVE_WQ_PERCPU
#define WQ_PERCPU 0
#endif

/* only tests have timers of this kind */
#ifndef SRNIC_HAVE_HRTIMER_SETUP
#include <linux/hrtimer.h>

static inline void hrtimer_setup_on_stack(struct hrtimer *timer,
					  enum hrtimer_restart (*fn)(struct hrtimer *),
					  clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init_on_stack(timer, clock, mode);
	timer->function = fn;
}
#endif

/* an address whose size depends on its family */
#ifndef SRNIC_HAVE_SOCKADDR_UNSIZED
#define sockaddr_unsized sockaddr
#endif

/* without MSG_SPLICE_PAGES TCP copies what it is given */
#include <linux/socket.h>
#ifndef MSG_SPLICE_PAGES
#define MSG_SPLICE_PAGES 0
#endif

/* a kernel without the bit handles SOL_SOCKET for every socket, and does not look at the bit */
#include <linux/net.h>
#ifndef SOCK_CUSTOM_SOCKOPT
#define SOCK_CUSTOM_SOCKOPT 31
#endif

/* a kernel without skb_frags_readable() has all fragments in memory of the host */
#ifndef SRNIC_HAVE_SKB_READABLE
#include <linux/skbuff.h>

static inline bool skb_frags_readable(const struct sk_buff *skb)
{
	return true;
}
#endif

/* before Linux 6.5 sendfile() and splice() have a call of their own; now they use sendmsg */
#include <net/sock.h>
static inline void proto_ops_no_sendpage(struct proto_ops *const ops)
{
#ifdef SRNIC_HAVE_SENDPAGE
	ops->sendpage = sock_no_sendpage;
#endif
}

/* where a socket has no say in it, sk_allocation decides: with GFP_ATOMIC it uses its own */
static inline bool sk_get_task_frag(const struct sock *sk)
{
#ifdef SRNIC_HAVE_TASK_FRAG
	return sk->sk_use_task_frag;
#else
	return true;
#endif
}

static inline void sk_set_task_frag(struct sock *sk, bool use)
{
#ifdef SRNIC_HAVE_TASK_FRAG
	sk->sk_use_task_frag = use;
#endif
}

/* in a kernel without PSP no socket has an association */
#ifdef SRNIC_HAVE_PSP
#include <net/psp.h>
#else
static inline struct psp_assoc *psp_sk_assoc(const struct sock *sk)
{
	return NULL;
}
#endif

/* in a kernel without these two dma_buf_vmap() needs no lock of the caller */
#ifndef SRNIC_HAVE_DMA_BUF_UNLOCKED
#define dma_buf_vmap_unlocked dma_buf_vmap
#define dma_buf_vunmap_unlocked dma_buf_vunmap
#endif

/* before Linux 6.2 verbs have neither Flush nor Atomic Write: no region may be flushed */
#include <rdma/ib_verbs.h>
#ifndef SRNIC_HAVE_IB_FLUSH
#define IB_ACCESS_FLUSH_GLOBAL 0
#define IB_DEVICE_FLUSH_GLOBAL 0
#define IB_DEVICE_ATOMIC_WRITE 0
#define IB_WR_FLUSH 14
#define IB_WR_ATOMIC_WRITE 15
#endif

/* ... nor can older ones say that they work with memory that is paged on demand */
#ifndef SRNIC_HAVE_ODP_FLUSH
#define IB_ODP_SUPPORT_FLUSH 0
#define IB_ODP_SUPPORT_ATOMIC_WRITE 0
#endif

#ifndef SRNIC_HAVE_UMEM_GET_VA
#define ib_umem_get_va ib_umem_get
#endif

#ifndef SRNIC_HAVE_GUP_WITHOUT_VMAS
static inline long srnic_get_user_pages_remote(struct mm_struct *mm, unsigned long start,
					       unsigned long count, unsigned int flags,
					       struct page **pages, int *locked)
{
	return get_user_pages_remote(mm, start, count, flags, pages, NULL, locked);
}

/* unit tests have one of their own */
#undef get_user_pages_remote
#define get_user_pages_remote srnic_get_user_pages_remote
#endif

#endif
