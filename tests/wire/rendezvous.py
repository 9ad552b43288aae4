#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""usage: rendezvous.py ORDERS ADDRESS PORT [privileged | acks]

Requests to a QP that waits for its peer (the policy ib_port is PORT), forged without all of its
numbers: each gets a Reply with R, the same as if there were no such QP, and the connection is
closed; then the valid Request is accepted. The program ORDERS (orders.c) has the QP, at ADDRESS,
which is the peer's address as well. With "privileged" the policy ib_privileged is on, and only
the port makes the difference. Then Sends with immediate data and large FPDUs, offered and not. With
"acks" the policy ib_ack is on, and there is nothing but acknowledgments, and Flush and Atomic Write, offered
and not. The output is TAP.
"""

import ipaddress
import os
import select
import socket
import struct
import subprocess
import sys
import time

from iwarp import (ACK, ATOMIC_REQ, ATOMIC_RESP, ENH_A, ENH_C, MPA_C, MPA_R, REP_KEY, REQ_KEY,
                   SEND_IMM, SEND_SE_IMM, TERMINATE, WRITE, StartFrame, Stream, atomic_req,
                   start_frame, tagged, untagged)

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import Tap, expect

SLOW = int(os.environ.get("SRNIC_SLOW", 1))
MAGIC, VERSION = 0x73724942, 1
OK, NOT_READY, MISMATCH, COLLISION = range(4)
OFFER_IMM = 0x0100	# Sends with immediate data
ACKS = 0x0200		# acknowledgments
OFFER_LARGE = 0x0400	# FPDUs of up to 32 KiB
PLACEMENT = 0x0800	# Flush and Atomic Write
OFFERS = OFFER_IMM | OFFER_LARGE
FLUSH, ATOMIC_WRITE = 14, 15	# operations of Atomic Requests
LARGE = 32768
AROUND = 24		# octets of the FPDU of a Send beside its payload: RFC 5044, RFC 5041
LOC_QP_OP_ERR, REM_ACCESS_ERR = 2, 10
OWN_QPN = 0x777
FLOOD = 200
RATE, TOO_MANY = 256, 1000	# Requests in a second


def gid_of(address):
    ip = ipaddress.ip_address(address)
    return ip.packed if ip.version == 6 else bytes(10) + b"\xff\xff" + ip.packed


class Program:
    """The program with the QP."""

    def __init__(self, path, address):
        self.child = subprocess.Popen([path, address, "held"], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, text=True)
        self.qpn, self.psn, self.peer_psn, self.gid_index = map(int, self.line().split())

    def line(self):
        if not select.select([self.child.stdout], [], [], 20 * SLOW)[0]:
            sys.exit("# the program says nothing")
        return self.child.stdout.readline()

    def tell(self, what):
        self.child.stdin.write("%s\n" % what)
        self.child.stdin.flush()
        return self.line().strip()

    def completion(self, seconds=5):
        end = time.monotonic() + seconds * SLOW
        while True:
            n, *what = map(int, self.tell("poll").split())
            if n or time.monotonic() > end:
                return tuple(what) if n else None
            time.sleep(0.01)

    def end(self):
        self.child.stdin.close()
        return self.child.wait(20 * SLOW)


class Peer:
    def __init__(self, address, port, program):
        self.address, self.port, self.program = address, port, program
        self.gid = gid_of(address)
        self.own_port = 0

    def hello(self, **fields):
        """Private data, valid except for FIELDS"""
        f = dict(magic=MAGIC, version=VERSION, code=OK, offers=0, src_qpn=OWN_QPN,
                 dst_qpn=self.program.qpn, src_psn=self.program.peer_psn,
                 dst_psn=self.program.psn, src_gid=self.gid, dst_gid=self.gid)
        f.update(fields)
        return struct.pack(">IBBHIIII", f["magic"], f["version"], f["code"], f["offers"],
                           f["src_qpn"], f["dst_qpn"], f["src_psn"], f["dst_psn"]) + \
            f["src_gid"] + f["dst_gid"]

    def connect(self):
        s = socket.create_connection((self.address, self.port), 10 * SLOW, (self.address, self.own_port))
        s.settimeout(10 * SLOW)
        return s

    def ask(self, frame):
        """The Reply, and the stream behind it"""
        stream = Stream(self.connect())
        stream.raw(frame)
        return StartFrame(stream, REP_KEY), stream

    def request(self, pd, flags=MPA_C, rev=2, enhanced=(ENH_A | 4, ENH_C | 4)):
        return start_frame(REQ_KEY, flags, rev, pd, enhanced)

    def refused(self, frame, code):
        reply, stream = self.ask(frame)
        expect(reply.flags & MPA_R, "a Reply without R")
        want = self.hello(code=code, src_qpn=0, dst_qpn=0, src_psn=0, dst_psn=0,
                          src_gid=bytes(16), dst_gid=bytes(16))
        expect(reply.pd == want, "the Reply says %s" % reply.pd.hex())
        expect(stream.sock.recv(1) == b"", "bytes behind the Reply")
        stream.sock.close()

    def closed(self, data):
        """The device sends nothing, and closes"""
        s = self.connect()
        try:
            s.sendall(data)
            s.shutdown(socket.SHUT_WR)
            expect(s.recv(100) == b"", "an answer")
        except OSError:		# a reset, at any point
            pass
        s.close()


def forged(p):
    """(what, private data)"""
    bad = bytearray(p.gid)
    bad[15] ^= 1
    return [
        ("a QP that is not there", p.hello(dst_qpn=p.program.qpn ^ 1)),
        ("QP 0", p.hello(dst_qpn=0)),
        ("the largest QP number", p.hello(dst_qpn=0xFFFFFF)),
        ("from another QP", p.hello(src_qpn=OWN_QPN + 1)),
        ("from another PSN", p.hello(src_psn=p.program.peer_psn ^ 1)),
        ("from another GID than its address", p.hello(src_gid=bytes(bad))),
        ("to another GID than its address", p.hello(dst_gid=bytes(bad))),
        ("from no GID", p.hello(src_gid=bytes(16))),
    ]


def malformed(p):
    right = p.hello()
    return [
        ("no private data", b""),
        ("a byte too few", right[:-1]),
        ("a byte too many", right + b"\0"),
        ("the longest private data", right + bytes(508 - len(right))),
        ("another magic", p.hello(magic=MAGIC ^ 1)),
        ("another version", p.hello(version=VERSION + 1)),
        ("a code that is none", p.hello(code=200)),
        ("a QP number of 25 bits", p.hello(dst_qpn=p.program.qpn | 1 << 24)),
        ("a source QP number of 32 bits", p.hello(src_qpn=OWN_QPN | 0xFF000000)),
        ("a PSN of 25 bits", p.hello(src_psn=p.program.peer_psn | 1 << 24)),
    ]


def flood(p):
    """Many forged ones at once; each is answered"""
    socks = [p.connect() for _ in range(FLOOD)]
    for i, s in enumerate(socks):
        s.sendall(p.request(p.hello(src_psn=p.program.peer_psn ^ i + 1)))
    for s in socks:
        reply = StartFrame(Stream(s), REP_KEY)
        expect(reply.flags & MPA_R, "a Reply without R")
        s.close()


def too_often(p):
    """Requests beyond the rate are reset, and after a while they are answered again"""
    answered, start = 0, time.monotonic()
    for i in range(TOO_MANY):
        try:
            reply, stream = p.ask(p.request(p.hello(src_psn=p.program.peer_psn ^ i + 1)))
            expect(reply.flags & MPA_R, "a Reply without R")
            answered += 1
            stream.sock.close()
        except OSError:		# reset
            pass
    seconds = time.monotonic() - start
    expect(0 < answered <= RATE * (seconds + 1), "%d in %.1f s" % (answered, seconds))
    time.sleep(1.2)
    p.refused(p.request(p.hello(dst_qpn=0)), NOT_READY)
    return "%d answered in %.1f s" % (answered, seconds)


def taken(p, **fields):
    """The stream behind the Reply to the valid Request; the QP may be connecting by itself"""
    end = time.monotonic() + 10 * SLOW
    while True:
        reply, stream = p.ask(p.request(p.hello(**fields)))
        if not reply.flags & MPA_R or reply.pd[5] != COLLISION or time.monotonic() > end:
            return reply, stream
        time.sleep(0.01)


def the_right_one(p):
    reply, stream = taken(p)
    expect(not reply.flags & MPA_R, "a Reply with R: %s" % reply.pd.hex())
    want = p.hello(offers=OFFERS, src_qpn=p.program.qpn, dst_qpn=OWN_QPN, src_psn=p.program.psn,
                   dst_psn=p.program.peer_psn)
    expect(reply.pd == want, "the Reply says %s" % reply.pd.hex())
    stream.put(tagged(WRITE, 0, 0))		# the RTR
    stream.send(b"x" * 10)
    expect(p.program.completion() == (0, 10, 0), "no message arrives")
    p.own_port = p.own_port and p.own_port - 1
    p.refused(p.request(p.hello()), NOT_READY)		# the same again
    stream.sock.close()


def each(tap, p, state):
    """All invalid Requests, then the valid one, to a QP in STATE"""
    wrong = forged(p)
    if state == "RTS":		# before RTS the QP has no PSN
        wrong.append(("to another PSN", p.hello(dst_psn=p.program.psn ^ 1)))
    for what, pd in wrong:
        tap.test("%s: %s" % (state, what), p.refused, p.request(pd), NOT_READY)
    for what, pd in malformed(p):
        tap.test("%s: %s" % (state, what), p.refused, p.request(pd), MISMATCH)
    tap.test("%s: a Request of revision 1" % state, p.refused,
             p.request(p.hello(), rev=1, enhanced=None), MISMATCH)
    tap.test("%s: half a Request" % state, p.closed, p.request(p.hello())[:40])
    tap.test("%s: no Request" % state, p.closed, b"GET / HTTP/1.1\r\n\r\n" * 9)
    tap.test("%s: %d at once" % (state, FLOOD), flood, p)
    tap.test("%s: %d, one after the other" % (state, TOO_MANY), too_often, p)
    tap.test("%s: nothing has reached the program" % state, nothing, p)
    tap.test("%s: who knows all of it is taken, once" % state, the_right_one, p)


def nothing(p):
    expect(p.program.completion(0) is None, "a completion")


def from_port(p, port, function, *args):
    p.own_port = port
    function(p, *args)


def privileged(tap, p):
    """The valid Request, from different ports"""
    for port in 0, 1024:
        tap.test("privileged: port %d" % port, from_port, p, port, Peer.refused,
                 p.request(p.hello()), NOT_READY)
    tap.test("privileged: port 1023", from_port, p, 1023, the_right_one)


def rtr_stream(p, offers):
    """The stream behind the RTR"""
    reply, stream = taken(p, offers=offers)
    expect(not reply.flags & MPA_R, "a Reply with R")
    stream.put(tagged(WRITE, 0, 0))
    return stream


def imm_offered(p):
    stream = rtr_stream(p, OFFER_IMM | 0x8000)	# with an unknown offer
    p.program.tell("imm")
    seg = stream.get()
    expect((seg.op, seg.inv, seg.qn, seg.payload) == (SEND_IMM, 0x01020304, 0, b""),
           "opcode %d, field %#x" % (seg.op, seg.inv))
    expect(p.program.completion() == (0, 0, 0), "the Send is not done")
    stream.send(b"abc", SEND_SE_IMM, 0xA0B0C0D0)
    expect(p.program.completion() == (0, 3, 0xA0B0C0D0), "no message arrives")
    stream.sock.close()


def imm_not_sent(p):
    stream = rtr_stream(p, 0)
    p.program.tell("imm")
    expect(p.program.completion()[0] == LOC_QP_OP_ERR, "another status")
    expect(all(seg.op != SEND_IMM for seg in stream.end()[0]), "it was sent")


def imm_not_taken(p):
    stream = rtr_stream(p, 0)
    stream.send(b"abc", SEND_IMM, 1)
    expect(stream.end()[1].code == (0, 2, 6), "another Terminate")


def large(p, offers, size, code):
    """The program's receive is too small for it in any case (E-08)"""
    stream = rtr_stream(p, offers)
    stream.send(bytes(size - AROUND))
    term = stream.end()[1]
    expect(term.code == code, str(term))


def offers(tap, path, address, port):
    """A program for each: the stream ends"""
    for what, function, *args in (
            ("Send with immediate data is what both offer", imm_offered),
            ("Send with immediate data is not sent to a peer that does not offer it", imm_not_sent),
            ("Send with immediate data is an unexpected opcode from a peer that does not offer it",
             imm_not_taken),
            ("an FPDU of 32 KiB is read from a peer that offers it", large, OFFER_LARGE, LARGE,
             (1, 2, 5)),
            ("a longer FPDU is read from a peer that offers none", large, OFFER_IMM, LARGE + 4,
             (1, 2, 5)),
            ("a longer FPDU ends the stream of a peer that offers 32 KiB", large, OFFER_LARGE,
             LARGE + 4, (2, 0, 3)),
            ("the longest FPDU ends the stream of a peer that offers 32 KiB", large, OFFER_LARGE,
             65536, (2, 0, 3))):
        program = Program(path, address)
        expect(program.tell(OWN_QPN) == "rtr", "RTR")
        expect(program.tell("rts") == "rts", "RTS")
        tap.test(what, function, Peer(address, port, program), *args)
        program.end()


def acked_stream(p, offers):
    """The stream behind the RTR, which is not acknowledged, with a Send of the program"""
    reply, stream = taken(p, offers=offers)
    expect(not reply.flags & MPA_R, "a Reply with R")
    expect(reply.pd[6:8] == struct.pack(">H", OFFERS | ACKS | PLACEMENT),
           "it offers %s" % reply.pd[6:8].hex())
    stream.put(tagged(WRITE, 0, 0))
    p.program.tell("imm")
    seg = stream.get()
    expect(seg.op == SEND_IMM, "opcode %d" % seg.op)
    return stream


def ack_agreed(p):
    stream = acked_stream(p, OFFERS | ACKS)
    expect(p.program.completion(0.2) is None, "done before it is acknowledged")
    stream.ack(1)
    expect(p.program.completion() == (0, 0, 0), "the Send is not done")
    stream.send(b"abc")
    seg = stream.get()
    expect((seg.op, seg.qn, seg.msn, seg.mo, seg.last, seg.inv, seg.payload) ==
           (ACK, 3, 1, 0, True, 1, b""), "no acknowledgment: opcode %d" % seg.op)
    expect(p.program.completion() == (0, 3, 0), "no message arrives")
    stream.sock.close()


def ack_wrong(p, number):
    stream = acked_stream(p, OFFERS | ACKS)
    stream.ack(number)
    expect(stream.end()[1].code == (0, 2, 6), "another Terminate")


def ack_terminated(p):
    stream = acked_stream(p, OFFERS | ACKS)
    stream.put(untagged(TERMINATE, 2, 1, b"\x11\x00\0\0"))
    expect(p.program.completion()[0] == REM_ACCESS_ERR, "another status")
    stream.sock.close()


def ack_not_taken(p):
    stream = acked_stream(p, OFFERS)
    expect(p.program.completion() == (0, 0, 0), "the Send is not done")
    stream.send(b"abc")
    expect(p.program.completion() == (0, 3, 0), "no message arrives")
    stream.ack(1)
    segments, term = stream.end()[:2]
    expect(all(seg.op != ACK for seg in segments), "it acknowledges")
    expect(term.code == (0, 2, 6), "another Terminate")


def places(p, offered, op, code):
    """A Flush or Atomic Write of a region that is none, and how it ends"""
    stream = acked_stream(p, offered)
    stream.put(untagged(ATOMIC_REQ, 1, 1, atomic_req(op, 0, 0x12345678, 0x1000, 8, 1)))
    term = stream.end()[1]
    expect(term.code == code, str(term))


def unasked(p):
    """An Atomic Response, when nothing has been asked for"""
    stream = acked_stream(p, OFFERS | ACKS | PLACEMENT)
    stream.put(untagged(ATOMIC_RESP, 3, 1, struct.pack(">IQ", 0, 0)))
    term = stream.end()[1]
    expect(term.code == (0, 2, 6), str(term))


def acks(tap, path, address, port):
    """As offers()"""
    all_of_it = OFFERS | ACKS | PLACEMENT
    for what, function, *args in (
            # the program's QP does not take it
            ("a Flush is taken from a peer that offers it", places, all_of_it, FLUSH, (0, 1, 2)),
            ("an Atomic Write is taken from a peer that offers it", places, all_of_it,
             ATOMIC_WRITE, (0, 1, 0)),
            ("a Flush is an unexpected opcode from a peer that does not offer it", places,
             OFFERS | ACKS, FLUSH, (0, 2, 6)),
            ("an Atomic Write is an unexpected opcode from a peer that does not offer it", places,
             OFFERS | ACKS, ATOMIC_WRITE, (0, 2, 6)),
            ("a Flush is an unexpected opcode from a peer that offers no acknowledgments", places,
             OFFERS | PLACEMENT, FLUSH, (0, 2, 6)),
            ("an Atomic Response that nobody asked for is an unexpected opcode", unasked),
            ("an acknowledgment is what a message waits for, if both offer it", ack_agreed),
            ("an acknowledgment of what was not sent is an unexpected opcode", ack_wrong, 2),
            ("an acknowledgment of nothing is an unexpected opcode", ack_wrong, 0),
            ("an acknowledgment that does not come before a Terminate: the Terminate's status",
             ack_terminated),
            ("an acknowledgment is an unexpected opcode from a peer that does not offer it",
             ack_not_taken)):
        program = Program(path, address)
        expect(program.tell(OWN_QPN) == "rtr", "RTR")
        expect(program.tell("rts") == "rts", "RTS")
        tap.test(what, function, Peer(address, port, program), *args)
        program.end()


def main():
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    path, address, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
    tap = Tap()
    if sys.argv[4:] == ["acks"]:
        acks(tap, path, address, port)
        sys.exit(tap.end())
    if len(sys.argv) == 5:
        program = Program(path, address)
        expect(program.tell(OWN_QPN) == "rtr", "RTR")
        privileged(tap, Peer(address, port, program))
        tap.result(program.end() == 0, "privileged: the program ends in order")
        sys.exit(tap.end())
    for state in ("RTR", "RTS"):
        program = Program(path, address)
        expect(program.tell(OWN_QPN) == "rtr", "RTR")
        if state == "RTS":
            expect(program.tell("rts") == "rts", "RTS")
        each(tap, Peer(address, port, program), state)
        tap.result(program.end() == 0, "%s: the program ends in order" % state)
    offers(tap, path, address, port)
    sys.exit(tap.end())


if __name__ == "__main__":
    main()
