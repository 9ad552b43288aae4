// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Connections between a client and a server (4.1, 9.4). A client tries until its time-out
 * expires: the specification has no code for an absent server.
 */
#include "connect.h"
#include "establish.h"
#include "kind.h"
#include "listen.h"
#include "port.h"
#include "queue.h"

#define RETRY_MS	20	/* between two rounds of the ports */

/* --- the server --- */

/**
 * vipl_is_local() - Whether an address is one of a NIC
 * @nic: the NIC
 * @addr: may have no host
 *
 * Context: the NIC's lock is held.
 * Return: true if it is, or has no host.
 */
bool vipl_is_local(const struct vipl_nic *nic, const struct vipl_address *addr)
{
	return !addr->host.s_addr || addr->host.s_addr == nic->address.s_addr;
}

static void offer(struct vipl_link *link, VIP_NET_ADDRESS *remote, VIP_VI_ATTRIBUTES *attribs,
		  VIP_CONN_HANDLE *conn)
{
	struct vipl_address from = vipl_client_of(link);

	vipl_address_write(&from, remote);
	*attribs = link->peer.attribs;
	*conn = link->handle;
}

/* The NIC may be closed meanwhile. */
static VIP_RETURN await(struct vipl_nic *nic, VIP_NIC_HANDLE handle,
			const struct vipl_address *local, const struct vipl_deadline *deadline,
			struct vipl_link **link)
{
	if (!vipl_is_local(nic, local))
		return VIP_INVALID_PARAMETER;
	if (nic->gone || !vipl_listen(nic, &local->disc))
		return VIP_ERROR_RESOURCE;
	do
		*link = vipl_listen_next(nic, &local->disc, NULL);
	while (!*link && !nic->gone && vipl_wait(nic, deadline) &&
	       vipl_object(nic, VIPL_NIC, handle));
	if (!vipl_object(nic, VIPL_NIC, handle))
		return VIP_INVALID_PARAMETER;
	vipl_listen_end(nic, &local->disc);
	if (*link)
		return VIP_SUCCESS;
	return nic->gone ? VIP_ERROR_RESOURCE : VIP_TIMEOUT;
}

/**
 * VipConnectWait() - Wait for a request to connect (9.4.1)
 * @NicHandle: of VipOpenNic()
 * @LocalAddr: the host is the NIC's, or of length 0; the discriminator is the one that a client
 * requests, or of length 0 for any
 * @Timeout: in milliseconds, or VIP_INFINITE; 0 does not wait
 * @RemoteAddr: set to the client's address; has room for a NIC's address and the client's
 * discriminator
 * @RemoteViAttribs: set to those of the client's VI; the tag has no meaning
 * @ConnHandle: the request, for VipConnectAccept() or VipConnectReject()
 *
 * The library keeps requests for a second after a wait; or, if that is longer, for twice the time
 * since the wait before, a minute at most. It keeps up to 1,024 for a NIC.
 *
 * Context: any thread; sleeps.
 * Return: VIP_SUCCESS, VIP_TIMEOUT, VIP_INVALID_PARAMETER; VIP_ERROR_RESOURCE: another
 * program listens for that discriminator, there is no memory, or the device is gone.
 */
VIP_RETURN VipConnectWait(VIP_NIC_HANDLE NicHandle, VIP_NET_ADDRESS *LocalAddr,
			  VIP_ULONG Timeout, VIP_NET_ADDRESS *RemoteAddr,
			  VIP_VI_ATTRIBUTES *RemoteViAttribs, VIP_CONN_HANDLE *ConnHandle)
{
	struct vipl_deadline deadline = vipl_deadline_in(Timeout);
	VIP_RETURN ret = VIP_INVALID_PARAMETER;
	struct vipl_link *link = NULL;
	struct vipl_address local;
	struct vipl_nic *nic;

	if (!LocalAddr || !RemoteAddr || !RemoteViAttribs || !ConnHandle ||
	    !vipl_address_read(LocalAddr, &local))
		return VIP_INVALID_PARAMETER;
	if (vipl_enter(VIPL_NIC, NicHandle, &nic))
		ret = await(nic, NicHandle, &local, &deadline, &link);
	if (!ret)
		offer(link, RemoteAddr, RemoteViAttribs, ConnHandle);
	vipl_leave(nic);
	return ret;
}

/* A request that VipConnectWait() has returned, and that the program has not answered yet */
static struct vipl_link *enter_request(VIP_CONN_HANDLE handle, struct vipl_nic **nic)
{
	struct vipl_link *link = vipl_enter(VIPL_LINK, handle, nic);

	return link && link->offered && !link->vi && !link->ending ? link : NULL;
}

/* Compares the attributes in which two VIs must agree */
static VIP_RETURN compare(const VIP_VI_ATTRIBUTES *a, const VIP_VI_ATTRIBUTES *b)
{
	if (a->ReliabilityLevel != b->ReliabilityLevel)
		return VIP_INVALID_RELIABILITY_LEVEL;
	if (a->MaxTransferSize != b->MaxTransferSize)
		return VIP_INVALID_MTU;
	return VIP_SUCCESS;
}

/* --- an attempt --- */

/**
 * vipl_still_pending() - Look a VI up again
 * @handle: of the VI
 * @epoch: its epoch before
 *
 * Context: the NIC's lock is held.
 * Return: the VI, or NULL if it has been disconnected or destroyed since.
 */
struct vipl_vi *vipl_still_pending(VIP_VI_HANDLE handle, unsigned long epoch)
{
	struct vipl_vi *vi = handle_object(VIPL_VI, handle);

	return vi && vi->epoch == epoch ? vi : NULL;
}

static struct vipl_vi *await_outcome(VIP_VI_HANDLE handle, unsigned long epoch,
				     const struct vipl_deadline *deadline)
{
	struct vipl_vi *vi = vipl_still_pending(handle, epoch);

	while (vi && vi->outcome == VIPL_TRYING && vipl_wait(vi->nic, deadline))
		vi = vipl_still_pending(handle, epoch);
	return vipl_still_pending(handle, epoch);
}

/* Waits until the link of an attempt is gone */
static struct vipl_vi *clear(struct vipl_vi *vi, unsigned long epoch)
{
	struct vipl_deadline never = { .never = true };
	VIP_VI_HANDLE handle = vi->handle;
	struct vipl_nic *nic = vi->nic;

	if (vi->link) {
		vipl_link_end(vi->link, vi->state);
		vipl_link_reap(vi->link);
	}
	while (vi && vi->link) {
		vipl_wait(nic, &never);
		vi = vipl_still_pending(handle, epoch);
	}
	return vi;
}

/* Waits for the outcome of an attempt, and undoes it if it is no connection. */
static VIP_RETURN finish(VIP_VI_HANDLE handle, unsigned long epoch,
			 const struct vipl_deadline *deadline)
{
	struct vipl_vi *vi = await_outcome(handle, epoch, deadline);
	enum vipl_outcome outcome;

	if (!vi)
		return VIP_ERROR_RESOURCE;
	outcome = vi->outcome;
	if (outcome == VIPL_CONNECTED)
		return VIP_SUCCESS;
	if (!clear(vi, epoch))
		return VIP_ERROR_RESOURCE;
	switch (outcome) {
	case VIPL_REJECTED:
		return VIP_REJECT;
	case VIPL_FAILED:
		return VIP_ERROR_RESOURCE;
	case VIPL_TRYING:
		return VIP_TIMEOUT;
	default:
		return VIP_NOT_DONE;
	}
}

/* --- accept and reject --- */

#define ACCEPT_MS	10000	/* time-out for the client's first message */

static void back_to_idle(VIP_VI_HANDLE handle, unsigned long epoch)
{
	struct vipl_vi *vi = vipl_still_pending(handle, epoch);

	if (vi && !vi->link && vi->state == VIP_STATE_CONNECT_PENDING)
		vi->state = VIP_STATE_IDLE;
}

/**
 * vipl_accept() - Accept a request
 * @link: the request
 * @vi: Idle or Pending, without a link; Idle afterwards, if it fails
 *
 * Context: the NIC's lock is held; released while it waits.
 * Return: as VipConnectAccept().
 */
VIP_RETURN vipl_accept(struct vipl_link *link, struct vipl_vi *vi)
{
	struct vipl_deadline deadline = vipl_deadline_in(ACCEPT_MS);
	VIP_RETURN ret = compare(&vi->attribs, &link->peer.attribs);
	unsigned long epoch = vi->epoch;
	VIP_VI_HANDLE handle = vi->handle;

	if (ret)
		return ret;
	vi->state = VIP_STATE_CONNECT_PENDING;
	vipl_establish_accept(link, vi);
	if (!finish(handle, epoch, &deadline))
		return VIP_SUCCESS;
	back_to_idle(handle, epoch);
	return VIP_ERROR_RESOURCE;
}

/**
 * VipConnectAccept() - Connect a VI with the client of a request (9.4.2)
 * @ConnHandle: of VipConnectWait()
 * @ViHandle: Idle, of the same NIC
 *
 * If the attributes do not match, the client gets no answer, and the request stays
 * (VIA-056).
 *
 * Context: any thread; sleeps.
 * Return: VIP_SUCCESS, VIP_INVALID_PARAMETER, VIP_INVALID_RELIABILITY_LEVEL;
 * VIP_INVALID_MTU: MaxTransferSize is not the client's; VIP_ERROR_RESOURCE: the client
 * is gone before it was connected, or the device has no more QPs; the request has ended then.
 */
VIP_RETURN VipConnectAccept(VIP_CONN_HANDLE ConnHandle, VIP_VI_HANDLE ViHandle)
{
	VIP_RETURN ret = VIP_INVALID_PARAMETER;
	struct vipl_link *link;
	struct vipl_nic *nic;
	struct vipl_vi *vi;

	link = enter_request(ConnHandle, &nic);
	vi = link ? vipl_object(nic, VIPL_VI, ViHandle) : NULL;
	if (vi && vi->state == VIP_STATE_IDLE)
		ret = vipl_accept(link, vi);
	vipl_leave(nic);
	return ret;
}

/**
 * VipConnectReject() - Reject the client of a request (9.4.3)
 * @ConnHandle: of VipConnectWait(); invalid afterwards
 *
 * Context: any thread; takes the NIC's lock.
 * Return: VIP_SUCCESS, VIP_INVALID_PARAMETER
 */
VIP_RETURN VipConnectReject(VIP_CONN_HANDLE ConnHandle)
{
	struct vipl_link *link;
	struct vipl_nic *nic;

	link = enter_request(ConnHandle, &nic);
	if (link)
		vipl_link_refuse(link, VIPL_REFUSE);
	vipl_leave(nic);
	return link ? VIP_SUCCESS : VIP_INVALID_PARAMETER;
}

/* --- the client --- */

static VIP_RETURN try_port(const struct vipl_request *call, unsigned int i)
{
	struct vipl_vi *vi = vipl_still_pending(call->vi, call->epoch);

	if (!vi || !vipl_port_is_there(vi->nic) || !vipl_establish(vi, &call->local, &call->remote,
				   vipl_disc_port(&call->remote.disc, i)))
		return VIP_ERROR_RESOURCE;
	return finish(call->vi, call->epoch, &call->deadline);
}

static VIP_RETURN try_ports(const struct vipl_request *call)
{
	unsigned int i, first = call->remote.disc.len ? 0 : VIPL_PORTS - 1;
	VIP_RETURN ret = VIP_NOT_DONE;

	for (i = first; ret == VIP_NOT_DONE && i < VIPL_PORTS; i++)
		ret = try_port(call, i);
	return ret;
}

/* Return: false when the time-out has expired */
static bool pause_before_next(const struct vipl_request *call)
{
	struct vipl_deadline soon = vipl_deadline_in(RETRY_MS);

	while (vipl_wait(call->nic, &soon))
		;
	return !vipl_is_over(&call->deadline);
}

/* The VI becomes Idle, or is in Error because the device has gone (5.2) */
static void end_attempt(const struct vipl_request *call)
{
	struct vipl_vi *vi = vipl_still_pending(call->vi, call->epoch);

	if (!vi || vipl_port_is_there(vi->nic)) {
		back_to_idle(call->vi, call->epoch);
		return;
	}
	vi->state = VIP_STATE_ERROR;
	vipl_queue_flush(vi, &vi->send);
	vipl_queue_flush(vi, &vi->recv);
}

/**
 * vipl_request() - Connect a VI that is Pending
 * @call: with the VI's epoch; the VI is Idle or in Error afterwards, if it fails
 *
 * Context: the NIC's lock is held; released while it waits.
 * Return: as VipConnectRequest(); VIP_TIMEOUT at once with @call->once, if the server is absent.
 */
VIP_RETURN vipl_request(const struct vipl_request *call)
{
	VIP_RETURN ret;

	do
		ret = try_ports(call);
	while (ret == VIP_NOT_DONE && !call->once && pause_before_next(call));
	if (ret)
		end_attempt(call);
	return ret == VIP_NOT_DONE ? VIP_TIMEOUT : ret;
}

static VIP_RETURN request(struct vipl_request *call, struct vipl_vi *vi,
			  VIP_VI_ATTRIBUTES *attribs)
{
	VIP_RETURN ret;

	if (vi->state != VIP_STATE_IDLE || !vipl_is_local(vi->nic, &call->local))
		return VIP_INVALID_PARAMETER;
	if (vipl_is_over(&call->deadline))
		return VIP_TIMEOUT;
	if (!vipl_port_is_up(vi->nic))
		return VIP_ERROR_RESOURCE;
	vi->state = VIP_STATE_CONNECT_PENDING;
	call->epoch = vi->epoch;
	ret = vipl_request(call);
	vi = vipl_still_pending(call->vi, call->epoch);
	if (!ret && !vi)
		return VIP_ERROR_RESOURCE;
	if (!ret)
		*attribs = vi->remote;
	return ret;
}

/**
 * vipl_connect_request() - VipConnectRequest() of Appendix A and of the Developer's Guide
 * @handle: ViHandle
 * @local: LocalAddr
 * @remote: RemoteAddr
 * @msecs: Timeout
 * @attribs: RemoteViAttribs
 * @once: do not try an absent server again
 *
 * Context: any thread; sleeps.
 * Return: as VipConnectRequest(); with @once VIP_NO_MATCH for an absent server.
 */
VIP_RETURN vipl_connect_request(VIP_VI_HANDLE handle, VIP_NET_ADDRESS *local,
				VIP_NET_ADDRESS *remote, VIP_ULONG msecs,
				VIP_VI_ATTRIBUTES *attribs, bool once)
{
	struct vipl_request call = {
		.vi = handle,
		.deadline = vipl_deadline_in(msecs),
		.once = once,
	};
	VIP_RETURN ret = VIP_INVALID_PARAMETER;
	struct vipl_vi *vi;

	if (!local || !remote || !attribs || !vipl_address_read(local, &call.local) ||
	    !vipl_address_read(remote, &call.remote) || !call.remote.host.s_addr)
		return VIP_INVALID_PARAMETER;
	vi = vipl_enter(VIPL_VI, handle, &call.nic);
	if (vi)
		ret = request(&call, vi, attribs);
	if (ret == VIP_TIMEOUT && once && !vipl_is_over(&call.deadline))
		ret = VIP_NO_MATCH;
	vipl_leave(call.nic);
	return ret;
}

/**
 * VipConnectRequest() - Connect a VI with a server (9.4.4)
 * @ViHandle: Idle
 * @LocalAddr: the client's address for the server; the host is the NIC's, or of length 0
 * @RemoteAddr: the server's address
 * @Timeout: in milliseconds, or VIP_INFINITE; when it expires the VI is Idle
 * @RemoteViAttribs: set to those of the server's VI; the tag has no meaning
 *
 * Tries again if the server is absent or waits for another discriminator. VipDisconnect() of
 * another thread ends the attempts.
 *
 * Context: any thread; sleeps.
 * Return: VIP_SUCCESS, VIP_TIMEOUT, VIP_REJECT, VIP_INVALID_PARAMETER;
 * VIP_ERROR_RESOURCE: the device is gone, down or has no more QPs, or the VI was disconnected.
 */
VIP_RETURN VipConnectRequest(VIP_VI_HANDLE ViHandle, VIP_NET_ADDRESS *LocalAddr,
			     VIP_NET_ADDRESS *RemoteAddr, VIP_ULONG Timeout,
			     VIP_VI_ATTRIBUTES *RemoteViAttribs)
{
	return vipl_connect_request(ViHandle, LocalAddr, RemoteAddr, Timeout, RemoteViAttribs,
				    false);
}
