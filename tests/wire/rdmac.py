#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""usage: rdmac.py TARGET ADDRESS

The wire of the RDMA Consortium, which is version 0 of DDP and RDMAP: the peer of peer.py, and
TARGET, turn plain TCP connections into streams without a start-up. Each row of Figures 23 and 24
of the RDMAC verbs that a peer can cause, with the Terminate code that is printed there. The output
is that of peer.py; the ids are the rows of these figures in the requirement tables.
"""

import functools
import socket
import struct
import sys

import closing
import iwarp
import peer as p
from iwarp import (IMM, READ_REQ, READ_RESP, SEND, SEND_INV, TERMINATE, WRITE, Markers, Stream,
                   read_req)
from peer import ACCESS_ERR, BUF_LEN, FATAL, FLUSHED, MAX64, REQ_ERR, SUCCESS

tagged = functools.partial(iwarp.tagged, dv=0, rv=0)
untagged = functools.partial(iwarp.untagged, dv=0, rv=0)
LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ = 1, 2, 4
X8 = b"12345678"


class Peer(p.Peer):
    def connect(self, rcvbuf=None, **wish):
        """The wish in streaming mode, then the target's last message, then FPDUs."""
        sock = self.tcp(rcvbuf)
        sock.sendall(self.wish(**wish))
        stream = self.stream = Stream(sock, version=0)
        stream.markers_in, stream.markers_out = Markers(), Markers()
        self.untold += 1
        stream.t = p.Offer(stream.octets(40))
        # the target sends nothing before the first FPDU, which might come after its FIN
        if wish.get("op") != p.CLOSE:
            stream.put(tagged(WRITE, 0, 0))
        if wish.get("enables") is not None:
            p.expect(self.answer().get("enabled"), "no word that the QP was modified")
        return stream


def request(s, stag, to, size=8, msn=1, **kw):
    return untagged(READ_REQ, 1, msn, read_req(0x11, 0x22, size, stag, to), **kw)


def rows():
    """ID, what, segment, layer/type/code, quoted, event, [completions], {wish}"""
    one = dict(recvs=1)
    flushed = [(100, FLUSHED)]
    for v in (1, 2, 3):
        yield ("AE-08", "Write, DDP version %d" % v,
               lambda s, v=v: tagged(WRITE, s.t.all, s.t.addr, X8, dv=v), (1, 2, 6), "MD", FATAL)
        yield ("AE-08", "Send, DDP version %d" % v,
               lambda s, v=v: untagged(SEND, 0, 1, X8, dv=v), (1, 2, 6), "MD", FATAL, flushed, one)
        yield ("AE-08", "Write, RDMAP version %d" % v,
               lambda s, v=v: tagged(WRITE, s.t.all, s.t.addr, X8, rv=v), (0, 2, 5), "MD", FATAL)
        yield ("AE-08", "Send, RDMAP version %d" % v,
               lambda s, v=v: untagged(SEND, 0, 1, X8, rv=v), (0, 2, 5), "MD", FATAL, flushed, one)
    yield ("AE-08", "Send of version 1", lambda s: iwarp.untagged(SEND, 0, 1, X8), (1, 2, 6), "MD",
           FATAL, flushed, one)
    for op in range(IMM, 16):
        yield ("AE-08", "untagged opcode %d" % op, lambda s, op=op: untagged(op, 0, 1, X8),
               (0, 2, 6), "MD", FATAL)
        yield ("AE-08", "tagged opcode %d" % op,
               lambda s, op=op: tagged(op, s.t.all, s.t.addr, X8), (0, 2, 6), "MD", FATAL)
    yield ("AE-08", "Read Response that nobody asked for",
           lambda s: tagged(READ_RESP, s.t.all, s.t.addr, X8), (0, 2, 6), "MD", FATAL)
    for qn in (3, 4, 0xFFFFFFFF):
        yield ("AE-08", "Send on queue %#x" % qn, lambda s, qn=qn: untagged(SEND, qn, 1, X8),
               (1, 2, 1), "MD", FATAL, flushed, one)
    yield ("AE-09", "Read Request, Read is not enabled", lambda s: request(s, s.t.all, s.t.addr),
           (1, 2, 1), "MD", ACCESS_ERR, (), dict(enables=LOCAL_WRITE | REMOTE_WRITE))
    yield ("AE-09", "Write, Write is not enabled",
           lambda s: tagged(WRITE, s.t.all, s.t.addr, X8), (1, 1, 2), "MD", ACCESS_ERR, (),
           dict(enables=LOCAL_WRITE | REMOTE_READ))
    yield ("AE-09", "Read Request with an offset",
           lambda s: request(s, s.t.all, s.t.addr, mo=28), (1, 2, 4), "MD", REQ_ERR)
    yield ("AE-10", "Read Request without L",
           lambda s: request(s, s.t.all, s.t.addr, last=False), (0, 2, 7), "MD", REQ_ERR)

    for what, stag in (("unknown", lambda t: t.all ^ 0x5A5A5A00), ("STag 0", lambda t: 0),
                       ("gone", lambda t: t.stale)):
        yield ("AE-11", "Write, STag: " + what,
               lambda s, g=stag: tagged(WRITE, g(s.t), s.t.addr, X8), (1, 1, 0), "MD", ACCESS_ERR)
        yield ("AE-16", "Read Request, STag: " + what,
               lambda s, g=stag: request(s, g(s.t), s.t.addr), (0, 1, 0), "MDR", ACCESS_ERR)
    yield ("AE-11", "Write past the end",
           lambda s: tagged(WRITE, s.t.all, s.t.addr + BUF_LEN - 7, X8), (1, 1, 1), "MD", ACCESS_ERR)
    yield ("AE-11", "Write without the right",
           lambda s: tagged(WRITE, s.t.only_read, s.t.addr, X8), (1, 1, 2), "MD", ACCESS_ERR)
    yield ("AE-11", "Write to another PD",
           lambda s: tagged(WRITE, s.t.other_pd, s.t.addr, X8), (1, 1, 2), "MD", ACCESS_ERR)
    yield ("AE-11", "Write that wraps", lambda s: tagged(WRITE, s.t.all, MAX64 - 6, X8),
           (1, 1, 3), "MD", ACCESS_ERR)
    yield ("AE-16", "Read Request past the end",
           lambda s: request(s, s.t.all, s.t.addr + BUF_LEN - 7), (0, 1, 1), "MDR", ACCESS_ERR)
    yield ("AE-16", "Read Request without the right",
           lambda s: request(s, s.t.only_write, s.t.addr), (0, 1, 2), "MDR", ACCESS_ERR)
    yield ("AE-16", "Read Request from another PD",
           lambda s: request(s, s.t.other_pd, s.t.addr), (0, 1, 3), "MDR", ACCESS_ERR)
    yield ("AE-16", "Read Request that wraps",
           lambda s: request(s, s.t.all, MAX64 - 6), (0, 1, 4), "MDR", ACCESS_ERR)

    yield ("AE-15", "Send without a receive WQE", lambda s: untagged(SEND, 0, 1, X8), (1, 2, 2),
           "MD", FATAL)
    for msn in (0, 2, 0x80000001):
        yield ("AE-15", "Send with MSN %#x" % msn, lambda s, m=msn: untagged(SEND, 0, m, X8),
               (1, 2, 2), "MD", FATAL, flushed, one)
        yield ("AE-17", "Read Request with MSN %#x" % msn,
               lambda s, m=msn: request(s, s.t.all, s.t.addr, msn=m), (1, 2, 3), "MD", REQ_ERR)

    for what, stag, code, status in (
            ("unknown STag", lambda t: t.all ^ 0x5A5A5A00, (0, 1, 0), p.LOC_PROT_ERR),
            ("region of user memory", lambda t: t.all, (0, 1, 2), p.REM_INV_REQ_ERR),
            ("STag of another PD", lambda t: t.other_pd, (0, 1, 3), p.REM_INV_REQ_ERR)):
        yield ("TC-03", "Send with Invalidate, " + what,
               lambda s, g=stag: untagged(SEND_INV, 0, 1, b"", inv=g(s.t)), code, "MD", None,
               [(100, status)], one)
    yield ("TC-02", "Send of one octet too many", lambda s: untagged(SEND, 0, 1, bytes(65)),
           (0, 0, 0), "", None, [(100, p.LOC_LEN_ERR)], one)


def bad_stream(peer, data, code):
    """An error below DDP (AE-07). The raw octets follow the first FPDU."""
    s = peer.connect(recvs=1)
    s.raw(data(s))
    segs, term = s.end()
    s.sock.close()
    res = peer.result()
    p.check_term(term, code, "", b"")
    p.expect(not segs and [(w[0], w[1]) for w in res["wcs"]] == [(100, FLUSHED)],
             "%s" % res["wcs"])
    p.expect(res["async"] == [FATAL], "events %s" % res["async"])


def bad_crc(s):
    return s.fpdu(untagged(SEND, 0, 1, X8))[:-1] + b"!"


def too_short(s):
    return s.fpdu(untagged(SEND, 0, 1)[:17])


def bad_marker(s):
    return s.fpdu(untagged(SEND, 0, 1, bytes(600)), None, lambda n, marker: b"\0\0\x12\x34")


def exchange(peer):
    """Writes, Sends and Reads both ways."""
    s = peer.connect(recvs=2, op=p.READ, length=300, rkey=0x77, raddr=0x1000)
    seg = s.get()
    sink, to, size, src, src_to = struct.unpack(">IQIIQ", seg.payload)
    p.expect(seg.op == READ_REQ and (size, src, src_to) == (300, 0x77, 0x1000), "a Read Request")
    data = bytes((7 * i + 3) & 255 for i in range(1500))
    s.put(tagged(READ_RESP, sink, to, data[:300]))
    s.put(tagged(WRITE, s.t.all, s.t.addr + 1001, data))
    s.send(data[:33])
    s.send(b"", iwarp.SEND_SE)
    s.read(1500, s.t.all, s.t.addr + 1001)
    got = b""
    while len(got) < 1500:
        seg = s.get()
        p.expect(seg.op == READ_RESP and seg.to == 0x1000 + len(got), "a Read Response")
        got += seg.payload
    p.expect(got == data, "what was read is not what was written")
    s.sock.shutdown(socket.SHUT_WR)
    segs, term = s.end()
    s.sock.close()
    res = peer.result()
    p.expect(not segs and not term and not res["async"], "%s %s" % (segs, term))
    p.expect(sorted(w[0] for w in res["wcs"]) == [1, 100, 101] and
             {w[1] for w in res["wcs"]} == {SUCCESS}, "completions %s" % res["wcs"])
    p.expect(s.phases, "no FPDU between markers")


def ends(peer, code, put=None, fin=False, event=None, **wish):
    """The device ends the stream, with a Terminate that quotes nothing."""
    s = peer.connect(**wish)
    if wish.get("op") == p.READ:
        p.expect(s.get().op == READ_REQ, "no Read Request")
    if put:
        put(s)
    if fin:
        s.sock.shutdown(socket.SHUT_WR)
    segs, term = s.end()
    s.sock.close()
    res = peer.result()
    p.check_term(term, code, "", b"")
    p.expect(event is None or event in res["async"], "events %s" % res["async"])
    p.expect(res["state"] == p.STATE_ERR, "state %d" % res["state"])


def too_many_reads(peer):
    s = peer.connect(rcvbuf=4096)
    segments = [request(s, s.t.all, s.t.addr, 60000, msn=i + 1) for i in range(60)]
    s.raw(b"".join(s.fpdu(segment) for segment in segments))
    segs, term = s.end()
    s.sock.close()
    res = peer.result()
    p.expect(term and term.code == (1, 2, 3) and term.m and term.d and not term.r,
             "Terminate %s" % term)
    p.expect(res["async"] == [REQ_ERR], "events %s" % res["async"])


def terminate_received(peer):
    s = peer.connect(recvs=1)
    s.put(untagged(TERMINATE, 2, 1, struct.pack(">I", 0x02020000)))
    segs, term = s.end()
    s.sock.close()
    res = peer.result()
    p.expect(not segs and not term, "something was sent in return")
    p.expect([w[1] for w in res["wcs"]] == [FLUSHED] and res["async"] == [FATAL], "%s" % res)


def reset(peer):
    s = peer.connect(recvs=1)
    closing.leave(s.sock, "RST")
    res = peer.result()
    p.expect([w[1] for w in res["wcs"]] == [FLUSHED] and res["state"] == p.STATE_ERR, "%s" % res)


def bad_close(peer):
    """A segment behind the device's FIN: no Terminate."""
    res = closing.behind_fin(peer, p, peer.connect(op=p.CLOSE),
                             lambda s: tagged(WRITE, s.t.all, s.t.addr, b"late"))
    p.expect(res["state"] == p.STATE_ERR and not res["sent"], "%s" % res)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    p.PORT += 1		# that of peer.py may be in use still
    peer = Peer(sys.argv[1], sys.argv[2], extra=("rdmac",))
    t = peer.test
    t("RI-73", "Writes, Sends and Reads both ways", lambda: exchange(peer))
    for row in rows():
        ident, what, args, rest = row[0], row[1], row[2:6], row[6:]
        wcs = rest[0] if rest else ()
        wish = rest[1] if len(rest) > 1 else {}
        t(ident, what, lambda a=args, c=wcs, k=wish: p.bad(peer, *a, c, **k))
    t("AE-05", "Terminate received", lambda: terminate_received(peer))
    t("AE-06", "RST", lambda: reset(peer))
    t("AE-07", "segment without room for its header",
      lambda: bad_stream(peer, too_short, (1, 0, 0)))
    t("AE-07", "CRC", lambda: bad_stream(peer, bad_crc, (0, 2, 2)))
    t("AE-07", "marker that points elsewhere", lambda: bad_stream(peer, bad_marker, (0, 2, 3)))
    t("AE-13", "a Write after the device's FIN", lambda: bad_close(peer))
    t("AE-14", "FIN while a Read is under way",
      lambda: ends(peer, (0, 2, 7), fin=True, op=p.READ, length=100, rkey=0x77))
    t("AE-17", "more Reads than IRD", lambda: too_many_reads(peer))
    t("AE-18", "a CQ overflows", lambda: ends(
        peer, (0, 2, 7), lambda s: [s.send(b"x") for _ in range(40)], event="CQ error", recvs=40,
        op=p.SMALL_CQ))
    t("TC-04", "local error of a Send", lambda: ends(peer, (0, 0, 0), op=p.BAD_SEND, length=10))
    exchange(peer)
    peer.program.kill()
    sys.exit(peer.tap.end())


if __name__ == "__main__":
    main()
