// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Listening. After a program's first wait for a discriminator the library listens at its port
 * until the NIC is closed. It keeps requests while the program waits, and for some time after each
 * wait: so a program that waits again and again with a time-out of 0 finds them. The library
 * refuses other requests, so that the client tries its next port: another NIC or program may wait
 * there for the same discriminator.
 */
#include <stdlib.h>
#include "listen.h"
#include "lock.h"

#define BACKLOG		64
#define MAX_REQUESTS	1024	/* requests kept for later waits */

/* A listening port; the context of @id is @handle */
struct vipl_listener {
	struct vipl_nic *nic;
	struct vipl_listener *next;
	void *handle;
	struct rdma_cm_id *id;
	uint16_t port;
};

/* After a wait requests are kept for twice the time since the wait before it, within these */
#define KEEP_MS		1000
#define KEEP_MAX_MS	60000

/*
 * A discriminator, of length 0 for any: how many calls wait for it now, when the last one ended or
 * the first one began, and for how long requests are kept after a wait, in ms
 */
struct vipl_service {
	struct vipl_service *next;
	struct vipl_disc disc;
	unsigned int waits;
	uint64_t last;
	uint64_t keep;
};

static bool listen_at(struct vipl_nic *nic, struct vipl_listener *listener)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_addr = nic->address,
		.sin_port = htons(listener->port),
	};

	if (rdma_create_id(nic->channel, &listener->id, listener->handle, RDMA_PS_TCP))
		return false;
	if (!rdma_bind_addr(listener->id, (struct sockaddr *)&addr) &&
	    !rdma_listen(listener->id, BACKLOG))
		return true;
	rdma_destroy_id(listener->id);
	return false;
}

static bool listener_new(struct vipl_nic *nic, uint16_t port)
{
	struct vipl_listener *listener = calloc(1, sizeof(*listener));

	if (!listener)
		return false;
	listener->nic = nic;
	listener->port = port;
	listener->handle = handle_new(VIPL_LISTENER, listener);
	if (!listener->handle || !listen_at(nic, listener)) {
		if (listener->handle)
			handle_free(listener->handle);
		free(listener);
		return false;
	}
	listener->next = nic->listeners;
	nic->listeners = listener;
	return true;
}

static bool listens_at(const struct vipl_nic *nic, uint16_t port)
{
	const struct vipl_listener *listener = nic->listeners;

	while (listener && listener->port != port)
		listener = listener->next;
	return listener;
}

/* Listens at the first port of @disc that is ours or free; the last port is shared by all. */
static bool find_port(struct vipl_nic *nic, const struct vipl_disc *disc)
{
	unsigned int i, tries = disc->len ? VIPL_PORTS - 1 : 1;

	for (i = 0; i < tries; i++)
		if (listens_at(nic, vipl_disc_port(disc, i)))
			return true;
	for (i = 0; i < tries; i++)
		if (listener_new(nic, vipl_disc_port(disc, i)))
			return true;
	return false;
}

static struct vipl_service *service_of(struct vipl_nic *nic, const struct vipl_disc *disc)
{
	struct vipl_service *service = nic->services;

	while (service && !vipl_disc_equal(&service->disc, disc))
		service = service->next;
	return service;
}

static struct vipl_service *service_new(struct vipl_nic *nic, const struct vipl_disc *disc)
{
	struct vipl_service *service = calloc(1, sizeof(*service));

	if (!service || !find_port(nic, disc)) {
		free(service);
		return NULL;
	}
	service->disc = *disc;
	service->last = vipl_now();
	service->next = nic->services;
	nic->services = service;
	return service;
}

static uint64_t keep_after(uint64_t interval)
{
	if (2 * interval < KEEP_MS)
		return KEEP_MS;
	return 2 * interval < KEEP_MAX_MS ? 2 * interval : KEEP_MAX_MS;
}

/**
 * vipl_listen() - Begin to wait for requests for a discriminator
 * @nic: listens at its address
 * @disc: the server's, of length 0 for any; the NIC may listen for it already
 *
 * The caller calls vipl_listen_end() afterwards, unless the NIC was closed meanwhile.
 *
 * Context: the NIC's lock is held.
 * Return: false without resources or a free port.
 */
bool vipl_listen(struct vipl_nic *nic, const struct vipl_disc *disc)
{
	struct vipl_service *service = service_of(nic, disc);

	if (!service)
		service = service_new(nic, disc);
	if (!service)
		return false;
	service->keep = keep_after(vipl_now() - service->last);
	service->waits++;
	return true;
}

/**
 * vipl_listen_end() - End a wait for requests
 * @nic: after vipl_listen()
 * @disc: likewise
 *
 * Context: the NIC's lock is held.
 */
void vipl_listen_end(struct vipl_nic *nic, const struct vipl_disc *disc)
{
	struct vipl_service *service = service_of(nic, disc);

	service->waits--;
	service->last = vipl_now();
}

/* --- requests --- */

static bool is_kept(const struct vipl_service *service)
{
	return service && (service->waits || vipl_now() < service->last + service->keep);
}

static bool is_waited_for(struct vipl_nic *nic, const struct vipl_disc *disc)
{
	static const struct vipl_disc any;

	return is_kept(service_of(nic, disc)) || is_kept(service_of(nic, &any));
}

static bool is_unanswered(const struct vipl_link *link)
{
	return link->passive && !link->vi && !link->offered && !link->ending;
}

static unsigned int count_requests(const struct vipl_nic *nic)
{
	const struct vipl_link *link;
	unsigned int n = 0;

	for (link = nic->links; link; link = link->next)
		n += !link->vi;
	return n;
}

static void refuse(struct vipl_link *link)
{
	link->nic->counters.RequestsRefused++;
	vipl_link_refuse(link, VIPL_NO_MATCH);
}

/**
 * vipl_listen_request() - Take a request to connect
 * @nic: the NIC that listens
 * @event: the request
 *
 * Context: the NIC's lock is held.
 */
void vipl_listen_request(struct vipl_nic *nic, const struct vipl_event *event)
{
	struct vipl_link *link = vipl_link_new(nic, event->id);
	bool known;

	if (!link)
		return;
	link->passive = true;
	known = vipl_hello_parse(event->data, event->len, &link->peer) &&
		link->peer.kind == VIPL_REQUEST;
	if (known && is_waited_for(nic, &link->peer.to) && count_requests(nic) <= MAX_REQUESTS)
		vipl_wake(nic);
	else
		refuse(link);
}

/**
 * vipl_client_of() - The client of a request
 * @link: the request
 *
 * Context: the NIC's lock is held.
 * Return: the client's address and discriminator.
 */
struct vipl_address vipl_client_of(struct vipl_link *link)
{
	return (struct vipl_address){
		.host = ((struct sockaddr_in *)rdma_get_peer_addr(link->id))->sin_addr,
		.disc = link->peer.from,
	};
}

static bool is_for(struct vipl_link *link, const struct vipl_disc *disc,
		   const struct vipl_address *from)
{
	struct vipl_address client;

	if (!is_unanswered(link) ||
	    (disc->len && !vipl_disc_equal(disc, &link->peer.to)))
		return false;
	if (!from)
		return true;
	client = vipl_client_of(link);
	return client.host.s_addr == from->host.s_addr && vipl_disc_equal(&client.disc, &from->disc);
}

/**
 * vipl_listen_next() - The oldest request for a discriminator
 * @nic: the NIC that listens
 * @disc: the server's, of length 0 for any
 * @from: the client's address, NULL for any
 *
 * Context: the NIC's lock is held.
 * Return: the request, which is not offered again, or NULL.
 */
struct vipl_link *vipl_listen_next(struct vipl_nic *nic, const struct vipl_disc *disc,
				   const struct vipl_address *from)
{
	struct vipl_link *link;

	for (link = nic->links; link; link = link->next)
		if (is_for(link, disc, from)) {
			link->offered = true;
			return link;
		}
	return NULL;
}

/**
 * vipl_listen_expire() - Refuse requests for which the program does not wait any more
 * @nic: the NIC that listens
 *
 * Context: the NIC's lock is held.
 * Return: false if no unanswered requests are left.
 */
bool vipl_listen_expire(struct vipl_nic *nic)
{
	struct vipl_link *link, *next;
	bool kept = false;

	for (link = nic->links; link; link = next) {
		next = link->next;
		if (!is_unanswered(link))
			continue;
		if (is_waited_for(nic, &link->peer.to))
			kept = true;
		else
			refuse(link);
	}
	return kept;
}

/**
 * vipl_listen_release() - Stop listening
 * @nic: closing
 *
 * Context: the NIC's lock is held.
 */
void vipl_listen_release(struct vipl_nic *nic)
{
	while (nic->listeners) {
		struct vipl_listener *listener = nic->listeners;

		nic->listeners = listener->next;
		rdma_destroy_id(listener->id);
		handle_free(listener->handle);
		free(listener);
	}
	while (nic->services) {
		struct vipl_service *service = nic->services;

		nic->services = service->next;
		free(service);
	}
}
