// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* RNIC handles, PDs, CQs, regions, windows, SRQs; and refused calls. */
#include <arpa/inet.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "rnicpi.h"

void layout(void)
{
	require(sizeof(ri_ops_t) == 63 * sizeof(void *), "%zu", sizeof(ri_ops_t));
	require(RI_RET_MPA_ATTR_UNSUPPORTED == 85, "%d", RI_RET_MPA_ATTR_UNSUPPORTED);
	require(RI_WC_STATUS_HUGE_PAYLOAD_ERROR == 24, "%d", RI_WC_STATUS_HUGE_PAYLOAD_ERROR);
	require(sizeof(ri_event_record_t) == 24, "%zu", sizeof(ri_event_record_t));
	require(sizeof(ri_rc_wc_t) == 64 && sizeof(ri_wc_t) == 88, "%zu, %zu", sizeof(ri_rc_wc_t),
		sizeof(ri_wc_t));
	require(offsetof(ri_rc_wc_t, id) == offsetof(ri_gen_wc_t, id) &&
		offsetof(ri_rc_wc_t, qp_os_data) == offsetof(ri_gen_wc_t, qp_os_data), "WCs");
	require(sizeof(ri_wr_recv_t) == 32, "%zu", sizeof(ri_wr_recv_t));
	require(offsetof(ri_ops_t, ri_op_process_sma_mad) == 62 * sizeof(void *), "the last one");
}

void devices(void)
{
	const ri_ops_t *al, *vp;
	ri_rnic_handle_t one, two;
	ri_vp_handle_t first = find_vp(), none[1];
	ri_pd_handle_t of_one, of_two;
	uint_t num = 0;

	require(find_vp() == first, "the same handle again");
	expect(RI_RET_BUFFER_TOO_SMALL, rix_rnic_list(none, &num, &err));
	require(num >= 1, "how many there are");
	expect(RI_RET_INVALID_PARAMETER, rix_rnic_list(NULL, &num, &err));
	expect(RI_RET_INVALID_PARAMETER, rix_rnic_list(none, NULL, &err));
	expect(RI_RET_VP_INVALID_HANDLE, rix_rnic_vectors(STALE, &al, &vp, &err));
	require(!rix_rnic_name(STALE) && !rix_rnic_name(NULL), "no name");
	expect(RI_RET_SUCCESS, rix_rnic_vectors(first, &al, &vp, &err));
	expect(RI_RET_SUCCESS, al->ri_op_rnic_get_hdl(first, RI_CONSUMER_LOCATION_USER, &one, NULL,
						      NULL, &err));
	expect(RI_RET_SUCCESS, vp->ri_op_rnic_get_hdl(first, RI_CONSUMER_LOCATION_USER, &two, NULL,
						      NULL, &err));
	require(one != two && ri_svc_ops(one) == al && ri_svc_ops(two) == vp,
		"a handle has the vector that made it (9.1.3)");
	require(rix_to_ibv_context(one) && rix_to_ibv_context(one) != rix_to_ibv_context(two),
		"a context each");
	/* that one for all its calls, whatever other handles have */
	expect(RI_RET_SUCCESS, ri_pd_alloc(one, &of_one, NULL, NULL, &err));
	expect(RI_RET_SUCCESS, ri_pd_alloc(two, &of_two, NULL, NULL, &err));
	expect(RI_RET_PD_INVALID_HANDLE, ri_pd_dealloc(one, of_two, &err));
	expect(RI_RET_SUCCESS, ri_pd_dealloc(two, of_two, &err));
	expect(RI_RET_SUCCESS, ri_rnic_free_hdl(first, two, &err));
	require(ri_svc_ops(one) == al && ri_svc_ops(two) != vp, "the other one is gone");
	expect(RI_RET_SUCCESS, ri_pd_dealloc(one, of_one, &err));
	expect(RI_RET_SUCCESS, ri_rnic_free_hdl(first, one, &err));
	require(ri_svc_ops(one) != al && !rix_to_ibv_context(one), "gone");
	/* the next handle is not affected by the vector of the last one */
	expect(RI_RET_SUCCESS, vp->ri_op_rnic_get_hdl(first, RI_CONSUMER_LOCATION_USER, &one, NULL,
						      NULL, &err));
	require(ri_svc_ops(one) == vp, "the vector that made it");
	expect(RI_RET_SUCCESS, ri_rnic_free_hdl(first, one, &err));
}

void handles(void)
{
	ri_vp_handle_t vp = find_vp();
	ri_rnic_handle_t rnic = get_rnic(), other;
	ri_pd_handle_t pd;

	expect(RI_RET_VP_INVALID_HANDLE, ri_rnic_get_hdl(NULL, RI_CONSUMER_LOCATION_USER, &rnic,
							 NULL, NULL, &err));
	expect(RI_RET_INVALID_PARAMETER, ri_rnic_get_hdl(vp, RI_CONSUMER_LOCATION_USER, NULL, NULL,
							 NULL, &err));
	/* a value that is not defined (L1640) */
	expect(RI_RET_INVALID_PARAMETER, ri_rnic_get_hdl(vp, (ri_consumer_domain_t)77, &other, NULL,
							 NULL, &err));
	expect(RI_RET_SUCCESS, ri_pd_alloc(rnic, &pd, NULL, NULL, &err));
	expect(RI_RET_RNIC_INUSE, ri_rnic_free_hdl(vp, rnic, &err));
	expect(RI_RET_SUCCESS, ri_pd_dealloc(rnic, pd, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_rnic_free_hdl(vp, pd, &err));
	expect(RI_RET_VP_INVALID_HANDLE, ri_rnic_free_hdl(rnic, rnic, &err));
	expect(RI_RET_SUCCESS, ri_rnic_free_hdl(vp, rnic, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_rnic_free_hdl(vp, rnic, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_pd_alloc(rnic, &pd, NULL, NULL, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_pd_alloc(NULL, &pd, NULL, NULL, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_pd_alloc(STALE, &pd, NULL, NULL, &err));
	require(ri_pd_alloc(STALE, &pd, NULL, NULL, NULL) == RI_RET_RNIC_INVALID_HANDLE,
		"err_data may be NULL");
}

static bool is_inside(const void *p, const void *buf, size_t size)
{
	return (const char *)p >= (const char *)buf && (const char *)p < (const char *)buf + size;
}

static bool has_address(const ri_iwarp_port_attr_t *port, struct in_addr addr)
{
	uint_t i;

	for (i = 0; i < port->num_ipv4_addrs; i++)
		if (port->ipv4_addrs[i].s_addr == addr.s_addr)
			return true;
	return false;
}

/* The list of addresses follows those of the interface (L1276-80) */
static void follow_addresses(ri_rnic_handle_t rnic, ri_rnic_attr_t *attr, const char *text)
{
	const char *netdev = getenv("RNICPI_NETDEV");
	uint64_t end = now_ms() + LONG_MS;
	struct in_addr addr;
	bool there;
	uint_t size;
	int add;

	require(netdev && inet_aton(text, &addr), "no RNICPI_NETDEV");
	for (add = 1; add >= 0; add--) {
		shell(add ? "ip addr add %s/32 dev %s" : "ip addr del %s/32 dev %s", text, netdev);
		do {
			size = 4096;
			expect(RI_RET_SUCCESS, ri_rnic_query(rnic, RI_QUERY_RNIC_PORT_INFO, attr,
							     &size, &err));
			there = has_address(attr->trans_attr.iwarp->port_attrs, addr);
		} while (there != add && now_ms() < end && !usleep(1000));
		require(there == add, "%s was %s", text, add ? "added" : "deleted");
	}
}

void query(void)
{
	ri_rnic_handle_t rnic = get_rnic();
	uint_t size = 4096;
	ri_rnic_attr_t *attr = calloc(1, size);
	ri_iwarp_port_attr_t *port;
	struct in_addr addr;

	require(attr && inet_aton(test_addr, &addr), "%s", test_addr);
	expect(RI_RET_SUCCESS, ri_rnic_query(rnic, RI_QUERY_RNIC_PORT_INFO, attr, &size, &err));
	require(attr->transport_type == RI_RDMA_TRANSPORT_TYPE_IWARP, "iWARP");
	require(attr->max_sgl_send_recvqp >= 4 && attr->max_sgl_send_recvqp == attr->max_sgl_srq,
		"at least four, and the same of an SRQ: %u, %u", attr->max_sgl_send_recvqp,
		attr->max_sgl_srq);
	require(attr->rnic_flags & RI_RNIC_EXT_BMM && attr->rnic_flags & RI_RNIC_EXT_ZBVA &&
		attr->rnic_flags & RI_RNIC_EXT_LIF, "what iWARP always has");
	require(!attr->res_ltag_value, "STag 0");
	require(attr->max_cq_event_handlers == 1, "one, if there are not several (L5461)");
	require(is_inside(attr->trans_attr.iwarp, attr, size), "in the buffer");
	require(attr->trans_attr.iwarp->protocol_version == 1 &&
		attr->trans_attr.iwarp->num_ports == 1, "IETF, one port");
	port = attr->trans_attr.iwarp->port_attrs;
	require(is_inside(port, attr, size) && is_inside(port->ipv4_addrs, attr, size),
		"in the buffer");
	require(has_address(port, addr), "%s is an address of the port", test_addr);
	follow_addresses(rnic, attr, "10.78.79.80");
	size = 4096;
	expect(RI_RET_SUCCESS, ri_rnic_query(rnic, (ri_rnic_query_flags_t)0, attr, &size, &err));
	require(!attr->trans_attr.iwarp->port_attrs && attr->trans_attr.iwarp->num_ports == 1,
		"no port that was not asked for");
	/* the addresses are the device's, not those of the caller's network namespace (L1276) */
	if (!getenv("RNICPI_SIW")) {
		require(!unshare(CLONE_NEWNET), "a network namespace");
		size = 4096;
		expect(RI_RET_SUCCESS, ri_rnic_query(rnic, RI_QUERY_RNIC_PORT_INFO, attr, &size, &err));
		port = attr->trans_attr.iwarp->port_attrs;
		require(has_address(port, addr), "%s, asked for elsewhere", test_addr);
	}
	expect(RI_RET_SUCCESS, ri_rnic_free_hdl(find_vp(), rnic, &err));
	free(attr);
}

void query_size(void)
{
	ri_rnic_handle_t rnic = get_rnic();
	ri_rnic_attr_t *attr, none;
	uint_t size = 0, need;

	expect(RI_RET_INVALID_PARAMETER, ri_rnic_query(rnic, RI_QUERY_RNIC_PORT_INFO, NULL, &size,
						       &err));
	require(!size, "as it was");
	expect(RI_RET_BUFFER_TOO_SMALL, ri_rnic_query(rnic, RI_QUERY_RNIC_PORT_INFO, &none, &size,
						      &err));
	need = size;
	require(need > sizeof(*attr), "%u", need);
	attr = malloc(need);
	memset(attr, 0xa5, need);
	size = need - 1;
	expect(RI_RET_BUFFER_TOO_SMALL, ri_rnic_query(rnic, RI_QUERY_RNIC_PORT_INFO, attr, &size,
						      &err));
	require(size == need && *(unsigned char *)attr == 0xa5, "nothing but the size");
	expect(RI_RET_SUCCESS, ri_rnic_query(rnic, RI_QUERY_RNIC_PORT_INFO, attr, &size, &err));
	expect(RI_RET_INVALID_PARAMETER, ri_rnic_query(rnic, (ri_rnic_query_flags_t)2, attr, &size,
						       &err));
	expect(RI_RET_INVALID_PARAMETER, ri_rnic_query(rnic, RI_QUERY_RNIC_PORT_INFO, attr, NULL,
						       &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_rnic_query(STALE, RI_QUERY_RNIC_PORT_INFO, attr,
							 &size, &err));
	expect(RI_RET_SUCCESS, ri_rnic_free_hdl(find_vp(), rnic, &err));
	free(attr);
}

void pds(void)
{
	ri_rnic_handle_t other;
	ri_pd_handle_t pd;

	open_end(&a);
	other = get_rnic();
	expect(RI_RET_SUCCESS, ri_pd_alloc(a.rnic, &pd, NULL, NULL, &err));
	require(pd != a.pd, "each is its own");
	expect(RI_RET_INVALID_PARAMETER, ri_pd_alloc(a.rnic, NULL, NULL, NULL, &err));
	expect(RI_RET_PD_INVALID_HANDLE, ri_pd_dealloc(other, pd, &err));
	expect(RI_RET_PD_INVALID_HANDLE, ri_pd_dealloc(a.rnic, a.scq, &err));
	expect(RI_RET_PD_INVALID_HANDLE, ri_pd_dealloc(a.rnic, NULL, &err));
	expect(RI_RET_PD_INUSE, ri_pd_dealloc(a.rnic, a.pd, &err));
	expect(RI_RET_SUCCESS, ri_pd_dealloc(a.rnic, pd, &err));
	expect(RI_RET_PD_INVALID_HANDLE, ri_pd_dealloc(a.rnic, pd, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_pd_dealloc(NULL, pd, &err));
	expect(RI_RET_SUCCESS, ri_rnic_free_hdl(find_vp(), other, &err));
	close_end(&a);
}

void cqs(void)
{
	ri_cq_attr_t attr = { .num_cqe = 10, .handler_id = 5 }, got;
	ri_cq_modify_mask_t mask = RI_CQ_MODIFY_MASK_NUM_CQE;
	ri_cq_handle_t cq, other;
	uint_t num = 1;
	ri_wc_t wc;

	open_end(&a);
	expect(RI_RET_SUCCESS, ri_cq_create(a.rnic, &attr, &cq, NULL, NULL, &err));
	require(attr.num_cqe >= 10, "%u entries", attr.num_cqe);
	expect(RI_RET_SUCCESS, ri_cq_query(a.rnic, cq, &got, &err));
	require(got.num_cqe == attr.num_cqe, "%u, not %u", got.num_cqe, attr.num_cqe);
	expect(RI_RET_CQ_EMPTY, ri_cq_poll(a.rnic, cq, &wc, &num, &err));
	require(!num, "%u", num);
	attr.num_cqe = 1000;
	expect(RI_RET_SUCCESS, ri_cq_modify(a.rnic, cq, mask, &attr, &err));
	require(attr.num_cqe >= 1000, "%u entries", attr.num_cqe);
	attr.num_cqe = 0;
	expect(RI_RET_INVALID_PARAMETER, ri_cq_modify(a.rnic, cq, mask, &attr, &err));
	/* the page of create has no such error (L2034): at least so many */
	expect(RI_RET_SUCCESS, ri_cq_create(a.rnic, &attr, &other, NULL, NULL, &err));
	expect(RI_RET_SUCCESS, ri_cq_destroy(a.rnic, other, &err));
	attr.num_cqe = -1;
	expect(RI_RET_CQ_CAPACITY_EXCEEDED, ri_cq_modify(a.rnic, cq, mask, &attr, &err));
	expect(RI_RET_CQ_CAPACITY_EXCEEDED, ri_cq_create(a.rnic, &attr, &cq, NULL, NULL, &err));
	attr.num_cqe = 1;
	expect(RI_RET_INVALID_PARAMETER, ri_cq_modify(a.rnic, cq, (ri_cq_modify_mask_t)2, &attr,
						      &err));
	expect(RI_RET_INVALID_PARAMETER, ri_cq_query(a.rnic, cq, NULL, &err));
	expect(RI_RET_INVALID_PARAMETER, ri_cq_create(a.rnic, &attr, NULL, NULL, NULL, &err));
	num = 0;
	expect(RI_RET_INVALID_PARAMETER, ri_cq_poll(a.rnic, cq, &wc, &num, &err));
	expect(RI_RET_CQ_INVALID_HANDLE, ri_cq_poll(a.rnic, a.pd, &wc, &num, &err));
	expect(RI_RET_CQ_INVALID_HANDLE, ri_cq_query(a.rnic, STALE, &got, &err));
	expect(RI_RET_CQ_INVALID_HANDLE, ri_cq_modify(a.rnic, NULL, mask, &attr, &err));
	expect(RI_RET_CQ_INVALID_HANDLE, ri_cq_req_notification(a.rnic, STALE, RI_CMPLT_NOTIFY_ANY,
								&err));
	expect(RI_RET_INVALID_PARAMETER, ri_cq_req_notification(a.rnic, cq,
								(ri_cmplt_notify_type_t)7, &err));
	expect(RI_RET_CQ_INUSE, ri_cq_destroy(a.rnic, a.scq, &err));
	expect(RI_RET_SUCCESS, ri_cq_destroy(a.rnic, cq, &err));
	expect(RI_RET_CQ_INVALID_HANDLE, ri_cq_destroy(a.rnic, cq, &err));
	close_end(&a);
}

static ri_api_return_t reg(ri_mr_reg_attr_t *attr, ri_mr_handle_t *mr)
{
	ri_ltag_t ltag;
	ri_rtag_t rtag;

	return ri_mr_reg(a.rnic, attr, mr, &ltag, &rtag, NULL, NULL, &err);
}

/* NULL for what is mandatory (L3644, L3815, L4102), and the region is as it was */
static void no_out(ri_mr_reg_attr_t *attr, ri_mr_handle_t mr)
{
	ri_mr_handle_t out;
	ri_ltag_t ltag;
	ri_rtag_t rtag;

	expect(RI_RET_INVALID_PARAMETER, reg(attr, NULL));
	expect(RI_RET_INVALID_PARAMETER, ri_mr_reg(a.rnic, attr, &out, NULL, &rtag, NULL, NULL, &err));
	expect(RI_RET_INVALID_PARAMETER, ri_mr_rereg(a.rnic, mr, RI_MR_REREG_ACCESS, attr, NULL, &ltag,
						     &rtag, NULL, NULL, &err));
	expect(RI_RET_INVALID_PARAMETER, ri_mr_rereg(a.rnic, mr, RI_MR_REREG_ACCESS, attr, &out, NULL,
						     &rtag, NULL, NULL, &err));
	expect(RI_RET_INVALID_PARAMETER, ri_mr_reg_shared(a.rnic, mr, attr, NULL, &ltag, &rtag, NULL,
							  NULL, &err));
	expect(RI_RET_INVALID_PARAMETER, ri_mr_reg_shared(a.rnic, mr, attr, &out, NULL, &rtag, NULL,
							  NULL, &err));
	attr->mem_attr = (ri_mem_attr_t)(RI_MEM_FLAGS_LOCAL | RI_MEM_FLAGS_REMOTE_READ);
	expect(RI_RET_INVALID_PARAMETER, ri_mr_rereg(a.rnic, mr, RI_MR_REREG_ACCESS, attr, &out, &ltag,
						     NULL, NULL, NULL, &err));
	expect(RI_RET_INVALID_PARAMETER, ri_mr_reg_shared(a.rnic, mr, attr, &out, &ltag, NULL, NULL,
							  NULL, &err));
}

void mrs(void)
{
	ri_mr_reg_attr_t attr = { .length = 4096, .mem_attr = RI_MEM_FLAGS_LOCAL };
	ri_mr_handle_t mr, again;
	ri_mr_info_t info;
	ri_ltag_t ltag;
	ri_rtag_t rtag;

	open_end(&a);
	attr.va = (uintptr_t)a.buf;
	attr.pd = a.pd;
	expect(RI_RET_SUCCESS, ri_mr_reg(a.rnic, &attr, &mr, &ltag, NULL, NULL, NULL, &err));
	expect(RI_RET_SUCCESS, ri_mr_query(a.rnic, mr, &info, &err));
	require(info.ltag == ltag && info.local_lb == attr.va && info.local_ub == attr.va + 4096 &&
		info.attr.mem_attr == RI_MEM_FLAGS_LOCAL && info.attr.pd == a.pd &&
		!info.is_shared_region && !info.remote_ub && info.stag_state == RI_STAG_STATE_VALID,
		"as it was registered");
	/* attributes that mean nothing here are told as well (L3692) */
	attr.mem_attr = (ri_mem_attr_t)(RI_MEM_FLAGS_LOCAL | RI_MEM_FLAGS_NONCOHERENT |
					RI_MEM_FLAGS_USER_VA);
	expect(RI_RET_SUCCESS, reg(&attr, &again));
	expect(RI_RET_SUCCESS, ri_mr_query(a.rnic, again, &info, &err));
	require(info.attr.mem_attr == attr.mem_attr, "%#x", info.attr.mem_attr);
	expect(RI_RET_SUCCESS, ri_mr_dereg(a.rnic, again, &err));
	attr.mem_attr = (ri_mem_attr_t)(RI_MEM_FLAGS_LOCAL | RI_MEM_FLAGS_REMOTE_READ);
	expect(RI_RET_INVALID_PARAMETER, ri_mr_reg(a.rnic, &attr, &again, &ltag, NULL, NULL, NULL,
						   &err));
	expect(RI_RET_SUCCESS, ri_mr_rereg(a.rnic, mr, RI_MR_REREG_ACCESS, &attr, &again, &ltag,
					   &rtag, NULL, NULL, &err));
	require(ltag == rtag, "one STag");
	mr = again;
	expect(RI_RET_SUCCESS, ri_mr_query(a.rnic, mr, &info, &err));
	require(info.attr.mem_attr & RI_MEM_FLAGS_REMOTE_READ && info.remote_ub == attr.va + 4096,
		"as it was changed");
	expect(RI_RET_INVALID_PARAMETER, ri_mr_rereg(a.rnic, mr, (ri_mr_rereg_t)0, &attr, &again,
						     &ltag, &rtag, NULL, NULL, &err));
	expect(RI_RET_MR_INVALID_HANDLE, ri_mr_rereg(a.rnic, a.pd, RI_MR_REREG_ACCESS, &attr,
						     &again, &ltag, &rtag, NULL, NULL, &err));
	attr.mem_attr = RI_MEM_FLAGS_REMOTE_WRITE;
	expect(RI_RET_MEM_INVALID_ACCESS, reg(&attr, &again));
	attr.mem_attr = (ri_mem_attr_t)(1 << 20);
	expect(RI_RET_MEM_INVALID_ACCESS, reg(&attr, &again));
	/* irrelevant on iWARP (L5811) */
	attr.mem_attr = RI_MEM_FLAGS_ATOMICS;
	expect(RI_RET_SUCCESS, reg(&attr, &again));
	expect(RI_RET_SUCCESS, ri_mr_dereg(a.rnic, again, &err));
	attr.mem_attr = RI_MEM_FLAGS_LOCAL;
	attr.length = 0;
	expect(RI_RET_MEM_INVALID_LENGTH, reg(&attr, &again));
	attr.length = 4096;
	attr.va = 4096;
	expect(RI_RET_MEM_INVALID_ADDRESS, reg(&attr, &again));
	attr.va = -4095;	/* it wraps (L3645) */
	expect(RI_RET_MEM_INVALID_ADDRESS, reg(&attr, &again));
	/* read-only memory is not written to */
	attr.va = (uintptr_t)mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	expect(RI_RET_MEM_INVALID_ADDRESS, reg(&attr, &again));
	attr.pd = a.qp;
	expect(RI_RET_PD_INVALID_HANDLE, reg(&attr, &again));
	expect(RI_RET_INVALID_PARAMETER, reg(NULL, &again));
	attr.pd = a.pd;
	attr.va = (uintptr_t)a.buf;
	no_out(&attr, mr);
	expect(RI_RET_INVALID_PARAMETER, ri_mr_query(a.rnic, mr, NULL, &err));
	expect(RI_RET_MR_INVALID_HANDLE, ri_mr_query(a.rnic, NULL, &info, &err));
	expect(RI_RET_SUCCESS, ri_mr_dereg(a.rnic, mr, &err));
	expect(RI_RET_MR_INVALID_HANDLE, ri_mr_dereg(a.rnic, mr, &err));
	expect(RI_RET_SUCCESS, ri_mem_sync_rread(a.rnic, NULL, 5, &err));
	expect(RI_RET_SUCCESS, ri_mem_sync_rwrite(a.rnic, NULL, 5, &err));
	/* a device is no RNIC handle (L4433) */
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_mem_sync_rread(find_vp(), NULL, 0, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_mem_sync_rwrite(find_vp(), NULL, 0, &err));
	close_end(&a);
}

void mws(void)
{
	ri_stag_state_t state;
	ri_mem_attr_t attr;
	ri_mw_handle_t mw;
	ri_pd_handle_t pd;
	ri_mw_type_t type;
	ri_rtag_t rtag, got;

	open_end(&a);
	expect(RI_RET_WINDOW_TYPE_UNSUPPORTED, ri_mw_alloc(a.rnic, a.pd, RI_MW_TYPE_WIDE, &mw,
							   &rtag, NULL, NULL, &err));
	expect(RI_RET_PD_INVALID_HANDLE, ri_mw_alloc(a.rnic, NULL, RI_MW_TYPE_NARROW, &mw, &rtag,
						     NULL, NULL, &err));
	expect(RI_RET_INVALID_PARAMETER, ri_mw_alloc(a.rnic, a.pd, RI_MW_TYPE_NARROW, NULL, &rtag,
						     NULL, NULL, &err));
	expect(RI_RET_INVALID_PARAMETER, ri_mw_alloc(a.rnic, a.pd, RI_MW_TYPE_NARROW, &mw, NULL, NULL,
						     NULL, &err));
	expect(RI_RET_SUCCESS, ri_mw_alloc(a.rnic, a.pd, RI_MW_TYPE_NARROW, &mw, &rtag, NULL, NULL,
					   &err));
	expect(RI_RET_SUCCESS, ri_mw_query(a.rnic, mw, &type, &state, &pd, &attr, &got, &err));
	require(type == RI_MW_TYPE_NARROW && state == RI_STAG_STATE_INVALID && pd == a.pd &&
		!attr && got == rtag, "a window that is new");
	expect(RI_RET_SUCCESS, ri_mw_query(a.rnic, mw, NULL, NULL, NULL, NULL, NULL, &err));
	expect(RI_RET_MW_INVALID_HANDLE, ri_mw_query(a.rnic, a.mr, NULL, NULL, NULL, NULL, NULL,
						     &err));
	expect(RI_RET_PD_INUSE, ri_pd_dealloc(a.rnic, a.pd, &err));
	expect(RI_RET_SUCCESS, ri_mw_dealloc(a.rnic, mw, &err));
	expect(RI_RET_MW_INVALID_HANDLE, ri_mw_dealloc(a.rnic, mw, &err));
	close_end(&a);
}

void srqs(void)
{
	ri_srq_attr_t attr = { .max_wrs = 20, .max_sgl = 2, .lowat = 5 }, got;
	ri_srq_handle_t srq;

	open_end(&a);
	attr.pd = a.pd;
	expect(RI_RET_SUCCESS, ri_srq_create(a.rnic, &attr, &srq, NULL, NULL, &err));
	require(attr.max_wrs >= 20 && attr.max_sgl >= 2, "%u, %u", attr.max_wrs, attr.max_sgl);
	expect(RI_RET_SUCCESS, ri_srq_query(a.rnic, srq, &got, &err));
	require(got.lowat == 5 && got.srq_armed && got.pd == a.pd && got.max_wrs == attr.max_wrs,
		"as it was made");
	/* actual results are passed out (L3454, L6146) */
	got = (ri_srq_attr_t){ .lowat = 7 };
	expect(RI_RET_SUCCESS, ri_srq_modify(a.rnic, srq, RI_SRQ_ATTR_LOWAT, &got, &err));
	require(got.max_wrs == attr.max_wrs && got.srq_armed, "%u, %u", got.max_wrs, got.srq_armed);
	expect(RI_RET_SUCCESS, ri_srq_query(a.rnic, srq, &got, &err));
	require(got.lowat == 7 && got.srq_armed, "%u", got.lowat);
	/* it arms if it is greater than zero (L3453) */
	got.lowat = 0;
	expect(RI_RET_SUCCESS, ri_srq_modify(a.rnic, srq, RI_SRQ_ATTR_LOWAT, &got, &err));
	require(!got.srq_armed, "0 is no mark");
	expect(RI_RET_SUCCESS, ri_srq_query(a.rnic, srq, &got, &err));
	require(!got.lowat && !got.srq_armed, "%u", got.lowat);
	got.lowat = 1 << 20;
	expect(RI_RET_SRQ_LIMIT_OUT_OF_RANGE, ri_srq_modify(a.rnic, srq, RI_SRQ_ATTR_LOWAT, &got,
							    &err));
	got.max_wrs = 100;
	expect(RI_RET_SUCCESS, ri_srq_modify(a.rnic, srq, RI_SRQ_ATTR_MAX_WRS, &got, &err));
	require(got.max_wrs >= 100 && got.max_sgl == attr.max_sgl && !got.lowat && got.pd == a.pd,
		"%u, %u", got.max_wrs, got.lowat);
	expect(RI_RET_INVALID_PARAMETER, ri_srq_modify(a.rnic, srq, (ri_srq_attr_mask_t)0, &got,
						       &err));
	expect(RI_RET_SRQ_INVALID_HANDLE, ri_srq_modify(a.rnic, STALE, RI_SRQ_ATTR_LOWAT, &got,
							&err));
	expect(RI_RET_SRQ_INVALID_HANDLE, ri_srq_query(a.rnic, NULL, &got, &err));
	expect(RI_RET_INVALID_PARAMETER, ri_srq_query(a.rnic, srq, NULL, &err));
	got = attr;
	got.lowat = got.max_wrs + 1;
	expect(RI_RET_SRQ_LIMIT_OUT_OF_RANGE, ri_srq_create(a.rnic, &got, &srq, NULL, NULL, &err));
	got.lowat = 0;
	got.max_wrs = -1;
	expect(RI_RET_RNIC_WR_LIMIT_EXCEEDED, ri_srq_create(a.rnic, &got, &srq, NULL, NULL, &err));
	got.max_wrs = 1;
	got.max_sgl = 10000;
	expect(RI_RET_RNIC_SG_LIMIT_EXCEEDED, ri_srq_create(a.rnic, &got, &srq, NULL, NULL, &err));
	got.pd = NULL;
	expect(RI_RET_PD_INVALID_HANDLE, ri_srq_create(a.rnic, &got, &srq, NULL, NULL, &err));
	expect(RI_RET_SUCCESS, ri_srq_destroy(a.rnic, srq, &err));
	expect(RI_RET_SRQ_INVALID_HANDLE, ri_srq_destroy(a.rnic, srq, &err));
	close_end(&a);
}

static char own[] = "libsrnic.so.1";
static ri_api_return_t before_main;

/* The library has registered itself when it was loaded (L5003), before the program's constructors */
static __attribute__((constructor)) void register_again(void)
{
	ri_ops_t ops = *ri_svc_ops(NULL);

	before_main = ri_svc_lib_reg(own, &ops, NULL, NULL, NULL);
}

/* A second RNIC of the same library has the vectors that were registered once (L4987) */
static void another_rnic(const ri_ops_t *al, const ri_ops_t *vp)
{
	const ri_ops_t *its_al, *its_vp;
	ri_vp_handle_t vps[16], second = NULL;
	uint_t num = 16, i;

	shell("ip link add rpi9 type dummy && ip addr add 10.78.79.81/32 dev rpi9 && "
	      "ip link set rpi9 up && rdma link add rpi9 type srnic netdev rpi9", NULL, NULL);
	expect(RI_RET_SUCCESS, rix_rnic_list(vps, &num, &err));
	for (i = 0; i < num; i++)
		if (!strcmp(rix_rnic_name(vps[i]), "rpi9"))
			second = vps[i];
	require(second && second != find_vp(), "a second RNIC");
	expect(RI_RET_SUCCESS, rix_rnic_vectors(second, &its_al, &its_vp, &err));
	require(its_al == al && its_vp == vp, "the same vectors");
	expect(RI_RET_RNIC_INUSE, ri_svc_lib_reg(own, (ri_ops_t *)al, (ri_ops_t *)vp, NULL, &err));
	shell("rdma link delete rpi9 && ip link delete rpi9", NULL, NULL);
}

void library(void)
{
	const ri_ops_t *al, *vp;
	ri_ops_t holes;
	char none[] = "libnothing.so";

	require(before_main == RI_RET_RNIC_INUSE, "%d", before_main);
	expect(RI_RET_SUCCESS, rix_rnic_vectors(find_vp(), &al, &vp, &err));
	if (!getenv("RNICPI_SIW"))
		another_rnic(al, vp);
	holes = *al;
	expect(RI_RET_RNIC_INUSE, ri_svc_lib_reg(own, (ri_ops_t *)al, (ri_ops_t *)vp, NULL, &err));
	expect(RI_RET_INVALID_LIB_PATH, ri_svc_lib_reg(none, (ri_ops_t *)al, NULL, NULL, &err));
	expect(RI_RET_INVALID_PARAMETER, ri_svc_lib_reg(NULL, (ri_ops_t *)al, NULL, NULL, &err));
	expect(RI_RET_INVALID_PARAMETER, ri_svc_lib_reg(none, NULL, NULL, NULL, &err));
	holes.ri_op_cq_poll = NULL;
	expect(RI_RET_INVALID_PARAMETER, ri_svc_lib_reg(none, &holes, NULL, NULL, &err));
}

void refused(void)
{
	ri_vp_handle_t vp = find_vp();
	ri_cq_event_handler_id_t id = 0;
	ri_gid_t gid = { 0, 0 };
	ri_mr_handle_t mr;
	ri_phys_buf_t io;
	ri_ltag_t tag = 0;
	uint_t n = 1;

	open_end(&a);
	expect(RI_RET_NO_PERMISSION, ri_rnic_open(vp, RI_PHYS_PAGE_LIST_MODE, NULL, &err));
	expect(RI_RET_NO_PERMISSION, ri_rnic_close(vp, &err));
	expect(RI_RET_NO_PERMISSION, ri_async_set_event_handler(vp, NULL, &err));
	expect(RI_RET_NO_PERMISSION, ri_cq_set_event_handler(vp, &id, NULL, &err));
	expect(RI_RET_NO_PERMISSION, ri_rnic_modify(a.rnic, (ri_rnic_attr_mask_t)0, NULL, &err));
	expect(RI_RET_NO_PERMISSION, ri_ltag_alloc(a.rnic, &n, a.pd, RI_MEM_FLAGS_LOCAL, &mr, &tag,
						   &tag, NULL, NULL, &err));
	expect(RI_RET_NO_PERMISSION, ri_mr_reg_phys(a.rnic, NULL, &mr, &tag, &tag, NULL, NULL,
						    &err));
	expect(RI_RET_NO_PERMISSION, ri_mr_rereg_phys(a.rnic, a.mr, RI_MR_REREG_PD, NULL, &mr, &tag,
						      &tag, NULL, NULL, &err));
	expect(RI_RET_NO_PERMISSION, ri_mem_pin(a.rnic, a.buf, 1, NULL, &err));
	expect(RI_RET_NO_PERMISSION, ri_mem_unpin(a.rnic, a.buf, 1, NULL, &err));
	expect(RI_RET_NO_PERMISSION, ri_mem_map(a.rnic, a.buf, 1, &io, NULL, &err));
	expect(RI_RET_NO_PERMISSION, ri_mem_unmap(a.rnic, &io, NULL, &err));
	expect(RI_RET_NO_PERMISSION, ri_qp_post_fmr(a.rnic, a.qp, RI_WR_TYPE_FAST_REGISTER,
						    (ri_wr_flags_t)0, 1, NULL, 0, 0, a.mr, &err));
	expect(RI_RET_OP_UNSUPPORTED, ri_rnic_diag(a.rnic, RI_DIAG_RNIC_DUMP, NULL, NULL, NULL, &err));
	expect(RI_RET_RNIC_ATOMICS_UNSUPPORTED, ri_qp_post_atomic(a.rnic, a.qp,
								  RI_WR_TYPE_FETCH_AND_ADD,
								  (ri_wr_flags_t)0, 1, 0, 0, 0,
								  NULL, &err));
	expect(RI_RET_WR_INVALID_TYPE, ri_qp_post_datagram(a.rnic, a.qp, RI_WR_TYPE_SEND,
							   (ri_wr_flags_t)0, 1, NULL, 0, 0, NULL, 0,
							   0, 0, &err));
	expect(RI_RET_XPORT_UNSUPPORTED, ri_special_qp_get(a.rnic, 1, RI_SQP_TYPE_SMI, NULL, NULL,
							   NULL, NULL, &err));
	expect(RI_RET_XPORT_UNSUPPORTED, ri_ah_create(a.rnic, a.pd, NULL, NULL, NULL, NULL, &err));
	expect(RI_RET_XPORT_UNSUPPORTED, ri_ah_query(a.rnic, NULL, NULL, NULL, &err));
	expect(RI_RET_XPORT_UNSUPPORTED, ri_ah_modify(a.rnic, NULL, NULL, &err));
	expect(RI_RET_XPORT_UNSUPPORTED, ri_ah_destroy(a.rnic, NULL, &err));
	expect(RI_RET_XPORT_UNSUPPORTED, ri_mcast_attach(a.rnic, 0, &gid, a.qp, NULL, NULL, &err));
	expect(RI_RET_XPORT_UNSUPPORTED, ri_mcast_detach(a.rnic, 0, &gid, a.qp, &err));
	expect(RI_RET_XPORT_UNSUPPORTED, ri_process_sma_mad(a.rnic, 1, NULL, NULL, &err));
	expect(RI_RET_VP_INVALID_HANDLE, ri_rnic_open(STALE, RI_PHYS_PAGE_LIST_MODE, NULL, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_ah_destroy(STALE, NULL, &err));
	close_end(&a);
}
