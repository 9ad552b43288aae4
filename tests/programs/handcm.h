/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Cases of handover whose peer uses rdma_cm. */
#ifndef HANDCM_H
#define HANDCM_H

void case_to_cm(void);
void case_from_cm(void);

#endif
