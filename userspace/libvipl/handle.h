/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* What a program holds for an object: a number, never an address. */
#ifndef VIPL_HANDLE_H
#define VIPL_HANDLE_H

enum vipl_kind {
	VIPL_NIC = 1,
	VIPL_PTAG,
	VIPL_VI,
	VIPL_CQ,
	VIPL_LINK,
	VIPL_LISTENER,
};

void *vipl_handle_new(enum vipl_kind kind, void *object);
void *vipl_handle_object(enum vipl_kind kind, const void *handle);
void vipl_handle_free(void *handle);
void vipl_handle_fork(void);
void vipl_handle_forked(int child);

#endif
