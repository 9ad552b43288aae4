// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * vipl_old and vipl_old_dg: programs of the kinds that people had for VI, with a process for each of
 * their two ends, for many messages. vipl_old is built for Appendix A, vipl_old_dg for the Developer's
 * Guide.
 *
 *	vipl_old ADDR CASE	on the device VIPL_DEVICE, which has the address ADDR
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vipl.h>
#include "cases.h"
#include "common.h"

#define LONG		30000		/* ms, time-out for expected events */
#define BUFFER		4096		/* bytes of a buffer; its descriptor is as long */
#define BUFFERS		64		/* of a VI */
#define MAX_VIS		8

/* The program's own name for a call that must succeed */
#define must(call) do {							\
	VIP_RETURN ret_ = (call);					\
	require(!ret_, "%s gives %d", #call, ret_);			\
} while (0)

/* A VI and its buffers */
struct line {
	VIP_VI_HANDLE vi;
	char *descs, *data;
};

struct node {
	VIP_NIC_HANDLE nic;
	VIP_CQ_HANDLE cq;		/* of all receives, or NULL */
	VIP_MEM_HANDLE handle;		/* of all memory */
	unsigned int count;
	struct line lines[MAX_VIS];
};

/* As sent in the first message of a case: where RDMA goes */
struct place {
	VIP_PVOID64 data;
	VIP_MEM_HANDLE handle;
	uint32_t block;
};

static struct node client, server;

static unsigned int messages(void)
{
	return env_uint("VIPL_MESSAGES", 2000);
}

/* --- setup --- */

static void open_node(struct node *n, unsigned int count, bool cq)
{
	size_t len = (size_t)count * BUFFERS * 2 * BUFFER;
	VIP_VI_ATTRIBUTES attr = {
		.ReliabilityLevel = VIP_SERVICE_RELIABLE_DELIVERY,
		.MaxTransferSize = 32768,
		.EnableRdmaWrite = VIP_TRUE,
		.EnableRdmaRead = VIP_TRUE,
	};
	VIP_MEM_ATTRIBUTES mem = { NULL, VIP_TRUE, VIP_TRUE };
	unsigned int i;
	char *p;

	p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	require(p != MAP_FAILED, "memory");
	require(getenv("VIPL_DEVICE"), "VIPL_DEVICE is not set");
	must(VipOpenNic(getenv("VIPL_DEVICE"), &n->nic));
	must(VipCreatePtag(n->nic, &mem.Ptag));
	attr.Ptag = mem.Ptag;
	must(VipRegisterMem(n->nic, p, len, &mem, &n->handle));
	if (cq)
		must(VipCreateCQ(n->nic, 1024, &n->cq));
	n->count = count;
	for (i = 0; i < count; i++) {
		n->lines[i].descs = p + (size_t)i * BUFFERS * 2 * BUFFER;
		n->lines[i].data = n->lines[i].descs + BUFFERS * BUFFER;
		must(VipCreateVi(n->nic, &attr, NULL, n->cq, &n->lines[i].vi));
	}
}

static VIP_DESCRIPTOR *desc_of(struct line *l, unsigned int i)
{
	return (void *)(l->descs + i * BUFFER);
}

static char *data_of(struct line *l, unsigned int i)
{
	return l->data + i * BUFFER;
}

static VIP_DESCRIPTOR *fill(struct node *n, struct line *l, unsigned int i, unsigned int len)
{
	VIP_DESCRIPTOR *d = desc_of(l, i);

	memset(d, 0, sizeof(*d));
	d->CS.SegCount = 1;
	d->CS.Length = len;
	d->DS[0].Local.Data.Address = data_of(l, i);
	d->DS[0].Local.Handle = n->handle;
	d->DS[0].Local.Length = len;
	return d;
}

static VIP_DESCRIPTOR *fill_rdma(struct node *n, struct line *l, unsigned int i, uint16_t op,
				 unsigned int len, void *remote, VIP_MEM_HANDLE handle)
{
	VIP_DESCRIPTOR *d = fill(n, l, i, len);

	d->CS.SegCount = 2;
	d->CS.Control = op;
	d->DS[1] = d->DS[0];
	memset(&d->DS[0], 0, sizeof(d->DS[0]));
	d->DS[0].Remote.Data.Address = remote;
	d->DS[0].Remote.Handle = handle;
	return d;
}

static void post_recv(struct node *n, struct line *l, unsigned int i)
{
	must(VipPostRecv(l->vi, fill(n, l, i, BUFFER), n->handle));
}

static union {
	VIP_NET_ADDRESS net;
	char room[4 + 4 + 8];
} address = { .net = { .HostAddressLen = 4, .DiscriminatorLen = 4 } };

static void accept_all(void)
{
	char remote[80] __attribute__((aligned(8)));
	VIP_VI_ATTRIBUTES attr;
	VIP_CONN_HANDLE conn;
	unsigned int i;

	for (i = 0; i < server.count; i++) {
		must(VipConnectWait(server.nic, &address.net, LONG, (VIP_NET_ADDRESS *)remote, &attr,
				    &conn));
		must(VipConnectAccept(conn, server.lines[i].vi));
	}
}

/* With VIPL_DG a server that does not wait yet has a code of its own */
static VIP_RETURN call(struct line *l)
{
	uint64_t end = now_ms() + LONG;
	VIP_VI_ATTRIBUTES attr;
	VIP_RETURN ret;

	do
		ret = VipConnectRequest(l->vi, &address.net, &address.net, LONG, &attr);
	while (ret == VIP_NO_MATCH && now_ms() < end);
	return ret;
}

/* Each VI has its receives @from to @to before it is connected */
struct setup {
	unsigned int vis, from, to;
	bool cq;
	void (*serve)(void);
};

static void open_end(struct node *n, const struct setup *s)
{
	unsigned int i, k;

	open_node(n, s->vis, s->cq);
	for (i = 0; i < s->vis; i++)
		for (k = s->from; k < s->to; k++)
			post_recv(n, &n->lines[i], k);
}

/* What the server's process tells the client's */
static struct place *offered;

static pid_t server_pid;
static int client_lives[2];		/* a pipe that the client's process has open for as long */

static void serve(const struct setup *s)
{
	char end;

	close(client_lives[1]);
	open_end(&server, s);
	offered->data.Address = data_of(&server.lines[0], 0);
	offered->handle = server.handle;
	accept_all();
	s->serve();
	require(!read(client_lives[0], &end, 1), "the client's end");
	must(VipCloseNic(server.nic));
	exit(0);
}

static void begin(const struct setup *s)
{
	unsigned int i;

	require(inet_pton(AF_INET, test_addr, address.net.HostAddress) == 1, "%s", test_addr);
	memcpy(address.room + 8, "old!", 4);
	offered = mmap(NULL, sizeof(*offered), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		       0);
	require(offered != MAP_FAILED, "memory");
	require(!pipe(client_lives), "a pipe");
	server_pid = fork();
	require(server_pid >= 0, "a process");
	if (!server_pid)
		serve(s);
	close(client_lives[0]);
	open_end(&client, s);
	for (i = 0; i < s->vis; i++)
		must(call(&client.lines[i]));
}

static void end(void)
{
	int status;

	close(client_lives[1]);
	require(waitpid(server_pid, &status, 0) == server_pid && !status, "the server ends with %#x",
		status);
	must(VipCloseNic(client.nic));
}

static VIP_DESCRIPTOR *good(VIP_DESCRIPTOR *d)
{
	require(d->CS.Status & VIP_STATUS_DONE && !(d->CS.Status & VIP_STATUS_ERROR_MASK), "%#x",
		d->CS.Status);
	return d;
}

static VIP_DESCRIPTOR *await_recv(struct line *l)
{
	VIP_DESCRIPTOR *d;

	must(VipRecvWait(l->vi, LONG, &d));
	return good(d);
}

static void await_sent(struct line *l)
{
	VIP_DESCRIPTOR *d;

	must(VipSendWait(l->vi, LONG, &d));
	good(d);
}

static unsigned int index_of(struct line *l, const VIP_DESCRIPTOR *d)
{
	return ((char *)d - l->descs) / BUFFER;
}

static void send_imm(struct node *n, struct line *l, unsigned int i, unsigned int len, uint32_t imm)
{
	VIP_DESCRIPTOR *d = fill(n, l, i, len);

	d->CS.Control = VIP_CONTROL_IMMEDIATE;
	d->CS.ImmediateData = imm;
	must(VipPostSend(l->vi, d, n->handle));
}

/* --- a message-passing library: eager buffers posted for ever, and credits as immediate data --- */

#define EAGER		32		/* the receives; the buffers before them send */

static void repost(struct node *n, struct line *l, VIP_DESCRIPTOR *d)
{
	d->CS.Length = BUFFER;
	d->CS.Control = VIP_CONTROL_IMMEDIATE;	/* as such libraries leave it */
	must(VipPostRecv(l->vi, d, n->handle));
}

static void receive_all(void)
{
	struct line *l = &server.lines[0];
	unsigned int i, all = messages();
	VIP_DESCRIPTOR *d;

	for (i = 0; i < all; i++) {
		d = await_recv(l);
		require(d->CS.Status & VIP_STATUS_IMMEDIATE && d->CS.ImmediateData == i, "message %u",
			i);
		require(d->CS.Length == 4 + i % 1000 &&
			!memcmp(data_of(l, index_of(l, d)), &i, 4), "the bytes of %u", i);
		repost(&server, l, d);
		if (i % (EAGER / 2))
			continue;
		send_imm(&server, l, 0, 0, EAGER / 2);
		await_sent(l);
	}
}

static void passing(void)
{
	unsigned int i, all = messages(), credits = EAGER / 2, sending = 0;
	struct line *l = &client.lines[0];
	VIP_DESCRIPTOR *d;

	begin(&(struct setup){ .vis = 1, .from = EAGER, .to = 2 * EAGER, .serve = receive_all });
	for (i = 0; i < all; i++) {
		while (VipRecvDone(l->vi, &d) == VIP_SUCCESS || !credits) {
			if (!d)
				continue;
			credits += good(d)->CS.ImmediateData;
			repost(&client, l, d);
		}
		if (sending == EAGER)
			await_sent(l);
		else
			sending++;
		memcpy(data_of(l, i % EAGER), &i, 4);
		send_imm(&client, l, i % EAGER, 4 + i % 1000, i);
		credits--;
	}
	end();
}

/* --- one-sided put and get, looked at in memory, with one thread of a server --- */

#define SLOTS		32		/* buffers of the server that are written to and read from */
#define NOTICE		SLOTS		/* and the first that receives */

static void spin(VIP_DESCRIPTOR *d)
{
	while (!(__atomic_load_n(&d->CS.Status, __ATOMIC_ACQUIRE) & VIP_STATUS_DONE))
		;
	good(d);
}

/* Each round of puts ends with an RDMA Write with immediate data, which is answered */
static void watch_memory(void)
{
	struct line *l = &server.lines[0];
	unsigned int i, k, rounds = messages() / SLOTS;
	VIP_DESCRIPTOR *d;

	for (i = 0; i < rounds; i++) {
		d = await_recv(l);
		require(d->CS.ImmediateData == i, "round %u", i);
		for (k = 0; k < SLOTS; k += 2)
			require(*(unsigned int *)data_of(l, k) == i * SLOTS + k, "slot %u", k);
		post_recv(&server, l, index_of(l, d));
		send_imm(&server, l, BUFFERS - 1, 0, i);
		await_sent(l);
	}
}

static void one_sided(struct line *l, uint16_t op, unsigned int slot, unsigned int len)
{
	VIP_DESCRIPTOR *d = fill_rdma(&client, l, slot, op, len, (char *)offered->data.Address + (slot & ~1u) * BUFFER,
				      offered->handle), *got;

	must(VipPostSend(l->vi, d, client.handle));
	spin(d);
	must(VipSendDone(l->vi, &got));
	require(got == d, "%p", (void *)got);
}

static void put_and_get(void)
{
	unsigned int i, k, rounds = messages() / SLOTS;
	struct line *l = &client.lines[0];
	VIP_DESCRIPTOR *d;

	begin(&(struct setup){ .vis = 1, .from = NOTICE, .to = NOTICE + 4, .serve = watch_memory });
	for (i = 0; i < rounds; i++) {
		for (k = 0; k < SLOTS; k += 2) {
			*(unsigned int *)data_of(l, k) = i * SLOTS + k;
			one_sided(l, VIP_CONTROL_OP_RDMAWRITE, k, 4 + (i * k) % (BUFFER - 4));
			one_sided(l, VIP_CONTROL_OP_RDMAREAD, k + 1, 4);
			require(*(unsigned int *)data_of(l, k + 1) == i * SLOTS + k, "slot %u", k);
		}
		d = fill_rdma(&client, l, BUFFERS - 1,
			      VIP_CONTROL_OP_RDMAWRITE | VIP_CONTROL_IMMEDIATE, 0,
			      offered->data.Address, offered->handle);
		d->CS.ImmediateData = i;
		must(VipPostSend(l->vi, d, client.handle));
		await_sent(l);
		d = await_recv(l);
		require(d->CS.ImmediateData == i, "round %u", i);
		post_recv(&client, l, index_of(l, d));
	}
	end();
}

/* --- a server of blocks, with many VIs and one CQ --- */

#define REQUEST		0		/* buffers of a VI */
#define BLOCK		1
#define ANSWER		2
#define FIRST_RECV	3

static struct line *line_of(struct node *n, VIP_VI_HANDLE vi)
{
	unsigned int i;

	for (i = 0; i < n->count; i++)
		if (n->lines[i].vi == vi)
			return &n->lines[i];
	die("a VI that there is not");
}

static VIP_DESCRIPTOR *await_cq(struct node *n, struct line **l)
{
	VIP_DESCRIPTOR *d;
	VIP_BOOLEAN recv;
	VIP_VI_HANDLE vi;

	must(VipCQWait(n->cq, LONG, &vi, &recv));
	require(recv, "of a receive");
	*l = line_of(n, vi);
	must(VipRecvDone(vi, &d));
	return good(d);
}

static void fill_block(char *p, uint32_t block)
{
	unsigned int i;

	for (i = 0; i < BUFFER; i += 512)
		memcpy(p + i, &block, sizeof(block));
}

/* The data goes by RDMA to where the request says, and the answer comes behind it */
static void serve_blocks(void)
{
	unsigned int i, all = messages();
	struct place place;
	VIP_DESCRIPTOR *d;
	struct line *l;

	for (i = 0; i < all; i++) {
		d = await_cq(&server, &l);
		memcpy(&place, data_of(l, index_of(l, d)), sizeof(place));
		post_recv(&server, l, index_of(l, d));
		fill_block(data_of(l, BLOCK), place.block);
		d = fill_rdma(&server, l, BLOCK, VIP_CONTROL_OP_RDMAWRITE, BUFFER, place.data.Address,
			      place.handle);
		must(VipPostSend(l->vi, d, server.handle));
		send_imm(&server, l, ANSWER, 0, place.block);
		await_sent(l);
		await_sent(l);
	}
}

static void ask(struct line *l, uint32_t block)
{
	struct place place = { .handle = client.handle, .block = block };

	place.data.Address = data_of(l, BLOCK);
	memcpy(data_of(l, REQUEST), &place, sizeof(place));
	must(VipPostSend(l->vi, fill(&client, l, REQUEST, sizeof(place)), client.handle));
	await_sent(l);
}

static void blocks(void)
{
	unsigned int i, k, all = messages(), asked = 0;
	VIP_DESCRIPTOR *d;
	uint32_t block;
	struct line *l;

	begin(&(struct setup){ .vis = MAX_VIS, .cq = true, .from = FIRST_RECV, .to = FIRST_RECV + 2,
			       .serve = serve_blocks });
	while (asked < MAX_VIS && asked < all) {
		ask(&client.lines[asked], asked);
		asked++;
	}
	for (i = 0; i < all; i++) {
		d = await_cq(&client, &l);
		block = d->CS.ImmediateData;
		for (k = 0; k < BUFFER; k += 512)
			require(!memcmp(data_of(l, BLOCK) + k, &block, 4), "block %u", block);
		post_recv(&client, l, index_of(l, d));
		if (asked < all)
			ask(l, asked++);
	}
	end();
}

static const struct test_case all_cases[] = {
	{ "passing", passing, "a message-passing library posts its buffers again and again" },
	{ "put_and_get", put_and_get, "a one-sided library puts, gets, and looks in memory" },
	{ "blocks", blocks, "a server of blocks has many VIs and one CQ" },
};

int main(int argc, char **argv)
{
	static const struct test_program prog = {
		.usage = "vipl_old ADDR CASE",
		.timeout_env = "VIPL_TIMEOUT",
		.timeout = 50,
		.cases = all_cases,
		.count = ARRAY_SIZE(all_cases),
	};

	return run_cases(&prog, argc, argv);
}
