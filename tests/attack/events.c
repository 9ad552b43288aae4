// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Descriptors of events are opened and closed while the objects that have events are destroyed.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>
#include "attack.h"

static atomic_bool over;
static atomic_uint opened, events;

/* A context has one descriptor at a time: EBUSY for the other threads */
static int open_events(struct ibv_context *ctx)
{
	struct method_call call = {
		.hdr = METHOD_HDR(SRNIC_OBJECT_EVENTS, SRNIC_METHOD_EVENTS_OPEN, 1),
		.attr = { ATTR_NUMBER(SRNIC_ATTR_EVENTS_OPEN_FD, 0) },
	};
	int err = call_method(ctx, &call);

	require(!err || err == EBUSY, "%s", strerror(err));
	return err ? -1 : call.attr[0].data_s64;
}

static void *reader(void *arg)
{
	struct srnic_event_record record;

	while (!over) {
		int fd = open_events(test_context());
		struct pollfd p = { .fd = fd, .events = POLLIN };

		if (fd < 0) {
			usleep(50);
			continue;
		}
		opened++;
		fcntl(fd, F_SETFL, O_NONBLOCK);
		for (int i = 0; i < 5; i++) {
			ssize_t n = poll(&p, 1, 2) == 1 ? read(fd, &record, sizeof(record)) : 0;

			/* another thread may have taken it, or its object is gone */
			if (!n || (n < 0 && errno == EAGAIN))
				continue;
			require(n == sizeof(record), "%zd, %s", n, strerror(errno));
			require(record.event != SRNIC_EV_NONE && !record.reserved &&
				record.object <= SRNIC_EVENT_OF_SRQ, "event %u of object %u",
				record.event, record.object);
			events++;
		}
		close(fd);
	}
	return NULL;
}

/* A message without a receive, or an end; then everything is destroyed */
static void pair_that_ends(unsigned int n)
{
	struct ibv_qp_attr error = { .qp_state = IBV_QPS_ERR }, no_wait = { .rnr_retry = 0 };
	struct ibv_send_wr wr = { .num_sge = 1, .opcode = IBV_WR_SEND }, *bad;
	struct ibv_sge sge;
	struct hand a, b;

	hand_open(&a, &b, test_addr);
	require(!ibv_modify_qp(b.qp, &no_wait, IBV_QP_RNR_RETRY), "%s", strerror(errno));
	require(!hand_over(&a, SRNIC_QP_MODIFY_CRC, NULL, 0) &&
		!hand_over(&b, SRNIC_QP_MODIFY_CRC | SRNIC_QP_MODIFY_RESPONDER, NULL, 0), "%s",
		strerror(errno));
	sge = (struct ibv_sge){ (uintptr_t)a.buf, 10, a.mr->lkey };
	wr.sg_list = &sge;
	if (n & 1)
		require(!ibv_post_send(a.qp, &wr, &bad), "send");
	else
		require(!ibv_modify_qp(a.qp, &error, IBV_QP_STATE), "%s", strerror(errno));
	usleep(n % 5 * 300);
	hand_close(&a, &b);
}

void case_events(void)
{
	uint64_t end = attack_end();
	unsigned int n = 0;
	pthread_t t[3];

	for (int i = 0; i < 3; i++)
		t[i] = thread_of(reader, NULL);
	do
		pair_that_ends(n++);
	while (now_ms() < end);
	over = true;
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	note("%u pairs ended, %u descriptors, %u events", n, opened, events);
	require(opened && events, "nothing was tried");
}
