// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * VIs: creation, end and attributes (9.3, 9.4.5, 9.8.2, 9.8.3). A VI without a
 * connection has attributes and two queues, and no object of verbs.
 */
#include <stdlib.h>
#include "cq.h"
#include "dispatch.h"
#include "link.h"
#include "lock.h"
#include "port.h"
#include "progress.h"
#include "queue.h"

/* --- attributes --- */

/* Unreliable Delivery has no RDMA Read (2.5.1); Reliable Reception needs RDMA Reads. */
static bool level_is_valid(const struct vipl_nic *nic, VIP_RELIABILITY_LEVEL level)
{
	switch (level) {
	case VIP_SERVICE_UNRELIABLE:
	case VIP_SERVICE_RELIABLE_DELIVERY:
		return true;
	case VIP_SERVICE_RELIABLE_RECEPTION:
		return nic->device.max_qp_rd_atom && nic->device.max_qp_init_rd_atom;
	}
	return false;
}

static VIP_RETURN check_rdma_read(const struct vipl_nic *nic, const VIP_VI_ATTRIBUTES *attribs)
{
	bool can = nic->device.max_qp_rd_atom &&
		   attribs->ReliabilityLevel != VIP_SERVICE_UNRELIABLE;

	return attribs->EnableRdmaRead && !can ? VIP_INVALID_RDMAREAD : VIP_SUCCESS;
}

/* Checks attributes of a VI */
static VIP_RETURN check_attribs(struct vipl_nic *nic, const VIP_VI_ATTRIBUTES *attribs)
{
	if (!level_is_valid(nic, attribs->ReliabilityLevel))
		return VIP_INVALID_RELIABILITY_LEVEL;
	if (!attribs->MaxTransferSize || attribs->MaxTransferSize > nic->attribs.MaxTransferSize)
		return VIP_INVALID_MTU;
	if (attribs->QoS)
		return VIP_INVALID_QOS;
	if (!vipl_ptag_of(nic, attribs->Ptag))
		return VIP_INVALID_PTAG;
	return check_rdma_read(nic, attribs);
}

static void set_attribs(struct vipl_vi *vi, const VIP_VI_ATTRIBUTES *attribs)
{
	struct vipl_ptag *ptag = vipl_ptag_of(vi->nic, attribs->Ptag);

	ptag->users++;
	if (vi->ptag)
		vi->ptag->users--;
	vi->ptag = ptag;
	vi->attribs = *attribs;
}

/**
 * VipSetViAttributes() - Change the attributes of a VI (9.8.2)
 * @ViHandle: of VipCreateVi(), Idle
 * @Attributes: all of them take effect, or none
 *
 * Context: any thread; takes the NIC's lock.
 * Return: VIP_SUCCESS, VIP_INVALID_RELIABILITY_LEVEL, VIP_INVALID_MTU, VIP_INVALID_QOS,
 * VIP_INVALID_PTAG, VIP_INVALID_RDMAREAD; VIP_INVALID_PARAMETER, also if it is not Idle.
 */
VIP_RETURN VipSetViAttributes(VIP_VI_HANDLE ViHandle, VIP_VI_ATTRIBUTES *Attributes)
{
	VIP_RETURN ret = VIP_INVALID_PARAMETER;
	struct vipl_nic *nic;
	struct vipl_vi *vi;

	vi = vipl_enter(VIPL_VI, ViHandle, &nic);
	if (vi && Attributes && vi->state == VIP_STATE_IDLE)
		ret = check_attribs(vi->nic, Attributes);
	if (!ret)
		set_attribs(vi, Attributes);
	vipl_leave(nic);
	return ret;
}

/**
 * VipQueryVi() - The state of a VI and its attributes (9.8.3)
 * @ViHandle: of VipCreateVi()
 * @State: of chapter 5
 * @Attributes: as they were set last
 *
 * Also detects that the peer has ended the connection.
 *
 * Context: any thread; takes the NIC's lock.
 * Return: VIP_SUCCESS, VIP_INVALID_PARAMETER
 */
VIP_RETURN VipQueryVi(VIP_VI_HANDLE ViHandle, VIP_VI_STATE *State, VIP_VI_ATTRIBUTES *Attributes)
{
	struct vipl_nic *nic = NULL;
	struct vipl_vi *vi = NULL;

	if (State && Attributes)
		vi = vipl_enter(VIPL_VI, ViHandle, &nic);
	if (vi) {
		vipl_progress(vi->nic);
		*State = vi->state;
		*Attributes = vi->attribs;
	}
	vipl_leave(nic);
	return vi ? VIP_SUCCESS : VIP_INVALID_PARAMETER;
}

/* --- life --- */

/* NULL, or a CQ of the same NIC (VIA-018) */
static bool cq_fits(struct vipl_nic *nic, VIP_CQ_HANDLE handle)
{
	return !handle || vipl_object(nic, VIPL_CQ, handle);
}

static VIP_RETURN vi_create(struct vipl_nic *nic, const VIP_VI_ATTRIBUTES *attribs,
			    struct vipl_cq *send_cq, struct vipl_cq *recv_cq,
			    VIP_VI_HANDLE *handle)
{
	VIP_RETURN ret = check_attribs(nic, attribs);
	struct vipl_vi *vi;

	if (ret)
		return ret;
	if (!vipl_port_is_there(nic))
		return VIP_ERROR_RESOURCE;
	vi = calloc(1, sizeof(*vi));
	if (!vi)
		return VIP_ERROR_RESOURCE;
	vi->nic = nic;
	vi->handle = handle_new(VIPL_VI, vi);
	if (!vi->handle) {
		free(vi);
		return VIP_ERROR_RESOURCE;
	}
	vi->peer_ret = VIP_INVALID_STATE;
	vipl_queue_init(&vi->send, send_cq);
	vipl_queue_init(&vi->recv, recv_cq);
	set_attribs(vi, attribs);
	vi->next = nic->vis;
	nic->vis = vi;
	*handle = vi->handle;
	return VIP_SUCCESS;
}

static void vi_destroy(struct vipl_vi *vi)
{
	struct vipl_nic *nic = vi->nic;
	struct vipl_vi **p = &nic->vis;

	while (*p != vi)
		p = &(*p)->next;
	*p = vi->next;
	handle_free(vi->handle);
	vipl_queue_free(&vi->send);
	vipl_queue_free(&vi->recv);
	vipl_calls_cancel(&vi->nic->calls, vi->handle);
	vi->ptag->users--;
	free(vi);
	vipl_wake(nic);
}

/**
 * VipCreateVi() - Create a VI, Idle (9.3.1)
 * @NicHandle: of VipOpenNic()
 * @ViAttribs: its attributes
 * @SendCQHandle: of the NIC, NULL for none
 * @RecvCQHandle: of the NIC, NULL for none; it may be the same
 * @ViHandle: the VI
 *
 * Context: any thread; takes the NIC's lock.
 * Return: VIP_SUCCESS, VIP_INVALID_RELIABILITY_LEVEL, VIP_INVALID_MTU, VIP_INVALID_QOS,
 * VIP_INVALID_PTAG, VIP_INVALID_RDMAREAD, VIP_INVALID_PARAMETER;
 * VIP_ERROR_RESOURCE: no memory, or the device is gone.
 */
VIP_RETURN VipCreateVi(VIP_NIC_HANDLE NicHandle, VIP_VI_ATTRIBUTES *ViAttribs,
		       VIP_CQ_HANDLE SendCQHandle, VIP_CQ_HANDLE RecvCQHandle,
		       VIP_VI_HANDLE *ViHandle)
{
	VIP_RETURN ret = VIP_INVALID_PARAMETER;
	struct vipl_nic *nic;

	vipl_enter(VIPL_NIC, NicHandle, &nic);
	if (nic && ViAttribs && ViHandle && cq_fits(nic, SendCQHandle) &&
	    cq_fits(nic, RecvCQHandle))
		ret = vi_create(nic, ViAttribs, vipl_object(nic, VIPL_CQ, SendCQHandle),
				vipl_object(nic, VIPL_CQ, RecvCQHandle), ViHandle);
	vipl_leave(nic);
	return ret;
}

/**
 * VipDestroyVi() - Destroy a VI (9.3.2)
 * @ViHandle: Idle, with empty queues
 *
 * Context: any thread; takes the NIC's lock.
 * Return: VIP_SUCCESS, VIP_INVALID_PARAMETER; VIP_ERROR_RESOURCE: it is not Idle, or
 * has descriptors.
 */
VIP_RETURN VipDestroyVi(VIP_VI_HANDLE ViHandle)
{
	VIP_RETURN ret = VIP_INVALID_PARAMETER;
	struct vipl_nic *nic;
	struct vipl_vi *vi;

	vi = vipl_enter(VIPL_VI, ViHandle, &nic);
	if (vi)
		ret = vi->state != VIP_STATE_IDLE || vi->send.head || vi->recv.head ?
		      VIP_ERROR_RESOURCE : VIP_SUCCESS;
	if (!ret)
		vi_destroy(vi);
	vipl_leave(nic);
	return ret;
}

/* The VI may be gone, and then its link is gone, too. */
static bool has_link(VIP_VI_HANDLE handle)
{
	struct vipl_vi *vi = handle_object(VIPL_VI, handle);

	return vi && vi->link;
}

static void end_link(struct vipl_vi *vi)
{
	struct vipl_deadline never = { .never = true };
	VIP_VI_HANDLE handle = vi->handle;
	struct vipl_nic *nic = vi->nic;

	if (!vi->link)
		return;
	vipl_link_end(vi->link, VIP_STATE_IDLE);
	vipl_link_reap(vi->link);
	while (has_link(handle))
		vipl_wait(nic, &never);
}

/* The VI has no link any more */
static void become_idle(struct vipl_vi *vi)
{
	vipl_queue_flush(vi, &vi->send);
	vipl_queue_flush(vi, &vi->recv);
	vi->state = VIP_STATE_IDLE;
	vi->epoch++;
	vi->peer_ret = VIP_INVALID_STATE;
	vipl_wake(vi->nic);
}

/**
 * VipDisconnect() - End a VI's connection or attempt, and flush its descriptors (9.4.5)
 * @ViHandle: of VipCreateVi(), in any state; Idle afterwards
 *
 * Data sent before arrives, if the peer takes it within a second.
 *
 * Context: any thread; sleeps.
 * Return: VIP_SUCCESS, VIP_INVALID_PARAMETER
 */
VIP_RETURN VipDisconnect(VIP_VI_HANDLE ViHandle)
{
	struct vipl_nic *nic;
	struct vipl_vi *vi;

	vi = vipl_enter(VIPL_VI, ViHandle, &nic);
	if (vi) {
		end_link(vi);
		vi = handle_object(VIPL_VI, ViHandle);
	}
	if (vi)
		become_idle(vi);
	vipl_leave(nic);
	return vi ? VIP_SUCCESS : VIP_INVALID_PARAMETER;
}

/**
 * vipl_vi_disown() - Make the handles of all VIs of a NIC invalid
 * @nic: closing
 *
 * Begins to end their links; the caller calls vipl_vi_release() after these have ended.
 *
 * Context: the NIC's lock is held.
 */
void vipl_vi_disown(struct vipl_nic *nic)
{
	struct vipl_vi *vi;

	for (vi = nic->vis; vi; vi = vi->next) {
		handle_free(vi->handle);
		if (vi->link) {
			vipl_link_end(vi->link, VIP_STATE_IDLE);
			vipl_link_reap(vi->link);
		}
	}
	vipl_wake(nic);
}

/**
 * vipl_vi_release() - Free all VIs of a NIC that is closing
 * @nic: the NIC, without links
 *
 * Context: the NIC's lock is held.
 */
void vipl_vi_release(struct vipl_nic *nic)
{
	while (nic->vis)
		vi_destroy(nic->vis);
}
