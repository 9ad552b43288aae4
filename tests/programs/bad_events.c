// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Wrong calls of the driver's methods for events and for diagnosis, and random ones. */
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

struct three {
	struct ib_uverbs_ioctl_hdr hdr;
	struct ib_uverbs_attr attr[3];
};

/* Without the QP, which would be the last attribute */
static void diag_call(struct three *cmd, const struct srnic_ureq_diag *req, uint64_t *size)
{
	*cmd = (struct three){
		.hdr = { .length = sizeof(*cmd) - sizeof(cmd->attr[0]),
			 .object_id = UVERBS_OBJECT_DEVICE, .method_id = SRNIC_METHOD_DIAG,
			 .num_attrs = 2, .driver_id = SRNIC_DRIVER_ID },
		.attr = {
			{ .attr_id = SRNIC_ATTR_DIAG_REQ, .len = sizeof(*req),
			  .flags = UVERBS_ATTR_F_MANDATORY, .data = (uintptr_t)req },
			{ .attr_id = SRNIC_ATTR_DIAG_SIZE, .len = sizeof(*size),
			  .flags = UVERBS_ATTR_F_MANDATORY, .data = (uintptr_t)size },
			{ .attr_id = SRNIC_ATTR_DIAG_QP, .flags = UVERBS_ATTR_F_MANDATORY },
		},
	};
}

static void diagnoses(int want, const struct hand *h, struct srnic_ureq_diag req, int qp,
		      const char *what)
{
	uint64_t size = 0;
	struct three cmd;
	int err;

	diag_call(&cmd, &req, &size);
	if (qp >= 0) {
		cmd.hdr.num_attrs = 3;
		cmd.hdr.length = sizeof(cmd);
		cmd.attr[2].data = h->qp->handle + qp;
	}
	err = ioctl(h->qp->context->cmd_fd, RDMA_VERBS_IOCTL, &cmd) ? errno : 0;
	require(err == want, "%s: %s in place of %s", what, strerror(err), strerror(want));
	require(!!size == (want == ENOSPC || !want || want == EFAULT), "%s: size %llu", what,
		(unsigned long long)size);
}

void case_diag(void)
{
	struct rng r = { env_uint("BADINPUT_SEED", 1) };
	struct srnic_ureq_diag req = { .op = SRNIC_DIAG_DEVICE };
	char text[8192];
	uint64_t size;
	struct three cmd;
	struct hand h;

	if (!on_srnic())
		skip("only srnic has this method");
	hand_qp(&h);
	req.buf = (uintptr_t)text;
	req.size = sizeof(text);
	diagnoses(0, &h, req, -1, "a good call");
	req.size = 10;
	diagnoses(ENOSPC, &h, req, -1, "little room");
	req.size = -1ULL;
	diagnoses(0, &h, req, -1, "more room than there is");
	req.buf = 8;
	diagnoses(EFAULT, &h, req, -1, "nowhere to write");
	req.op = SRNIC_DIAG_RESET + 1;
	diagnoses(EOPNOTSUPP, &h, req, -1, "an op that is not known");
	req.op = SRNIC_DIAG_QP;
	diagnoses(EINVAL, &h, req, -1, "no QP");
	diagnoses(ENOENT, &h, req, 1000, "no such QP");
	req.op = SRNIC_DIAG_DUMP;
	diagnoses(EINVAL, &h, req, 0, "a QP where there is to be none");
	req.reserved = 1;
	diagnoses(EOPNOTSUPP, &h, req, -1, "a field that is not known");
	require(!seteuid(65534), "another user");
	req = (struct srnic_ureq_diag){ .op = SRNIC_DIAG_RESET };
	diagnoses(EPERM, &h, req, -1, "a user without the right");
	require(!seteuid(0), "root");
	for (unsigned int i = 0; i < 1000; i++) {
		req.op = rng_below(&r, SRNIC_DIAG_RESET);
		req.reserved = rng_below(&r, 4) ? 0 : rng_next(&r);
		req.buf = rng_below(&r, 2) ? (uintptr_t)text : rng_next(&r) << 20;
		req.size = rng_below(&r, sizeof(text));
		diag_call(&cmd, &req, &size);
		cmd.attr[rng_below(&r, 2)].len = rng_below(&r, 40);
		cmd.attr[rng_below(&r, 2)].flags = rng_below(&r, 2);
		ioctl(h.qp->context->cmd_fd, RDMA_VERBS_IOCTL, &cmd);
	}
	hand_qp_end(&h);
}
