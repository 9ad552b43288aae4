// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Quotas of a device's objects and memory. All users together get as many as the device
 * reports, and one user half of them, so that no user can take all. What kernel consumers hold
 * is counted apart: a disk that is connected again does not depend on what programs have left.
 * The connected QPs of each user are counted for all devices together.
 */

#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>
#include <linux/xarray.h>
#include "queue/holder.h"

/* A user's part is the most that there may be, divided by this */
#define HOLDER_PART	2

static const long most[SRNIC_KINDS] = {
	[SRNIC_KIND_PD]	 = SRNIC_MAX_PD,
	[SRNIC_KIND_CQ]	 = SRNIC_MAX_CQ,
	[SRNIC_KIND_SRQ] = SRNIC_MAX_SRQ,
	[SRNIC_KIND_QP]	 = SRNIC_MAX_QP,
	[SRNIC_KIND_MR]	 = SRNIC_MAX_MR,
	[SRNIC_KIND_MW]	 = SRNIC_MAX_MW,
	[SRNIC_KIND_AH]	 = SRNIC_MAX_AH,
	[SRNIC_KIND_DM]	 = SRNIC_MAX_DM,
};

/**
 * srnic_user_key - the user that the calling task counts as
 *
 * The real user, as for RLIMIT_NPROC. The maker of a user namespace can be many users in it, so
 * the maker of the outermost namespace counts instead. But root makes containers for many owners:
 * each container, with all its users, is one user, whose number is above those of real users.
 * Context: process.
 *
 * Return: a number of that user alone.
 */
u32 srnic_user_key(void)
{
	const struct user_namespace *ns = current_user_ns();

	if (ns == &init_user_ns)
		return __kuid_val(current_uid());
	while (ns->parent != &init_user_ns)
		ns = ns->parent;
	return uid_eq(ns->owner, GLOBAL_ROOT_UID) ? ns->ns.inum : __kuid_val(ns->owner);
}

/**
 * srnic_holders_init - initialise the shares of the users of a device
 * @dev: being made
 * Context: process, may sleep.
 */
void srnic_holders_init(struct srnic_device *dev)
{
	mutex_init(&dev->holders_lock);
	INIT_LIST_HEAD(&dev->holders);
}

/**
 * srnic_holders_exit - the end of srnic_holders_init()
 * @dev: has no users any more
 * Context: process, may sleep.
 */
void srnic_holders_exit(struct srnic_device *dev)
{
	WARN_ON_ONCE(!list_empty(&dev->holders));
	mutex_destroy(&dev->holders_lock);
}

/* dev->holders_lock is held. Return: the holder with @key, perhaps new; NULL without memory */
static struct srnic_holder *holder_of(struct srnic_device *dev, u32 key)
{
	struct srnic_holder *holder;

	list_for_each_entry(holder, &dev->holders, entry)
		if (holder->key == key)
			return holder;
	holder = kzalloc(sizeof(*holder), GFP_KERNEL_ACCOUNT);
	if (!holder)
		return NULL;
	holder->key = key;
	list_add(&holder->entry, &dev->holders);
	return holder;
}

/**
 * srnic_holder_open - the calling task begins to use a device
 * @dev: the device
 *
 * Context: process, may sleep.
 *
 * Return: the holder that the task's objects count against, to be given to
 * srnic_holder_close() when all of them are gone; NULL without memory.
 */
struct srnic_holder *srnic_holder_open(struct srnic_device *dev)
{
	struct srnic_holder *holder;

	mutex_lock(&dev->holders_lock);
	holder = holder_of(dev, srnic_user_key());
	if (holder)
		holder->uses++;
	mutex_unlock(&dev->holders_lock);
	return holder;
}

/**
 * srnic_holder_close - end of srnic_holder_open()
 * @dev: the device
 * @holder: may be freed
 *
 * Context: process, may sleep.
 */
void srnic_holder_close(struct srnic_device *dev, struct srnic_holder *holder)
{
	mutex_lock(&dev->holders_lock);
	if (!--holder->uses) {
		list_del(&holder->entry);
		kfree(holder);
	}
	mutex_unlock(&dev->holders_lock);
}

static int add(atomic_long_t *held, long n, long max)
{
	if (atomic_long_add_return(n, held) <= max)
		return 0;
	atomic_long_sub(n, held);
	return -ENOMEM;
}

/**
 * srnic_take - one object more
 * @dev: the device
 * @holder: its user; NULL: a kernel consumer's
 * @kind: of what
 * @n: 1; of memory: bytes
 *
 * With CAP_SYS_RESOURCE a user may have more than its part, but not more than there is. Context:
 * process.
 *
 * Return: 0; -EDQUOT if the user has its part (obj_user_limit); -ENOMEM if all are taken.
 */
int srnic_take(struct srnic_device *dev, struct srnic_holder *holder, enum srnic_kind kind,
	       long n)
{
	int err;

	if (!holder)
		return add(&dev->held_kernel[kind], n, most[kind]);
	if (atomic_long_add_return(n, &holder->held[kind]) > most[kind] / HOLDER_PART &&
	    !capable(CAP_SYS_RESOURCE)) {
		srnic_count(dev, SRNIC_CNT_OBJ_USER_LIMIT);
		err = -EDQUOT;
	} else {
		err = add(&dev->held_users[kind], n, most[kind]);
	}
	if (err)
		atomic_long_sub(n, &holder->held[kind]);
	return err;
}

/**
 * srnic_give - one object less
 * @dev: the device
 * @holder: as for srnic_take()
 * @kind: as for srnic_take()
 * @n: as for srnic_take()
 *
 * Context: any.
 */
void srnic_give(struct srnic_device *dev, struct srnic_holder *holder, enum srnic_kind kind,
		long n)
{
	if (holder) {
		atomic_long_sub(n, &holder->held[kind]);
		atomic_long_sub(n, &dev->held_users[kind]);
	} else {
		atomic_long_sub(n, &dev->held_kernel[kind]);
	}
}

/**
 * srnic_held - count the objects of a kind that exist
 * @dev: the device
 * @kind: of what
 *
 * Context: any. Return: their number.
 */
long srnic_held(const struct srnic_device *dev, enum srnic_kind kind)
{
	return atomic_long_read(&dev->held_users[kind]) +
	       atomic_long_read(&dev->held_kernel[kind]);
}

/* ----- number of connected QPs of a user ----- */

/*
 * A value entry per user, indexed by the user's key; a user without an entry has none. The
 * count is of all devices together, since the scarce resource, threads, belongs to the host.
 */
static DEFINE_XARRAY(srnic_user_qps);

/* Return: 0; -EDQUOT if the user has @max already, unless @max is 0; -ENOMEM */
static int user_add(u32 key, u32 max)
{
	void *old, *seen = xa_load(&srnic_user_qps, key);
	unsigned long n;

	do {
		old = seen;
		n = old ? xa_to_value(old) : 0;
		if (max && n >= max && !capable(CAP_SYS_RESOURCE))
			return -EDQUOT;
		seen = xa_cmpxchg(&srnic_user_qps, key, old, xa_mk_value(n + 1),
				  GFP_KERNEL_ACCOUNT);
		if (xa_is_err(seen))
			return xa_err(seen);
	} while (seen != old);
	return 0;
}

/**
 * srnic_user_charge - count one more connected QP of the calling task's user
 * @dev: whose policy has the limit; its counter of refusals is incremented
 * @key: set, for srnic_user_uncharge()
 *
 * A task with CAP_SYS_RESOURCE has no limit. Context: process, may sleep.
 *
 * Return: 0; -EDQUOT if the limit is reached; -ENOMEM.
 */
int srnic_user_charge(struct srnic_device *dev, u32 *key)
{
	int err;

	*key = srnic_user_key();
	err = user_add(*key, srnic_policy_get(&dev->policy).max_user_qps);
	if (err == -EDQUOT)
		srnic_count(dev, SRNIC_CNT_CONN_USER_LIMIT);
	return err;
}

/**
 * srnic_user_charge_stream - count what a QP has left behind as one more connected QP of its user
 * @key: the user, see srnic_user_key()
 *
 * There is no limit here: what is counted exists. Context: process, may sleep.
 *
 * Return: 0, and srnic_user_uncharge() is due; -ENOMEM.
 */
int srnic_user_charge_stream(u32 key)
{
	return user_add(key, 0);
}

/**
 * srnic_user_uncharge - count one connected QP less
 * @key: from srnic_user_charge(), or of srnic_user_charge_stream()
 *
 * Context: process.
 */
void srnic_user_uncharge(u32 key)
{
	unsigned long n;

	xa_lock(&srnic_user_qps);
	n = xa_to_value(xa_load(&srnic_user_qps, key)) - 1;
	/* the entry exists: the store allocates nothing, and does not drop the lock */
	__xa_store(&srnic_user_qps, key, n ? xa_mk_value(n) : NULL, GFP_ATOMIC);
	xa_unlock(&srnic_user_qps);
}

/**
 * srnic_user_max_default - how many QPs of a user leave the host enough threads?
 *
 * Each QP has two threads at most. The kernel allows as many threads (kernel.threads-max)
 * as have stacks in an eighth of the memory, and one user half of them
 * (RLIMIT_NPROC). The connections of a user take an eighth of them at most. Context: any.
 * Return: the number of connected QPs.
 */
u32 srnic_user_max_default(void)
{
	u64 threads = div64_u64((u64)totalram_pages() << PAGE_SHIFT, THREAD_SIZE * 8);

	return clamp_t(u64, threads / 8 / 2, 16, SRNIC_USER_MAX_QPS);
}
