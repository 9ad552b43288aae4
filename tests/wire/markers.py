# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""MPA markers (RFC 5044 4.2 to 4.5), for peer.py.

That each marker from the device is right is what Stream.get() sees to.
"""

import contextlib
import socket
import struct
import subprocess

from iwarp import (ENH_A, ENH_C, MPA_C, MPA_M, MPA_R, MPA_S, READ_RESP, REP_KEY, REQ_KEY, SEND,
                   WRITE, Markers, Stream, start_frame, tagged, untagged)

# an FPDU begins at each multiple of 4 but where a marker is
ALL_PHASES = 127
PORT = 7901


def finish(peer, s, p):
    s.sock.shutdown(socket.SHUT_WR)
    segs, term = s.end()
    s.sock.close()
    res = peer.result()
    p.expect(not segs and not term, "more was sent")
    p.expect(not res["async"], "events %s" % res["async"])
    return res


def pattern(n):
    """What the target's buffer holds at first."""
    return bytes(i % 251 for i in range(n))


def read_all(s, p, *sizes, want=pattern):
    """Read the start of the device's buffer, so often and so much; no more Reads than IRD."""
    for size in sizes:
        s.read(size, s.t.all, s.t.addr, sink_to=0x1000)
    for size in sizes:
        got = b""
        while True:
            seg = s.get()
            p.expect(seg and seg.op == READ_RESP and seg.to == 0x1000 + len(got),
                     "no Read Response")
            got += seg.payload
            if seg.last:
                break
        p.expect(got == want(size), "other data, in a read of %d octets" % size)


def responses(peer, p):
    """Read Responses that begin at each phase, then of each short length."""
    s = peer.connect(flags=MPA_C | MPA_M)
    p.expect(s.markers_in and not s.markers_out, "no markers, or both ways")
    for n in range(32):
        read_all(s, p, 8, 8, 8, 8)	# seven words each: no two begin at the same
    p.expect(len(s.phases) == ALL_PHASES, "%d phases" % len(s.phases))
    for n in range(0, 120, 4):
        read_all(s, p, n, n + 1, n + 2, n + 3)
    finish(peer, s, p)


def segments(peer, p, mss):
    """Long messages in many FPDUs, none larger than a TCP segment, none cut too short."""
    s = peer.connect(flags=MPA_C | MPA_M, mss=mss)
    read_all(s, p, p.BUF_LEN)
    if mss > 200:
        read_all(s, p, p.BUF_LEN - 1, p.BUF_LEN - 510)
    finish(peer, s, p)
    # 12 octets are TCP's time stamp
    emss = mss - 12
    room = emss - (6 + 4 * -(-emss // 512) + emss % 4)
    p.expect(max(s.ulpdus) == max(room, 128), "the longest ULPDU has %d octets, not %d" %
             (max(s.ulpdus), max(room, 128)))
    p.expect(room < 128 or max(s.sizes) <= emss, "an FPDU of %d octets" % max(s.sizes))


def message(peer, p, op):
    """A Write or Send of the device's own, 64 KiB."""
    s = peer.connect(flags=MPA_C | MPA_M, op=op, length=p.BUF_LEN, rkey=0x77, raddr=1 << 40,
                     mss=1460)
    got = b""
    while True:
        seg = s.get()
        p.expect(seg.op == (WRITE if op == p.WRITE_OP else SEND), "opcode %d" % seg.op)
        p.expect((seg.to - (1 << 40) if seg.tagged else seg.mo) == len(got), "wrong place")
        got += seg.payload
        if seg.last:
            break
    p.expect(got == pattern(p.BUF_LEN), "wrong data")
    res = finish(peer, s, p)
    p.expect([w[:2] for w in res["wcs"]] == [[1, p.SUCCESS]], "completions %s" % res["wcs"])


def first_octets(peer, p, markers):
    """Full Operation begins with a marker, or with a length (M-STA-6)."""
    s = peer.connect(flags=MPA_C | (MPA_M if markers else 0), op=p.SEND_OP, length=24)
    p.expect(s._fill(8), "nothing was sent")
    p.expect(s.buf[:8].hex() == ("00000000002a4143" if markers else "002a414300000000"),
             "began with %s" % s.buf[:8].hex())
    p.expect(s.get().payload == pattern(24), "wrong data")
    finish(peer, s, p)


def terminates(peer, p):
    """At some more places than the first: the Terminate has markers, too."""
    for n in (0, 420, 440, 444, 452, 464, 476, 480, 484, 1000):
        s = peer.connect(flags=MPA_C | MPA_M)
        read_all(s, p, n)
        ulpdu = tagged(WRITE, s.t.all ^ 1, s.t.addr, b"x")
        s.put(ulpdu)
        segs, term = s.end()
        s.sock.close()
        peer.result()
        p.expect(not segs, "more was sent")
        p.check_term(term, (1, 1, 0), "MD", ulpdu)


def request_from(listener, peer, p, rev, markers):
    """The stream and the flags of the first Request of that revision."""
    while True:
        sock = listener.accept()[0]
        sock.settimeout(20)
        s = Stream(sock)
        key, flags, got_rev, pd = peer.reply(s)
        p.expect(key == REQ_KEY and bool(flags & MPA_M) == markers, "request %r %02x" %
                 (key, flags))
        if got_rev == rev:
            return s, flags
        # another try with an older revision follows (RFC 6581 10)
        sock.sendall(start_frame(REP_KEY, MPA_C | MPA_R, rev))
        sock.close()


def initiator(peer, p, rev, rtr, outbound):
    """
    rping connects, this end is the responder. With no RTR in common the device says so in
    a Terminate (RFC 6581 9.3).
    """
    family = socket.AF_INET6 if ":" in peer.address else socket.AF_INET
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket(family))
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((peer.address, PORT))
        listener.listen(1)
        listener.settimeout(20)
        rping = subprocess.Popen(["rping", "-c", "-a", peer.address, "-p", str(PORT), "-C", "1"],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        stack.callback(lambda: (rping.kill(), rping.wait()))
        s, flags = request_from(listener, peer, p, rev, False)
        stack.callback(s.sock.close)
        enhanced = None
        if rev == 2:
            p.expect(flags & MPA_S, "no enhanced data")
            enhanced = (ENH_A | 1, rtr | 1)
        s.raw(start_frame(REP_KEY, MPA_C | (MPA_M if outbound else 0), rev, enhanced=enhanced))
        s.markers_in = Markers() if outbound else None
        if outbound:
            p.expect(s._fill(4) and s.buf[:4] == bytes(4), "began with %s" % s.buf[:4].hex())
        if rev == 2 and not rtr:
            segs, term = s.end()
            p.expect(not segs, "more than a Terminate")
            p.check_term(term, (2, 0, 7), "", b"")
            return
        if rev == 2:
            seg = s.get()
            p.expect(seg.op == WRITE and seg.tagged and not seg.payload, "no RTR")
        seg = s.get()
        p.expect(seg.op == SEND and seg.msn == 1 and len(seg.payload) == 16, "no Send")
        ulpdu = tagged(WRITE, 0x5A5A5A5A, 0, b"x")
        s.put(ulpdu)
        segs, term = s.end()
        p.expect(not segs, "more was sent")
        p.check_term(term, (1, 1, 0), "MD", ulpdu)


def run(peer, p):
    t = peer.test
    onoff = (False, True)
    for markers in onoff:
        t("M-STA-6", "first octets, %s" % ("markers" if markers else "no markers"),
          lambda m=markers: first_octets(peer, p, m))
    for rev in (1, 2):
        t("M-MRK-3", "good exchange, markers from the device, revision %d" % rev,
          lambda r=rev: p.good_exchange(peer, 4096, rev=r, flags=MPA_C | MPA_M))
    for flags in (MPA_M, MPA_M | 0x0F):
        t("M-REQ-2", "the peer asks for markers, flags %02x" % flags,
          lambda f=flags: p.good_exchange(peer, 4096, flags=f))
    t("M-MRK-4", "Read Responses at each phase", lambda: responses(peer, p))
    for mss in (88, 150, 536, 1000, 1460, 9000):
        t("M-SIZ-2" if mss < 150 else "M-SIZ-1", "long messages, MSS %d" % mss,
          lambda n=mss: segments(peer, p, n))
    for what, op in (("Write", p.WRITE_OP), ("Send", p.SEND_OP)):
        t("M-MRK-6", "%s of 64 KiB" % what, lambda o=op: message(peer, p, o))
    t("M-MRK-7", "Terminates at many phases", lambda: terminates(peer, p))
    for rev, rtr, what in ((1, 0, "revision 1"), (2, ENH_C, "RTR by a Write"),
                           (2, 0, "no RTR in common")):
        for outbound in onoff:
            t("M-STA-6", "device connects, %s%s" % (what, ", markers" if outbound else ""),
              lambda a=(rev, rtr, outbound): initiator(peer, p, *a))
