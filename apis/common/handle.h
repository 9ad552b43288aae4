/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Handles: a program gets a number for an object of a library, never an address. */
#ifndef HANDLE_H
#define HANDLE_H

#include <stdbool.h>

void *handle_new(unsigned int kind, void *object);
void *handle_object(unsigned int kind, const void *handle);
void *handle_owner(unsigned int kind, const void *handle);
void handle_free(void *handle);
void handle_fork(void);
void handle_forked(bool child);

#endif
