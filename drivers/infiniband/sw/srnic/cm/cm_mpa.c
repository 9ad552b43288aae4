// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Connections: MPA start-up frames to and from an endpoint's stream. */

#include "cm/cm_priv.h"

/**
 * srnic_ep_send_request - send the MPA Request and prepare for the Reply
 * @ep: active, connected; locked
 *
 * Context: process, may sleep.
 * Return: 0 or an errno of the stream.
 */
int srnic_ep_send_request(struct srnic_ep *ep)
{
	u32 len;

	mpa_request_init(&ep->req, &ep->policy.mpa, ep->rev, ep->ird, ep->ord,
			 ep->pd_len);
	len = mpa_hello_encode(ep->frame, MPA_REQUEST, &ep->req);
	memcpy(ep->frame + len, ep->pdata, ep->pd_len);
	ep->got = 0;
	ep->want = MPA_HELLO_LEN;
	return srnic_stream_send_all(ep->dev, ep->stream, ep->frame, len + ep->pd_len,
				     SRNIC_CM_SEND_MS);
}

/**
 * srnic_ep_read_hello - read the available octets of a Request or Reply
 * @ep: with a stream; locked
 * @role: the expected frame
 * @hello: filled in as far as the frame has arrived
 *
 * Never reads beyond the frame: the octets after a Reply are the QP's (M-STA-9).
 *
 * Context: process, may sleep.
 * Return: MPA_OK if the frame is complete and valid, another (positive)
 * mpa_status if it is invalid, -EAGAIN if it is incomplete, -EPIPE at the end
 * of the stream, another errno if the connection is gone.
 */
int srnic_ep_read_hello(struct srnic_ep *ep, enum mpa_role role,
			struct mpa_hello *hello)
{
	enum mpa_status status;
	int n;

	while (ep->got < ep->want) {
		n = srnic_stream_recv(ep->stream, ep->frame + ep->got,
				      ep->want - ep->got);
		if (n <= 0)
			return n ?: -EPIPE;
		ep->got += n;
		if (ep->got != MPA_HELLO_LEN)
			continue;
		status = mpa_hello_decode(ep->frame, role, hello);
		if (status != MPA_OK)
			return status;
		ep->want += hello->pd_len;
	}
	if (!hello->enhanced)
		return MPA_OK;
	return mpa_enhanced_decode(ep->frame + MPA_HELLO_LEN, hello);
}

/**
 * srnic_ep_probe - is the peer still connected, and silent as it has to be?
 * @ep: passive, after the Request; locked
 *
 * Context: process, may sleep.
 * Return: 0; -EPROTO if it sent more than the Request (M-STA-9); -ECONNRESET
 * if it is gone.
 */
int srnic_ep_probe(struct srnic_ep *ep)
{
	u8 octet;
	int n = srnic_stream_recv(ep->stream, &octet, sizeof(octet));

	if (n == -EAGAIN)
		return 0;
	return n > 0 ? -EPROTO : -ECONNRESET;
}

/**
 * srnic_ep_put_reply - write a Reply into the endpoint's frame buffer
 * @ep: passive, after the Request; locked
 * @reply: its fixed part; @reply->pd_len covers @pd_len
 * @pdata: the ULP's private data
 * @pd_len: its octets
 *
 * Context: process.
 * Return: octets of the frame.
 */
u32 srnic_ep_put_reply(struct srnic_ep *ep, const struct mpa_hello *reply,
		       const void *pdata, u32 pd_len)
{
	u32 len = mpa_hello_encode(ep->frame, MPA_REPLY, reply);

	if (pd_len)
		memcpy(ep->frame + len, pdata, pd_len);
	return len + pd_len;
}

/**
 * srnic_ep_refuse - answer a Request with R set, then close
 * @ep: passive, after the Request, with a stream; locked
 * @pdata: the ULP's private data
 * @pd_len: its octets, at most SRNIC_CM_EVENT_MAX
 *
 * The Reply has the depths that an accepting one would have (V2-12). Context: process, may sleep.
 */
void srnic_ep_refuse(struct srnic_ep *ep, const void *pdata, u32 pd_len)
{
	struct mpa_hello reply;
	u32 len;

	mpa_reject_init(&reply, &ep->req,
			min(ep->req.ord, ep->policy.mpa.max_ird),
			min(ep->req.ird, ep->policy.mpa.max_ord), pd_len);
	len = srnic_ep_put_reply(ep, &reply, pdata, pd_len);
	if (srnic_stream_send_all(ep->dev, ep->stream, ep->frame, len, SRNIC_CM_SEND_MS))
		srnic_ep_close(ep, true);
	else
		srnic_ep_linger(ep);
}

/**
 * srnic_ep_terminate - send a Terminate as the first and only FPDU
 * @ep: active, after an accepting Reply; locked
 * @err: RDMAP_E_MPA_*
 *
 * RFC 6581 9.1 to 9.3 (V2-10, V2-15, V2-16). The QP has no stream yet, so the FPDU is built
 * here. An error of sending it does not change the outcome. Context: process, may sleep.
 */
void srnic_ep_terminate(struct srnic_ep *ep, enum rdmap_err err)
{
	struct rdmap_term term = { .err = *rdmap_error(err, RDMAP_IETF) };
	struct ddp_hdr hdr = {
		.last = true,
		.version = RDMAP_IETF,
		.ulp = rdmap_control(RDMAP_IETF, RDMAP_TERMINATE),
		.qn = DDP_QN_TERMINATE,
		.msn = 1,
	};
	u8 *ulpdu = ep->frame + MPA_LEN_FIELD;
	u32 phase = 0;
	u32 len;

	/* the only marker is before the FPDU (M-STA-6) */
	BUILD_BUG_ON(MPA_LEN_FIELD + DDP_UNTAGGED_LEN + RDMAP_MAX_TERM_LEN +
		     3 + MPA_CRC_LEN + MPA_MARKER_LEN > sizeof(ep->frame));

	term.err.hdrct = 0;		/* the Terminate quotes no segment */
	len = ddp_encode(ulpdu, &hdr);
	len += rdmap_term_encode(ulpdu + len, &term);
	len = mpa_fpdu_seal(ep->frame, len, true, ep->reply.markers ? &phase : NULL);
	if (!srnic_stream_send_all(ep->dev, ep->stream, ep->frame, len, SRNIC_CM_SEND_MS))
		srnic_count(ep->dev, SRNIC_CNT_TX_TERMINATE);
}

/**
 * srnic_ep_pdata - the ULP's part of a frame's private data, for an event
 * @ep: with the whole frame in its buffer; locked
 * @hello: the decoded frame
 * @event: its private data is set, at most SRNIC_CM_EVENT_MAX octets
 *
 * Context: process.
 * Return: false if the private data is truncated in @event.
 */
bool srnic_ep_pdata(struct srnic_ep *ep, const struct mpa_hello *hello,
		    struct iw_cm_event *event)
{
	u32 skip = hello->enhanced ? MPA_ENH_LEN : 0;
	u32 len = hello->pd_len - skip;

	event->private_data = ep->frame + MPA_HELLO_LEN + skip;
	event->private_data_len = min_t(u32, len, SRNIC_CM_EVENT_MAX);
	return len <= SRNIC_CM_EVENT_MAX;
}

/**
 * srnic_ep_event_depth - an IRD or ORD of the peer, for an event
 * @depth: as received, possibly MPA_NO_NEGOTIATION
 * @own: the most that this end can use
 * Context: any. Return: @depth, or @own if the peer has sent none, as an event can hold it.
 */
u8 srnic_ep_event_depth(u16 depth, u16 own)
{
	if (depth == MPA_NO_NEGOTIATION)
		depth = own;
	return min_t(u16, depth, SRNIC_CM_EVENT_MAX);
}
