/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Kinds of handles */
#ifndef VIPL_KIND_H
#define VIPL_KIND_H

#include <handle.h>

enum vipl_kind {
	VIPL_NIC = 1,
	VIPL_PTAG,
	VIPL_VI,
	VIPL_CQ,
	VIPL_LINK,
	VIPL_LISTENER,
};

#endif
