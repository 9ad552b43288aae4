// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Connections between peers, of the Developer's Guide: both request them, and each knows the
 * other's address. The peer with the lower address is the server, the other one the client; a
 * thread of the library makes the calls of a server or client for the program.
 */
#include <stdlib.h>
#include <string.h>
#include "connect.h"
#include "dg.h"
#include "listen.h"
#include "lock.h"

/* Return: below 0 if @a is the server */
static int compare(const struct vipl_address *a, const struct vipl_address *b)
{
	int diff = memcmp(&a->host, &b->host, sizeof(a->host));

	if (!diff)
		diff = (int)a->disc.len - b->disc.len;
	return diff ? diff : memcmp(a->disc.bytes, b->disc.bytes, a->disc.len);
}

/* Accepts the peer's request; refuses it if the attributes do not match. */
static VIP_RETURN take(struct vipl_link *link, struct vipl_vi *vi)
{
	VIP_RETURN ret = vipl_accept(link, vi);

	if (ret == VIP_INVALID_RELIABILITY_LEVEL || ret == VIP_INVALID_MTU)
		vipl_link_refuse(link, VIPL_REFUSE);
	return ret;
}

static VIP_RETURN serve(const struct vipl_request *call)
{
	struct vipl_vi *vi = vipl_still_pending(call->vi, call->epoch);
	struct vipl_link *link = NULL;
	struct vipl_nic *nic = call->nic;

	if (!vi || nic->gone || !vipl_listen(nic, &call->local.disc))
		return VIP_ERROR_RESOURCE;
	do
		link = vipl_listen_next(nic, &call->local.disc, &call->remote);
	while (!link && !nic->gone && vipl_wait(nic, &call->deadline) &&
	       (vi = vipl_still_pending(call->vi, call->epoch)));
	if (vipl_object(nic, VIPL_NIC, call->nic_handle))
		vipl_listen_end(nic, &call->local.disc);
	if (!vi || nic->gone)
		return VIP_ERROR_RESOURCE;
	return link ? take(link, vi) : VIP_TIMEOUT;
}

/* Stores the result, unless the VI was disconnected meanwhile. */
static void tell(const struct vipl_request *call, VIP_RETURN ret)
{
	struct vipl_vi *vi = vipl_still_pending(call->vi, call->epoch);

	if (!vi)
		return;
	if (ret && vi->state == VIP_STATE_CONNECT_PENDING)
		vi->state = VIP_STATE_IDLE;
	vi->peer_ret = ret;
	vipl_wake(vi->nic);
}

static void *connect_peers(void *arg)
{
	struct vipl_request *call = arg;
	bool server = compare(&call->local, &call->remote) < 0;
	VIP_RETURN ret;

	if (vipl_enter(VIPL_VI, call->vi, &call->nic)) {
		ret = server ? serve(call) : vipl_request(call);
		tell(call, ret);
	}
	vipl_leave(call->nic);
	free(call);
	return NULL;
}

static VIP_RETURN start(const struct vipl_request *from)
{
	struct vipl_request *call = malloc(sizeof(*call));
	pthread_t thread;

	if (!call)
		return VIP_ERROR_RESOURCE;
	*call = *from;
	if (!vipl_thread(&thread, connect_peers, call)) {
		free(call);
		return VIP_ERROR_RESOURCE;
	}
	pthread_detach(thread);
	return VIP_SUCCESS;
}

static VIP_RETURN peer_request(struct vipl_request *call, struct vipl_vi *vi)
{
	VIP_RETURN ret;

	if (!vipl_is_local(vi->nic, &call->local))
		return VIP_INVALID_PARAMETER;
	call->nic_handle = vi->nic->handle;
	call->local.host = vi->nic->address;
	call->epoch = vi->epoch;
	if (!compare(&call->local, &call->remote))
		return VIP_INVALID_PARAMETER;
	if (vi->state != VIP_STATE_IDLE)
		return VIP_INVALID_STATE;
	ret = start(call);
	if (ret)
		return ret;
	vi->state = VIP_STATE_CONNECT_PENDING;
	vi->peer_ret = VIP_NOT_DONE;
	return VIP_SUCCESS;
}

/**
 * VipConnectPeerRequest() - Begin to connect with a peer that does the same
 * @ViHandle: Idle
 * @LocalAddr: the host is the NIC's, or of length 0
 * @RemoteAddr: the peer's LocalAddr
 * @Timeout: in milliseconds, or VIP_INFINITE
 *
 * Context: any thread; takes the NIC's lock.
 * Return: VIP_SUCCESS, VIP_INVALID_STATE, VIP_INVALID_PARAMETER; VIP_ERROR_RESOURCE: no thread
 * can be created.
 */
VIP_RETURN VipConnectPeerRequest(VIP_VI_HANDLE ViHandle, VIP_NET_ADDRESS *LocalAddr,
				 VIP_NET_ADDRESS *RemoteAddr, VIP_ULONG Timeout)
{
	struct vipl_request call = { .vi = ViHandle, .deadline = vipl_deadline_in(Timeout) };
	VIP_RETURN ret = VIP_INVALID_PARAMETER;
	struct vipl_vi *vi;

	if (!LocalAddr || !RemoteAddr || !vipl_address_read(LocalAddr, &call.local) ||
	    !vipl_address_read(RemoteAddr, &call.remote) || !call.remote.host.s_addr)
		return VIP_INVALID_PARAMETER;
	vi = vipl_enter(VIPL_VI, ViHandle, &call.nic);
	if (vi)
		ret = peer_request(&call, vi);
	vipl_leave(call.nic);
	return ret;
}

static VIP_RETURN peer_result(VIP_VI_HANDLE handle, VIP_VI_ATTRIBUTES *attribs)
{
	struct vipl_vi *vi = handle_object(VIPL_VI, handle);

	if (!vi)
		return VIP_INVALID_PARAMETER;
	if (!vi->peer_ret)
		*attribs = vi->remote;
	return vi->peer_ret;
}

/**
 * vipl_peer_done() - The result of VipConnectPeerRequest(), if there is one
 * @vi: its VI
 * @attribs: set to the peer's attributes, if connected
 *
 * Context: any thread; takes the NIC's lock.
 * Return: as VipConnectRequest(), VIP_INVALID_RELIABILITY_LEVEL, VIP_INVALID_MTU; VIP_NOT_DONE;
 * VIP_INVALID_STATE: it was not called, or the VI was disconnected.
 */
VIP_RETURN vipl_peer_done(VIP_VI_HANDLE vi, VIP_VI_ATTRIBUTES *attribs)
{
	struct vipl_nic *nic;
	VIP_RETURN ret;

	if (!attribs || !vipl_enter(VIPL_VI, vi, &nic))
		return VIP_INVALID_PARAMETER;
	ret = peer_result(vi, attribs);
	vipl_leave(nic);
	return ret;
}

/**
 * vipl_peer_wait() - Wait for the result of VipConnectPeerRequest()
 * @vi: its VI
 * @attribs: set to the peer's attributes, if connected
 *
 * Context: any thread; sleeps.
 * Return: as vipl_peer_done(), except VIP_NOT_DONE.
 */
VIP_RETURN vipl_peer_wait(VIP_VI_HANDLE vi, VIP_VI_ATTRIBUTES *attribs)
{
	struct vipl_deadline never = { .never = true };
	struct vipl_nic *nic;
	VIP_RETURN ret;

	if (!attribs || !vipl_enter(VIPL_VI, vi, &nic))
		return VIP_INVALID_PARAMETER;
	do
		ret = peer_result(vi, attribs);
	while (ret == VIP_NOT_DONE && vipl_wait(nic, &never));
	vipl_leave(nic);
	return ret;
}
