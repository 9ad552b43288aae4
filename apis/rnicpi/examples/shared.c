// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * shared: two processes see memory that a peer writes to, with a shared region.
 *
 *	shared ADDRESS TEXT	ADDRESS is one of an RNIC of this host
 *
 * The parent registers a page for local access, and a second region over the same page that
 * peers may write to. The peer is its own second QP. The child has the page mapped, but no
 * objects of RNICPI; it waits for the text and prints it.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <rnicpi/rix.h>
#include <rnicpi/rnicpi.h>

#define BYTES	4096

static ri_vp_handle_t vp;
static ri_rnic_handle_t rnic;
static ri_pd_handle_t pd;
static ri_cq_handle_t cq;

static void must(ri_api_return_t ret, const char *what)
{
	if (ret != RI_RET_SUCCESS) {
		fprintf(stderr, "shared: %s: %s\n", what, rix_strerror(ret));
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

static void open_rnic(const struct sockaddr_in *addr)
{
	ri_cq_attr_t entries = { .num_cqe = 8 };

	must(rix_rnic_by_local_addr((const struct sockaddr *)addr, &vp, NULL),
	     "rix_rnic_by_local_addr");
	must(ri_rnic_get_hdl(vp, RI_CONSUMER_LOCATION_USER, &rnic, NULL, NULL, NULL),
	     "ri_rnic_get_hdl");
	must(ri_pd_alloc(rnic, &pd, NULL, NULL, NULL), "ri_pd_alloc");
	must(ri_cq_create(rnic, &entries, &cq, NULL, NULL, NULL), "ri_cq_create");
}

static ri_qp_handle_t make_qp(void)
{
	ri_qp_attr_t attr = { .sq_size = 1, .rq_size = 1, .sq_max_sges = 1, .rq_max_sges = 1,
			      .pd = pd };
	ri_qp_handle_t qp;

	attr.enable_rdma_write = 1;
	attr.scq.scq_handle = cq;
	attr.rcq.rcq_handle = cq;
	must(ri_qp_create(rnic, &attr, &qp, NULL, NULL, NULL), "ri_qp_create");
	return qp;
}

/* To RTS, with a last message or without */
static void turn(ri_qp_handle_t qp, int fd, char *last, size_t len)
{
	struct ri_linux_llp llp = { .size = sizeof(llp), .fd = fd };
	ri_qp_attr_t attr = { .state = RI_QP_STATE_READY_TO_SEND };
	ri_iwarp_qp_attr_t *iwarp = &attr.qp_xport.qp_iwarp;
	uint32_t mask = RI_QP_ATTR_NEXT_STATE | RI_QP_ATTR_LLP_STREAM_HANDLE | RI_QP_ATTR_MPA_ATTR;

	iwarp->llp_stream_handle = &llp;
	iwarp->mpa_attrs.crc_enabled = 1;
	iwarp->mpa_attrs.ddp_rdmap_version = 1;
	if (last) {
		mask |= RI_QP_ATTR_STREAM_MSG_BUFFER;
		iwarp->stream_msg_buf = last;
		iwarp->stream_msg_buf_length = len;
	}
	must(ri_qp_modify(rnic, qp, (ri_qp_attr_mask_t)mask, &attr, NULL), "ri_qp_modify");
	close(fd);
}

/* Both ends of a connection over TCP, and then of RDMA */
static void connect_qps(struct sockaddr_in addr, ri_qp_handle_t from, ri_qp_handle_t to)
{
	int listener = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
	struct rix_mpa_frame mpa = { .crc = 1 };
	socklen_t size = sizeof(addr);
	char frame[RIX_MPA_MAX_FRAME];
	size_t len;
	int server;

	must_be(!bind(listener, (struct sockaddr *)&addr, sizeof(addr)) && !listen(listener, 1),
		"listen");
	must_be(!getsockname(listener, (struct sockaddr *)&addr, &size), "getsockname");
	must_be(!connect(client, (struct sockaddr *)&addr, sizeof(addr)), "connect");
	server = accept(listener, NULL, NULL);
	must_be(server >= 0, "accept");
	close(listener);

	len = rix_mpa_build(frame, 0, &mpa);
	must_be(write(client, frame, len) == (ssize_t)len, "write");
	must(rix_mpa_recv(server, 0, &mpa, NULL), "the Request");
	mpa.private_len = 0;
	len = rix_mpa_build(frame, 1, &mpa);
	turn(to, server, frame, len);
	must(rix_mpa_recv(client, 1, &mpa, NULL), "the Reply");
	turn(from, client, NULL, 0);
}

static ri_ltag_t reg(void *memory, ri_mr_handle_t *mr)
{
	ri_mr_reg_attr_t attr = { .pd = pd, .va = (uintptr_t)memory, .length = BYTES,
				  .mem_attr = RI_MEM_FLAGS_LOCAL };
	ri_ltag_t ltag;

	must(ri_mr_reg(rnic, &attr, mr, &ltag, NULL, NULL, NULL, NULL), "ri_mr_reg");
	return ltag;
}

static void write_bytes(ri_qp_handle_t qp, char *bytes, uint32_t len, ri_ltag_t ltag, uint64_t to,
			ri_rtag_t rtag)
{
	ri_data_seg_t seg = { .len = len };
	uint_t one;
	ri_wc_t wc;

	seg.addr.vaddr = (uintptr_t)bytes;
	seg.tag.ltag = ltag;
	must(ri_qp_post_rdma_write(rnic, qp, RI_WR_TYPE_RDMA_WRITE, RI_WR_SIGNALED_FLAG, 1, &seg,
				   to, rtag, 1, 0, NULL), "ri_qp_post_rdma_write");
	do {
		one = 1;
	} while (ri_cq_poll(rnic, cq, &wc, &one, NULL) == RI_RET_CQ_EMPTY);
	must_be(one && wc.rc_wc.op_status == RI_WC_STATUS_SUCCESS, "the Write");
}

/* The first byte is written after the text, and tells that it is complete */
static int print_text(const char *page)
{
	while (!__atomic_load_n(page, __ATOMIC_ACQUIRE))
		usleep(1000);
	printf("the other process has: %s\n", page + 1);
	return 0;
}

int main(int argc, char **argv)
{
	ri_mr_reg_attr_t peers = { .mem_attr = (ri_mem_attr_t)(RI_MEM_FLAGS_LOCAL |
							       RI_MEM_FLAGS_REMOTE_WRITE) };
	struct sockaddr_in addr = { .sin_family = AF_INET };
	static char text[BYTES];
	ri_mr_handle_t own, shared, source;
	ri_qp_handle_t from, to;
	ri_ltag_t ltag, unused;
	ri_rtag_t rtag;
	int status;
	char *page;

	if (argc != 3 || !inet_aton(argv[1], &addr.sin_addr)) {
		fprintf(stderr, "usage: shared ADDRESS TEXT\n");
		return 2;
	}
	page = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must_be(page != MAP_FAILED, "mmap");
	if (!fork())
		return print_text(page);

	open_rnic(&addr);
	reg(page, &own);
	peers.pd = pd;
	peers.va = (uintptr_t)page;
	must(ri_mr_reg_shared(rnic, own, &peers, &shared, &unused, &rtag, NULL, NULL, NULL),
	     "ri_mr_reg_shared");
	text[0] = 1;
	snprintf(text + 1, sizeof(text) - 1, "%s", argv[2]);
	ltag = reg(text, &source);
	from = make_qp();
	to = make_qp();
	connect_qps(addr, from, to);
	write_bytes(from, text + 1, strlen(text + 1) + 1, ltag, peers.va + 1, rtag);
	write_bytes(from, text, 1, ltag, peers.va, rtag);
	must_be(wait(&status) > 0 && !status, "the child");

	must(ri_qp_destroy(rnic, from, NULL), "ri_qp_destroy");
	must(ri_qp_destroy(rnic, to, NULL), "ri_qp_destroy");
	must(ri_mr_dereg(rnic, shared, NULL), "ri_mr_dereg");
	must(ri_mr_dereg(rnic, own, NULL), "ri_mr_dereg");
	must(ri_mr_dereg(rnic, source, NULL), "ri_mr_dereg");
	must(ri_cq_destroy(rnic, cq, NULL), "ri_cq_destroy");
	must(ri_pd_dealloc(rnic, pd, NULL), "ri_pd_dealloc");
	must(ri_rnic_free_hdl(vp, rnic, NULL), "ri_rnic_free_hdl");
	return 0;
}
