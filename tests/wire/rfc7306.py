# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Immediate data and atomic operations (RFC 7306), for peer.py: what is good and what is not."""

import socket
import struct
import sys

from iwarp import (ATOMIC_REQ, ATOMIC_RESP, IMM, IMM_SE, READ_REQ, READ_RESP, SEND, TERMINATE,
                   WRITE, atomic_req, fpdu, read_req, tagged, untagged)

FETCH_ADD, CMP_SWAP = 0, 2
ONES = (1 << 64) - 1
RECV_WITH_IMM, WC_FETCH_ADD, WC_COMP_SWAP = 129, 4, 3
WITH_IMM = 2
REMOTE_READ = 4
DATA = bytes(range(1, 9))


def host(value):
    return value.to_bytes(8, sys.byteorder)


def bad_rows(p):
    """As in peer.py: ID, what, segment, layer/type/code, quoted, event, [completions], {wish}"""
    one = dict(recvs=1)
    flushed = [(100, p.FLUSHED)]

    def atomic(s, stag, off=0, op=FETCH_ADD, msn=1, **kw):
        return untagged(ATOMIC_REQ, 1, msn, atomic_req(op, 7, stag, s.t.addr + off & ONES, 1, 0,
                                                       0, ONES), **kw)

    for off in range(1, 8):
        yield ("E-38", "atomic, %d octets off" % off,
               lambda s, o=off: atomic(s, s.t.atomic, 8 + o), (0, 2, 7), "MD", p.ACCESS_ERR)
    for what, stag in (("unknown index", lambda t: t.atomic ^ 0x5A5A5A00),
                       ("wrong key", lambda t: t.atomic ^ 1), ("STag 0", lambda t: 0),
                       ("gone", lambda t: t.stale)):
        yield ("E-39", "atomic, STag: " + what, lambda s, g=stag: atomic(s, g(s.t)), (0, 1, 0),
               "MD", p.ACCESS_ERR)
    for off in (-8, -1, p.BUF_LEN - 7, p.BUF_LEN, 1 << 40):
        yield ("E-39", "atomic, bounds, offset %d" % off,
               lambda s, o=off: atomic(s, s.t.atomic, o), (0, 1, 1), "MD", p.ACCESS_ERR)
    for what, stag in (("Remote Read and Write", lambda t: t.all), ("local", lambda t: t.local)):
        yield ("E-39", "atomic on a region: " + what, lambda s, g=stag: atomic(s, g(s.t)),
               (0, 1, 2), "MD", p.ACCESS_ERR)
    yield ("E-39", "atomic, QP takes Reads only", lambda s: atomic(s, s.t.atomic), (0, 1, 2),
           "MD", p.ACCESS_ERR, (), dict(enables=REMOTE_READ))
    yield ("E-39", "atomic, another PD", lambda s: atomic(s, s.t.other_pd), (0, 1, 3), "MD",
           p.ACCESS_ERR)
    yield ("E-39", "atomic that wraps", lambda s: atomic(s, s.t.atomic, ONES - 6 - s.t.addr),
           (0, 1, 4), "MD", p.ACCESS_ERR)
    for op in (1, 3, 15):
        yield ("E-40", "AOpCode %d" % op, lambda s, op=op: atomic(s, s.t.atomic, op=op),
               (0, 2, 6), "MD", p.REQ_ERR)
    for n in (0, 4, 7, 9, 16):
        for op in (IMM, IMM_SE):
            yield ("E-41", "opcode %d of %d octets" % (op, n),
                   lambda s, n=n, op=op: untagged(op, 0, 1, bytes(n)), (0, 2, 0xFF), "MD",
                   p.FATAL, flushed, one)
    for n in (0, 51, 53):
        yield ("E-41", "Atomic Request of %d octets" % n,
               lambda s, n=n: (atomic(s, s.t.atomic) + b"x")[:18 + n], (0, 2, 0xFF), "MD",
               p.FATAL)
    yield ("E-04", "Immediate Data without a receive WQE", lambda s: untagged(IMM, 0, 1, DATA),
           (1, 2, 2), "MD", p.FATAL)
    yield ("E-06", "Immediate Data with MSN 2", lambda s: untagged(IMM, 0, 2, DATA), (1, 2, 3),
           "MD", p.FATAL, flushed, one)
    yield ("E-07", "Immediate Data with MO 8", lambda s: untagged(IMM, 0, 1, DATA, mo=8),
           (1, 2, 4), "MD", p.FATAL, flushed, one)
    yield ("E-06", "Atomic Request with MSN 2", lambda s: atomic(s, s.t.atomic, msn=2),
           (1, 2, 3), "MD", p.REQ_ERR)
    yield ("E-07", "Atomic Request with MO 4", lambda s: atomic(s, s.t.atomic, mo=4), (1, 2, 4),
           "MD", p.REQ_ERR)
    yield ("AE-10", "Atomic Request without L", lambda s: atomic(s, s.t.atomic, last=False),
           (0, 2, 7), "MD", p.REQ_ERR)
    yield ("AE-10", "Immediate Data without L",
           lambda s: untagged(IMM, 0, 1, DATA, last=False), (0, 2, 7), "MD", p.REQ_ERR,
           flushed, one)
    yield ("E-16", "Atomic Response that nobody asked for",
           lambda s: untagged(ATOMIC_RESP, 3, 1, struct.pack(">IQ", 0, 42)), (0, 2, 6), "MD",
           p.FATAL)
    for op, qn in ((IMM, 1), (IMM, 3), (ATOMIC_REQ, 0), (ATOMIC_REQ, 3), (ATOMIC_RESP, 0),
                   (ATOMIC_RESP, 1), (SEND, 3), (READ_REQ, 3)):
        yield ("E-15", "opcode %d on queue %d" % (op, qn),
               lambda s, op=op, qn=qn: untagged(op, qn, 1, DATA), (0, 2, 6), "MD", p.FATAL)
    for op in (IMM, IMM_SE, ATOMIC_REQ, ATOMIC_RESP):
        yield ("E-15", "tagged opcode %d" % op,
               lambda s, op=op: tagged(op, s.t.all, s.t.addr, DATA), (0, 2, 6), "MD", p.FATAL)


def end(peer, s, p):
    s.sock.shutdown(socket.SHUT_WR)
    segs, term = s.end()
    s.sock.close()
    res = peer.result()
    p.expect(not segs and not term, "more was sent")
    return res


def immediate(peer, p):
    """One receive for each, MSNs shared with Sends, the length that of the Write before."""
    s = peer.connect(recvs=6, recv_len=64)
    put = s.put
    put(untagged(IMM, 0, 1, DATA))				# nothing before: 0
    put(tagged(WRITE, s.t.all, s.t.addr, b"a" * 10, last=False))
    put(tagged(WRITE, s.t.all, s.t.addr + 10, b"b" * 5))
    put(untagged(IMM_SE, 0, 2, bytes(8)))			# of two segments: 15
    put(untagged(SEND, 0, 3, b"xyz"))
    put(untagged(IMM, 0, 4, b"\xff" * 4 + DATA[:4]))		# only the Send before: 0
    put(tagged(WRITE, s.t.all, s.t.addr, b"c" * 100))
    put(tagged(WRITE, s.t.all, s.t.addr, b"d" * 7))		# the last one counts
    put(untagged(READ_REQ, 1, 1, read_req(1, 2, 0, 0, 0)))	# not in between, to QN 0
    put(untagged(IMM, 0, 5, DATA, inv=0xDEADBEEF, rsv=0x30))
    put(tagged(WRITE, 0xDEAD, 5))				# of no length
    put(untagged(IMM, 0, 6, DATA))
    seg = s.get()
    p.expect(seg.op == READ_RESP and seg.last, "no Read Response")
    res = end(peer, s, p)
    got = [tuple(w[:2]) + tuple(w[3:]) for w in res["wcs"]]
    want = [(100 + i, p.SUCCESS, n, RECV_WITH_IMM, WITH_IMM, data) for i, n, data in (
        (0, 0, 0x01020304), (1, 15, 0), (3, 0, 0xFFFFFFFF), (4, 7, 0x01020304),
        (5, 0, 0x01020304))]
    p.expect(got[:2] + got[3:] == want, "completions %s, not %s" % (got, want))
    p.expect(got[2][:4] == (102, p.SUCCESS, 3, 128), "completion %s" % (got[2],))


def immediate_in_send(peer, p):
    """A message must not begin inside of another."""
    s = peer.connect(recvs=1)
    s.put(untagged(SEND, 0, 1, b"", last=False))
    ulpdu = untagged(IMM, 0, 1, DATA)
    s.put(ulpdu)
    segs, term = s.end()
    s.sock.close()
    res = peer.result()
    p.check_term(term, (0, 2, 6), "MD", ulpdu)
    p.expect([w[1] for w in res["wcs"]] == [p.FLUSHED], "%s" % res["wcs"])


def atomics(peer, p):
    """In order with Reads; masks, and the returned values, in the host's byte order."""
    s = peer.connect()
    value = 0x00000005FFFFFFFF
    todo = (
        # op, id, data, mask, compare, compare mask: before, after
        (FETCH_ADD, 1, 1, 0, 0, ONES, value, 0x600000000),
        (FETCH_ADD, 0xFFFFFFFF, 0xA00000001, 0, 0xDEAD, 0, 0x600000000, 0x1000000001),
        (FETCH_ADD, 0, 0xFFFFFFFF, 0x80000000, 0, ONES, 0x1000000001, 0x1000000000),
        (CMP_SWAP, 3, 9, ONES, 8, ONES, 0x1000000000, 0x1000000000),
        (CMP_SWAP, 4, 9, ONES, 0x1000000000, ONES, 0x1000000000, 9),
        (CMP_SWAP, 5, 0xABCD, 0xFF, 0xF9, 0x0F, 9, 0xCD),
        (FETCH_ADD, 6, ONES, 0, 0, 0, 0xCD, 0xCC),
    )
    s.put(tagged(WRITE, s.t.all, s.t.addr + 16, host(value)))
    msn = 1
    for op, ident, data, mask, compare, cmask, before, after in todo:
        s.put(untagged(ATOMIC_REQ, 1, msn, atomic_req(op | 0xABCDEF0, ident, s.t.atomic,
                                                      s.t.addr + 16, data, mask, compare,
                                                      cmask)))
        s.put(untagged(READ_REQ, 1, msn + 1, read_req(1, 2, 8, s.t.all, s.t.addr + 16)))
        msn += 2
        seg = s.get()
        p.expect(seg.op == ATOMIC_RESP and not seg.tagged and seg.last and seg.qn == 3 and
                 seg.msn == msn // 2 and not seg.mo and not seg.inv and len(seg.payload) == 12,
                 "no Atomic Response: %s" % seg.ulpdu.hex())
        p.expect(struct.unpack(">IQ", seg.payload) == (ident, before),
                 "%s, not %#x, %#x" % (seg.payload.hex(), ident, before))
        seg = s.get()
        p.expect(seg.op == READ_RESP and seg.payload == host(after), "read %s, not %#x" %
                 (seg.payload.hex(), after))
    res = end(peer, s, p)
    p.expect(not res["wcs"] and not res["async"], "%s" % res)
    p.expect(res["dirty"][0] >= 16 and res["dirty"][1] < 24, "dirty %s" % res["dirty"])


def too_many(peer, p):
    """Together at most IRD Reads and atomics may be outstanding (X7-7)."""
    s = peer.connect(rcvbuf=4096)
    out = [untagged(READ_REQ, 1, 1, read_req(1, 0, 60000, s.t.all, s.t.addr))]
    out += [untagged(ATOMIC_REQ, 1, i, atomic_req(0, i, s.t.atomic, s.t.addr, 0, 0, 0, ONES))
            for i in range(2, 60)]
    # long Reads first, so that the answers wait
    out[1:4] = [untagged(READ_REQ, 1, i, read_req(1, 0, 60000, s.t.all, s.t.addr))
                for i in range(2, 5)]
    s.raw(b"".join(map(fpdu, out)))
    segs, term = s.end()
    s.sock.close()
    res = peer.result()
    p.expect(term and term.code == (1, 2, 2) and term.m and term.d and not term.r,
             "Terminate %s" % term)
    p.expect(res["async"] == [p.REQ_ERR], "events %s" % res["async"])


def request(peer, p, op):
    """The device's request: RFC 7306 Figure 4. (stream, identifier)"""
    s = peer.connect(op=op, length=8, rkey=0x12345678, raddr=0x1112131415161718)
    seg = s.get()
    p.expect(seg.op == ATOMIC_REQ and seg.qn == 1 and seg.msn == 1 and not seg.mo and seg.last
             and not seg.inv, "no Atomic Request: %s" % seg.ulpdu.hex())
    ident, = struct.unpack_from(">I", seg.payload, 4)
    want = (FETCH_ADD, 5, 0, 0) if op == p.FETCH_ADD_OP else (CMP_SWAP, 9, ONES, 5)
    want = atomic_req(want[0], ident, 0x12345678, 0x1112131415161718, want[1], want[2],
                      want[3], ONES)
    p.expect(seg.payload == want, "%s, not %s" % (seg.payload.hex(), want.hex()))
    return s, ident


def response(peer, p, op, wc_opcode):
    s, ident = request(peer, p, op)
    s.put(untagged(ATOMIC_RESP, 3, 1, struct.pack(">IQ", ident, 0x2122232425262728)))
    res = end(peer, s, p)
    got = [tuple(w[:2]) + tuple(w[3:5]) for w in res["wcs"]]
    p.expect(got == [(1, p.SUCCESS, 8, wc_opcode)], "completions %s" % got)
    p.expect(res["dirty"] == [0, 7] and res["bytes"] == host(0x2122232425262728).hex(),
             "%s %s" % (res["dirty"], res.get("bytes")))


def bad_response(peer, p, make, code, event):
    s, ident = request(peer, p, p.FETCH_ADD_OP)
    ulpdu = make(ident)
    s.put(ulpdu)
    segs, term = s.end()
    s.sock.close()
    res = peer.result()
    p.check_term(term, code, "MD", ulpdu)
    p.expect([w[:2] for w in res["wcs"]] == [[1, p.FLUSHED]], "%s" % res["wcs"])
    p.expect(res["async"] == [event], "events %s" % res["async"])
    p.expect(res["dirty"] is None, "octets %s were placed" % res["dirty"])


def refused(peer, p, payload, status, events):
    """The peer refuses with a Terminate."""
    s, ident = request(peer, p, p.FETCH_ADD_OP)
    s.put(untagged(TERMINATE, 2, 1, payload))
    segs, term = s.end()
    s.sock.close()
    res = peer.result()
    p.expect(not segs and not term, "something was sent in return")
    p.expect([w[:2] for w in res["wcs"]] == [[1, status]], "%s" % res["wcs"])
    p.expect(res["async"] == events, "events %s" % res["async"])


def run(peer, p):
    t = peer.test
    for row in bad_rows(p):
        ident, what, args, rest = row[0], row[1], row[2:6], row[6:]
        wcs = rest[0] if rest else ()
        wish = rest[1] if len(rest) > 1 else {}
        t(ident, what, lambda a=args, c=wcs, k=wish: p.bad(peer, *a, c, **k))
    t("X7-12", "Immediate Data", lambda: immediate(peer, p))
    t("E-15", "Immediate Data in the middle of a Send", lambda: immediate_in_send(peer, p))
    t("X7-4", "FetchAdd and CmpSwap with masks, among Reads", lambda: atomics(peer, p))
    t("E-05", "more Reads and atomics than IRD", lambda: too_many(peer, p))
    t("X7-9", "FetchAdd by the device", lambda: response(peer, p, p.FETCH_ADD_OP, WC_FETCH_ADD))
    t("X7-9", "CmpSwap by the device", lambda: response(peer, p, p.CMP_SWAP_OP, WC_COMP_SWAP))
    resp = struct.Struct(">IQ").pack
    for what, make, code in (
            ("identifier of another", lambda i: untagged(ATOMIC_RESP, 3, 1, resp(i ^ 1, 1)),
             (0, 2, 6)),
            ("MSN 2", lambda i: untagged(ATOMIC_RESP, 3, 2, resp(i, 1)), (1, 2, 3)),
            ("MO 8", lambda i: untagged(ATOMIC_RESP, 3, 1, resp(i, 1), mo=8), (1, 2, 4)),
            ("11 octets", lambda i: untagged(ATOMIC_RESP, 3, 1, resp(i, 1)[:11]), (0, 2, 0xFF)),
            ("32 octets", lambda i: untagged(ATOMIC_RESP, 3, 1, resp(i, 1) + bytes(20)),
             (0, 2, 0xFF)),
            ("a Read Response", lambda i: tagged(READ_RESP, 0x100, 0, DATA), (0, 2, 6))):
        t("E-16", "answer to an atomic: " + what,
          lambda m=make, c=code: bad_response(peer, p, m, c, p.FATAL))
    quote = struct.pack(">H", 70) + untagged(ATOMIC_REQ, 1, 1)
    for what, payload, status, events in (
            ("unexpected opcode, no quote", b"\x02\x06\0\0", p.REM_ACCESS_ERR, []),
            ("unexpected opcode", b"\x02\x06\xc0\0" + quote, p.REM_ACCESS_ERR, []),
            ("not aligned", b"\x02\x07\xc0\0" + quote, p.REM_ACCESS_ERR, []),
            ("access rights", b"\x01\x02\xc0\0" + quote, p.REM_ACCESS_ERR, []),
            ("about a Write", b"\x11\0\xc0\0" + struct.pack(">H", 14) + tagged(WRITE, 1, 2),
             p.FLUSHED, [p.FATAL])):
        t("E-40", "an atomic is refused: " + what,
          lambda a=payload, b=status, c=events: refused(peer, p, a, b, c))
