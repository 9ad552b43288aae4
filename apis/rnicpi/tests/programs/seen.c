// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Records which function returned which code, in the file that RNICPI_SEEN names. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "rnicpi.h"

#define FUNCTIONS	100
#define CODES		86

static int file = -1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	const char *function;
	char code[CODES];
} table[FUNCTIONS];

static bool is_new(const char *function, ri_api_return_t ret)
{
	unsigned int i = 0;
	bool new = false;

	pthread_mutex_lock(&lock);
	while (i < FUNCTIONS && table[i].function && strcmp(table[i].function, function))
		i++;
	if (i < FUNCTIONS && ret < CODES) {
		table[i].function = function;
		new = !table[i].code[ret];
		table[i].code[ret] = 1;
	}
	pthread_mutex_unlock(&lock);
	return new;
}

/* Opened at start: later the test may have no descriptor or no permission for it */
static __attribute__((constructor)) void open_file(void)
{
	const char *path = getenv("RNICPI_SEEN");

	if (path)
		file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
}

ri_api_return_t note_seen(const char *function, ri_api_return_t ret)
{
	int before = errno;

	if (file >= 0 && is_new(function, ret))
		dprintf(file, "%s %s\n", function, rix_strerror(ret));
	errno = before;
	return ret;
}
