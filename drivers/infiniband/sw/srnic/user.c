// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Who asks for a connection or a listener. Most of the work for it is done later,
 * in a workqueue: sockets are made there with the credentials of who asked, and
 * memory is charged to the cgroup of who asked.
 */

#include <linux/cred.h>
#include <linux/memcontrol.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include "user.h"

/**
 * srnic_user_current - remember the task that calls
 *
 * Context: process, may sleep.
 *
 * Return: the user with one reference, or NULL without memory.
 */
struct srnic_user *srnic_user_current(void)
{
	struct srnic_user *user = kzalloc(sizeof(*user), GFP_KERNEL_ACCOUNT);

	if (!user)
		return NULL;
	kref_init(&user->ref);
	user->cred = get_current_cred();
	user->memcg = get_mem_cgroup_from_mm(current->mm);
	return user;
}

static void user_release(struct kref *ref)
{
	struct srnic_user *user = container_of(ref, struct srnic_user, ref);

	put_cred(user->cred);
	mem_cgroup_put(user->memcg);
	kfree(user);
}

/**
 * srnic_user_get - one more holder
 * @user: held
 */
void srnic_user_get(struct srnic_user *user)
{
	kref_get(&user->ref);
}

/**
 * srnic_user_put - one holder less
 * @user: may be freed; may be NULL
 */
void srnic_user_put(struct srnic_user *user)
{
	if (user)
		kref_put(&user->ref, user_release);
}

/**
 * srnic_user_enter - do what follows in the name of a user
 * @user: who asked
 * @scope: for srnic_user_leave()
 *
 * Sockets get the owner and the security label of @user, and memory allocated with
 * __GFP_ACCOUNT is charged to @user. The cgroup of a socket is still that of the
 * task. Context: process.
 */
void srnic_user_enter(const struct srnic_user *user, struct srnic_user_scope *scope)
{
	scope->cred = override_creds(user->cred);
	scope->memcg = set_active_memcg(user->memcg);
}

/**
 * srnic_user_leave - end of srnic_user_enter()
 * @scope: as it was filled in
 */
void srnic_user_leave(const struct srnic_user_scope *scope)
{
	set_active_memcg(scope->memcg);
	revert_creds(scope->cred);
}
