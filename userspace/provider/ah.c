// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * srnic: address handles, for UD QPs. The kernel keeps the address; a WR names it by a
 * number.
 */
#include <errno.h>
#include <stdlib.h>

#include "srnic.h"

/**
 * srnic_create_ah - ibv_create_ah()
 * @pd: protection domain; that of the QPs that send to it
 * @attr: see ibv_create_ah(3)
 *
 * Return: the address handle, or NULL with errno: ENOMEM, or an errno of the kernel. Any thread.
 */
struct ibv_ah *srnic_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct srnic_cmd_create_ah_resp resp = {};
	struct srnic_ah *ah;
	int ret;

	ah = calloc(1, sizeof(*ah));
	if (!ah)
		return NULL;
	ret = ibv_cmd_create_ah(pd, &ah->ibah, attr, &resp.ibv_resp, sizeof(resp));
	if (ret) {
		free(ah);
		errno = ret;
		return NULL;
	}
	ah->number = resp.number;
	return &ah->ibah;
}

/**
 * srnic_destroy_ah - ibv_destroy_ah()
 * @ibah: address handle; a WR that names it and is not sent yet fails later
 *
 * Return: 0, or an errno and the address handle is unchanged.
 */
int srnic_destroy_ah(struct ibv_ah *ibah)
{
	int ret = ibv_cmd_destroy_ah(ibah);

	if (!ret)
		free(to_srnic_ah(ibah));
	return ret;
}
