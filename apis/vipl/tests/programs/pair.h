/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Two VIs of one process, connected with each other. */
#ifndef PAIR_H
#define PAIR_H

#include <stdbool.h>
#include <stdint.h>
#include <vipl.h>
#include "common.h"
#include "objects.h"

#define DONE		VIP_STATUS_DONE
#define FLUSHED		(VIP_STATUS_DONE | VIP_STATUS_DESC_FLUSHED_ERROR)
#define PAIR_DESCS	64
#define DESC_BYTES	4096		/* for a descriptor of 252 segments */
#define DATA_BYTES	(1 << 20)
#define GUARD_BYTES	4096		/* after them, not registered */
#define LONG		10000		/* ms, time-out for expected events */

/**
 * struct end - one end of a connection
 * @nic: its own
 * @vi: Idle until it is connected
 * @attr: of @vi
 * @mem: of @handle
 * @handle: of all its memory
 * @descs: PAIR_DESCS of DESC_BYTES
 * @data: DATA_BYTES
 * @remote: the other's attributes
 */
struct end {
	VIP_NIC_HANDLE nic;
	VIP_VI_HANDLE vi;
	VIP_VI_ATTRIBUTES attr;
	VIP_MEM_ATTRIBUTES mem;
	VIP_MEM_HANDLE handle;
	char *descs;
	char *data;
	VIP_VI_ATTRIBUTES remote;
};

/* An address with its discriminator */
union address {
	VIP_NET_ADDRESS net;
	char room[4 + 4 + 64];
};

extern struct end client, server;
extern const char *pair_name;	/* the discriminator of connect_pair() */

/* Runs a call that uses the server's address, in the server's network namespace, if it has one */
#define at_server(call) ({						\
	VIP_RETURN ret_;						\
									\
	enter_server();							\
	ret_ = noted(call);						\
	leave_server();							\
	ret_;								\
})

union address client_at(const char *disc);
union address server_at(const char *disc);
void enter_server(void);
void leave_server(void);
void open_end(struct end *end);
void open_pair(void);
VIP_RETURN try_connect(VIP_ULONG msecs);
void connect_pair(void);
void close_pair(void);

VIP_DESCRIPTOR *desc_of(struct end *end, unsigned int i);
VIP_DESCRIPTOR *make_send(struct end *end, unsigned int i, unsigned int offset, uint32_t len);
VIP_DESCRIPTOR *make_rdma(struct end *end, unsigned int i, uint16_t op, const void *remote,
			  VIP_MEM_HANDLE handle);
void add_segment(struct end *end, VIP_DESCRIPTOR *d, void *p, uint32_t len);
void post_send(struct end *end, VIP_DESCRIPTOR *d);
void post_recv(struct end *end, VIP_DESCRIPTOR *d);
void require_sent(struct end *end, VIP_DESCRIPTOR *d, uint32_t status);
void require_received(struct end *end, VIP_DESCRIPTOR *d, uint32_t status);
void require_state(struct end *end, VIP_VI_STATE want);
void fill(char *p, size_t len, unsigned int seed);

#endif
