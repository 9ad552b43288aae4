/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Two endpoints of RNICPI on a device of the loopback interface. */
#ifndef RNICPI_PAIR_H
#define RNICPI_PAIR_H

#include <kunit/test.h>
#include <linux/net.h>
#include <linux/types.h>
#include <rnicpi/rnicpi.h>
#include <rnicpi/rix_kernel.h>
#include "rnicpi_seen.h"

#define ri_svc_attach(...)			SEE(ri_svc_attach, __VA_ARGS__)
#define ri_svc_detach(...)			SEE(ri_svc_detach, __VA_ARGS__)
#define ri_svc_mem_pin(...)			SEE(ri_svc_mem_pin, __VA_ARGS__)
#define ri_svc_mem_unpin(...)			SEE(ri_svc_mem_unpin, __VA_ARGS__)
#define rix_rnic_info(...)			SEE(rix_rnic_info, __VA_ARGS__)

#define PAIR_DEPTH	16
#define PAIR_EVENTS	16
#define PAIR_BYTES	(4 * PAGE_SIZE)

struct file;

/* One end; its address is the os_data of its objects */
struct pair_end {
	ri_cq_handle_t cq;
	ri_qp_handle_t qp;
	ri_wc_t wc;		/* of pair_wait() */
	unsigned int told;	/* calls of its CQ's handler */
	char *mem;		/* PAIR_BYTES */
	ri_mr_handle_t mr;	/* of all of it, with all rights */
	ri_ltag_t tag;
};

struct pair {
	struct kunit *test;
	struct rix_client client;
	struct ib_device *ibdev;
	ri_vp_handle_t vp;
	unsigned int attached, detached;
	bool open;
	ri_rnic_handle_t rnic;
	ri_pd_handle_t pd;
	ri_cq_event_handler_id_t handler_id;
	struct pair_end a, b;
	ri_event_record_t events[PAIR_EVENTS];
	unsigned int num_events;
	ri_os_data_t vp_data;	/* of the last upcall */
	bool stop;		/* to threads of a test */
};

struct pair *pair_device(struct kunit *test);
struct pair *pair_open(struct kunit *test, ri_pbl_mode_t mode);
struct pair *pair_idle(struct kunit *test, ri_pbl_mode_t mode, ri_boolean_t privileged);
struct pair *pair_connected(struct kunit *test);
void pair_files(struct pair *p, struct file **a, struct file **b);
ri_qp_attr_t pair_qp_attr(const struct pair *p, const struct pair_end *e);
ri_api_return_t pair_attach(struct pair *p, struct pair_end *e, struct file *file, char *last,
			    uint32_t len);
void pair_connect(struct pair *p);
void pair_end_device(struct pair *p);
void pair_close(struct pair *p);
void pair_destroy_qps(struct pair *p);

u64 pair_phys(const void *at);
void pair_two_pages(const struct pair_end *e, ri_phys_addr_t list[2]);
ri_mr_reg_phys_attr_t pair_phys_attr(const struct pair *p, ri_phys_addr_t *list, uint_t n,
				     u64 va, u64 length);

void pair_recv(struct pair *p, struct pair_end *e, ri_wr_id_t id, uint32_t off, uint32_t len);
void pair_send(struct pair *p, struct pair_end *e, ri_wr_id_t id, uint32_t off, uint32_t len);
bool pair_wait(struct pair *p, struct pair_end *e);
void pair_expect(struct pair *p, struct pair_end *e, ri_wr_id_t id, ri_wc_type_t type,
		 ri_wc_status_t status);
void pair_write_to(struct pair *p, u64 to, ri_rtag_t rtag, u32 len, ri_wc_status_t status);
bool pair_event(struct pair *p, ri_async_event_type_t type, ri_os_data_t os_data);
ri_data_seg_t pair_seg(const struct pair_end *e, uint32_t off, uint32_t len);

#endif
