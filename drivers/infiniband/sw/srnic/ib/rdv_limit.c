// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Rendezvous: how often a host may ask in vain. Who guesses QP numbers and PSNs has to ask
 * often; a host whose programs are early asks a few times for each QP, and again later.
 */

#include <linux/in.h>
#include <linux/in6.h>
#include <linux/jhash.h>
#include <linux/random.h>
#include <linux/ratelimit.h>
#include "ib/rdv_priv.h"

/* Sources share one of so many, so that nobody can have memory taken for many addresses */
#define SOURCES		64
/* Refusals for each of them in a second */
#define REFUSALS	256

static struct ratelimit_state refusals[SOURCES];
static u32 seed;

/* A host has a whole /64 of IPv6's addresses */
static u32 hash_of(const struct sockaddr_storage *from)
{
	const struct sockaddr_in *sin = (const struct sockaddr_in *)from;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)from;

	if (from->ss_family == AF_INET6)
		return jhash(&in6->sin6_addr, sizeof(in6->sin6_addr) / 2, seed);
	return jhash(&sin->sin_addr, sizeof(sin->sin_addr), seed);
}

/**
 * srnic_rdv_may_refuse - may this host be told once more that it is not wanted?
 * @from: its address
 *
 * Context: any.
 *
 * Return: false if it has been told so often within a second.
 */
bool srnic_rdv_may_refuse(const struct sockaddr_storage *from)
{
	return __ratelimit(&refusals[hash_of(from) % SOURCES]);
}

/**
 * srnic_rdv_limit_init - at load of the module
 */
void srnic_rdv_limit_init(void)
{
	int i;

	seed = get_random_u32();
	for (i = 0; i < SOURCES; i++) {
		ratelimit_state_init(&refusals[i], HZ, REFUSALS);
		/* a counter tells, and not the log */
		ratelimit_set_flags(&refusals[i], RATELIMIT_MSG_ON_RELEASE);
	}
}
