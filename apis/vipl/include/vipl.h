/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The VI Provider Library (VIPL) of the Virtual Interface Architecture
 * Specification 1.0, Appendix A. Layouts and values are those of the specification;
 * where it has none (VIP_DESCRIPTOR, VIP_INFINITE, base types) they are those
 * that programs for VI expect.
 *
 * With VIPL_DG defined this is the interface of Intel's later Developer's Guide, which most
 * programs are written for: other values, some other structures, more functions.
 */
#ifndef VIPL_H
#define VIPL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef IN
#define IN
#endif
#ifndef OUT
#define OUT
#endif

#define VIP_TRUE	1
#define VIP_FALSE	0
#define VIP_INFINITE	((VIP_ULONG)-1)	/* a time-out, in milliseconds as all are */

typedef void *VIP_PVOID;
typedef int VIP_BOOLEAN;
typedef char VIP_CHAR;
typedef unsigned char VIP_UCHAR;
typedef unsigned short VIP_USHORT;
typedef unsigned long VIP_ULONG;
typedef uint8_t VIP_UINT8;
typedef uint16_t VIP_UINT16;
typedef uint32_t VIP_UINT32;
typedef uint64_t VIP_UINT64;

typedef VIP_PVOID VIP_NIC_HANDLE;
typedef VIP_PVOID VIP_VI_HANDLE;
typedef VIP_PVOID VIP_CQ_HANDLE;
typedef VIP_PVOID VIP_CONN_HANDLE;
typedef VIP_PVOID VIP_PROTECTION_HANDLE;
typedef VIP_UINT32 VIP_MEM_HANDLE;	/* 0 is none */
typedef VIP_PVOID VIP_QOS;		/* NULL is the only one */

/* 9.10.1 */
typedef enum {
	VIP_SUCCESS,
	VIP_NOT_DONE,
	VIP_INVALID_PARAMETER,
	VIP_ERROR_RESOURCE,
	VIP_TIMEOUT,
	VIP_REJECT,
	VIP_INVALID_RELIABILITY_LEVEL,
	VIP_INVALID_MTU,
	VIP_INVALID_QOS,
	VIP_INVALID_PTAG,
	VIP_INVALID_RDMAREAD,
	/* of the Developer's Guide */
	VIP_DESCRIPTOR_ERROR,
	VIP_INVALID_STATE,
	VIP_ERROR_NAMESERVICE,
	VIP_NO_MATCH
} VIP_RETURN;

#define VIP_REJECTED VIP_REJECT		/* as 9.4.4 spells it */

/* 9.10.2, 10.2 to 10.4: little-endian, 64-byte aligned */
typedef union {
	VIP_UINT64 AddressBits;
	VIP_PVOID Address;
} VIP_PVOID64;

typedef struct {
	VIP_PVOID64 Next;
	VIP_MEM_HANDLE NextHandle;
	VIP_UINT16 SegCount;
	VIP_UINT16 Control;
	VIP_UINT32 Reserved;
	VIP_UINT32 ImmediateData;
	VIP_UINT32 Length;
	VIP_UINT32 Status;
} VIP_CONTROL_SEGMENT;

typedef struct {
	VIP_PVOID64 Data;
	VIP_MEM_HANDLE Handle;
	VIP_UINT32 Reserved;
} VIP_ADDRESS_SEGMENT;

typedef struct {
	VIP_PVOID64 Data;
	VIP_MEM_HANDLE Handle;
	VIP_UINT32 Length;
} VIP_DATA_SEGMENT;

typedef union {
	VIP_ADDRESS_SEGMENT Remote;
	VIP_DATA_SEGMENT Local;
} VIP_DESCRIPTOR_SEGMENT;

/* 64 bytes; a descriptor with more segments continues after it */
typedef struct {
	VIP_CONTROL_SEGMENT CS;
	VIP_DESCRIPTOR_SEGMENT DS[2];
} VIP_DESCRIPTOR;

#define VIP_DESCRIPTOR_ALIGNMENT	64

#define VIP_CONTROL_OP_SENDRECV		0x0000
#define VIP_CONTROL_OP_RDMAWRITE	0x0001
#define VIP_CONTROL_OP_RDMA_READ	0x0002
#define VIP_CONTROL_OP_RDMAREAD		VIP_CONTROL_OP_RDMA_READ	/* the guide's */
#define VIP_CONTROL_OP_MASK		0x0003
#define VIP_CONTROL_IMMEDIATE		0x0004
#define VIP_CONTROL_QFENCE		0x0008

#define VIP_STATUS_DONE			0x00000001
#define VIP_STATUS_FORMAT_ERROR		0x00000002
#define VIP_STATUS_PROTECTION_ERROR	0x00000004
#define VIP_STATUS_LENGTH_ERROR		0x00000008
#define VIP_STATUS_PARTIAL_ERROR	0x00000010
#define VIP_STATUS_DESC_FLUSHED_ERROR	0x00000020
#define VIP_STATUS_TRANSPORT_ERROR	0x00000040
#define VIP_STATUS_RDMA_PROT_ERROR	0x00000080
#define VIP_STATUS_REMOTE_DESC_ERROR	0x00000100
#define VIP_STATUS_ERROR_MASK		0x000001FE
#define VIP_STATUS_OP_SEND		0x00000000
#define VIP_STATUS_OP_RECEIVE		0x00010000
#define VIP_STATUS_OP_RDMA_WRITE	0x00020000
#define VIP_STATUS_OP_REMOTE_RDMA_WRITE	0x00030000
#define VIP_STATUS_OP_RDMA_READ		0x00040000
#define VIP_STATUS_OP_MASK		0x00070000
#define VIP_STATUS_IMMEDIATE		0x00080000

/* 9.10.3 */
typedef enum _VIP_RESOURCE_CODE {
	VIP_RESOURCE_NIC,
	VIP_RESOURCE_VI,
	VIP_RESOURCE_CQ,
	VIP_RESOURCE_DESCRIPTOR
} VIP_RESOURCE_CODE;

/* The specification has VIP_ERROR_RDMAW_PROT twice; the second one is for Reads */
typedef enum _VIP_ERROR_CODE {
	VIP_ERROR_POST_DESC,
	VIP_ERROR_CONN_LOST,
	VIP_ERROR_RECVQ_EMPTY,
	VIP_ERROR_VI_OVERRUN,
	VIP_ERROR_RDMAW_PROT,
	VIP_ERROR_RDMAW_DATA,
	VIP_ERROR_RDMAW_ABORT,
	VIP_ERROR_RDMAR_PROT,
	VIP_ERROR_COMP_PROT,
	/* of the Developer's Guide */
	VIP_ERROR_RDMA_TRANSPORT,
	VIP_ERROR_CATASTROPHIC
} VIP_ERROR_CODE;

typedef struct {
	VIP_NIC_HANDLE NicHandle;
	VIP_VI_HANDLE ViHandle;
#ifdef VIPL_DG
	VIP_CQ_HANDLE CQHandle;
#else
	VIP_CQ_HANDLE CqHandle;
#endif
	VIP_DESCRIPTOR *DescriptorPtr;
	VIP_ULONG OpCode;
	VIP_RESOURCE_CODE ResourceCode;
	VIP_ERROR_CODE ErrorCode;
} VIP_ERROR_DESCRIPTOR;

/* 9.10.4 */
typedef struct {
	VIP_CHAR Name[64];
	VIP_ULONG HardwareVersion;
	VIP_ULONG ProviderVersion;
	VIP_UINT16 NicAddressLen;
	const VIP_UINT8 *LocalNicAddress;
	VIP_BOOLEAN ThreadSafe;
	VIP_UINT16 MaxDiscriminatorLen;
	VIP_ULONG MaxRegisterBytes;
	VIP_ULONG MaxRegisterRegions;
	VIP_ULONG MaxRegisterBlockBytes;
	VIP_ULONG MaxVI;
	VIP_ULONG MaxDescriptorsPerQueue;
	VIP_ULONG MaxSegmentsPerDesc;
	VIP_ULONG MaxCQ;
	VIP_ULONG MaxCQEntries;
	VIP_ULONG MaxTransferSize;
	VIP_ULONG NativeMTU;
	VIP_ULONG MaxPtags;
#ifdef VIPL_DG
	VIP_ULONG ReliabilityLevelSupport;	/* a bit for each VIP_SERVICE */
	VIP_ULONG RDMAReadSupport;		/* the same, of those that have it */
#endif
} VIP_NIC_ATTRIBUTES;

/* 9.10.5 */
typedef enum {
#ifdef VIPL_DG
	VIP_SERVICE_UNRELIABLE = 1,
	VIP_SERVICE_RELIABLE_DELIVERY = 2,
	VIP_SERVICE_RELIABLE_RECEPTION = 4
#else
	VIP_SERVICE_UNRELIABLE,
	VIP_SERVICE_RELIABLE_DELIVERY,
	VIP_SERVICE_RELIABLE_RECEPTION
#endif
} VIP_RELIABILITY_LEVEL;

typedef struct {
	VIP_RELIABILITY_LEVEL ReliabilityLevel;
	VIP_ULONG MaxTransferSize;
	VIP_QOS QoS;
	VIP_PROTECTION_HANDLE Ptag;
	VIP_BOOLEAN EnableRdmaWrite;
	VIP_BOOLEAN EnableRdmaRead;
} VIP_VI_ATTRIBUTES;

/* 9.10.6 */
typedef struct {
	VIP_PROTECTION_HANDLE Ptag;
	VIP_BOOLEAN EnableRdmaWrite;
	VIP_BOOLEAN EnableRdmaRead;
} VIP_MEM_ATTRIBUTES;

/* 9.10.7 */
typedef enum {
	VIP_STATE_IDLE,
	VIP_STATE_CONNECTED,
	VIP_STATE_CONNECT_PENDING,
	VIP_STATE_ERROR
} VIP_VI_STATE;

/* 9.10.8: the host, and after it the discriminator, with the lengths of the two fields */
typedef struct {
	VIP_UINT16 HostAddressLen;
	VIP_UINT16 DiscriminatorLen;
	VIP_UINT8 HostAddress[1];
} VIP_NET_ADDRESS;

/* 9.8.6 leaves types and contents to the provider; counted since the NIC was opened */
#define VIP_SMI_TYPE_COUNTERS	0x1001

typedef struct {
	VIP_ULONG DescriptorsPosted;
	VIP_ULONG DescriptorsCompleted;
	VIP_ULONG DescriptorsInError;	/* of those completed */
	VIP_ULONG CQEntriesLost;	/* in CQs that were full */
	VIP_ULONG AsynchronousErrors;
	VIP_ULONG Connections;
	VIP_ULONG RequestsRefused;	/* for which the program did not wait */
	VIP_ULONG MessagesDropped;	/* of Unreliable Delivery, without a place */
} VIP_SMI_COUNTERS;

/* The two interfaces differ where a value or a structure has the same name. */
#ifdef VIPL_DG
#define VIPL_SYMBOL(name)	__asm__(#name "_DG")
#else
#define VIPL_SYMBOL(name)
#endif

/* 9.2 Hardware connection, 9.8.1 */
VIP_RETURN VipOpenNic(IN const VIP_CHAR *DeviceName, OUT VIP_NIC_HANDLE *NicHandle);
VIP_RETURN VipCloseNic(IN VIP_NIC_HANDLE NicHandle);
VIP_RETURN VipQueryNic(IN VIP_NIC_HANDLE NicHandle, OUT VIP_NIC_ATTRIBUTES *Attributes)
	VIPL_SYMBOL(VipQueryNic);

/* 9.3 Endpoints, 9.4.5, 9.8.2, 9.8.3 */
VIP_RETURN VipCreateVi(IN VIP_NIC_HANDLE NicHandle, IN VIP_VI_ATTRIBUTES *ViAttribs,
		       IN VIP_CQ_HANDLE SendCQHandle, IN VIP_CQ_HANDLE RecvCQHandle,
		       OUT VIP_VI_HANDLE *ViHandle)
	VIPL_SYMBOL(VipCreateVi);
VIP_RETURN VipDestroyVi(IN VIP_VI_HANDLE ViHandle);
VIP_RETURN VipDisconnect(IN VIP_VI_HANDLE ViHandle);
VIP_RETURN VipSetViAttributes(IN VIP_VI_HANDLE ViHandle, IN VIP_VI_ATTRIBUTES *Attributes)
	VIPL_SYMBOL(VipSetViAttributes);
#ifdef VIPL_DG
VIP_RETURN VipQueryVi(IN VIP_VI_HANDLE ViHandle, OUT VIP_VI_STATE *State,
		      OUT VIP_VI_ATTRIBUTES *Attributes, OUT VIP_BOOLEAN *ViSendQEmpty,
		      OUT VIP_BOOLEAN *ViRecvQEmpty)
	VIPL_SYMBOL(VipQueryVi);
#else
VIP_RETURN VipQueryVi(IN VIP_VI_HANDLE ViHandle, OUT VIP_VI_STATE *State,
		      OUT VIP_VI_ATTRIBUTES *Attributes);
#endif

/* 9.4 Connections */
VIP_RETURN VipConnectWait(IN VIP_NIC_HANDLE NicHandle, IN VIP_NET_ADDRESS *LocalAddr,
			  IN VIP_ULONG Timeout, OUT VIP_NET_ADDRESS *RemoteAddr,
			  OUT VIP_VI_ATTRIBUTES *RemoteViAttribs, OUT VIP_CONN_HANDLE *ConnHandle)
	VIPL_SYMBOL(VipConnectWait);
VIP_RETURN VipConnectAccept(IN VIP_CONN_HANDLE ConnHandle, IN VIP_VI_HANDLE ViHandle)
	VIPL_SYMBOL(VipConnectAccept);
VIP_RETURN VipConnectReject(IN VIP_CONN_HANDLE ConnHandle);
VIP_RETURN VipConnectRequest(IN VIP_VI_HANDLE ViHandle, IN VIP_NET_ADDRESS *LocalAddr,
			     IN VIP_NET_ADDRESS *RemoteAddr, IN VIP_ULONG Timeout,
			     OUT VIP_VI_ATTRIBUTES *RemoteViAttribs)
	VIPL_SYMBOL(VipConnectRequest);

/* 9.6 Data transfer */
VIP_RETURN VipPostSend(IN VIP_VI_HANDLE ViHandle, IN VIP_DESCRIPTOR *Descriptor,
		       IN VIP_MEM_HANDLE MemoryHandle);
VIP_RETURN VipSendDone(IN VIP_VI_HANDLE ViHandle, OUT VIP_DESCRIPTOR **Descriptor)
	VIPL_SYMBOL(VipSendDone);
VIP_RETURN VipSendWait(IN VIP_VI_HANDLE ViHandle, IN VIP_ULONG TimeOut,
		       OUT VIP_DESCRIPTOR **Descriptor)
	VIPL_SYMBOL(VipSendWait);
VIP_RETURN VipPostRecv(IN VIP_VI_HANDLE ViHandle, IN VIP_DESCRIPTOR *Descriptor,
		       IN VIP_MEM_HANDLE MemoryHandle);
VIP_RETURN VipRecvDone(IN VIP_VI_HANDLE ViHandle, OUT VIP_DESCRIPTOR **Descriptor)
	VIPL_SYMBOL(VipRecvDone);
VIP_RETURN VipRecvWait(IN VIP_VI_HANDLE ViHandle, IN VIP_ULONG TimeOut,
		       OUT VIP_DESCRIPTOR **Descriptor)
	VIPL_SYMBOL(VipRecvWait);

VIP_RETURN VipCQDone(IN VIP_CQ_HANDLE CQHandle, OUT VIP_VI_HANDLE *ViHandle,
		     OUT VIP_BOOLEAN *RecvQueue);
VIP_RETURN VipCQWait(IN VIP_CQ_HANDLE CQHandle, IN VIP_ULONG Timeout,
		     OUT VIP_VI_HANDLE *ViHandle, OUT VIP_BOOLEAN *RecvQueue);

VIP_RETURN VipSendNotify(IN VIP_VI_HANDLE ViHandle, IN VIP_PVOID Context,
			 IN void (*Handler)(IN VIP_PVOID Context, IN VIP_NIC_HANDLE NicHandle,
					    IN VIP_VI_HANDLE ViHandle,
					    IN VIP_DESCRIPTOR *DescriptorPtr));
VIP_RETURN VipRecvNotify(IN VIP_VI_HANDLE ViHandle, IN VIP_PVOID Context,
			 IN void (*Handler)(IN VIP_PVOID Context, IN VIP_NIC_HANDLE NicHandle,
					    IN VIP_VI_HANDLE ViHandle,
					    IN VIP_DESCRIPTOR *DescriptorPtr));
VIP_RETURN VipCQNotify(IN VIP_CQ_HANDLE CQHandle, IN VIP_PVOID Context,
		       IN void (*Handler)(IN VIP_PVOID Context, IN VIP_NIC_HANDLE NicHandle,
					  IN VIP_VI_HANDLE ViHandle, IN VIP_BOOLEAN RecvQueue));

/* 9.7 Completion queues */
VIP_RETURN VipCreateCQ(IN VIP_NIC_HANDLE NicHandle, IN VIP_ULONG EntryCount,
		       OUT VIP_CQ_HANDLE *CQHandle);
VIP_RETURN VipDestroyCQ(IN VIP_CQ_HANDLE CQHandle);
VIP_RETURN VipResizeCQ(IN VIP_CQ_HANDLE CQHandle, IN VIP_ULONG EntryCount);

/* 9.5 Memory protection and registration, 9.8.4, 9.8.5 */
VIP_RETURN VipCreatePtag(IN VIP_NIC_HANDLE NicHandle, OUT VIP_PROTECTION_HANDLE *Ptag);
VIP_RETURN VipDestroyPtag(IN VIP_NIC_HANDLE NicHandle, IN VIP_PROTECTION_HANDLE Ptag);
VIP_RETURN VipRegisterMem(IN VIP_NIC_HANDLE NicHandle, IN VIP_PVOID VirtualAddress,
			  IN VIP_ULONG Length, IN VIP_MEM_ATTRIBUTES *MemAttribs,
			  OUT VIP_MEM_HANDLE *MemHandle)
	VIPL_SYMBOL(VipRegisterMem);
VIP_RETURN VipDeregisterMem(IN VIP_NIC_HANDLE NicHandle, IN VIP_PVOID VirtualAddress,
			    IN VIP_MEM_HANDLE MemHandle);
VIP_RETURN VipSetMemAttributes(IN VIP_NIC_HANDLE NicHandle, IN VIP_PVOID Address,
			       IN VIP_MEM_HANDLE MemHandle, IN VIP_MEM_ATTRIBUTES *MemAttribs)
	VIPL_SYMBOL(VipSetMemAttributes);
VIP_RETURN VipQueryMem(IN VIP_NIC_HANDLE NicHandle, IN VIP_PVOID Address,
		       IN VIP_MEM_HANDLE MemHandle, OUT VIP_MEM_ATTRIBUTES *MemAttribs);

/* 9.8.6, 9.9 */
#ifdef VIPL_DG
/* SysManInfo: a structure of the program, filled in */
VIP_RETURN VipQuerySystemManagementInfo(IN VIP_NIC_HANDLE NicHandle, IN VIP_ULONG InfoType,
					OUT VIP_PVOID SysManInfo)
	VIPL_SYMBOL(VipQuerySystemManagementInfo);
#else
VIP_RETURN VipQuerySystemManagementInfo(IN VIP_NIC_HANDLE NicHandle, IN VIP_ULONG InfoType,
					OUT VIP_PVOID *SysManInfo);
#endif
VIP_RETURN VipErrorCallback(IN VIP_NIC_HANDLE NicHandle, IN VIP_PVOID Context,
			    IN void (*Handler)(IN VIP_PVOID Context,
					       IN VIP_ERROR_DESCRIPTOR *ErrorDesc));

#ifdef VIPL_DG
/* Name service, and connections between peers */
VIP_RETURN VipNSInit(IN VIP_NIC_HANDLE NicHandle, IN VIP_PVOID NSInitInfo);
VIP_RETURN VipNSGetHostByName(IN VIP_NIC_HANDLE NicHandle, IN VIP_CHAR *Name,
			      OUT VIP_NET_ADDRESS *Address, IN VIP_ULONG NameIndex);
VIP_RETURN VipNSGetHostByAddr(IN VIP_NIC_HANDLE NicHandle, IN VIP_NET_ADDRESS *Address,
			      OUT VIP_CHAR *Name, IN OUT VIP_ULONG *NameLen);
VIP_RETURN VipNSShutdown(IN VIP_NIC_HANDLE NicHandle);

VIP_RETURN VipConnectPeerRequest(IN VIP_VI_HANDLE ViHandle, IN VIP_NET_ADDRESS *LocalAddr,
				 IN VIP_NET_ADDRESS *RemoteAddr, IN VIP_ULONG Timeout);
VIP_RETURN VipConnectPeerDone(IN VIP_VI_HANDLE ViHandle, OUT VIP_VI_ATTRIBUTES *RemoteAttributes)
	VIPL_SYMBOL(VipConnectPeerDone);
VIP_RETURN VipConnectPeerWait(IN VIP_VI_HANDLE ViHandle, OUT VIP_VI_ATTRIBUTES *RemoteAttributes)
	VIPL_SYMBOL(VipConnectPeerWait);
#endif

#ifdef __cplusplus
}
#endif

#endif
