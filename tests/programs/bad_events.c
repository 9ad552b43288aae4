// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Wrong calls of the driver's methods for events, and random ones. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <rdma/rdma_user_ioctl.h>
#include "badinput.h"
#include "handfd.h"
#include "query.h"

struct two {
	struct ib_uverbs_ioctl_hdr hdr;
	struct ib_uverbs_attr attr[2];
};

static void open_call(struct two *cmd)
{
	*cmd = (struct two){
		.hdr = { .length = sizeof(struct two) - sizeof(struct ib_uverbs_attr),
			 .object_id = SRNIC_OBJECT_EVENTS, .method_id = SRNIC_METHOD_EVENTS_OPEN,
			 .num_attrs = 1, .driver_id = SRNIC_DRIVER_ID },
		.attr = { { .attr_id = SRNIC_ATTR_EVENTS_OPEN_FD,
			    .flags = UVERBS_ATTR_F_MANDATORY } },
	};
}

static void arm_call(struct two *cmd, const struct hand *h, const uint32_t *limit)
{
	*cmd = (struct two){
		.hdr = { .length = sizeof(struct two), .object_id = UVERBS_OBJECT_QP,
			 .method_id = SRNIC_METHOD_QP_ARM_RQ, .num_attrs = 2,
			 .driver_id = SRNIC_DRIVER_ID },
		.attr = {
			{ .attr_id = SRNIC_ATTR_QP_ARM_RQ_QP, .flags = UVERBS_ATTR_F_MANDATORY,
			  .data = h->qp->handle },
			{ .attr_id = SRNIC_ATTR_QP_ARM_RQ_LIMIT, .len = sizeof(*limit),
			  .flags = UVERBS_ATTR_F_MANDATORY, .data = (uintptr_t)limit },
		},
	};
}

static int call(const struct hand *h, struct two *cmd)
{
	return ioctl(h->qp->context->cmd_fd, RDMA_VERBS_IOCTL, cmd) ? errno : 0;
}

static void gives(int want, const struct hand *h, struct two *cmd, const char *what)
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
	struct two cmd;
	uint32_t limit = 0;
	struct hand h;
	int fd;

	if (!on_srnic())
		skip("only srnic has these methods");
	hand_qp(&h);
	open_call(&cmd);
	require(!call(&h, &cmd), "open: %s", strerror(errno));
	fd = cmd.attr[0].data;
	fcntl(fd, F_SETFL, O_NONBLOCK);
	open_call(&cmd);
	gives(EBUSY, &h, &cmd, "a second one");
	bad_reads(fd);
	require(!close(fd), "close");
	open_call(&cmd);
	cmd.hdr.num_attrs = 0;
	cmd.hdr.length = sizeof(cmd.hdr);
	gives(EINVAL, &h, &cmd, "no descriptor is wanted");
	arm_call(&cmd, &h, &limit);
	gives(EINVAL, &h, &cmd, "a QP without an SRQ");
	arm_call(&cmd, &h, &limit);
	cmd.attr[0].data += 1000;
	gives(ENOENT, &h, &cmd, "no such QP");
	arm_call(&cmd, &h, &limit);
	cmd.attr[1].len = 3;
	gives(EINVAL, &h, &cmd, "a short limit");
	/* objects made by random calls go with the context, or are closed */
	for (unsigned int i = 0; i < 1000; i++) {
		if (rng_below(&r, 2))
			open_call(&cmd);
		else
			arm_call(&cmd, &h, &limit);
		limit = rng_next(&r);
		cmd.attr[rng_below(&r, 2)].flags = rng_below(&r, 4);
		cmd.attr[0].len = rng_below(&r, 3);
		cmd.hdr.object_id += rng_below(&r, 3);
		if (!call(&h, &cmd) && cmd.hdr.object_id == SRNIC_OBJECT_EVENTS)
			close(cmd.attr[0].data);
	}
	hand_qp_end(&h);
}
