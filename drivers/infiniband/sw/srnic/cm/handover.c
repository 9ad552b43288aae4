// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Hand-over: a program has connected a TCP socket by itself, has used it in streaming
 * mode, and makes it the stream of a QP (RDMAC verbs 6.2.1.2). The program does MPA's
 * start-up, too, so there is no endpoint: only the claim of the QP.
 */

#include <linux/err.h>
#include "cm/handover.h"
#include "engine/stream.h"
#include "engine/takeover.h"
#include "qp/qp.h"
#include "queue/trace.h"
#include "srnic.h"

/* Nothing to do: srnic_qp_attach() checks the QP's state */
static void handover_abort(void *priv)
{
}

static void handover_closed(void *priv, int err)
{
	/* the QP and its device may be freed after this */
	srnic_qp_put(priv);
}

static const struct srnic_llp_ops handover_llp_ops = {
	.abort = handover_abort,
	.closed = handover_closed,
};

/* The settings of a stream; version 0 always has CRC and markers (RFC 5044 C.1) */
static struct mpa_result handover_mpa(const struct srnic_attach *attach)
{
	struct mpa_result mpa = attach->mpa;

	mpa.crc |= attach->rdmac;
	mpa.tx_markers |= attach->rdmac;
	mpa.rx_markers |= attach->rdmac;
	return mpa;
}

/* Return: 0, and @stream is the QP's; an errno of srnic_qp_attach() */
static int handover_attach(struct srnic_qp *qp, const struct srnic_handover *req,
			   struct srnic_stream *stream, const struct srnic_policy *policy)
{
	struct srnic_attach attach = req->attach;
	struct sockaddr_storage local, remote;
	int err;

	attach.stream = stream;
	attach.mpa = handover_mpa(&req->attach);
	attach.policy = policy;
	attach.timeout_ms = policy->request_timeout * MSEC_PER_SEC;
	srnic_stream_names(stream, &local, &remote);
	srnic_stream_keepalive(stream, req->keepalive);
	err = srnic_qp_attach(qp, &attach);
	trace_srnic_conn(qp->dev, qp->ibqp.qp_num, "handed over", &local, &remote, err);
	return err;
}

/* @qp is claimed */
static int handover_stream(struct srnic_qp *qp, const struct srnic_handover *req,
			   const struct srnic_policy *policy)
{
	struct srnic_stream *stream;
	int err;

	stream = srnic_takeover_begin(qp->dev, req->file);
	if (IS_ERR(stream))
		return PTR_ERR(stream);
	err = handover_attach(qp, req, stream, policy);
	if (err)
		srnic_takeover_cancel(stream);
	else
		srnic_takeover_commit(req->file);
	return err;
}

/* IRD and ORD within the policy's, and CRC if the administrator requires it */
static int check_mpa(const struct srnic_handover *req, const struct mpa_policy *policy)
{
	const struct mpa_result mpa = handover_mpa(&req->attach);

	if (mpa.ird > policy->max_ird || mpa.ord > policy->max_ord)
		return -EINVAL;
	if (!mpa.crc && policy->crc == MPA_CRC_REQUIRED)
		return -EPERM;
	return 0;
}

static void handover_count(struct srnic_qp *qp, bool initiator, int err)
{
	if (err)
		srnic_count(qp->dev, SRNIC_CNT_CONN_FAILED);
	else
		srnic_count(qp->dev, initiator ? SRNIC_CNT_CONN_ACTIVE : SRNIC_CNT_CONN_PASSIVE);
}

/**
 * srnic_handover - take a QP from Idle to RTS with a consumer's own connection
 * @qp: alive, a program's or, by rnicpi.ko, a kernel consumer's
 * @req: the socket and its settings
 *
 * Context: process, of the consumer; may sleep: waits for room in the socket for the last
 * message, for the policy's request_timeout at most.
 *
 * Return: 0, and the socket is the QP's; -EINVAL for IRD or ORD above the policy's;
 * -EPERM without CRC if the policy requires CRC; -ENODEV if the device is leaving; an errno of
 * srnic_qp_claim(), srnic_takeover_begin() or srnic_qp_attach(). On an error the consumer keeps
 * the socket; a part of the last message may have been sent.
 */
int srnic_handover(struct srnic_qp *qp, const struct srnic_handover *req)
{
	struct srnic_policy policy = srnic_policy_get(&qp->dev->policy);
	int err;

	if (srnic_device_phase(qp->dev) == SRNIC_DEV_LEAVING)
		return -ENODEV;
	err = check_mpa(req, &policy.mpa);
	if (err)
		return err;
	kref_get(&qp->ref);
	err = srnic_qp_claim(qp, &handover_llp_ops, qp);
	if (!err) {
		err = handover_stream(qp, req, &policy);
		if (err)
			srnic_qp_unclaim(qp, qp);
	}
	if (err)
		srnic_qp_put(qp);
	handover_count(qp, req->attach.initiator, err);
	return err;
}
