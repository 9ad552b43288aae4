/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What a kernel consumer on Linux needs beside RNICPI: to learn of the devices, and of their
 * end. rix.h is for programs.
 */
#ifndef RNICPI_RIX_KERNEL_H
#define RNICPI_RIX_KERNEL_H

#include <linux/list.h>
#include <linux/types.h>
#include <rnicpi/rnicpi.h>

/* ri_rc_wc.flags: the WR of a completion of RI_WC_TYPE_SEND was a RI_WR_TYPE_SEND_INVALIDATE */
#define RIX_WC_FLAG_SEND_INVALIDATE	0x10000

/**
 * struct rix_client - a consumer that is notified of the RNICs that there are
 * @attached: an RNIC is there, from ri_svc_attach() or at rix_client_register(). The client may
 *	      call any function of the RNIC, ri_rnic_open() first
 * @detaching: an RNIC is about to go: the client ends what it has of the RNIC, and calls
 *	       ri_rnic_close(). The provider ends what is left afterwards
 * @link: of rix_client_register()
 *
 * Each is called once for each RNIC; both may sleep, and are called one at a time. They must not
 * call rix_client_register(), rix_client_unregister(), ri_svc_attach() or ri_svc_detach().
 */
struct rix_client {
	void (*attached)(struct rix_client *client, ri_vp_handle_t vp_hdl);
	void (*detaching)(struct rix_client *client, ri_vp_handle_t vp_hdl);
	struct list_head link;
};

void rix_client_register(struct rix_client *client);
void rix_client_unregister(struct rix_client *client);

ri_api_return_t rix_rnic_info(ri_vp_handle_t vp_hdl, char *dev_info, size_t len,
			      ri_services_dev_arg_t *svcs, ri_err_data_t *err_data);
ri_api_return_t rix_rnic_vectors(ri_vp_handle_t vp_hdl, const ri_ops_t **al_locking_ops,
				 const ri_ops_t **vp_locking_ops, ri_err_data_t *err_data);

#endif
