# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""A program's WRs on the wire, and a peer's messages in the program, for peer.py (RFC 5040 5, RFC
5041 5, RDMAC verbs 8.2)."""

import socket

from iwarp import READ_REQ, READ_RESP, SEND, WRITE, read_req, tagged, untagged
from rdmap import end


def buffer(start, size):
    """The initial contents of the target's buffer."""
    return bytes(i % 251 for i in range(start, start + size))


def message(s, p, want, what):
    """One whole message: its segments follow each other, only the last has L (D-CTL-3)."""
    off = 0
    while True:
        seg = s.get()
        p.expect(seg, "FIN in place of %s" % what)
        if what == "Write":
            p.expect(seg.op == WRITE and seg.tagged, "opcode %d, not a Write" % seg.op)
            at = seg.to
        else:
            p.expect((seg.op, seg.tagged, seg.qn) == (SEND, False, 0), "opcode %d, not a Send" %
                     seg.op)
            at = seg.mo
        p.expect(at == off + (want["to"] if what == "Write" else 0), "%s at %#x" % (what, at))
        if what == "Write":
            p.expect(seg.stag == want["stag"], "STag %#x" % seg.stag)
        else:
            p.expect(seg.msn == want["msn"], "MSN %d, not %d" % (seg.msn, want["msn"]))
        p.expect(seg.payload == want["data"][off:off + len(seg.payload)],
                 "%s: other octets at %d" % (what, off))
        off += len(seg.payload)
        if seg.last:
            break
    p.expect(off == len(want["data"]), "%s of %d octets, not %d" % (what, off,
                                                                   len(want["data"])))


def gathered(peer, p, size):
    """Each WR is one message of all its pieces, in the order posted (WR-5, SND-8, SND-9)."""
    s = peer.connect(op=p.LIST, length=size, rkey=0x77, raddr=0x1000, mss=536)
    for i in range(16):
        data = b"".join(buffer((p.GATHERED - j) * 2 * size + i, size)
                        for j in range(p.GATHERED))
        if i & 1:
            message(s, p, {"msn": 1 + i // 2, "data": data}, "Send")
        else:
            message(s, p, {"stag": 0x77, "to": 0x1000 + i, "data": data}, "Write")
    s.sock.shutdown(socket.SHUT_WR)
    segs, term = s.end()
    s.sock.close()
    res = peer.result()
    p.expect(not segs and not term and not res["async"], "%s %s %s" % (segs, term, res["async"]))
    p.expect([w[:2] for w in res["wcs"]] == [[1 + i, p.SUCCESS] for i in range(16)],
             "completions %s" % res["wcs"])


def write_seen(peer, p, size):
    """When a receive completes, the Writes before it are placed (WR-7, OR-05)."""
    rounds = 16
    s = peer.connect(op=p.SEEN, length=size, recvs=rounds)
    for i in range(rounds):
        data = bytes([0x80 + i]) * size
        s.raw(b"".join([s.fpdu(tagged(WRITE, s.t.all, s.t.addr + at, data[at:at + 1000],
                                      at + 1000 >= size)) for at in range(0, size, 1000)] +
                       [s.fpdu(untagged(SEND, 0, 1 + i, b"x"))]))
        seen = peer.answer()["seen"]
        p.expect(seen == [100 + i, p.SUCCESS, (bytes([0x80 + i]) * 8).hex()],
                 "seen: %s" % seen)
    end(peer, s, p)


def buffer_used_again(peer, p, size):
    """The data sent is the data posted, whatever the program writes after the completion."""
    s = peer.connect(op=p.SPOILT, length=size, rcvbuf=4096, mss=536)
    told = peer.answer()
    p.expect(told.get("spoilt") == p.SUCCESS, "%s" % told)
    message(s, p, {"msn": 1, "data": buffer(0, size)}, "Send")
    end(peer, s, p)


def reads_of_parts(peer, p):
    """A Read of any part of a buffer, at any octet, into any TO, returns that part."""
    s = peer.connect()
    parts = ((0, 1), (1, 3), (4095, 2), (p.BUF_LEN - 1, 1), (7, 3000), (0, p.BUF_LEN))
    for i, (at, size) in enumerate(parts):
        s.read(size, s.t.only_read if i & 1 else s.t.all, s.t.addr + at, 0x100 + i, 3 * i + 1)
        got = b""
        while True:
            seg = s.get()
            p.expect(seg.op == READ_RESP and (seg.stag, seg.to) ==
                     (0x100 + i, 3 * i + 1 + len(got)), "Read Response %s" % seg.ulpdu.hex())
            got += seg.payload
            if seg.last:
                break
        p.expect(got == buffer(at, size), "other octets, %d at %d" % (size, at))
    end(peer, s, p)


def read_into_part(peer, p):
    """A Read of the device completes with its response, wherever that was cut (RRS-3, ORD-21)."""
    data = bytes(i % 251 ^ 0xFF for i in range(100))
    for cut in (0, 1, 50, 99):
        s = peer.connect(op=p.READ, length=100, rkey=0x77, raddr=0x1001)
        seg = s.get()
        sink, to = int.from_bytes(seg.payload[:4], "big"), int.from_bytes(seg.payload[4:12], "big")
        p.expect(seg.op == READ_REQ and seg.payload == read_req(sink, to, 100, 0x77, 0x1001),
                 "Read Request %s" % seg.payload.hex())
        if cut:
            s.put(tagged(READ_RESP, sink, to, data[:cut], last=False))
        s.put(tagged(READ_RESP, sink, to + cut, data[cut:]))
        res = end(peer, s, p, [(1, 100)])
        p.expect(res["dirty"] == [0, 99] and res["bytes"] == data.hex(), "%s" % res["dirty"])


def one_pd(peer, p):
    """Each QP of a PD can access each region of the PD, by the region's rights, and no other."""
    for i in range(4):
        s = peer.connect()
        for stag in (s.t.all, s.t.only_write):
            s.put(tagged(WRITE, stag, s.t.addr + i, bytes([0xF0 + i])))
        for stag in (s.t.all, s.t.only_read):
            s.read(1, stag, s.t.addr + i)
            seg = s.get()
            p.expect(seg.op == READ_RESP and seg.payload == bytes([0xF0 + i]), "what was read")
        ulpdu = tagged(WRITE, s.t.other_pd, s.t.addr, b"x")
        s.put(ulpdu)
        segs, term = s.end()
        s.sock.close()
        res = peer.result()
        p.check_term(term, (1, 1, 2), "MD", ulpdu)
        p.expect(not segs and res["dirty"] == [i, i], "dirty %s" % res["dirty"])


def close_with_data(peer, p, size):
    """WRs posted before the close are sent completely, then FIN (D-TDN-2)."""
    s = peer.connect(op=p.SEND_CLOSE, length=size, rcvbuf=4096, mss=536)
    for i in range(16):
        message(s, p, {"msn": 1 + i, "data": buffer(0, size)}, "Send")
    segs, term = s.end()		# a RST would be an error
    s.sock.close()
    res = peer.result()
    p.expect(not segs and not term and not res["async"], "%s %s %s" % (segs, term, res["async"]))


def message_of(s, p):
    """(opcode, octets) of the next message, which no other message interrupts."""
    first = seg = s.get()
    size = 0
    while True:
        p.expect(seg and (seg.op, seg.tagged) == (first.op, first.tagged),
                 "a message within another")
        size += len(seg.payload)
        if seg.last:
            return seg.op, size
        seg = s.get()


def response_among_sends(peer, p):
    """A full SQ does not delay a Read: its response is sent between two messages (X-9)."""
    s = peer.connect(op=p.LIST, length=8000, rkey=0x77, raddr=0x1000, rcvbuf=4096, mss=536)
    got = [message_of(s, p)]
    # the others wait until this end reads
    s.read(100, s.t.all, s.t.addr)
    got += [message_of(s, p) for _ in range(16)]
    p.expect(sorted(got) == sorted([(WRITE, 24000), (SEND, 24000)] * 8 + [(READ_RESP, 100)]),
             "%s" % got)
    at = got.index((READ_RESP, 100))
    print("# the response came behind %d of 16 messages" % at)
    p.expect(at < 16, "the response waits for the whole SQ")
    end(peer, s, p, [(1 + i, 0) for i in range(16)])


def send_among_responses(peer, p):
    """A peer that Reads all the time does not delay a Send (X-9)."""
    reads = 24
    s = peer.connect(recvs=1, op=p.ECHO, length=100, rcvbuf=4096, mss=536)
    for _ in range(p.IRD):
        s.read(30000, s.t.all, s.t.addr)
    s.send(b"x")
    got = []
    while len(got) < reads + 1:
        got.append(message_of(s, p))
        if got[-1][0] == READ_RESP and s.msn[1] <= reads:
            s.read(30000, s.t.all, s.t.addr)
    p.expect(sorted(got) == sorted([(READ_RESP, 30000)] * reads + [(SEND, 100)]), "%s" % got)
    at = got.index((SEND, 100))
    print("# the Send came behind %d of %d responses" % (at, reads))
    p.expect(at < reads, "the Send waits for all the Reads")
    end(peer, s, p, [(1, 0)])


def run(peer, p):
    t = peer.test
    for size in (1, 1000, 5000):
        t("WR-5", "Writes and Sends of 3 pieces of %d bytes: each is one message, in order" % size,
          lambda n=size: gathered(peer, p, n))
    for size in (1000, 60000):
        t("WR-7", "a Write of %d bytes is in memory when the Send behind it completes" % size,
          lambda n=size: write_seen(peer, p, n))
    t("WR-25", "a buffer that is used again after its completion was sent as it was",
      lambda: buffer_used_again(peer, p, 20000))
    t("RRQ-9", "a Read of any part of a buffer gets that part", lambda: reads_of_parts(peer, p))
    t("RRS-3", "a Read completes with its response, in one segment or two",
      lambda: read_into_part(peer, p))
    t("X-9", "a response goes out between the messages of a full send queue",
      lambda: response_among_sends(peer, p))
    t("X-9", "a Send goes out between the responses to a peer that reads all the time",
      lambda: send_among_responses(peer, p))
    t("PD-02", "each QP of a PD reaches each region of it, and none of another PD",
      lambda: one_pd(peer, p))
    t("D-TDN-2", "all Sends that were posted before the close arrive, then FIN",
      lambda: close_with_data(peer, p, 8000))
