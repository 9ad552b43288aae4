/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Connections: the iw_cm operations and MPA start-up. */
#ifndef SRNIC_CM_H
#define SRNIC_CM_H

#include <rdma/iw_cm.h>

struct srnic_device;

int srnic_cm_init(void);
void srnic_cm_exit(void);
int srnic_cm_connect(struct iw_cm_id *id, struct iw_cm_conn_param *param);
int srnic_cm_accept(struct iw_cm_id *id, struct iw_cm_conn_param *param);
int srnic_cm_reject(struct iw_cm_id *id, const void *pdata, u8 pdata_len);
int srnic_cm_listen(struct iw_cm_id *id, int backlog);
int srnic_cm_destroy_listen(struct iw_cm_id *id);
void srnic_cm_drop_device(struct srnic_device *dev);
void srnic_cm_device_moved(struct srnic_device *dev);

#endif
