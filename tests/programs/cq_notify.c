// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Notification (RDMAC verbs 8.2.5, 9.4.1) through completion channels. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>
#include "cq.h"

static struct ibv_comp_channel *ch;
static struct pair p;
static uint64_t next_id;

static void channel_hook(struct end *e, struct ibv_qp_init_attr_ex *attr)
{
	e->scq = ibv_create_cq(e->id->verbs, 256, &e->scq, ch, 0);
	e->rcq = ibv_create_cq(e->id->verbs, 256, &e->rcq, ch, 0);
	require(e->scq && e->rcq, "%s", strerror(errno));
}

static int events_ready(unsigned int ms)
{
	struct pollfd pfd = { .fd = ch->fd, .events = POLLIN };

	return poll(&pfd, 1, ms);
}

/* CN-12: an event names its CQ. */
static struct ibv_cq *take_event(const char *what)
{
	struct ibv_cq *cq;
	void *context;

	require(events_ready(20000) == 1, "%s: no event", what);
	require(!ibv_get_cq_event(ch, &cq, &context), "%s", strerror(errno));
	require(context == cq->cq_context, "%s: the context", what);
	ibv_ack_cq_events(cq, 1);
	return cq;
}

static void expect_event(struct ibv_cq *want, const char *what)
{
	require(take_event(what) == want, "%s: another CQ", what);
}

static void expect_no_event(const char *what)
{
	require(!events_ready(100), "%s: an event", what);
}

static void arm(struct ibv_cq *cq, int solicited)
{
	int err = ibv_req_notify_cq(cq, solicited);

	require(!err, "ibv_req_notify_cq: %s", strerror(err));
}

/* One message from a to b */
static void message(unsigned int flags)
{
	must_recv(&p.b, next_id, 0, 64);
	send_plain(&p.a, next_id++, flags);
}

static void drain(struct ibv_cq *cq, int n)
{
	for (int i = 0; i < n; i++) {
		struct ibv_wc wc = wait_wc(cq, "drain");

		require(wc.status == IBV_WC_SUCCESS, "%s", ibv_wc_status_str(wc.status));
	}
}

#define SIG	IBV_SEND_SIGNALED
#define SE	IBV_SEND_SOLICITED

/* The receive queue: messages arrive, solicited or not */
static void arriving(void)
{
	struct ibv_cq *cq = p.b.rcq;
	struct ibv_wc wc;

	/* CN-03: a channel without an arm does not notify */
	message(SIG | SE);
	drain(p.a.scq, 1);
	expect_no_event("not armed");
	drain(cq, 1);

	/* CN-05: one event for each arm, however many completions; CN-12: an event polls none */
	arm(cq, 0);
	for (int i = 0; i < 10; i++)
		message(SIG);
	drain(p.a.scq, 10);
	expect_event(cq, "next");
	expect_no_event("a second one for one arm");
	drain(cq, 10);
	require(!ibv_poll_cq(cq, 1, &wc), "more completions than messages");

	/* CN-06: present completions do not notify, the next one does */
	for (int i = 0; i < 5; i++)
		message(SIG);
	drain(p.a.scq, 5);
	barrier(&p);
	arm(cq, 0);
	expect_no_event("completions that were there");
	message(SIG);
	expect_event(cq, "the sixth");
	drain(cq, 6);
	drain(p.a.scq, 1);

	/* CN-08: a solicited arm waits for a solicited completion */
	arm(cq, 1);
	message(SIG);
	message(SIG);
	drain(cq, 2);
	expect_no_event("not solicited");
	message(SIG | SE);
	expect_event(cq, "solicited");
	drain(cq, 1);
	drain(p.a.scq, 3);

	/* CN-07: "next" dominates in either order, and there is one event for both arms */
	for (int i = 0; i < 2; i++) {
		arm(cq, i);
		arm(cq, !i);
		message(SIG);
		expect_event(cq, "next and solicited");
		message(SIG | SE);
		drain(cq, 2);
		expect_no_event("a second one for both arms");
		drain(p.a.scq, 2);
	}
	/* CN-10: a "next" arm fires on a solicited completion, too */
	arm(cq, 0);
	message(SIG | SE);
	expect_event(cq, "next, solicited comes");
	drain(cq, 1);
	drain(p.a.scq, 1);
}

/* The send queue: completions signaled or not */
static void leaving(void)
{
	struct ibv_cq *cq = p.a.scq;

	arm(cq, 0);
	message(0);
	drain(p.b.rcq, 1);
	expect_no_event("unsignaled");
	message(SIG);
	expect_event(cq, "signaled");
	drain(cq, 1);
	drain(p.b.rcq, 1);
	/* a success of the SQ is never solicited */
	arm(cq, 1);
	message(SIG | SE);
	drain(p.b.rcq, 1);
	drain(cq, 1);
	expect_no_event("success, solicited");
}

/* CN-09: an error notifies a solicited arm, and so does a flush. */
static void errors(void)
{
	struct ibv_sge bad = { (uintptr_t)p.a.buf, 64, p.a.mr->lkey ^ 0xff };
	struct ibv_cq *cq;
	int err;

	/* SQ and RQ of b are flushed, a's SQ has the error itself */
	must_recv(&p.b, 900, 0, 64);
	must_recv(&p.a, 901, 0, 64);
	arm(p.b.rcq, 1);
	err = post_wr(&p.a, IBV_WR_SEND, 902, &bad, 1, 0, 0, 0);	/* unsignaled */
	require(!err, "%s", strerror(err));
	/* from the SQ, armed by leaving(), and from the peer's RQ, in either order */
	cq = take_event("an error of the SQ");
	require(cq == p.a.scq || cq == p.b.rcq, "another CQ");
	expect_event(cq == p.a.scq ? p.b.rcq : p.a.scq, "a flush of the RQ");
	expect_wc(p.a.scq, 902, IBV_WC_LOC_PROT_ERR, "bad lkey");
	expect_wc(p.b.rcq, 900, IBV_WC_WR_FLUSH_ERR, "flush");
	expect_wc(p.a.rcq, 901, IBV_WC_WR_FLUSH_ERR, "flush");
	/* in Error a WR is flushed at once */
	expect_state(&p.a, IBV_QPS_ERR, "after an error");
	arm(p.a.scq, 1);
	send_plain(&p.a, 903, 0);
	expect_event(p.a.scq, "a flush of the SQ");
	expect_wc(p.a.scq, 903, IBV_WC_WR_FLUSH_ERR, "flush");
	expect_no_event("after all");
}

/* CN-02: without a channel there is no notification */
static void no_channel(void)
{
	struct pair q;
	void (*hook)(struct end *e, struct ibv_qp_init_attr_ex *attr) = end_hook;

	end_hook = NULL;
	pair_open(&q);
	arm(q.b.rcq, 0);
	arm(q.a.scq, 1);
	pair_works(&q, "armed without a channel");
	expect_no_event("another CQ's");
	pair_close(&q);
	end_hook = hook;
}

void case_notify(void)
{
	ch = ibv_create_comp_channel(test_context());
	require(ch, "%s", strerror(errno));
	end_hook = channel_hook;
	pair_open(&p);
	arriving();
	leaving();
	no_channel();
	errors();
	pair_close(&p);
	require(!ibv_destroy_comp_channel(ch), "%s", strerror(errno));
}

/* One end of a ping-pong, which sleeps whenever its CQ is empty. */
struct player {
	struct end *e;
	struct ibv_comp_channel *ch;
	bool starts;
	bool solicited;
	uint64_t end;
	uint64_t rounds;
	uint64_t events;
};

/* However busy the machine is, which decides how long they take */
#define MIN_ROUNDS	100

/* CN-11: poll until empty, arm, poll, sleep. */
static void *play(void *arg)
{
	struct player *me = arg;
	struct pollfd pfd = { .fd = me->ch->fd, .events = POLLIN };
	const unsigned int flags = me->solicited ? SIG | SE : SIG;
	struct ibv_cq *cq;
	struct ibv_wc wc;
	bool armed = false, last = false;
	void *context;
	int n;

	if (me->starts)
		send_plain(me->e, 0, flags);
	while (!last) {
		n = ibv_poll_cq(me->e->rcq, 1, &wc);
		require(n >= 0, "ibv_poll_cq: %d", n);
		if (n) {
			require(wc.status == IBV_WC_SUCCESS && wc.wr_id == me->rounds % 8, "%s",
				ibv_wc_status_str(wc.status));
			/*
			 * the end that started the game ends it, with a message of another length
			 */
			last = wc.byte_len == 65;
			must_recv(me->e, me->rounds++ % 8, 64 * 128, 128);
			if (last && me->starts)
				break;
			if (last || (me->starts && now_ms() > me->end && me->rounds > MIN_ROUNDS)) {
				struct ibv_sge sge = sge_of(me->e, 0, 65);

				require(!post_wr(me->e, IBV_WR_SEND, 0, &sge, 1, flags, 0, 0),
					"post");
			} else {
				send_plain(me->e, 0, flags);
			}
			expect_wc(me->e->scq, 0, IBV_WC_SUCCESS, "send");
			continue;
		}
		if (!armed) {
			arm(me->e->rcq, me->solicited);
			armed = true;
			continue;
		}
		require(poll(&pfd, 1, 20000) == 1, "%s: no event in round %llu",
			me->starts ? "first" : "second", (unsigned long long)me->rounds);
		require(!ibv_get_cq_event(me->ch, &cq, &context), "%s", strerror(errno));
		ibv_ack_cq_events(cq, 1);
		me->events++;
		armed = false;
	}
	return NULL;
}

static struct player players[2];

static void play_hook(struct end *e, struct ibv_qp_init_attr_ex *attr)
{
	struct player *me = &players[e == &p.b];

	me->ch = ibv_create_comp_channel(e->id->verbs);
	require(me->ch, "%s", strerror(errno));
	me->e = e;
	e->rcq = ibv_create_cq(e->id->verbs, 16, NULL, me->ch, 0);
	require(e->rcq, "%s", strerror(errno));
}

void case_notify_busy(void)
{
	const unsigned int seconds = env_uint("CQ_SECONDS", 8);

	for (int solicited = 0; solicited < 2; solicited++) {
		pthread_t thread;

		memset(players, 0, sizeof(players));
		end_hook = play_hook;
		pair_open(&p);
		for (int k = 0; k < 2; k++) {
			for (int i = 0; i < 8; i++)
				must_recv(players[k].e, i, 64 * 128, 128);
			players[k].solicited = solicited;
			players[k].end = now_ms() + seconds * 500;
		}
		players[0].starts = true;
		require(!pthread_create(&thread, NULL, play, &players[1]), "pthread_create");
		play(&players[0]);
		pthread_join(thread, NULL);
		note("%s: rounds %llu events %llu %llu", solicited ? "solicited" : "next",
		     (unsigned long long)players[0].rounds, (unsigned long long)players[0].events,
		     (unsigned long long)players[1].events);
		require(players[0].rounds > MIN_ROUNDS, "too few rounds");
		require(players[0].rounds - players[1].rounds <= 1 ||
			players[1].rounds - players[0].rounds <= 1, "rounds differ");
		pair_close(&p);
		for (int k = 0; k < 2; k++)
			require(!ibv_destroy_comp_channel(players[k].ch), "%s", strerror(errno));
	}
}
