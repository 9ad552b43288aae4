/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Driver data of a command: the provider's request and the response. */
#ifndef SRNIC_UDATA_H
#define SRNIC_UDATA_H

#include <linux/types.h>

struct ib_ucontext;
struct ib_udata;

struct ib_ucontext *srnic_udata_to_ucontext(struct ib_udata *udata);
int srnic_udata_ask(struct ib_udata *udata, void *req, size_t len, size_t min_len);
int srnic_udata_check_none(struct ib_udata *udata);
int srnic_udata_check(struct ib_udata *udata, size_t answer_min);
int srnic_udata_respond(struct ib_udata *udata, void *resp, size_t len);

#endif
