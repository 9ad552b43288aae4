/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Functions of the Developer's Guide. vipl.h declares them where VIPL_DG is defined, without
 * the _DG of functions that Appendix A has, too.
 */
#ifndef VIPL_DG_H
#define VIPL_DG_H

#include <stdbool.h>
#include <vipl.h>

/* The guide's structure begins with that of Appendix A */
struct vipl_nic_attributes_dg {
	VIP_NIC_ATTRIBUTES strict;
	VIP_ULONG ReliabilityLevelSupport;
	VIP_ULONG RDMAReadSupport;
};

VIP_RETURN VipQueryNic_DG(VIP_NIC_HANDLE nic, struct vipl_nic_attributes_dg *attributes);
VIP_RETURN VipCreateVi_DG(VIP_NIC_HANDLE nic, VIP_VI_ATTRIBUTES *attribs, VIP_CQ_HANDLE send_cq,
			  VIP_CQ_HANDLE recv_cq, VIP_VI_HANDLE *vi);
VIP_RETURN VipSetViAttributes_DG(VIP_VI_HANDLE vi, VIP_VI_ATTRIBUTES *attribs);
VIP_RETURN VipQueryVi_DG(VIP_VI_HANDLE vi, VIP_VI_STATE *state, VIP_VI_ATTRIBUTES *attribs,
			 VIP_BOOLEAN *send_empty, VIP_BOOLEAN *recv_empty);
VIP_RETURN VipConnectWait_DG(VIP_NIC_HANDLE nic, VIP_NET_ADDRESS *local, VIP_ULONG timeout,
			     VIP_NET_ADDRESS *remote, VIP_VI_ATTRIBUTES *attribs,
			     VIP_CONN_HANDLE *conn);
VIP_RETURN VipConnectAccept_DG(VIP_CONN_HANDLE conn, VIP_VI_HANDLE vi);
VIP_RETURN VipConnectRequest_DG(VIP_VI_HANDLE vi, VIP_NET_ADDRESS *local, VIP_NET_ADDRESS *remote,
				VIP_ULONG timeout, VIP_VI_ATTRIBUTES *attribs);
VIP_RETURN VipConnectPeerRequest(VIP_VI_HANDLE vi, VIP_NET_ADDRESS *local,
				 VIP_NET_ADDRESS *remote, VIP_ULONG timeout);
VIP_RETURN VipConnectPeerDone_DG(VIP_VI_HANDLE vi, VIP_VI_ATTRIBUTES *attribs);
VIP_RETURN VipConnectPeerWait_DG(VIP_VI_HANDLE vi, VIP_VI_ATTRIBUTES *attribs);
VIP_RETURN VipSendDone_DG(VIP_VI_HANDLE vi, VIP_DESCRIPTOR **desc);
VIP_RETURN VipSendWait_DG(VIP_VI_HANDLE vi, VIP_ULONG timeout, VIP_DESCRIPTOR **desc);
VIP_RETURN VipRecvDone_DG(VIP_VI_HANDLE vi, VIP_DESCRIPTOR **desc);
VIP_RETURN VipRecvWait_DG(VIP_VI_HANDLE vi, VIP_ULONG timeout, VIP_DESCRIPTOR **desc);
VIP_RETURN VipRegisterMem_DG(VIP_NIC_HANDLE nic, VIP_PVOID address, VIP_ULONG length,
			     VIP_MEM_ATTRIBUTES *attribs, VIP_MEM_HANDLE *handle);
VIP_RETURN VipSetMemAttributes_DG(VIP_NIC_HANDLE nic, VIP_PVOID address, VIP_MEM_HANDLE handle,
				  VIP_MEM_ATTRIBUTES *attribs);
VIP_RETURN VipQuerySystemManagementInfo_DG(VIP_NIC_HANDLE nic, VIP_ULONG type, VIP_PVOID info);

VIP_RETURN VipNSInit(VIP_NIC_HANDLE nic, VIP_PVOID info);
VIP_RETURN VipNSShutdown(VIP_NIC_HANDLE nic);
VIP_RETURN VipNSGetHostByName(VIP_NIC_HANDLE nic, VIP_CHAR *name, VIP_NET_ADDRESS *address,
			      VIP_ULONG index);
VIP_RETURN VipNSGetHostByAddr(VIP_NIC_HANDLE nic, VIP_NET_ADDRESS *address, VIP_CHAR *name,
			      VIP_ULONG *len);

VIP_RETURN vipl_peer_done(VIP_VI_HANDLE vi, VIP_VI_ATTRIBUTES *attribs);
VIP_RETURN vipl_peer_wait(VIP_VI_HANDLE vi, VIP_VI_ATTRIBUTES *attribs);

#endif
