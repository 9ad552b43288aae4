# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""The peer closes, in every state of a connection, for peer.py: by FIN or by RST."""

import socket
import struct
import time

from iwarp import (MPA_C, REP_KEY, REQ_KEY, SEND, TERMINATE, WRITE, StartFrame, Stream, fpdu,
                   start_frame, tagged, untagged)


def leave(sock, how):
    if how == "RST":
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


def in_startup(peer, p, data, how):
    """Before there is a stream: the listener goes on."""
    sock = peer.tcp()
    if data:
        sock.sendall(data)
    leave(sock, how)
    p.good_exchange(peer, 4096)


def revision_0(peer, p):
    """The device answers with its own revision, then closes (RFC 5044 Appendix C)."""
    stream = Stream(peer.tcp())
    stream.raw(start_frame(REQ_KEY, MPA_C, 0, peer.wish(length=p.STRAY)))
    rev = StartFrame(stream, REP_KEY).rev
    p.expect(rev == 1, "revision %d" % rev)
    p.expect(not stream.sock.recv(100), "not closed")
    stream.sock.close()


def after_request(peer, p, how, wait):
    """The target may or may not see the connection; its report is ignored (STRAY)."""
    sock = peer.tcp()
    sock.sendall(start_frame(REQ_KEY, MPA_C, 1, peer.wish(length=p.STRAY)))
    if wait:
        p.expect(sock.recv(20, socket.MSG_WAITALL), "no Reply")
    leave(sock, how)
    p.good_exchange(peer, 4096)


def before_first_fpdu(peer, p, how):
    """The responder has a WR posted, and must not send before the initiator has (M-STA-4)."""
    s = peer.connect(rev=1, op=p.SEND_OP, length=10)
    s.sock.settimeout(1)
    try:
        got = s.sock.recv(1)
        raise p.Failure("sent before the first FPDU: %r" % got)
    except socket.timeout:
        pass
    leave(s.sock, how)
    res = peer.result()
    p.expect([tuple(w[:2]) for w in res["wcs"]] == [(1, p.FLUSHED)], "%s" % res["wcs"])
    p.expect(res["state"] == p.STATE_ERR, "state %d" % res["state"])


def gate_stays_closed(peer, p):
    """An invalid first FPDU does not let the responder send (M-STA-4)."""
    s = peer.connect(rev=1, op=p.SEND_OP, length=10)
    s.raw(fpdu(tagged(WRITE, s.t.all, s.t.addr, b"x"), 0x12345678))
    try:
        segs, term = s.end()
    except ConnectionResetError:
        segs = term = None
    s.sock.close()
    peer.result()
    p.expect(not segs and not term, "sent: %s, Terminate %s" % (segs, term))


def gate_opens(peer, p):
    s = peer.connect(rev=1, op=p.SEND_OP, length=10)
    s.put(tagged(WRITE, 0, 0))
    seg = s.get()
    p.expect(seg.op == SEND and len(seg.payload) == 10, "no Send")
    s.sock.shutdown(socket.SHUT_WR)
    segs, term = s.end()
    s.sock.close()
    res = peer.result()
    p.expect(not segs and not term, "more was sent")
    p.expect([tuple(w[:2]) for w in res["wcs"]] == [(1, p.SUCCESS)], "%s" % res["wcs"])


def reads_both_ways(peer, p, how):
    s = peer.connect(recvs=2, op=p.READS, length=8, rkey=0x77, raddr=0, rcvbuf=4096, mss=536)
    for i in range(4):
        s.read(60000, s.t.all, s.t.addr)
    time.sleep(0.2)
    leave(s.sock, how)
    res = peer.result()
    got = sorted(tuple(w[:2]) for w in res["wcs"])
    want = [(1 + i, p.FLUSHED) for i in range(16)] + [(100, p.FLUSHED), (101, p.FLUSHED)]
    p.expect(got == want, "%s" % res["wcs"])
    p.expect(res["state"] == p.STATE_ERR, "state %d" % res["state"])
    p.expect(res["dirty"] is None, "dirty %s" % res["dirty"])


def under_way(peer, p, ulpdus, how, wcs):
    """Within a message, which is never delivered."""
    s = peer.connect(recvs=2)
    for u in ulpdus(s):
        s.put(u)
    leave(s.sock, how)
    res = peer.result()
    p.expect([w[1] for w in res["wcs"]] == wcs, "%s" % res["wcs"])


def urgent(peer, p, fin):
    """Octets out of band are not MPA's: the octets behind them are lost, and so is the stream."""
    s = peer.connect(recvs=2)
    s.put(untagged(SEND, 0, 1, b"good"))
    s.sock.send(fpdu(untagged(SEND, 0, 2, b"bad")), socket.MSG_OOB)
    if fin:
        try:
            s.sock.shutdown(socket.SHUT_WR)
        except OSError:
            pass	# reset by the device already
    res = peer.result()
    s.sock.close()
    p.expect([w[1] for w in res["wcs"]] == [p.SUCCESS, p.FLUSHED], "%s" % res["wcs"])
    p.expect(res["state"] == p.STATE_ERR, "state %d" % res["state"])


def in_terminate(peer, p, how, read):
    s = peer.connect(recvs=1)
    s.put(tagged(WRITE, s.t.all ^ 1, s.t.addr, b"x"))
    if read:
        s.get()
    leave(s.sock, how)
    res = peer.result()
    p.expect([w[1] for w in res["wcs"]] == [p.FLUSHED], "%s" % res["wcs"])
    p.expect(res["state"] == p.STATE_ERR, "state %d" % res["state"])
    # a RST may discard the octets before it
    p.expect(res["async"] == [p.ACCESS_ERR] or (how == "RST" and not read), "%s" % res)
    # the Terminate can be queried, whether it was delivered or not (CM-09)
    if res["async"]:
        p.expect(res["sent"] and res["sent"][1:5] == [1, 1, 0, 0xC000], "kept: %s" % res["sent"])


def own_terminate(peer, p, how):
    s = peer.connect(recvs=1)
    s.put(untagged(TERMINATE, 2, 1, struct.pack(">I", 0x01000000)))
    if how == "RST":
        # the device must have read it, or the reset discards it
        p.expect(s.get() is None, "an answer")
    leave(s.sock, how)
    res = peer.result()
    p.expect(res["async"] == [p.FATAL] and res["state"] == p.STATE_ERR, "%s" % res)


def after_fin(peer, p, what):
    """The device has sent its FIN, and the peer does not simply send its own."""
    # revision 1: without an RTR, which could come after the FIN, too
    return behind_fin(peer, p, peer.connect(rev=1, op=p.CLOSE), what)


def behind_fin(peer, p, s, what):
    """The device closes s; then the peer resets it, or sends what(s). Nothing is placed."""
    p.expect(s.get() is None, "no FIN")
    s.ended = False
    if what == "RST":
        leave(s.sock, "RST")
    else:
        s.put(what(s))
        try:
            while s.sock.recv(4096):
                pass
        except OSError:
            pass
        s.sock.close()
    res = peer.result()
    p.expect(res["dirty"] is None, "placed after the FIN")
    return res


def rtr_after_fin(peer, p):
    """The device closes at once, while the RTR is still under way: this is no late message."""
    s = peer.connect(op=p.CLOSE, rtr=False)
    p.expect(s.get() is None, "no FIN")
    s.put(tagged(WRITE, 0, 0))
    s.sock.shutdown(socket.SHUT_WR)
    segs, term = s.end()	# a RST would be an error here
    s.sock.close()
    res = peer.result()
    p.expect(not segs and not term and not res["async"], "%s %s %s" % (segs, term, res["async"]))


def bad_close(peer, p, what):
    res = after_fin(peer, p, what)
    p.expect(res["state"] == p.STATE_ERR, "state %d" % res["state"])


def at_once(peer, p, how):
    """A good message and the end at once: the earlier message is delivered (ST-17)."""
    s = peer.connect(recvs=2)
    s.raw(fpdu(tagged(WRITE, s.t.all, s.t.addr, b"abc")) + fpdu(untagged(SEND, 0, 1, b"d")))
    leave(s.sock, how)
    res = peer.result()
    p.expect([w[1] for w in res["wcs"]] == [p.SUCCESS, p.FLUSHED], "%s" % res["wcs"])
    p.expect(not res["async"], "events %s" % res["async"])


def startup_is_bounded(peer, p):
    """No Request, or one that never completes: closed after a while (M-STA-7, M-STA-8)."""
    silent, slow = peer.tcp(), peer.tcp()
    begin = time.monotonic()
    request = start_frame(REQ_KEY, MPA_C, 1, bytes(400))
    there = [silent, slow]
    for i in range(120):
        try:
            if slow in there:
                slow.sendall(request[i:i + 1])
        except OSError:
            there.remove(slow)
        for sock in list(there):
            sock.settimeout(0.2)
            try:
                p.expect(not sock.recv(1), "an answer")
                there.remove(sock)
            except socket.timeout:
                pass
            except OSError:
                there.remove(sock)
        if not there:
            break
        p.expect(time.monotonic() - begin < 30, "not closed: %s" % there)
    p.expect(not there, "not closed")
    silent.close()
    slow.close()


def many_half_open(peer, p):
    """Silent connections do not keep out others."""
    socks = [peer.tcp() for _ in range(80)]
    time.sleep(1.5)
    p.good_exchange(peer, 4096)
    for sock in socks:
        sock.close()


def run(peer, p):
    t = peer.test
    request = start_frame(REQ_KEY, MPA_C, 1, peer.wish(length=p.STRAY))
    for how in ("FIN", "RST"):
        t("TDN-3", how + " before the Request", lambda h=how: in_startup(peer, p, b"", h))
        for n in (1, 15, 16, 17, 19, 20, 21, len(request) - 1):
            t("TDN-3", "%s after %d octets of the Request" % (how, n),
              lambda h=how, n=n: in_startup(peer, p, request[:n], h))
        t("TDN-3", how + " right after the Request", lambda h=how: after_request(peer, p, h, False))
        t("TDN-3", how + " after the Reply", lambda h=how: after_request(peer, p, h, True))
        t("M-STA-4", how + " before the first FPDU, with a Send posted",
          lambda h=how: before_first_fpdu(peer, p, h))
        t("TDN-3", how + " with Reads under way in both directions",
          lambda h=how: reads_both_ways(peer, p, h))
        flushed = [p.FLUSHED] * 2
        t("TDN-3", how + " in the middle of a Send", lambda h=how: under_way(
            peer, p, lambda s: [untagged(SEND, 0, 1, b"a", last=False)], h, flushed))
        t("GEN-6", how + " in the middle of a Write", lambda h=how: under_way(
            peer, p, lambda s: [tagged(WRITE, s.t.all, s.t.addr, b"a", last=False)], h, flushed))
        for read in (False, True):
            t("TDN-5", "%s %s the device's Terminate" % (how, "after" if read else "before"),
              lambda h=how, r=read: in_terminate(peer, p, h, r))
        t("ST-45", how + " after the peer's Terminate", lambda h=how: own_terminate(peer, p, h))
    for fin in (False, True):
        t("AE-06", "urgent data" + (" and FIN" if fin else ""), lambda f=fin: urgent(peer, p, f))
    t("M-STA-8", "start-up is bounded in time", lambda: startup_is_bounded(peer, p))
    t("M-STA-8", "many connections without a Request", lambda: many_half_open(peer, p))
    t("M-RDMAC-1", "revision 0", lambda: revision_0(peer, p))
    t("M-STA-4", "an FPDU with a wrong CRC does not open the gate",
      lambda: gate_stays_closed(peer, p))
    t("M-STA-4", "a good FPDU opens the gate", lambda: gate_opens(peer, p))
    t("ST-17", "FIN right behind good messages", lambda: at_once(peer, p, "FIN"))
    t("ST-19", "the RTR comes after the device's FIN", lambda: rtr_after_fin(peer, p))
    t("ST-46", "RST after the device's FIN", lambda: bad_close(peer, p, "RST"))
    t("ST-44", "a Write after the device's FIN", lambda: bad_close(
        peer, p, lambda s: tagged(WRITE, s.t.all, s.t.addr, b"late")))
    t("ST-44", "a Send after the device's FIN", lambda: bad_close(
        peer, p, lambda s: untagged(SEND, 0, 1, b"late")))
    t("ST-45", "a Terminate after the device's FIN", lambda: bad_close(
        peer, p, lambda s: untagged(TERMINATE, 2, 1, struct.pack(">I", 0x01000000))))
