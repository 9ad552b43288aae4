#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""usage: peer.py [--sendfile] TARGET ADDRESS [ROW...]

A scripted iWARP peer on a plain TCP socket. Starts the program TARGET (target.c), connects to
ADDRESS again and again, and sends good and bad streams. The response on the wire, and TARGET's
report of completions, events and memory, must be as the RFCs and the RDMAC verbs require. The
output is TAP; a test's name is "ID: WHAT", where ID is its row of the requirement tables; given
ROWs, only those are. With --sendfile the frames go to TCP as pages of a file. Behind each test
comes a line for a table, with the Terminate that the device sent: "# wire
ID<tab>RESULT<tab>TERMINATE<tab>WHAT".
"""

import array
import fcntl
import json
import os
import select
import socket
import struct
import subprocess
import sys
import termios

import closing
import damaged
import markers
import program
import rdmap
import rfc7306
import terminate
from iwarp import (ENH_A, ENH_C, MPA_C, MPA_M, MPA_R, MPA_S, READ_REQ,
                   READ_RESP, REP_KEY, REQ_KEY, SEND, SEND_INV, SEND_SE, SEND_SE_INV,
                   TERMINATE, WRITE, Markers, StartFrame, Stream, fpdu, read_req, start_frame,
                   tagged, untagged)

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import Failure, Tap, expect

PORT = 7900
IRD = 4
BUF_LEN = 131072
MAX64 = (1 << 64) - 1
STRAY = 0x5748	# length in the wish of a connection that may end before the target knows of it

FATAL = "local work queue catastrophic error"
REQ_ERR = "invalid request local work queue error"
ACCESS_ERR = "local access violation work queue error"

SUCCESS, LOC_LEN_ERR, LOC_PROT_ERR, FLUSHED, REM_INV_REQ_ERR, REM_ACCESS_ERR = 0, 1, 4, 5, 9, 10
STATE_ERR = 6

NONE, READ, WRITE_OP, SEND_OP, BAD_SEND, CLOSE, FETCH_ADD_OP, CMP_SWAP_OP = range(8)
# several WRs: Reads; bad receives; a region that is deregistered; a small CQ; a buffer that
# changes
READS, BAD_RECV, REVOKE, SMALL_CQ, SCRIBBLE = range(16, 21)
# one WR, whose completion the target reports at once
TOLD_WRITE, TOLD_SEND = range(21, 23)
PIECES = 4	# equal pieces of its message
# a list of gathered WRs; the buffer at each receive completion; a buffer that changes when its
# Send completes; Sends and at once the close; a Send for the first receive
LIST, SEEN, SPOILT, SEND_CLOSE, ECHO = range(23, 28)
GATHERED = 3	# pieces of each message of LIST


class Offer:
    def __init__(self, pd):
        (self.addr, self.len, self.all, self.only_read, self.only_write, self.local,
         self.other_pd, self.stale, self.atomic) = struct.unpack(">QIIIIIIII", pd)


class Peer:
    def __init__(self, program, address, only=(), extra=()):
        self.address = address
        self.only = only
        self.program = subprocess.Popen([program, address, str(PORT), *extra], text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        line = self.program.stderr.readline()
        if "ready" not in line:
            sys.exit("target: " + line)
        self.tap = Tap()
        self.stream = None
        self.untold = 0			# connections that the target has not reported yet

    def tcp(self, rcvbuf=None, mss=None):
        sock = socket.socket(socket.AF_INET6 if ":" in self.address else socket.AF_INET)
        if rcvbuf:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
        if mss:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, mss)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.settimeout(30 * int(os.environ.get("SRNIC_SLOW", 1)))
        sock.connect((self.address, PORT))
        return sock

    @staticmethod
    def wish(recvs=0, recv_len=64, op=NONE, length=0, rkey=0, raddr=0, enables=None):
        return struct.pack(">BBHIIIQ", recvs, op, recv_len, length, rkey,
                           0 if enables is None else 1 << 31 | enables, raddr)

    def connect(self, rev=2, flags=MPA_C, rcvbuf=None, mss=None, rtr=True, **wish):
        """An RDMA stream to a new QP of the target, which gets the wish; rtr: with the RTR
        sent."""
        sock = self.tcp(rcvbuf, mss)
        enhanced = (ENH_A | IRD, ENH_C | IRD) if rev == 2 else None
        sock.sendall(start_frame(REQ_KEY, flags, rev, self.wish(**wish), enhanced))
        stream = self.stream = Stream(sock)
        rep = StartFrame(stream, REP_KEY)
        rflags, pd = rep.flags, rep.pd
        expect(not rflags & MPA_R and rep.rev == rev, "reply %02x %d" % (rflags, rep.rev))
        self.untold += 1
        # each end tells what it wants to receive (RFC 5044 7.1.1); one is enough for CRC
        stream.crc = bool((flags | rflags) & MPA_C)
        stream.markers_in = Markers() if flags & MPA_M else None
        stream.markers_out = Markers() if rflags & MPA_M else None
        if rev == 2:
            expect(rep.enhanced, "no enhanced data in the reply")
            stream.ird, stream.ord = rep.enhanced
            # the RTR that was offered: a Write of length 0 (RFC 6581 9)
            if rtr and stream.ird & ENH_A:
                stream.put(tagged(WRITE, 0, 0))
        if wish.get("enables") is not None:
            expect(self.answer().get("enabled"), "no word that the QP was modified")
        stream.t = Offer(pd)
        return stream

    def answer(self):
        while True:
            line = self.program.stdout.readline()
            if not line:
                sys.exit("# the target ended: " + self.program.stderr.read())
            answer = json.loads(line)
            if answer.get("len") != STRAY:
                self.untold -= "ended" in answer
                return answer

    def silent(self, seconds):
        """The target reports nothing for so long; all its earlier reports were read."""
        return not select.select([self.program.stdout], [], [], seconds)[0]

    def with_tcp(self, stream):
        """The number of octets of the stream that the device's TCP has taken, sent or not."""
        ports = (PORT, stream.sock.getsockname()[1])
        queued = None
        for name in ("/proc/net/tcp", "/proc/net/tcp6"):
            with open(name, encoding="ascii") as f:
                for line in f.readlines()[1:]:
                    _, local, remote, _, queues = line.split()[:5]
                    if ports == tuple(int(a.rpartition(":")[2], 16) for a in (local, remote)):
                        queued = int(queues.partition(":")[0], 16)
        expect(queued is not None, "the device has no such connection")
        here = array.array("i", [0])
        fcntl.ioctl(stream.sock, termios.FIONREAD, here)
        return queued + here[0] + len(stream.buf)

    def result(self):
        res = self.answer()
        expect(res["ended"], "the connection does not end: %s" % res)
        expect(res["guards"], "memory beside the region was touched")
        self.kept(res)
        return res

    def kept(self, res):
        """The Terminate that the device kept is the one on the wire (QP-15)."""
        s = self.stream
        if s.ended and s.term:
            t = s.term
            taken = res["sent"][:1] if s.lingers is None else [1 if s.lingers else 2]
            want = [*taken, *t.code, t.m << 15 | t.d << 14 | t.r << 13, t.seg_len or 0,
                    (t.ddp or b"").hex(), (t.rdma or b"").hex()]
            expect(res["sent"] == want, "kept as sent: %s, not %s" % (res["sent"], want))
        elif s.ended:
            expect(not res["sent"] or res["sent"][0] == 1, "kept as sent: %s" % res["sent"])
        if s.sent_term:
            want = terminate.understood(s.sent_term)
            expect(res["received"] == want,
                   "kept as received: %s, not %s" % (res["received"], want))
        elif s.sent_term is None:
            expect(not res["received"], "kept as received: %s" % res["received"])

    def test(self, ident, what, func):
        if self.only and ident not in self.only:
            return
        self.stream = None
        good = self.tap.test("%s: %s" % (ident, what), func)
        # close it, so that the next test does not see this one's stream
        if self.stream and not good:
            self.stream.sock.close()
        self.row(ident, "ok" if good else "not ok", what)

    def row(self, ident, result, what):
        print("# wire %s\t%s\t%s\t%s" % (ident, result, self.stream and self.stream.term or "-",
                                        what), flush=True)
        # the next test must get its own reports
        while self.untold > 0:
            self.answer()


def check_term(term, code, mdr, ulpdu):
    expect(term, "no Terminate")
    expect(term.code == code, "Terminate %s, not %d/%d/%02x" % ((term,) + code))
    expect((term.m, term.d, term.r) == tuple(c in mdr for c in "MDR"),
           "Terminate %s, not %s" % (term, mdr))
    expect(not term.reserved and not term.rest, "reserved bits or more octets in %s" % term)
    if "M" in mdr:
        expect(term.seg_len == len(ulpdu), "length %d, not %d" % (term.seg_len, len(ulpdu)))
    if "D" in mdr:
        n = 14 if ulpdu[0] & 0x80 else 18
        expect(term.ddp == ulpdu[:n], "DDP header %s, not %s" %
               (term.ddp.hex(), ulpdu[:n].hex()))
    if "R" in mdr:
        expect(term.rdma == ulpdu[18:46], "RDMA header %s" % term.rdma.hex())


def bad(peer, make, code, mdr, event, wcs=(), **wish):
    """The segment from make() must end the stream, and is not placed."""
    s = peer.connect(**wish)
    ulpdu = make(s)
    s.put(ulpdu)
    segs, term = s.end()
    s.sock.close()
    res = peer.result()
    check_term(term, code, mdr, ulpdu)
    expect(not segs, "%d segments before the Terminate" % len(segs))
    expect(res["state"] == STATE_ERR, "state %d" % res["state"])
    expect(res["dirty"] is None, "octets %s were placed" % res["dirty"])
    expect(res["async"] == ([event] if event else []), "events %s" % res["async"])
    got = [(w[0], w[1]) for w in res["wcs"]]
    expect(got == list(wcs), "completions %s, not %s" % (got, list(wcs)))


def bad_rows():
    """ID, what, segment, layer/type/code, quoted, event, [completions], {wish}"""
    x8 = b"12345678"

    def send(s, **kw):
        return untagged(SEND, 0, 1, x8, **kw)

    def request(s, stag, to, size=8):
        return untagged(READ_REQ, 1, 1, read_req(0x11, 0x22, size, stag, to))

    one = dict(recvs=1)
    flushed = [(100, FLUSHED)]
    for dv in (0, 2, 3):
        yield ("E-01", "Write, DDP version %d" % dv,
               lambda s, dv=dv: tagged(WRITE, s.t.all, s.t.addr, x8, dv=dv),
               (1, 1, 4), "MD", FATAL)
        yield ("E-02", "Send, DDP version %d" % dv, lambda s, dv=dv: send(s, dv=dv),
               (1, 2, 6), "MD", FATAL, flushed, one)
    for qn in (4, 5, 0x100, 0xFFFFFFFF):
        yield ("E-03", "Send on queue %#x" % qn, lambda s, qn=qn: untagged(SEND, qn, 1, x8),
               (1, 2, 1), "MD", FATAL, flushed, one)
    yield "E-04", "Send without a receive WQE", send, (1, 2, 2), "MD", FATAL
    for msn in (0, 2, 0x80000001, 0xFFFFFFFF):
        yield ("E-06", "Send with MSN %#x" % msn, lambda s, m=msn: untagged(SEND, 0, m, x8),
               (1, 2, 3), "MD", FATAL, flushed, one)
        yield ("E-06", "Read Request with MSN %#x" % msn,
               lambda s, m=msn: untagged(READ_REQ, 1, m, read_req(1, 2, 0, 0, 0)),
               (1, 2, 3), "MD", REQ_ERR)
    for mo in (1, 8, 64, 0xFFFFFFFF):
        yield ("E-07", "Send with MO %#x" % mo, lambda s, mo=mo: send(s, mo=mo),
               (1, 2, 4), "MD", FATAL, flushed, one)
    yield ("E-08", "Send of one octet too many", lambda s: untagged(SEND, 0, 1, bytes(65)),
           (1, 2, 5), "MD", None, [(100, LOC_LEN_ERR)], one)
    yield ("E-08", "Send with data for an empty receive", send,
           (1, 2, 5), "MD", None, [(100, LOC_LEN_ERR)], dict(recvs=1, recv_len=0))

    stags = (("unknown index", lambda t: t.all ^ 0x5A5A5A00), ("wrong key", lambda t: t.all ^ 1),
             ("STag 0", lambda t: 0), ("gone", lambda t: t.stale))
    for what, stag in stags:
        yield ("E-09", "Write, STag: " + what,
               lambda s, g=stag: tagged(WRITE, g(s.t), s.t.addr, x8),
               (1, 1, 0), "MD", ACCESS_ERR)
        yield ("E-18", "Read Request, STag: " + what,
               lambda s, g=stag: request(s, g(s.t), s.t.addr), (0, 1, 0), "MDR", ACCESS_ERR)
    bounds = (("one octet before", -1), ("one octet past the end", BUF_LEN - 7),
              ("right after", BUF_LEN), ("far away", 1 << 40))
    for what, off in bounds:
        yield ("E-10", "Write, " + what,
               lambda s, o=off: tagged(WRITE, s.t.all, s.t.addr + o, x8),
               (1, 1, 1), "MD", ACCESS_ERR)
        yield ("E-19", "Read Request, " + what,
               lambda s, o=off: request(s, s.t.all, s.t.addr + o), (0, 1, 1), "MDR", ACCESS_ERR)
    yield ("E-19", "Read Request for 2^32-1 octets",
           lambda s: request(s, s.t.all, s.t.addr, 0xFFFFFFFF), (0, 1, 1), "MDR", ACCESS_ERR)
    yield ("E-11", "Write to another PD", lambda s: tagged(WRITE, s.t.other_pd, s.t.addr, x8),
           (1, 1, 2), "MD", ACCESS_ERR)
    yield ("E-21", "Read Request from another PD",
           lambda s: request(s, s.t.other_pd, s.t.addr), (0, 1, 3), "MDR", ACCESS_ERR)
    for off in (0, 6):
        yield ("E-12", "Write that wraps, TO 2^64-%d" % (off + 1),
               lambda s, o=off: tagged(WRITE, s.t.all, MAX64 - o, x8), (1, 1, 3), "MD",
               ACCESS_ERR)
        yield ("E-22", "Read Request that wraps, TO 2^64-%d" % (off + 1),
               lambda s, o=off: request(s, s.t.all, MAX64 - o), (0, 1, 4), "MDR", ACCESS_ERR)
    for what, stag in (("only Remote Read", lambda t: t.only_read), ("local", lambda t: t.local)):
        yield ("E-13", "Write to a region: " + what,
               lambda s, g=stag: tagged(WRITE, g(s.t), s.t.addr, x8), (1, 1, 0), "MD",
               ACCESS_ERR)
    for what, stag in (("only Remote Write", lambda t: t.only_write),
                       ("local", lambda t: t.local)):
        yield ("E-20", "Read Request from a region: " + what,
               lambda s, g=stag: request(s, g(s.t), s.t.addr), (0, 1, 2), "MDR", ACCESS_ERR)
    for rv in (0, 2, 3):
        yield ("E-14", "Write, RDMAP version %d" % rv,
               lambda s, rv=rv: tagged(WRITE, s.t.all, s.t.addr, x8, rv=rv), (0, 2, 5), "MD",
               FATAL)
        yield ("E-14", "Send, RDMAP version %d" % rv, lambda s, rv=rv: send(s, rv=rv),
               (0, 2, 5), "MD", FATAL, flushed, one)
    for op in range(12, 16):
        yield ("E-15", "untagged opcode %d" % op, lambda s, op=op: untagged(op, 0, 1, x8),
               (0, 2, 6), "MD", FATAL)
        yield ("E-15", "tagged opcode %d" % op,
               lambda s, op=op: tagged(op, s.t.all, s.t.addr, x8), (0, 2, 6), "MD", FATAL)
    yield ("E-15", "Write that is untagged", lambda s: untagged(WRITE, 0, 1, x8),
           (0, 2, 6), "MD", FATAL)
    yield ("E-15", "Send that is tagged", lambda s: tagged(SEND, s.t.all, s.t.addr, x8),
           (0, 2, 6), "MD", FATAL)
    for op, qn in ((SEND, 1), (SEND, 2), (READ_REQ, 0), (READ_REQ, 2), (TERMINATE, 0),
                   (TERMINATE, 1)):
        yield ("E-15", "opcode %d on queue %d" % (op, qn),
               lambda s, op=op, qn=qn: untagged(op, qn, 1, read_req(1, 2, 0, 3, 4)),
               (0, 2, 6), "MD", FATAL)
    yield ("E-16", "Read Response that nobody asked for",
           lambda s: tagged(READ_RESP, s.t.all, s.t.addr, x8), (0, 2, 6), "MD", FATAL)
    yield ("E-16", "Read Response of no length that nobody asked for",
           lambda s: tagged(READ_RESP, 0, 0), (0, 2, 6), "MD", FATAL)
    yield ("E-23", "Read Request, one octet more",
           lambda s: request(s, s.t.all, s.t.addr) + b"x", (1, 2, 5), "MD", REQ_ERR)
    for n in (0, 4, 27):
        yield ("E-23", "Read Request of %d octets" % n,
               lambda s, n=n: request(s, s.t.all, s.t.addr)[:18 + n], (0, 2, 0xFF), "MD",
               REQ_ERR)
    yield ("AE-10", "Read Request without L",
           lambda s: untagged(READ_REQ, 1, 1, read_req(1, 2, 0, 0, 0), last=False),
           (0, 2, 7), "MD", REQ_ERR)
    inv = [(100, REM_INV_REQ_ERR)]
    no_stag = [(100, LOC_PROT_ERR)]	# an Invalid STag, not an error of PD or rights (TC-03)
    for op in (SEND_INV, SEND_SE_INV):
        yield ("E-25", "opcode %d, unknown STag" % op,
               lambda s, op=op: untagged(op, 0, 1, b"", inv=s.t.all ^ 0x5A5A5A00), (0, 2, 9),
               "MD", None, no_stag, one)
        yield ("E-25", "opcode %d, STag with a wrong key" % op,
               lambda s, op=op: untagged(op, 0, 1, b"", inv=s.t.all ^ 1), (0, 2, 9), "MD",
               None, no_stag, one)
        yield ("E-26", "opcode %d, STag of another PD" % op,
               lambda s, op=op: untagged(op, 0, 1, b"", inv=s.t.other_pd), (0, 1, 9), "MD",
               None, inv, one)
        yield ("E-27", "opcode %d, region of user memory" % op,
               lambda s, op=op: untagged(op, 0, 1, b"", inv=s.t.all), (0, 1, 9), "MD",
               None, inv, one)


def read_response_rows():
    """The target reads 100 octets; the response is not valid for that (E-17)."""
    d = bytes(range(100))
    yield "another STag", lambda q: tagged(READ_RESP, q[0] ^ 0x100, q[1], d), (1, 1, 0)
    yield "another key", lambda q: tagged(READ_RESP, q[0] ^ 1, q[1], d), (1, 1, 0)
    yield "TO one more", lambda q: tagged(READ_RESP, q[0], q[1] + 1, d), (1, 1, 1)
    yield "TO one less", lambda q: tagged(READ_RESP, q[0], q[1] - 1, d), (1, 1, 1)
    # not the requested TO; the same check finds that it wraps (HDR-6)
    yield "TO that wraps", lambda q: tagged(READ_RESP, q[0], MAX64 - 50, d), (1, 1, 1)
    yield "one octet more", lambda q: tagged(READ_RESP, q[0], q[1], d + b"x"), (1, 1, 1)
    yield "one octet less", lambda q: tagged(READ_RESP, q[0], q[1], d[:99]), (1, 1, 1)
    yield "all, but not the last", lambda q: tagged(READ_RESP, q[0], q[1], d, last=False), \
        (1, 1, 1)


def bad_response(peer, make, code):
    s = peer.connect(op=READ, length=100, rkey=0x77, raddr=0x1000)
    req = s.get()
    expect(req.op == READ_REQ and req.msn == 1 and req.last, "no Read Request")
    sink, to, size, src, src_to = struct.unpack(">IQIIQ", req.payload)
    expect((size, src, src_to) == (100, 0x77, 0x1000), "another Read Request")
    ulpdu = make((sink, to))
    s.put(ulpdu)
    segs, term = s.end()
    s.sock.close()
    res = peer.result()
    check_term(term, code, "MD", ulpdu)
    expect(res["dirty"] is None, "octets %s were placed" % res["dirty"])
    wc = res["wcs"]
    expect(len(wc) == 1 and wc[0][0] == 1 and wc[0][1] in (LOC_LEN_ERR, LOC_PROT_ERR),
           "completions %s" % wc)
    expect(not res["async"], "events %s" % res["async"])


def stream_rows():
    """Errors below DDP: a raw FPDU, then a Terminate (E-31, E-32)."""
    good = untagged(SEND, 0, 1, b"x" * 30)
    f = fpdu(good)
    for i in (0, 1, 15, 30, 31):
        yield ("E-31", "CRC, bit %d" % i,
               f[:-4] + bytes(b ^ (1 << i >> 8 * n & 255) for n, b in enumerate(f[-4:])),
               (2, 0, 2))
    for i in (4, 8, 20, 40):
        yield "E-31", "octet %d changed under way" % i, f[:i] + bytes([f[i] ^ 0x10]) + f[i + 1:], \
            (2, 0, 2)
    for n in (0, 1, 13, 17):
        yield ("E-32", "ULPDU_Length %d" % n, fpdu((untagged(SEND, 0, 1) + bytes(4))[:n]) +
               bytes(60), (2, 0, 3))


def bad_stream(peer, data, code):
    s = peer.connect(recvs=1)
    s.raw(data)
    segs, term = s.end()
    s.sock.close()
    res = peer.result()
    check_term(term, code, "", b"")
    expect([(w[0], w[1]) for w in res["wcs"]] == [(100, FLUSHED)], "%s" % res["wcs"])
    expect(res["async"] == [FATAL], "events %s" % res["async"])
    expect(res["state"] == STATE_ERR, "state %d" % res["state"])


def good_exchange(peer, chunk, **kw):
    """Writes, Sends and Reads, cut into pieces of so many octets (M-TCP-2)."""
    s = peer.connect(recvs=3, recv_len=64, **kw)
    data = bytes((7 * i + 3) & 255 for i in range(200))
    frames = []
    s.raw = frames.append
    s.put(tagged(WRITE, s.t.all, s.t.addr + 1001, data[:77], last=False))
    s.put(tagged(WRITE, s.t.all, s.t.addr + 1078, data[77:]))
    s.put(untagged(SEND, 0, 1, data[:33], last=False))
    s.put(tagged(WRITE, 0xDEAD, 5))			# length 0: the STag is not checked
    s.put(untagged(SEND, 0, 1, data[33:50], mo=33))
    s.put(untagged(SEND_SE, 0, 2, b"", rsv=0x30))	# reserved bits (CTL-7)
    s.put(untagged(SEND, 0, 3, data[:1], inv=0xDEADBEEF))	# ignored (CTL-8)
    s.read(150, s.t.all, s.t.addr + 1001, 0xA5A5A5A5, MAX64 - 70)
    s.read(0, 0xDEAD, MAX64, 1, 2)			# length 0 (RRQ-13)
    del s.raw
    out = b"".join(frames)
    for i in range(0, len(out), chunk):
        s.raw(out[i:i + chunk])
    got, to = b"", MAX64 - 70
    while True:
        seg = s.get()
        expect(seg and seg.op == READ_RESP and seg.stag == 0xA5A5A5A5 and seg.to == to & MAX64,
               "Read Response %s" % (seg and seg.ulpdu.hex()))
        got += seg.payload
        to += len(seg.payload)
        if seg.last:
            break
    expect(got == data[:150], "what was read is not what was written")
    seg = s.get()
    expect(seg.op == READ_RESP and (seg.stag, seg.to) == (1, 2) and seg.last and not seg.payload,
           "Read Response of no length")
    s.sock.shutdown(socket.SHUT_WR)
    segs, term = s.end()
    s.sock.close()
    res = peer.result()
    expect(not segs and not term, "more was sent")
    expect([tuple(w[:2]) + (w[3],) for w in res["wcs"]] ==
           [(100, SUCCESS, 50), (101, SUCCESS, 0), (102, SUCCESS, 1)],
           "completions %s" % res["wcs"])
    expect(not res["async"], "events %s" % res["async"])
    expect(res["bytes"].startswith(data.hex()), "what was written")
    expect(res["dirty"][0] == 1001, "dirty %s" % res["dirty"])


def too_many_reads(peer):
    s = peer.connect(rcvbuf=4096)
    s.raw(b"".join(fpdu(untagged(READ_REQ, 1, i + 1, read_req(1, 0, 60000, s.t.all, s.t.addr)))
                   for i in range(60)))
    segs, term = s.end()
    s.sock.close()
    res = peer.result()
    expect(term and term.code == (1, 2, 2) and term.m and term.d and not term.r,
           "Terminate %s" % term)
    expect(res["async"] == [REQ_ERR], "events %s" % res["async"])


def second_segment_mo(peer):
    s = peer.connect(recvs=1)
    s.put(untagged(SEND, 0, 1, b"x" * 10, last=False))
    ulpdu = untagged(SEND, 0, 1, b"y" * 10, mo=11)
    s.put(ulpdu)
    segs, term = s.end()
    s.sock.close()
    peer.result()
    check_term(term, (1, 2, 4), "MD", ulpdu)


def repeated_msn(peer):
    s = peer.connect(recvs=2)
    s.send(b"once")
    ulpdu = untagged(SEND, 0, 1, b"again")
    s.put(ulpdu)
    segs, term = s.end()
    s.sock.close()
    res = peer.result()
    check_term(term, (1, 2, 3), "MD", ulpdu)
    expect([w[1] for w in res["wcs"]] == [SUCCESS, FLUSHED], "%s" % res["wcs"])


def first_error_wins(peer):
    s = peer.connect()
    first = tagged(WRITE, s.t.all ^ 1, s.t.addr, b"x")
    s.raw(fpdu(first) + fpdu(untagged(15, 0, 1)))
    segs, term = s.end()
    s.sock.close()
    peer.result()
    check_term(term, (1, 1, 0), "MD", first)


def terminate_not_overtaken(peer):
    """The peer keeps sending: a RST must not destroy the Terminate (TDN-8)."""
    s = peer.connect()
    ulpdu = tagged(WRITE, s.t.all ^ 1, s.t.addr, b"x")
    s.put(ulpdu)
    try:
        for _ in range(64):
            s.raw(bytes(16384))
    except OSError:
        raise Failure("reset while sending")
    s.sock.shutdown(socket.SHUT_WR)
    segs, term = s.end()
    s.sock.close()
    peer.result()
    check_term(term, (1, 1, 0), "MD", ulpdu)


def local_error(peer):
    """A send WR with a bad lkey: a Terminate that quotes nothing (E-30)."""
    s = peer.connect(op=BAD_SEND, length=10)
    segs, term = s.end()
    s.sock.close()
    res = peer.result()
    check_term(term, (0, 0, 0), "", b"")
    expect([w[1] for w in res["wcs"]] == [LOC_PROT_ERR] and not res["async"], "%s" % res)


def terminate_received(peer, payload):
    """No Terminate is sent in return (ST-24), and the connection ends."""
    s = peer.connect(recvs=1)
    s.put(untagged(TERMINATE, 2, 1, payload))
    segs, term = s.end()
    s.sock.close()
    res = peer.result()
    expect(not segs and not term, "something was sent in return")
    expect([w[1] for w in res["wcs"]] == [FLUSHED], "%s" % res["wcs"])
    expect(res["async"] == [FATAL], "events %s" % res["async"])
    expect(res["state"] == STATE_ERR, "state %d" % res["state"])


def cut(peer, n, reset):
    """The stream ends within an FPDU, after so many octets of it."""
    s = peer.connect(recvs=1)
    s.raw(fpdu(untagged(SEND, 0, 1, b"x" * 30))[:n])
    if reset:
        s.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.sock.close()
    res = peer.result()
    expect([w[1] for w in res["wcs"]] == [FLUSHED], "%s" % res["wcs"])
    expect(res["state"] == STATE_ERR, "state %d" % res["state"])


def graceful(peer, recvs):
    s = peer.connect(recvs=recvs)
    s.sock.shutdown(socket.SHUT_WR)
    segs, term = s.end()
    s.sock.close()
    res = peer.result()
    expect(not segs and not term, "something was sent")
    expect([w[1] for w in res["wcs"]] == [FLUSHED] * recvs, "%s" % res["wcs"])
    expect(res["state"] != STATE_ERR and not res["async"], "%s" % res)


def close_by_target(peer):
    s = peer.connect(op=CLOSE)
    segs, term = s.end()
    s.sock.close()
    res = peer.result()
    expect(not segs and not term, "something was sent")


def fin_with_read_under_way(peer):
    """FIN while a Read awaits its response: Terminate 0/2/07 (ST-18)."""
    s = peer.connect(op=READ, length=100, rkey=0x77, raddr=0)
    expect(s.get().op == READ_REQ, "no Read Request")
    s.sock.shutdown(socket.SHUT_WR)
    segs, term = s.end()
    s.sock.close()
    res = peer.result()
    check_term(term, (0, 2, 7), "", b"")
    expect([w[1] for w in res["wcs"]] == [FLUSHED], "%s" % res["wcs"])


def request_refused(peer, data):
    """No MPA Request that can be answered: the device closes at once, without a Reply."""
    sock = peer.tcp()
    sock.sendall(data)
    try:
        got = sock.recv(100)
    except ConnectionResetError:
        got = b""
    sock.close()
    expect(not got, "answered with %s" % got.hex())


def start_up(peer):
    w = peer.wish()
    t = peer.test
    for what, data in (
            ("wrong key", start_frame(REP_KEY, MPA_C, 1, w)),
            ("revision 3", start_frame(REQ_KEY, MPA_C, 3, w)),
            ("revision 255", start_frame(REQ_KEY, MPA_C, 255, w)),
            ("PD_Length 513", start_frame(REQ_KEY, MPA_C, 1, bytes(513))),
            ("enhanced, but no room for it", start_frame(REQ_KEY, MPA_C | MPA_S, 2, b"abc")),
            ("more octets than PD_Length", start_frame(REQ_KEY, MPA_C, 1, w) + b"Z"),
            ("rubbish", b"GET / HTTP/1.0\r\n\r\n" + bytes(100))):
        t("E-34", what, lambda d=data: request_refused(peer, d))
    for rev in (1, 2):
        t("MPA", "revision %d" % rev, lambda r=rev: good_exchange(peer, 4096, rev=r))
    t("MPA", "reserved flags of the Request", lambda: good_exchange(peer, 4096,
                                                                    flags=MPA_C | 0x0F))
    t("MPA", "the peer does not ask for CRC", lambda: good_exchange(peer, 4096, flags=0))


def main():
    if sys.argv[1:2] == ["--sendfile"]:
        Stream.by_sendfile = True
        del sys.argv[1]
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    peer = Peer(sys.argv[1], sys.argv[2], sys.argv[3:])
    t = peer.test
    start_up(peer)
    for chunk in (*range(1, 14), 16, 19, 20, 23, 44, 100, 1000):
        t("M-TCP-2", "pieces of %d octets" % chunk, lambda c=chunk: good_exchange(peer, c))
    for row in bad_rows():
        ident, what, args, rest = row[0], row[1], row[2:6], row[6:]
        wcs = rest[0] if rest else ()
        wish = rest[1] if len(rest) > 1 else {}
        t(ident, what, lambda a=args, c=wcs, k=wish: bad(peer, *a, c, **k))
    for module in (damaged, markers, rfc7306, rdmap, program, terminate, closing):
        module.run(peer, sys.modules[__name__])
    for what, make, code in read_response_rows():
        t("E-17", what, lambda m=make, c=code: bad_response(peer, m, c))
    for ident, what, data, code in stream_rows():
        t(ident, what, lambda d=data, c=code: bad_stream(peer, d, c))
    t("E-05", "more Reads than IRD", lambda: too_many_reads(peer))
    t("E-06", "MSN repeated", lambda: repeated_msn(peer))
    t("E-07", "second segment with a gap", lambda: second_segment_mo(peer))
    t("E-30", "local error of a Send", lambda: local_error(peer))
    t("ERR-5", "first error wins", lambda: first_error_wins(peer))
    t("TDN-8", "no RST over the Terminate", lambda: terminate_not_overtaken(peer))
    for what, payload in (
            ("all headers", struct.pack(">IH", 0x0100E000, 46) + bytes(46)),
            ("no header", struct.pack(">I", 0x20020000)),
            ("reserved bits", struct.pack(">I", 0x00001FFF)),
            ("less than its bits promise", struct.pack(">IH", 0x1100C000, 22)),
            ("filled up with zeros", struct.pack(">I", 0x11000000) + bytes(48))):
        t("ST-24", "Terminate received: " + what, lambda p=payload: terminate_received(peer, p))
    for n in (1, 2, 3, 19, 20, 40, 50, 54, 55):
        t("E-33", "FIN after %d octets of an FPDU" % n, lambda n=n: cut(peer, n, False))
    for n in (0, 1, 20, 55):
        t("AE-06", "RST after %d octets of an FPDU" % n, lambda n=n: cut(peer, n, True))
    for n in (0, 3):
        t("ST-17", "FIN, %d receives posted" % n, lambda n=n: graceful(peer, n))
    t("ST-19", "closed by the device", lambda: close_by_target(peer))
    t("ST-18", "FIN while a Read is under way", lambda: fin_with_read_under_way(peer))
    good_exchange(peer, 4096)
    peer.program.kill()
    sys.exit(peer.tap.end())


if __name__ == "__main__":
    main()
