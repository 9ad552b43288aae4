// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Rendezvous: a rate limit for refused Requests, per source. A host that guesses QP numbers
 * and PSNs has to send many; a host whose programs are early sends a few for each QP, and
 * tries again later.
 */

#include <linux/in.h>
#include <linux/in6.h>
#include <linux/jhash.h>
#include <linux/random.h>
#include <linux/ratelimit.h>
#include "ib/rdv_priv.h"

/* Buckets. Sources share them by hash: a peer with many addresses takes no memory */
#define SOURCES		64
/* Refusals of a bucket in a second */
#define REFUSALS	256

static struct ratelimit_state refusals[SOURCES];
static u32 seed;

/* A host may use all addresses of an IPv6 /64: they count as one source */
static u32 hash_of(const struct sockaddr_storage *from)
{
	const struct sockaddr_in *sin = (const struct sockaddr_in *)from;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)from;

	if (from->ss_family == AF_INET6)
		return jhash(&in6->sin6_addr, sizeof(in6->sin6_addr) / 2, seed);
	return jhash(&sin->sin_addr, sizeof(sin->sin_addr), seed);
}

/**
 * srnic_rdv_may_refuse - may this end answer a host with one more refusal?
 * @from: the host's address
 *
 * Context: any.
 *
 * Return: false if the host's bucket has reached REFUSALS in this second.
 */
bool srnic_rdv_may_refuse(const struct sockaddr_storage *from)
{
	return __ratelimit(&refusals[hash_of(from) % SOURCES]);
}

/**
 * srnic_rdv_limit_init - at load of the module
 * Context: process.
 */
void srnic_rdv_limit_init(void)
{
	int i;

	seed = get_random_u32();
	for (i = 0; i < SOURCES; i++) {
		ratelimit_state_init(&refusals[i], HZ, REFUSALS);
		/* a counter reports refusals, and no log line does */
		ratelimit_set_flags(&refusals[i], RATELIMIT_MSG_ON_RELEASE);
	}
}
