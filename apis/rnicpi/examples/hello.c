// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * hello: the RNICs of this host, and their attributes.
 *
 *	hello
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <rnicpi/rix.h>
#include <rnicpi/rnicpi.h>

static void show(const ri_rnic_attr_t *attr)
{
	const ri_iwarp_port_attr_t *port = attr->trans_attr.iwarp->port_attrs;
	char text[INET6_ADDRSTRLEN];
	uint_t i;

	printf("%s: %u QPs of %u WRs, %u CQs, %u regions, %u reads in, %u out\n",
	       attr->addl_vendor_info, attr->max_qps, attr->max_wrs_qp, attr->max_cqs,
	       attr->max_mrs, attr->max_ird_per_qp, attr->max_ord_per_qp);
	for (i = 0; i < port->num_ipv4_addrs; i++)
		printf("\t%s\n", inet_ntop(AF_INET, &port->ipv4_addrs[i], text, sizeof(text)));
	for (i = 0; i < port->num_ipv6_addrs; i++)
		printf("\t%s\n", inet_ntop(AF_INET6, &port->ipv6_addrs[i], text, sizeof(text)));
}

static int hello(ri_vp_handle_t vp)
{
	ri_rnic_attr_t *attr = NULL, small;
	ri_rnic_handle_t rnic;
	uint_t size = 0;
	int bad = 1;

	if (ri_rnic_get_hdl(vp, RI_CONSUMER_LOCATION_USER, &rnic, NULL, NULL, NULL))
		return 1;
	/* the first call returns the size */
	ri_rnic_query(rnic, RI_QUERY_RNIC_PORT_INFO, &small, &size, NULL);
	attr = malloc(size);
	if (attr && !ri_rnic_query(rnic, RI_QUERY_RNIC_PORT_INFO, attr, &size, NULL)) {
		show(attr);
		bad = 0;
	}
	free(attr);
	return ri_rnic_free_hdl(vp, rnic, NULL) || bad;
}

int main(void)
{
	ri_vp_handle_t vp[16];
	uint_t num = 16, i;
	int bad = 0;

	if (rix_rnic_list(vp, &num, NULL)) {
		fprintf(stderr, "hello: no list of RNICs\n");
		return 1;
	}
	for (i = 0; i < num; i++)
		bad |= hello(vp[i]);
	printf("%u RNICs\n", num);
	return bad;
}
