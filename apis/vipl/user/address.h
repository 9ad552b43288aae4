/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Net addresses: a host and a discriminator, which maps to ports of rdma_cm. */
#ifndef VIPL_ADDRESS_H
#define VIPL_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <vipl.h>

#define VIPL_ADDRESS_LEN	4
#define VIPL_MAX_DISC		64
#define VIPL_PORTS		5	/* ports of a discriminator; all share the last one */

/**
 * struct vipl_disc - a discriminator, compared byte by byte
 * @len: in bytes; 0: any
 * @bytes: the program's, without a meaning for the library
 */
struct vipl_disc {
	uint16_t len;
	uint8_t bytes[VIPL_MAX_DISC];
};

/**
 * struct vipl_address - a net address of a program
 * @host: 0.0.0.0 if the program has passed none
 * @disc: the discriminator
 */
struct vipl_address {
	struct in_addr host;
	struct vipl_disc disc;
};

bool vipl_address_read(const VIP_NET_ADDRESS *from, struct vipl_address *to);
void vipl_address_write(const struct vipl_address *from, VIP_NET_ADDRESS *to);
bool vipl_disc_equal(const struct vipl_disc *a, const struct vipl_disc *b);
uint16_t vipl_disc_port(const struct vipl_disc *disc, unsigned int i);

#endif
