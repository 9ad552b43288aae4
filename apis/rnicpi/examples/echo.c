// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * echo: two programs exchange messages over TCP, and then turn their connection into RDMA.
 *
 *	echo PORT				the server, for one client
 *	echo PORT ADDRESS MESSAGE...		the client
 *
 * Before the turn the client sends the number of messages. Each message is a Send, and so is
 * its echo.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <rnicpi/rix.h>
#include <rnicpi/rnicpi.h>

#define BYTES	4096

static ri_vp_handle_t vp;
static ri_rnic_handle_t rnic;
static ri_pd_handle_t pd;
static ri_cq_handle_t cq;
static ri_qp_handle_t qp;
static ri_mr_handle_t mr;
static ri_ltag_t ltag;
static char buf[2][BYTES];		/* to send, to receive */

static void must(ri_api_return_t ret, const char *what)
{
	if (ret != RI_RET_SUCCESS) {
		fprintf(stderr, "echo: %s: %s\n", what, rix_strerror(ret));
		exit(1);
	}
}

static void must_be(int good, const char *what)
{
	if (!good) {
		perror(what);
		exit(1);
	}
}

/* The RNIC whose address the socket has, a QP that is Idle, and the buffers registered */
static void open_rnic(int fd)
{
	struct sockaddr_storage addr;
	socklen_t len = sizeof(addr);
	ri_mr_reg_attr_t mem = { .va = (uintptr_t)buf, .length = sizeof(buf),
				 .mem_attr = RI_MEM_FLAGS_LOCAL };
	ri_cq_attr_t entries = { .num_cqe = 8 };
	ri_qp_attr_t attr = { .sq_size = 2, .rq_size = 2, .sq_max_sges = 1, .rq_max_sges = 1 };

	must_be(!getsockname(fd, (struct sockaddr *)&addr, &len), "getsockname");
	must(rix_rnic_by_local_addr((struct sockaddr *)&addr, &vp, NULL), "rix_rnic_by_local_addr");
	must(ri_rnic_get_hdl(vp, RI_CONSUMER_LOCATION_USER, &rnic, NULL, NULL, NULL),
	     "ri_rnic_get_hdl");
	must(ri_pd_alloc(rnic, &pd, NULL, NULL, NULL), "ri_pd_alloc");
	must(ri_cq_create(rnic, &entries, &cq, NULL, NULL, NULL), "ri_cq_create");
	mem.pd = pd;
	must(ri_mr_reg(rnic, &mem, &mr, &ltag, NULL, NULL, NULL, NULL), "ri_mr_reg");
	attr.scq.scq_handle = cq;
	attr.rcq.rcq_handle = cq;
	attr.pd = pd;
	must(ri_qp_create(rnic, &attr, &qp, NULL, NULL, NULL), "ri_qp_create");
}

static void close_rnic(void)
{
	must(ri_qp_destroy(rnic, qp, NULL), "ri_qp_destroy");
	must(ri_mr_dereg(rnic, mr, NULL), "ri_mr_dereg");
	must(ri_cq_destroy(rnic, cq, NULL), "ri_cq_destroy");
	must(ri_pd_dealloc(rnic, pd, NULL), "ri_pd_dealloc");
	must(ri_rnic_free_hdl(vp, rnic, NULL), "ri_rnic_free_hdl");
}

static ri_data_seg_t segment(int which, uint32_t len)
{
	ri_data_seg_t seg = { .len = len };

	seg.addr.vaddr = (uintptr_t)buf[which];
	seg.tag.ltag = ltag;
	return seg;
}

static void post_receive(void)
{
	ri_data_seg_t seg = segment(1, BYTES);

	must(ri_qp_post_recv(rnic, qp, (ri_wr_flags_t)0, 1, &seg, 1, NULL), "ri_qp_post_recv");
}

static void send_bytes(uint32_t len)
{
	ri_data_seg_t seg = segment(0, len);

	must(ri_qp_post_send(rnic, qp, RI_WR_TYPE_SEND, RI_WR_SIGNALED_FLAG, 2, &seg, 0, 1, 0, NULL),
	     "ri_qp_post_send");
}

/* Waits for a completion of this kind, and drops others */
static uint32_t await(ri_wc_type_t type)
{
	ri_api_return_t ret;
	ri_wc_t wc;
	uint_t one;

	do {
		one = 1;
		ret = ri_cq_poll(rnic, cq, &wc, &one, NULL);
		if (ret != RI_RET_CQ_EMPTY)
			must(ret, "ri_cq_poll");
		if (one && wc.rc_wc.op_status) {
			fprintf(stderr, "echo: completion with status %d\n", wc.rc_wc.op_status);
			exit(1);
		}
	} while (!one || wc.rc_wc.op_type != type);
	return wc.rc_wc.bytes_transferred;
}

/*
 * The client sends its Request through the socket. The server's Reply is the last message in
 * streaming mode, and FPDUs follow it.
 */
static void turn(int fd, int server)
{
	struct ri_linux_llp llp = { .size = sizeof(llp), .fd = fd };
	ri_qp_attr_t attr = { .state = RI_QP_STATE_READY_TO_SEND };
	ri_iwarp_qp_attr_t *iwarp = &attr.qp_xport.qp_iwarp;
	uint32_t mask = RI_QP_ATTR_NEXT_STATE | RI_QP_ATTR_LLP_STREAM_HANDLE | RI_QP_ATTR_MPA_ATTR;
	struct rix_mpa_frame mpa = { .crc = 1 };
	char frame[RIX_MPA_MAX_FRAME];
	size_t len;

	iwarp->llp_stream_handle = &llp;
	iwarp->mpa_attrs.crc_enabled = 1;
	iwarp->mpa_attrs.ddp_rdmap_version = 1;
	if (server) {
		must(rix_mpa_recv(fd, 0, &mpa, NULL), "the client's Request");
		mpa.private_len = 0;
		len = rix_mpa_build(frame, 1, &mpa);
		mask |= RI_QP_ATTR_STREAM_MSG_BUFFER;
		iwarp->stream_msg_buf = frame;
		iwarp->stream_msg_buf_length = len;
	} else {
		len = rix_mpa_build(frame, 0, &mpa);
		must_be(write(fd, frame, len) == (ssize_t)len, "write");
		must(rix_mpa_recv(fd, 1, &mpa, NULL), "the server's Reply");
	}
	must(ri_qp_modify(rnic, qp, (ri_qp_attr_mask_t)mask, &attr, NULL), "ri_qp_modify");
}

static void serve(int fd)
{
	uint32_t count, len;

	must_be(recv(fd, &count, sizeof(count), MSG_WAITALL) == sizeof(count), "recv");
	count = ntohl(count);
	post_receive();
	turn(fd, 1);
	while (count--) {
		len = await(RI_WC_TYPE_DATA_RECEIVED);
		memcpy(buf[0], buf[1], len);
		post_receive();
		send_bytes(len);
		await(RI_WC_TYPE_SEND);
	}
}

static void call(int fd, int count, char **message)
{
	uint32_t number = htonl(count), len;
	int i;

	must_be(write(fd, &number, sizeof(number)) == sizeof(number), "write");
	post_receive();
	turn(fd, 0);
	for (i = 0; i < count; i++) {
		snprintf(buf[0], BYTES, "%s", message[i]);
		send_bytes(strlen(buf[0]));
		len = await(RI_WC_TYPE_DATA_RECEIVED);
		printf("%.*s\n", (int)len, buf[1]);
		post_receive();
	}
}

int main(int argc, char **argv)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1, listener = -1;

	if (argc < 2 || argc == 3) {
		fprintf(stderr, "usage: echo PORT [ADDRESS MESSAGE...]\n");
		return 2;
	}
	addr.sin_port = htons(atoi(argv[1]));
	must_be(fd >= 0, "socket");
	if (argc == 2) {
		listener = fd;
		setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
		must_be(!bind(listener, (struct sockaddr *)&addr, sizeof(addr)) &&
			!listen(listener, 1), "listen");
		fd = accept(listener, NULL, NULL);
		must_be(fd >= 0, "accept");
		open_rnic(fd);
		serve(fd);
		close(listener);
	} else {
		must_be(inet_aton(argv[2], &addr.sin_addr), argv[2]);
		must_be(!connect(fd, (struct sockaddr *)&addr, sizeof(addr)), "connect");
		open_rnic(fd);
		call(fd, argc - 3, argv + 3);
	}
	close_rnic();
	close(fd);
	return 0;
}
