// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * handover: the device is on a tunnel of IP packets, and its sockets stay in that. The script has
 * made the tunnel, HANDOVER_TUNNEL, at whose other end HANDOVER_PEER is this host; the device on it,
 * HANDOVER_DEVICE; and a default route by another interface, HANDOVER_AROUND.
 */
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include "handfd.h"
#include "handtun.h"

static const char *env(const char *name)
{
	const char *value = getenv(name);

	require(value, "no %s", name);
	return value;
}

/* To the other end of the tunnel, and back: both sockets have the tunnel's own address */
static void tunnel_sockets(int *a, int *b)
{
	struct sockaddr_storage name, peer;
	socklen_t len = sizeof(name);
	int listener;

	resolve(test_addr, 0, &name);
	resolve(env("HANDOVER_PEER"), 0, &peer);
	listener = socket(AF_INET, SOCK_STREAM, 0);
	*a = socket(AF_INET, SOCK_STREAM, 0);
	require(listener >= 0 && *a >= 0 && !bind(listener, (struct sockaddr *)&name, len) &&
		!listen(listener, 1) && !getsockname(listener, (struct sockaddr *)&name, &len),
		"%s", strerror(errno));
	((struct sockaddr_in *)&peer)->sin_port = ((struct sockaddr_in *)&name)->sin_port;
	require(!connect(*a, (struct sockaddr *)&peer, len), "%s", strerror(errno));
	*b = accept(listener, NULL, NULL);
	require(*b >= 0, "%s", strerror(errno));
	close(listener);
}

/* Return: of setsockopt(). @netdev: its name; "": none */
static int bind_to(int fd, const char *netdev)
{
	return setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, netdev, strlen(netdev));
}

static void refused(struct hand *h, const char *netdev)
{
	int err;

	require(!bind_to(h->fd, netdev), "'%s': %s", netdev, strerror(errno));
	err = hand_over(h, SRNIC_QP_MODIFY_CRC, NULL, 0);
	require(err == EXDEV, "bound to '%s': %s", netdev, strerror(err));
	require(!bind_to(h->fd, ""), "%s", strerror(errno));
}

static void up(const char *netdev, bool want)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	struct ifreq req = { };

	strncpy(req.ifr_name, netdev, IFNAMSIZ - 1);
	require(fd >= 0 && !ioctl(fd, SIOCGIFFLAGS, &req), "%s", strerror(errno));
	req.ifr_flags = want ? req.ifr_flags | IFF_UP : req.ifr_flags & ~IFF_UP;
	require(!ioctl(fd, SIOCSIFFLAGS, &req), "%s", strerror(errno));
	close(fd);
}

static int tap(const char *netdev)
{
	struct sockaddr_ll name = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL),
				    .sll_ifindex = if_nametoindex(netdev) };
	int fd = socket(AF_PACKET, SOCK_DGRAM, 0);

	require(fd >= 0 && !bind(fd, (struct sockaddr *)&name, sizeof(name)), "%s",
		strerror(errno));
	return fd;
}

/* Packets of IPv4 that have come to a tap() */
static unsigned int packets(int fd)
{
	struct sockaddr_ll name;
	socklen_t len = sizeof(name);
	unsigned int n = 0;
	char data[64];

	while (recvfrom(fd, data, sizeof(data), MSG_DONTWAIT, (struct sockaddr *)&name, &len) >= 0) {
		n += name.sll_protocol == htons(ETH_P_IP);
		len = sizeof(name);
	}
	return n;
}

/* What a socket sends that is the program's, and not bound, takes the other way */
static void goes_around(int tap)
{
	int a, b;

	tunnel_sockets(&a, &b);
	up(env("HANDOVER_TUNNEL"), false);
	require(send(a, "x", 1, MSG_NOSIGNAL) == 1, "%s", strerror(errno));
	usleep(500000);
	require(packets(tap), "there is no way around");
	up(env("HANDOVER_TUNNEL"), true);
	close(a);
	close(b);
	usleep(500000);
	packets(tap);
}

/* A message waits until the tunnel is up again */
static void stays(struct hand *a, struct hand *b, int tap)
{
	struct ibv_sge sge = { (uintptr_t)a->buf, 100, a->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1,
				  .opcode = IBV_WR_SEND }, *bad;
	struct ibv_sge room = { (uintptr_t)b->buf, 100, b->mr->lkey };
	struct ibv_recv_wr rwr = { .wr_id = 2, .sg_list = &room, .num_sge = 1 }, *rbad;

	require(!ibv_post_recv(b->qp, &rwr, &rbad), "receive");
	up(env("HANDOVER_TUNNEL"), false);
	require(!ibv_post_send(a->qp, &wr, &bad), "send");
	expect_no_wc(b->cq, 1500, "while the tunnel is down");
	require(!packets(tap), "it has gone around");
	up(env("HANDOVER_TUNNEL"), true);
	expect_wc(b->cq, 2, IBV_WC_SUCCESS, "when the tunnel is up again");
	expect_wc(a->cq, 1, IBV_WC_SUCCESS, "when the tunnel is up again");
}

/* For the script */
void case_tunnel(void)
{
	struct ibv_context *ctx = device_named(env("HANDOVER_DEVICE"));
	int around = tap(env("HANDOVER_AROUND"));
	struct hand a, b;

	require(ctx, "no device %s", env("HANDOVER_DEVICE"));
	goes_around(around);
	hand_qp_of(&a, ctx);
	hand_qp_of(&b, ctx);
	tunnel_sockets(&a.fd, &b.fd);
	refused(&a, "");
	refused(&a, "lo");
	refused(&a, env("HANDOVER_AROUND"));
	hand_sockets_work(a.fd, b.fd, "after a refusal");
	require(!bind_to(a.fd, env("HANDOVER_TUNNEL")) && !bind_to(b.fd, env("HANDOVER_TUNNEL")),
		"%s", strerror(errno));
	require(!hand_over(&b, SRNIC_QP_MODIFY_CRC | SRNIC_QP_MODIFY_RESPONDER, NULL, 0) &&
		!hand_over(&a, SRNIC_QP_MODIFY_CRC, NULL, 0), "handing over");
	hand_exchange(&a, &b, 20000);
	/* where this does not fail it changes nothing */
	bind_to(a.fd, "");
	bind_to(b.fd, "");
	hand_exchange(&a, &b, 100);
	stays(&a, &b, around);
	hand_exchange(&a, &b, 100);
	hand_close(&a, &b);
}
