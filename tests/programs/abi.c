// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * abi: the interface between provider and kernel (Documentation/uapi.rst), seen from outside:
 * sizes and offsets are written down here once more.
 *
 *	abi --list		names of the cases
 *	abi ADDR CASE		run one, over the device that has address ADDR
 *
 * Exit status as badinput's.
 */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl.h>
#include "abi.h"
#include "join.h"

#define DRIVER_ID	0x73724e43
#define ALL_FEATURES	3ULL	/* doorbell flag, arm word */

/* Commands, as providers of different versions write them ------------------------ */

static struct {
	struct ib_uverbs_cmd_hdr hdr;
	uint8_t body[512];	/* the core's request, then the driver's */
} cmd;
static uint64_t answer[64];	/* the core's response, then the driver's */

static uint32_t answer_word(size_t at)
{
	uint32_t v;

	memcpy(&v, (uint8_t *)answer + at, sizeof(v));
	return v;
}

static uint64_t answer_long(size_t at)
{
	uint64_t v;

	memcpy(&v, (uint8_t *)answer + at, sizeof(v));
	return v;
}

/*
 * Returns 0 or the errno. @core: the core's request, of @core_in bytes, its response of
 * @core_out; @in and @out: bytes of the driver's request, which is in cmd.body, and of its
 * response.
 */
static int command(int fd, uint32_t nr, const void *core, size_t core_in, size_t in,
		   size_t core_out, size_t out)
{
	size_t len = sizeof(cmd.hdr) + core_in + in;
	const uint64_t response = (uintptr_t)answer;

	memcpy(cmd.body, core, core_in);
	memcpy(cmd.body, &response, sizeof(response));	/* the first field of all of them */
	memset(answer, 0, sizeof(answer));
	cmd.hdr = (struct ib_uverbs_cmd_hdr){ nr, len / 4, (core_out + out) / 4 };
	return write(fd, &cmd, len) == (ssize_t)len ? 0 : errno;
}

/* The handshake with a request of @in bytes and room for a response of @out bytes */
static int get_context(int fd, uint64_t features, uint64_t required, size_t in, size_t out)
{
	struct ib_uverbs_get_context q = { 0 };
	const uint64_t drv[] = { features, required };
	int err;

	memset(cmd.body, 0, sizeof(cmd.body));
	memcpy(cmd.body + sizeof(q), drv, sizeof(drv));
	err = command(fd, IB_USER_VERBS_CMD_GET_CONTEXT, &q, sizeof(q), in,
		      sizeof(struct ib_uverbs_get_context_resp), out);
	if (!err)
		close(answer_word(offsetof(struct ib_uverbs_get_context_resp, async_fd)));
	return err;
}

static int open_context(uint64_t features)
{
	int fd = open_uverbs();
	int err = get_context(fd, features, 0, 16, 24);

	require(!err, "GET_CONTEXT: %s", strerror(err));
	return fd;
}

struct row {
	const char *what;
	uint32_t nr;
	const void *core;
	size_t core_in, core_out;
	size_t in, out;		/* of the driver's part in version 1 */
	size_t entries;		/* where the response has a number of entries */
};

static int try(int fd, const struct row *r, size_t in, size_t out)
{
	return command(fd, r->nr, r->core, r->core_in, in, r->core_out, out);
}

/* The response of version 1 is complete */
static void good_answer(const struct row *r, const char *who)
{
	uint32_t entries = answer_word(r->core_out + r->entries);
	uint64_t bytes = answer_long(r->core_out + 8);

	require(entries >= 16 && !(entries & (entries - 1)), "%s: %s: %u entries", r->what, who,
		entries);
	require(bytes >= 4096 + entries * 16ULL, "%s: %s: %llu bytes", r->what, who,
		(unsigned long long)bytes);
}

static void one_command(int fd, const struct row *r, uint32_t first_word)
{
	uint8_t *drv = cmd.body + r->core_in;
	int err;

	memset(cmd.body, 0, sizeof(cmd.body));
	memcpy(drv, &first_word, sizeof(first_word));
	err = try(fd, r, r->in, r->out);
	require(!err, "%s: exactly version 1: %s", r->what, strerror(err));
	good_answer(r, "exactly version 1");
	err = try(fd, r, r->in + 64, r->out + 64);
	require(!err, "%s: longer than today: %s", r->what, strerror(err));
	good_answer(r, "longer than today");
	err = try(fd, r, r->in, r->out - 4);
	require(err == EINVAL, "%s: room for less: %s", r->what, strerror(err));
	if (r->in) {
		err = try(fd, r, r->in - 4, r->out);
		require(err == EINVAL, "%s: less of a question: %s", r->what, strerror(err));
	}
	drv[r->in + 63] = 1;
	err = try(fd, r, r->in + 64, r->out + 64);
	require(err == EINVAL || err == EOPNOTSUPP, "%s: what nobody knows: %s", r->what,
		strerror(err));
}

static void handshakes(void)
{
	static const struct {
		const char *what;
		uint64_t features, required;
		size_t in, out;
		int err;
	} rows[] = {
		{ "exactly version 1", ALL_FEATURES, ALL_FEATURES, 16, 24, 0 },
		{ "longer than today", ALL_FEATURES, ALL_FEATURES, 80, 88, 0 },
		{ "no question", 0, 0, 0, 24, 0 },
		{ "half a question", ALL_FEATURES, 0, 8, 24, 0 },
		{ "a later provider", ~0ULL, ALL_FEATURES, 16, 24, 0 },
		{ "a provider that is too late", ~0ULL, 4, 16, 24, EOPNOTSUPP },
		{ "room for less", ALL_FEATURES, ALL_FEATURES, 16, 20, EINVAL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int fd = open_uverbs();
		int err = get_context(fd, rows[i].features, rows[i].required, rows[i].in,
				      rows[i].out);
		uint64_t features = answer_long(sizeof(struct ib_uverbs_get_context_resp));

		require(err == rows[i].err, "%s: %s", rows[i].what, strerror(err));
		require(err || features == ALL_FEATURES, "%s: features %#llx", rows[i].what,
			(unsigned long long)features);
		close(fd);
	}
}

void case_versions(void)
{
	struct ib_uverbs_alloc_pd pd = { 0 };
	struct ib_uverbs_create_cq cq = { .cqe = 16, .comp_channel = -1 };
	struct ib_uverbs_resize_cq resize = { .cqe = 64 };
	struct ib_uverbs_create_srq srq = { .max_wr = 16, .max_sge = 1 };
	struct ib_uverbs_create_qp qp = {
		.max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1,
		.qp_type = IB_UVERBS_QPT_RC,
	};
	const struct row rows[] = {
		{ "CREATE_CQ", IB_USER_VERBS_CMD_CREATE_CQ, &cq, sizeof(cq),
		  sizeof(struct ib_uverbs_create_cq_resp), 0, 24, 16 },
		{ "RESIZE_CQ", IB_USER_VERBS_CMD_RESIZE_CQ, &resize, sizeof(resize),
		  sizeof(struct ib_uverbs_resize_cq_resp), 8, 24, 16 },
		{ "CREATE_SRQ", IB_USER_VERBS_CMD_CREATE_SRQ, &srq, sizeof(srq),
		  sizeof(struct ib_uverbs_create_srq_resp), 0, 24, 16 },
		{ "CREATE_QP", IB_USER_VERBS_CMD_CREATE_QP, &qp, sizeof(qp),
		  sizeof(struct ib_uverbs_create_qp_resp), 0, 56, 32 },
	};
	int fd = open_context(ALL_FEATURES);
	int err;

	handshakes();
	memset(cmd.body, 0, sizeof(cmd.body));
	err = command(fd, IB_USER_VERBS_CMD_ALLOC_PD, &pd, sizeof(pd), 0,
		      sizeof(struct ib_uverbs_alloc_pd_resp), 0);
	require(!err, "ALLOC_PD: %s", strerror(err));
	srq.pd_handle = answer_word(0);
	qp.pd_handle = answer_word(0);
	err = try(fd, &rows[0], 0, 24);
	require(!err, "CREATE_CQ: %s", strerror(err));
	resize.cq_handle = answer_word(0);
	qp.send_cq_handle = answer_word(0);
	qp.recv_cq_handle = answer_word(0);
	require(answer_word(rows[0].core_out + 20) == 64, "size of a CQE");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)	/* the step is PREPARE */
		one_command(fd, &rows[i], rows[i].in ? 1 : 0);
	close(fd);
}

/* Imported contexts ---------------------------------------------------------- */

/* QUERY_CONTEXT as the ioctl itself; @len 0: without the driver's attribute */
static int query_context(int fd, void *resp, size_t len)
{
	uint32_t vectors;
	struct {
		struct ib_uverbs_ioctl_hdr hdr;
		struct ib_uverbs_attr attr[2];
	} q = {
		.hdr = {
			.length = sizeof(q.hdr) + (len ? 2 : 1) * sizeof(q.attr[0]),
			.object_id = UVERBS_OBJECT_DEVICE,
			.method_id = UVERBS_METHOD_QUERY_CONTEXT,
			.num_attrs = len ? 2 : 1,
			.driver_id = DRIVER_ID,
		},
		.attr = {
			{ .attr_id = UVERBS_ATTR_QUERY_CONTEXT_NUM_COMP_VECTORS,
			  .len = sizeof(vectors), .data = (uintptr_t)&vectors },
			{ .attr_id = 1 << UVERBS_ID_NS_SHIFT, .len = len,
			  .flags = UVERBS_ATTR_F_MANDATORY, .data = (uintptr_t)resp },
		},
	};

	return ioctl(fd, RDMA_VERBS_IOCTL, &q) ? errno : 0;
}

/* The features of a context are those that both its opener and the kernel know. */
void case_import(void)
{
	static const struct {
		uint64_t opener, in_use;
	} rows[] = {
		{ ALL_FEATURES, ALL_FEATURES }, { ~0ULL, ALL_FEATURES }, { 1, 1 }, { 2, 2 },
		{ 0, 0 },
	};

	test_context();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int fd = open_context(rows[i].opener), err;
		struct ibv_context *ctx;
		uint64_t resp[11];

		memset(resp, 0xa5, sizeof(resp));
		errno = 0;
		ctx = ibv_import_device(dup(fd));
		if (rows[i].in_use == ALL_FEATURES) {
			require(ctx, "opener has %#llx: %s", (unsigned long long)rows[i].opener,
				strerror(errno));
			ibv_close_device(ctx);
		} else {
			require(!ctx && errno == EOPNOTSUPP, "opener has %#llx: %s",
				(unsigned long long)rows[i].opener, ctx ? "imported" :
				strerror(errno));
		}
		err = query_context(fd, resp, 24);
		require(!err && resp[0] == rows[i].in_use, "opener has %#llx: %s, %#llx in use",
			(unsigned long long)rows[i].opener, strerror(err),
			(unsigned long long)resp[0]);
		require(resp[3] == 0xa5a5a5a5a5a5a5a5, "more was written than there is room");
		err = query_context(fd, resp, sizeof(resp));
		require(!err && resp[0] == rows[i].in_use && !resp[10], "longer than today: %s",
			strerror(err));
		require(query_context(fd, resp, 16), "room for less");
		err = query_context(fd, resp, 0);
		require(!err, "a tool that knows no driver: %s", strerror(err));
		close(fd);
	}
}

/*
 * A context is joined if the joiner knows each feature in use, and if each feature that the
 * joiner requires is in use.
 */
void case_join(void)
{
	static const struct {
		uint64_t in_use, known, required;
		bool joined;
	} rows[] = {
		{ 3, 3, 3, true }, { 3, 7, 3, true }, { 7, 7, 3, true }, { 7, 3, 3, false },
		{ 1, 3, 3, false }, { 0, 3, 3, false }, { 0, 3, 0, true }, { 8, 7, 0, false },
		{ 2, 7, 4, false }, { ~0ULL, 3, 3, false }, { 1ULL << 63, 3, 0, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		require(srnic_may_join(rows[i].in_use, rows[i].known, rows[i].required) ==
			rows[i].joined, "row %zu", i);
}

/* Mappings ------------------------------------------------------------------- */

static void child_has_none(void)
{
	struct mapping map[8];
	pid_t pid = fork_child();
	int status;

	if (!pid)
		_exit(uverbs_mappings(map, ARRAY_SIZE(map)) ? EXIT_FAIL : EXIT_PASS);
	require(waitpid(pid, &status, 0) == pid, "%s", strerror(errno));
	require(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_PASS,
		"a child has its parent's rings");
}

/* Rings are not mapped into a child, and cannot be made executable. */
void case_mappings(void)
{
	struct mapping map[64];
	struct pair p;
	int n;

	pair_open(&p);
	n = uverbs_mappings(map, ARRAY_SIZE(map));
	require(n >= 8, "%d rings", n);
	child_has_none();
	for (int i = 0; i < n; i++) {
		int prot = PROT_READ | PROT_WRITE | (i & 1 ? PROT_EXEC : 0);

		errno = 0;
		require(mprotect(map[i].at, map[i].len, PROT_READ | PROT_EXEC) &&
			errno == EACCES, "ring %d: executable: %s", i, strerror(errno));
		require(!mprotect(map[i].at, map[i].len, prot & ~PROT_EXEC), "ring %d: %s",
			i, strerror(errno));
	}
	pair_works(&p, "after a fork");
	pair_close(&p);
}

static const struct test_case cases[] = {
	{ "versions", case_versions, "each command takes exactly version 1, and more than today" },
	{ "import", case_import, "an imported context tells its features if asked, and is refused without those needed" },
	{ "join", case_join, "a context that uses fewer features than are known is joined" },
	{ "fork", case_fork, "a child that destroys what it inherited keeps its own mappings" },
	{ "mappings", case_mappings, "rings are not inherited and cannot be made executable" },
	{ "unused", case_unused, "a WQE with something in an unused field fails" },
	{ "arm-bits", case_arm_bits, "an unknown bit in the arm word is an error of the CQ" },
	{ "doorbell", case_doorbell, "a WR whose doorbell fails for the moment is posted, once" },
};

static const struct test_program prog = {
	.usage = "abi --list | abi ADDR CASE",
	.timeout_env = "ABI_TIMEOUT",
	.timeout = 50,
	.cases = cases,
	.count = ARRAY_SIZE(cases),
};

int main(int argc, char **argv)
{
	return run_cases(&prog, argc, argv);
}
