// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* TCP connections that become RDMA streams, and how these end. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "rnicpi.h"

/* Through the sockets, then as messages */
static void talk(uint32_t bytes)
{
	static char said[65536], heard[65536];
	uint32_t at;
	ssize_t n;

	for (at = 0; at < bytes; at++)
		said[at] = (char)(at * 13 + bytes);
	for (at = 0; at < bytes; at += n) {
		n = bytes - at < 8192 ? bytes - at : 8192;
		require(write(a.fd, said + at, n) == n, "write");
		require(recv(b.fd, heard + at, n, MSG_WAITALL) == n, "read");
	}
	require(!memcmp(said, heard, bytes), "what was said");
}

static void one_message(struct end *from, struct end *to, ri_wr_id_t id)
{
	ri_rc_wc_t wc;

	memset(from->buf, (int)id, 1000);
	post_recv(to, 100 + id, 4096, 2000);
	post_send(from, id, 0, 1000);
	take(from, from->scq, id, RI_WC_TYPE_SEND, RI_WC_STATUS_SUCCESS);
	wc = take(to, to->rcq, 100 + id, RI_WC_TYPE_DATA_RECEIVED, RI_WC_STATUS_SUCCESS);
	require(wc.bytes_transferred == 1000 && to->buf[4096] == (char)id &&
		to->buf[4096 + 999] == (char)id, "%u bytes", wc.bytes_transferred);
}

/* The initiator sends first: its peer must not send before (RFC 5044 7.1.2) */
static void converse(uint32_t bytes, bool markers, bool crc)
{
	connect_sockets();
	talk(bytes);
	turn(markers, crc);
	one_message(&a, &b, 1);
	one_message(&b, &a, 2);
}

void echo(void)
{
	open_end(&a);
	open_end(&b);
	converse(12, false, true);
	require_state(&a, RI_QP_STATE_READY_TO_SEND);
	require_state(&b, RI_QP_STATE_READY_TO_SEND);
	close_pair();
}

/* Normal close, and both are as new (RI-26, RI-81) */
static void part(void)
{
	set_state(&a, RI_QP_STATE_CLOSING, RI_RET_SUCCESS);
	require_state(&a, RI_QP_STATE_IDLE);
	require_state(&b, RI_QP_STATE_IDLE);
	close(a.fd);
	close(b.fd);
}

void conversations(void)
{
	static const uint32_t sizes[] = { 0, 1, 100, 1460, 8192, 65536 };
	unsigned int i, rounds = env_uint("RNICPI_ROUNDS", 12), crc = env_uint("RNICPI_CRC", 1);

	open_end(&a);
	open_end(&b);
	for (i = 0; i < rounds; i++) {
		converse(i < ARRAY_SIZE(sizes) ? sizes[i] : i * 1021 % 65537, i & 1, crc || i & 2);
		part();
	}
	a.fd = b.fd = -1;
	close_pair();
}

/* QPs in Idle get new streams while a completion of the last stream is not polled yet. */
void again(void)
{
	open_end(&a);
	open_end(&b);
	converse(0, false, true);
	post_recv(&b, 7, 4096, 100);
	post_send(&a, 8, 0, 100);
	take(&a, a.scq, 8, RI_WC_TYPE_SEND, RI_WC_STATUS_SUCCESS);
	part();
	connect_sockets();
	turn(false, true);
	take(&b, b.rcq, 7, RI_WC_TYPE_DATA_RECEIVED, RI_WC_STATUS_SUCCESS);
	one_message(&a, &b, 1);
	close_pair();
}

/* The initiator is in RTS and sends while the responder is still to turn */
void early(void)
{
	struct rix_mpa_frame mpa = { .crc = 1 }, got;
	struct ri_linux_llp llp = { .size = sizeof(llp) };
	ri_qp_attr_t attr = { .state = RI_QP_STATE_READY_TO_SEND };
	ri_iwarp_qp_attr_t *iw = &attr.qp_xport.qp_iwarp;
	uint32_t mask = RI_QP_ATTR_NEXT_STATE | RI_QP_ATTR_LLP_STREAM_HANDLE | RI_QP_ATTR_MPA_ATTR;
	char msg[RIX_MPA_MAX_FRAME];
	size_t len;

	open_end(&a);
	open_end(&b);
	connect_sockets();
	len = rix_mpa_build(msg, 0, &mpa);
	require(write(a.fd, msg, len) == (ssize_t)len, "the Request");
	expect(RI_RET_SUCCESS, rix_mpa_recv(b.fd, 0, &got, &err));
	len = rix_mpa_build(msg, 1, &mpa);
	require(write(b.fd, msg, len) == (ssize_t)len, "the Reply, streamed as well");
	expect(RI_RET_SUCCESS, rix_mpa_recv(a.fd, 1, &got, &err));
	iw->llp_stream_handle = &llp;
	iw->mpa_attrs = (ri_mpa_attr_t){ 0, 0, 1, 1 };
	llp.fd = a.fd;
	expect(RI_RET_SUCCESS, ri_qp_modify(a.rnic, a.qp, (ri_qp_attr_mask_t)mask, &attr, &err));
	memset(a.buf, 3, 1000);
	post_send(&a, 1, 0, 1000);
	take(&a, a.scq, 1, RI_WC_TYPE_SEND, RI_WC_STATUS_SUCCESS);
	usleep(50000);
	post_recv(&b, 2, 4096, 1000);
	llp.fd = b.fd;
	expect(RI_RET_SUCCESS, ri_qp_modify(b.rnic, b.qp, (ri_qp_attr_mask_t)mask, &attr, &err));
	take(&b, b.rcq, 2, RI_WC_TYPE_DATA_RECEIVED, RI_WC_STATUS_SUCCESS);
	require(b.buf[4096] == 3 && b.buf[5095] == 3, "data");
	one_message(&b, &a, 3);
	close_pair();
}

static void refuse_fd(int fd, const char *what)
{
	struct ri_linux_llp llp = { .size = sizeof(llp), .fd = fd };
	ri_qp_attr_t attr = { .state = RI_QP_STATE_READY_TO_SEND };
	uint32_t mask = RI_QP_ATTR_NEXT_STATE | RI_QP_ATTR_LLP_STREAM_HANDLE | RI_QP_ATTR_MPA_ATTR;
	ri_api_return_t ret;

	attr.qp_xport.qp_iwarp.llp_stream_handle = &llp;
	attr.qp_xport.qp_iwarp.mpa_attrs = (ri_mpa_attr_t){ 0, 0, 1, 1 };
	ret = ri_qp_modify(a.rnic, a.qp, (ri_qp_attr_mask_t)mask, &attr, &err);
	require(ret == RI_RET_INVALID_LLP_HANDLE, "%s: %d (%llx)", what, ret,
		(unsigned long long)err);
	require_state(&a, RI_QP_STATE_IDLE);
}

/* A thread with a call that waits, and its result */
struct waiting {
	pthread_t thread;
	atomic_bool done;
	ri_api_return_t ret;
};

static void *turn_slowly(void *arg)
{
	struct ri_linux_llp llp = { .size = sizeof(llp), .fd = b.fd };
	ri_qp_attr_t attr = { .state = RI_QP_STATE_READY_TO_SEND };
	uint32_t mask = RI_QP_ATTR_NEXT_STATE | RI_QP_ATTR_LLP_STREAM_HANDLE | RI_QP_ATTR_MPA_ATTR |
			RI_QP_ATTR_STREAM_MSG_BUFFER;
	ri_iwarp_qp_attr_t *iw = &attr.qp_xport.qp_iwarp;
	struct rix_mpa_frame mpa = { .crc = 1 };
	struct waiting *w = arg;
	char msg[RIX_MPA_MAX_FRAME];

	iw->llp_stream_handle = &llp;
	iw->mpa_attrs = (ri_mpa_attr_t){ 0, 0, 1, 1 };
	iw->stream_msg_buf = msg;
	iw->stream_msg_buf_length = rix_mpa_build(msg, 1, &mpa);
	w->ret = ri_qp_modify(b.rnic, b.qp, (ri_qp_attr_mask_t)mask, &attr, NULL);
	w->done = true;
	return NULL;
}

static void *destroy_slowly(void *arg)
{
	struct waiting *w = arg;

	w->ret = ri_qp_destroy(b.rnic, b.qp, NULL);
	w->done = true;
	return NULL;
}

static void begin_waiting(struct waiting *w, void *(*run)(void *))
{
	require(!pthread_create(&w->thread, NULL, run, w), "a thread");
	usleep(200000);
	require(!w->done, "it does not wait: %d", w->ret);
}

static void end_waiting(struct waiting *w)
{
	require(!pthread_join(w->thread, NULL) && w->ret == RI_RET_SUCCESS, "%d", w->ret);
}

/* Fills the socket's send buffer */
static void say_much(int fd)
{
	static char words[65536];
	unsigned int still;

	for (still = 0; still < 10; still++) {
		while (send(fd, words, sizeof(words), MSG_DONTWAIT) > 0)
			still = 0;
		while (send(fd, words, 1, MSG_DONTWAIT) > 0)
			still = 0;
		usleep(50000);
	}
}

static void hear_until(struct waiting *w, int fd)
{
	static char words[65536];

	while (!w->done)
		if (recv(fd, words, sizeof(words), MSG_DONTWAIT) <= 0)
			usleep(1000);
}

/* A thread waits for the peer to read the Reply; others create, query and fork meanwhile */
void stream_slow(void)
{
	struct waiting turning = { 0 }, ending = { 0 };
	ri_qp_attr_t attr;
	ri_pd_handle_t pd;
	uint64_t begin;
	pid_t child;
	int status;

	open_end(&a);
	open_end(&b);
	connect_sockets();
	say_much(b.fd);
	begin_waiting(&turning, turn_slowly);
	begin = now_ms();
	expect(RI_RET_SUCCESS, ri_pd_alloc(b.rnic, &pd, NULL, NULL, &err));
	expect(RI_RET_SUCCESS, ri_pd_dealloc(b.rnic, pd, &err));
	expect(RI_RET_SUCCESS, ri_qp_query(b.rnic, b.qp, &attr, &err));
	child = fork();
	if (!child)
		_exit(ri_pd_dealloc(b.rnic, b.pd, NULL) != RI_RET_RNIC_INVALID_HANDLE);
	require(child > 0 && waitpid(child, &status, 0) == child && !status, "status %x", status);
	require(now_ms() - begin < 1000 && !turning.done, "others wait %u ms",
		(unsigned int)(now_ms() - begin));
	/* only the destroy of this QP waits */
	begin_waiting(&ending, destroy_slowly);
	expect(RI_RET_SUCCESS, ri_pd_alloc(b.rnic, &pd, NULL, NULL, &err));
	expect(RI_RET_SUCCESS, ri_pd_dealloc(b.rnic, pd, &err));
	require(!turning.done && !ending.done, "they wait no more");
	hear_until(&turning, a.fd);
	end_waiting(&turning);
	end_waiting(&ending);
	attr = qp_attr_of(&b);
	expect(RI_RET_SUCCESS, ri_qp_create(b.rnic, &attr, &b.qp, NULL, &b, &err));
	close_pair();
}

static void *query_often(void *arg)
{
	struct waiting *w = arg;
	ri_qp_attr_t attr;

	while (!w->done && w->ret == RI_RET_SUCCESS) {
		w->ret = ri_qp_query(a.rnic, a.qp, &attr, NULL);
		usleep(200);	/* others get the lock, too */
	}
	return NULL;
}

void queried(void)
{
	struct waiting asking[2] = { { 0 } };
	unsigned int i;

	open_end(&a);
	open_end(&b);
	for (i = 0; i < ARRAY_SIZE(asking); i++)
		require(!pthread_create(&asking[i].thread, NULL, query_often, &asking[i]),
			"a thread");
	for (i = 0; i < 5; i++) {
		converse(0, false, true);
		require_state(&a, RI_QP_STATE_READY_TO_SEND);
		part();
	}
	for (i = 0; i < ARRAY_SIZE(asking); i++) {
		asking[i].done = true;
		end_waiting(&asking[i]);
	}
	a.fd = b.fd = -1;
	close_pair();
}

/* A TCP socket that is connected to itself */
static int loop_at(struct in_addr at)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_addr = at };
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t len = sizeof(addr);

	require(!bind(fd, (struct sockaddr *)&addr, len) &&
		!getsockname(fd, (struct sockaddr *)&addr, &len) &&
		!connect(fd, (struct sockaddr *)&addr, len), "connect: %s", strerror(errno));
	return fd;
}

void stream_bad(void)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	int udp = socket(AF_INET, SOCK_DGRAM, 0), tcp = socket(AF_INET, SOCK_STREAM, 0);
	int file = open("/dev/null", O_RDWR), ends[2], urgent;
	char c = 0;

	open_end(&a);
	open_end(&b);
	require(udp >= 0 && tcp >= 0 && file >= 0 && !socketpair(AF_UNIX, SOCK_STREAM, 0, ends),
		"descriptors");
	refuse_fd(-1, "none");
	refuse_fd(9999, "a descriptor that is not open");
	refuse_fd(file, "a file");
	refuse_fd(udp, "a UDP socket");
	refuse_fd(ends[0], "a Unix socket");
	refuse_fd(tcp, "a socket that is not connected");
	require(inet_aton(test_addr, &addr.sin_addr), "%s", test_addr);
	require(!bind(tcp, (struct sockaddr *)&addr, sizeof(addr)) && !listen(tcp, 1), "listen");
	refuse_fd(tcp, "a listener");
	refuse_fd(loop_at((struct in_addr){ htonl(INADDR_LOOPBACK) }), "another interface's address");
	urgent = loop_at(addr.sin_addr);
	require(send(urgent, "x", 1, MSG_OOB) == 1, "send");
	refuse_fd(urgent, "urgent data");
	require(write(ends[0], "x", 1) == 1 && read(ends[1], &c, 1) == 1 && c == 'x', "as before");
	/* a refused call leaves the QP unchanged */
	converse(5, false, true);
	close_pair();
}

void states(void)
{
	open_pair();
	set_state(&a, RI_QP_STATE_IDLE, RI_RET_QP_INVALID_STATE);
	set_state(&a, RI_QP_STATE_INITIALIZED, RI_RET_QP_INVALID_STATE);
	set_state(&a, RI_QP_STATE_READY_TO_SEND, RI_RET_SUCCESS);
	post_recv(&a, 1, 0, 100);
	post_recv(&a, 2, 0, 100);
	set_state(&a, RI_QP_STATE_ERROR, RI_RET_SUCCESS);
	require_state(&a, RI_QP_STATE_ERROR);
	take(&a, a.rcq, 1, RI_WC_TYPE_DATA_RECEIVED, RI_WC_STATUS_WR_FLUSHED_ERROR);
	take(&a, a.rcq, 2, RI_WC_TYPE_DATA_RECEIVED, RI_WC_STATUS_WR_FLUSHED_ERROR);
	require_state(&b, RI_QP_STATE_ERROR);
	set_state(&a, RI_QP_STATE_READY_TO_SEND, RI_RET_QP_INVALID_STATE);
	set_state(&a, RI_QP_STATE_CLOSING, RI_RET_QP_INVALID_STATE);
	make_idle(&a);
	make_idle(&b);
	require_state(&a, RI_QP_STATE_IDLE);
	close(a.fd);
	close(b.fd);
	converse(1, false, true);
	close_pair();
}

/* The Terminate of a Write to an invalid STag (TER-1): its code, and the segment's header */
void terminated(void)
{
	ri_data_seg_t seg;
	ri_qp_attr_t attr;
	ri_iwarp_qp_attr_t *iw = &attr.qp_xport.qp_iwarp;

	open_pair();
	seg = seg_of(&a, 0, 64);
	expect(RI_RET_SUCCESS, ri_qp_query(a.rnic, a.qp, &attr, &err));
	require(!iw->terminate_msg_length, "none in RTS");
	expect(RI_RET_SUCCESS, ri_qp_post_rdma_write(a.rnic, a.qp, RI_WR_TYPE_RDMA_WRITE,
						     (ri_wr_flags_t)0, 1, &seg, 0,
						     b.rtag ^ 0x100, 1, 0, &err));
	require_state(&b, RI_QP_STATE_ERROR);
	expect(RI_RET_SUCCESS, ri_qp_query(b.rnic, b.qp, &attr, &err));
	require(iw->is_terminate_local && iw->terminate_msg_length == 4 + 2 + 14, "%u bytes",
		iw->terminate_msg_length);
	require(iw->terminate_buffer[0] == 0x11 && !iw->terminate_buffer[1] &&
		(unsigned char)iw->terminate_buffer[2] == 0xc0, "DDP, tagged, invalid STag");
	require((unsigned char)iw->terminate_buffer[6] == 0xc1, "the header of the segment");
	require_state(&a, RI_QP_STATE_ERROR);
	expect(RI_RET_SUCCESS, ri_qp_query(a.rnic, a.qp, &attr, &err));
	require(!iw->is_terminate_local && iw->terminate_msg_length == 4 + 2 + 14 &&
		iw->terminate_buffer[0] == 0x11, "what the peer has sent");
	close_pair();
	/* that of the program: a local catastrophic error of the RDMAP layer (RFC 5040 4.8) */
	open_pair();
	set_state(&a, RI_QP_STATE_TERMINATE, RI_RET_SUCCESS);
	require_state(&b, RI_QP_STATE_ERROR);
	expect(RI_RET_SUCCESS, ri_qp_query(b.rnic, b.qp, &attr, &err));
	require(!iw->is_terminate_local && iw->terminate_msg_length >= 4 &&
		!iw->terminate_buffer[0], "%#x", iw->terminate_buffer[0]);
	close_pair();
}

/* L2687-99, L2756-61: with WRs outstanding, to fewer and to more than before */
void resized(void)
{
	const ri_qp_attr_mask_t both = (ri_qp_attr_mask_t)(RI_QP_ATTR_SQ_SIZE | RI_QP_ATTR_RQ_SIZE);
	ri_qp_attr_t attr = { .sq_size = 5, .rq_size = 2 }, now;

	open_pair();
	for (ri_wr_id_t i = 0; i < 3; i++)
		post_recv(&b, i, 100 * i, 100);
	expect(RI_RET_QP_CANNOT_SHRINK, ri_qp_modify(b.rnic, b.qp, both, &attr, &err));
	attr.rq_size = 3;
	expect(RI_RET_SUCCESS, ri_qp_modify(b.rnic, b.qp, both, &attr, &err));
	require(attr.sq_size == 8 && attr.rq_size == 4, "%u %u", attr.sq_size, attr.rq_size);
	expect(RI_RET_SUCCESS, ri_qp_query(b.rnic, b.qp, &now, &err));
	require(now.sq_size == 8 && now.rq_size == 4, "%u %u", now.sq_size, now.rq_size);
	attr.rq_size = 20;
	expect(RI_RET_SUCCESS, ri_qp_modify(b.rnic, b.qp, RI_QP_ATTR_RQ_SIZE, &attr, &err));
	require(attr.rq_size == 32, "%u", attr.rq_size);
	for (ri_wr_id_t i = 3; i < 20; i++)
		post_recv(&b, i, 0, 100);
	/* each completion has the WR that it belongs to, also those from before */
	for (ri_wr_id_t i = 0; i < 10; i++) {
		post_send(&a, 1000 + i, 0, 10);
		take(&a, a.scq, 1000 + i, RI_WC_TYPE_SEND, RI_WC_STATUS_SUCCESS);
		take(&b, b.rcq, i, RI_WC_TYPE_DATA_RECEIVED, RI_WC_STATUS_SUCCESS);
	}
	close_pair();
}

void destroyed(void)
{
	ri_qp_attr_t attr;
	uint_t num = 1;
	ri_wc_t wc;

	open_pair();
	post_recv(&b, 1, 0, 100);
	post_recv(&b, 2, 0, 100);
	post_send(&a, 3, 0, 10);
	take(&a, a.scq, 3, RI_WC_TYPE_SEND, RI_WC_STATUS_SUCCESS);
	usleep(50000);
	expect(RI_RET_SUCCESS, ri_qp_destroy(b.rnic, b.qp, &err));
	expect(RI_RET_CQ_EMPTY, ri_cq_poll(b.rnic, b.rcq, &wc, &num, &err));
	expect(RI_RET_QP_INVALID_HANDLE, ri_qp_destroy(b.rnic, b.qp, &err));
	expect(RI_RET_QP_INVALID_HANDLE, ri_qp_query(b.rnic, b.qp, &attr, &err));
	expect(RI_RET_INVALID_PARAMETER, ri_qp_query(a.rnic, a.qp, NULL, &err));
	expect(RI_RET_QP_INVALID_HANDLE, ri_qp_modify(b.rnic, b.qp, RI_QP_ATTR_NEXT_STATE, &attr,
						      &err));
	require(!rix_to_ibv_qp(b.qp) && rix_to_ibv_qp(a.qp), "in verbs");
	attr = qp_attr_of(&b);
	expect(RI_RET_SUCCESS, ri_qp_create(b.rnic, &attr, &b.qp, NULL, &b, &err));
	close_pair();
}

/* @after: what the QP has then */
static void set_mpa(ri_mpa_attr_t mpa, ri_api_return_t want, ri_mpa_attr_t after)
{
	ri_qp_attr_t attr = { 0 };
	const ri_mpa_attr_t *is = &attr.qp_xport.qp_iwarp.mpa_attrs;

	attr.qp_xport.qp_iwarp.mpa_attrs = mpa;
	expect(want, ri_qp_modify(a.rnic, a.qp, RI_QP_ATTR_MPA_ATTR, &attr, &err));
	expect(RI_RET_SUCCESS, ri_qp_query(a.rnic, a.qp, &attr, &err));
	require(is->recv_marker_enabled == after.recv_marker_enabled &&
		is->xmit_marker_enabled == after.xmit_marker_enabled &&
		is->crc_enabled == after.crc_enabled &&
		is->ddp_rdmap_version == after.ddp_rdmap_version, "markers %d, %d, CRC %d, version %d",
		is->recv_marker_enabled, is->xmit_marker_enabled, is->crc_enabled,
		is->ddp_rdmap_version);
}

void llp(void)
{
	struct ri_linux_llp llp = { .size = sizeof(llp) };
	ri_qp_attr_t attr = { .state = RI_QP_STATE_READY_TO_SEND };
	ri_iwarp_qp_attr_t *iw = &attr.qp_xport.qp_iwarp;

	open_end(&a);
	open_end(&b);
	expect(RI_RET_INVALID_LLP_HANDLE, ri_qp_modify(a.rnic, a.qp, RI_QP_ATTR_NEXT_STATE, &attr,
						       &err));
	expect(RI_RET_INVALID_LLP_HANDLE, ri_qp_modify(a.rnic, a.qp, RI_QP_ATTR_LLP_STREAM_HANDLE,
						       &attr, &err));
	expect(RI_RET_LLP_BAD_STATE, ri_qp_modify(a.rnic, a.qp, (ri_qp_attr_mask_t)(
						  RI_QP_ATTR_STREAM_MSG_BUFFER),
						  &(ri_qp_attr_t){ .qp_xport.qp_iwarp = {
							.stream_msg_buf = (char *)"x",
							.stream_msg_buf_length = 1 } }, &err));
	iw->mpa_attrs.ddp_rdmap_version = 2;
	expect(RI_RET_INVALID_DDP_RDMAP_VERSION, ri_qp_modify(a.rnic, a.qp, RI_QP_ATTR_MPA_ATTR,
							      &attr, &err));
	attr.sq_size = 1 << 20;
	expect(RI_RET_RNIC_WR_LIMIT_EXCEEDED, ri_qp_modify(a.rnic, a.qp, RI_QP_ATTR_SQ_SIZE, &attr,
							   &err));
	/* bits that mean nothing here (L2738) */
	expect(RI_RET_INVALID_PARAMETER, ri_qp_modify(a.rnic, a.qp, RI_QP_ATTR_MIN_RNR_TIMER, &attr,
						      &err));
	expect(RI_RET_INVALID_PARAMETER, ri_qp_modify(a.rnic, a.qp, (ri_qp_attr_mask_t)(1 << 30),
						      &attr, &err));
	attr.max_rdma_read_incoming = 1 << 20;
	expect(RI_RET_RNIC_IRD_ORD_EXCEEDED, ri_qp_modify(a.rnic, a.qp,
							  RI_QP_ATTR_MAX_RDMA_READ_INCOMING, &attr,
							  &err));
	expect(RI_RET_INVALID_PARAMETER, ri_qp_modify(a.rnic, a.qp, RI_QP_ATTR_NEXT_STATE, NULL,
						      &err));
	/* the stream and its attributes first, the state after them */
	connect_sockets();
	llp.fd = a.fd;
	iw->llp_stream_handle = &llp;
	/* all four fields count, and none of them stays from an earlier call (L2727) */
	set_mpa((ri_mpa_attr_t){ 1, 1, 1, 1 }, RI_RET_SUCCESS, (ri_mpa_attr_t){ 1, 1, 1, 1 });
	set_mpa((ri_mpa_attr_t){ 0, 1, 1, 1 }, RI_RET_SUCCESS, (ri_mpa_attr_t){ 0, 1, 1, 1 });
	set_mpa((ri_mpa_attr_t){ 1, 0, 1, 1 }, RI_RET_SUCCESS, (ri_mpa_attr_t){ 1, 0, 1, 1 });
	set_mpa((ri_mpa_attr_t){ 1, 1, 1, 0 }, RI_RET_SUCCESS, (ri_mpa_attr_t){ 1, 1, 1, 0 });
	set_mpa((ri_mpa_attr_t){ 1, 1, 0, 1 }, RI_RET_MPA_ATTR_UNSUPPORTED,
		(ri_mpa_attr_t){ 1, 1, 1, 0 });
	set_mpa((ri_mpa_attr_t){ 0, 0, 1, 2 }, RI_RET_INVALID_DDP_RDMAP_VERSION,
		(ri_mpa_attr_t){ 1, 1, 1, 0 });
	iw->mpa_attrs = (ri_mpa_attr_t){ 0, 0, 1, 1 };
	expect(RI_RET_SUCCESS, ri_qp_modify(a.rnic, a.qp, (ri_qp_attr_mask_t)(
					    RI_QP_ATTR_LLP_STREAM_HANDLE | RI_QP_ATTR_MPA_ATTR),
					    &attr, &err));
	expect(RI_RET_SUCCESS, ri_qp_query(a.rnic, a.qp, &attr, &err));
	require(attr.state == RI_QP_STATE_IDLE && iw->llp_stream_handle &&
		iw->llp_stream_handle->fd == a.fd && iw->mpa_attrs.crc_enabled, "as it was set");
	attr.state = RI_QP_STATE_READY_TO_SEND;
	expect(RI_RET_SUCCESS, ri_qp_modify(a.rnic, a.qp, RI_QP_ATTR_NEXT_STATE, &attr, &err));
	require_state(&a, RI_QP_STATE_READY_TO_SEND);
	expect(RI_RET_LLP_BAD_STATE, ri_qp_modify(a.rnic, a.qp, RI_QP_ATTR_MPA_ATTR, &attr, &err));
	expect(RI_RET_QP_ATTRIBUTE_CANT_CHANGE, ri_qp_modify(a.rnic, a.qp,
							     RI_QP_ATTR_MAX_RDMA_READ_OUTGOING,
							     &attr, &err));
	close_pair();
}

static void set_stream(int fd, ri_api_return_t want)
{
	struct ri_linux_llp llp = { .size = sizeof(llp), .fd = fd };
	ri_qp_attr_t attr = { .qp_xport.qp_iwarp.llp_stream_handle = &llp };

	expect(want, ri_qp_modify(a.rnic, a.qp, RI_QP_ATTR_LLP_STREAM_HANDLE, &attr, &err));
}

/* A handle that is set in a call of its own is looked at, and is of that socket (L2749) */
void llp_kept(void)
{
	int file = open("/dev/null", O_RDWR), tcp = socket(AF_INET, SOCK_STREAM, 0), first, peer;
	ri_qp_attr_t attr = { .state = RI_QP_STATE_READY_TO_SEND };

	open_end(&a);
	open_end(&b);
	set_stream(-1, RI_RET_INVALID_LLP_HANDLE);
	set_stream(file, RI_RET_INVALID_LLP_HANDLE);
	set_stream(tcp, RI_RET_INVALID_LLP_HANDLE);
	connect_sockets();
	first = a.fd;
	peer = b.fd;
	set_stream(first, RI_RET_SUCCESS);
	/* another connection gets the number */
	connect_sockets();
	require(dup2(a.fd, first) == first, "dup2");
	set_state(&a, RI_QP_STATE_READY_TO_SEND, RI_RET_INVALID_LLP_HANDLE);
	require_state(&a, RI_QP_STATE_IDLE);
	/* until it is set as well; there is a last message, or the QP is as it was (L6108) */
	set_stream(first, RI_RET_SUCCESS);
	attr.qp_xport.qp_iwarp.stream_msg_buf = (char *)8;
	attr.qp_xport.qp_iwarp.stream_msg_buf_length = 20;
	expect(RI_RET_INVALID_PARAMETER, ri_qp_modify(a.rnic, a.qp, (ri_qp_attr_mask_t)(
						      RI_QP_ATTR_NEXT_STATE |
						      RI_QP_ATTR_STREAM_MSG_BUFFER), &attr, &err));
	require_state(&a, RI_QP_STATE_IDLE);
	set_state(&a, RI_QP_STATE_READY_TO_SEND, RI_RET_SUCCESS);
	close(first);
	close(peer);
	/* after a normal close there is none */
	set_state(&a, RI_QP_STATE_CLOSING, RI_RET_SUCCESS);
	close(b.fd);
	b.fd = -1;
	require_state(&a, RI_QP_STATE_IDLE);
	set_state(&a, RI_QP_STATE_READY_TO_SEND, RI_RET_INVALID_LLP_HANDLE);
	close(file);
	close(tcp);
	close_pair();
}

static ri_api_return_t try_mpa(ri_mpa_attr_t mpa)
{
	ri_qp_attr_t attr = qp_attr_of(&a);
	ri_api_return_t ret;
	ri_qp_handle_t qp;

	attr.qp_xport.qp_iwarp.mpa_attrs = mpa;
	ret = ri_qp_create(a.rnic, &attr, &qp, NULL, NULL, &err);
	if (!ret)
		expect(RI_RET_SUCCESS, ri_qp_destroy(a.rnic, qp, &err));
	return ret;
}

/* The table of L6108; sizes are at least those that were asked for, with an SRQ, too (L2554) */
void created(void)
{
	ri_srq_attr_t srq = { .max_wrs = 4, .max_sgl = 1 };
	ri_qp_attr_t attr, got;
	ri_iwarp_qp_attr_t *iw = &attr.qp_xport.qp_iwarp;
	ri_srq_handle_t shared;

	open_end(&a);
	srq.pd = a.pd;
	expect(RI_RET_SUCCESS, ri_srq_create(a.rnic, &srq, &shared, NULL, NULL, &err));
	attr = qp_attr_of(&a);
	attr.srq_valid = 1;
	attr.srq.srq_handle = shared;
	attr.rq_size = 1000;
	attr.rq_max_sges = 3;
	/* markers are not valid in create, and ignored; CRC and version are */
	iw->mpa_attrs = (ri_mpa_attr_t){ 1, 1, 1, 1 };
	renew_qp(&a, &attr);
	require(attr.rq_size >= 1000 && attr.rq_max_sges >= 3, "%u, %u", attr.rq_size,
		attr.rq_max_sges);
	expect(RI_RET_SUCCESS, ri_qp_query(a.rnic, a.qp, &got, &err));
	iw = &got.qp_xport.qp_iwarp;
	require(got.rq_size >= 1000 && got.rq_max_sges >= 3, "%u, %u", got.rq_size,
		got.rq_max_sges);
	require(!iw->mpa_attrs.recv_marker_enabled && !iw->mpa_attrs.xmit_marker_enabled &&
		iw->mpa_attrs.crc_enabled && iw->mpa_attrs.ddp_rdmap_version == 1, "MPA");
	/* ... and they stay so when the SQ is resized */
	got.sq_size *= 4;
	expect(RI_RET_SUCCESS, ri_qp_modify(a.rnic, a.qp, RI_QP_ATTR_SQ_SIZE, &got, &err));
	expect(RI_RET_SUCCESS, ri_qp_query(a.rnic, a.qp, &got, &err));
	require(got.sq_size >= 4 && got.rq_size >= 1000, "%u, %u", got.sq_size, got.rq_size);
	expect(RI_RET_MPA_ATTR_UNSUPPORTED, try_mpa((ri_mpa_attr_t){ 0, 0, 0, 1 }));
	expect(RI_RET_INVALID_DDP_RDMAP_VERSION, try_mpa((ri_mpa_attr_t){ 0, 0, 1, 7 }));
	expect(RI_RET_SUCCESS, try_mpa((ri_mpa_attr_t){ 0, 0, 0, 0 }));
	/* the same of a call that does not turn (L2769) */
	got = (ri_qp_attr_t){ .qp_xport.qp_iwarp.mpa_attrs = { 0, 0, 0, 1 } };
	expect(RI_RET_MPA_ATTR_UNSUPPORTED, ri_qp_modify(a.rnic, a.qp, RI_QP_ATTR_MPA_ATTR, &got,
							 &err));
	attr = qp_attr_of(&a);
	renew_qp(&a, &attr);
	expect(RI_RET_SUCCESS, ri_srq_destroy(a.rnic, shared, &err));
	close_end(&a);
}

/* To RTS without a negotiation; @mpa: NULL: the attributes are those of creation, all zero */
static void enter(struct end *e, const ri_mpa_attr_t *mpa)
{
	struct ri_linux_llp llp = { .size = sizeof(llp), .fd = e->fd };
	ri_qp_attr_t attr = { .state = RI_QP_STATE_READY_TO_SEND };
	uint32_t mask = RI_QP_ATTR_NEXT_STATE | RI_QP_ATTR_LLP_STREAM_HANDLE;

	attr.qp_xport.qp_iwarp.llp_stream_handle = &llp;
	if (mpa) {
		mask |= RI_QP_ATTR_MPA_ATTR;
		attr.qp_xport.qp_iwarp.mpa_attrs = *mpa;
	}
	expect(RI_RET_SUCCESS, ri_qp_modify(e->rnic, e->qp, (ri_qp_attr_mask_t)mask, &attr, &err));
}

/* 1.2.4: the version is each QP's own. Zero is the RDMA Consortium's (L6022) */
void rdmac(void)
{
	const ri_mpa_attr_t ietf = { 1, 1, 1, 1 };
	ri_qp_attr_t attr;

	open_end(&a);
	open_end(&b);
	connect_sockets();
	enter(&a, NULL);
	enter(&b, NULL);
	one_message(&a, &b, 1);
	one_message(&b, &a, 2);
	expect(RI_RET_SUCCESS, ri_qp_query(a.rnic, a.qp, &attr, &err));
	require(!attr.qp_xport.qp_iwarp.mpa_attrs.ddp_rdmap_version, "version 0");
	close_pair();

	open_end(&a);
	open_end(&b);
	listen_to(&b);
	connect_sockets();
	enter(&a, NULL);
	enter(&b, &ietf);
	post_send(&a, 1, 0, 10);
	await_event(&b, RI_EVENT_QP_REMOTE_OP_ERROR_DDP_VERSION, &b);
	close_pair();
}
