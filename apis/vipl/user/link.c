// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Connections in verbs: each has an rdma_cm_id and a QP of its own. */
#include <stdlib.h>
#include "bounce.h"
#include "error.h"
#include "link.h"
#include "lock.h"
#include "queue.h"

#define LINGER_MS	1000	/* until sent data has arrived, and the peer has closed, too */

/* --- life --- */

/**
 * vipl_link_new() - Make a link of an rdma_cm_id
 * @nic: its owner
 * @id: the link owns it from now on; destroyed on failure
 *
 * Context: the NIC's lock is held.
 * Return: the link, or NULL without memory.
 */
struct vipl_link *vipl_link_new(struct vipl_nic *nic, struct rdma_cm_id *id)
{
	struct vipl_link *link = calloc(1, sizeof(*link)), **p = &nic->links;

	if (link) {
		link->nic = nic;
		link->handle = handle_new(VIPL_LINK, link);
	}
	if (!link || !link->handle) {
		free(link);
		rdma_destroy_id(id);
		return NULL;
	}
	link->id = id;
	id->context = link->handle;
	link->send.link = link;
	link->recv.link = link;
	while (*p)
		p = &(*p)->next;
	*p = link;
	return link;
}

static void link_free(struct vipl_link *link)
{
	struct vipl_link **p = &link->nic->links;

	while (*p != link)
		p = &(*p)->next;
	*p = link->next;
	handle_free(link->handle);
	if (link->id->qp)
		rdma_destroy_qp(link->id);
	vipl_memory_free(link->mr);
	vipl_memory_free(link->buffers);
	if (link->lane)
		link->lane->free += VIPL_SEND_WRS + VIPL_RECV_WRS;
	rdma_destroy_id(link->id);
	free(link->send.slots);
	free(link->recv.slots);
	free(link);
}

/**
 * vipl_link_up() - Let descriptors use a link from now on
 * @link: connected, and both ends know it
 *
 * Context: the NIC's lock is held.
 */
void vipl_link_up(struct vipl_link *link)
{
	link->up = true;
	link->nic->counters.Connections++;
	link->vi->state = VIP_STATE_CONNECTED;
	link->vi->outcome = VIPL_CONNECTED;
	link->vi->remote = link->peer.attribs;
	vipl_wake(link->nic);
}

/* --- ending --- */

/**
 * vipl_link_abort() - Flush all WRs of a link's QP at once
 * @link: ending
 *
 * Context: the NIC's lock is held.
 */
void vipl_link_abort(struct vipl_link *link)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	link->abort_at = UINT64_MAX;
	if (link->id->qp)
		ibv_modify_qp(link->id->qp, &attr, IBV_QP_STATE);
}

/**
 * vipl_link_end() - Begin to end a link
 * @link: any, may be ending already
 * @then: state of its VI, if it has one, after the end
 *
 * Sent data arrives, if the peer takes it. The caller, or the last completion, calls
 * vipl_link_reap() afterwards.
 *
 * Context: the NIC's lock is held.
 */
void vipl_link_end(struct vipl_link *link, VIP_VI_STATE then)
{
	link->then = then;
	if (link->ending)
		return;
	if (then == VIP_STATE_ERROR) {
		link->vi->state = then;
		if (link->up)
			vipl_error_of_link(link);
		else
			link->vi->outcome = VIPL_FAILED;
	}
	link->ending = true;
	if (!link->up || rdma_disconnect(link->id)) {
		vipl_link_abort(link);
		return;
	}
	link->abort_at = vipl_now() + LINGER_MS;
	/* the thread aborts the link in time, even if nothing more comes from the peer */
	vipl_wake_thread(link->nic);
}

/**
 * vipl_link_fault() - End a link because of an error of its VI's program
 * @link: up, may be ending
 *
 * Any error ends a reliable connection (2.5.2), and no error an unreliable one (2.5.1). The caller
 * calls vipl_link_reap().
 *
 * Context: the NIC's lock is held.
 */
void vipl_link_fault(struct vipl_link *link)
{
	if (!link->ending && !vipl_is_ud(link->vi))
		vipl_link_end(link, VIP_STATE_ERROR);
}

/**
 * vipl_link_give_up() - End an attempt to connect
 * @link: not up
 * @outcome: for its VI
 *
 * The caller calls vipl_link_reap().
 *
 * Context: the NIC's lock is held.
 */
void vipl_link_give_up(struct vipl_link *link, enum vipl_outcome outcome)
{
	if (link->vi)
		link->vi->outcome = outcome;
	vipl_link_end(link, VIP_STATE_CONNECT_PENDING);
}

/**
 * vipl_link_broken() - Handle a link that has failed, or whose peer is gone
 * @link: does nothing if it is ending already
 *
 * Context: the NIC's lock is held.
 */
void vipl_link_broken(struct vipl_link *link)
{
	if (link->ending)
		return;
	if (link->up)
		vipl_link_end(link, VIP_STATE_ERROR);
	else
		vipl_link_give_up(link, VIPL_NOBODY);
}

/* Descriptors end with their connection; if there was none, receives are kept (5.2, 5.4). */
static void leave_vi(struct vipl_link *link)
{
	struct vipl_vi *vi = link->vi;

	vi->link = NULL;
	vi->state = link->then;
	if (link->up || link->then == VIP_STATE_ERROR) {
		vipl_queue_flush(vi, &vi->send);
		vipl_queue_flush(vi, &vi->recv);
	} else {
		vipl_queue_rewind(vi, &vi->recv);
	}
	vipl_bounce_release(vi);
}

/**
 * vipl_link_reap() - Free a link if it has ended
 * @link: any; freed if it is ending and has no WRs in progress
 *
 * Context: the NIC's lock is held.
 */
void vipl_link_reap(struct vipl_link *link)
{
	if (!link->ending || link->send.busy || link->recv.busy)
		return;
	vipl_wake(link->nic);
	if (link->vi)
		leave_vi(link);
	link_free(link);
}

/**
 * vipl_link_refuse() - Reject a request and end it
 * @link: the request
 * @why: VIPL_REFUSE or VIPL_NO_MATCH
 *
 * Context: the NIC's lock is held.
 */
void vipl_link_refuse(struct vipl_link *link, enum vipl_hello_kind why)
{
	struct vipl_hello hello = { .kind = why };
	char data[VIPL_HELLO_MAX];

	rdma_reject(link->id, data, vipl_hello_pack(&hello, data));
	vipl_link_end(link, VIP_STATE_IDLE);
	vipl_link_reap(link);
}
