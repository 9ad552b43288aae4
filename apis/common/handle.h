/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Handles: a program gets a number for an object of a library, never an address. */
#ifndef HANDLE_H
#define HANDLE_H

#include <stdbool.h>
#include <stdint.h>

void *handle_new(unsigned int kind, void *object);
void *handle_object(unsigned int kind, const void *handle);
void *handle_owner(unsigned int kind, const void *handle);
void *handle_enter(unsigned int kind, const void *handle, const void *owner, bool more);
void handle_leave(const void *handle);
void *handle_close(unsigned int kind, const void *handle, const void *owner);
void handle_reopen(const void *handle);
void *handle_of(unsigned int kind, const void *owner, uint32_t *at);
void handle_free(void *handle);
void handle_fork(void);
void handle_forked(bool child);

#endif
