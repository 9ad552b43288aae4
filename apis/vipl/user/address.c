// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Net addresses (4.3, 9.10.6). rdma_cm tells ports apart and nothing else, so a
 * discriminator stands for a few ports: a server takes the first that is free, and a
 * client tries them in turn. What is behind the port is told by the request itself.
 */
#include <string.h>
#include "address.h"

#define FIRST_PORT	22016	/* of servers that take any discriminator */
#define NUM_PORTS	1024	/* behind it, of all others */

/**
 * vipl_address_read() - Take a net address from a program
 * @from: what it passed, not NULL
 * @to: the same
 *
 * Context: any.
 * Return: false if it is too long in a part, or its host is not of an IPv4 address' size
 * or absent.
 */
bool vipl_address_read(const VIP_NET_ADDRESS *from, struct vipl_address *to)
{
	memset(to, 0, sizeof(*to));
	if (from->HostAddressLen && from->HostAddressLen != VIPL_ADDRESS_LEN)
		return false;
	if (from->DiscriminatorLen > VIPL_MAX_DISC)
		return false;
	memcpy(&to->host, from->HostAddress, from->HostAddressLen);
	to->disc.len = from->DiscriminatorLen;
	memcpy(to->disc.bytes, from->HostAddress + from->HostAddressLen, to->disc.len);
	return true;
}

/**
 * vipl_address_write() - Give a net address to a program
 * @from: what it is
 * @to: has room for the two lengths, the host and the discriminator; no more is written
 *
 * Context: any.
 */
void vipl_address_write(const struct vipl_address *from, VIP_NET_ADDRESS *to)
{
	to->HostAddressLen = VIPL_ADDRESS_LEN;
	to->DiscriminatorLen = from->disc.len;
	memcpy(to->HostAddress, &from->host, VIPL_ADDRESS_LEN);
	memcpy(to->HostAddress + VIPL_ADDRESS_LEN, from->disc.bytes, from->disc.len);
}

/**
 * vipl_disc_equal() - Compare two discriminators
 * @a: one
 * @b: the other
 *
 * Context: any.
 * Return: true if they have the same bytes.
 */
bool vipl_disc_equal(const struct vipl_disc *a, const struct vipl_disc *b)
{
	return a->len == b->len && !memcmp(a->bytes, b->bytes, a->len);
}

/* FNV-1a: both ends must come to the same */
static uint32_t hash(const struct vipl_disc *disc)
{
	uint32_t h = 2166136261u;
	unsigned int i;

	for (i = 0; i < disc->len; i++)
		h = (h ^ disc->bytes[i]) * 16777619u;
	return h;
}

/**
 * vipl_disc_port() - One of the ports that a discriminator stands for
 * @disc: the server's
 * @i: which, 0 to VIPL_PORTS - 1, in the order in which they are tried
 *
 * Context: any.
 * Return: the port, in host order; the last one is that of servers that take any.
 */
uint16_t vipl_disc_port(const struct vipl_disc *disc, unsigned int i)
{
	if (!disc->len || i == VIPL_PORTS - 1)
		return FIRST_PORT;
	return FIRST_PORT + 1 + (hash(disc) + i) % NUM_PORTS;
}
