/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The cases of abi; each returns if all is as it must be. */
#ifndef ABI_H
#define ABI_H

#include "pair.h"

/* abi.c: commands, imported contexts, mappings */
void case_versions(void);
void case_import(void);
void case_join(void);
void case_mappings(void);

/* abi_fork.c */
void case_fork(void);

/* abi_ring.c: fields of the rings that must be zero */
void case_unused(void);
void case_arm_bits(void);

/* doorbell.c */
void case_doorbell(void);

#endif
