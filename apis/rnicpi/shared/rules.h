/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The rules of RNICPI on iWARP, for librnicpi and rnicpi.ko. */
#ifndef RNICPI_RULES_H
#define RNICPI_RULES_H

#include <rdma/srnic-abi.h>
#include <rnicpi/rnicpi.h>

struct rnic_qp;

/*
 * Limits of a device. @rq_marks: it reports the high water mark of a QP with an SRQ; @rdmac: it
 * speaks to RDMAC peers as well; @crc_required: by the policy of its administrator, at the moment
 */
struct ri_limits {
	uint32_t qp_wr, qp_sge, srq_wr, srq_sge, ird, ord;
	bool rq_marks;
	bool rdmac;
	bool crc_required;
	bool resizes;
};

/* rules.c */
struct ri_limits ri_limits_in(const struct srnic_uresp_dev_query *dev, bool rq_marks);
void ri_fill_rnic(const struct srnic_uresp_dev_query *dev, ri_rnic_attr_t *a);
ri_api_return_t ri_check_qp(const struct ri_limits *n, const ri_qp_attr_t *attrs);
ri_api_return_t ri_check_mpa(const struct ri_limits *n, const ri_mpa_attr_t *mpa);
void ri_made_qp(ri_qp_attr_t *attr, const ri_qp_attr_t *asked);
ri_api_return_t ri_check_srq(const struct ri_limits *n, const ri_srq_attr_t *attrs);
ri_api_return_t ri_change_srq(const struct ri_limits *n, ri_srq_attr_t *srq, uint32_t *mask,
			      const ri_srq_attr_t *attrs);
uint32_t ri_srq_limit(uint32_t lowat, uint32_t size);
ri_api_return_t ri_check_wr(const ri_wr_common_t *wr);
ri_api_return_t ri_check_single(ri_wr_type_t type, ri_wr_type_t first, ri_wr_type_t second);
ri_api_return_t ri_check_list(const ri_data_seg_t *list, uint_t num, uint32_t max);
ri_api_return_t ri_check_recv(const ri_wr_recv_t *wr, uint32_t max_sge);

/* modify.c */
ri_api_return_t ri_modify(struct rnic_qp *qp, const struct ri_limits *n, uint32_t mask,
			  ri_qp_attr_t *attrs, ri_err_data_t *err_data);
int ri_arm(struct rnic_qp *qp, bool arm);

/* librnicpi and rnicpi.ko each have their own of these, which return an errno, and may sleep */
int ri_qp_look(struct rnic_qp *qp);
int ri_qp_arm(struct rnic_qp *qp, uint32_t limit);
int ri_qp_set_state(struct rnic_qp *qp, int state);
int ri_qp_resize(struct rnic_qp *qp, uint32_t sq_size, uint32_t rq_size);
int ri_qp_attach(struct rnic_qp *qp, char *msg, uint32_t len);
bool ri_is_connected(const struct ri_linux_llp *llp);

#endif
