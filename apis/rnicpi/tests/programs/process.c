// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The process and the host: forks, threads, addresses. */
#include <arpa/inet.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "rnicpi.h"

static struct sockaddr_storage address(const char *text)
{
	struct sockaddr_storage addr = { 0 };
	struct sockaddr_in *v4 = (struct sockaddr_in *)&addr;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&addr;

	v4->sin_family = AF_INET;
	if (inet_pton(AF_INET, text, &v4->sin_addr) == 1)
		return addr;
	v6->sin6_family = AF_INET6;
	require(inet_pton(AF_INET6, text, &v6->sin6_addr) == 1, "%s", text);
	return addr;
}

static void by_address(ri_api_return_t want, const char *text)
{
	struct sockaddr_storage addr = address(text);
	struct sockaddr *sa = (struct sockaddr *)&addr;
	ri_vp_handle_t vp;

	expect(want, rix_rnic_by_local_addr(sa, &vp, &err));
	require(want || vp == find_vp(), "the device of %s", text);
	expect(want, rix_rnic_by_remote_addr(sa, &vp, &err));
	require(want || vp == find_vp(), "the device to %s", text);
}

/* The device of an address, its own or that of a peer that it reaches (RI-88) */
void addresses(void)
{
	struct sockaddr_storage addr = address(test_addr);
	ri_vp_handle_t vp;

	by_address(RI_RET_SUCCESS, test_addr);
	by_address(RI_RET_RNIC_NOT_OPEN, "127.0.0.1");
	((struct sockaddr_in *)&addr)->sin_addr.s_addr ^= htonl(0x3f);
	expect(RI_RET_RNIC_NOT_OPEN, rix_rnic_by_local_addr((struct sockaddr *)&addr, &vp, &err));
	expect(RI_RET_SUCCESS, rix_rnic_by_remote_addr((struct sockaddr *)&addr, &vp, &err));
	require(vp == find_vp(), "the device of the route");
	expect(RI_RET_INVALID_PARAMETER, rix_rnic_by_local_addr(NULL, &vp, &err));
	expect(RI_RET_INVALID_PARAMETER, rix_rnic_by_local_addr((struct sockaddr *)&addr, NULL,
								&err));
	expect(RI_RET_INVALID_PARAMETER, rix_rnic_by_remote_addr(NULL, &vp, &err));
	addr.ss_family = AF_UNIX;
	expect(RI_RET_INVALID_PARAMETER, rix_rnic_by_local_addr((struct sockaddr *)&addr, &vp,
								&err));
	expect(RI_RET_INVALID_PARAMETER, rix_rnic_by_remote_addr((struct sockaddr *)&addr, &vp,
								 &err));
}

void names(void)
{
	require(!strcmp(rix_strerror(RI_RET_SUCCESS), "RI_RET_SUCCESS") &&
		!strcmp(rix_strerror(RI_RET_MPA_ATTR_UNSUPPORTED), "RI_RET_MPA_ATTR_UNSUPPORTED") &&
		!strcmp(rix_strerror((ri_api_return_t)86), "?") &&
		!strcmp(rix_strerror((ri_api_return_t)-1), "?"), "names");
}

/* Runs in a child; does not return. What would change or end something of the parent's, too */
static void child(ri_vp_handle_t vp)
{
	ri_qp_attr_t attr = { .state = RI_QP_STATE_ERROR };
	ri_data_seg_t seg = seg_of(&a, 0, 10);
	ri_mr_info_t info;
	uint_t one = 1;
	ri_wc_t wc;

	expect(RI_RET_RNIC_INVALID_HANDLE, ri_qp_modify(a.rnic, a.qp, RI_QP_ATTR_NEXT_STATE, &attr,
							&err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_qp_post_recv(b.rnic, b.qp, (ri_wr_flags_t)0, 1, &seg,
							   1, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_cq_req_notification(b.rnic, b.rcq,
								  RI_CMPLT_NOTIFY_ANY, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_mr_query(a.rnic, a.mr, &info, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_cq_destroy(b.rnic, b.rcq, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_pd_dealloc(b.rnic, b.pd, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_qp_query(a.rnic, a.qp, &attr, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_qp_post_send(a.rnic, a.qp, RI_WR_TYPE_SEND,
							   (ri_wr_flags_t)0, 1, &seg, 0, 1, 0,
							   &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_cq_poll(b.rnic, b.rcq, &wc, &one, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_qp_destroy(a.rnic, a.qp, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_mr_dereg(a.rnic, a.mr, &err));
	expect(RI_RET_VP_INVALID_HANDLE, ri_rnic_free_hdl(vp, a.rnic, &err));
	require(!rix_to_ibv_qp(a.qp) && rix_cq_fd(a.scq) == -1 && rix_event_fd(a.rnic) == -1,
		"nothing of the parent's");
	_exit(0);
}

/*
 * User Mode Linux 6.1 does not honour MADV_DONTFORK, which rings have, in a child. The child's
 * own rings get the same addresses, and it writes into its parent's.
 */
static bool child_keeps_all(void)
{
	volatile char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
				   -1, 0);
	int status;
	pid_t pid;

	require(page != MAP_FAILED, "a page");
	*page = 0;
	require(!madvise((void *)page, 4096, MADV_DONTFORK), "madvise");
	pid = fork();
	require(pid >= 0, "fork");
	if (!pid) {
		signal(SIGSEGV, SIG_DFL);
		*page = 1;
		_exit(0);
	}
	require(waitpid(pid, &status, 0) == pid, "the child");
	require(*page == WIFEXITED(status), "a child that wrote, and was not seen");
	munmap((void *)page, 4096);
	return WIFEXITED(status);
}

static void await_child(pid_t pid)
{
	int status;

	require(waitpid(pid, &status, 0) == pid && !status, "the child: status %#x", status);
}

/* RI-13: the parent's objects are as they were, and end as they have to */
void forks(void)
{
	ri_vp_handle_t vp = find_vp();
	pid_t pid;

	open_pair();
	post_recv(&b, 1, 0, 100);
	pid = fork();
	require(pid >= 0, "fork");
	if (!pid)
		child(vp);
	await_child(pid);
	require_state(&a, RI_QP_STATE_READY_TO_SEND);
	post_send(&a, 2, 0, 10);
	take(&a, a.scq, 2, RI_WC_TYPE_SEND, RI_WC_STATUS_SUCCESS);
	take(&b, b.rcq, 1, RI_WC_TYPE_DATA_RECEIVED, RI_WC_STATUS_SUCCESS);
	close_pair();
}

/* ... while the parent has its own, which go on */
void forks_own(void)
{
	ri_qp_attr_t attr;
	pid_t pid;

	if (child_keeps_all())
		skip("fork() of this kernel gives a child what is MADV_DONTFORK");
	open_pair();
	pid = fork();
	require(pid >= 0, "fork");
	if (!pid) {
		open_end(&a);
		expect(RI_RET_SUCCESS, ri_qp_query(a.rnic, a.qp, &attr, &err));
		close_end(&a);
		_exit(0);
	}
	await_child(pid);
	post_recv(&b, 1, 0, 100);
	post_send(&a, 2, 0, 10);
	take(&a, a.scq, 2, RI_WC_TYPE_SEND, RI_WC_STATUS_SUCCESS);
	take(&b, b.rcq, 1, RI_WC_TYPE_DATA_RECEIVED, RI_WC_STATUS_SUCCESS);
	close_pair();
}

/* --- threads --- */

#define POSTERS		4
#define EACH		200

static unsigned int seen[POSTERS * EACH];
static unsigned int posted, received;

static bool drain(struct end *e, ri_cq_handle_t cq, ri_wc_t *wc)
{
	uint_t one = 1;

	return ri_cq_poll(e->rnic, cq, wc, &one, NULL) == RI_RET_SUCCESS;
}

/* iWARP has no flow control: a message needs a receive that is posted */
static void await_room(unsigned int ticket)
{
	uint64_t end = now_ms() + LONG_MS;

	while ((int)(ticket - __atomic_load_n(&received, __ATOMIC_ACQUIRE)) >= WRS - POSTERS)
		require(now_ms() < end && !sched_yield(), "nobody receives");
}

/* Sends its own numbers, each as a message; any thread polls completions */
static void *poster(void *arg)
{
	uint32_t first = (uintptr_t)arg * EACH, i;
	ri_data_seg_t seg;
	ri_wc_t wc;

	for (i = first; i < first + EACH; i++) {
		memcpy(a.buf + i * sizeof(i), &i, sizeof(i));
		seg = seg_of(&a, i * sizeof(i), sizeof(i));
		await_room(__atomic_fetch_add(&posted, 1, __ATOMIC_RELAXED));
		while (ri_qp_post_send(a.rnic, a.qp, RI_WR_TYPE_SEND, RI_WR_SIGNALED_FLAG, i, &seg,
				       0, 1, 0, NULL) == RI_RET_QP_CAPACITY_EXCEEDED)
			if (!drain(&a, a.scq, &wc))
				sched_yield();
	}
	return NULL;
}

static void *receiver(void *arg)
{
	uint64_t end = now_ms() + LONG_MS;
	ri_data_seg_t seg;
	uint32_t number;
	ri_wc_t wc;

	(void)arg;
	while (__atomic_load_n(&received, __ATOMIC_RELAXED) < POSTERS * EACH && now_ms() < end) {
		if (!drain(&b, b.rcq, &wc)) {
			sched_yield();
			continue;
		}
		require(!wc.rc_wc.op_status && wc.rc_wc.id < WRS, "status %d", wc.rc_wc.op_status);
		memcpy(&number, b.buf + wc.rc_wc.id * 64, sizeof(number));
		require(number < POSTERS * EACH, "number %u", number);
		__atomic_add_fetch(&seen[number], 1, __ATOMIC_RELAXED);
		seg = seg_of(&b, wc.rc_wc.id * 64, 64);
		ri_qp_post_recv(b.rnic, b.qp, (ri_wr_flags_t)0, wc.rc_wc.id, &seg, 1, NULL);
		__atomic_add_fetch(&received, 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* D-4, D-5 */
void threads(void)
{
	pthread_t thread[POSTERS + 2];
	uintptr_t i;

	open_pair();
	for (i = 0; i < WRS; i++)
		post_recv(&b, i, i * 64, 64);
	for (i = 0; i < POSTERS + 2; i++)
		require(!pthread_create(&thread[i], NULL, i < POSTERS ? poster : receiver,
					(void *)i), "thread");
	for (i = 0; i < POSTERS + 2; i++)
		pthread_join(thread[i], NULL);
	for (i = 0; i < POSTERS * EACH; i++)
		require(seen[i] == 1, "number %zu came %u times", (size_t)i, seen[i]);
	close_pair();
}

/* --- memory that is deregistered --- */

/* Writes to b, until a post or a Write fails */
static void *writer(void *arg)
{
	ri_data_seg_t seg = seg_of(&a, 0, 65536);
	ri_rtag_t rtag = *(ri_rtag_t *)arg;
	ri_api_return_t ret;
	ri_wc_t wc;

	do {
		ret = ri_qp_post_rdma_write(a.rnic, a.qp, RI_WR_TYPE_RDMA_WRITE, RI_WR_SIGNALED_FLAG,
					    1, &seg, (uintptr_t)b.buf, rtag, 1, 0, NULL);
		wc.rc_wc.op_status = RI_WC_STATUS_SUCCESS;
		while (!wc.rc_wc.op_status && drain(&a, a.scq, &wc))
			;
	} while (!wc.rc_wc.op_status && (!ret || ret == RI_RET_QP_CAPACITY_EXCEEDED));
	return NULL;
}

static void await_data(void)
{
	uint64_t end = now_ms() + LONG_MS;

	while (!*(volatile char *)b.buf)
		require(now_ms() < end && !usleep(100), "no data");
}

static void require_zeros(const char *what)
{
	size_t i;

	usleep(100000);
	for (i = 0; i < 65536; i++)
		require(!b.buf[i], "%s: byte %zu", what, i);
}

/* After a dereg under inbound Writes the memory does not change any more (RI-52) */
void dereg(void)
{
	ri_mr_reg_attr_t attr = { .length = BUF_BYTES, .mem_attr = (ri_mem_attr_t)(
				  RI_MEM_FLAGS_LOCAL | RI_MEM_FLAGS_REMOTE_WRITE) };
	ri_mr_handle_t mr;
	pthread_t thread;
	ri_ltag_t ltag;
	ri_rtag_t rtag;

	open_pair();
	listen_to(&b);
	attr.pd = b.pd;
	attr.va = (uintptr_t)b.buf;
	expect(RI_RET_SUCCESS, ri_mr_reg(b.rnic, &attr, &mr, &ltag, &rtag, NULL, NULL, &err));
	memset(a.buf, 3, 65536);
	require(!pthread_create(&thread, NULL, writer, &rtag), "thread");
	await_data();
	expect(RI_RET_SUCCESS, ri_mr_dereg(b.rnic, mr, &err));
	memset(b.buf, 0, 65536);
	require_zeros("behind dereg");
	await_event(&b, RI_EVENT_QP_PROTECTION_ERROR_STAG_QP_MISMATCH, &b);
	pthread_join(thread, NULL);
	close_pair();
}

/* A child writes, and is killed: its peer gets an event; the device keeps no objects (RI-18) */
void killed(void)
{
	int status, fd, ends[2];
	pid_t pid;

	connect_sockets();
	require(!pipe(ends), "a pipe");
	pid = fork();
	require(pid >= 0, "fork");
	if (!pid) {
		fd = a.fd;
		open_end(&a);
		a.fd = fd;
		turn_ask(&a, false, true);
		turn_finish(&a, false, true);
		memset(a.buf, 3, 65536);
		require(read(ends[0], &b, sizeof(b)) == sizeof(b), "where to write");
		writer(&b.rtag);
		_exit(1);
	}
	close(a.fd);
	fd = b.fd;
	open_end(&b);
	b.fd = fd;
	listen_to(&b);
	require(write(ends[1], &b, sizeof(b)) == sizeof(b), "pipe");
	turn_answer(&b, false, true);
	await_data();
	require(!kill(pid, SIGKILL) && waitpid(pid, &status, 0) == pid && WIFSIGNALED(status),
		"kill: status %#x", status);
	shell("rdma resource show $RNICPI_DEVICE | grep -q 'pd 1 cq 2 qp 1 cm_id 0 mr 1'", NULL, NULL);
	require(event_is_ready(&b, LONG_MS), "b is told");
	memset(b.buf, 0, 65536);
	require_zeros("behind its end");
	close_end(&b);
	close(ends[0]);
	close(ends[1]);
}

/* The connection to a peer that does not answer any more is lost (RI-77) */
void keepalives(void)
{
	keepalive = 1;
	open_pair();
	listen_to(&a);
	no_event(&a, 1500);
	shell("ip link set lo down", NULL, NULL);
	await_event(&a, RI_EVENT_QP_LLP_CONNECTION_LOST, &a);
	shell("ip link set lo up", NULL, NULL);
	close_pair();
}
