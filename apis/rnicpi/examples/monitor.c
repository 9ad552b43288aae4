// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * monitor: the events of an RNIC handle and of its objects.
 *
 *	monitor ADDRESS		of the RNIC that has this address
 *
 * Prints events until the device is gone. A handle has the events of the device and of its own
 * objects.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <rnicpi/rix.h>
#include <rnicpi/rnicpi.h>

static void must(ri_api_return_t ret, const char *what)
{
	if (ret != RI_RET_SUCCESS) {
		fprintf(stderr, "monitor: %s: %s\n", what, rix_strerror(ret));
		exit(1);
	}
}

static void show(const struct rix_event *event)
{
	printf("event %d, terminate message of %u bytes\n", (int)event->record.event_type,
	       (unsigned int)event->terminate_msg_length);
	fflush(stdout);
}

/* Return: false once the device is gone */
static int take_events(ri_rnic_handle_t rnic)
{
	struct rix_event event;
	ri_api_return_t ret;

	while ((ret = rix_get_event(rnic, &event, NULL)) == RI_RET_SUCCESS) {
		show(&event);
		if (event.record.event_type == RI_EVENT_LOCAL_CATASTROPHIC_ERROR)
			return 0;
	}
	if (ret != RI_RET_CQ_EMPTY)	/* it means: no event */
		must(ret, "rix_get_event");
	return 1;
}

int main(int argc, char **argv)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	struct pollfd wait = { .events = POLLIN };
	ri_rnic_handle_t rnic;
	ri_vp_handle_t vp;

	if (argc != 2 || !inet_aton(argv[1], &addr.sin_addr)) {
		fprintf(stderr, "usage: monitor ADDRESS\n");
		return 2;
	}
	must(rix_rnic_by_local_addr((struct sockaddr *)&addr, &vp, NULL), "rix_rnic_by_local_addr");
	must(ri_rnic_get_hdl(vp, RI_CONSUMER_LOCATION_USER, &rnic, NULL, NULL, NULL),
	     "ri_rnic_get_hdl");
	wait.fd = rix_event_fd(rnic);
	if (wait.fd < 0) {
		fprintf(stderr, "monitor: no events of %s\n", rix_rnic_name(vp));
		return 1;
	}
	printf("listening to %s\n", rix_rnic_name(vp));
	fflush(stdout);
	do {
		if (poll(&wait, 1, -1) < 0) {
			perror("poll");
			return 1;
		}
	} while (take_events(rnic));
	printf("the device is gone\n");
	return 0;
}
