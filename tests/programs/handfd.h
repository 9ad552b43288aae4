/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Sockets that are handed to QPs, by the driver's method. */
#ifndef HANDFD_H
#define HANDFD_H

#include "pair.h"
#include <rdma/srnic-abi.h>

/* One end: a socket, and a QP for it */
struct hand {
	int fd;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	uint8_t *buf;
	struct ibv_mr *mr;
};

#define HAND_RTS(_flags) \
	{ .state = SRNIC_QP_MODIFY_RTS, .flags = (_flags), .ird = 4, .ord = 4 }

int hand_over_raw(struct ibv_qp *qp, int fd, const void *req, size_t req_len, const void *msg,
		  size_t msg_len);
int hand_over(struct hand *h, uint32_t flags, const void *msg, size_t len);
void hand_another_qp(struct hand *h);
void hand_qp_of(struct hand *h, struct ibv_context *ctx);
void hand_qp(struct hand *h);
void hand_qp_end(struct hand *h);
void hand_sockets(const char *addr, int *a, int *b);
void hand_open(struct hand *a, struct hand *b, const char *addr);
void hand_close(struct hand *a, struct hand *b);
void hand_say(int from, int to, const void *data, size_t len);
void hand_sealed(int fd);
void hand_sockets_work(int a, int b, const char *when);
void hand_exchange(struct hand *a, struct hand *b, uint32_t len);

#endif
