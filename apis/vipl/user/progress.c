// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Completions and events. A program may poll a descriptor's status in memory, without a
 * call (6.4.2), so a thread of the NIC waits for completions. While calls of the program poll, the
 * thread only checks from time to time: a wake-up for each completion would take CPU time from the
 * program. The first completion that it finds at such a check ends that. Where no call polls or
 * waits, a completion is followed by more that only the thread finds: it goes on looking for a while,
 * and gives its CPU away before each look.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "error.h"
#include "establish.h"
#include "lane.h"
#include "listen.h"
#include "lock.h"
#include "progress.h"
#include "transfer.h"

#define BATCH		16
#define FOREVER_MS	-1
#define MANY_IN_VAIN	8
/* Interval of the thread's checks while calls poll: the first, and the longest */
#define CALLERS_MS	1
#define CALLERS_MAX_MS	16
#define ENDING_MS	50	/* interval of its checks while links are ending, or there are requests */

#define GO_ON_US	200	/* so long it goes on looking after a completion, */
#define MANY_SEEN	8	/* if no call has polled or waited for more than so many */
#define TURNS		16	/* so often before it sees to events */
/* If each turn takes so long, at more checks than that in a row, it sleeps so often instead */
#define SLOW_US		500
#define MANY_SLOW	2
#define SLEEPS		1000

/* --- completions --- */

/*
 * Takes the completions that are there, which are no more than the WRs for which links have
 * reserved entries. Those that come meanwhile are for the next call: peers of Unreliable Delivery
 * may send as fast as this takes their messages, and other callers wait for the lock.
 */
static unsigned int drain(struct vipl_lane *lane)
{
	const unsigned int most = lane->cq->cqe - lane->free;
	struct ibv_wc wc[BATCH];
	unsigned int found = 0;
	int n, i;

	while (found < most && (n = ibv_poll_cq(lane->cq, BATCH, wc)) > 0) {
		found += n;
		for (i = 0; i < n; i++)
			vipl_transfer_retire(&wc[i]);
	}
	return found;
}

static unsigned int drain_all(struct vipl_nic *nic)
{
	struct vipl_lane *lane;
	unsigned int found = 0;

	for (lane = nic->lanes; lane; lane = lane->next)
		found += drain(lane);
	return found;
}

/**
 * vipl_progress() - Take all completions that are there
 * @nic: the NIC
 *
 * Context: the NIC's lock is held; called by a thread of the program.
 */
void vipl_progress(struct vipl_nic *nic)
{
	drain_all(nic);
}

/**
 * vipl_progress_polled() - Note that a call of the program, which does not wait, has found nothing
 * @nic: the NIC
 *
 * Context: the NIC's lock is held.
 */
void vipl_progress_polled(struct vipl_nic *nic)
{
	__atomic_store_n(&nic->polls, nic->polls + 1, __ATOMIC_RELAXED);
}

/**
 * vipl_progress_posted() - Take completions after a post: some devices complete a WR at once
 * @link: that of the post
 *
 * The program may look for the status in memory, and does not have to wait for the thread then.
 *
 * Context: the NIC's lock is held; @link may be gone afterwards.
 */
void vipl_progress_posted(const struct vipl_link *link)
{
	if (link->lane)
		drain(link->lane);
}

/**
 * vipl_progress_awaited() - Let completions wake the thread, as a call of the program waits for one
 * @nic: the NIC; the caller has taken all completions
 *
 * The thread looks once more before it sleeps, unless it sleeps already.
 *
 * Context: the NIC's lock is held.
 */
void vipl_progress_awaited(struct vipl_nic *nic)
{
	nic->awaited = true;
	if (nic->naps)
		vipl_wake_thread(nic);
}

/* Completions after this wake the thread; earlier ones have been taken. */
static void arm(struct vipl_nic *nic)
{
	struct vipl_lane *lane;

	for (lane = nic->lanes; lane; lane = lane->next)
		ibv_req_notify_cq(lane->cq, 0);
	drain_all(nic);
}

/* --- events --- */

/* One event: poll() tells whether there are more. */
static void ack_completion(struct vipl_nic *nic)
{
	struct ibv_cq *cq;
	void *lane;

	if (!ibv_get_cq_event(nic->completions, &cq, &lane))
		ibv_ack_cq_events(cq, 1);
}

static void handle_event(struct vipl_nic *nic, const struct vipl_event *event)
{
	struct vipl_link *link;

	if (event->type == RDMA_CM_EVENT_CONNECT_REQUEST) {
		vipl_listen_request(nic, event);
		return;
	}
	/* What the peer has sent before it left comes first: the message that connects a VI, or data */
	if (event->type == RDMA_CM_EVENT_DISCONNECTED)
		drain_all(nic);
	link = handle_object(VIPL_LINK, event->context);
	if (link)
		vipl_establish_event(link, event);
}

static void copy_event(const struct rdma_cm_event *from, struct vipl_event *to)
{
	bool request = from->event == RDMA_CM_EVENT_CONNECT_REQUEST;

	to->type = from->event;
	to->id = request ? from->id : NULL;
	to->context = request ? from->listen_id->context : from->id->context;
	to->len = from->param.conn.private_data ? from->param.conn.private_data_len : 0;
	if (to->len)
		memcpy(to->data, from->param.conn.private_data, to->len);
}

/*
 * rdma_destroy_id() waits until the events of the id are acknowledged. So this acknowledges
 * the event before it takes the NIC's lock; the id may be gone then.
 */
static bool next_event(struct vipl_nic *nic)
{
	struct rdma_cm_event *from;
	struct vipl_event event;

	if (rdma_get_cm_event(nic->channel, &from))
		return false;
	copy_event(from, &event);
	rdma_ack_cm_event(from);
	pthread_mutex_lock(&nic->lock);
	handle_event(nic, &event);
	pthread_mutex_unlock(&nic->lock);
	return true;
}

/* --- events of the device --- */

/* Errors at all levels (7.1 to 7.3); the specification has no code for them */
static void device_event(struct vipl_nic *nic, enum ibv_event_type type)
{
	static const VIP_ERROR_DESCRIPTOR error = {
		.ResourceCode = VIP_RESOURCE_NIC,
		.ErrorCode = VIP_ERROR_CATASTROPHIC,
	};

	if (type != IBV_EVENT_DEVICE_FATAL && type != IBV_EVENT_PORT_ERR)
		return;
	pthread_mutex_lock(&nic->lock);
	nic->gone |= type == IBV_EVENT_DEVICE_FATAL;
	vipl_error(nic, &error);
	vipl_wake(nic);
	pthread_mutex_unlock(&nic->lock);
}

static void take_device_events(struct vipl_nic *nic)
{
	struct ibv_async_event event;

	while (!ibv_get_async_event(nic->events, &event)) {
		ibv_ack_async_event(&event);
		device_event(nic, event.event_type);
	}
}

/* --- the thread --- */

/* Aborts links whose peers do not close in time: VipDisconnect() waits for them. */
static bool end_links(struct vipl_nic *nic)
{
	struct vipl_link *link, *next;
	bool ending = false;

	for (link = nic->links; link; link = next) {
		next = link->next;
		if (!link->ending)
			continue;
		ending = true;
		if (vipl_now() >= link->abort_at)
			vipl_link_abort(link);
	}
	return ending;
}

/**
 * struct watch - state of the thread
 * @polls: nic->polls at the last check
 * @in_vain: number of checks in a row between which calls have polled, see judge()
 * @nap: time until the next check while calls poll, in ms
 * @alone: time since the last check with the lock, in ms
 * @seen: number of checks that have found something since a call has polled or waited
 * @turns: number of looks before the next check, 0 after it has slept
 * @found: completions of these looks
 * @at: time of the last check, in us, valid with @turns
 * @until: it goes on looking until then, likewise
 * @slow: number of checks in a row before which the turns took long
 * @sleeps: so often it sleeps before it goes on looking again
 */
struct watch {
	unsigned long polls;
	unsigned int in_vain;
	int nap;
	int alone;
	unsigned int seen;
	unsigned int turns;
	unsigned int found;
	uint64_t at;
	uint64_t until;
	unsigned int slow;
	unsigned int sleeps;
};

/* Return: how often calls of the program have polled in vain since the last check */
static unsigned long polled(struct vipl_nic *nic, struct watch *watch)
{
	unsigned long before = watch->polls;

	watch->polls = __atomic_load_n(&nic->polls, __ATOMIC_RELAXED);
	return watch->polls - before;
}

static bool callers_do_it(const struct watch *watch)
{
	return watch->in_vain > MANY_IN_VAIN;
}

static int nap(struct watch *watch)
{
	int ms = watch->nap;

	watch->alone += ms;
	watch->nap = ms * 2 < CALLERS_MAX_MS ? ms * 2 : CALLERS_MAX_MS;
	return ms;
}

/*
 * Do calls take the completions? A completion that the thread finds after a wake-up might have been
 * found by a call that polls, too; for one that it finds after a nap no call has polled. A wake-up
 * that finds nothing, without polls, does not count: a post has taken the completion.
 */
static void judge(struct watch *watch, unsigned long polls, unsigned int found)
{
	bool napped = callers_do_it(watch);

	if (polls > found && !(napped && found))
		watch->in_vain++;
	else if (napped || found)
		watch->in_vain = 0;
}

/*
 * Does the thread go on looking after this check? Other programs that keep the CPU for their whole
 * time slices would keep it from looking; a wake-up takes the CPU from them.
 */
static bool goes_on(struct watch *watch, unsigned int found)
{
	uint64_t now;

	if (watch->sleeps) {
		watch->sleeps--;
		return false;
	}
	if (watch->seen <= MANY_SEEN || (!found && !watch->turns))
		return false;
	now = vipl_now_us();
	if (watch->turns)
		watch->slow = now - watch->at > watch->turns * SLOW_US ? watch->slow + 1 : 0;
	if (watch->slow > MANY_SLOW) {
		watch->slow = 0;
		watch->sleeps = SLEEPS;
		return false;
	}
	if (found)
		watch->until = now + GO_ON_US;
	watch->at = now;
	return now < watch->until;
}

/* Looks, and gives way to the program before each look: it may wait for the same CPU. */
static void take_turns(struct vipl_nic *nic, struct watch *watch)
{
	bool called = false;
	unsigned int i;

	watch->turns = watch->turns ? watch->turns * 2 : 1;
	if (watch->turns > TURNS)
		watch->turns = TURNS;
	for (i = 0; i < watch->turns && !called; i++) {
		sched_yield();
		if (pthread_mutex_trylock(&nic->lock))
			continue;
		watch->found += drain_all(nic);
		called = nic->awaited || nic->polls != watch->polls;
		pthread_mutex_unlock(&nic->lock);
	}
}

/*
 * A check with the lock. @polls: how often calls have polled in vain since the check before.
 * Return: the time that the thread may sleep, in ms
 */
static int look(struct vipl_nic *nic, struct watch *watch, unsigned long polls)
{
	unsigned int found = drain_all(nic) + watch->found;
	bool ending = end_links(nic) | vipl_listen_expire(nic);
	bool awaited = nic->awaited;

	nic->awaited = false;
	watch->found = 0;
	watch->alone = 0;
	if (awaited)
		watch->in_vain = 0;
	judge(watch, polls, found);
	nic->naps = callers_do_it(watch);
	if (awaited || polls)
		watch->seen = 0;
	else
		watch->seen += found != 0;
	if (!nic->naps && goes_on(watch, found))
		return 0;
	watch->turns = 0;
	if (nic->naps)
		return nap(watch);
	watch->nap = CALLERS_MS;
	arm(nic);
	return ending ? ENDING_MS : FOREVER_MS;
}

/*
 * While calls poll, a call that has the lock finds the present completions: the thread leaves it
 * alone. Otherwise the thread waits for the lock: its wake-up is used up, and no call may follow.
 */
static int look_round(struct vipl_nic *nic, struct watch *watch)
{
	unsigned long polls = polled(nic, watch);
	int ms;

	if (!callers_do_it(watch) || !polls || watch->alone >= ENDING_MS)
		pthread_mutex_lock(&nic->lock);
	else if (pthread_mutex_trylock(&nic->lock))
		return nap(watch);
	ms = look(nic, watch, polls);
	pthread_mutex_unlock(&nic->lock);
	if (!ms)
		take_turns(nic, watch);
	return ms;
}

/* The files of a device that is gone are ready for ever: they are polled no more. */
static void take_events(struct vipl_nic *nic, struct pollfd *completions, struct pollfd *device)
{
	if (completions->revents)
		ack_completion(nic);
	if (device->revents)
		take_device_events(nic);
	if (completions->revents & ~POLLIN)
		completions->fd = -1;
	if (device->revents & ~POLLIN)
		device->fd = -1;
}

static void *look_after(void *arg)
{
	struct vipl_nic *nic = arg;
	struct pollfd fds[] = {
		{ .fd = nic->channel->fd, .events = POLLIN },
		{ .fd = nic->completions->fd, .events = POLLIN },
		{ .fd = nic->wake, .events = POLLIN },
		{ .fd = nic->events->async_fd, .events = POLLIN },
	};
	struct watch watch = { .nap = CALLERS_MS };
	eventfd_t times;
	int ms;

	while (!__atomic_load_n(&nic->closing, __ATOMIC_ACQUIRE)) {
		while (fds[0].revents && next_event(nic))
			;
		take_events(nic, &fds[1], &fds[3]);
		if (fds[2].revents && !eventfd_read(nic->wake, &times)) {
			watch.in_vain = 0;
			fds[2].revents = 0;
			continue;	/* @closing may be set */
		}
		ms = look_round(nic, &watch);
		poll(fds, sizeof(fds) / sizeof(fds[0]), ms);
	}
	return NULL;
}

static bool never_blocks(int fd)
{
	return !fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

static void free_files(struct vipl_nic *nic)
{
	if (nic->completions)
		ibv_destroy_comp_channel(nic->completions);
	if (nic->events)
		ibv_close_device(nic->events);
	close(nic->wake);
}

/**
 * vipl_progress_start() - Start the thread of a NIC
 * @nic: open, with a channel and a device
 *
 * Context: any; no lock is held.
 * Return: false without resources.
 */
bool vipl_progress_start(struct vipl_nic *nic)
{
	nic->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (nic->wake < 0)
		return false;
	nic->events = ibv_open_device(nic->id->verbs->device);
	nic->completions = ibv_create_comp_channel(nic->id->verbs);
	if (nic->events && nic->completions && never_blocks(nic->events->async_fd) &&
	    never_blocks(nic->completions->fd) && never_blocks(nic->channel->fd) &&
	    vipl_thread(&nic->thread, look_after, nic))
		return true;
	free_files(nic);
	return false;
}

/**
 * vipl_progress_stop() - Stop the thread of a NIC
 * @nic: without a link
 *
 * Context: the NIC's lock is held; released while it waits.
 */
void vipl_progress_stop(struct vipl_nic *nic)
{
	__atomic_store_n(&nic->closing, true, __ATOMIC_RELEASE);
	vipl_wake_thread(nic);
	pthread_mutex_unlock(&nic->lock);
	pthread_join(nic->thread, NULL);
	pthread_mutex_lock(&nic->lock);
	vipl_lanes_free(nic);
	free_files(nic);
}
