# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""MPA markers (RFC 5044 4.2 to 4.5), for peer.py. Stream.get() checks each marker from the
device."""

import contextlib
import glob
import socket
import struct
import subprocess

from iwarp import (ENH_A, ENH_C, MPA_C, MPA_M, MPA_R, MPA_S, READ_RESP, REP_KEY, REQ_KEY, SEND,
                   WRITE, Markers, StartFrame, Stream, crc32c, start_frame, tagged, untagged)

# an FPDU begins at each multiple of 4 but where a marker is
ALL_PHASES = 127
PORT = 7901
PIECES = (1, 2, 3, 4, 5, 7, 8, 16, 19, 44, 100, 508, 511, 512, 513, 1000)


def finish(peer, s, p):
    s.sock.shutdown(socket.SHUT_WR)
    segs, term = s.end()
    s.sock.close()
    res = peer.result()
    p.expect(not segs and not term, "more was sent")
    p.expect(not res["async"], "events %s" % res["async"])
    return res


def pattern(n):
    """The initial contents of the target's buffer."""
    return bytes(i % 251 for i in range(n))


def read_all(s, p, *sizes, want=pattern):
    """Read the start of the device's buffer, so many times and octets; at most IRD Reads at
    once."""
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
    """Long messages in many FPDUs, none larger than a TCP segment, none smaller than
    necessary."""
    s = peer.connect(flags=MPA_C | MPA_M, mss=mss)
    read_all(s, p, p.BUF_LEN)
    if mss > 200:
        read_all(s, p, p.BUF_LEN - 1, p.BUF_LEN - 510)
    finish(peer, s, p)
    # TCP's time stamp takes 12 octets
    emss = mss - 12
    room = emss - (6 + 4 * -(-emss // 512) + emss % 4)
    p.expect(max(s.ulpdus) == max(room, 128), "the longest ULPDU has %d octets, not %d" %
             (max(s.ulpdus), max(room, 128)))
    p.expect(room < 128 or max(s.sizes) <= emss, "an FPDU of %d octets" % max(s.sizes))


def message(peer, p, op):
    """A Write or Send posted by the target, 64 KiB."""
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
    """At several places: the Terminate has markers, too."""
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
        req = StartFrame(s, REQ_KEY)
        p.expect(bool(req.flags & MPA_M) == markers, "request %02x" % req.flags)
        if req.rev == rev:
            return s, req.flags
        # the device tries again with an older revision (RFC 6581 10)
        sock.sendall(start_frame(REP_KEY, MPA_C | MPA_R, rev))
        sock.close()


def initiator(peer, p, rev, rtr, outbound, inbound=False):
    """
    rping connects, this end is the responder. Without a common kind of RTR the device sends a
    Terminate for it (RFC 6581 9.3).
    """
    family = socket.AF_INET6 if ":" in peer.address else socket.AF_INET
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket(family))
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((peer.address, PORT))
        listener.listen(1)
        listener.settimeout(20)
        if inbound:
            stack.enter_context(choice(True))
        rping = subprocess.Popen(["rping", "-c", "-a", peer.address, "-p", str(PORT), "-C", "1"],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        stack.callback(lambda: (rping.kill(), rping.wait()))
        s, flags = request_from(listener, peer, p, rev, inbound)
        stack.callback(s.sock.close)
        enhanced = None
        if rev == 2:
            p.expect(flags & MPA_S, "no enhanced data")
            enhanced = (ENH_A | 1, rtr | 1)
        s.raw(start_frame(REP_KEY, MPA_C | (MPA_M if outbound else 0), rev, enhanced=enhanced))
        s.markers_in = Markers() if outbound else None
        s.markers_out = Markers() if inbound else None
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


def odd_pad(peer, p):
    """PAD that is not zero, which the CRC covers."""
    s = peer.connect(recvs=3)
    for i in range(3):
        data = struct.pack(">H", 19 + i) + untagged(SEND, 0, 1 + i, b"abc"[:1 + i])
        data += b"\xff" * (-len(data) % 4)
        s.raw(data + struct.pack("<I", crc32c(data)))
    res = finish(peer, s, p)
    p.expect([(w[1], w[3]) for w in res["wcs"]] == [(p.SUCCESS, 1 + i) for i in range(3)],
             "%s" % res["wcs"])


def any_crc(peer, p):
    """Neither end wants CRC: the field is present, but ignored (M-CRC-3)."""
    with choice(crc=False):
        s = peer.connect(flags=0, recvs=2)
    for i, crc in enumerate((0x12345678, 0xFFFFFFFF)):
        s.raw(s.fpdu(untagged(SEND, 0, 1 + i, b"abc"), crc=crc))
    res = finish(peer, s, p)
    p.expect([w[1] for w in res["wcs"]] == [p.SUCCESS] * 2, "%s" % res["wcs"])


@contextlib.contextmanager
def policy(**values):
    """Set the device's policy for connections that are made meanwhile."""
    old = {}
    try:
        for name, value in values.items():
            files = glob.glob("/sys/class/infiniband/*/policy/" + name)
            if not files:
                raise ValueError("no device has a policy for " + name)
            for file in files:
                with open(file) as f:
                    old[file] = f.read()
                with open(file, "w") as f:
                    f.write(value)
        yield
    finally:
        for file, value in old.items():
            with open(file, "w") as f:
                f.write(value)


def choice(markers=False, crc=True):
    return policy(markers="on" if markers else "off", crc="required" if crc else "off")


def combination(peer, p, inbound, outbound, crc, piece):
    """Markers to the device, from it, both or neither."""
    with choice(inbound, crc):
        p.good_exchange(peer, piece, flags=(MPA_M if outbound else 0) | (MPA_C if crc else 0))


def requests(peer, p, crc, piece):
    """Writes that begin at each phase, in pieces; then the data is read back."""
    with choice(True, crc):
        s = peer.connect(flags=MPA_C if crc else 0)
    p.expect(s.markers_out and not s.markers_in and s.crc == crc, "not what was agreed on")
    out, want, phases, n = b"", b"", set(), 0
    while len(phases) < ALL_PHASES or (piece > 500 and len(out) < 40000):
        # of seven words until each phase has occurred; then of all lengths
        size = 8 if len(phases) < ALL_PHASES else n % 61 if n % 40 else 600 + n % 500
        data = bytes([n % 255]) * size
        n += 1
        pos = s.markers_out.pos
        phases.add((pos if pos % 512 else pos + 4) % 512)
        out += s.fpdu(tagged(WRITE, s.t.all, s.t.addr + len(want), data))
        want += data
    p.expect(len(want) < p.BUF_LEN, "too much: %d octets" % len(want))
    for i in range(0, len(out), piece):
        s.raw(out[i:i + piece])
    read_all(s, p, len(want), want=lambda n: want)
    finish(peer, s, p)


def long_fpdu(peer, p, length):
    """An FPDU of the maximum length, with more than a hundred markers."""
    with choice(True):
        s = peer.connect(flags=MPA_C)
    data = bytes(i * 5 & 255 for i in range(length - 14))
    s.put(tagged(WRITE, s.t.all, s.t.addr, data))
    read_all(s, p, len(data), want=lambda n: data)
    finish(peer, s, p)


def bad_rows():
    """Description, octets of the FPDU before the marker, the wrong marker, CRC computed with it,
    error."""
    length, crc = (2, 0, 3), (2, 0, 2)
    for what, before, right in (("before an FPDU", 0, 0), ("in a header", 8, 8),
                                ("in the payload", 32, 32), ("before the CRC", 48, 48)):
        for reserved in (0x0001, 0xFFFF):
            yield what + ", RESERVED %04x" % reserved, before, reserved << 16 | right, True, None
        for low in (1, 2, 3):
            yield what + ", low bits %d" % low, before, right | low, True, None
        for wrong in sorted({0, 4, right - 4, right + 4, 512, right + 512, 65532} - {right, -4}):
            yield what + ", %d" % wrong, before, wrong, True, length
        yield what + ", and the CRC is that of the right one", before, right + 4, False, crc
        yield what + ", RESERVED not in the CRC", before, 1 << 16 | right, False, crc


def bad_marker(peer, p, before, marker, good_crc, code):
    with choice(True):
        s = peer.connect(recvs=1)
    m = s.markers_out
    # fill up to the place where the next marker has so many octets of the FPDU before it
    fill = -(m.pos + before + 20) % 512
    if fill < 24:
        fill += 512
    if m.pos % 512 + 20 + fill > 512:
        fill -= 4
    s.put(tagged(WRITE, s.t.all, s.t.addr, bytes(fill)))
    p.expect((m.pos + before) % 512 == 0, "test: at %d" % m.pos)
    data = s.fpdu(untagged(SEND, 0, 1, b"x" * 28), change=lambda n, old: struct.pack(">I", marker))
    if not good_crc:
        right = struct.pack(">HH", 0, before)
        data = data[:-4] + struct.pack("<I", crc32c(
            data[:before] + right + data[before + 4:-4]))
    s.raw(data)
    if not code:
        res = finish(peer, s, p)
        p.expect([w[:2] for w in res["wcs"]] == [[100, p.SUCCESS]], "%s" % res["wcs"])
        return
    segs, term = s.end()
    s.sock.close()
    res = peer.result()
    p.expect(not segs, "more was sent")
    p.check_term(term, code, "", b"")
    p.expect([w[1] for w in res["wcs"]] == [p.FLUSHED], "%s" % res["wcs"])
    p.expect(res["async"] == [p.FATAL], "events %s" % res["async"])
    p.expect(res["state"] == p.STATE_ERR, "state %d" % res["state"])


def bad_marker_no_crc(peer, p):
    """Without CRC only the marker shows that the FPDU is damaged."""
    with choice(True, False):
        s = peer.connect(flags=0, recvs=1)
    data = s.fpdu(untagged(SEND, 0, 1, bytes(800)),
                  change=lambda n, old: old[:3] + bytes([old[3] ^ 4]))
    s.raw(data)
    segs, term = s.end()
    s.sock.close()
    res = peer.result()
    p.check_term(term, (2, 0, 3), "", b"")
    p.expect(res["async"] == [p.FATAL], "events %s" % res["async"])


def no_marker(peer, p):
    """The device asked for markers, and gets none."""
    with choice(True):
        s = peer.connect(recvs=2, recv_len=600)
    s.markers_out = None
    s.put(untagged(SEND, 0, 1, bytes(600)))
    s.put(untagged(SEND, 0, 2, bytes(600)))
    segs, term = s.end()
    s.sock.close()
    res = peer.result()
    p.expect(term and term.code in ((2, 0, 2), (2, 0, 3)), "Terminate %s" % term)
    p.expect([w[1] for w in res["wcs"]] == [p.FLUSHED] * 2, "%s" % res["wcs"])


def cut(peer, p, n):
    """The stream ends within the marker before an FPDU, or right behind it."""
    with choice(True):
        s = peer.connect(recvs=1)
    s.put(tagged(WRITE, s.t.all, s.t.addr, bytes(512 - s.markers_out.pos - 20)))
    p.expect(s.markers_out.pos == 512, "test: at %d" % s.markers_out.pos)
    s.raw(s.fpdu(untagged(SEND, 0, 1))[:n])
    s.sock.close()
    res = peer.result()
    p.expect([w[1] for w in res["wcs"]] == [p.FLUSHED], "%s" % res["wcs"])
    p.expect((res["state"] == p.STATE_ERR) == bool(n), "state %d" % res["state"])


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
    t("M-FPD-2", "PAD that is not zero", lambda: odd_pad(peer, p))
    t("M-FPD-3", "any CRC where there is none", lambda: any_crc(peer, p))
    for inbound, outbound, crc in ((i, o, c) for i in onoff for o in onoff for c in onoff):
        t("M-REQ-2", "markers to the device %d, from it %d, CRC %d" % (inbound, outbound, crc),
          lambda a=(inbound, outbound, crc, 4096): combination(peer, p, *a))
    for piece in PIECES:
        t("M-TCP-2", "markers both ways, pieces of %d octets" % piece,
          lambda n=piece: combination(peer, p, True, True, True, n))
    for crc in onoff:
        for piece in (7, 511, 512, 513, 4096, 1 << 20):
            t("M-MRK-8", "Writes at each phase, CRC %d, pieces of %d octets" % (crc, piece),
              lambda a=(crc, piece): requests(peer, p, *a))
    for length in (1000, 64000, 64768):
        t("M-MRK-6", "ULPDU of %d octets to the device" % length,
          lambda n=length: long_fpdu(peer, p, n))
    for what, *args in bad_rows():
        t("E-32" if args[3] == (2, 0, 3) else "E-31" if args[3] else "M-MRK-1",
          "marker " + what, lambda a=args: bad_marker(peer, p, *a))
    t("E-32", "bad marker, no CRC", lambda: bad_marker_no_crc(peer, p))
    t("E-32", "no marker at all", lambda: no_marker(peer, p))
    for n in range(6):
        t("E-33", "FIN after %d octets from a marker on" % n, lambda n=n: cut(peer, p, n))
    for outbound in onoff:
        t("M-REQ-2", "device connects and asks for markers, peer does %d" % outbound,
          lambda o=outbound: initiator(peer, p, 2, ENH_C, o, True))
