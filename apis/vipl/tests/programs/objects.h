/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Shared by the cases of libvipl. */
#ifndef OBJECTS_H
#define OBJECTS_H

#include <stddef.h>
#include <vipl.h>
#include "seen.h"

#define STALE	((void *)0xdeadbeef)

const char *name_of(const char *variable);
VIP_NIC_HANDLE open_nic(void);
VIP_PROTECTION_HANDLE make_ptag(VIP_NIC_HANDLE nic);
void *map(size_t len, int prot);

/* The cases of vi.c */
void vi_life(void);
void vi_bad(void);
void vi_change(void);
void vi_close(void);

/* The cases of queue.c */
void idle_recv(void);
void idle_send(void);
void post_bad(void);
void post_full(void);
void post_dereg(void);
void dequeue_bad(void);
void wait_time(void);

/* The cases of cq.c */
void cq_life(void);
void cq_bad(void);
void cq_entries(void);
void cq_overrun(void);
void cq_resize(void);
void cq_wait(void);

/* The cases of connect.c */
void connect_accept(void);
void connect_reject(void);
void connect_mismatch(void);
void connect_timeout(void);
void connect_stale(void);
void connect_any(void);
void connect_other(void);
void connect_polled(void);
void connect_bad(void);
void connect_cancel(void);
void reconnect(void);
void connect_left(void);
void peer_leaves(void);

/* The cases of transfer.c */
void send_one(void);
void send_both(void);
void segments(void);
void long_segments(void);
void lengths(void);
void rdma_write(void);
void rdma_write_imm(void);
void rdma_read(void);
void fence(void);
void spin(void);
void spin_time(void);
void spin_time_beside(void);

/* The cases of notify.c */
void notify(void);
void notify_cq(void);
void cq_lost(void);
void notify_bad(void);

/* The cases of error.c */
void error_format(void);
void error_length(void);
void error_protection(void);
void read_only(void);
void overrun(void);
void no_receive(void);
void imm_no_receive(void);
void dereg_data(void);
void rdma_enables(void);
void callbacks(void);
void queue_overrun(void);
void told_errors_end(void);
void error_before(void);
void replace_handler(void);
void close_in_call(void);

/* The cases of level.c */
void levels(void);
void level_mismatch(void);
void reception_no_receive(void);
void reception_done(void);
void reception_refused(void);
void reception_read_refused(void);
void unreliable(void);
void unreliable_many(void);
void unreliable_flood(void);

/* The cases of process.c */
void peer_killed(void);
void peer_stopped(void);
void foreign_tag(void);
void foreign_handle(void);
void descriptor_kept(void);
void threads(void);

/* The cases of unix.c */
void forked(void);
void interrupted(void);
void short_of_memory(void);
void device_down(void);
void peer_cut_off(void);
void device_gone(void);
void device_gone_pending(void);

/* The cases of scale.c */
void many_vis(void);
void fairness(void);
void many_regions(void);

/* The case of fuzz.c */
void fuzz(void);

VIP_VI_ATTRIBUTES plain_vi(VIP_NIC_HANDLE nic);
VIP_VI_HANDLE make_vi(VIP_NIC_HANDLE nic, VIP_VI_ATTRIBUTES *attr);

#endif
