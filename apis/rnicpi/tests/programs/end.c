// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Two ends in one process: each has its own socket, and turns it into an RDMA stream. */
#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "rnicpi.h"

struct end a, b;
ri_err_data_t err;
uint32_t keepalive;

ri_vp_handle_t find_vp(void)
{
	const char *name = getenv("RNICPI_DEVICE");
	ri_vp_handle_t vps[16];
	uint_t num = 16, i;

	require(name, "RNICPI_DEVICE is not set");
	expect(RI_RET_SUCCESS, rix_rnic_list(vps, &num, &err));
	for (i = 0; i < num; i++)
		if (!strcmp(rix_rnic_name(vps[i]), name))
			return vps[i];
	die("no device %s", name);
}

ri_rnic_handle_t get_rnic(void)
{
	ri_rnic_handle_t rnic;

	expect(RI_RET_SUCCESS, ri_rnic_get_hdl(find_vp(), RI_CONSUMER_LOCATION_USER, &rnic, NULL,
					       NULL, &err));
	return rnic;
}

ri_qp_attr_t qp_attr_of(const struct end *e)
{
	ri_qp_attr_t attr = { 0 };

	attr.scq.scq_handle = e->scq;
	attr.rcq.rcq_handle = e->rcq;
	attr.pd = e->pd;
	attr.sq_size = attr.rq_size = WRS;
	attr.sq_max_sges = attr.sq_max_sges_rdmaw = attr.rq_max_sges = 4;
	attr.enable_rdma_read = attr.enable_rdma_write = 1;
	attr.max_rdma_read_outgoing = attr.max_rdma_read_incoming = 4;
	attr.qp_xport.qp_iwarp.enable_bind = 1;
	return attr;
}

/* The os_data of all objects is the end itself */
void open_end(struct end *e)
{
	ri_cq_attr_t cq = { .num_cqe = 256 };
	ri_mr_reg_attr_t mr = { .length = BUF_BYTES };
	ri_qp_attr_t attr;

	e->rnic = get_rnic();
	expect(RI_RET_SUCCESS, ri_pd_alloc(e->rnic, &e->pd, NULL, e, &err));
	expect(RI_RET_SUCCESS, ri_cq_create(e->rnic, &cq, &e->scq, NULL, e, &err));
	expect(RI_RET_SUCCESS, ri_cq_create(e->rnic, &cq, &e->rcq, NULL, e, &err));
	require(!posix_memalign((void **)&e->buf, 4096, BUF_BYTES), "memory");
	memset(e->buf, 0, BUF_BYTES);
	mr.va = (uintptr_t)e->buf;
	mr.pd = e->pd;
	mr.mem_attr = (ri_mem_attr_t)(RI_MEM_FLAGS_LOCAL | RI_MEM_FLAGS_REMOTE |
				      RI_MEM_FLAGS_BINDING);
	expect(RI_RET_SUCCESS, ri_mr_reg(e->rnic, &mr, &e->mr, &e->ltag, &e->rtag, NULL, e, &err));
	attr = qp_attr_of(e);
	expect(RI_RET_SUCCESS, ri_qp_create(e->rnic, &attr, &e->qp, NULL, e, &err));
	e->fd = -1;
}

void close_end(struct end *e)
{
	expect(RI_RET_SUCCESS, ri_qp_destroy(e->rnic, e->qp, &err));
	expect(RI_RET_SUCCESS, ri_mr_dereg(e->rnic, e->mr, &err));
	expect(RI_RET_SUCCESS, ri_cq_destroy(e->rnic, e->scq, &err));
	expect(RI_RET_SUCCESS, ri_cq_destroy(e->rnic, e->rcq, &err));
	expect(RI_RET_SUCCESS, ri_pd_dealloc(e->rnic, e->pd, &err));
	expect(RI_RET_SUCCESS, ri_rnic_free_hdl(find_vp(), e->rnic, &err));
	free(e->buf);
	if (e->fd >= 0)
		close(e->fd);
}

/* Replaces the QP of an end */
void renew_qp(struct end *e, ri_qp_attr_t *attr)
{
	expect(RI_RET_SUCCESS, ri_qp_destroy(e->rnic, e->qp, &err));
	expect(RI_RET_SUCCESS, ri_qp_create(e->rnic, attr, &e->qp, NULL, e, &err));
}

void set_state(struct end *e, ri_qp_state_t state, ri_api_return_t want)
{
	ri_qp_attr_t attr = { .state = state };

	expect(want, ri_qp_modify(e->rnic, e->qp, RI_QP_ATTR_NEXT_STATE, &attr, &err));
}

/* To Error, and on when all is flushed */
void make_idle(struct end *e)
{
	ri_qp_attr_t attr = { .state = RI_QP_STATE_IDLE };
	uint64_t end = now_ms() + LONG_MS;
	ri_api_return_t ret;

	set_state(e, RI_QP_STATE_ERROR, RI_RET_SUCCESS);
	do
		ret = ri_qp_modify(e->rnic, e->qp, RI_QP_ATTR_NEXT_STATE, &attr, &err);
	while (ret == RI_RET_STILL_FLUSHING_WQES && now_ms() < end && !usleep(1000));
	require(ret == RI_RET_SUCCESS, "%d (%llx)", ret, (unsigned long long)err);
}

void connect_sockets(void)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	socklen_t len = sizeof(addr);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	require(inet_aton(test_addr, &addr.sin_addr), "%s", test_addr);
	require(listener >= 0 && !bind(listener, (struct sockaddr *)&addr, len) &&
		!listen(listener, 1) && !getsockname(listener, (struct sockaddr *)&addr, &len),
		"a listener");
	a.fd = socket(AF_INET, SOCK_STREAM, 0);
	require(a.fd >= 0 && !connect(a.fd, (struct sockaddr *)&addr, len), "connect");
	b.fd = accept(listener, NULL, NULL);
	require(b.fd >= 0, "accept");
	close(listener);
}

static void to_rts(struct end *e, const struct rix_mpa_frame *mpa, char *msg, size_t len)
{
	struct ri_linux_llp llp = { .size = sizeof(llp), .fd = e->fd, .keepalive = keepalive };
	ri_qp_attr_t attr = { .state = RI_QP_STATE_READY_TO_SEND };
	uint32_t mask = RI_QP_ATTR_NEXT_STATE | RI_QP_ATTR_LLP_STREAM_HANDLE | RI_QP_ATTR_MPA_ATTR;
	ri_iwarp_qp_attr_t *iw = &attr.qp_xport.qp_iwarp;

	iw->llp_stream_handle = &llp;
	iw->mpa_attrs = (ri_mpa_attr_t){ mpa->markers, mpa->markers, mpa->crc, 1 };
	if (len) {
		mask |= RI_QP_ATTR_STREAM_MSG_BUFFER;
		iw->stream_msg_buf = msg;
		iw->stream_msg_buf_length = len;
	}
	expect(RI_RET_SUCCESS, ri_qp_modify(e->rnic, e->qp, (ri_qp_attr_mask_t)mask, &attr, &err));
}

static struct rix_mpa_frame frame_of(bool markers, bool crc)
{
	return (struct rix_mpa_frame){ .markers = markers, .crc = crc, .private_len = 3,
				       .private_data = "abc" };
}

/* The initiator sends its Request through the socket */
void turn_ask(struct end *e, bool markers, bool crc)
{
	struct rix_mpa_frame mpa = frame_of(markers, crc);
	char msg[RIX_MPA_MAX_FRAME];
	size_t len = rix_mpa_build(msg, 0, &mpa);

	require(write(e->fd, msg, len) == (ssize_t)len, "the Request");
}

/* The responder's Reply is the last message of its stream */
void turn_answer(struct end *e, bool markers, bool crc)
{
	struct rix_mpa_frame mpa = frame_of(markers, crc), got;
	char msg[RIX_MPA_MAX_FRAME];

	expect(RI_RET_SUCCESS, rix_mpa_recv(e->fd, 0, &got, &err));
	require(got.markers == markers && got.crc == crc && got.private_len == 3 &&
		!memcmp(got.private_data, "abc", 3), "the Request says the same");
	to_rts(e, &mpa, msg, rix_mpa_build(msg, 1, &mpa));
}

void turn_finish(struct end *e, bool markers, bool crc)
{
	struct rix_mpa_frame mpa = frame_of(markers, crc), got;

	expect(RI_RET_SUCCESS, rix_mpa_recv(e->fd, 1, &got, &err));
	require(!got.reject && got.private_len == 3, "the Reply");
	to_rts(e, &mpa, NULL, 0);
}

/* a is the initiator */
void turn(bool markers, bool crc)
{
	turn_ask(&a, markers, crc);
	turn_answer(&b, markers, crc);
	turn_finish(&a, markers, crc);
}

void open_pair(void)
{
	open_end(&a);
	open_end(&b);
	connect_sockets();
	turn(false, true);
}

void close_pair(void)
{
	close_end(&a);
	close_end(&b);
}

ri_data_seg_t seg_of(const struct end *e, uint32_t offset, uint32_t len)
{
	ri_data_seg_t seg = { .len = len };

	seg.addr.vaddr = (uintptr_t)e->buf + offset;
	seg.tag.ltag = e->ltag;
	return seg;
}

void post_recv(struct end *e, ri_wr_id_t id, uint32_t offset, uint32_t len)
{
	ri_data_seg_t seg = seg_of(e, offset, len);

	expect(RI_RET_SUCCESS, ri_qp_post_recv(e->rnic, e->qp, (ri_wr_flags_t)0, id, &seg, 1, &err));
}

void post_send(struct end *e, ri_wr_id_t id, uint32_t offset, uint32_t len)
{
	ri_data_seg_t seg = seg_of(e, offset, len);

	expect(RI_RET_SUCCESS, ri_qp_post_send(e->rnic, e->qp, RI_WR_TYPE_SEND, RI_WR_SIGNALED_FLAG,
					       id, &seg, 0, 1, 0, &err));
}

/* Takes the next completion, and checks it */
ri_rc_wc_t take(struct end *e, ri_cq_handle_t cq, ri_wr_id_t id, ri_wc_type_t type,
		ri_wc_status_t status)
{
	uint64_t end = now_ms() + LONG_MS;
	ri_api_return_t ret;
	uint_t num;
	ri_wc_t wc;

	do {
		num = 1;
		ret = ri_cq_poll(e->rnic, cq, &wc, &num, &err);
		require(ret == RI_RET_SUCCESS || ret == RI_RET_CQ_EMPTY, "%d", ret);
		require(num == (ret == RI_RET_SUCCESS), "%u completions", num);
	} while (!num && now_ms() < end);
	require(num, "no completion of %llu", (unsigned long long)id);
	require(wc.rc_wc.id == id && wc.rc_wc.op_status == status && wc.rc_wc.op_type == type,
		"id %llu, status %d, type %d", (unsigned long long)wc.rc_wc.id, wc.rc_wc.op_status,
		wc.rc_wc.op_type);
	require(wc.rc_wc.cq_os_data == e && wc.rc_wc.qp_os_data == e, "os_data");
	return wc.rc_wc;
}

void require_state(struct end *e, ri_qp_state_t want)
{
	uint64_t end = now_ms() + LONG_MS;
	ri_qp_attr_t attr;

	do
		expect(RI_RET_SUCCESS, ri_qp_query(e->rnic, e->qp, &attr, &err));
	while (attr.state != want && now_ms() < end && !usleep(1000));
	require(attr.state == want, "state %d, not %d", attr.state, want);
}

bool event_is_ready(const struct end *e, int ms)
{
	struct pollfd fd = { .fd = rix_event_fd(e->rnic), .events = POLLIN };

	return poll(&fd, 1, ms) == 1;
}

/* Takes the next event of an end, and checks it */
struct rix_event await_event(struct end *e, ri_async_event_type_t type, void *os_data)
{
	struct rix_event event;

	require(event_is_ready(e, LONG_MS), "no event, where %d must come", type);
	expect(RI_RET_SUCCESS, rix_get_event(e->rnic, &event, &err));
	require(event.record.event_type == type, "event %d, not %d", event.record.event_type, type);
	require(event.record.event_data.resource_os_data == os_data, "os_data of event %d", type);
	return event;
}

void no_event(struct end *e, int ms)
{
	struct rix_event event;

	require(!event_is_ready(e, ms), "an event");
	expect(RI_RET_CQ_EMPTY, rix_get_event(e->rnic, &event, &err));
}

void listen_to(struct end *e)
{
	require(rix_event_fd(e->rnic) >= 0, "a descriptor");
}

void shell(const char *format, const char *one, const char *two)
{
	char cmd[256];

	snprintf(cmd, sizeof(cmd), format, one, two);
	require(!system(cmd), "%s", cmd);
}
