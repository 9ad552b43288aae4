// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * libvipl_dg: the functions of the Developer's Guide by their plain names, for programs that find
 * them with dlsym(). Each calls libvipl's, by the name that vipl.h gives it with VIPL_DG; functions
 * that are the same in both interfaces are found in libvipl itself.
 */
#define VIPL_DG
#include <vipl.h>

#define PLAIN(name, params, args)						\
	VIP_RETURN plain_##name params __asm__(#name);				\
	VIP_RETURN plain_##name params { return name args; }

PLAIN(VipQueryNic, (VIP_NIC_HANDLE nic, VIP_NIC_ATTRIBUTES *attributes), (nic, attributes))

PLAIN(VipCreateVi, (VIP_NIC_HANDLE nic, VIP_VI_ATTRIBUTES *attributes, VIP_CQ_HANDLE send,
		    VIP_CQ_HANDLE recv, VIP_VI_HANDLE *vi), (nic, attributes, send, recv, vi))
PLAIN(VipSetViAttributes, (VIP_VI_HANDLE vi, VIP_VI_ATTRIBUTES *attributes), (vi, attributes))
PLAIN(VipQueryVi, (VIP_VI_HANDLE vi, VIP_VI_STATE *state, VIP_VI_ATTRIBUTES *attributes,
		   VIP_BOOLEAN *send, VIP_BOOLEAN *recv), (vi, state, attributes, send, recv))

PLAIN(VipConnectWait, (VIP_NIC_HANDLE nic, VIP_NET_ADDRESS *local, VIP_ULONG timeout,
		       VIP_NET_ADDRESS *remote, VIP_VI_ATTRIBUTES *attributes,
		       VIP_CONN_HANDLE *conn), (nic, local, timeout, remote, attributes, conn))
PLAIN(VipConnectAccept, (VIP_CONN_HANDLE conn, VIP_VI_HANDLE vi), (conn, vi))
PLAIN(VipConnectRequest, (VIP_VI_HANDLE vi, VIP_NET_ADDRESS *local, VIP_NET_ADDRESS *remote,
			  VIP_ULONG timeout, VIP_VI_ATTRIBUTES *attributes),
      (vi, local, remote, timeout, attributes))
PLAIN(VipConnectPeerDone, (VIP_VI_HANDLE vi, VIP_VI_ATTRIBUTES *attributes), (vi, attributes))
PLAIN(VipConnectPeerWait, (VIP_VI_HANDLE vi, VIP_VI_ATTRIBUTES *attributes), (vi, attributes))

PLAIN(VipSendDone, (VIP_VI_HANDLE vi, VIP_DESCRIPTOR **desc), (vi, desc))
PLAIN(VipSendWait, (VIP_VI_HANDLE vi, VIP_ULONG timeout, VIP_DESCRIPTOR **desc), (vi, timeout, desc))
PLAIN(VipRecvDone, (VIP_VI_HANDLE vi, VIP_DESCRIPTOR **desc), (vi, desc))
PLAIN(VipRecvWait, (VIP_VI_HANDLE vi, VIP_ULONG timeout, VIP_DESCRIPTOR **desc), (vi, timeout, desc))

PLAIN(VipRegisterMem, (VIP_NIC_HANDLE nic, VIP_PVOID address, VIP_ULONG length,
		       VIP_MEM_ATTRIBUTES *attributes, VIP_MEM_HANDLE *handle),
      (nic, address, length, attributes, handle))
PLAIN(VipSetMemAttributes, (VIP_NIC_HANDLE nic, VIP_PVOID address, VIP_MEM_HANDLE handle,
			    VIP_MEM_ATTRIBUTES *attributes), (nic, address, handle, attributes))
PLAIN(VipQuerySystemManagementInfo, (VIP_NIC_HANDLE nic, VIP_ULONG type, VIP_PVOID info),
      (nic, type, info))
