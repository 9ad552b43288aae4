// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* A connection from its plan to where it carries FPDUs. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "mutate.h"

static int listener = -1;

static int tcp_socket(void)
{
	struct timeval tv = { .tv_sec = PATIENCE / 1000 };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	require(fd >= 0, "%s", strerror(errno));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
	return fd;
}

void listen_here(void)
{
	struct sockaddr_storage addr = prey.addr;
	int one = 1;

	((struct sockaddr_in *)&addr)->sin_port = htons(PEER_PORT);
	listener = tcp_socket();
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	require(!bind(listener, (struct sockaddr *)&addr, sizeof(struct sockaddr_in)) &&
		!listen(listener, SLOTS), "%s", strerror(errno));
}

/*
 * Send the start-up frame; one longer than it claims is sent in one piece, so that the device
 * sees the rest
 */
static void put_hello(struct conn *c)
{
	const uint8_t *p = c->hello;
	uint32_t len = c->hello_len, max = len;

	if (chance(c, 10) && len <= (uint32_t)HELLO_LEN + get16(p + 18))
		max = 1 + below(c, 7);

	while (len) {
		ssize_t n = send(c->fd, p, len < max ? len : max, MSG_NOSIGNAL);

		if (n <= 0)
			return;		/* the reason is seen when reading */
		p += n;
		len -= n;
	}
}

static void plan_ops(struct conn *c)
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_RDMA_READ, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD,
		IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_SEND, IBV_WR_RDMA_WRITE,
	};
	struct prey_slot *s = c->slot;

	s->ops = chance(c, 35) ? 1 + below(c, PREY_ORD) : 0;
	for (int i = 0; i < s->ops; i++) {
		struct prey_op *op = &s->op[i];

		op->opcode = opcodes[below(c, ARRAY_SIZE(opcodes))];
		op->len = chance(c, 10) ? 0 : 1 + below(c, SINK_LEN);
		if (op->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ||
		    op->opcode == IBV_WR_ATOMIC_CMP_AND_SWP)
			op->len = 8;
		op->remote = rnd(c) & ~7ULL;
		op->rkey = rnd(c);
	}
}

void plan(struct conn *c, struct prey_slot *s, uint64_t number)
{
	static const int lens[] = { 0, 8, 64, 65, 256 };

	memset(c, 0, offsetof(struct conn, model));
	memset(&c->fd, 0, offsetof(struct conn, in) - offsetof(struct conn, fd));
	memset(&c->wild, 0, offsetof(struct conn, queue) - offsetof(struct conn, wild));
	memset(&c->q_head, 0, offsetof(struct conn, wire) - offsetof(struct conn, q_head));
	memset(&c->wire_len, 0, sizeof(*c) - offsetof(struct conn, wire_len));
	c->number = number;
	c->rng = seed * 0x9e3779b97f4a7c15 + number * 0xd1342543de82ef95;
	prey_wish(s, number);
	c->slot = s;
	ways_spoil(c);	/* the slot's last connection is over */
	c->fd = -1;
	c->kind = chance(c, 91) ? KIND_PASSIVE : chance(c, 60) ? KIND_REQUEST :
		  chance(c, 50) ? KIND_ACTIVE : KIND_REPLY;
	c->honest = !hostile && !(number % HONEST_EVERY);
	if (c->honest)
		c->kind = KIND_PASSIVE;
	c->rev = 1 + chance(c, 60);
	c->crc = chance(c, 80);
	c->markers_in = !c->honest && chance(c, 10);
	s->recvs = below(c, MAX_RECV + 1);
	s->recv_len = lens[below(c, ARRAY_SIZE(lens))];
	s->recv_sges = 1 + chance(c, 30);
	s->window = chance(c, 20);
	plan_ops(c);
	/* RFC 5044 7.1.2: as responder the peer may not send first */
	if (c->kind == KIND_ACTIVE && !s->ops)
		s->op[s->ops++] = (struct prey_op){ .opcode = IBV_WR_SEND, .len = 8 };
	/* most streams should last: setting one up costs as much as a hundred frames */
	c->wild = chance(c, 6) ? 90 : chance(c, 16) ? 25 : 1;
	c->frames = 4 + below(c, c->wild == 1 ? 900 : 60);
	c->ird = PREY_IRD;
	for (int i = 0; i < 4; i++)
		c->rx_msn[i] = 1;
	if (c->kind == KIND_REPLY) {	/* it ends with the Reply */
		s->ops = 0;
		s->window = false;
	}
	model_start(&c->model, s);
}

void open_passive(struct conn *c)
{
	struct sockaddr_in from;
	socklen_t len = sizeof(from);

	plan_request(c);
	c->fd = tcp_socket();
	require(!connect(c->fd, (struct sockaddr *)&prey.addr, sizeof(from)), "%s",
		strerror(errno));
	require(!getsockname(c->fd, (struct sockaddr *)&from, &len), "%s", strerror(errno));
	c->slot->port = ntohs(from.sin_port);
	put_hello(c);
	/* no more follows, so an incomplete frame stays incomplete */
	if (c->kind == KIND_REQUEST && !c->may_accept)
		shutdown(c->fd, SHUT_WR);
	if (c->kind == KIND_REQUEST) {
		stats.mutated++;
		stats.frames++;
		stats.class_frames[CLASS_REQUEST]++;
	}
}

/* Reads @len octets; false at the end of the stream */
static bool get_all(struct conn *c, uint8_t *p, uint32_t len)
{
	while (len) {
		ssize_t n = recv(c->fd, p, len, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			fail(c, "no start-up frame in time");
		if (n <= 0)
			return false;
		p += n;
		len -= n;
	}
	return true;
}

/* The Reply of the device: accepted, rejected, or closed */
void read_reply(struct conn *c)
{
	uint8_t p[HELLO_MAX];

	if (!get_all(c, p, HELLO_LEN) || get16(p + 18) > 512 ||
	    !get_all(c, p + HELLO_LEN, get16(p + 18))) {
		c->closed = true;
		if (!c->may_close)
			fail(c, "closed in place of a Reply");
		if (c->kind == KIND_REQUEST) {
			stats.class_bad[CLASS_REQUEST]++;
			stats.codes[CLASS_REQUEST][CODE_COUNT]++;
		}
		return;
	}
	if (memcmp(p, REP_KEY, 16)) {
		fail(c, "a Reply with another key");
		return;
	}
	if (p[16] & MPA_R) {
		c->closed = true;
		if (!c->may_reject)
			fail(c, "rejected");
		stats.class_bad[CLASS_REQUEST] += c->kind == KIND_REQUEST;
		return;
	}
	if (!c->may_accept) {
		fail(c, "served");
		return;
	}
	if (p[17] != c->rev) {
		fail(c, "a Reply of revision %u", p[17]);
		return;
	}
	c->served = true;
	c->out.on = p[16] & MPA_M;
	deframer_init(&c->in, c->markers_in);
	if (!!(p[16] & MPA_S) != (c->rev == 2 && (c->hello[16] & MPA_S))) {
		fail(c, "S of the Reply is not that of the Request");
		return;
	}
	if (p[16] & MPA_S) {
		c->ird = get16(p + 20) & ENH_VALUE;
		/* RFC 6581 9.1: the device's ORD must not be above the peer's IRD */
		if (c->kind != KIND_REQUEST && (get16(p + 22) & ENH_VALUE) > PREY_ORD)
			fail(c, "ORD %u, of %u", get16(p + 22) & ENH_VALUE, PREY_ORD);
	}
	if (c->ird > PREY_IRD)
		c->ird = PREY_IRD;
}

/* RFC 5044 7.1.2: the device sends nothing before its first FPDU; RFC 6581 9: the RTR */
void send_first(struct conn *c)
{
	static const struct fpdu_lies honest = { .length = -1, .flip = -1 };
	struct frame f;

	f.split = false;
	f.len = tagged_hdr(f.u, OP_WRITE, true, rnd(c), rnd(c));
	emit(c, &f, CLASS_VALID, &honest);
	flush_wire(c);
}

/* The device connects: send it a Reply, and take its further attempts */
static bool someone_calls(void *arg)
{
	struct pollfd pfd = { .fd = listener, .events = POLLIN };
	struct conn *c = arg;

	return c->slot->failed || poll(&pfd, 1, 0) == 1;
}

static bool take_call(struct conn *c)
{
	uint8_t p[HELLO_MAX];
	int one = 1;
	struct timeval tv = { .tv_sec = PATIENCE / 1000 };

	if (!prey_until(someone_calls, c, PATIENCE)) {
		fail(c, "the device does not connect");
		return false;
	}
	if (c->slot->failed || prey.broken)
		return false;
	if (c->fd >= 0)
		close(c->fd);
	c->fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	require(c->fd >= 0, "%s", strerror(errno));
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	if (!get_all(c, p, HELLO_LEN) || get16(p + 18) > 512 ||
	    !get_all(c, p + HELLO_LEN, get16(p + 18)) || memcmp(p, REQ_KEY, 16) ||
	    (p[16] & MPA_R) || p[17] < 1 || p[17] > 2) {
		fail(c, "no MPA Request from the device");
		return false;
	}
	c->out.on = p[16] & MPA_M;
	plan_reply(c, p, HELLO_LEN + get16(p + 18));
	put_hello(c);
	if (c->kind == KIND_REPLY && !c->may_accept)
		shutdown(c->fd, SHUT_WR);
	return true;
}

static bool call_decided(void *arg)
{
	struct conn *c = arg;

	return c->slot->established || c->slot->failed || someone_calls(c);
}

void open_active(struct conn *c)
{
	prey.watch[0] = (struct pollfd){ .fd = listener, .events = POLLIN };
	prey.watched = 1;
	prey_connect(c->slot, PEER_PORT);
	if (c->kind == KIND_REPLY) {
		stats.mutated++;
		stats.frames++;
		stats.class_frames[CLASS_REPLY]++;
	}
	/* a device that refuses the Reply tries again with the older revision */
	for (int tries = 0; tries < 4; tries++) {
		if (!take_call(c))
			break;
		if (!prey_until(call_decided, c, PATIENCE))
			fail(c, "the device neither takes nor refuses the Reply");
		if (c->slot->established || c->slot->failed || c->failed || prey.broken)
			break;
	}
	if (c->failed)
		return;
	if (c->slot->failed) {
		c->closed = true;
		stats.class_bad[CLASS_REPLY] += c->kind == KIND_REPLY;
		stats.codes[CLASS_REPLY][CODE_COUNT] += c->kind == KIND_REPLY;
		if (!c->may_close)
			fail(c, "a good Reply is refused, status %d", c->slot->fail_status);
		return;
	}
	if (!c->may_accept) {
		fail(c, "a bad Reply is taken");
		return;
	}
	c->served = true;
	deframer_init(&c->in, c->markers_in);
	/* a connection with a mutated Reply ends here */
	if (c->kind == KIND_REPLY)
		c->closed = true;
	else
		c->rtr_due = c->rev == 2;
}

static bool no_more_rtr(struct conn *c)
{
	return !c->rtr_due;
}

static bool all_messages(struct conn *c)
{
	return c->messages >= c->slot->ops + (c->rev == 2 && c->kind == KIND_ACTIVE);
}

/* The program behind the device does its own work, until all of it has arrived here */
void act(struct conn *c)
{
	struct prey_slot *s = c->slot;
	struct stag *w = &c->model.window;
	struct frame f;

	if (c->rtr_due) {
		pump(c, no_more_rtr);
		if (!c->rtr_due && c->model.asked_tail) {
			queue_answer(c);
			f = c->queue[c->q_head++ % MAX_QUEUE];
			emit(c, &f, CLASS_VALID, &(struct fpdu_lies){ .length = -1, .flip = -1 });
			flush_wire(c);
		}
	}
	if (c->failed || !s->established)
		return;
	if (s->window) {
		prey_bind(s, hostile);
		*w = (struct stag){
			.stag = s->mw->rkey, .len = MW_LEN, .window = true, .qpn = s->qpn,
			.base = (uintptr_t)s->mem + areas[AREA_ALL].off + MW_OFF,
			.access = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE,
			.valid = true, .is_all = true,
		};
		c->model.has_window = true;
	}
	prey_act(s);
	pump(c, all_messages);
	if (!c->failed && !all_messages(c))
		fail(c, "the stream ended before the device had sent its messages");
}
