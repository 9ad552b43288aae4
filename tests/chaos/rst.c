// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * rst: ends a TCP connection from the wire.
 *
 *	rst NETDEV PORT-A PORT-B
 *
 * Watches the netdev for segments between the two ports, and answers each one that acknowledges
 * something with a RST to its sender. The RST claims to be from the receiver and has the sequence
 * number expected next (RFC 5961 3.2); if more data has come meanwhile it has no effect. Goes on
 * until it is killed.
 */
#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static uint32_t add(uint32_t sum, const void *data, size_t len)
{
	const uint8_t *p = data;

	for (size_t i = 0; i + 1 < len; i += 2)
		sum += p[i] << 8 | p[i + 1];
	return sum;
}

static uint16_t fold(uint32_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return htons(~sum);
}

/* To the sender of @ip, @tcp, as if from its receiver. */
static void shoot(int raw, const struct iphdr *ip, const struct tcphdr *tcp)
{
	struct { struct iphdr ip; struct tcphdr tcp; } __attribute__((packed)) out = {
		.ip = { .version = 4, .ihl = 5, .ttl = 64, .protocol = IPPROTO_TCP,
			.tot_len = htons(sizeof(out)), .saddr = ip->daddr, .daddr = ip->saddr },
		.tcp = { .source = tcp->dest, .dest = tcp->source, .seq = tcp->ack_seq,
			 .doff = 5, .rst = 1 },
	};
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = ip->saddr };
	uint32_t sum = IPPROTO_TCP + sizeof(out.tcp);

	sum = add(sum, &out.ip.saddr, 8);
	out.tcp.check = fold(add(sum, &out.tcp, sizeof(out.tcp)));
	sendto(raw, &out, sizeof(out), 0, (struct sockaddr *)&to, sizeof(to));
}

int main(int argc, char **argv)
{
	struct sockaddr_ll ll = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	uint16_t a, b;
	int in, raw;

	if (argc != 4) {
		fprintf(stderr, "rst NETDEV PORT-A PORT-B\n");
		return 2;
	}
	ll.sll_ifindex = if_nametoindex(argv[1]);
	a = htons(atoi(argv[2]));
	b = htons(atoi(argv[3]));
	in = socket(AF_PACKET, SOCK_DGRAM, htons(ETH_P_ALL));
	raw = socket(AF_INET, SOCK_RAW, IPPROTO_RAW);
	if (in < 0 || raw < 0 || bind(in, (struct sockaddr *)&ll, sizeof(ll))) {
		perror("rst");
		return 2;
	}
	for (;;) {
		uint8_t buf[256];
		struct iphdr *ip = (struct iphdr *)buf;
		struct tcphdr *tcp;
		ssize_t n;

		n = recv(in, buf, sizeof(buf), 0);
		if (n < (ssize_t)sizeof(*ip) || ip->version != 4 || ip->protocol != IPPROTO_TCP ||
		    n < (ssize_t)(ip->ihl * 4 + sizeof(*tcp)))
			continue;
		tcp = (struct tcphdr *)(buf + ip->ihl * 4);
		if (!(tcp->source == a && tcp->dest == b) && !(tcp->source == b && tcp->dest == a))
			continue;
		if (tcp->rst || !tcp->ack || tcp->syn)
			continue;
		shoot(raw, ip, tcp);
	}
}
