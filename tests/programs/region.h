/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Regions of memory of a test's own. */
#ifndef REGION_H
#define REGION_H

#include "pair.h"

uint8_t *pages(size_t len, int prot);
struct ibv_mr *region(struct ibv_pd *pd, void *mem, size_t len, int access);
void end_region(struct ibv_mr *mr);
void must_be_refused(struct pair *p, uint64_t to, uint32_t rkey, bool read, const char *what);

#endif
