/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The private data of a connection between two libraries. */
#ifndef VIPL_HELLO_H
#define VIPL_HELLO_H

#include <stddef.h>
#include "address.h"

enum vipl_hello_kind {
	VIPL_REQUEST = 1,
	VIPL_ACCEPT,
	VIPL_REFUSE,		/* the program has rejected it: VIP_REJECT */
	VIPL_NO_MATCH,		/* nobody waits for that discriminator */
};

/**
 * struct vipl_hello - contents of the private data
 * @kind: its kind; the last two kinds have no other fields
 * @attribs: of the sender's VI, without its tag
 * @from: the client's discriminator
 * @to: the server's discriminator
 */
struct vipl_hello {
	enum vipl_hello_kind kind;
	VIP_VI_ATTRIBUTES attribs;
	struct vipl_disc from;
	struct vipl_disc to;
};

#define VIPL_HELLO_MAX	(16 + 2 * VIPL_MAX_DISC)

size_t vipl_hello_pack(const struct vipl_hello *hello, void *data);
bool vipl_hello_parse(const void *data, size_t len, struct vipl_hello *hello);

#endif
