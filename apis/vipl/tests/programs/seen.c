// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Records which function returned which code, in the file that VIPL_SEEN names. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common.h"
#include "seen.h"

static const char *const names[] = {
#define NAME(code) [code] = #code
	NAME(VIP_SUCCESS),
	NAME(VIP_NOT_DONE),
	NAME(VIP_INVALID_PARAMETER),
	NAME(VIP_ERROR_RESOURCE),
	NAME(VIP_TIMEOUT),
	NAME(VIP_REJECT),
	NAME(VIP_INVALID_RELIABILITY_LEVEL),
	NAME(VIP_INVALID_MTU),
	NAME(VIP_INVALID_QOS),
	NAME(VIP_INVALID_PTAG),
	NAME(VIP_INVALID_RDMAREAD),
	NAME(VIP_DESCRIPTOR_ERROR),
	NAME(VIP_INVALID_STATE),
	NAME(VIP_ERROR_NAMESERVICE),
	NAME(VIP_NO_MATCH),
#undef NAME
};

/* One write, so that lines of several processes do not mix */
static void append(const char *path, const char *line, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);

	require(fd >= 0 && write(fd, line, len) == (ssize_t)len, "%s", path);
	close(fd);
}

/* Returns @code. @call is the source text of the call, and may call a helper. */
VIP_RETURN note_seen(const char *call, VIP_RETURN code)
{
	const char *path = getenv("VIPL_SEEN");
	static __thread char last[120];
	char line[120];
	int len;

	if (!path || strncmp(call, "Vip", 3) || code >= ARRAY_SIZE(names))
		return code;
	len = snprintf(line, sizeof(line), "%.*s %s\n", (int)strcspn(call, "("), call, names[code]);
	if (strcmp(line, last))
		append(path, line, len);
	strcpy(last, line);
	return code;
}
