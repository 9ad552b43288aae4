// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * srnic_selftest: tests an RDMA device as a kernel consumer. Controlled by
 * debugfs, srnic_selftest/:
 *
 *	tests	names of the tests and what they are about
 *	run	write "NAME CLIENT-FD SERVER-FD ADDRESS PORT": run a test; the
 *		write fails if the test does. The FDs are the writer's, open on
 *		network namespaces (/run/netns/...); the address is the server's.
 *	log	what the last test had to say
 *	lock	write an FD: lock this socket of the writer's, until the writer gets a
 *		signal. A call on a socket whose data is memory that FUSE supplies
 *		does that, too
 */

#include <linux/completion.h>
#include <linux/debugfs.h>
#include <linux/inet.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/net.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/uaccess.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include "selftest.h"

#define LOG_SIZE	4096

static const struct st_test *const groups[] = {
	st_data_tests, st_stag_tests, st_queue_tests, st_misuse_tests,
};

static struct dentry *dir;
static DEFINE_MUTEX(run_mutex);		/* one test at a time */
static DEFINE_MUTEX(log_mutex);
static char log_text[LOG_SIZE];
static size_t log_len;

/**
 * st_log - write to the log of the test
 * @fmt: as printf()
 */
void st_log(const char *fmt, ...)
{
	va_list args;

	mutex_lock(&log_mutex);
	va_start(args, fmt);
	log_len += vscnprintf(log_text + log_len, LOG_SIZE - log_len, fmt, args);
	va_end(args);
	mutex_unlock(&log_mutex);
}

static const struct st_test *find_test(const char *name)
{
	const struct st_test *t;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(groups); i++)
		for (t = groups[i]; t->name; t++)
			if (!strcmp(t->name, name))
				return t;
	return NULL;
}

/* A test and its result */
struct test_run {
	const struct st_test *test;
	struct st_where where;
	struct completion done;
	int err;
};

static int run_thread(void *arg)
{
	struct test_run *run = arg;

	run->err = run->test->run(&run->where);
	complete(&run->done);
	return 0;
}

/* In a kthread, as a kernel consumer: a QP connected by a program's task would be a program's */
static int run_by_thread(const struct st_test *test, const struct st_where *where)
{
	struct test_run run = { .test = test, .where = *where };
	struct task_struct *task;

	init_completion(&run.done);
	task = kthread_run(run_thread, &run, "srnic_selftest");
	if (IS_ERR(task))
		return PTR_ERR(task);
	wait_for_completion(&run.done);
	return run.err;
}

static int run_test(const struct st_test *test, int cli_fd, int srv_fd,
		    const char *addr, const char *port)
{
	struct st_where where = { };
	int err;

	err = inet_pton_with_scope(&init_net, AF_UNSPEC, addr, port, &where.addr);
	if (err)
		return err;
	where.cli_net = get_net_ns_by_fd(cli_fd);
	if (IS_ERR(where.cli_net))
		return PTR_ERR(where.cli_net);
	where.srv_net = get_net_ns_by_fd(srv_fd);
	if (IS_ERR(where.srv_net)) {
		put_net(where.cli_net);
		return PTR_ERR(where.srv_net);
	}
	log_len = 0;
	log_text[0] = 0;
	err = run_by_thread(test, &where);
	put_net(where.srv_net);
	put_net(where.cli_net);
	return err;
}

static ssize_t run_write(struct file *file, const char __user *text, size_t len, loff_t *pos)
{
	char line[128], name[32], addr[64], port[8];
	const struct st_test *test;
	int cli_fd, srv_fd, err;

	if (len >= sizeof(line))
		return -EINVAL;
	if (copy_from_user(line, text, len))
		return -EFAULT;
	line[len] = 0;
	if (sscanf(line, "%31s %d %d %63s %7s", name, &cli_fd, &srv_fd, addr, port) != 5)
		return -EINVAL;
	test = find_test(name);
	if (!test)
		return -ENOENT;
	mutex_lock(&run_mutex);
	err = run_test(test, cli_fd, srv_fd, addr, port);
	mutex_unlock(&run_mutex);
	return err ?: len;
}

static const struct file_operations run_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = run_write,
};

static ssize_t lock_write(struct file *file, const char __user *text, size_t len, loff_t *pos)
{
	struct socket *sock;
	int fd, err;

	err = kstrtoint_from_user(text, len, 0, &fd);
	if (err)
		return err;
	sock = sockfd_lookup(fd, &err);
	if (!sock)
		return err;
	lock_sock(sock->sk);
	while (!signal_pending(current))
		schedule_timeout_interruptible(MAX_SCHEDULE_TIMEOUT);
	release_sock(sock->sk);
	sockfd_put(sock);
	return -EINTR;
}

static const struct file_operations lock_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = lock_write,
};

static int tests_show(struct seq_file *m, void *v)
{
	const struct st_test *t;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(groups); i++)
		for (t = groups[i]; t->name; t++)
			seq_printf(m, "%s\t%s\n", t->name, t->what);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(tests);

static int log_show(struct seq_file *m, void *v)
{
	mutex_lock(&log_mutex);
	seq_puts(m, log_text);
	mutex_unlock(&log_mutex);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(log);

static int __init selftest_init(void)
{
	dir = debugfs_create_dir("srnic_selftest", NULL);
	debugfs_create_file("run", 0200, dir, NULL, &run_fops);
	debugfs_create_file("lock", 0200, dir, NULL, &lock_fops);
	debugfs_create_file("tests", 0400, dir, NULL, &tests_fops);
	debugfs_create_file("log", 0400, dir, NULL, &log_fops);
	return 0;
}
module_init(selftest_init);

static void __exit selftest_exit(void)
{
	debugfs_remove(dir);
}
module_exit(selftest_exit);

MODULE_DESCRIPTION("Tests of an iWARP device as a kernel consumer");
MODULE_LICENSE("Dual BSD/GPL");
