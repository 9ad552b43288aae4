// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Forged datagrams, from a socket at another address of the host. Their format is written down
 * here once more.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "ibqp.h"
#include "ud.h"

#define HDR	32
#define LONGEST	4096
#define PORT	4791	/* the same as in lib.sh */

static int sock;
static struct sockaddr_storage target;

/* CRC32c, bit by bit, of the header without its CRC, and of the message */
static uint32_t crc_of(const uint8_t *dgm, size_t len)
{
	uint32_t crc = ~0U;

	for (size_t i = 0; i < len; i++) {
		if (i >= 28 && i < HDR)
			continue;
		crc ^= dgm[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82F63B78U : 0);
	}
	return ~crc;
}

static void put32(uint8_t *at, uint32_t value)
{
	value = htonl(value);
	memcpy(at, &value, 4);
}

static void seal(uint8_t *dgm, size_t len)
{
	uint32_t crc = crc_of(dgm, len);

	for (int i = 0; i < 4; i++)
		dgm[28 + i] = crc >> 8 * i;
}

/* A good one, of @len bytes of message */
static void make(uint8_t *dgm, const struct ud *to, size_t len)
{
	memset(dgm, 0, HDR);
	put32(dgm, 0x73725544);
	dgm[4] = 1;
	dgm[6] = len >> 8;
	dgm[7] = len;
	put32(dgm + 8, 0x123456);
	put32(dgm + 12, to->qp->qp_num);
	put32(dgm + 16, UD_QKEY);
	memset(dgm + HDR, 0x77, len);
	seal(dgm, HDR + len);
}

static void open_socket(uint16_t port)
{
	struct sockaddr_in own = { .sin_family = AF_INET, .sin_port = htons(port),
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	int one = 1;

	resolve(test_addr, PORT, &target);
	sock = socket(AF_INET, SOCK_DGRAM, 0);
	/* root's socket may share the port with those by which the kernel holds it */
	require(sock >= 0 && !setsockopt(sock, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one)) &&
		!bind(sock, (struct sockaddr *)&own, sizeof(own)), "%s",
		strerror(errno));
}

static void throw(const uint8_t *dgm, size_t len)
{
	require(sendto(sock, dgm, len, 0, (struct sockaddr *)&target,
		       sizeof(struct sockaddr_in)) == (ssize_t)len, "%s", strerror(errno));
}

/* Each spoils a datagram of 10 bytes, and returns its length */
static size_t wrong_crc(uint8_t *d)	{ d[28] ^= 1; return HDR + 10; }
static size_t wrong_data(uint8_t *d)	{ d[HDR + 3] ^= 1; return HDR + 10; }
static size_t wrong_magic(uint8_t *d)	{ d[0] ^= 1; seal(d, HDR + 10); return HDR + 10; }
static size_t wrong_version(uint8_t *d)	{ d[4] = 2; seal(d, HDR + 10); return HDR + 10; }
static size_t wrong_flag(uint8_t *d)	{ d[5] = 4; seal(d, HDR + 10); return HDR + 10; }
static size_t hidden_imm(uint8_t *d)	{ d[27] = 1; seal(d, HDR + 10); return HDR + 10; }
static size_t says_more(uint8_t *d)	{ d[7] = 11; seal(d, HDR + 10); return HDR + 10; }
static size_t says_less(uint8_t *d)	{ d[7] = 9; seal(d, HDR + 10); return HDR + 10; }
static size_t says_most(uint8_t *d)	{ d[6] = d[7] = 0xff; seal(d, HDR + 10); return HDR + 10; }
static size_t long_qpn(uint8_t *d)	{ d[12] = 1; seal(d, HDR + 10); return HDR + 10; }
static size_t long_source(uint8_t *d)	{ d[8] = 1; seal(d, HDR + 10); return HDR + 10; }
static size_t long_psn(uint8_t *d)	{ d[20] = 1; seal(d, HDR + 10); return HDR + 10; }
static size_t nothing(uint8_t *d)	{ return 0; }
static size_t one_byte(uint8_t *d)	{ return 1; }
static size_t half_header(uint8_t *d)	{ return 16; }
static size_t no_crc(uint8_t *d)	{ return HDR - 1; }
static size_t too_long(uint8_t *d)
{
	memset(d + HDR, 0, LONGEST + 1);
	d[6] = (LONGEST + 1) >> 8;
	d[7] = (LONGEST + 1) & 0xff;
	seal(d, HDR + LONGEST + 1);
	return HDR + LONGEST + 1;
}
static size_t far_too_long(uint8_t *d)	{ memset(d + HDR, 0x11, 60000); return 60000; }

static size_t (*const spoil[])(uint8_t *dgm) = {
	wrong_crc, wrong_data, wrong_magic, wrong_version, wrong_flag, hidden_imm, says_more,
	says_less, says_most, long_qpn, long_source, long_psn, nothing, one_byte, half_header,
	no_crc, too_long, far_too_long,
};

/* A forged datagram like a device's arrives: a sender that knows the numbers can forge it */
static void good_one(struct ud *b, uint8_t *dgm)
{
	struct ibv_wc wc;

	ud_recv(b, 77, UD_GRH + 10);
	make(dgm, b, 10);
	throw(dgm, HDR + 10);
	wc = expect_wc(b->cq, 77, IBV_WC_SUCCESS, "a good one");
	require(wc.src_qp == 0x123456 && wc.byte_len == UD_GRH + 10 &&
		b->buf[UD_IN + UD_GRH + 9] == 0x77, "from %#x, %u bytes", wc.src_qp, wc.byte_len);
}

void case_ud_forged(void)
{
	uint64_t before = ud_counter("ud_rx_malformed");
	uint8_t *dgm = calloc(1, 65536);
	struct ud a, b;

	ud_two(&a, &b);
	open_socket(PORT);
	good_one(&b, dgm);
	ud_recv(&b, 1, UD_GRH + 4096 - UD_GRH);
	for (size_t i = 0; i < ARRAY_SIZE(spoil); i++) {
		make(dgm, &b, 10);
		throw(dgm, spoil[i](dgm));
		ud_counted("ud_rx_malformed", before + i + 1);
	}
	expect_no_wc(b.cq, 50, "none of them");
	/* from a port that is not a device's */
	close(sock);
	open_socket(0);
	make(dgm, &b, 10);
	throw(dgm, HDR + 10);
	ud_counted("ud_rx_malformed", before + ARRAY_SIZE(spoil) + 1);
	expect_no_wc(b.cq, 50, "another port");
	close(sock);
	free(dgm);
	ud_end_two(&a, &b);
}

/* The sender's address, which the CRC does not cover: UDP's checksum does */
void case_ud_checksum(void)
{
	uint64_t before = ud_counter("ud_rx_malformed");
	uint8_t *dgm = calloc(1, 4096), *udp = dgm;
	struct sockaddr_in own = { .sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	/* UDP verifies the checksum of less than 76 bytes itself */
	size_t len = 8 + HDR + 100;
	struct ud a, b;

	ud_two(&a, &b);
	resolve(test_addr, 0, &target);
	sock = socket(AF_INET, SOCK_RAW, IPPROTO_UDP);
	require(sock >= 0 && !bind(sock, (struct sockaddr *)&own, sizeof(own)), "%s",
		strerror(errno));
	ud_recv(&b, 77, UD_GRH + 100);
	udp[0] = udp[2] = PORT >> 8;
	udp[1] = udp[3] = PORT & 0xff;
	udp[5] = len;
	make(dgm + 8, &b, 100);
	/* neither is the right checksum */
	for (int sum = 1; sum <= 2; sum++) {
		udp[7] = sum;
		throw(dgm, len);
	}
	ud_counted("ud_rx_malformed", before + 2);
	expect_no_wc(b.cq, 50, "a wrong checksum");
	/* no checksum: IPv4 allows that */
	udp[7] = 0;
	throw(dgm, len);
	expect_wc(b.cq, 77, IBV_WC_SUCCESS, "no checksum");
	close(sock);
	free(dgm);
	ud_end_two(&a, &b);
}

void case_ud_flood(void)
{
	uint8_t *dgm = calloc(1, 65536);
	struct ud a, b;

	ud_two(&a, &b);
	open_socket(PORT);
	srandom(4711);
	for (int i = 0; i < 20000; i++) {
		size_t len = random() % 1400;

		make(dgm, &b, len);
		for (int n = random() % 4; n >= 0; n--)
			dgm[random() % (HDR + len)] ^= 1 << random() % 8;
		/* some with a CRC that fits */
		if (i % 2) {
			dgm[16] ^= 0x80;
			seal(dgm, HDR + len);
		}
		throw(dgm, random() % 8 ? HDR + len : random() % (HDR + len));
		if (i % 1000 == 0) {
			good_one(&b, dgm);
			expect_no_wc(b.cq, 0, "in a flood");
		}
	}
	close(sock);
	free(dgm);
	ud_end_two(&a, &b);
}
