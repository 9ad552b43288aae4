// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The functions of Appendix A in their form of the Developer's Guide: reliability levels are
 * bits, an error of a descriptor or of a state has a code, a tag of 0 stands for one that the
 * library creates, and some structures are longer. Programs that define VIPL_DG call these.
 */
#include <string.h>
#include "connect.h"
#include "dg.h"
#include "done.h"
#include "lock.h"
#include "vi.h"

/* --- attributes --- */

static VIP_RELIABILITY_LEVEL to_strict(VIP_RELIABILITY_LEVEL bit)
{
	switch ((unsigned int)bit) {
	case 1:
		return VIP_SERVICE_UNRELIABLE;
	case 2:
		return VIP_SERVICE_RELIABLE_DELIVERY;
	case 4:
		return VIP_SERVICE_RELIABLE_RECEPTION;
	}
	return (VIP_RELIABILITY_LEVEL)~0;
}

static VIP_ULONG bit_of(VIP_RELIABILITY_LEVEL level)
{
	return 1ul << level;
}

static VIP_VI_ATTRIBUTES *from_strict(VIP_RETURN ret, VIP_VI_ATTRIBUTES *attribs)
{
	if (!ret)
		attribs->ReliabilityLevel = bit_of(attribs->ReliabilityLevel);
	return attribs;
}

/* A tag of 0 stands for the NIC's default one. Return: NULL if that cannot be created. */
static VIP_PROTECTION_HANDLE tag(VIP_NIC_HANDLE handle, VIP_PROTECTION_HANDLE ptag)
{
	struct vipl_nic *nic;

	if (ptag)
		return ptag;
	vipl_enter(VIPL_NIC, handle, &nic);
	if (nic)
		ptag = vipl_default_ptag(nic);
	vipl_leave(nic);
	return ptag;
}

static VIP_VI_ATTRIBUTES strict_vi(VIP_NIC_HANDLE nic, const VIP_VI_ATTRIBUTES *attribs)
{
	VIP_VI_ATTRIBUTES strict = *attribs;

	strict.ReliabilityLevel = to_strict(attribs->ReliabilityLevel);
	strict.Ptag = tag(nic, attribs->Ptag);
	return strict;
}

static VIP_MEM_ATTRIBUTES strict_mem(VIP_NIC_HANDLE nic, const VIP_MEM_ATTRIBUTES *attribs)
{
	VIP_MEM_ATTRIBUTES strict = *attribs;

	strict.Ptag = tag(nic, attribs->Ptag);
	return strict;
}

/* --- NICs and memory --- */

/**
 * VipQueryNic_DG() - Attributes of a NIC, with its reliability levels
 * @nic: of VipOpenNic()
 * @attributes: filled in; has two more fields
 *
 * Context: any thread; takes the NIC's lock.
 * Return: as VipQueryNic().
 */
VIP_RETURN VipQueryNic_DG(VIP_NIC_HANDLE nic, struct vipl_nic_attributes_dg *attributes)
{
	VIP_RETURN ret = VipQueryNic(nic, attributes ? &attributes->strict : NULL);

	if (ret)
		return ret;
	attributes->ReliabilityLevelSupport = bit_of(VIP_SERVICE_UNRELIABLE) |
					      bit_of(VIP_SERVICE_RELIABLE_DELIVERY) |
					      bit_of(VIP_SERVICE_RELIABLE_RECEPTION);
	attributes->RDMAReadSupport = bit_of(VIP_SERVICE_RELIABLE_DELIVERY) |
				      bit_of(VIP_SERVICE_RELIABLE_RECEPTION);
	return VIP_SUCCESS;
}

/**
 * VipRegisterMem_DG() - Register memory, with a tag that may be 0
 * @nic: of VipOpenNic()
 * @address: its beginning
 * @length: in bytes, not 0
 * @attribs: tag and enables
 * @handle: the handle, 0 on failure
 *
 * Context: any thread; sleeps.
 * Return: as VipRegisterMem().
 */
VIP_RETURN VipRegisterMem_DG(VIP_NIC_HANDLE nic, VIP_PVOID address, VIP_ULONG length,
			     VIP_MEM_ATTRIBUTES *attribs, VIP_MEM_HANDLE *handle)
{
	VIP_MEM_ATTRIBUTES strict;

	if (!attribs)
		return VIP_INVALID_PARAMETER;
	strict = strict_mem(nic, attribs);
	return VipRegisterMem(nic, address, length, &strict, handle);
}

/**
 * VipSetMemAttributes_DG() - Change attributes of a region, with a tag that may be 0
 * @nic: its NIC
 * @address: as it was registered
 * @handle: of VipRegisterMem()
 * @attribs: the new ones
 *
 * Context: any thread; sleeps.
 * Return: as VipSetMemAttributes().
 */
VIP_RETURN VipSetMemAttributes_DG(VIP_NIC_HANDLE nic, VIP_PVOID address, VIP_MEM_HANDLE handle,
				  VIP_MEM_ATTRIBUTES *attribs)
{
	VIP_MEM_ATTRIBUTES strict;

	if (!attribs)
		return VIP_INVALID_PARAMETER;
	strict = strict_mem(nic, attribs);
	return VipSetMemAttributes(nic, address, handle, &strict);
}

/**
 * VipQuerySystemManagementInfo_DG() - Counters of a NIC
 * @nic: of VipOpenNic()
 * @type: VIP_SMI_TYPE_COUNTERS
 * @info: a VIP_SMI_COUNTERS of the program, filled in
 *
 * Context: any thread; takes the NIC's lock.
 * Return: as VipQuerySystemManagementInfo().
 */
VIP_RETURN VipQuerySystemManagementInfo_DG(VIP_NIC_HANDLE nic, VIP_ULONG type, VIP_PVOID info)
{
	struct vipl_nic *of = NULL;

	/* not by a pointer to nic->shown, which the next call of any thread overwrites */
	if (info && type == VIP_SMI_TYPE_COUNTERS && vipl_enter(VIPL_NIC, nic, &of))
		memcpy(info, &of->counters, sizeof(of->counters));
	vipl_leave(of);
	return of ? VIP_SUCCESS : VIP_INVALID_PARAMETER;
}

/* --- VIs --- */

/**
 * VipCreateVi_DG() - Create a VI
 * @nic: of VipOpenNic()
 * @attribs: its attributes; the tag may be 0
 * @send_cq: of the NIC, NULL for none
 * @recv_cq: of the NIC, NULL for none
 * @vi: the VI
 *
 * Context: any thread; takes the NIC's lock.
 * Return: as VipCreateVi().
 */
VIP_RETURN VipCreateVi_DG(VIP_NIC_HANDLE nic, VIP_VI_ATTRIBUTES *attribs, VIP_CQ_HANDLE send_cq,
			  VIP_CQ_HANDLE recv_cq, VIP_VI_HANDLE *vi)
{
	VIP_VI_ATTRIBUTES strict;

	if (!attribs)
		return VIP_INVALID_PARAMETER;
	strict = strict_vi(nic, attribs);
	return VipCreateVi(nic, &strict, send_cq, recv_cq, vi);
}

/* Return: an error for which Appendix A has no code. @nic_handle: set to the VI's NIC; or NULL */
static VIP_RETURN check_idle(VIP_VI_HANDLE handle, VIP_NIC_HANDLE *nic_handle)
{
	VIP_RETURN ret = VIP_INVALID_PARAMETER;
	struct vipl_nic *nic;
	struct vipl_vi *vi;

	vi = vipl_enter(VIPL_VI, handle, &nic);
	if (vi)
		ret = vi->state == VIP_STATE_IDLE ? VIP_SUCCESS : VIP_INVALID_STATE;
	if (vi && nic_handle)
		*nic_handle = nic->handle;
	vipl_leave(nic);
	return ret;
}

/**
 * VipSetViAttributes_DG() - Change the attributes of a VI
 * @vi: of VipCreateVi()
 * @attribs: all of them take effect, or none; the tag may be 0
 *
 * Context: any thread; takes the NIC's lock.
 * Return: as VipSetViAttributes(); VIP_INVALID_STATE: it is not Idle.
 */
VIP_RETURN VipSetViAttributes_DG(VIP_VI_HANDLE vi, VIP_VI_ATTRIBUTES *attribs)
{
	VIP_VI_ATTRIBUTES strict;
	VIP_NIC_HANDLE nic;
	VIP_RETURN ret;

	if (!attribs)
		return VIP_INVALID_PARAMETER;
	ret = check_idle(vi, &nic);
	if (ret)
		return ret;
	strict = strict_vi(nic, attribs);
	return VipSetViAttributes(vi, &strict);
}

static VIP_BOOLEAN is_empty(const struct vipl_queue *queue)
{
	return queue->head ? VIP_FALSE : VIP_TRUE;
}

/**
 * VipQueryVi_DG() - The state of a VI, its attributes, and whether its queues are empty
 * @vi: of VipCreateVi()
 * @state: of chapter 5
 * @attribs: as they were set last
 * @send_empty: set to whether the send queue is empty
 * @recv_empty: likewise for the receive queue
 *
 * Context: any thread; takes the NIC's lock.
 * Return: as VipQueryVi().
 */
VIP_RETURN VipQueryVi_DG(VIP_VI_HANDLE vi, VIP_VI_STATE *state, VIP_VI_ATTRIBUTES *attribs,
			 VIP_BOOLEAN *send_empty, VIP_BOOLEAN *recv_empty)
{
	VIP_RETURN ret = VIP_INVALID_PARAMETER;
	struct vipl_vi *object;
	struct vipl_nic *nic;

	if (!send_empty || !recv_empty)
		return ret;
	ret = VipQueryVi(vi, state, attribs);
	if (ret)
		return ret;
	from_strict(ret, attribs);
	object = vipl_enter(VIPL_VI, vi, &nic);
	if (object) {
		*send_empty = is_empty(&object->send);
		*recv_empty = is_empty(&object->recv);
	}
	vipl_leave(nic);
	return object ? VIP_SUCCESS : VIP_INVALID_PARAMETER;
}

/* --- connections --- */

/**
 * VipConnectWait_DG() - Wait for a request to connect
 * @nic: of VipOpenNic()
 * @local: as for VipConnectWait()
 * @timeout: in milliseconds, or VIP_INFINITE
 * @remote: as for VipConnectWait()
 * @attribs: as for VipConnectWait()
 * @conn: the request
 *
 * Context: any thread; sleeps.
 * Return: as VipConnectWait().
 */
VIP_RETURN VipConnectWait_DG(VIP_NIC_HANDLE nic, VIP_NET_ADDRESS *local, VIP_ULONG timeout,
			     VIP_NET_ADDRESS *remote, VIP_VI_ATTRIBUTES *attribs,
			     VIP_CONN_HANDLE *conn)
{
	VIP_RETURN ret = VipConnectWait(nic, local, timeout, remote, attribs, conn);

	from_strict(ret, attribs);
	return ret;
}

/**
 * VipConnectAccept_DG() - Connect a VI with the client of a request
 * @conn: of VipConnectWait()
 * @vi: Idle, of the same NIC
 *
 * Context: any thread; sleeps.
 * Return: as VipConnectAccept(); VIP_INVALID_STATE: @vi is not Idle.
 */
VIP_RETURN VipConnectAccept_DG(VIP_CONN_HANDLE conn, VIP_VI_HANDLE vi)
{
	VIP_RETURN ret = check_idle(vi, NULL);

	return ret ? ret : VipConnectAccept(conn, vi);
}

/**
 * VipConnectRequest_DG() - Connect a VI with a server, in one attempt
 * @vi: Idle
 * @local: as for VipConnectRequest()
 * @remote: the server's address
 * @timeout: in milliseconds, or VIP_INFINITE
 * @attribs: of the server's VI
 *
 * Context: any thread; sleeps.
 * Return: as VipConnectRequest(); VIP_INVALID_STATE: @vi is not Idle; VIP_NO_MATCH, at once:
 * no server waits there.
 */
VIP_RETURN VipConnectRequest_DG(VIP_VI_HANDLE vi, VIP_NET_ADDRESS *local, VIP_NET_ADDRESS *remote,
				VIP_ULONG timeout, VIP_VI_ATTRIBUTES *attribs)
{
	VIP_RETURN ret = check_idle(vi, NULL);

	if (!ret)
		ret = vipl_connect_request(vi, local, remote, timeout, attribs, true);
	from_strict(ret, attribs);
	return ret;
}

/**
 * VipConnectPeerDone_DG() - Whether peers have connected
 * @vi: that of VipConnectPeerRequest()
 * @attribs: set to those of the peer's VI
 *
 * Context: any thread; takes the NIC's lock.
 * Return: as vipl_peer_done().
 */
VIP_RETURN VipConnectPeerDone_DG(VIP_VI_HANDLE vi, VIP_VI_ATTRIBUTES *attribs)
{
	VIP_RETURN ret = vipl_peer_done(vi, attribs);

	from_strict(ret, attribs);
	return ret;
}

/**
 * VipConnectPeerWait_DG() - Wait for peers to connect, until their time-out
 * @vi: that of VipConnectPeerRequest()
 * @attribs: set to those of the peer's VI
 *
 * Context: any thread; sleeps.
 * Return: as vipl_peer_wait().
 */
VIP_RETURN VipConnectPeerWait_DG(VIP_VI_HANDLE vi, VIP_VI_ATTRIBUTES *attribs)
{
	VIP_RETURN ret = vipl_peer_wait(vi, attribs);

	from_strict(ret, attribs);
	return ret;
}

/* --- descriptors --- */

/* Does not look at the descriptor itself: the program may have unmapped it. */
static VIP_RETURN done(VIP_VI_HANDLE vi, bool recv, VIP_DESCRIPTOR **desc)
{
	uint32_t errors;
	VIP_RETURN ret = vipl_dequeue(vi, recv, desc, &errors);

	return !ret && errors ? VIP_DESCRIPTOR_ERROR : ret;
}

static VIP_RETURN await_done(VIP_VI_HANDLE vi, bool recv, VIP_ULONG timeout, VIP_DESCRIPTOR **desc)
{
	uint32_t errors;
	VIP_RETURN ret = vipl_dequeue_wait(vi, recv, timeout, desc, &errors);

	return !ret && errors ? VIP_DESCRIPTOR_ERROR : ret;
}

/**
 * VipSendDone_DG() - Dequeue the head of the send queue if it is done
 * @vi: of VipCreateVi()
 * @desc: the one dequeued, NULL if none is
 *
 * Context: any thread; takes the NIC's lock.
 * Return: as VipSendDone(); VIP_DESCRIPTOR_ERROR: it is dequeued, and in error.
 */
VIP_RETURN VipSendDone_DG(VIP_VI_HANDLE vi, VIP_DESCRIPTOR **desc)
{
	return done(vi, false, desc);
}

/**
 * VipSendWait_DG() - Wait for the head of the send queue and dequeue it
 * @vi: of VipCreateVi()
 * @timeout: in milliseconds, or VIP_INFINITE
 * @desc: as for VipSendDone_DG()
 *
 * Context: any thread; sleeps.
 * Return: as VipSendWait(); VIP_DESCRIPTOR_ERROR: it is dequeued, and in error.
 */
VIP_RETURN VipSendWait_DG(VIP_VI_HANDLE vi, VIP_ULONG timeout, VIP_DESCRIPTOR **desc)
{
	return await_done(vi, false, timeout, desc);
}

/**
 * VipRecvDone_DG() - Dequeue the head of the receive queue if it is done
 * @vi: of VipCreateVi()
 * @desc: as for VipSendDone_DG()
 *
 * Context: any thread; takes the NIC's lock.
 * Return: as VipRecvDone(); VIP_DESCRIPTOR_ERROR: it is dequeued, and in error.
 */
VIP_RETURN VipRecvDone_DG(VIP_VI_HANDLE vi, VIP_DESCRIPTOR **desc)
{
	return done(vi, true, desc);
}

/**
 * VipRecvWait_DG() - Wait for the head of the receive queue and dequeue it
 * @vi: of VipCreateVi()
 * @timeout: in milliseconds, or VIP_INFINITE
 * @desc: as for VipSendDone_DG()
 *
 * Context: any thread; sleeps.
 * Return: as VipRecvWait(); VIP_DESCRIPTOR_ERROR: it is dequeued, and in error.
 */
VIP_RETURN VipRecvWait_DG(VIP_VI_HANDLE vi, VIP_ULONG timeout, VIP_DESCRIPTOR **desc)
{
	return await_done(vi, true, timeout, desc);
}
