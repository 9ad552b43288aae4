// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* NICs: opened by the name of an RDMA device or of a network interface (9.2, 9.8.1) */
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "dispatch.h"
#include "link.h"
#include "listen.h"
#include "lock.h"
#include "port.h"
#include "progress.h"

#define VIA_PREFIX		"/dev/via_"	/* prefix in many programs' names of NICs */
#define MAX_SEGMENTS		252
#define MAX_TRANSFER		65536
#define PROVIDER_VERSION	1

static const char *plain_name(const char *name)
{
	size_t len = strlen(VIA_PREFIX);

	return strncmp(name, VIA_PREFIX, len) ? name : name + len;
}

/* Binds to an address; rdma_cm finds its device. */
static bool bind_to(struct vipl_nic *nic, struct sockaddr *addr)
{
	if (rdma_create_id(nic->channel, &nic->id, NULL, RDMA_PS_TCP))
		return false;
	if (!rdma_bind_addr(nic->id, addr) && nic->id->verbs)
		return true;
	rdma_destroy_id(nic->id);
	nic->id = NULL;
	return false;
}

/* Takes the device behind @ifa for the NIC, if @name is the device's or the interface's. */
static bool bind_named(struct vipl_nic *nic, const struct ifaddrs *ifa, const char *name)
{
	if (!ifa->ifa_addr || ifa->ifa_addr->sa_family != AF_INET || !bind_to(nic, ifa->ifa_addr))
		return false;
	if (!strcmp(name, ifa->ifa_name) ||
	    !strcmp(name, ibv_get_device_name(nic->id->verbs->device))) {
		nic->address = ((struct sockaddr_in *)ifa->ifa_addr)->sin_addr;
		return true;
	}
	rdma_destroy_id(nic->id);
	nic->id = NULL;
	return false;
}

static bool is_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	bool found = false;
	int i;

	for (i = 0; list && list[i]; i++)
		found |= !strcmp(name, ibv_get_device_name(list[i]));
	if (list)
		ibv_free_device_list(list);
	return found || if_nametoindex(name);
}

static VIP_RETURN find_device(struct vipl_nic *nic, const char *name)
{
	struct ifaddrs *all, *ifa;

	if (!is_device(name))
		return VIP_INVALID_PARAMETER;
	if (getifaddrs(&all))
		return VIP_ERROR_RESOURCE;
	for (ifa = all; ifa && !bind_named(nic, ifa, name); ifa = ifa->ifa_next)
		;
	freeifaddrs(all);
	return nic->id ? VIP_SUCCESS : VIP_ERROR_RESOURCE;
}

/* Up to RLIMIT_MEMLOCK */
static VIP_ULONG lockable_bytes(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return (VIP_ULONG)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
	return limit.rlim_cur;
}

static void fill_attribs(struct vipl_nic *nic, const char *name)
{
	const struct ibv_device_attr *dev = &nic->device;
	VIP_NIC_ATTRIBUTES *a = &nic->attribs;

	snprintf(a->Name, sizeof(a->Name), "%s", name);
	a->HardwareVersion = dev->hw_ver;
	a->ProviderVersion = PROVIDER_VERSION;
	a->NicAddressLen = VIPL_ADDRESS_LEN;
	a->LocalNicAddress = (const VIP_UINT8 *)&nic->address;
	a->ThreadSafe = VIP_TRUE;
	a->MaxDiscriminatorLen = VIPL_MAX_DISC;
	a->MaxRegisterBytes = lockable_bytes();
	a->MaxRegisterRegions = dev->max_mr;
	a->MaxRegisterBlockBytes = dev->max_mr_size;
	a->MaxVI = dev->max_qp < dev->max_pd ? dev->max_qp : dev->max_pd;
	a->MaxDescriptorsPerQueue = VIPL_MAX_DESCS;
	a->MaxSegmentsPerDesc = MAX_SEGMENTS;
	a->MaxCQ = dev->max_cq;
	a->MaxCQEntries = dev->max_cqe;
	a->MaxTransferSize = MAX_TRANSFER;
	a->NativeMTU = vipl_port_mtu(nic);
	a->MaxPtags = dev->max_pd;
}

static void nic_free(struct vipl_nic *nic)
{
	if (nic->id)
		rdma_destroy_id(nic->id);
	if (nic->channel)
		rdma_destroy_event_channel(nic->channel);
	vipl_nic_free(nic);
}

static VIP_RETURN nic_open(struct vipl_nic *nic, const char *name)
{
	VIP_RETURN ret;

	vipl_fork_init();
	nic->channel = rdma_create_event_channel();
	if (!nic->channel)
		return is_device(plain_name(name)) ? VIP_ERROR_RESOURCE : VIP_INVALID_PARAMETER;
	ret = find_device(nic, plain_name(name));
	if (ret)
		return ret;
	if (ibv_query_device(nic->id->verbs, &nic->device))
		return VIP_ERROR_RESOURCE;
	nic->sges = nic->device.max_sge < VIPL_SGES ? nic->device.max_sge : VIPL_SGES;
	fill_attribs(nic, name);
	nic->handle = handle_new(VIPL_NIC, nic);
	if (!nic->handle)
		return VIP_ERROR_RESOURCE;
	if (vipl_progress_start(nic))
		return VIP_SUCCESS;
	handle_free(nic->handle);
	return VIP_ERROR_RESOURCE;
}

/**
 * VipOpenNic() - Open a NIC (9.2.1)
 * @DeviceName: name of an RDMA device or a network interface, may follow "/dev/via_"
 * @NicHandle: the NIC
 *
 * Context: any thread; sleeps.
 * Return: VIP_SUCCESS; VIP_INVALID_PARAMETER: there is no such device or interface;
 * VIP_ERROR_RESOURCE: it has no RDMA device or no IPv4 address, or there is no memory.
 */
VIP_RETURN VipOpenNic(const VIP_CHAR *DeviceName, VIP_NIC_HANDLE *NicHandle)
{
	struct vipl_nic *nic;
	VIP_RETURN ret;

	if (!DeviceName || !NicHandle)
		return VIP_INVALID_PARAMETER;
	nic = vipl_nic_alloc();
	if (!nic)
		return VIP_ERROR_RESOURCE;
	pthread_cond_init(&nic->called, NULL);
	ret = nic_open(nic, DeviceName);
	if (ret)
		nic_free(nic);
	else
		*NicHandle = nic->handle;
	return ret;
}

/* Ends requests that are not answered, and waits for links that are ending */
static void end_links(struct vipl_nic *nic)
{
	struct vipl_deadline never = { .never = true };
	struct vipl_link *link, *next;

	for (link = nic->links; link; link = next) {
		next = link->next;
		if (link->passive && !link->vi && !link->ending)
			vipl_link_refuse(link, VIPL_NO_MATCH);
	}
	while (nic->links)
		vipl_wait(nic, &never);
}

static void end_all(struct vipl_nic *nic)
{
	handle_free(nic->handle);
	vipl_listen_release(nic);
	vipl_vi_disown(nic);
	end_links(nic);
	vipl_progress_stop(nic);
	vipl_dispatch_stop(nic);
	vipl_vi_release(nic);
	vipl_cq_release(nic);
	vipl_memory_release(nic);
}

/**
 * VipCloseNic() - Close a NIC, and end all of its objects (9.2.2)
 * @NicHandle: of VipOpenNic()
 *
 * Context: any thread except one of the library; sleeps.
 * Return: VIP_SUCCESS; VIP_INVALID_PARAMETER, also in a function that the library calls.
 */
VIP_RETURN VipCloseNic(VIP_NIC_HANDLE NicHandle)
{
	struct vipl_nic *nic;
	bool self;

	if (!vipl_enter(VIPL_NIC, NicHandle, &nic))
		return VIP_INVALID_PARAMETER;
	self = vipl_dispatch_is_self(nic);
	if (!self)
		end_all(nic);
	vipl_leave(nic);
	if (!self)
		nic_free(nic);
	return self ? VIP_INVALID_PARAMETER : VIP_SUCCESS;
}

/**
 * VipQueryNic() - Attributes of a NIC (9.8.1)
 * @NicHandle: of VipOpenNic()
 * @Attributes: filled in; they do not change while it is open
 *
 * Context: any thread; takes the NIC's lock.
 * Return: VIP_SUCCESS, VIP_INVALID_PARAMETER
 */
VIP_RETURN VipQueryNic(VIP_NIC_HANDLE NicHandle, VIP_NIC_ATTRIBUTES *Attributes)
{
	struct vipl_nic *nic = NULL;

	if (Attributes && vipl_enter(VIPL_NIC, NicHandle, &nic))
		*Attributes = nic->attribs;
	vipl_leave(nic);
	return nic ? VIP_SUCCESS : VIP_INVALID_PARAMETER;
}

/**
 * VipQuerySystemManagementInfo() - Counters of a NIC (9.8.6)
 * @NicHandle: of VipOpenNic()
 * @InfoType: VIP_SMI_TYPE_COUNTERS
 * @SysManInfo: set to a VIP_SMI_COUNTERS of the library, which is valid until the NIC is
 * closed; the next call overwrites it
 *
 * Context: any thread; takes the NIC's lock.
 * Return: VIP_SUCCESS, VIP_INVALID_PARAMETER
 */
VIP_RETURN VipQuerySystemManagementInfo(VIP_NIC_HANDLE NicHandle, VIP_ULONG InfoType,
					VIP_PVOID *SysManInfo)
{
	struct vipl_nic *nic = NULL;

	if (SysManInfo && InfoType == VIP_SMI_TYPE_COUNTERS &&
	    vipl_enter(VIPL_NIC, NicHandle, &nic)) {
		nic->shown = nic->counters;
		*SysManInfo = &nic->shown;
	}
	vipl_leave(nic);
	return nic ? VIP_SUCCESS : VIP_INVALID_PARAMETER;
}
