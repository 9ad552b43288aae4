// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * srnic_bench: a stream of bytes over TCP from kernel to kernel, the best case for the engines of
 * an iWARP device. The sender calls with SIZE bytes at a time, from process context. The receiver
 * copies once, out of the packets, in the socket's callback, and wakes no task.
 *
 * Each open file of /dev/srnic_bench is one end of one connection, in the network
 * namespace of its opener:
 *
 *	receive ADDR		listen at a port that TCP chooses. The first read tells
 *				the port, the second one waits for a connection and its
 *				end, and tells how many bytes there were.
 *	send ADDR PORT SIZE MS	send for so long. A read returns when the receiver has
 *				closed, and tells how many bytes were sent.
 */

#include <linux/completion.h>
#include <linux/inet.h>
#include <linux/ktime.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/nsproxy.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include <net/tcp.h>

#define SINK_SIZE	SZ_1M	/* where the receiver copies to, again and again */
#define MAX_CALL	SZ_1M

struct end {
	struct mutex lock;		/* one call at a time */
	struct net *net;
	struct socket *listener, *sock;
	u8 *buf;
	u32 size, ms;			/* of a sender */
	u64 bytes;
	struct completion closed;
	bool told;
};

/* --- receiving: in softirq, or in another context that TCP calls from --------- */

static int place(read_descriptor_t *desc, struct sk_buff *skb, unsigned int off, size_t len)
{
	struct end *e = desc->arg.data;
	size_t at = e->bytes % SINK_SIZE, part = min_t(size_t, len, SINK_SIZE - at);

	if (skb_copy_bits(skb, off, e->buf + at, part) ||
	    skb_copy_bits(skb, off + part, e->buf, len - part))
		return -EFAULT;
	e->bytes += len;
	return len;
}

static void data_ready(struct sock *sk)
{
	struct end *e;
	read_descriptor_t desc = { .count = 1 };

	read_lock_bh(&sk->sk_callback_lock);
	e = sk->sk_user_data;
	if (e) {
		desc.arg.data = e;
		tcp_read_sock(sk, &desc, place);
	}
	read_unlock_bh(&sk->sk_callback_lock);
}

static void state_change(struct sock *sk)
{
	struct end *e;

	read_lock_bh(&sk->sk_callback_lock);
	e = sk->sk_user_data;
	if (e && (sk->sk_state != TCP_ESTABLISHED || sk->sk_shutdown & RCV_SHUTDOWN))
		complete_all(&e->closed);
	read_unlock_bh(&sk->sk_callback_lock);
}

static int receive(struct end *e)
{
	struct sock *sk;
	int err;

	err = kernel_accept(e->listener, &e->sock, 0);
	if (err)
		return err;
	sk = e->sock->sk;
	lock_sock(sk);
	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_user_data = e;
	sk->sk_data_ready = data_ready;
	sk->sk_state_change = state_change;
	write_unlock_bh(&sk->sk_callback_lock);
	/* data that came before */
	data_ready(sk);
	state_change(sk);
	release_sock(sk);
	err = wait_for_completion_interruptible(&e->closed);
	lock_sock(sk);
	data_ready(sk);
	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_user_data = NULL;
	write_unlock_bh(&sk->sk_callback_lock);
	release_sock(sk);
	kernel_sock_shutdown(e->sock, SHUT_RDWR);
	return err;
}

/* --- sending ---------------------------------------------------------------- */

static int send(struct end *e)
{
	ktime_t stop = ktime_add_ms(ktime_get(), e->ms);
	struct msghdr msg = { };
	struct kvec vec;
	int n;

	while (ktime_before(ktime_get(), stop)) {
		vec.iov_base = e->buf;
		vec.iov_len = e->size;
		n = kernel_sendmsg(e->sock, &msg, &vec, 1, e->size);
		if (n < 0)
			return n;
		e->bytes += n;
		if (signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	kernel_sock_shutdown(e->sock, SHUT_WR);
	/* the receiver closes when it has received everything */
	vec.iov_base = e->buf;
	vec.iov_len = 1;
	n = kernel_recvmsg(e->sock, &msg, &vec, 1, 1, 0);
	return n > 0 ? -EPROTO : n;
}

/* --- the file --------------------------------------------------------------- */

static int new_socket(struct end *e, struct socket **sock)
{
	return sock_create_kern(e->net, AF_INET, SOCK_STREAM, IPPROTO_TCP, sock);
}

/* void *: the type of the address differs between kernels */
static int begin_receive(struct end *e, struct sockaddr_in *addr)
{
	void *sa = addr;
	int err;

	e->buf = vmalloc(SINK_SIZE);
	if (!e->buf)
		return -ENOMEM;
	err = new_socket(e, &e->listener);
	if (err)
		return err;
	return kernel_bind(e->listener, sa, sizeof(*addr)) ?: kernel_listen(e->listener, 1);
}

static int begin_send(struct end *e, struct sockaddr_in *addr)
{
	void *sa = addr;
	int err;

	if (!e->size || e->size > MAX_CALL)
		return -EINVAL;
	e->buf = kvzalloc(e->size, GFP_KERNEL);
	if (!e->buf)
		return -ENOMEM;
	err = new_socket(e, &e->sock);
	if (err)
		return err;
	tcp_sock_set_nodelay(e->sock->sk);
	return kernel_connect(e->sock, sa, sizeof(*addr), 0);
}

static int command(struct end *e, char *text)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	char host[INET_ADDRSTRLEN];
	u16 port = 0;

	if (e->buf)
		return -EBUSY;
	if (sscanf(text, "receive %15s", host) == 1) {
		if (!in4_pton(host, -1, (u8 *)&addr.sin_addr, -1, NULL))
			return -EINVAL;
		return begin_receive(e, &addr);
	}
	if (sscanf(text, "send %15s %hu %u %u", host, &port, &e->size, &e->ms) != 4 ||
	    !in4_pton(host, -1, (u8 *)&addr.sin_addr, -1, NULL))
		return -EINVAL;
	addr.sin_port = htons(port);
	return begin_send(e, &addr);
}

static ssize_t bench_write(struct file *file, const char __user *from, size_t len, loff_t *pos)
{
	struct end *e = file->private_data;
	char *text = memdup_user_nul(from, min_t(size_t, len, 128));
	int err;

	if (IS_ERR(text))
		return PTR_ERR(text);
	mutex_lock(&e->lock);
	err = command(e, text);
	mutex_unlock(&e->lock);
	kfree(text);
	return err ?: len;
}

static ssize_t bench_read(struct file *file, char __user *to, size_t len, loff_t *pos)
{
	struct end *e = file->private_data;
	char text[32];
	int n, err = 0;

	mutex_lock(&e->lock);
	if (e->listener && !e->told) {
		struct sockaddr_in own;

		err = kernel_getsockname(e->listener, (void *)&own);
		n = scnprintf(text, sizeof(text), "%u\n", ntohs(own.sin_port));
		e->told = true;
		if (err > 0)
			err = 0;
	} else {
		err = e->listener ? receive(e) : e->sock ? send(e) : -EINVAL;
		n = scnprintf(text, sizeof(text), "%llu\n", e->bytes);
	}
	mutex_unlock(&e->lock);
	if (err)
		return err;
	if (len < n || copy_to_user(to, text, n))
		return -EFAULT;
	return n;
}

static int bench_open(struct inode *inode, struct file *file)
{
	struct end *e = kzalloc(sizeof(*e), GFP_KERNEL);

	if (!e)
		return -ENOMEM;
	mutex_init(&e->lock);
	init_completion(&e->closed);
	e->net = get_net(current->nsproxy->net_ns);
	file->private_data = e;
	return 0;
}

static int bench_release(struct inode *inode, struct file *file)
{
	struct end *e = file->private_data;

	if (e->sock)
		sock_release(e->sock);
	if (e->listener)
		sock_release(e->listener);
	kvfree(e->buf);
	put_net(e->net);
	kfree(e);
	return 0;
}

static const struct file_operations bench_fops = {
	.owner = THIS_MODULE,
	.open = bench_open,
	.release = bench_release,
	.read = bench_read,
	.write = bench_write,
};

static struct miscdevice bench_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "srnic_bench",
	.fops = &bench_fops,
};

module_misc_device(bench_device);

MODULE_AUTHOR("The srnic authors");
MODULE_DESCRIPTION("In-kernel TCP, to compare RDMA devices with");
MODULE_LICENSE("Dual BSD/GPL");
