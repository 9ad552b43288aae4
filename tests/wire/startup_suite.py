# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Shared by the tests of MPA start-up: the program behind the device, the frames, the suite that
sets the policy of each test, and the exchange after start-up."""

import json
import os
import select
import socket
import struct
import subprocess
import sys
import time

from iwarp import (ENH_A, ENH_B, ENH_C, ENH_D, MPA_C, MPA_R, READ_REQ, READ_RESP, REP_KEY,
                   REQ_KEY, SEND, StartFrame, Stream, WRITE, fpdu, start_frame, tagged, untagged)
from peer import Failure, Tap, check_term, expect

PORT, PEER_PORT = 7910, 7911
MAX_DEPTH = 128			# IRD and ORD of the device
NONE = 0x3FFF			# no negotiation (RFC 6581 9.1)
SUCCESS = 0
SLOW = int(os.environ.get("SRNIC_SLOW", 1))	# of a slow kernel
# srnic's own, of the reserved flags: large FPDUs are offered, and the answer
OFFER, TAKEN = 0x01, 0x02
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
        """Its next line, or None."""
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
        """Completions of so many WRs, sorted."""
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


class Frame(StartFrame):
    """An MPA Request or Reply that was received, with its enhanced data decoded."""

    def __init__(self, stream, key, reserved=0):
        super().__init__(stream, key, reserved)
        self.ird = self.ord = self.a = self.b = self.c = self.d = None
        if self.enhanced:
            i, o = self.enhanced
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
        self.tap = Tap()
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
        """A TCP connection from the device."""
        return self.keep(self.listener.accept()[0])

    def test(self, ident, what, func, *args, **policy):
        def run():
            self.set(**policy)
            func(self, *args)
        self.tap.test("%s: %s" % (ident, what), run)
        for sock in self.open:
            sock.close()
        self.open = []
        for name in policy:
            self.set(**{name: self.usual[name]})
        self.roles.end()
        self.roles.answer()
        self.drain()

    def drain(self):
        """Close connections that the device made after the last test, for its fallback"""
        self.listener.setblocking(False)
        try:
            while True:
                self.listener.accept()[0].close()
        except BlockingIOError:
            pass
        self.listener.settimeout(15 * SLOW)


# Actions of both ends

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
    """Nothing but the end of the stream; a RST is accepted unless it must be graceful."""
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


def accepted(su, s, rev=2, reserved=0):
    su.roles.wait("CONNECT_REQUEST")
    su.roles.wait("ESTABLISHED")
    rep = Frame(s, REP_KEY, reserved)
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


def asked(su, flags=MPA_C, rev=2, enh="usual", pd=b"", key=REP_KEY, reserved=0, **kw):
    """As responder: (stream after the Reply, the Request)."""
    su.roles.connect(**kw)
    s = su.called()
    req = Frame(s, REQ_KEY, reserved)
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


def large(s, agreed):
    """An FPDU of more than 32 KiB, with an STag that is none"""
    s.put(tagged(WRITE, 0, 0, bytes(32768)))
    term = s.end()[1]
    expect(term.code == ((2, 0, 3) if agreed else (1, 1, 0)), str(term))
