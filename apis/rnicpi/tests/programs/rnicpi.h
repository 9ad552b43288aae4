/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* What the cases of librnicpi share. */
#ifndef TEST_RNICPI_H
#define TEST_RNICPI_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <rnicpi/rix.h>
#include <rnicpi/rnicpi.h>
#include "common.h"
#include "seen.h"

#define STALE	((void *)0xdeadbeef)
#define LONG_MS	10000

/*
 * Checks a call's return code; err_data shows whether there was an error, and errno does not
 * change (4.6.3, D-9). The last argument of a call is &err.
 */
#define expect(want, call) do {							\
	ri_api_return_t got_;							\
										\
	err = 1;								\
	errno = 77;								\
	got_ = (call);								\
	require(got_ == (want), "%s gives %d (%llx), not " #want, #call, got_,	\
		(unsigned long long)err);					\
	require(!!err == !!(want), "%s: err_data %llx", #call, (unsigned long long)err); \
	require(errno == 77, "%s: errno is %d", #call, errno);			\
} while (0)

extern ri_err_data_t err;
extern const char *test_addr;

/**
 * struct end - one end of a conversation that becomes RDMA
 * @fd: its socket
 * @buf: BUF_BYTES, of @mr
 */
struct end {
	ri_rnic_handle_t rnic;
	ri_pd_handle_t pd;
	ri_cq_handle_t scq, rcq;
	ri_qp_handle_t qp;
	ri_mr_handle_t mr;
	ri_ltag_t ltag;
	ri_rtag_t rtag;
	char *buf;
	int fd;
};

#define BUF_BYTES	(1 << 17)
#define WRS		32

#define NONE		((ri_wr_flags_t)0)
#define SIGNALED	RI_WR_SIGNALED_FLAG

extern struct end a, b;
extern uint32_t keepalive;	/* of turns */

ri_vp_handle_t find_vp(void);
ri_rnic_handle_t get_rnic(void);
ri_qp_attr_t qp_attr_of(const struct end *e);
void open_end(struct end *e);
void close_end(struct end *e);
void connect_sockets(void);
void turn_ask(struct end *e, bool markers, bool crc);
void turn_answer(struct end *e, bool markers, bool crc);
void turn_finish(struct end *e, bool markers, bool crc);
void turn(bool markers, bool crc);
void renew_qp(struct end *e, ri_qp_attr_t *attr);
void set_state(struct end *e, ri_qp_state_t state, ri_api_return_t want);
void make_idle(struct end *e);
void open_pair(void);
void close_pair(void);
ri_data_seg_t seg_of(const struct end *e, uint32_t offset, uint32_t len);
void post_recv(struct end *e, ri_wr_id_t id, uint32_t offset, uint32_t len);
void post_send(struct end *e, ri_wr_id_t id, uint32_t offset, uint32_t len);
ri_rc_wc_t take(struct end *e, ri_cq_handle_t cq, ri_wr_id_t id, ri_wc_type_t type,
		ri_wc_status_t status);
void require_state(struct end *e, ri_qp_state_t want);
void listen_to(struct end *e);
bool event_is_ready(const struct end *e, int ms);
struct rix_event await_event(struct end *e, ri_async_event_type_t type, void *os_data);
void no_event(struct end *e, int ms);
void shell(const char *format, const char *one, const char *two);

/* The cases of objects.c */
void layout(void);
void devices(void);
void handles(void);
void query(void);
void query_size(void);
void pds(void);
void cqs(void);
void mrs(void);
void mws(void);
void srqs(void);
void library(void);
void refused(void);

/* The cases of stream.c */
void echo(void);
void conversations(void);
void again(void);
void early(void);
void stream_bad(void);
void stream_slow(void);
void states(void);
void terminated(void);
void queried(void);
void resized(void);
void destroyed(void);
void llp(void);
void llp_kept(void);
void created(void);
void rdmac(void);

/* The cases of work.c */
void transfers(void);
void flags(void);
void flags_all(void);
void sizes(void);
void opaque(void);
void windows(void);
void shared_region(void);
void shared_queue(void);
void shared_whole(void);
void notification(void);
void access_errors(void);

/* The cases of event.c */
void event_close(void);
void event_terminate(void);
void event_no_receive(void);
void event_reset(void);
void event_lowat(void);
void event_resized(void);
void event_hiwat(void);
void event_hiwat_create(void);
void event_last_wqe(void);
void event_overflow(void);
void event_destroyed(void);
void event_removed(void);

/* The cases of rules.c */
void disabled(void);
void bind_disabled(void);
void post_in_error(void);
void solicited(void);
void srq_pd(void);
void rights(void);
void rereg(void);
void keys(void);
void stag0(void);
void narrow(void);
void inline_data(void);
void read_invalidate(void);
void errors_once(void);
void vp_data(void);
void os_data(void);

/* The case of cm.c */
void to_cm(void);

/* The cases of codes.c */
void codes_handles(void);
void codes_qp(void);
void codes_post(void);
void codes_single(void);
void codes_bind(void);
void codes_more(void);
void codes_shortage(void);
void codes_handles_out(void);

/* The cases of lives.c */
void reaped(void);
void reaped_others(void);
void unsignaled(void);
void shared_slots(void);
void many(void);
void ends(void);
void ends_polled(void);
void removed_again(void);

/* The cases of process.c */
void threads(void);
void dereg(void);
void killed(void);
void keepalives(void);
void addresses(void);
void names(void);
void forks(void);
void forks_own(void);

#endif
