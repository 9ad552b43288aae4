// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Setup of the cases of libvipl. */
#include <stdlib.h>
#include <sys/mman.h>
#include "common.h"
#include "objects.h"

const char *name_of(const char *variable)
{
	const char *name = getenv(variable);

	require(name, "%s is not set", variable);
	return name;
}

VIP_NIC_HANDLE open_nic(void)
{
	VIP_NIC_HANDLE nic;

	expect(VIP_SUCCESS, VipOpenNic(name_of("VIPL_DEVICE"), &nic));
	return nic;
}

VIP_PROTECTION_HANDLE make_ptag(VIP_NIC_HANDLE nic)
{
	VIP_PROTECTION_HANDLE ptag;

	expect(VIP_SUCCESS, VipCreatePtag(nic, &ptag));
	require(ptag, "a tag is not NULL");
	return ptag;
}

void *map(size_t len, int prot)
{
	void *p = mmap(NULL, len, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	require(p != MAP_FAILED, "mmap");
	return p;
}

/* Attributes of an ordinary VI */
VIP_VI_ATTRIBUTES plain_vi(VIP_NIC_HANDLE nic)
{
	return (VIP_VI_ATTRIBUTES){
		.ReliabilityLevel = VIP_SERVICE_RELIABLE_DELIVERY,
		.MaxTransferSize = 32768,
		.Ptag = make_ptag(nic),
	};
}

VIP_VI_HANDLE make_vi(VIP_NIC_HANDLE nic, VIP_VI_ATTRIBUTES *attr)
{
	VIP_VI_HANDLE vi = NULL;

	expect(VIP_SUCCESS, VipCreateVi(nic, attr, NULL, NULL, &vi));
	require(vi, "a VI is not NULL");
	return vi;
}
