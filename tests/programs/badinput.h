/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The cases of badinput; each returns if all is as it must be. */
#ifndef BADINPUT_H
#define BADINPUT_H

#include "pair.h"

/* bad_post.c: work requests */
void case_opcode(void);
void case_wr_list(void);
void case_sge_count(void);
void case_sq_full(void);
void case_rq_full(void);
void case_send_sge(void);
void case_recv_sge(void);
void case_read_sink(void);
void case_too_long(void);
void case_recv_short(void);
void case_idle(void);
void case_error_state(void);

/* bad_create.c: objects and memory */
void case_reg_mr(void);
void case_memlock(void);
void case_create_cq(void);
void case_create_qp(void);
void case_in_use(void);

/* bad_remote.c: what one peer can do to the other */
void case_remote_write(void);
void case_remote_read(void);
void case_zero_length(void);
void case_disconnect_busy(void);
void case_kill_client(void);
void case_kill_server(void);
void case_refused(void);
void case_reject(void);

/* bad_abi.c: below libibverbs */
void case_mmap(void);
void case_udata(void);
void case_rings(void);

/* bad_handover.c: sockets for QPs */
void case_handover(void);
void case_handover_abi(void);

/* bad_query.c: the driver's query methods, and shared regions */
void case_query(void);
void case_reg_shared(void);

/* bad_dm.c: the driver's method that copies to and from memory of the device */
void case_dm(void);

/* bad_modify.c: QPs without rdma_cm */
void case_modify(void);
void case_create_ah(void);

/* bad_events.c: the driver's methods for events */
void case_events(void);

#endif
