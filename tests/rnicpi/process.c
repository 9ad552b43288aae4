// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* What is of the process and of the host: forks, threads, addresses. */
#include <arpa/inet.h>
#include <string.h>
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

/* D-88 */
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

/* Of a child; it must not come back */
static void child(ri_vp_handle_t vp)
{
	ri_data_seg_t seg = seg_of(&a, 0, 10);
	ri_qp_attr_t attr;
	uint_t one = 1;
	ri_wc_t wc;

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
	open_end(&a);
	expect(RI_RET_SUCCESS, ri_qp_query(a.rnic, a.qp, &attr, &err));
	close_end(&a);
	_exit(0);
}

/* D-13 */
void forks(void)
{
	ri_vp_handle_t vp = find_vp();
	int status;
	pid_t pid;

	open_pair();
	post_recv(&b, 1, 0, 100);
	pid = fork();
	require(pid >= 0, "fork");
	if (!pid)
		child(vp);
	require(waitpid(pid, &status, 0) == pid && !status, "the child: status %#x", status);
	post_send(&a, 2, 0, 10);
	take(&a, a.scq, 2, RI_WC_TYPE_SEND, RI_WC_STATUS_SUCCESS);
	take(&b, b.rcq, 1, RI_WC_TYPE_DATA_RECEIVED, RI_WC_STATUS_SUCCESS);
	close_pair();
}
