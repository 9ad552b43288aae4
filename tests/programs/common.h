/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Shared by the programs of the system tests: errors, time, connection events. */
#ifndef COMMON_H
#define COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* Exit statuses, as automake's and TAP's harnesses know them */
#define EXIT_PASS	0
#define EXIT_FAIL	1
#define EXIT_SKIP	77

/* Attributes that Modify QP requires for a QP without rdma_cm, by InfiniBand's table */
#define RTR_MASK (IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |		\
		  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define RTS_MASK (IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |	\
		  IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC)

#define __printf_like(f, a) __attribute__((format(printf, f, a)))

void die(const char *fmt, ...) __printf_like(1, 2) __attribute__((noreturn));
void skip(const char *fmt, ...) __printf_like(1, 2) __attribute__((noreturn));
void note(const char *fmt, ...) __printf_like(1, 2);

/* Fails the program with the place and the expectation. */
#define require(cond, fmt, ...) do {					\
	if (!(cond))							\
		die("%s:%d: expected %s: " fmt, __FILE__, __LINE__,	\
		    #cond, ##__VA_ARGS__);				\
} while (0)

uint64_t now_ms(void);
long swapped_kib(void);
void deadline_set(unsigned int seconds, void (*report)(void));
pid_t fork_child(void);
unsigned int env_uint(const char *name, unsigned int def);
bool on_srnic(void);
struct ibv_context *device_named(const char *name);

const char *wc_opcode_name(int opcode);

struct rdma_event_channel *cm_channel(bool nonblocking);
bool cm_wait(struct rdma_event_channel *ch, unsigned int ms);
void cm_expect(struct rdma_event_channel *ch, enum rdma_cm_event_type type,
	       struct rdma_cm_event **out);
void resolve(const char *host, uint16_t port, struct sockaddr_storage *addr);

#endif
