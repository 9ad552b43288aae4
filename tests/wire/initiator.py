# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""MPA start-up where the peer is the initiator and the device the responder."""

import time

from iwarp import (ENH_C, MPA_C, MPA_M, MPA_R, MPA_S, READ_RESP, REP_KEY, REQ_KEY, SEND, WRITE,
                   fpdu, start_frame, tagged)
from peer import expect
from startup_suite import (ALL, Frame, MAX_DEPTH, NONE, OFFER, RTR, SLOW, TAKEN, accepted, closed,
                           crc_used, enhanced, exchange, large, nothing_more, request, send_rtr)


def refused(su, data):
    s = su.call()
    s.raw(data)
    closed(s)
    su.roles.quiet(0.05)


def rejected(su, data, rev):
    """A Reply with R, then the end."""
    s = su.call()
    s.raw(data)
    rep = Frame(s, REP_KEY)
    expect(rep.flags & MPA_R and rep.rev == rev, "flags %02x, revision %d" %
           (rep.flags, rep.rev))
    closed(s, graceful=True)
    su.roles.quiet(0.05)
    return rep


def good_request(su, data, rev, pd):
    su.roles.answer(pd=7)
    s = su.call()
    for i in range(len(data)):			# an octet at a time (M-REQ-6)
        s.raw(data[i:i + 1])
    got = su.roles.wait("CONNECT_REQUEST")
    expect(bytes.fromhex(got["pd"])[:len(pd)] == pd and not any(
        bytes.fromhex(got["pd"])[len(pd):]), "private data %s" % got["pd"])
    su.roles.wait("ESTABLISHED")
    rep = Frame(s, REP_KEY)
    expect(not rep.flags & MPA_R and rep.rev == rev, "flags %02x, revision %d" %
           (rep.flags, rep.rev))
    expect(rep.pd == bytes(range(7)), "private data %s" % rep.pd.hex())
    expect(rep.flags & MPA_C and not rep.flags & MPA_M, "flags %02x" % rep.flags)	# M-CRC-1


def reply_s(su, flags, rev, want):
    """S as in the Request (V2-17), private data without the enhanced part"""
    s = request(su, rev, flags, enh=None)
    rep = accepted(su, s, rev)
    expect(bool(rep.flags & MPA_S) == want, "flags %02x" % rep.flags)


def large_fpdus(su, flags, answer):
    s = request(su, flags=MPA_C | flags)
    accepted(su, s, reserved=answer)
    send_rtr(s, "write")
    large(s, answer)


def app_rejects(su, rev):
    su.roles.answer("reject", pd=9)
    s = request(su, rev)
    su.roles.wait("CONNECT_REQUEST")
    rep = Frame(s, REP_KEY)
    expect(rep.flags & MPA_R and rep.pd == bytes(range(9)), "flags %02x, private data %s" %
           (rep.flags, rep.pd.hex()))
    expect(bool(rep.flags & MPA_S) == (rev == 2), "S")
    closed(s, graceful=True)


def silent_gate(su, kind):
    """The device sends nothing before the first FPDU (M-STA-4), or if that is bad."""
    s = request(su, enh=enhanced(rtr=RTR[kind or "write"], a=kind is not None))
    accepted(su, s)
    su.roles.tell("send", 7)
    nothing_more(s)
    if kind == "read":				# the answer may come before the Send, or after it
        s.read(0, 0, 0, 0, 0)
        expect({s.get().op, s.get().op} == {SEND, READ_RESP}, "%s" % s.got)
    else:
        send_rtr(s, kind or "write")
        seg = s.get()
        expect(seg.op == SEND and len(seg.payload) == 7, "%s" % seg.ulpdu.hex())


def bad_first(su):
    s = request(su)
    accepted(su, s)
    su.roles.tell("send", 7)
    s.raw(fpdu(tagged(WRITE, 0, 0), crc=0x12345678))
    closed(s)
    su.roles.wait("DISCONNECTED")


def timeout_request(su, data, limit):
    """Closed when the time limit is reached, and not before."""
    s = su.call()
    s.raw(data)
    begin = time.monotonic()
    closed(s)
    took = time.monotonic() - begin
    expect(limit - 0.2 <= took < limit + 3 * SLOW, "after %.1f s" % took)
    su.roles.quiet(0.05)


def timeout_rtr(su, limit):
    s = request(su)
    accepted(su, s)
    begin = time.monotonic()
    closed(s)
    took = time.monotonic() - begin
    expect(limit - 0.2 <= took < limit + 3 * SLOW, "after %.1f s" % took)
    su.roles.wait("DISCONNECTED")


def no_timeout_without_p2p(su, seconds):
    """An initiator that does not owe an RTR has no time limit."""
    s = request(su, enh=enhanced(a=False, rtr=(0, 0)))
    accepted(su, s)
    nothing_more(s, seconds)
    s.put(tagged(WRITE, 0, 0))
    su.roles.tell("send", 3)
    expect(s.get().op == SEND, "no Send")


def timeout_accept(su, limit):
    su.roles.answer("ignore")
    s = request(su)
    su.roles.wait("CONNECT_REQUEST")
    begin = time.monotonic()
    closed(s)
    took = time.monotonic() - begin
    expect(limit - 0.2 <= took < limit + 3 * SLOW, "after %.1f s" % took)


def responder_crc(su, flags, want_c, used):
    """C of the Reply, and whether CRC is used in both directions."""
    su.roles.answer(recvs=1)
    s = request(su, flags=flags)
    rep = accepted(su, s)
    expect(bool(rep.flags & MPA_C) == want_c, "flags %02x" % rep.flags)
    crc_used(su, s, used)


def responder_markers(su, want):
    s = request(su)
    rep = accepted(su, s)
    expect(bool(rep.flags & MPA_M) == want, "flags %02x" % rep.flags)


def responder_depths(su, ird, ord, own):
    """RFC 6581 9.1: (IRD, ORD) of the Request and of our application: the negotiated values."""
    su.roles.answer(resources=own, depth=own)
    s = request(su, enh=enhanced(ird, ord, rtr=(0, ENH_C)))
    got = su.roles.wait("CONNECT_REQUEST")
    # the application gets the initiator's values; without negotiation, our own limit
    expect(got["depth"] == (MAX_DEPTH if ird == NONE else min(ird, 255)) and
           got["resources"] == (MAX_DEPTH if ord == NONE else min(ord, 255)),
           "resources %d, depth %d" % (got["resources"], got["depth"]))
    su.roles.wait("ESTABLISHED")
    rep = Frame(s, REP_KEY)
    if ord == NONE:				# V2-11
        expect(rep.ird == NONE, "IRD %d" % rep.ird)
    else:					# V2-8: covers the initiator's ORD, if it can
        expect(min(ord, MAX_DEPTH) <= rep.ird <= MAX_DEPTH, "IRD %d" % rep.ird)
    if ird == NONE:
        expect(rep.ord == NONE, "ORD %d" % rep.ord)
    else:					# V2-7
        expect(rep.ord == min(ird, own), "ORD %d" % rep.ord)


def responder_rtr(su, kind):
    su.roles.answer(recvs=1)
    s = request(su, enh=enhanced(rtr=RTR[kind]))
    rep = accepted(su, s)
    expect(rep.a and kind in rep.rtr(), "RTR of the Reply: %s" % rep.rtr())
    send_rtr(s, kind)
    exchange(su, s, 1)


def responder_offers(su, flags, want):
    s = request(su, enh=enhanced(rtr=flags))
    rep = accepted(su, s)
    expect(rep.a and rep.rtr() == want, "RTR of the Reply: %s" % rep.rtr())


def responder_no_p2p(su):
    s = request(su, enh=enhanced(rtr=ALL, a=False))
    rep = accepted(su, s)
    expect(not rep.a and not rep.rtr(), "A or RTR in the Reply")


def rtr_read_without_ord(su):
    su.roles.answer(resources=0, depth=0)
    s = request(su, enh=enhanced(0, 0, rtr=RTR["read"]))
    rep = accepted(su, s)
    expect(rep.rtr() == {"read"} and rep.ird >= 1, "RTR %s, IRD %d" % (rep.rtr(), rep.ird))
    send_rtr(s, "read")
    su.roles.tell("send", 1)
    expect(s.get().op == SEND, "no Send")


def reject_depths(su):
    """The depths of the Reply to an accepted Request (V2-9, V2-12)"""
    su.roles.answer("reject")
    s = request(su, enh=enhanced(3, 200))
    su.roles.wait("CONNECT_REQUEST")
    rep = Frame(s, REP_KEY)
    expect(rep.flags & MPA_R and rep.flags & MPA_S, "flags %02x" % rep.flags)
    expect((rep.ird, rep.ord) == (MAX_DEPTH, 3), "IRD %d, ORD %d" % (rep.ird, rep.ord))


def snapshot(su):
    """A policy that is written applies to connections that begin later."""
    s = su.call()
    frame = start_frame(REQ_KEY, 0, 2, b"", enhanced())
    s.raw(frame[:1])
    su.roles.quiet(0.2)				# accepted by the device with its first octet
    su.set(crc="off")
    s.raw(frame[1:])
    rep = accepted(su, s)
    expect(rep.flags & MPA_C, "an old connection has the new policy")
    s = request(su, flags=0)
    rep = accepted(su, s)
    expect(not rep.flags & MPA_C, "a new connection has the old policy")


def as_initiator(t):
    for i in range(16):
        bad = REQ_KEY[:i] + bytes([REQ_KEY[i] ^ 1]) + REQ_KEY[i + 1:]
        t("M-REQ-1", "Request, octet %d of the key wrong" % i, refused, start_frame(bad, MPA_C, 1))
    t("M-REQ-1", "a Reply in place of a Request", refused, start_frame(REP_KEY, MPA_C, 1))
    for rev in (1, 2):
        enh = enhanced() if rev == 2 else None
        for n in (0, 1, 200, 255 - 4):
            pd = bytes(i & 255 for i in range(n))
            t("M-REQ-6", "Request of revision %d, %d octets for the application" % (rev, n),
              good_request, start_frame(REQ_KEY, MPA_C, rev, pd, enh), rev, pd)
        # iw_cm's event has room for 255
        t("M-REQ-6", "Request of revision %d, 256 octets for the application" % rev, rejected,
          start_frame(REQ_KEY, MPA_C, rev, bytes(256), enh), rev)
        n = 512 if rev == 1 else 508		# V2-3
        t("V2-3", "Request of revision %d, %d octets for the application" % (rev, n), rejected,
          start_frame(REQ_KEY, MPA_C, rev, bytes(n), enh), rev)
        t("M-REQ-6", "Request of revision %d, one octet more" % rev, refused,
          start_frame(REQ_KEY, MPA_C, rev, bytes(n + 1), enh))
        t("M-REQ-3", "Request of revision %d with R" % rev, good_request,
          start_frame(REQ_KEY, MPA_C | MPA_R, rev, b"x", enh), rev, b"x")
        t("M-REQ-4", "Request of revision %d with reserved flags" % rev, good_request,
          start_frame(REQ_KEY, MPA_C | 0x0F, rev, b"x", enh), rev, b"x")
        t("M-STA-9", "octets behind a Request of revision %d" % rev, refused,
          start_frame(REQ_KEY, MPA_C, rev, b"", enh) + b"\0")
        t("M-STA-2", "the application rejects, revision %d" % rev, app_rejects, rev)
    t("M-RDMAC-1", "Request of revision 0", rejected, start_frame(REQ_KEY, MPA_C, 0), 1)
    for rev in (3, 255):
        t("M-REQ-5", "Request of revision %d" % rev, refused, start_frame(REQ_KEY, MPA_C, rev))
    for n in range(4):
        t("V2-1", "Request with S and %d octets" % n, refused,
          start_frame(REQ_KEY, MPA_C | MPA_S, 2, bytes(n)))
    t("V2-17", "Request of revision 2 without S", reply_s, MPA_C, 2, False)
    t("V2-2", "Request of revision 1 with S, which is reserved there", reply_s, MPA_C | MPA_S, 1,
      False)
    t("V2-19", "Request of revision 2, policy revision 1", refused,
      start_frame(REQ_KEY, MPA_C, 2, b"", enhanced()), mpa_revision=1)
    t("V2-2", "Request of revision 1, policy revision 1", reply_s, MPA_C, 1, False,
      mpa_revision=1)

    for flags, policy, answer in ((OFFER, "auto", TAKEN), (0, "auto", 0), (TAKEN, "auto", 0),
                                  (0x0F, "auto", 0), (OFFER, 0, 0), (OFFER, 65535, 0)):
        t("M-REQ-4", "Request with the flags %02x, max_fpdu %s: large FPDUs are %s" %
          (flags, policy, "agreed" if answer else "not agreed"), large_fpdus, flags, answer,
          max_fpdu=policy)

    t("M-STA-4", "no FPDU before the initiator's", silent_gate, None)
    for kind in RTR:
        t("M-STA-4", "no FPDU before the RTR by " + kind, silent_gate, kind)
    t("M-STA-4", "a first FPDU with a wrong CRC", bad_first)

    whole = start_frame(REQ_KEY, MPA_C, 2, bytes(20), enhanced())
    for what, data in (("a connection without a word", b""), ("half of the key", whole[:8]),
                       ("half of the private data", whole[:30])):
        t("M-STA-7", what, timeout_request, data, 1, request_timeout=1)
    t("M-STA-8", "a Request, but no RTR", timeout_rtr, 1, request_timeout=1)
    t("M-STA-8", "no RTR is due without A", no_timeout_without_p2p, 2, request_timeout=1)
    t("M-STA-8", "the application does not decide", timeout_accept, 1, accept_timeout=1)

    # C of the Request and policy: C of the Reply, used
    for policy, flags, c, used in (("required", MPA_C, True, True), ("required", 0, True, True),
                                   ("preferred", MPA_C, True, True),
                                   ("preferred", 0, False, False), ("off", MPA_C, False, True),
                                   ("off", 0, False, False)):
        t("M-CRC-2" if used else "M-CRC-3", "Request %s C, policy %s" %
          ("with" if flags else "without", policy), responder_crc, flags, c, used, crc=policy)
    t("M-REQ-2", "M of the Reply, markers off", responder_markers, False)
    t("M-REQ-2", "M of the Reply, markers on", responder_markers, True, markers="on")

    for ird in (0, 1, 8, 255, 16382, NONE):
        for ord in (0, 1, 8, 255, 16382, NONE):
            ident = "V2-11" if NONE in (ird, ord) else "V2-7"
            t(ident, "Request with IRD %d, ORD %d" % (ird, ord), responder_depths, ird, ord, 4)
    t("V2-8", "RTR by read although ORD is 0", rtr_read_without_ord)
    t("V2-12", "depths in a Reply that rejects", reject_depths)
    for kind in RTR:
        t("V2-20", "RTR by %s, then data both ways" % kind, responder_rtr, kind)
    t("V2-13", "Request without A, with B, C and D", responder_no_p2p)
    t("V2-14", "all kinds asked for", responder_offers, ALL, {"send", "write", "read"})
    for kind in RTR:
        t("V2-14", "only %s asked for" % kind, responder_offers, RTR[kind], {kind})
        t("V2-14", "all asked for, policy %s" % kind, responder_offers, ALL, {kind}, rtr=kind)
    t("V2-14", "read asked for, policy send write", responder_offers, RTR["read"],
      {"send", "write"}, rtr="send write")
    t("POLICY", "a change is for new connections", snapshot, crc="required")
