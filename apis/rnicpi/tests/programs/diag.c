// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Diagnosis (L1863). */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "rnicpi.h"

/* As on its page: query the size, then the text */
static char *ask(ri_rnic_handle_t rnic, ri_diag_op_type_t op, void *arg)
{
	ri_length_t len = 0, need;
	unsigned char *text;

	expect(RI_RET_BUFFER_TOO_SMALL, ri_rnic_diag(rnic, op, arg, NULL, &len, &err));
	require(len > 1, "%llu bytes", (unsigned long long)len);
	need = len;
	len--;
	text = malloc(need + 100);
	memset(text, 0xa5, need + 100);
	expect(RI_RET_BUFFER_TOO_SMALL, ri_rnic_diag(rnic, op, arg, text, &len, &err));
	require(text[0] == 0xa5 && len, "nothing but the size");
	len = need + 100;	/* counters count, meanwhile */
	expect(RI_RET_SUCCESS, ri_rnic_diag(rnic, op, arg, text, &len, &err));
	require(len <= need + 100 && strlen((char *)text) == len - 1, "%llu bytes",
		(unsigned long long)len);
	return (char *)text;
}

static void says(ri_rnic_handle_t rnic, ri_diag_op_type_t op, void *arg, const char *what)
{
	char *text = ask(rnic, op, arg);

	require(strstr(text, what), "no '%s' in: %s", what, text);
	free(text);
}

void diag(void)
{
	ri_diag_op_type_t details = RI_DIAG_RNIC_DETAILS;
	ri_length_t len = 0;
	char *text;

	open_pair();
	says(a.rnic, details, NULL, "\nqps 2\n");
	says(a.rnic, RI_DIAG_QP_DETAILS, a.qp, "\nstate RTS\n");
	text = ask(a.rnic, RI_DIAG_RNIC_DUMP, NULL);
	require(strstr(text, "rx_fpdus") && strstr(strstr(text, "\nqp ") + 1, "\nqp "),
		"counters, and two QPs");
	free(text);
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_rnic_diag(STALE, details, NULL, NULL, &len, &err));
	expect(RI_RET_INVALID_PARAMETER, ri_rnic_diag(a.rnic, details, NULL, NULL, NULL, &err));
	expect(RI_RET_INVALID_PARAMETER, ri_rnic_diag(a.rnic, RI_DIAG_QP_DETAILS, NULL, NULL, &len,
						      &err));
	expect(RI_RET_INVALID_PARAMETER, ri_rnic_diag(a.rnic, RI_DIAG_QP_DETAILS, b.qp, NULL, &len,
						      &err));
	expect(RI_RET_OP_UNSUPPORTED, ri_rnic_diag(a.rnic, (ri_diag_op_type_t)4, NULL, NULL, &len,
						   &err));
	len = 1 << 20;
	expect(RI_RET_MEM_INVALID_ADDRESS, ri_rnic_diag(a.rnic, details, NULL, (void *)8, &len,
							&err));
	require(!seteuid(65534), "another user");
	expect(RI_RET_NO_PERMISSION, ri_rnic_diag(a.rnic, details, NULL, NULL, &len, &err));
	expect(RI_RET_NO_PERMISSION, ri_rnic_diag(a.rnic, RI_DIAG_RDMA_RESET, NULL, NULL, NULL,
						  &err));
	require(!seteuid(0), "root");
	require_state(&a, RI_QP_STATE_READY_TO_SEND);
	close_pair();
}

static void to_idle(struct end *e)
{
	ri_qp_attr_t attr = { .state = RI_QP_STATE_IDLE };
	uint64_t end = now_ms() + LONG_MS;

	while (ri_qp_modify(e->rnic, e->qp, RI_QP_ATTR_NEXT_STATE, &attr, &err))
		require(now_ms() < end && !usleep(1000), "%llx", (unsigned long long)err);
}

/* All QPs, and nothing of Ethernet and TCP */
void diag_reset(void)
{
	struct rix_event event;
	char c = 0;
	int fd[2];

	open_pair();
	fd[0] = a.fd;
	fd[1] = b.fd;
	connect_sockets();		/* one more, which stays TCP's */
	require(rix_event_fd(b.rnic) >= 0, "a descriptor");
	post_recv(&b, 1, 0, 100);
	expect(RI_RET_SUCCESS, ri_rnic_diag(a.rnic, RI_DIAG_RDMA_RESET, NULL, NULL, NULL, &err));
	require_state(&a, RI_QP_STATE_ERROR);
	require_state(&b, RI_QP_STATE_ERROR);
	take(&b, b.rcq, 1, RI_WC_TYPE_DATA_RECEIVED, RI_WC_STATUS_WR_FLUSHED_ERROR);
	expect(RI_RET_SUCCESS, rix_get_event(b.rnic, &event, &err));
	require(event.record.event_type == RI_EVENT_QP_LOCAL_CATASTROPHIC_ERROR, "event %d",
		event.record.event_type);
	require(write(a.fd, "x", 1) == 1 && read(b.fd, &c, 1) == 1 && c == 'x', "TCP goes on");
	to_idle(&a);
	to_idle(&b);
	turn(false, true);
	close(fd[0]);
	close(fd[1]);
	close_pair();
}
