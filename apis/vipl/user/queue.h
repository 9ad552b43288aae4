/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Work queues: descriptors from post to dequeue. */
#ifndef VIPL_QUEUE_H
#define VIPL_QUEUE_H

#include "vi.h"

/**
 * struct vipl_result - result of a descriptor
 * @status: error bits, 0 for none
 * @op: of the status
 * @length: bytes transferred
 * @has_imm: @imm is valid
 * @imm: immediate data
 */
struct vipl_result {
	uint32_t status;
	uint32_t op;
	uint32_t length;
	bool has_imm;
	uint32_t imm;
};

void vipl_queue_init(struct vipl_queue *queue, struct vipl_cq *cq);
bool vipl_queue_end(struct vipl_vi *vi, struct vipl_queue *queue, struct vipl_work *work,
		    const struct vipl_result *result);
bool vipl_queue_is_done(const struct vipl_queue *queue);
VIP_DESCRIPTOR *vipl_queue_take(struct vipl_queue *queue);
void vipl_queue_flush(struct vipl_vi *vi, struct vipl_queue *queue);
void vipl_queue_free(struct vipl_queue *queue);
void vipl_queue_notify(struct vipl_vi *vi, struct vipl_queue *queue);
void vipl_queue_rewind(struct vipl_vi *vi, struct vipl_queue *queue);

#endif
