// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* What a device has for InfiniBand's programs alone: its beginning and its end. */

#include <linux/slab.h>
#include "ib/ib_device.h"
#include "ib/rendezvous.h"
#include "srnic.h"

/**
 * srnic_ib_device_new - allocate ib/'s part of a device
 * @dev: being created
 *
 * Context: process, may sleep.
 * Return: 0 or -ENOMEM.
 */
int srnic_ib_device_new(struct srnic_device *dev)
{
	struct srnic_ib_device *ib = kzalloc(sizeof(*ib), GFP_KERNEL);

	if (!ib)
		return -ENOMEM;
	xa_init_flags(&ib->pairs, XA_FLAGS_ACCOUNT);
	ib->rdv = &srnic_rdv_ops;
	srnic_ud_ports_init(&ib->ud, dev);
	xa_init_flags(&ib->avs, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	dev->ib = ib;
	return 0;
}

/**
 * srnic_ib_device_free - undo srnic_ib_device_new()
 * @dev: without QPs, address handles and endpoints; srnic_ud_ports_changed() is not called for it
 *	 any more
 * Context: process, may sleep.
 */
void srnic_ib_device_free(struct srnic_device *dev)
{
	struct srnic_ib_device *ib = dev->ib;

	WARN_ON_ONCE(srnic_xa_has_entries(&ib->pairs));
	WARN_ON_ONCE(srnic_xa_has_entries(&ib->avs));
	srnic_ud_ports_exit(&ib->ud);
	xa_destroy(&ib->avs);
	xa_destroy(&ib->pairs);
	kfree(ib);
}
