/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* What a device has for InfiniBand's programs alone. */
#ifndef SRNIC_IB_DEVICE_H
#define SRNIC_IB_DEVICE_H

#include <linux/xarray.h>
#include "ib/ud.h"

struct srnic_device;
struct srnic_rdv_ops;

/**
 * struct srnic_ib_device - the part of a device that belongs to ib/
 * @pairs: by QP number, QPs that their programs connect by Modify QP
 * @rdv: functions that connect them
 * @ud: UDP sockets of UD QPs
 * @avs: by number, destinations of UD QPs: struct srnic_av
 * @next_av: where the search for a free number starts
 */
struct srnic_ib_device {
	struct xarray pairs;
	const struct srnic_rdv_ops *rdv;
	struct srnic_ud_ports ud;
	struct xarray avs;
	u32 next_av;
};

int srnic_ib_device_new(struct srnic_device *dev);
void srnic_ib_device_free(struct srnic_device *dev);

#endif
