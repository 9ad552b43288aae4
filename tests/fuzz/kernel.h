/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * As much of the kernel as rx.c, place.c and read.c need to compile in user space: one thread, so
 * locks and wake-ups do nothing. scripts/fuzz makes files with the names of the kernel's headers,
 * each of which includes this file.
 */
#ifndef SRNIC_FUZZ_KERNEL_H
#define SRNIC_FUZZ_KERNEL_H

#include <linux/types.h>
#include <endian.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/types.h>
#include "wire/os.h"

#define HZ			100
#define __force
#define cpu_to_be32(x)		htobe32(x)
#define likely(cond)		(cond)
#define unlikely(cond)		(cond)
#define PAGE_SHIFT		12
#define U16_MAX			0xffff
#define GENMASK(h, l)		((~0UL << (l)) & (~0UL >> (63 - (h))))
#define WRITE_ONCE(x, v)	((x) = (v))
#define BUILD_BUG_ON(cond)	_Static_assert(!(cond), #cond)
#define struct_size(p, member, n) \
	(sizeof(*(p)) + sizeof((p)->member[0]) * (size_t)(n))
#define container_of(p, type, member) \
	((type *)((char *)(p) - offsetof(type, member)))

/* memory */
#define GFP_KERNEL		0
#define GFP_KERNEL_ACCOUNT	0
#define __GFP_NOWARN		0
#define kzalloc(size, gfp)	calloc(1, size)
#define kfree(p)		free(p)
struct mem_cgroup;
static inline struct mem_cgroup *set_active_memcg(struct mem_cgroup *memcg)
{
	return NULL;
}
#define kvmalloc(size, gfp)	fuzz_kvmalloc(size)
#define kvfree(p)		fuzz_kvfree(p)

/* defined by the harness */
void *fuzz_kvmalloc(size_t size);
void fuzz_kvfree(void *p);

/* locks, counts, wake-ups */
struct list_head { struct list_head *next, *prev; };
struct bio_vec { void *bv_page; unsigned int bv_len, bv_offset; };
struct page;
struct page_frag { struct page *page; u32 offset, size; };
struct work_struct { int unused; };
struct rcu_head { int unused; };
struct workqueue_struct;
struct delayed_work { int unused; };
struct net;
struct sockaddr_storage;
typedef struct { int unused; } spinlock_t, wait_queue_head_t, netdevice_tracker;
typedef struct { int v; } atomic_t;
typedef struct { long v; } atomic_long_t;
struct mutex { int unused; };
struct completion { int unused; };
struct kref { int unused; };
typedef struct { unsigned int val; } kuid_t;
struct xarray { int unused; };
#define XA_PRESENT		0

static inline void *xa_find(struct xarray *xa, unsigned long *index, unsigned long max, int filter)
{
	return NULL;
}

#define spin_lock(l)			((void)(l))
#define spin_unlock(l)			((void)(l))
#define spin_lock_init(l)		((void)(l))
#define lockdep_assert_held(l)		((void)(l))
#define spin_lock_bh(l)			((void)(l))
#define spin_unlock_bh(l)		((void)(l))
#define __acquires(l)
#define __releases(l)
#define spin_lock_irqsave(l, f)		((void)(l), (f) = 0)
#define spin_unlock_irqrestore(l, f)	((void)(l), (void)(f))
#define smp_mb()			barrier()
#define smp_wmb()			barrier()
#define smp_mb__before_atomic()		barrier()
#define smp_mb__after_atomic()		barrier()
#define smp_load_acquire(p)		(*(p))
#define smp_store_release(p, v)		((void)(*(p) = (v)))
#define wake_up(w)			((void)(w))
#define queue_work(wq, w)		((void)(wq), (void)(w))
#define cond_resched()			barrier()
#define kthread_should_stop()		false

/* a kthread that waits does not return; defined by the harness */
__attribute__((noreturn)) void fuzz_sleep(void);
#define wait_event_idle(w, cond) \
	do { \
		if (!(cond)) \
			fuzz_sleep(); \
	} while (0)
/* no endless wait: in one thread nothing else would make the condition true */
long fuzz_sleep_for(long timeout);
#define wait_event_idle_timeout(w, cond, timeout) \
	((cond) ? (timeout) : fuzz_sleep_for(timeout))
#define MAX_SCHEDULE_TIMEOUT		LONG_MAX
long schedule_timeout_idle(long timeout);
#define set_current_state(state)	barrier()
#define __set_current_state(state)	barrier()
typedef int64_t ktime_t;
#define ns_to_ktime(ns)			(ns)
int schedule_hrtimeout_range(ktime_t *expires, u64 delta, int mode);
#define HRTIMER_MODE_REL		0

extern unsigned long jiffies;
/* defined by the harness */
u64 ktime_get_ns(void);
#define NSEC_PER_USEC			1000
#define time_before(a, b)		((long)((a) - (b)) < 0)
#define max_t(type, a, b)		((type)(a) > (type)(b) ? (type)(a) : (type)(b))
#define usecs_to_jiffies(us)		((unsigned long)(us) * HZ / 1000000)

/* one CPU */
#define __percpu
#define for_each_possible_cpu(cpu)	for ((cpu) = 0; (cpu) < 1; (cpu)++)
#define per_cpu_ptr(p, cpu)		((p) + (cpu))
#define this_cpu_inc(v)			((void)(v)++)
#define __this_cpu_add(v, n)		((void)((v) += (n)))
#define local_bh_disable()		barrier()
#define local_bh_enable()		barrier()

static inline void set_bit(int bit, unsigned long *word)
{
	*word |= 1UL << bit;
}

static inline void clear_bit(int bit, unsigned long *word)
{
	*word &= ~(1UL << bit);
}

static inline bool test_bit(int bit, const unsigned long *word)
{
	return *word >> bit & 1;
}

static inline bool test_and_clear_bit(int bit, unsigned long *word)
{
	bool was = test_bit(bit, word);

	clear_bit(bit, word);
	return was;
}

/* RDMA core */
#define ibdev_warn_ratelimited(dev, ...)	((void)(dev))
struct ib_device { int unused; };
struct ib_pd { int unused; };
struct ib_cq { int unused; };
struct ib_srq { struct ib_pd *pd; };
struct ib_ucontext { int unused; };
struct rdma_user_mmap_entry { int unused; };
struct ib_qp {
	struct ib_device *device;
	struct ib_pd *pd;
	u32 qp_num;
};
enum ib_qp_state { IB_QPS_RESET };
enum ib_event_type { IB_EVENT_UNUSED };

struct ib_device_attr;
struct ib_mr;
struct ib_mw;
struct ib_port_attr;
struct ib_port_immutable;
struct ib_qp_init_attr;
struct ib_recv_wr;
struct ib_send_wr;
struct ib_srq_attr;
struct ib_udata;
struct ib_device_ops { int unused; };
struct uapi_definition { int unused; };
struct net_device;
struct rdma_hw_stats;
struct sk_buff;
struct sock;
struct socket;
struct task_struct;
struct vm_area_struct;
union ib_gid { u8 raw[16]; };
struct rdma_ah_attr { int port_num; };

#endif
