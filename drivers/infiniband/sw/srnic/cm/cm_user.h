/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The user of a connection or a listener: credentials and memory cgroup of its work. */
#ifndef SRNIC_CM_USER_H
#define SRNIC_CM_USER_H

#include <linux/kref.h>
#include <linux/types.h>

struct cred;
struct mem_cgroup;
struct socket;

/**
 * struct srnic_user - a task's credentials and memory cgroup, taken at creation
 * @ref: one for each holder
 * @cred: held
 * @memcg: held; NULL where the kernel has none
 */
struct srnic_user {
	struct kref ref;
	const struct cred *cred;
	struct mem_cgroup *memcg;
};

/**
 * struct srnic_user_scope - credentials and cgroup that srnic_user_enter() replaced
 * @cred: the task's credentials
 * @memcg: the task's target of charges
 */
struct srnic_user_scope {
	const struct cred *cred;
	struct mem_cgroup *memcg;
};

struct srnic_user *srnic_user_current(void);
void srnic_user_get(struct srnic_user *user);
void srnic_user_put(struct srnic_user *user);
void srnic_user_enter(const struct srnic_user *user, struct srnic_user_scope *scope);
void srnic_user_leave(const struct srnic_user_scope *scope);
int srnic_user_own(struct socket *sock);

#endif
