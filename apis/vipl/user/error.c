// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Errors that no descriptor reports (9.9.1). The cause of a broken connection is known on
 * srnic devices, which keep the Terminate message; on others the connection is just lost.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <syslog.h>
#include <srnicdv.h>
#include "dispatch.h"
#include "error.h"
#include "lock.h"

/* --- reports --- */

static const char *const names[] = {
	[VIP_ERROR_POST_DESC] = "a descriptor is not in registered memory of the tag",
	[VIP_ERROR_CONN_LOST] = "a connection is lost",
	[VIP_ERROR_RECVQ_EMPTY] = "a message found no descriptor",
	[VIP_ERROR_VI_OVERRUN] = "a descriptor was one too many",
	[VIP_ERROR_RDMAW_PROT] = "the peer may not write there",
	[VIP_ERROR_RDMAW_DATA] = "the peer's RDMA Write was damaged",
	[VIP_ERROR_RDMAW_ABORT] = "the peer's RDMA Write was cut off",
	[VIP_ERROR_RDMAR_PROT] = "the peer may not read there",
	[VIP_ERROR_COMP_PROT] = "a descriptor ended in memory that is not registered",
	[VIP_ERROR_CATASTROPHIC] = "the device is gone, or its link is down",
};

/* A lost connection is no error in the log: the peer may have ended it normally. */
static void log_error(const VIP_ERROR_DESCRIPTOR *error)
{
	syslog(error->ErrorCode == VIP_ERROR_CONN_LOST ? LOG_INFO : LOG_ERR,
	       "libvipl: VI %p, descriptor %p: %s", error->ViHandle,
	       (void *)error->DescriptorPtr, names[error->ErrorCode]);
}

/**
 * vipl_error() - Report an error to the program
 * @nic: the NIC
 * @error: the error; its NIC is filled in
 *
 * Context: the NIC's lock is held; the program's function is called later.
 */
void vipl_error(struct vipl_nic *nic, const VIP_ERROR_DESCRIPTOR *error)
{
	struct vipl_call *call = nic->on_error ? calloc(1, sizeof(*call)) : NULL;

	nic->counters.AsynchronousErrors++;
	if (!call) {
		log_error(error);
		return;
	}
	call->error_handler = nic->on_error;
	call->context = nic->on_error_context;
	call->error = *error;
	call->error.NicHandle = nic->handle;
	vipl_dispatch(nic, call);
}

/* Gives queued errors to the new handler: the program may have freed the old handler's context */
static void redirect(struct vipl_nic *nic)
{
	struct vipl_call **p = &nic->calls, *call;

	while ((call = *p)) {
		if (call->error_handler && nic->on_error) {
			call->error_handler = nic->on_error;
			call->context = nic->on_error_context;
		} else if (call->error_handler) {
			*p = call->next;
			log_error(&call->error);
			free(call);
			continue;
		}
		p = &call->next;
	}
}

/* Waits until the old handler has returned, if it runs in another thread; the NIC may be closed */
static void await_call(struct vipl_nic *nic)
{
	struct vipl_deadline never = { .never = true };
	unsigned long before = nic->called_times;
	void *handle = nic->handle;

	if (!nic->calling || !nic->calling->error_handler || vipl_dispatch_is_self(nic))
		return;
	while (nic->called_times == before && vipl_object(nic, VIPL_NIC, handle))
		vipl_wait(nic, &never);
}

/**
 * VipErrorCallback() - Set the handler of errors that no descriptor reports (9.9.1)
 * @NicHandle: of VipOpenNic()
 * @Context: passed to @Handler
 * @Handler: called in a thread of the library, and may call the library; NULL: errors
 * are written to the system's log
 *
 * When this returns the library does not call the replaced handler any more, and a call of it that
 * was in progress has ended.
 *
 * Context: any thread; waits for that handler to return, unless it is the caller.
 * Return: VIP_SUCCESS, VIP_INVALID_PARAMETER, also if no thread can be created.
 */
VIP_RETURN VipErrorCallback(VIP_NIC_HANDLE NicHandle, VIP_PVOID Context,
			    void (*Handler)(VIP_PVOID, VIP_ERROR_DESCRIPTOR *))
{
	struct vipl_nic *nic;
	bool done;

	vipl_enter(VIPL_NIC, NicHandle, &nic);
	done = nic && (!Handler || vipl_dispatch_start(nic));
	if (done) {
		nic->on_error = Handler;
		nic->on_error_context = Context;
		redirect(nic);
		await_call(nic);
	}
	vipl_leave(nic);
	return done ? VIP_SUCCESS : VIP_INVALID_PARAMETER;
}

/* --- causes of a broken connection --- */

/* RFC 5040 4.8 and RFC 5041 8.2 */
#define LAYER_RDMAP		0
#define LAYER_DDP		1
#define RDMAP_PROTECTION	1
#define DDP_TAGGED		1
#define DDP_UNTAGGED		2
#define DDP_NO_BUFFER		2

static struct {
	bool (*is_supported)(struct ibv_device *device);
	int (*query_terminate)(struct ibv_qp *qp, struct srnicdv_terminate *term);
} srnicdv;

static pthread_once_t srnicdv_once = PTHREAD_ONCE_INIT;

/* Without libsrnic no device is an srnic. */
static void find_srnicdv(void)
{
	void *lib = dlopen("libsrnic.so.1", RTLD_NOW);

	if (!lib)
		return;
	srnicdv.is_supported = dlsym(lib, "srnicdv_is_supported");
	srnicdv.query_terminate = dlsym(lib, "srnicdv_query_terminate");
}

static bool get_terminate(struct ibv_qp *qp, struct srnicdv_terminate *term)
{
	pthread_once(&srnicdv_once, find_srnicdv);
	return srnicdv.is_supported && srnicdv.query_terminate &&
	       srnicdv.is_supported(qp->context->device) &&
	       !srnicdv.query_terminate(qp, term) && term->valid;
}

/* Finds the peer's operation that this end has terminated; the peer's descriptor fails, too */
static bool cause_of(const struct srnicdv_terminate *term, VIP_ERROR_DESCRIPTOR *error)
{
	if (!term->local)
		return false;
	if (term->layer == LAYER_RDMAP && term->etype == RDMAP_PROTECTION) {
		error->ErrorCode = VIP_ERROR_RDMAR_PROT;
		error->OpCode = VIP_STATUS_OP_RDMA_READ;
	} else if (term->layer == LAYER_DDP && term->etype == DDP_TAGGED) {
		error->ErrorCode = VIP_ERROR_RDMAW_PROT;
		error->OpCode = VIP_STATUS_OP_RDMA_WRITE;
	} else if (term->layer == LAYER_DDP && term->etype == DDP_UNTAGGED &&
		   term->code == DDP_NO_BUFFER) {
		error->ErrorCode = VIP_ERROR_RECVQ_EMPTY;
		error->OpCode = VIP_STATUS_OP_RECEIVE;
	} else {
		return false;
	}
	return true;
}

/**
 * vipl_error_of_peer() - The error of an operation that the peer has reported
 * @link: with its QP
 *
 * Context: the NIC's lock is held.
 * Return: bits of a descriptor's status, 0 without a Terminate of the peer.
 */
uint32_t vipl_error_of_peer(struct vipl_link *link)
{
	struct srnicdv_terminate term;

	if (!get_terminate(link->id->qp, &term) || term.local)
		return 0;
	if (term.layer == LAYER_DDP && term.etype == DDP_UNTAGGED)
		return VIP_STATUS_REMOTE_DESC_ERROR;
	if ((term.layer == LAYER_DDP && term.etype == DDP_TAGGED) ||
	    (term.layer == LAYER_RDMAP && term.etype == RDMAP_PROTECTION))
		return VIP_STATUS_RDMA_PROT_ERROR;
	return VIP_STATUS_TRANSPORT_ERROR;
}

/**
 * vipl_error_of_link() - Report a lost connection and its cause to the program
 * @link: begins to end, still has its QP
 *
 * Context: the NIC's lock is held.
 */
void vipl_error_of_link(struct vipl_link *link)
{
	VIP_ERROR_DESCRIPTOR error = {
		.ViHandle = link->vi->handle,
		.ResourceCode = VIP_RESOURCE_VI,
	};
	struct srnicdv_terminate term;

	if (get_terminate(link->id->qp, &term) && cause_of(&term, &error))
		vipl_error(link->nic, &error);
	error.OpCode = 0;
	error.ErrorCode = VIP_ERROR_CONN_LOST;
	vipl_error(link->nic, &error);
}
