# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""The Terminate message, for peer.py: when the device sends one, its format, and how it processes
the peer's (RFC 5040 4.8, 5.4, 7.1)."""

import errno
import os
import select
import socket
import struct
import time

from iwarp import (READ_REQ, READ_RESP, SEND, TERMINATE, WRITE, fpdu, read_req, tagged, untagged)

READ_LEN = 120000		# more than softirq answers: the tx kthread fills TCP's buffers
SLOW = int(os.environ.get("SRNIC_SLOW", "1"))
AT_ONCE = 1.0 * SLOW		# a slow emulator; waiting for the peer takes 5 s
CLOSE_TIMEOUT = 5		# the policy's default


def understood(p):
    """The fields of a Terminate's payload as a receiver must decode it, in target.c's format."""
    if len(p) < 4:
        return None
    word, = struct.unpack_from(">I", p)
    flags = seg_len = 0
    ddp = rdmap = b""
    rest = p[4:]
    if word & 0xC000 and len(rest) >= 2:
        if word & 0x8000:
            flags |= 0x8000
            seg_len, = struct.unpack_from(">H", rest)
        rest = rest[2:]
        n = 14 if rest and rest[0] & 0x80 else 18
        if word & 0x4000 and len(rest) >= n:
            flags |= 0x4000
            ddp, rest = rest[:n], rest[n:]
            if word & 0x2000 and len(rest) >= 28:
                flags |= 0x2000
                rdmap = rest[:28]
    return [2, word >> 28, word >> 24 & 15, word >> 16 & 255, flags, seg_len, ddp.hex(),
            rdmap.hex()]


def ended(peer, s):
    """(segments, Terminate, the target's report), once the device has closed"""
    segs, term = s.end()
    s.sock.close()
    return segs, term, peer.result()


def four_reads(s, stag):
    """As many Reads as the device allows, of more than TCP's buffers hold"""
    for i in range(4):
        s.read(READ_LEN, stag, s.t.addr, 0x51515151, i << 20)


def revoked(peer, p):
    """The region is deregistered while it is read: the Terminate quotes the request (TRM-12)."""
    s = peer.connect(recvs=1, op=p.REVOKE, rcvbuf=4096, mss=536)
    s.lingers = None	# the Terminate waits behind more than TCP's buffers hold
    four_reads(s, s.t.stale)
    s.send(b"now")
    p.expect(peer.answer().get("revoked"), "no word that the region is gone")
    segs, term, res = ended(peer, s)
    p.expect(all(g.op == READ_RESP and g.stag == 0x51515151 for g in segs), "other segments")
    total = sum(len(g.payload) for g in segs)
    k, n = divmod(total, READ_LEN)
    p.expect(k < 4, "all was read")
    ulpdu = untagged(READ_REQ, 1, k + 1,
                     read_req(0x51515151, (k << 20) + n, READ_LEN - n, s.t.stale, s.t.addr + n))
    p.check_term(term, (0, 1, 0), "MDR", ulpdu)
    p.expect(res["async"] == [p.ACCESS_ERR], "events %s" % res["async"])


def bad_receive(peer, p):
    """An error of the receiver itself: nothing is quoted."""
    s = peer.connect(recvs=2, op=p.BAD_RECV)
    s.send(b"x")
    segs, term, res = ended(peer, s)
    p.check_term(term, (0, 0, 0), "", b"")
    p.expect([tuple(w[:2]) for w in res["wcs"]] == [(100, p.LOC_PROT_ERR), (101, p.FLUSHED)],
             "%s" % res["wcs"])
    p.expect(not segs and res["dirty"] is None and not res["async"], "%s" % res)


def cq_overflow(peer, p):
    s = peer.connect(recvs=40, op=p.SMALL_CQ)
    for _ in range(40):
        s.send(b"x")
    segs, term, res = ended(peer, s)
    p.check_term(term, (0, 2, 7), "", b"")
    p.expect("CQ error" in res["async"], "events %s" % res["async"])
    p.expect(res["state"] == p.STATE_ERR, "state %d" % res["state"])


def half_close_in_fpdu(peer, p, n):
    """FIN within an FPDU: the other direction is still open, for the Terminate."""
    s = peer.connect(recvs=1)
    s.raw(fpdu(untagged(SEND, 0, 1, b"x" * 30))[:n])
    s.sock.shutdown(socket.SHUT_WR)
    segs, term, res = ended(peer, s)
    p.check_term(term, (2, 0, 1), "", b"")
    p.expect(not segs and [w[1] for w in res["wcs"]] == [p.FLUSHED], "%s" % res["wcs"])
    p.expect(res["state"] == p.STATE_ERR, "state %d" % res["state"])


def half_close_in_send(peer, p):
    s = peer.connect(recvs=1)
    s.put(untagged(SEND, 0, 1, b"x" * 30, last=False))
    s.sock.shutdown(socket.SHUT_WR)
    segs, term, res = ended(peer, s)
    p.check_term(term, (2, 0, 1), "", b"")
    p.expect([w[1] for w in res["wcs"]] == [p.FLUSHED], "%s" % res["wcs"])


def early(peer, p):
    """Sent not behind all queued FPDUs, but behind the one sent in part (ERR-3, X-6, TER-8)."""
    s = peer.connect(rcvbuf=4096, mss=536)
    four_reads(s, s.t.all)
    time.sleep(0.3)		# the device's FPDUs fill TCP's buffers, and stop anywhere
    ulpdu = tagged(WRITE, s.t.all ^ 1, s.t.addr, b"x")
    s.put(ulpdu)
    s.lingers = True
    time.sleep(0.3)
    segs, term, res = ended(peer, s)		# end() fails where an FPDU is cut
    p.check_term(term, (1, 1, 0), "MD", ulpdu)
    p.expect(sum(len(g.payload) for g in segs) < 4 * READ_LEN, "after all that was queued")
    p.expect(sum(g.last for g in segs) < 4, "after the last Read Response")


def dropped(peer, p):
    """Segments behind a bad one are neither placed nor delivered (D-VAL-4, M-ERR-1)."""
    s = peer.connect(recvs=1)
    bad = untagged(SEND, 0, 2, b"bad")
    s.raw(fpdu(bad) + fpdu(tagged(WRITE, s.t.all, s.t.addr, b"good")) +
          fpdu(untagged(SEND, 0, 1, b"good")) +
          fpdu(untagged(TERMINATE, 2, 1, struct.pack(">I", 0))))
    s.sent_term = False
    segs, term, res = ended(peer, s)
    p.check_term(term, (1, 2, 3), "MD", bad)
    p.expect(res["dirty"] is None and [w[1] for w in res["wcs"]] == [p.FLUSHED], "%s" % res)
    p.expect(not res["received"], "kept as received: %s" % res["received"])


def after_crc_error(peer, p):
    """No FPDU behind an invalid one is processed (M-ERR-1)."""
    s = peer.connect(recvs=1)
    s.raw(fpdu(untagged(SEND, 0, 1, b"bad"), 0x12345678) +
          fpdu(untagged(SEND, 0, 1, b"good")) +
          fpdu(tagged(WRITE, s.t.all, s.t.addr, b"good")))
    segs, term, res = ended(peer, s)
    p.check_term(term, (2, 0, 2), "", b"")
    # octets of the bad one may be in the receive's buffer, those of the Write are not
    p.expect(not res["dirty"] or res["dirty"][0] >= p.BUF_LEN - 64, "dirty %s" % res["dirty"])
    p.expect([w[1] for w in res["wcs"]] == [p.FLUSHED], "%s" % res["wcs"])


def received(peer, p, word, more=b"", recvs=1):
    """With any contents: no Terminate in return, FIN, the event, and it is kept."""
    s = peer.connect(recvs=recvs)
    s.put(untagged(TERMINATE, 2, 1, struct.pack(">I", word) + more))
    # segments behind it are not processed
    s.raw(fpdu(tagged(WRITE, s.t.all, s.t.addr, b"late")))
    segs, term, res = ended(peer, s)
    p.expect(not segs and not term, "something was sent in return")
    p.expect(res["received"] and not res["sent"], "%s" % res)
    p.expect([w[1] for w in res["wcs"]] == [p.FLUSHED] * recvs, "%s" % res["wcs"])
    p.expect(res["async"] == [p.FATAL] and res["dirty"] is None, "%s" % res)
    p.expect(res["state"] == p.STATE_ERR, "state %d" % res["state"])


def twice(peer, p):
    s = peer.connect()
    s.raw(fpdu(untagged(TERMINATE, 2, 1, struct.pack(">I", 0x01000000))) +
          fpdu(untagged(TERMINATE, 2, 2, struct.pack(">I", 0x02050000))))
    s.sent_term = struct.pack(">I", 0x01000000)
    segs, term, res = ended(peer, s)
    p.expect(not segs and not term and res["async"] == [p.FATAL], "%s %s" % (term, res))


def not_valid(peer, p, ulpdu, code):
    """One that cannot be delivered is an error like any other (TER-6)."""
    s = peer.connect()
    s.raw(fpdu(ulpdu))
    s.sent_term = None
    segs, term, res = ended(peer, s)
    p.check_term(term, code, "MD", ulpdu)
    p.expect(len(res["async"]) == 1 and res["state"] == p.STATE_ERR, "%s" % res)


def told_at_once(peer, p, start):
    """The end does not wait for a peer that neither reads nor closes."""
    s = peer.connect(rcvbuf=4096, mss=536)
    begin = time.monotonic()
    start(s)
    res = peer.answer()
    took = time.monotonic() - begin
    p.expect(res["ended"] and took < AT_ONCE, "after %.1f s: %s" % (took, res))
    p.expect(res["state"] == p.STATE_ERR, "state %d" % res["state"])
    s.sock.close()


def lingers(peer, p, start):
    """The peer has received all and keeps its side open: FIN at once, RST at the time limit
    (ST-29)."""
    s = peer.connect()
    begin = time.monotonic()
    start(s)
    peer.answer()
    s.sock.settimeout(4 * CLOSE_TIMEOUT * SLOW)
    while s.sock.recv(4096):
        pass
    fin = time.monotonic() - begin
    poll = select.poll()
    poll.register(s.sock, select.POLLERR)
    reset = poll.poll(4000 * CLOSE_TIMEOUT * SLOW)
    took = time.monotonic() - begin
    err = s.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    s.sock.close()
    p.expect(fin < AT_ONCE, "FIN after %.1f s" % fin)
    # the error that TCP reports for a RST after a FIN
    p.expect(reset and err == errno.EPIPE, "no RST but %s after %.1f s" % (err, took))
    p.expect(CLOSE_TIMEOUT - 1 <= took <= (CLOSE_TIMEOUT + 2) * SLOW, "RST after %.1f s" % took)


def run(peer, p):
    t = peer.test
    t("E-24", "a region goes away while it is read", lambda: revoked(peer, p))
    t("TRM-12", "a region goes away while it is read: what is left is quoted",
      lambda: revoked(peer, p))
    t("E-28", "receive into memory that is not registered", lambda: bad_receive(peer, p))
    t("E-29", "a CQ overflows", lambda: cq_overflow(peer, p))
    for n in (1, 2, 3, 19, 20, 21, 40, 55):
        t("E-33", "half close after %d octets of an FPDU" % n,
          lambda n=n: half_close_in_fpdu(peer, p, n))
    t("E-33", "half close between two segments of a Send", lambda: half_close_in_send(peer, p))
    t("ERR-3", "before what is queued, behind a whole FPDU", lambda: early(peer, p))
    t("D-VAL-4", "what follows a bad segment is dropped", lambda: dropped(peer, p))
    t("M-ERR-1", "what follows a CRC error is dropped", lambda: after_crc_error(peer, p))
    quote = struct.pack(">H", 22) + tagged(WRITE, 1, 2)
    request = struct.pack(">H", 46) + untagged(READ_REQ, 1, 1, read_req(1, 2, 3, 4, 5))
    for layer, etype, code in ((0, 0, 0xFF), (0, 1, 0), (0, 1, 9), (0, 2, 5), (0, 2, 0xFF),
                               (1, 0, 0), (1, 1, 4), (1, 2, 6), (1, 3, 1), (2, 0, 1), (2, 0, 7),
                               (2, 15, 0), (15, 15, 0xFF)):
        word = layer << 28 | etype << 24 | code << 16
        t("ST-24", "Terminate %d/%d/%02x is answered by FIN alone" % (layer, etype, code),
          lambda w=word: received(peer, p, w))
    for what, word, more in (("tagged header", 0x1100C000, quote),
                             ("Read Request", 0x0100E000, request),
                             ("length alone", 0x11008000, struct.pack(">H", 9)),
                             ("R without D", 0x0100A000, request),
                             ("header cut", 0x1100C000, quote[:10]),
                             ("Read Request cut", 0x0100E000, request[:40]),
                             ("all bits", 0xFFFFFFFF, request)):
        t("TRM-9", "Terminate received and kept: " + what,
          lambda w=word, m=more: received(peer, p, w, m))
    t("TER-4", "Terminate received with an empty receive queue",
      lambda: received(peer, p, 0x01000000, recvs=0))
    t("TER-4", "two Terminates: the first counts", lambda: twice(peer, p))
    body = struct.pack(">I", 0x01000000)
    for what, ulpdu, code in (
            ("MSN 2", untagged(TERMINATE, 2, 2, body), (1, 2, 3)),
            ("MO 4", untagged(TERMINATE, 2, 1, body, mo=4), (1, 2, 4)),
            ("three octets", untagged(TERMINATE, 2, 1, body[:3]), (0, 2, 0xFF)),
            ("53 octets", untagged(TERMINATE, 2, 1, body + bytes(49)), (1, 2, 5)),
            ("without L", untagged(TERMINATE, 2, 1, body, last=False), (0, 2, 7))):
        t("TER-6", "Terminate that is not valid: " + what,
          lambda u=ulpdu, c=code: not_valid(peer, p, u, c))

    def bad(s):
        s.put(tagged(WRITE, s.t.all ^ 1, s.t.addr, b"x"))

    def bad_behind_reads(s):
        four_reads(s, s.t.all)
        bad(s)

    def its_own(s):
        s.put(untagged(TERMINATE, 2, 1, body))

    t("ST-29", "errors are told at once: the peer does not close after the device's Terminate",
      lambda: told_at_once(peer, p, bad))
    t("ST-29", "errors are told at once: the peer does not read, so that no Terminate gets out",
      lambda: told_at_once(peer, p, bad_behind_reads))
    t("ST-29", "errors are told at once: the peer does not close after its own Terminate",
      lambda: told_at_once(peer, p, its_own))
    t("ST-29", "the stream lingers for close_timeout, then it is reset: the device's Terminate",
      lambda: lingers(peer, p, bad))
    t("ST-29", "the stream lingers for close_timeout, then it is reset: the peer's Terminate",
      lambda: lingers(peer, p, its_own))
