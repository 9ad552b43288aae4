/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Records which function returned which code, for the table of conformance-vipl.md. */
#ifndef SEEN_H
#define SEEN_H

#include <vipl.h>

/* Checks and records the return code of a call. */
#define expect(want, call) do {						\
	VIP_RETURN got_ = (call);					\
	require(got_ == (want), "%s gives %d, not " #want, #call, got_);	\
	note_seen(#call, got_);						\
} while (0)

/* Records the return code of a call, which the caller checks */
#define noted(call)	note_seen(#call, (call))

VIP_RETURN note_seen(const char *call, VIP_RETURN code);

#endif
