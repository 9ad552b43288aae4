// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The user of a connection or a listener. A workqueue does most of the work for the user:
 * the kworker creates sockets with the user's credentials, and charges memory to the
 * user's cgroup.
 */

#include <linux/cred.h>
#include <linux/memcontrol.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/security.h>
#include <linux/slab.h>
#include <net/sock.h>
#include "cm/cm_user.h"

/**
 * srnic_user_current - take credentials and memory cgroup of the calling task
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
 * srnic_user_get - take a reference
 * @user: held
 * Context: any.
 */
void srnic_user_get(struct srnic_user *user)
{
	kref_get(&user->ref);
}

/**
 * srnic_user_put - drop a reference
 * @user: may be freed; may be NULL
 * Context: process.
 */
void srnic_user_put(struct srnic_user *user)
{
	if (user)
		kref_put(&user->ref, user_release);
}

/**
 * srnic_user_enter - take on the credentials and the memory cgroup of a user
 * @user: the user
 * @scope: filled in for srnic_user_leave()
 *
 * Sockets get the owner and the security label of @user, and memory allocated with
 * __GFP_ACCOUNT is charged to @user. A socket still gets the cgroup of the calling task.
 * Context: process.
 */
void srnic_user_enter(const struct srnic_user *user, struct srnic_user_scope *scope)
{
	scope->cred = override_creds(user->cred);
	scope->memcg = set_active_memcg(user->memcg);
}

/**
 * srnic_user_leave - undo srnic_user_enter()
 * @scope: from srnic_user_enter()
 * Context: process.
 */
void srnic_user_leave(const struct srnic_user_scope *scope)
{
	set_active_memcg(scope->memcg);
	revert_creds(scope->cred);
}

/**
 * srnic_user_own - make the calling task the owner of a socket
 * @sock: connected, and accepted by another task
 *
 * The socket gets the owner and the security label of a socket that the task would create. TCP
 * does not charge the memory of an accepted socket. Context: process, may sleep.
 *
 * Return: 0, or an errno of socket creation, if the task may not create one.
 */
int srnic_user_own(struct socket *sock)
{
	struct sock *sk = sock->sk;
	struct socket *model;
	int err;

	err = __sock_create(sock_net(sk), sk->sk_family, SOCK_STREAM, IPPROTO_TCP, &model, 0);
	if (err)
		return err;
	lock_sock(sk);
	security_sk_clone(model->sk, sk);
	security_sock_graft(sk, sock);
	SOCK_INODE(sock)->i_uid = SOCK_INODE(model)->i_uid;
	SOCK_INODE(sock)->i_gid = SOCK_INODE(model)->i_gid;
	WRITE_ONCE(sk->sk_uid, SOCK_INODE(model)->i_uid);
	release_sock(sk);
	sock_release(model);
	return 0;
}
