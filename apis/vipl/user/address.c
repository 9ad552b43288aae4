// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Net addresses (4.3, 9.10.6). rdma_cm knows ports only, so a discriminator maps to a
 * few ports: a server takes the first that is free, and a client tries them in turn. The
 * request has the discriminator itself.
 */
#include <string.h>
#include "address.h"

#define FIRST_PORT	22016	/* of servers for any discriminator */
#define NUM_PORTS	1024	/* after it, of all others */

/**
 * vipl_address_read() - Take a net address from a program
 * @from: the program's, not NULL
 * @to: filled in
 *
 * Context: any.
 * Return: false if a part is too long, or if the host is neither absent nor of the size of an
 * IPv4 address.
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
 * vipl_address_write() - Copy a net address to a program
 * @from: the address
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

/* FNV-1a; both ends must use the same function */
static uint32_t hash(const struct vipl_disc *disc)
{
	uint32_t h = 2166136261u;
	unsigned int i;

	for (i = 0; i < disc->len; i++)
		h = (h ^ disc->bytes[i]) * 16777619u;
	return h;
}

/**
 * vipl_disc_port() - One of the ports of a discriminator
 * @disc: the server's
 * @i: 0 to VIPL_PORTS - 1, in the order in which they are tried
 *
 * Context: any.
 * Return: the port, in host order; the last one is that of servers for any discriminator.
 */
uint16_t vipl_disc_port(const struct vipl_disc *disc, unsigned int i)
{
	if (!disc->len || i == VIPL_PORTS - 1)
		return FIRST_PORT;
	return FIRST_PORT + 1 + (hash(disc) + i) % NUM_PORTS;
}
