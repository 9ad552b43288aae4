// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Wrong calls of the driver's methods for events, and random ones. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include "badinput.h"
#include "handfd.h"
#include "method.h"

static struct method_call open_call(void)
{
	return (struct method_call){
		.hdr = METHOD_HDR(SRNIC_OBJECT_EVENTS, SRNIC_METHOD_EVENTS_OPEN, 1),
		.attr = { ATTR_NUMBER(SRNIC_ATTR_EVENTS_OPEN_FD, 0) },
	};
}

static struct method_call arm_call(const struct hand *h, const uint32_t *limit)
{
	return (struct method_call){
		.hdr = METHOD_HDR(UVERBS_OBJECT_QP, SRNIC_METHOD_QP_ARM_RQ, 2),
		.attr = {
			ATTR_NUMBER(SRNIC_ATTR_QP_ARM_RQ_QP, h->qp->handle),
			ATTR_BYTES(SRNIC_ATTR_QP_ARM_RQ_LIMIT, limit, sizeof(*limit)),
		},
	};
}

static int call(const struct hand *h, struct method_call *cmd)
{
	return call_method(h->qp->context, cmd);
}

static void gives(int want, const struct hand *h, struct method_call *cmd, const char *what)
{
	int err = call(h, cmd);

	require(err == want, "%s: %s in place of %s", what, strerror(err), strerror(want));
}

static void bad_reads(int fd)
{
	uint8_t buf[256];

	require(read(fd, buf, sizeof(struct srnic_event_record) - 1) == -1 && errno == EINVAL,
		"room for less: %s", strerror(errno));
	require(read(fd, buf, 0) == -1 && errno == EINVAL, "no room: %s", strerror(errno));
	require(read(fd, buf, sizeof(buf)) == -1 && errno == EAGAIN, "none: %s", strerror(errno));
	require(write(fd, buf, sizeof(buf)) == -1, "it takes nothing");
	require(lseek(fd, 10, SEEK_SET) == -1 && errno == ESPIPE, "a place: %s", strerror(errno));
}

void case_events(void)
{
	struct rng r = { env_uint("BADINPUT_SEED", 1) };
	struct method_call cmd;
	uint32_t limit = 0;
	struct hand h;
	int fd;

	if (!on_srnic())
		skip("only srnic has these methods");
	hand_qp(&h);
	cmd = open_call();
	require(!call(&h, &cmd), "open: %s", strerror(errno));
	fd = cmd.attr[0].data;
	fcntl(fd, F_SETFL, O_NONBLOCK);
	cmd = open_call();
	gives(EBUSY, &h, &cmd, "a second one");
	bad_reads(fd);
	require(!close(fd), "close");
	cmd = open_call();
	cmd.hdr.num_attrs = 0;
	gives(EINVAL, &h, &cmd, "no descriptor is wanted");
	cmd = arm_call(&h, &limit);
	gives(EINVAL, &h, &cmd, "a QP without an SRQ");
	cmd = arm_call(&h, &limit);
	cmd.attr[0].data += 1000;
	gives(ENOENT, &h, &cmd, "no such QP");
	cmd = arm_call(&h, &limit);
	cmd.attr[1].len = 3;
	gives(EINVAL, &h, &cmd, "a short limit");
	/* objects made by random calls go with the context, or are closed */
	for (unsigned int i = 0; i < 1000; i++) {
		if (rng_below(&r, 2))
			cmd = open_call();
		else
			cmd = arm_call(&h, &limit);
		limit = rng_next(&r);
		cmd.attr[rng_below(&r, 2)].flags = rng_below(&r, 4);
		cmd.attr[0].len = rng_below(&r, 3);
		cmd.hdr.object_id += rng_below(&r, 3);
		if (!call(&h, &cmd) && cmd.hdr.object_id == SRNIC_OBJECT_EVENTS)
			close(cmd.attr[0].data);
	}
	hand_qp_end(&h);
}
