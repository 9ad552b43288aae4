/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Shared by the cases of libvipl's Developer's Guide interface. */
#ifndef DG_H
#define DG_H

#include <vipl.h>
#include "common.h"
#include "../seen.h"

#define LONG	10000		/* ms, time-out for expected events */

union address {
	VIP_NET_ADDRESS net;
	char room[4 + 4 + 64];
};

extern const char *test_addr;

union address address_of(const char *disc);
VIP_NIC_HANDLE open_nic(void);
VIP_VI_HANDLE make_vi(VIP_NIC_HANDLE nic);

/* The cases of peer.c */
void peers(void);
void peers_bad(void);

/* The cases of habits.c */
void pong(void);
void leave_all(void);

#endif
