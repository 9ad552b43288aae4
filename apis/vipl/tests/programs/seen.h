/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Which function gave which code: the table of conformance-vipl.md is compared with it. */
#ifndef SEEN_H
#define SEEN_H

#include <vipl.h>

/* What a call gives is what it must, and is noted. */
#define expect(want, call) do {						\
	VIP_RETURN got_ = (call);					\
	require(got_ == (want), "%s gives %d, not " #want, #call, got_);	\
	note_seen(#call, got_);						\
} while (0)

/* The same of a call whose code somebody else looks at */
#define noted(call)	note_seen(#call, (call))

VIP_RETURN note_seen(const char *call, VIP_RETURN code);

#endif
