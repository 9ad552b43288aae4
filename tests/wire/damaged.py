# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""FPDUs damaged on the way, past TCP's checksum, for peer.py: each is valid except for a few
bits, and without CRC the device would place it. None of its octets may be placed (RFC 5044 6)."""

import socket
import struct

from iwarp import READ_REQ, READ_RESP, SEND, WRITE, fpdu, tagged, untagged

DATA = bytes(range(0xC0, 0xF0))		# these octets are not in the target's memory
OFF = 1000


def put(data, at, new):
    return data[:at] + new + data[at + len(new):]


def flip(data, at, bits):
    return put(data, at, bytes([data[at] ^ bits]))


def stag(new):
    """Another STag that permits the access"""
    return lambda s, f: put(f, 4, struct.pack(">I", new(s.t)))


def length(more):
    return lambda s, f: put(f, 0, struct.pack(">H", struct.unpack(">H", f[:2])[0] + more))


# Changes to a Write; its CRC stays the same
CHANGES = (
    ("STag of a region for Writes only", stag(lambda t: t.only_write)),
    ("STag that is not known", stag(lambda t: t.all ^ 0x100)),
    ("TO, bit 4", lambda s, f: flip(f, 15, 0x10)),
    ("TO, bit 12", lambda s, f: flip(f, 14, 0x10)),
    ("TO, bit 63", lambda s, f: flip(f, 8, 0x80)),
    ("first octet of the payload", lambda s, f: flip(f, 16, 1)),
    ("last octet of the payload", lambda s, f: flip(f, 15 + len(DATA), 0x80)),
    ("L bit", lambda s, f: flip(f, 2, 0x40)),
    ("opcode", lambda s, f: flip(f, 3, 2)),
    ("ULPDU_Length, in the PAD", length(1)),
    ("ULPDU_Length, 4 less", length(-4)),
    ("ULPDU_Length, 40 less", length(-40)),
    ("CRC", lambda s, f: flip(f, len(f) - 1, 1)),
)


def ended(peer, p, s, wcs=(), code=(2, 0, 2), events=1):
    """Terminate, FIN, Error; the completions"""
    segs, term = s.end()
    s.sock.close()
    res = peer.result()
    p.check_term(term, code, "", b"")
    p.expect(not segs, "%d segments before the Terminate" % len(segs))
    p.expect([tuple(w[:2]) for w in res["wcs"]] == list(wcs), "completions %s" % res["wcs"])
    p.expect(res["async"] == [p.FATAL] * events, "events %s" % res["async"])
    p.expect(res["state"] == p.STATE_ERR, "state %d" % res["state"])
    return res


def untouched(p, res):
    p.expect(res["dirty"] is None, "octets %s were placed" % res["dirty"])


def write(peer, p, change, pieces=None):
    """A Write, alone or in pieces; good FPDUs behind it are not processed, either."""
    s = peer.connect(recvs=1)
    bad = change(s, fpdu(tagged(WRITE, s.t.all, s.t.addr + OFF, DATA)))
    good = fpdu(tagged(WRITE, s.t.all, s.t.addr, DATA)) + fpdu(untagged(SEND, 0, 1, DATA))
    if pieces:
        for i in range(0, len(bad), pieces):
            s.raw(bad[i:i + pieces])
        bad = b""
    s.raw(bad + good)
    untouched(p, ended(peer, p, s, wcs=[(100, p.FLUSHED)]))


def behind_good_ones(peer, p, change):
    """FPDUs before it in the same segment are placed and delivered."""
    s = peer.connect(recvs=2)
    s.raw(fpdu(tagged(WRITE, s.t.all, s.t.addr, DATA)) + fpdu(untagged(SEND, 0, 1)) +
          change(s, fpdu(tagged(WRITE, s.t.all, s.t.addr + OFF, DATA))) +
          fpdu(tagged(WRITE, s.t.all, s.t.addr + 2 * OFF, DATA)))
    res = ended(peer, p, s, wcs=[(100, p.SUCCESS), (101, p.FLUSHED)])
    p.expect(res["dirty"] == [0, len(DATA) - 1] and res["bytes"] == DATA.hex(),
             "octets %s" % res["dirty"])


def longer(peer, p):
    """The length field is too large: the octets that follow count as part of the FPDU."""
    s = peer.connect(recvs=1)
    s.raw(length(2000)(s, fpdu(tagged(WRITE, s.t.all, s.t.addr, DATA))))
    for _ in range(40):
        s.raw(fpdu(tagged(WRITE, s.t.all, s.t.addr + OFF, DATA)))
    untouched(p, ended(peer, p, s, wcs=[(100, p.FLUSHED)]))


def longer_than_all(peer, p):
    """The same without further octets: FIN comes within an FPDU."""
    s = peer.connect(recvs=1)
    s.raw(length(2000)(s, fpdu(tagged(WRITE, s.t.all, s.t.addr, DATA))))
    s.sock.shutdown(socket.SHUT_WR)
    # rdma_cm reports the lost connection (AE-06)
    untouched(p, ended(peer, p, s, [(100, p.FLUSHED)], (2, 0, 1), 0))


def in_a_message(peer, p):
    """The middle one of three segments of a Write: the octets before it stay."""
    s = peer.connect()
    for i in range(3):
        f = fpdu(tagged(WRITE, s.t.all, s.t.addr + i * len(DATA), DATA, last=i == 2))
        s.raw(flip(f, 20, 1) if i == 1 else f)
    res = ended(peer, p, s)
    p.expect(res["dirty"] == [0, len(DATA) - 1] and res["bytes"] == DATA.hex(),
             "octets %s" % res["dirty"])


def send(peer, p, at):
    s = peer.connect(recvs=1)
    s.raw(flip(fpdu(untagged(SEND, 0, 1, DATA)), at, 1))
    untouched(p, ended(peer, p, s, wcs=[(100, p.FLUSHED)]))


def response(peer, p, at):
    """The response to a Read of the device: the sink does not change, and the Read does not
    complete."""
    s = peer.connect(op=p.READ, length=len(DATA), rkey=0x77, raddr=0)
    req = s.get()
    p.expect(req.op == READ_REQ, "no Read Request")
    sink, to = struct.unpack_from(">IQ", req.payload)
    s.raw(flip(fpdu(tagged(READ_RESP, sink, to, DATA)), at, 1))
    untouched(p, ended(peer, p, s, wcs=[(1, p.FLUSHED)]))


def run(peer, p):
    t = peer.test
    for what, change in CHANGES:
        t("M-RX-1", "Write damaged on the way: " + what, lambda c=change: write(peer, p, c))
        t("X-4", "Write damaged on the way, behind good FPDUs: " + what,
          lambda c=change: behind_good_ones(peer, p, c))
    for pieces in (1, 7, 30):
        for what, change in (CHANGES[0], CHANGES[2], CHANGES[5]):
            t("X-4", "Write damaged on the way, in pieces of %d octets: %s" % (pieces, what),
              lambda c=change, n=pieces: write(peer, p, c, n))
    t("M-DDP-3", "ULPDU_Length damaged, 2000 more", lambda: longer(peer, p))
    t("M-DDP-3", "ULPDU_Length damaged, 2000 more, then FIN", lambda: longer_than_all(peer, p))
    t("M-RX-1", "a segment in the middle of a Write damaged", lambda: in_a_message(peer, p))
    for what, at in (("MSN", 15), ("MO", 19), ("payload", 30)):
        t("M-RX-1", "Send damaged on the way: " + what, lambda n=at: send(peer, p, n))
    for what, at in (("STag", 7), ("TO", 15), ("payload", 30)):
        t("M-RX-1", "Read Response damaged on the way: " + what,
          lambda n=at: response(peer, p, n))
