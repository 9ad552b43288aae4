# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""MPA start-up where the peer is the responder and the device the initiator."""

import socket
import struct
import time

from iwarp import (MPA_C, MPA_M, MPA_R, MPA_S, READ_REQ, READ_RESP, REP_KEY, REQ_KEY, SEND, fpdu,
                   read_req, start_frame, tagged, untagged)
from peer import expect
from startup_suite import (ALL, DATA, Frame, NONE, OFFER, RTR, SLOW, SUCCESS, TAKEN, asked, closed,
                           crc_used, enhanced, exchange, large, nothing_more, take_rtr, terminated)


def fails(su, event, status, graceful=False, **kw):
    """Replies that the device must refuse."""
    s, _ = asked(su, **kw)
    got = su.roles.wait(event)
    expect(got["status"] == status, "status %d" % got["status"])
    closed(s, graceful)


def first_request(su, pd):
    su.roles.connect(pd=pd, resources=5, depth=6)
    s = su.called()
    req = Frame(s, REQ_KEY)
    expect(req.rev == 2 and req.flags == MPA_C | MPA_S, "flags %02x, revision %d" %
           (req.flags, req.rev))
    expect(req.pd == bytes(range(pd)), "private data %s" % req.pd.hex())
    expect((req.ird, req.ord) == (5, 6), "IRD %d, ORD %d" % (req.ird, req.ord))
    expect(req.a and req.rtr() == {"send", "write", "read"}, "RTR %s" % req.rtr())
    nothing_more(s)


def reply_pd(su, pd, ok):
    data = bytes(i & 255 for i in range(pd))
    s, _ = asked(su, pd=data)
    if ok:
        got = su.roles.wait("ESTABLISHED")
        expect(got["pd"].startswith(data.hex()), "private data %s" % got["pd"])
        take_rtr(s, "write")
    else:
        su.roles.wait("CONNECT_ERROR")
        terminated(s, (2, 0, 5))


def large_fpdus(su, flags, policy):
    s, _ = asked(su, flags=MPA_C | flags, reserved=OFFER if policy == "auto" else 0)
    su.roles.wait("ESTABLISHED")
    take_rtr(s, "write")
    large(s, policy == "auto" and flags == TAKEN)


def reply_rejects(su, rev, pd):
    s, _ = asked(su, flags=MPA_R, rev=rev, pd=bytes(i & 255 for i in range(pd)))
    got = su.roles.wait("REJECTED")
    expect(got["status"] == -111, "status %d" % got["status"])
    expect(got["pd"].startswith(bytes(range(min(pd, 255))).hex()), "private data %s" %
           got["pd"])
    closed(s)


def reply_flags(su, flags):
    s, _ = asked(su, flags=flags)
    su.roles.wait("ESTABLISHED")
    take_rtr(s, "write")


def reply_with_fpdu(su):
    """An FPDU right behind the Reply is kept (M-STA-9)."""
    su.roles.connect(recvs=1)
    s = su.called()
    Frame(s, REQ_KEY)
    s.raw(start_frame(REP_KEY, MPA_C, 2, b"", enhanced()) +
          fpdu(untagged(SEND, 0, 1, DATA)) + fpdu(untagged(READ_REQ, 1, 1,
                                                           read_req(1, 2, 0, 0, 0))))
    su.roles.wait("ESTABLISHED")
    take_rtr(s, "write")
    expect(s.get().op == READ_RESP, "no Read Response")
    expect([100, SUCCESS, len(DATA)] in su.roles.completions(1), "no receive")


def initiator_crc(su, asks, flags, used):
    s, req = asked(su, flags=flags, recvs=1)
    expect(bool(req.flags & MPA_C) == asks, "flags %02x" % req.flags)
    su.roles.wait("ESTABLISHED")
    s.crc = used
    take_rtr(s, "write")
    crc_used(su, s, used)


def initiator_markers(su, want):
    su.roles.connect()
    s = su.called()
    req = Frame(s, REQ_KEY)
    expect(bool(req.flags & MPA_M) == want, "flags %02x" % req.flags)


def initiator_rtr(su, kind, offered):
    """The Reply offers several, the policy prefers one; a Send posted at once does not overtake
    it."""
    i, o = 0, 0
    for k in offered:
        i, o = i | RTR[k][0], o | RTR[k][1]
    s, _ = asked(su, enh=enhanced(rtr=(i, o)), recvs=1)
    su.roles.wait("ESTABLISHED")
    take_rtr(s, kind)
    expect(not su.roles.state()["wcs"], "the RTR completes")
    exchange(su, s, 2 if kind == "send" else 1)


def initiator_asks(su, kinds):
    su.roles.connect()
    s = su.called()
    req = Frame(s, REQ_KEY)
    expect(req.a == bool(kinds) and req.rtr() == set(kinds), "A %s, RTR %s" %
           (req.a, req.rtr()))


def initiator_no_p2p(su):
    s, req = asked(su, enh=enhanced(rtr=(0, 0), a=False))
    expect(not req.a and not req.rtr(), "A or RTR in the Request")
    su.roles.wait("ESTABLISHED")
    nothing_more(s)
    su.roles.tell("send", 3)
    expect(s.get().op == SEND, "no Send")


def no_rtr(su, enh):
    s, _ = asked(su, enh=enh)
    terminated(s, (2, 0, 7))
    expect(su.roles.wait("CONNECT_ERROR")["status"] == -71, "status")


def initiator_depths(su, own, ird, ord, want_ird, want_ord):
    """Of the Reply; the application's values, and the Reads outstanding."""
    s, req = asked(su, enh=enhanced(ird, ord, rtr=RTR["write"]), resources=own, depth=own)
    expect((req.ird, req.ord) == (own, own), "IRD %d, ORD %d" % (req.ird, req.ord))
    got = su.roles.wait("ESTABLISHED")
    # V2-12: the responder's own values
    expect((got["depth"], got["resources"]) == (want_ird, want_ord), "depth %d, resources %d" %
           (got["depth"], got["resources"]))
    take_rtr(s, "write")
    # our ORD is at most the responder's IRD (V2-7)
    limit = own if ird == NONE else min(own, ird)
    if not limit:
        return
    su.roles.tell("read", limit + 2, 0x99, 0x1000, 8)
    reqs = [s.get() for _ in range(limit)]
    expect(all(seg.op == READ_REQ for seg in reqs), "no Read Request")
    nothing_more(s, 0.15)
    for _ in range(2):
        sink, to, size, _, _ = struct.unpack(">IQIIQ", reqs.pop(0).payload)
        s.put(tagged(READ_RESP, sink, to, bytes(size)))
        reqs.append(s.get())
        expect(reqs[-1].op == READ_REQ, "no further Read Request")


def ird_raised(su, ord):
    """Our IRD is raised to the responder's ORD (V2-10)."""
    s, _ = asked(su, enh=enhanced(4, ord, rtr=RTR["write"]), resources=1, depth=1)
    su.roles.wait("ESTABLISHED")
    take_rtr(s, "write")
    s.raw(b"".join(fpdu(untagged(READ_REQ, 1, n + 1, read_req(1, 0, 8, su.roles.rkey,
                                                              su.roles.addr)))
                   for n in range(ord)))
    for n in range(ord):
        expect(s.get().op == READ_RESP, "Read %d of %d is refused" % (n + 1, ord))


def ird_too_much(su, ord):
    s, _ = asked(su, enh=enhanced(4, ord))
    terminated(s, (2, 0, 6))
    expect(su.roles.wait("CONNECT_ERROR")["status"] == -12, "status")


def initiator_revision_1(su):
    """Without an enhanced Request the stream is not enhanced (V2-18)."""
    s, req = asked(su, rev=1, pd=b"abc", recvs=1)
    expect(req.rev == 1 and req.flags == MPA_C and not req.pd, "flags %02x, revision %d" %
           (req.flags, req.rev))
    expect(su.roles.wait("ESTABLISHED")["pd"].startswith(b"abc".hex()), "private data")
    nothing_more(s)
    su.roles.tell("send", 3)
    expect(s.get().op == SEND, "no Send")


def falls_back(su, how):
    """A responder that supports revision 1 only (V2-19)."""
    su.roles.connect(recvs=1)
    s = su.called()
    expect(Frame(s, REQ_KEY).rev == 2, "revision")
    if how == "RST":
        s.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    elif how == "reject":
        s.raw(start_frame(REP_KEY, MPA_R, 1))
    elif how == "accept":
        s.raw(start_frame(REP_KEY, MPA_C, 1))
        closed(s)
    s.sock.close()
    s = su.called()
    req = Frame(s, REQ_KEY)
    expect(req.rev == 1 and not req.flags & MPA_S, "flags %02x, revision %d" %
           (req.flags, req.rev))
    s.raw(start_frame(REP_KEY, MPA_C, 1))
    su.roles.wait("ESTABLISHED")
    s.send(DATA)
    su.roles.tell("send", 2)
    expect(s.get().op == SEND, "no Send")
    s.read(0, 0, 0)
    expect(s.get().op == READ_RESP, "no Read Response")
    expect([100, SUCCESS, len(DATA)] in su.roles.completions(2), "no receive")


def no_second_fall_back(su):
    su.roles.connect()
    for rev in (2, 1):
        s = su.called()
        expect(Frame(s, REQ_KEY).rev == rev, "revision")
        s.sock.close()
    su.roles.wait("REJECTED")


def timeout_reply(su, limit, part):
    su.roles.connect()
    s = su.called()
    Frame(s, REQ_KEY)
    begin = time.monotonic()
    s.raw(part)
    got = su.roles.wait("UNREACHABLE")
    took = time.monotonic() - begin
    expect(got["status"] == -110 and limit - 0.2 <= took < limit + 3 * SLOW, "status %d after %.1f s" %
           (got["status"], took))
    closed(s)


def timeout_connect(su, limit):
    """No answer: the queue of a listener that never accepts is full."""
    sock = socket.socket(su.family)
    sock.bind((su.address, 0))
    sock.listen(0)
    filler = []
    for _ in range(3):
        c = socket.socket(su.family)
        c.setblocking(False)
        c.connect_ex(sock.getsockname()[:2])
        filler.append(c)
    time.sleep(0.3)
    begin = time.monotonic()
    su.roles.tell("connect", sock.getsockname()[1], 0, 1, 1, 0)
    got = su.roles.wait("UNREACHABLE")
    took = time.monotonic() - begin
    expect(got["status"] == -110 and limit - 0.2 <= took < limit + 3 * SLOW, "status %d after %.1f s" %
           (got["status"], took))
    for c in filler:
        c.close()
    sock.close()


def as_responder(t):
    for n in (0, 1, 255):
        t("V2-4", "the Request with %d octets of private data" % n, first_request, n)
    for i in range(16):
        bad = REP_KEY[:i] + bytes([REP_KEY[i] ^ 1]) + REP_KEY[i + 1:]
        t("M-STA-5", "Reply, octet %d of the key wrong" % i,
          lambda su, k=bad: fails(su, "CONNECT_ERROR", -71, key=k))
    t("M-REQ-1", "two initiators", lambda su: fails(su, "CONNECT_ERROR", -71, key=REQ_KEY))
    t("M-REQ-5", "Reply of revision 3", lambda su: fails(su, "CONNECT_ERROR", -71, rev=3))
    t("M-RDMAC-1", "Reply of revision 0", 
      lambda su: fails(su, "CONNECT_ERROR", -71, graceful=True, rev=0))
    t("V2-17", "Reply without S", lambda su: fails(su, "CONNECT_ERROR", -71, enh=None))
    t("V2-1", "Reply with S and 3 octets",
      lambda su: fails(su, "CONNECT_ERROR", -71, enh=None, flags=MPA_C | MPA_S, pd=b"abc"))
    t("M-REQ-6", "Reply with PD_Length 513",
      lambda su: fails(su, "CONNECT_ERROR", -71, pd=bytes(509)))
    for n, ok in ((0, True), (255, True), (256, False), (508, False)):
        t("M-REQ-6" if ok else "V2-16", "Reply with %d octets for the application" % n, reply_pd,
          n, ok)
    for rev in (1, 2):
        for n in (0, 30, 255, 400):
            t("M-STA-3", "Reply of revision %d that rejects, %d octets" % (rev, n),
              reply_rejects, rev, n, mpa_revision=rev)
    t("M-REQ-4", "Reply with reserved flags", reply_flags, MPA_C | 0x0F)
    for flags, policy in ((TAKEN, "auto"), (0, "auto"), (OFFER, "auto"), (0x0F, "auto"),
                          (TAKEN, 0), (TAKEN, 65535)):
        t("M-REQ-4", "Reply with the flags %02x, max_fpdu %s: large FPDUs" % (flags, policy),
          large_fpdus, flags, policy, max_fpdu=policy)
    t("M-STA-9", "FPDUs right behind the Reply", reply_with_fpdu)

    for policy, asks, flags, used in (("required", True, MPA_C, True),
                                      ("required", True, 0, True),
                                      ("preferred", True, 0, True), ("off", False, MPA_C, True),
                                      ("off", False, 0, False)):
        t("M-CRC-2" if used else "M-CRC-3", "Reply %s C, policy %s" %
          ("with" if flags else "without", policy), initiator_crc, asks, flags, used, crc=policy)
    t("M-REQ-2", "M of the Request, markers off", initiator_markers, False)
    t("M-REQ-2", "M of the Request, markers on", initiator_markers, True, markers="on")

    for kind in RTR:
        t("V2-5", "RTR by %s, the only one offered" % kind, initiator_rtr, kind, [kind])
    for order, offered, kind in (("write read send", RTR, "write"),
                                 ("read write send", RTR, "read"),
                                 ("send read write", RTR, "send"),
                                 ("send read write", ["read", "write"], "read"),
                                 ("send", RTR, "send"), ("read send", ["write", "send"], "send")):
        t("V2-15", "RTR, policy %s, offered %s" % (order, " ".join(offered)), initiator_rtr, kind,
          offered, rtr=order)
    for kinds in (["write"], ["read"], ["send"], ["send", "read"]):
        t("V2-13", "RTR asked for, policy %s" % " ".join(kinds), initiator_asks, kinds,
          rtr=" ".join(kinds))
    t("V2-13", "p2p off", initiator_asks, [], p2p="off")
    t("V2-13", "p2p off, and no RTR", initiator_no_p2p, p2p="off")
    t("V2-15", "no RTR in the Reply", no_rtr, enhanced(rtr=(0, 0)))
    t("V2-15", "a Reply without A", no_rtr, enhanced(rtr=ALL, a=False))
    t("V2-15", "RTR by send only, policy read write", no_rtr, enhanced(rtr=RTR["send"]),
      rtr="read write")
    t("V2-15", "RTR by read only, but IRD 0", no_rtr, enhanced(0, 4, rtr=RTR["read"]))

    for own, ird, ord, want in ((4, 4, 4, (4, 4)), (4, 1, 0, (1, 0)), (4, 8, 2, (8, 2)),
                                (2, NONE, NONE, (2, 2)), (3, NONE, 1, (3, 1)),
                                (3, 2, NONE, (2, 3)), (4, 0, 0, (0, 0)),
                                (4, 16382, 1, (255, 1))):
        t("V2-11" if NONE in (ird, ord) else "V2-12", "Reply with IRD %d, ORD %d; own %d" %
          (ird, ord, own), initiator_depths, own, ird, ord, *want)
    t("V2-10", "Reply with ORD 20, own IRD 1", ird_raised, 20)
    t("V2-10", "Reply with ORD 128", ird_raised, 128)
    for ord in (129, 16382):
        t("V2-10", "Reply with ORD %d" % ord, ird_too_much, ord)

    t("V2-18", "policy revision 1", initiator_revision_1, mpa_revision=1)
    for how in ("FIN", "RST", "reject", "accept"):
        t("V2-19", "fallback to revision 1: " + how, falls_back, how)
    t("V2-19", "no fallback from revision 1", no_second_fall_back)

    for what, part in (("silence", b""), ("half a key", REP_KEY[:8]),
                       ("half of the private data",
                        start_frame(REP_KEY, MPA_C, 2, bytes(30), enhanced())[:40])):
        t("M-STA-8", "no Reply: " + what, timeout_reply, 1, part, reply_timeout=1)
    t("M-STA-8", "no TCP connection", timeout_connect, 2, connect_timeout=2)
