#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""usage: startup.py ROLES ADDRESS DEVICE

MPA start-up (RFC 5044 7.1, RFC 6581) against a scripted peer on plain TCP, which
is initiator and responder in turn. The program ROLES (roles.c) is behind the
device DEVICE, whose policy the tests change in sysfs. Output is that of peer.py;
the ids are the rows M-* and V2-* of the requirement tables.
"""

import json
import os
import select
import socket
import struct
import subprocess
import sys
import time
import traceback

from iwarp import (ENH_A, ENH_B, ENH_C, ENH_D, MPA_C, MPA_M, MPA_R, MPA_S, READ_REQ, READ_RESP,
                   REP_KEY, REQ_KEY, SEND, WRITE, Stream, fpdu, read_req, start_frame, tagged,
                   untagged)
from peer import Failure, check_term, expect

PORT, PEER_PORT = 7910, 7911
MAX_DEPTH = 128			# IRD and ORD of the device
NONE = 0x3FFF			# no negotiation (RFC 6581 9.1)
SUCCESS = 0
SLOW = int(os.environ.get("SRNIC_SLOW", 1))	# of a kernel that takes its time
RTR = {"send": (ENH_B, 0), "write": (0, ENH_C), "read": (0, ENH_D)}
ALL = (ENH_B, ENH_C | ENH_D)
DATA = bytes(range(200, 240))


class Roles:
    """The program behind the device."""

    def __init__(self, program, address):
        self.program = subprocess.Popen([program, address, str(PORT)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        self.buf = b""
        ready = self.wait("ready")
        self.addr, self.rkey = ready["addr"], ready["rkey"]

    def tell(self, *words):
        self.program.stdin.write((" ".join(map(str, words)) + "\n").encode())
        self.program.stdin.flush()

    def next(self, seconds):
        """What it says next, or None."""
        fd = self.program.stdout.fileno()
        end = time.monotonic() + seconds
        while b"\n" not in self.buf:
            if not select.select([fd], [], [], max(end - time.monotonic(), 0))[0]:
                return None
            more = os.read(fd, 65536)
            if not more:
                sys.exit("# the program behind the device ended")
            self.buf += more
        line, self.buf = self.buf.split(b"\n", 1)
        return json.loads(line)

    def wait(self, event, seconds=15):
        got = self.next(seconds * SLOW)
        expect(got and got["event"] == event, "%s in place of %s" % (got, event))
        return got

    def quiet(self, seconds=0.2):
        got = self.next(seconds)
        expect(not got, "%s in place of nothing" % got)

    def state(self):
        self.tell("state")
        return self.wait("state")

    def completions(self, want):
        """Of so many WRs, sorted."""
        got, end = [], time.monotonic() + 5 * SLOW
        while len(got) < want and time.monotonic() < end:
            got += self.state()["wcs"]
        return sorted(got)

    def end(self):
        self.tell("end")
        while True:
            got = self.next(20 * SLOW)
            if not got:
                sys.exit("# the connection does not go away")
            if got["event"] == "end":
                return

    def answer(self, how="accept", pd=0, resources=4, depth=4, recvs=0):
        self.tell("answer", how, pd, resources, depth, recvs)

    def connect(self, pd=0, resources=4, depth=4, recvs=0):
        self.tell("connect", PEER_PORT, pd, resources, depth, recvs)


class Frame:
    """An MPA Request or Reply that was received."""

    def __init__(self, stream, key):
        expect(stream._fill(20), "closed in place of a start-up frame")
        self.key = stream.buf[:16]
        self.flags, self.rev, n = struct.unpack_from(">BBH", stream.buf, 16)
        expect(self.key == key, "key %r" % self.key)
        expect(not self.flags & 0x0F, "reserved flags in %02x" % self.flags)
        expect(n <= 512, "PD_Length %d" % n)
        expect(stream._fill(20 + n), "cut frame")
        self.pd, stream.buf = stream.buf[20:20 + n], stream.buf[20 + n:]
        self.ird = self.ord = self.a = self.b = self.c = self.d = None
        if self.flags & MPA_S:
            expect(n >= 4, "S without room for the enhanced data")
            i, o = struct.unpack_from(">HH", self.pd)
            self.pd = self.pd[4:]
            self.ird, self.ord = i & NONE, o & NONE
            self.a, self.b = bool(i & ENH_A), bool(i & ENH_B)
            self.c, self.d = bool(o & ENH_C), bool(o & ENH_D)

    def rtr(self):
        return {k for k, on in (("send", self.b), ("write", self.c), ("read", self.d)) if on}


class Suite:
    def __init__(self, program, address, device):
        self.address = address
        self.family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.path = "/sys/class/infiniband/%s/policy/" % device
        self.usual = {name: self.read(name) for name in os.listdir(self.path)}
        self.roles = Roles(program, address)
        self.listener = socket.socket(self.family)
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind((address, PEER_PORT))
        self.listener.listen(8)
        self.listener.settimeout(15 * SLOW)
        self.count = self.failed = 0
        self.open = []

    def read(self, name):
        with open(self.path + name) as f:
            return f.read().strip()

    def set(self, **policy):
        for name, value in policy.items():
            with open(self.path + name, "w") as f:
                f.write(str(value))

    def keep(self, sock):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.settimeout(15 * SLOW)
        self.open.append(sock)
        return Stream(sock)

    def call(self):
        """A TCP connection to the device."""
        sock = socket.socket(self.family)
        sock.connect((self.address, PORT))
        return self.keep(sock)

    def called(self):
        """A TCP connection of the device's."""
        return self.keep(self.listener.accept()[0])

    def test(self, ident, what, func, *args, **policy):
        self.count += 1
        why = None
        try:
            self.set(**policy)
            func(self, *args)
        except Failure as e:
            why = str(e)
        except Exception:
            why = traceback.format_exc()
        print("%s %s: %s" % ("not ok" if why else "ok", ident, what))
        for line in (why or "").splitlines():
            print("# " + line)
        self.failed += bool(why)
        sys.stdout.flush()
        for sock in self.open:
            sock.close()
        self.open = []
        for name in policy:
            self.set(**{name: self.usual[name]})
        self.roles.end()
        self.roles.answer()
        self.drain()

    def drain(self):
        """Connections that the device made when the last test was over: of a fallback"""
        self.listener.setblocking(False)
        try:
            while True:
                self.listener.accept()[0].close()
        except BlockingIOError:
            pass
        self.listener.settimeout(15 * SLOW)


# What both ends do

def nothing_more(stream, seconds=0.3):
    stream.sock.settimeout(seconds)
    try:
        got = stream.sock.recv(100)
    except socket.timeout:
        return
    finally:
        stream.sock.settimeout(15 * SLOW)
    raise Failure("%s was sent" % got.hex() if got else "closed")


def closed(stream, graceful=False):
    """Nothing but the end of the stream; a RST will do unless it is to be graceful."""
    try:
        got = stream.buf or stream.sock.recv(100)
    except ConnectionResetError:
        expect(not graceful, "RST")
        got = b""
    expect(not got, "%s was sent" % got.hex())


def terminated(stream, code):
    segs, term = stream.end()
    check_term(term, code, "", b"")
    expect(not segs, "%d segments before the Terminate" % len(segs))


def enhanced(ird=4, ord=4, rtr=ALL, a=True):
    return ((ENH_A if a else 0) | rtr[0] | ird, rtr[1] | ord)


def request(su, rev=2, flags=MPA_C, pd=b"", enh="usual", key=REQ_KEY):
    """As initiator: the stream after the Request."""
    s = su.call()
    enh = enhanced() if enh == "usual" else enh
    s.raw(start_frame(key, flags, rev, pd, enh if rev >= 2 else None))
    return s


def accepted(su, s, rev=2):
    su.roles.wait("CONNECT_REQUEST")
    su.roles.wait("ESTABLISHED")
    rep = Frame(s, REP_KEY)
    expect(not rep.flags & MPA_R and rep.rev == rev, "flags %02x, revision %d" %
           (rep.flags, rep.rev))
    return rep


def send_rtr(s, kind):
    if kind == "send":
        s.send()
    elif kind == "read":
        s.read(0, 0, 0, 0, 0)
        seg = s.get()
        expect(seg.op == READ_RESP and seg.last and not seg.payload, "answer to the RTR: %s" %
               seg.ulpdu.hex())
    else:
        s.put(tagged(WRITE, 0, 0))


def asked(su, flags=MPA_C, rev=2, enh="usual", pd=b"", key=REP_KEY, **kw):
    """As responder: (stream after the Reply, the Request)."""
    su.roles.connect(**kw)
    s = su.called()
    req = Frame(s, REQ_KEY)
    nothing_more(s, 0.05)		# M-STA-9
    enh = enhanced() if enh == "usual" else enh
    s.raw(start_frame(key, flags, rev, pd, enh if rev >= 2 else None))
    return s, req


def take_rtr(s, kind):
    """The first FPDU, and what it does to the MSNs."""
    seg = s.get()
    expect(seg and seg.last and (seg.tagged or not seg.mo), "no RTR")
    if kind == "write":
        expect(seg.op == WRITE and not seg.payload, "RTR %s" % seg.ulpdu.hex())
    elif kind == "send":
        expect(seg.op == SEND and not seg.payload and seg.msn == 1, "RTR %s" % seg.ulpdu.hex())
    else:
        expect(seg.op == READ_REQ and seg.msn == 1, "RTR %s" % seg.ulpdu.hex())
        sink, to, size, _, _ = struct.unpack(">IQIIQ", seg.payload)
        expect(not size, "RTR is a Read of %d octets" % size)
        s.put(tagged(READ_RESP, sink, to))


def exchange(su, s, out_msn):
    """Both ways: a Write, a Read, a Send; receives are posted at the device."""
    r = su.roles
    s.put(tagged(WRITE, r.rkey, r.addr + 100, DATA))
    s.read(len(DATA), r.rkey, r.addr + 100)
    seg = s.get()
    expect(seg.op == READ_RESP and seg.payload == DATA and seg.last, "Read Response %s" %
           seg.ulpdu.hex())
    s.send(DATA)
    r.tell("send", 7)
    seg = s.get()
    expect(seg.op == SEND and seg.msn == out_msn and seg.payload == bytes(range(7)),
           "Send %s" % seg.ulpdu.hex())
    wcs = r.completions(2)
    expect([w[:2] for w in wcs] == [[1, SUCCESS], [100, SUCCESS]] and wcs[1][2] == len(DATA),
           "completions %s" % wcs)
    s.sock.shutdown(socket.SHUT_WR)
    segs, term = s.end()
    expect(not segs and not term, "more was sent")
    r.wait("DISCONNECTED")


# As initiator, the device is the responder

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
    """S as in the Request (V2-17), private data of the ULP only"""
    s = request(su, rev, flags, enh=None)
    rep = accepted(su, s, rev)
    expect(bool(rep.flags & MPA_S) == want, "flags %02x" % rep.flags)


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
    """Nothing is sent before an FPDU came (M-STA-4), also if it is bad."""
    s = request(su, enh=enhanced(rtr=RTR[kind or "write"], a=kind is not None))
    accepted(su, s)
    su.roles.tell("send", 7)
    nothing_more(s)
    if kind == "read":				# the answer may come before the Send, or after
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
    """Closed when the time is over, and not before."""
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
    """An initiator that does not owe an RTR may take its time."""
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


def crc_used(su, s, used):
    s.crc = used
    s.put(tagged(WRITE, 0, 0))
    su.roles.tell("send", 5)
    seg = s.get()				# with CRC it is checked here
    expect(seg.op == SEND, "%s" % seg.ulpdu.hex())
    s.raw(fpdu(untagged(SEND, 0, 1, DATA), crc=0x11223344))
    if used:
        terminated(s, (2, 0, 2))
    else:
        s.read(0, 0, 0)
        expect(s.get().op == READ_RESP, "a Send without CRC is refused")
        expect([100, SUCCESS, len(DATA)] in su.roles.completions(2), "no receive")


def responder_markers(su, want):
    s = request(su)
    rep = accepted(su, s)
    expect(bool(rep.flags & MPA_M) == want, "flags %02x" % rep.flags)


def responder_depths(su, ird, ord, own):
    """RFC 6581 9.1: (IRD, ORD) of the Request, of our application: what is agreed."""
    su.roles.answer(resources=own, depth=own)
    s = request(su, enh=enhanced(ird, ord, rtr=(0, ENH_C)))
    got = su.roles.wait("CONNECT_REQUEST")
    # the application is told what the initiator has said; of no negotiation, our own limit
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
    """The depths there would have been (V2-9, V2-12)"""
    su.roles.answer("reject")
    s = request(su, enh=enhanced(3, 200))
    su.roles.wait("CONNECT_REQUEST")
    rep = Frame(s, REP_KEY)
    expect(rep.flags & MPA_R and rep.flags & MPA_S, "flags %02x" % rep.flags)
    expect((rep.ird, rep.ord) == (MAX_DEPTH, 3), "IRD %d, ORD %d" % (rep.ird, rep.ord))


# As responder, the device is the initiator

def fails(su, event, status, **kw):
    """The Reply of these is no good."""
    s, _ = asked(su, **kw)
    got = su.roles.wait(event)
    expect(got["status"] == status, "status %d" % got["status"])
    closed(s)


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
    """The Reply offers some, the policy prefers one; a Send at once does not overtake it."""
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
    """Of the Reply; what the application is told, and the Reads at a time."""
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
    """Our IRD becomes what the responder wants to use (V2-10)."""
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
    """Nothing enhanced is wanted: nothing enhanced is used (V2-18)."""
    s, req = asked(su, rev=1, pd=b"abc", recvs=1)
    expect(req.rev == 1 and req.flags == MPA_C and not req.pd, "flags %02x, revision %d" %
           (req.flags, req.rev))
    expect(su.roles.wait("ESTABLISHED")["pd"].startswith(b"abc".hex()), "private data")
    nothing_more(s)
    su.roles.tell("send", 3)
    expect(s.get().op == SEND, "no Send")


def falls_back(su, how):
    """A responder that knows revision 1 only (V2-19)."""
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
    """Nobody there: the queue of a listener that never accepts is full."""
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


def snapshot(su):
    """What is written is for connections that begin later."""
    s = su.call()
    su.roles.quiet(0.2)				# until it is taken from TCP
    su.set(crc="off")
    s.raw(start_frame(REQ_KEY, 0, 2, b"", enhanced()))
    rep = accepted(su, s)
    expect(rep.flags & MPA_C, "an old connection has the new policy")
    s = request(su, flags=0)
    rep = accepted(su, s)
    expect(not rep.flags & MPA_C, "a new connection has the old policy")


# All of them

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
        # the event of iw_cm has room for 255
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


def as_responder(t):
    for n in (0, 1, 255):
        t("V2-4", "the Request with %d octets of private data" % n, first_request, n)
    for i in range(16):
        bad = REP_KEY[:i] + bytes([REP_KEY[i] ^ 1]) + REP_KEY[i + 1:]
        t("M-STA-5", "Reply, octet %d of the key wrong" % i,
          lambda su, k=bad: fails(su, "CONNECT_ERROR", -71, key=k))
    t("M-REQ-1", "two initiators", lambda su: fails(su, "CONNECT_ERROR", -71, key=REQ_KEY))
    t("M-REQ-5", "Reply of revision 3", lambda su: fails(su, "CONNECT_ERROR", -71, rev=3))
    t("M-RDMAC-1", "Reply of revision 0", lambda su: fails(su, "CONNECT_ERROR", -71, rev=0))
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


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    su = Suite(*sys.argv[1:])
    su.roles.answer()
    as_initiator(su.test)
    as_responder(su.test)
    su.roles.program.kill()
    print("# %d tests, %d failed" % (su.count, su.failed))
    sys.exit(su.failed > 0)


if __name__ == "__main__":
    main()
