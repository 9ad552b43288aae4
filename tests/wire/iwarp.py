# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""iWARP on a byte stream: MPA (RFC 5044, 6581), DDP (RFC 5041), RDMAP (RFC 5040, 7306). Written
from the RFCs, independently of the module: an error common to both must be in the text."""

import os
import struct

REQ_KEY = b"MPA ID Req Frame"
REP_KEY = b"MPA ID Rep Frame"
MPA_M, MPA_C, MPA_R, MPA_S = 0x80, 0x40, 0x20, 0x10
MARKER_EVERY = 512
# RFC 6581 Figure 4: in the IRD word peer-to-peer, RTR by Send; in the ORD word by Write, by Read
ENH_A, ENH_B, ENH_C, ENH_D = 0x8000, 0x4000, 0x8000, 0x4000

WRITE, READ_REQ, READ_RESP, SEND, SEND_INV, SEND_SE, SEND_SE_INV, TERMINATE = range(8)
IMM, IMM_SE, ATOMIC_REQ, ATOMIC_RESP = range(8, 12)
SEND_IMM, SEND_SE_IMM, ACK = 12, 13, 14	# of srnic alone


def _crc_table():
    table = []
    for n in range(256):
        for _ in range(8):
            n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
        table.append(n)
    return table


_TABLE = _crc_table()


def crc32c(data):
    c = 0xFFFFFFFF
    for b in data:
        c = c >> 8 ^ _TABLE[(c ^ b) & 0xFF]
    return c ^ 0xFFFFFFFF


def start_frame(key, flags, rev, pd=b"", enhanced=None):
    """An MPA Request or Reply; enhanced: the IRD and the ORD word (revision 2)."""
    if enhanced is not None:
        flags |= MPA_S
        pd = struct.pack(">HH", *enhanced) + pd
    return key + struct.pack(">BBH", flags, rev, len(pd)) + pd


def fpdu(ulpdu, crc=None):
    data = struct.pack(">H", len(ulpdu)) + ulpdu
    data += bytes(-len(data) % 4)
    return data + struct.pack("<I", crc32c(data) if crc is None else crc)


class Markers:
    """One direction of a stream with markers (RFC 5044 4.3), at octet self.pos of it."""

    def __init__(self, pos=0):
        self.pos = pos

    def fpdu(self, ulpdu, crc=None, change=None):
        """The next FPDU; change(n, marker) may replace its marker number n."""
        data = struct.pack(">H", len(ulpdu)) + ulpdu
        data += bytes(-len(data) % 4)
        out, start, count = b"", None, 0
        # word by word: a marker is where the position in the stream is a multiple of 512
        for i in range(0, len(data) + 4, 4):
            if self.pos % MARKER_EVERY == 0:
                marker = struct.pack(">HH", 0, 0 if start is None else self.pos - start)
                if change:
                    marker = change(count, marker)
                out += marker
                self.pos += 4
                count += 1
            if start is None:
                start = self.pos
            # the last word is the CRC, which covers all octets before it
            out += data[i:i + 4] if i < len(data) else \
                struct.pack("<I", crc32c(out) if crc is None else crc)
            self.pos += 4
        return out


def tagged(op, stag, to, payload=b"", last=True, dv=1, rv=1, t=True, rsv=0):
    return struct.pack(">BBIQ", (0x80 if t else 0) | (0x40 if last else 0) | dv,
                       rv << 6 | rsv | op, stag, to & (1 << 64) - 1) + payload


def untagged(op, qn, msn, payload=b"", mo=0, last=True, inv=0, dv=1, rv=1, t=False, rsv=0):
    return struct.pack(">BBIIII", (0x80 if t else 0) | (0x40 if last else 0) | dv,
                       rv << 6 | rsv | op, inv, qn, msn, mo) + payload


def read_req(sink_stag, sink_to, size, src_stag, src_to):
    return struct.pack(">IQIIQ", sink_stag, sink_to & (1 << 64) - 1, size, src_stag,
                       src_to & (1 << 64) - 1)


def atomic_req(op, ident, stag, to, add, add_mask, compare=0, compare_mask=0):
    """RFC 7306 5.2.1; op 0 FetchAdd, 2 CmpSwap"""
    return struct.pack(">IIIQQQQQ", op, ident, stag, to, add, add_mask, compare, compare_mask)


class StartFrame:
    """An MPA Request or Reply received from the device (RFC 5044 7.1, RFC 6581 9)."""

    def __init__(self, stream, key, reserved=0):
        head = stream.octets(20)
        if head[:16] != key:
            raise ValueError("key %r" % head[:16])
        self.flags, self.rev, n = struct.unpack_from(">BBH", head, 16)
        if self.flags & 0x0F != reserved:
            raise ValueError("reserved flags in %02x" % self.flags)
        if n > 512:
            raise ValueError("PD_Length %d" % n)
        self.pd = stream.octets(n)
        self.enhanced = None		# the IRD and the ORD word
        if self.flags & MPA_S:
            if n < 4:
                raise ValueError("S without room for the enhanced data")
            self.enhanced = struct.unpack_from(">HH", self.pd)
            self.pd = self.pd[4:]


class Segment:
    """A DDP segment received from the device."""

    def __init__(self, ulpdu):
        self.ulpdu = ulpdu
        ctrl, rdmap = ulpdu[0], ulpdu[1]
        self.tagged = bool(ctrl & 0x80)
        self.last = bool(ctrl & 0x40)
        self.dv = ctrl & 3
        self.rv = rdmap >> 6
        self.op = rdmap & 15
        if self.tagged:
            self.stag, self.to = struct.unpack_from(">IQ", ulpdu, 2)
            self.payload = ulpdu[14:]
        else:
            self.inv, self.qn, self.msn, self.mo = struct.unpack_from(">IIII", ulpdu, 2)
            self.payload = ulpdu[18:]


class Term:
    """A Terminate message (RFC 5040 4.8)."""

    def __init__(self, seg):
        p = seg.payload
        word, = struct.unpack_from(">I", p)
        self.code = (word >> 28, word >> 24 & 15, word >> 16 & 255)
        self.m, self.d, self.r = bool(word & 0x8000), bool(word & 0x4000), bool(word & 0x2000)
        self.reserved = word & 0x1FFF
        self.seg_len = self.ddp = self.rdma = None
        off = 4
        if self.m or self.d:
            self.seg_len, = struct.unpack_from(">H", p, off)
            off += 2
        if self.d:
            n = 14 if p[off] & 0x80 else 18
            self.ddp = p[off:off + n]
            off += n
        if self.r:
            self.rdma = p[off:off + 28]
            off += 28
        self.rest = p[off:]

    def __str__(self):
        return "%d/%d/%02x %s%s%s" % (self.code + ("M" if self.m else "-",
                                                   "D" if self.d else "-",
                                                   "R" if self.r else "-"))


class Stream:
    """FPDUs over a connected socket, after start-up."""

    by_sendfile = False		# as pages of a file, which a receiver on this host has in its queue

    def __init__(self, sock, crc=True, version=1):
        self.sock = sock
        self.crc = crc
        self.version = version		# of DDP and RDMAP, in both directions
        self.buf = b""
        self.msn = [1, 1, 1, 1]
        self.got = []
        self.markers_out = None		# Markers, if the device asks for them
        self.markers_in = None		# the same for the device's FPDUs
        self.phases = set()		# phases, modulo 512, at which its FPDUs began
        self.sizes = set()		# their octets
        self.ulpdus = set()		# and those of their ULPDUs
        # how the stream ended: the device's Terminate, ours, its FIN
        self.term = self.sent_term = None
        # whether TCP takes the Terminate only after the QP has left the state; None: either
        self.lingers = False
        self.ended = False

    def raw(self, data):
        if not self.by_sendfile:
            self.sock.sendall(data)
            return
        with os.fdopen(os.memfd_create("frames"), "r+b") as pages:
            pages.write(data)
            pages.seek(0)
            self.sock.sendfile(pages)

    def fpdu(self, ulpdu, crc=None, change=None):
        """The next FPDU to send."""
        if crc is None and not self.crc:
            crc = 0
        if self.markers_out:
            return self.markers_out.fpdu(ulpdu, crc, change)
        return fpdu(ulpdu, crc)

    def put(self, ulpdu):
        # on another queue it is no Terminate
        if ulpdu[0] & 0xBF == self.version and ulpdu[1] & 15 == TERMINATE and ulpdu[6:10] == b"\0\0\0\2":
            self.sent_term = ulpdu[18:]
        self.raw(self.fpdu(ulpdu))

    def send(self, payload=b"", op=SEND, inv=0):
        self.put(untagged(op, 0, self.msn[0], payload, inv=inv, dv=self.version,
                          rv=self.version))
        self.msn[0] += 1

    def read(self, size, src_stag, src_to, sink_stag=0x51515151, sink_to=0x1000):
        self.put(untagged(READ_REQ, 1, self.msn[1],
                          read_req(sink_stag, sink_to, size, src_stag, src_to),
                          dv=self.version, rv=self.version))
        self.msn[1] += 1

    def ack(self, number):
        """So many messages are in place. On a queue that atomics do not share here."""
        self.put(untagged(ACK, 3, self.msn[3], inv=number))
        self.msn[3] += 1

    def _fill(self, n):
        while len(self.buf) < n:
            more = self.sock.recv(65536)
            if not more:
                return False
            self.buf += more
        return True

    def octets(self, n):
        """The next octets of the stream, which must come."""
        if not self._fill(n):
            raise ValueError("FIN after %d of %d octets" % (len(self.buf), n))
        data, self.buf = self.buf[:n], self.buf[n:]
        return data

    def _take(self, n, inside=True):
        """The next octets; none at FIN, which must not be within an FPDU."""
        if not self._fill(n):
            if self.buf or inside:
                raise ValueError("FIN inside of an FPDU")
            return b""
        return self.octets(n)

    def _frame(self):
        """The next FPDU without its markers, and the octets that its CRC covers, with the CRC."""
        m = self.markers_in
        data, covered, start, n, total = b"", b"", 0, 0, 4
        while len(data) < total:
            at_marker = m and m.pos % MARKER_EVERY == 0
            # up to the next marker, but the length field first
            size = 4 if at_marker or not data else total - len(data)
            if m:
                size = min(size, MARKER_EVERY - m.pos % MARKER_EVERY)
            piece = self._take(size, covered != b"")
            if not piece:
                return b"", b""
            covered += piece
            if at_marker:
                want = struct.pack(">HH", 0, m.pos - start if data else 0)
                if piece != want:
                    raise ValueError("marker %s at %d, not %s" %
                                     (piece.hex(), m.pos, want.hex()))
            else:
                if not data:
                    start = m.pos if m else 0
                    n, = struct.unpack_from(">H", piece)
                    total = 2 + n + -(2 + n) % 4 + 4
                data += piece
            if m:
                m.pos += size
        if m:
            self.phases.add(start % MARKER_EVERY)
        self.sizes.add(len(covered))
        self.ulpdus.add(n)
        return data, covered

    def get(self):
        """The next segment; None at FIN. ConnectionResetError at RST."""
        frame, covered = self._frame()
        if not frame:
            return None
        n, = struct.unpack_from(">H", frame)
        if any(frame[2 + n:-4]):
            raise ValueError("PAD is not zero")
        if self.crc and struct.unpack("<I", frame[-4:])[0] != crc32c(covered[:-4]):
            raise ValueError("CRC of an FPDU from the device is wrong")
        seg = Segment(frame[2:2 + n])
        if (seg.dv, seg.rv) != (self.version, self.version):
            raise ValueError("DDP version %d, RDMAP version %d" % (seg.dv, seg.rv))
        self.got.append(seg)
        return seg

    def end(self):
        """All segments from the device until it closes: (segments, Terminate or None)."""
        segs, term = [], None
        while True:
            seg = self.get()
            if seg is None:
                self.ended = True
                return segs, term
            if term:
                raise ValueError("a segment after the Terminate")
            if seg.op == TERMINATE:
                if seg.tagged or seg.qn != 2 or seg.msn != 1 or seg.mo or not seg.last:
                    raise ValueError("not the form of a Terminate")
                term = self.term = Term(seg)
            else:
                segs.append(seg)
