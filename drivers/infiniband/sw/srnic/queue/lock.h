/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The lock of a queue. */
#ifndef SRNIC_LOCK_H
#define SRNIC_LOCK_H

#include <linux/spinlock.h>

/**
 * struct srnic_lock - the lock of a work queue or completion queue
 * @lock: the lock
 * @irqs: the lock is taken with interrupts off
 *
 * A kernel consumer may post and poll in any context. A program's queues are touched by
 * tasks and softirqs only, so interrupts stay on: to turn them off for each message costs
 * more than the rest of the lock.
 */
struct srnic_lock {
	spinlock_t lock;	/* held over changes of the queue it belongs to */
	bool irqs;
};

/*
 * A macro, so that lockdep has two classes for each kind of queue: those of programs and of the
 * kernel are locked in different contexts.
 */
#define srnic_lock_init(_lock, _kernel) do {				\
	struct srnic_lock *_l = (_lock);				\
									\
	_l->irqs = (_kernel);						\
	if (_l->irqs)							\
		spin_lock_init(&_l->lock);				\
	else								\
		spin_lock_init(&_l->lock);				\
} while (0)

/**
 * srnic_lock - take the lock
 * @l: the lock
 *
 * Context: any for a kernel consumer's queue; task or softirq with interrupts on for a program's.
 *
 * Return: to be given to srnic_unlock().
 */
static inline unsigned long srnic_lock(struct srnic_lock *l)
	__acquires(&l->lock)
{
	unsigned long flags = 0;

	if (l->irqs)
		spin_lock_irqsave(&l->lock, flags);
	else
		spin_lock_bh(&l->lock);
	return flags;
}

/* For functions that are called with the lock held */
static inline void srnic_assert_locked(const struct srnic_lock *l)
{
	lockdep_assert_held(&l->lock);
}

/**
 * srnic_unlock - let go of the lock
 * @l: the lock
 * @flags: from srnic_lock()
 */
static inline void srnic_unlock(struct srnic_lock *l, unsigned long flags)
	__releases(&l->lock)
{
	if (l->irqs)
		spin_unlock_irqrestore(&l->lock, flags);
	else
		spin_unlock_bh(&l->lock);
}

#endif
