# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Good streams, for peer.py: order, limits and streams that a receiver must accept (RFC 5040, RFC
5041, RFC 5044)."""

import socket
import struct

from iwarp import (READ_REQ, READ_RESP, SEND, SEND_SE, WRITE, fpdu, crc32c, read_req, tagged,
                   untagged)


def end(peer, s, p, wcs=()):
    """The peer closes; no error, with these completions: (id, octets)"""
    s.sock.shutdown(socket.SHUT_WR)
    segs, term = s.end()
    s.sock.close()
    res = peer.result()
    p.expect(not segs and not term and not res["async"], "%s %s %s" % (segs, term, res["async"]))
    got = [(w[0], w[1], w[3]) for w in res["wcs"]]
    want = [(i, p.SUCCESS, n) for i, n in wcs]
    p.expect(got == want, "completions %s, not %s" % (got, want))
    return res


def responses(s, p, reads):
    """Read Responses, whole and in this order: (STag, TO, octets)"""
    for stag, to, size in reads:
        off = 0
        while True:
            seg = s.get()
            p.expect(seg and seg.op == READ_RESP and seg.tagged, "no Read Response")
            p.expect((seg.stag, seg.to) == (stag, to + off), "%x %x, not %x %x" %
                     (seg.stag, seg.to, stag, to + off))
            off += len(seg.payload)
            if seg.last:
                break
        p.expect(off == size, "%d octets, not %d" % (off, size))


def reads_in_order(peer, p):
    """IRD Reads at once, of any size, at any octet: answered in the order of the requests
    (RRS-5)."""
    s = peer.connect()
    for _ in range(3):
        todo = [(0x100 + i, 0x1000 * i + 7, n) for i, n in enumerate((60000, 0, 1, 1501))]
        s.raw(b"".join(fpdu(untagged(READ_REQ, 1, s.msn[1] + i, read_req(
            stag, to, n, s.t.all, s.t.addr + 3))) for i, (stag, to, n) in enumerate(todo)))
        s.msn[1] += len(todo)
        responses(s, p, todo)
    end(peer, s, p)


def reads_of_device(peer, p):
    """At most ORD unanswered requests, in the order posted; completions in the same order."""
    s = peer.connect(op=p.READS, length=8, rkey=0x77, raddr=0x1000)
    data = bytes(i % 251 ^ 0x80 for i in range(128))	# differs from the earlier contents
    todo, msn = [], 1
    while msn <= 16 or todo:
        while msn <= 16 and len(todo) < p.IRD:
            seg = s.get()
            p.expect(seg.op == READ_REQ and seg.qn == 1 and seg.msn == msn and seg.mo == 0 and
                     seg.last and seg.inv == 0 and len(seg.payload) == 28, "no Read Request")
            sink, to, size, src, src_to = struct.unpack(">IQIIQ", seg.payload)
            p.expect((size, src, src_to) == (8, 0x77, 0x1000 + 8 * (msn - 1)), "out of order")
            todo.append((sink, to, data[8 * (msn - 1):8 * msn]))
            msn += 1
        # a further one must not come before one is answered
        s.sock.settimeout(0.2)
        try:
            p.expect(not s.buf and not s.sock.recv(1), "more Reads than ORD")
        except socket.timeout:
            pass
        s.sock.settimeout(60)
        for _ in range(2 if len(todo) > 1 else 1):
            sink, to, d = todo.pop(0)
            s.put(tagged(READ_RESP, sink, to, d))
    res = end(peer, s, p, [(1 + i, 8) for i in range(16)])
    p.expect(res["bytes"] == data.hex() and res["dirty"] == [0, 127], "what was read")


def request_in_send(peer, p):
    """Messages of different queues may be interleaved; each is delivered with its last segment
    (X-8)."""
    s = peer.connect(recvs=1, op=p.READ, length=100, rkey=0x77, raddr=0)
    req = s.get()
    sink, to = struct.unpack_from(">IQ", req.payload)
    s.put(tagged(READ_RESP, sink, to, b"a" * 60, last=False))
    s.put(untagged(SEND, 0, 1, b"b" * 10, last=False))
    s.read(0, 0, 0)
    responses(s, p, [(0x51515151, 0x1000, 0)])
    s.put(untagged(SEND, 0, 1, b"", mo=10))
    s.put(tagged(READ_RESP, sink, to + 60, b"a" * 40))
    end(peer, s, p, [(100, 10), (1, 100)])


def withheld(peer, p, n):
    """A Read does not complete before the last segment of its response (ORD-19)."""
    s = peer.connect(op=p.READ, length=100, rkey=0x77, raddr=0)
    req = s.get()
    sink, to = struct.unpack_from(">IQ", req.payload)
    s.put(tagged(READ_RESP, sink, to, b"a" * n, last=False))
    s.sock.shutdown(socket.SHUT_WR)
    segs, term = s.end()
    s.sock.close()
    res = peer.result()
    p.check_term(term, (0, 2, 7), "", b"")
    p.expect([tuple(w[:2]) for w in res["wcs"]] == [(1, p.FLUSHED)], "%s" % res["wcs"])


def zero_segments(peer, p):
    """Segments of length 0 that are not the last (D-SEG-11), in each kind of message."""
    s = peer.connect(recvs=1)
    s.put(tagged(WRITE, s.t.all, s.t.addr, b"", last=False))
    s.put(tagged(WRITE, s.t.all, s.t.addr, b"xyz", last=False))
    s.put(tagged(WRITE, s.t.all, s.t.addr + 3, b""))
    s.put(untagged(SEND, 0, 1, b"", last=False))
    s.put(untagged(SEND, 0, 1, b"abc", last=False))
    s.put(untagged(SEND, 0, 1, b"", mo=3, last=False))
    s.put(untagged(SEND, 0, 1, b"", mo=3))
    end(peer, s, p, [(100, 3)])


def reserved(peer, p):
    """DDP's reserved bits, and SE in one segment only (D-CTL-5, D-UNT-2)."""
    s = peer.connect(recvs=2)

    def spoil(ulpdu):
        return bytes([ulpdu[0] | 0x3C, ulpdu[1] | 0x30]) + ulpdu[2:]

    s.put(spoil(tagged(WRITE, s.t.all, s.t.addr, b"xyz")))
    s.put(spoil(untagged(SEND, 0, 1, b"abc", last=False)))
    s.put(spoil(untagged(SEND_SE, 0, 1, b"d", mo=3)))
    s.put(spoil(untagged(SEND_SE, 0, 2, b"abc", last=False)))
    s.put(spoil(untagged(SEND, 0, 2, b"d", mo=3)))
    end(peer, s, p, [(100, 4), (101, 4)])


def pad(peer, p):
    """PAD is ignored, but the CRC covers it (M-FPD-2)."""
    s = peer.connect(recvs=3)
    for i in range(3):
        ulpdu = untagged(SEND, 0, 1 + i, bytes(range(1 + i)))
        data = struct.pack(">H", len(ulpdu)) + ulpdu
        data += b"\xFF" * (-len(data) % 4)
        s.raw(data + struct.pack("<I", crc32c(data)))
    end(peer, s, p, [(100 + i, 1 + i) for i in range(3)])


def send_in_send(peer, p):
    """Two messages of one queue must not be interleaved (X-8)."""
    s = peer.connect(recvs=2)
    s.put(untagged(SEND, 0, 1, b"a", last=False))
    ulpdu = untagged(SEND, 0, 2, b"b")
    s.put(ulpdu)
    segs, term = s.end()
    s.sock.close()
    res = peer.result()
    p.check_term(term, (1, 2, 3), "MD", ulpdu)
    p.expect([w[1] for w in res["wcs"]] == [p.FLUSHED] * 2, "%s" % res["wcs"])


def passes_read(peer, p):
    """A Send is delivered though an earlier Read is not answered yet (ORD-18)."""
    s = peer.connect(recvs=1, rcvbuf=4096, mss=536, op=p.REVOKE)
    for _ in range(4):
        s.read(60000, s.t.all, s.t.addr)
    s.send(b"x")
    # the target reports the completed receive
    p.expect(peer.answer().get("revoked"), "not delivered")
    responses(s, p, [(0x51515151, 0x1000, 60000)] * 4)
    end(peer, s, p)


def read_after_write(peer, p):
    """A Read is processed after all earlier messages are placed (ORD-12, OT-6)."""
    s = peer.connect()
    out = b""
    msn = 1
    for i in range(200):
        d = struct.pack(">I", i) * 50
        out += fpdu(tagged(WRITE, s.t.all, s.t.addr + 100, d[:90], last=False))
        out += fpdu(tagged(WRITE, s.t.all, s.t.addr + 190, d[90:]))
        out += fpdu(untagged(READ_REQ, 1, msn, read_req(1, 2, 200, s.t.all, s.t.addr + 100)))
        msn += 1
        s.raw(out)
        out = b""
        seg = s.get()
        p.expect(seg.op == READ_RESP and seg.last and seg.payload == d, "not what was written")
    end(peer, s, p)


def scribbled(peer, p):
    """The CRC matches the octets sent, whatever is written to the buffer meanwhile (ORD-7,
    X-10)."""
    s = peer.connect(op=p.SCRIBBLE, length=20000, rkey=0x77, rcvbuf=4096, mss=536)
    for _ in range(16):
        off = 0
        while True:
            seg = s.get()		# fails if the CRC is wrong
            p.expect(seg.op == WRITE and (seg.stag, seg.to) == (0x77, off), "no Write")
            off += len(seg.payload)
            if seg.last:
                break
        p.expect(off == 20000, "%d octets" % off)
    end(peer, s, p)


def stuck(peer, p, op, length):
    """A message that TCP takes only in part, as the peer does not read, does not complete
    (ORD-14)."""
    s = peer.connect(op=op, length=length, rkey=0x77, raddr=0x1000, rcvbuf=4096, mss=536)
    p.expect(s.sock.recv(1, socket.MSG_PEEK), "nothing comes")
    quiet = peer.silent(1)
    have = peer.with_tcp(s)
    print("# TCP took %d of %d octets" % (have, length))
    p.expect(have < length, "%d octets of %d are with TCP" % (have, length))
    p.expect(quiet, "complete, with %d octets of %d with TCP" % (have, length))
    return s


def completes_when_taken(peer, p, op, length):
    """It completes, once and with success, when TCP has taken the rest, and not before."""
    s = stuck(peer, p, op, length)
    data = bytes(i % 251 for i in range(length // p.PIECES)) * p.PIECES
    off = 0
    while True:
        seg = s.get()
        if op == p.TOLD_SEND:
            p.expect((seg.op, seg.qn, seg.msn, seg.mo) == (SEND, 0, 1, off), "no Send")
        else:
            p.expect((seg.op, seg.stag, seg.to) == (WRITE, 0x77, 0x1000 + off), "no Write")
        p.expect(seg.payload == data[off:off + len(seg.payload)], "other octets at %d" % off)
        off += len(seg.payload)
        if seg.last:
            break
    p.expect(off == length, "%d octets" % off)
    told = peer.answer()["told"]
    p.expect([w[:2] for w in told] == [[1, p.SUCCESS]], "completions %s" % told)
    end(peer, s, p)


def flushed_if_never_taken(peer, p, op, length):
    """The peer resets without having read: no success."""
    s = stuck(peer, p, op, length)
    s.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.sock.close()
    told = peer.answer()["told"]
    p.expect([w[:2] for w in told] == [[1, p.FLUSHED]], "completions %s" % told)
    res = peer.result()
    p.expect(not res["wcs"], "completions %s" % res["wcs"])


def cut_at(peer, p, where):
    """TCP delivers a Send in two pieces, cut anywhere (M-TCP-2)."""
    s = peer.connect(recvs=64)
    frames = [fpdu(untagged(SEND, 0, 1 + i, bytes(range(21)))) for i in range(len(where))]
    for f, n in zip(frames, where):
        s.raw(f[:n])
        s.raw(f[n:])
    s.sock.shutdown(socket.SHUT_WR)
    segs, term = s.end()
    s.sock.close()
    res = peer.result()
    p.expect(not segs and not term, "something was sent")
    got = [(w[1], w[3]) for w in res["wcs"] if w[1] == p.SUCCESS]
    p.expect(got == [(p.SUCCESS, 21)] * len(where), "%s" % res["wcs"])


def run(peer, p):
    t = peer.test
    t("RRS-5", "Reads are answered in order, as many as IRD", lambda: reads_in_order(peer, p))
    t("INI-6", "Reads of the device: ORD at most, in order", lambda: reads_of_device(peer, p))
    for n in (0, 1, 99):
        t("ORD-19", "a Read of 100 octets, %d of them are here" % n,
          lambda n=n: withheld(peer, p, n))
    t("X-8", "a Read Request and a Read Response in the middle of a Send",
      lambda: request_in_send(peer, p))
    t("ORD-18", "a Send passes an earlier Read", lambda: passes_read(peer, p))
    t("ORD-12", "a Read behind a Write gets what was written", lambda: read_after_write(peer, p))
    t("D-SEG-11", "segments of no length", lambda: zero_segments(peer, p))
    t("D-CTL-5", "reserved bits, and SE in one segment only", lambda: reserved(peer, p))
    t("M-FPD-2", "PAD that is not zero", lambda: pad(peer, p))
    t("X-8", "a Send in the middle of a Send", lambda: send_in_send(peer, p))
    t("X-10", "the buffer changes while it is sent", lambda: scribbled(peer, p))
    # less, and more, than the device stages at a time
    for length in (100000, 250000):
        for what, op in (("Write", p.TOLD_WRITE), ("Send", p.TOLD_SEND)):
            t("ORD-14", "a %s of %d octets that TCP does not take whole" % (what, length),
              lambda o=op, n=length: completes_when_taken(peer, p, o, n))
            t("ORD-14", "a %s of %d octets that TCP does not take whole, then a RST" %
              (what, length), lambda o=op, n=length: flushed_if_never_taken(peer, p, o, n))
    t("M-TCP-2", "FPDUs cut in two at each octet", lambda: cut_at(peer, p, range(1, 52)))
