/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* What a program holds for an object of a library: a number, never an address. */
#ifndef HANDLE_H
#define HANDLE_H

#include <stdbool.h>

void *handle_new(unsigned int kind, void *object);
void *handle_object(unsigned int kind, const void *handle);
void handle_free(void *handle);
void handle_fork(void);
void handle_forked(bool child);

#endif
