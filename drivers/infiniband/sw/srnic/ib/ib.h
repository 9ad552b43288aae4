/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What the layers above call in ib/. Without SRNIC_IB there are no QPs of programs that
 * connect without rdma_cm: the policy ib_port cannot be set, and the rest follows from that.
 */
#ifndef SRNIC_IB_H
#define SRNIC_IB_H

#include <rdma/ib_verbs.h>
#include "srnic.h"

#if IS_ENABLED(CONFIG_SRNIC_IB)

#include "ib/ib_device.h"
#include "ib/ib_modify.h"
#include "ib/rendezvous.h"
#include "ib/ud.h"
#include "ib/ud_modify.h"

#else

struct srnic_qp;

#define SRNIC_IB_QP_ATTRS 0

static inline int srnic_ib_device_new(struct srnic_device *dev)
{
	return 0;
}

static inline void srnic_ib_device_free(struct srnic_device *dev)
{
}

static inline int srnic_ib_modify_check(const struct srnic_qp *qp, const struct ib_qp_attr *attr,
					int mask)
{
	return 0;
}

static inline bool srnic_ib_modify_keeps(const struct srnic_qp *qp,
					 const struct ib_qp_attr *attr, int mask)
{
	return false;
}

static inline int srnic_ib_modify(struct srnic_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	return 0;
}

static inline u16 srnic_ib_ord(const struct srnic_qp *qp, const struct ib_qp_attr *attr)
{
	return attr->max_rd_atomic;
}

static inline void srnic_ib_query(const struct srnic_qp *qp, struct ib_qp_attr *attr)
{
}

static inline int srnic_rdv_init(void)
{
	return 0;
}

static inline void srnic_rdv_exit(void)
{
}

static inline int srnic_rdv_set_port(struct srnic_device *dev, u16 number)
{
	return number ? -EOPNOTSUPP : 0;
}

static inline void srnic_rdv_device_moved(struct srnic_device *dev)
{
}

static inline int srnic_ud_init(void)
{
	return 0;
}

static inline void srnic_ud_exit(void)
{
}

static inline void srnic_ud_ports_changed(struct srnic_device *dev)
{
}

static inline void srnic_ud_ports_moved(struct srnic_device *dev)
{
}

static inline int srnic_ud_create(struct srnic_qp *qp)
{
	return -EOPNOTSUPP;
}

static inline void srnic_ud_destroy(struct srnic_qp *qp)
{
}

static inline void srnic_ud_leave(struct srnic_qp *qp)
{
}

static inline void srnic_ud_doorbell(struct srnic_qp *qp)
{
}

static inline int srnic_ud_modify(struct srnic_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	return -EOPNOTSUPP;
}

static inline void srnic_ud_query(const struct srnic_qp *qp, struct ib_qp_attr *attr)
{
}

#endif

#endif
