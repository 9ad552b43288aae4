#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""usage: tests/fuzz/seeds.py DIRECTORY

Write what the fuzzers start from: a folder for each harness, a file for each
input. Frames are made by the encoder of the wire tests (tests/wire/iwarp.py),
which has nothing of the module.
"""

import struct
import sys
from itertools import product
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "wire"))

import iwarp as w  # noqa: E402

# srnic-abi.h
SQE_OPS = range(0, 17)
SIGNALED, SOLICITED, FENCE, INLINE = 1, 2, 4, 8


def hello():
    emss = (10, 536, 1448, 1460, 8948, 65495, 1 << 17)
    frames = []
    for key, m, c, r in product((w.REQ_KEY, w.REP_KEY), (0, w.MPA_M), (0, w.MPA_C), (0, w.MPA_R)):
        frames.append(w.start_frame(key, m | c | r, 1, b"hello"))
        frames.append(w.start_frame(key, m | c | r, 2, b"", (w.ENH_A | w.ENH_B | 4, w.ENH_C | 2)))
        frames.append(w.start_frame(key, m | c | r, 2, b"x", (0x3fff, w.ENH_D | 0x3fff)))
    frames.append(w.start_frame(w.REQ_KEY, w.MPA_C, 3))
    frames.append(w.start_frame(w.REQ_KEY, w.MPA_C, 0))
    frames.append(w.start_frame(w.REQ_KEY, w.MPA_C, 1, bytes(513))[:24])
    frames.append(w.start_frame(w.REQ_KEY, w.MPA_C | w.MPA_S, 2, b"abc"))
    frames.append(w.start_frame(b"MPA ID Bad Frame", w.MPA_C, 1))
    for i, frame in enumerate(frames):
        role = 0 if frame.startswith(w.REQ_KEY) else 1
        yield bytes([role]) + frame[:24].ljust(24, b"\0") + struct.pack(">I", emss[i % len(emss)])


def end(crc, markers, rev2, p2p, rtr, reads):
    bits = (crc == "required") | markers << 1 | rev2 << 3 | p2p << 4 | rtr << 5
    head = bytes([bits]) if crc == "required" else bytes([bits, crc == "preferred"])
    most, wanted = reads
    return head + struct.pack(">HHHHH", most, most, wanted, wanted, 0)


def negotiate():
    stranger = w.start_frame(w.REQ_KEY, w.MPA_C, 2, b"", (w.ENH_A | w.ENH_B | 4, w.ENH_D | 9))[16:]
    ends = [end(*choice) for choice in product(
        ("off", "preferred", "required"), (0, 3), (0, 1), (0, 1), (1, 2, 4, 7),
        ((4, 2), (0, 0), (5, 0xbfff)))]
    for i, a in enumerate(ends):
        for b in (ends[(i * 7 + 3) % len(ends)], ends[-1 - i]):
            yield a + b + bytes([i & 1]) + stranger
    # a stranger with each revision, with and without enhanced data, as Reply with R
    for flags, rev in product((0, w.MPA_M, w.MPA_R, w.MPA_S, w.MPA_S | w.MPA_R), (1, 2)):
        yield ends[0] + ends[-1] + b"\0" + bytes([flags, rev, 0, 4, 0x80, 9, 0xc0, 9])
        yield ends[-1] + ends[0] + b"\0" + bytes([flags, rev, 0, 4, 0x80, 9, 0xc0, 9])
    full = struct.pack(">BHHHHH", 0x1f, 4, 4, 1, 1, 519)
    yield full + full + b"\0" + stranger


RIGHT_QN = {w.READ_REQ: 1, w.ATOMIC_REQ: 1, w.TERMINATE: 2, w.ATOMIC_RESP: 3}
HEADERS = {w.READ_REQ: 28, w.TERMINATE: 4, w.IMM: 8, w.IMM_SE: 8, w.ATOMIC_REQ: 52,
           w.ATOMIC_RESP: 12}


def ddp():
    for op in range(16):
        for tagged, last, dv, rv in product((0, 1), (0, 1), (0, 1), (0, 1)):
            if tagged:
                seg = w.tagged(op, 0x11223344, 0x5566778899aabbcc, b"", last, dv, rv)
            else:
                seg = w.untagged(op, RIGHT_QN.get(op, 0), 7, b"", 9, last, 0xdeadbeef, dv, rv)
            for extra in {HEADERS.get(op, 0), 0, 3, 53}:
                yield struct.pack(">H", len(seg) + extra) + seg
        yield struct.pack(">H", 18) + w.untagged(op, 5, 1)
        yield struct.pack(">H", 9) + w.untagged(op, 0, 1)


def rdv():
    for code, version, psn in product(range(5), (1, 2), (0, 0x123456, 0x1000000)):
        yield bytes([56]) + struct.pack(">IBBHIIII", 0x73724942, version, code, 0, 17, 18, psn,
                                        7) + bytes(range(16)) + bytes(range(1, 17))
    yield bytes([55]) + b"srIB" + bytes(51)


def datagram():
    for flags, length, version, imm in product((0, 1, 2, 3, 4), (0, 1, 1024), (1, 2), (0, 7)):
        head = struct.pack(">IBBHIIIII", 0x73725544, version, flags, length, 17, 18, 0x1ee7,
                           0xffffff, imm)
        message = bytes(i & 0xff for i in range(length))
        yield struct.pack(">H", 32 + length) + head + struct.pack(
            "<I", w.crc32c(head + message)) + message
    yield struct.pack(">H", 31) + head
    yield struct.pack(">H", 4129) + head + bytes(4097)


def rdmap():
    head = struct.pack(">IB", 3, w.SEND) + w.read_req(1, 2, 3, 4, 5)
    quoted = {0: b"", 1: w.untagged(w.READ_REQ, 1, 1), 2: w.tagged(w.WRITE, 1, 2)}
    for bits, kind in product(range(8), quoted):
        word = 0x11030000 | bits << 13
        body = struct.pack(">IH", word, 77) + quoted[kind]
        yield head + body + w.read_req(9, 8, 7, 6, 5)
        yield head + body
    for size in (0, 3, 4, 5, 6, 7):
        yield head + struct.pack(">IHH", 0x1103e000, 77, 0)[:size]
    yield struct.pack(">IB", 0xffffffff, 15)
    for err in range(64):
        yield struct.pack(">IB", err, err & 15)


def atomic():
    for op, value in product((0, 1, 2, 14, 15), (0, 1, 0xffffffffffffffff, 0x0123456789abcdef)):
        for data, mask in ((1, 0), (0xff, 0x8080808080808080), (value, 0xffffffffffffffff)):
            yield (struct.pack(">Q", value) +
                   w.atomic_req(op, 1, 2, 3, data, mask, value, 0xffffffff00000000) +
                   struct.pack(">IQ", 1, value))


REMOTE_OPS = *range(3, 9), 15, 16


def sqe(op, flags=0, sges=(), inline=b"", rkey=1, num=None, stag=0, args=(0, 0, 0, 0)):
    body = inline or b"".join(struct.pack("<QII", *s) for s in sges)
    return struct.pack("<QBBHIIIQ4Q", 0x77, op, flags, len(sges) if num is None else num,
                       len(inline), rkey if op in REMOTE_OPS else 0, stag,
                       0x1000 if op in REMOTE_OPS else 0, *args) + body


def wqe():
    queue = struct.pack(">BBBH", 0, 4, 4, 64)
    kernel = struct.pack(">BBBH", 1, 4, 4, 64)
    for op in SQE_OPS:
        for flags in (0, SIGNALED, INLINE, 0x10):
            for sges in ((), ((0x1000, 8, 5),), ((0, 8, 0),), ((0, 0, 0), (0, 9, 7))):
                for rkey in (0, 1):
                    yield queue + sqe(op, flags, sges, rkey=rkey)
        yield kernel + sqe(op)
        for at in range(4):
            yield kernel + sqe(op, args=[i == at for i in range(4)])
        yield kernel + sqe(op, stag=1)
    # offered by both ends
    for op, at in product((15, 16), range(5)):
        yield struct.pack(">BBBH", 16, 4, 4, 64) + sqe(op, args=[i < at for i in range(4)])
    yield queue + sqe(1, INLINE, inline=bytes(64))
    yield queue + sqe(1, INLINE, inline=bytes(65))
    yield queue + sqe(1, 0, ((0, 0xffffffff, 1), (0, 1, 1)))
    yield queue + sqe(1, num=5)
    for op in (1, 3, 4, 6):
        for send, write in ((1, 3), (3, 1)):
            yield struct.pack(">BBBH", 0, send, write, 64) + sqe(op, 0, 2 * ((0x1000, 8, 5),), rkey=1)
    # as an RQE: number of SGEs at octet 8
    for num in (0, 1, 4, 5, 0xffffffff):
        yield queue + struct.pack("<QII", 1, num, 0) + 4 * struct.pack("<QII", 0, 0x7fffffff, 1)


CRC, MEND, FIN_SENT, RTR_READ, BAD_SGE, READ_INV, LOCAL_ERROR, MARKERS = (
    1, 2, 4, 8, 16, 32, 64, 128)
TAKE_EINVAL, TAKE_EPROTO = 128, 192
PLACEMENT = 16	# with acknowledgments
STAG, BASE = 0x1000, 0x10000


ACKED = 4	# times the messages that the peer may acknowledge, at most 15
COLLECT, PRESSURE, NO_MEMORY, WITH_DATA, FIN, RESET, LOST, LATE = 1, 2, 4, 8, 16, 32, 48, 64


def config(bits=CRC, enables=15, ird=4, wqes=4, requests=4, atomics=8, chunk=0, sges=(40, 60),
           remote=256, read=100, tcp=0, sleepy=0, rtr=0, window=0, leave_at=0):
    return struct.pack(">7B4H3B2H", bits, enables, ird, wqes, requests, atomics, chunk, *sges,
                       remote, read, tcp, sleepy, rtr, window, leave_at)


def good_stream():
    """One message of each kind, in an order a peer may choose; requests 0 to 2 are Reads, 3 an
    atomic"""
    yield w.untagged(w.SEND, 0, 1, b"a" * 50, 0, False)
    yield w.tagged(w.WRITE, STAG, BASE, b"w" * 33, False)
    yield w.untagged(w.SEND, 0, 1, b"b" * 50, 50)
    yield w.untagged(w.SEND_SE_INV, 0, 2, b"", inv=0x77)
    yield w.untagged(w.READ_REQ, 1, 1, w.read_req(1, 2, 3, STAG, BASE))
    yield w.tagged(w.READ_RESP, STAG, BASE, b"r" * 60, False)
    yield w.tagged(w.WRITE, STAG, BASE + 250, b"w" * 6)
    yield w.tagged(w.READ_RESP, STAG, BASE + 60, b"", False)
    yield w.tagged(w.READ_RESP, STAG, BASE + 60, b"r" * 40)
    yield w.untagged(w.IMM, 0, 3, b"immediat")
    yield w.untagged(w.ATOMIC_REQ, 1, 2, w.atomic_req(2, 9, STAG, BASE, 1, 2, 3, 4))
    yield w.tagged(w.READ_RESP, STAG, BASE + 16, b"r" * 100)
    yield w.tagged(w.READ_RESP, STAG, BASE + 32, b"r" * 100)
    yield w.untagged(w.ATOMIC_RESP, 3, 1, struct.pack(">IQ", 3, 42))
    yield w.tagged(w.WRITE, 0, 0, b"")
    yield w.untagged(w.IMM_SE, 0, 4, b"IMMEDIAT")


def bad_segments():
    term = struct.pack(">IH", 0x1103c000, 77) + w.untagged(w.READ_REQ, 1, 1)
    yield w.untagged(w.TERMINATE, 2, 1, term)
    yield w.untagged(w.TERMINATE, 2, 1, b"\x01\x00\xe0" + term[3:] + w.read_req(1, 2, 3, 4, 5))
    yield w.untagged(w.TERMINATE, 2, 1, struct.pack(">I", 0x02060000))
    yield w.untagged(w.TERMINATE, 2, 1, b"abc")
    yield w.untagged(w.TERMINATE, 2, 1, bytes(52))
    yield w.untagged(w.TERMINATE, 2, 1, bytes(53))
    yield w.untagged(w.SEND, 0, 2)
    yield w.untagged(w.SEND, 0, 1, b"x" * 101)
    yield w.untagged(w.SEND, 0, 1, b"x", 1)
    yield w.untagged(w.SEND_INV, 0, 1, b"x", inv=0xbad)
    yield w.untagged(w.IMM, 0, 1, b"immediat")
    yield w.untagged(w.ATOMIC_REQ, 1, 1, w.atomic_req(2, 9, STAG, BASE, 1, 2, 3, 4))
    yield w.untagged(w.READ_REQ, 1, 1, w.read_req(1, 2, 3, STAG, BASE))
    yield w.tagged(w.WRITE, STAG + 1, BASE, b"x")
    yield w.tagged(w.WRITE, STAG, BASE + 256, b"x")
    yield w.tagged(w.WRITE, STAG, -1, b"xx")
    yield w.tagged(w.READ_RESP, STAG, BASE + 1, b"r" * 100)
    yield w.tagged(w.READ_RESP, STAG + 1, BASE, b"r" * 100)
    yield w.tagged(w.READ_RESP, STAG, BASE, b"r" * 101)
    yield w.tagged(w.READ_RESP, STAG, BASE, b"")
    yield w.untagged(w.READ_REQ, 1, 1, w.read_req(1, 2, 3, 4, 5), 1)
    yield w.untagged(w.READ_REQ, 1, 2, w.read_req(1, 2, 3, 4, 5))
    yield w.untagged(w.ATOMIC_REQ, 1, 1, w.atomic_req(1, 9, STAG, BASE, 1, 2))
    yield w.untagged(w.ATOMIC_RESP, 3, 1, struct.pack(">IQ", 0, 42))
    yield w.untagged(w.SEND, 0, 1, rv=0)
    yield w.untagged(w.SEND, 0, 1, dv=0)
    yield b"short"


def fpdu():
    for bits, place, size in product(range(4), (0, 1, 64, 127), (0, 1, 2, 488, 505, 506, 1024)):
        yield bytes([bits, place]) + struct.pack(">H", size) + bytes(range(32))
    yield bytes([255, 3]) + struct.pack(">H", 64768)
    # removal of markers: each octet of a marker changed, and any octets
    for place, size, which in product((0, 1, 127), (0, 600), range(8)):
        yield (bytes([3, place]) + struct.pack(">H", size) + bytes(size) +
               struct.pack(">HB", which, 1 << which) + struct.pack(">H", 1100) + bytes(1100))


def stream():
    good = b"".join(map(w.fpdu, good_stream()))
    for chunk, tcp, window, sleepy in product((0, 1, 2, 7, 64, 255), (0, COLLECT), (0, 20, 100),
                                              (0, 128, 255)):
        yield config(chunk=chunk, tcp=tcp, window=window, sleepy=sleepy) + good
    for tcp, cut in product((FIN, RESET, LOST, FIN | WITH_DATA, RESET | WITH_DATA), (0, 1, 60)):
        yield config(chunk=99, tcp=tcp) + good[:len(good) - cut]
        yield config(CRC | FIN_SENT, chunk=99, tcp=tcp) + good[:len(good) - cut]
    yield config(chunk=99, tcp=PRESSURE | NO_MEMORY, window=40) + good
    yield config(chunk=99, tcp=PRESSURE | NO_MEMORY | FIN) + good[:300]
    for leave_at, tcp in product((1, 50, 300, len(good) - 3), (0, FIN, COLLECT)):
        yield config(chunk=99, leave_at=leave_at, tcp=tcp) + good[:-3]
    # more than the callback processes, and than the kthread does at a time
    big = w.fpdu(w.tagged(w.WRITE, STAG, BASE, bytes(4000)))
    for chunk, window in product((0, 255), (0, 5000)):
        yield config(chunk=chunk, remote=4095, window=window) + big * 9
    for chunk in range(100, 108):
        yield config(CRC | READ_INV, sleepy=128, chunk=chunk) + good
    # receives that are posted late, or never
    for chunk, wqes, tcp in product(range(1, 4), (0, 2, 4), (LATE, LATE | FIN, LATE | FIN | WITH_DATA)):
        yield config(chunk=chunk, wqes=wqes, tcp=tcp, sleepy=64) + good
    # the peer's RTR, by Send and by Write
    rtrs = (w.untagged(w.SEND, 0, 1), w.tagged(w.WRITE, 0, 0))
    for rtr, segment in product((0, 1, 2, 3), rtrs):
        for bits in (CRC, CRC | FIN_SENT):
            yield config(bits, rtr=rtr) + 2 * w.fpdu(segment)
        yield config(rtr=rtr) + w.fpdu(segment) + w.fpdu(w.untagged(w.SEND, 0, 2, b"x"))
    # acknowledgments of some of nine messages: in order, alone, behind a message that waits, wrong
    for numbers in (1, 5, 9), (9,), (0,), (10,), (3, 3), (3, 2), (1 << 31,):
        acks = [w.untagged(w.ACK, 3, msn, inv=n) for msn, n in enumerate(numbers, 1)]
        frames = b"".join(map(w.fpdu, acks))
        first = w.fpdu(next(good_stream()))
        rest = good[len(first):]
        for rtr in (0, 9 * ACKED):
            yield config(rtr=rtr) + frames + good
            for chunk, wqes in product((0, 40, 41), (0, 4)):
                yield config(rtr=rtr, chunk=chunk, wqes=wqes, tcp=LATE) + first + frames + rest
    for odd in ({"mo": 1}, {"last": False}, {"payload": b"abcd"}):
        yield config(rtr=9 * ACKED) + w.fpdu(w.untagged(w.ACK, 3, 1, inv=1, **odd))
    # what a Terminate says of the first message without one; with D and without
    for code in (0x1100, 0x0100, 0x0205, 0x0206, 0x0207, 0x0209, 0x02ff, 0x0300, 0x1202, 0x1205,
                 0x1000, 0x2002, 0x3000):
        for quoted in (b"\0\0", struct.pack(">HH", 0xc000, 77) + w.untagged(w.SEND, 0, 1)):
            term = struct.pack(">H", code) + quoted
            yield config(rtr=9 * ACKED) + w.fpdu(w.untagged(w.TERMINATE, 2, 1, term))
    # Flush and Atomic Write: agreed on, or not; alone, between Writes, with another STag and MSN
    for enables, rtr, stag in product((15, 15 | PLACEMENT), (0, 9 * ACKED), (STAG, STAG + 1)):
        for op in (14, 15):
            for msn, chunk in product((1, 2), (0, 40)):
                yield config(enables=enables, rtr=rtr, sleepy=128, chunk=chunk) + \
                    w.fpdu(w.untagged(w.ATOMIC_REQ, 1, msn, w.atomic_req(op, 9, stag, BASE, 8, 1)))
    flush, write = (w.atomic_req(op, 9, STAG, BASE, 8, 1) for op in (14, 15))
    for chunk, tcp in product((0, 7, 255), (0, COLLECT, FIN)):
        yield config(enables=15 | PLACEMENT, rtr=9 * ACKED, chunk=chunk, tcp=tcp, sleepy=64) + \
            w.fpdu(w.tagged(w.WRITE, STAG, BASE, b"w" * 33)) + \
            w.fpdu(w.untagged(w.ATOMIC_REQ, 1, 1, flush)) + \
            w.fpdu(w.untagged(w.READ_REQ, 1, 2, w.read_req(1, 2, 3, STAG, BASE))) + \
            w.fpdu(w.untagged(w.ATOMIC_REQ, 1, 3, write)) + \
            w.fpdu(w.tagged(w.WRITE, STAG, BASE, b"v" * 33))
    for bits in (0, CRC | MEND, CRC | FIN_SENT, CRC | RTR_READ, CRC | BAD_SGE, CRC | READ_INV,
                 CRC | LOCAL_ERROR, CRC | LOCAL_ERROR | READ_INV):
        yield config(bits) + good
    marked = w.Markers()
    good_marked = b"".join(marked.fpdu(segment) for segment in good_stream())
    # version 0
    for version in (0, 1):
        v = {"dv": version, "rv": version}
        yield config(rtr=64) + w.fpdu(w.untagged(w.SEND, 0, 1, b"abc", **v)) + \
            w.fpdu(w.untagged(w.READ_REQ, 1, 2, bytes(28), **v))
    for bits, chunk in product((CRC | MARKERS, CRC | MARKERS | MEND, MARKERS), (0, 1, 5)):
        yield config(bits, chunk=chunk) + good_marked
        # the first marker, the second one, and both; the second one in a Write's middle
        yield config(bits, chunk=chunk) + b"\0\0\0\4" + good_marked[4:]
        yield config(bits, chunk=chunk) + good_marked[:515] + b"\xfc" + good_marked[516:]
        for n in range(2):
            bad = w.Markers().fpdu(w.tagged(w.WRITE, STAG, BASE, bytes(600)), None,
                                   lambda i, marker, n=n: b"\0\0\x12\x34" if i == n else marker)
            yield config(bits, chunk=chunk, remote=700) + bad
            yield config(bits, chunk=chunk, remote=700) + bad[:-9]
    for other in ({"enables": 0}, {"enables": TAKE_EINVAL}, {"enables": TAKE_EPROTO}, {"ird": 0}, {"ird": 1}, {"wqes": 0}, {"wqes": 1},
                  {"requests": 0}, {"atomics": 1}, {"remote": 99}, {"sges": (0, 0)}):
        yield config(**other) + good
        # each message alone, so that it is the one to meet the error
        for segment in good_stream():
            yield config(**other) + w.fpdu(segment)
    for segment in bad_segments():
        for bits in (CRC, CRC | FIN_SENT, CRC | RTR_READ):
            yield config(bits, chunk=3) + w.fpdu(segment) + good
        yield config() + w.fpdu(segment, crc=1) + good
        yield config(enables=0) + w.fpdu(segment)
        # within a Send, and within a Read Response
        yield (config() + w.fpdu(w.untagged(w.SEND, 0, 1, b"x", last=False)) + w.fpdu(segment))
        yield (config() + w.fpdu(w.tagged(w.READ_RESP, STAG, BASE, b"x", False)) + w.fpdu(segment))
    yield config(CRC | RTR_READ) + w.fpdu(w.tagged(w.READ_RESP, 0, 0)) + good
    yield config(CRC | FIN_SENT) + w.fpdu(w.untagged(w.TERMINATE, 2, 1, bytes(4)))
    # damaged on the way: each octet of a Write, with its CRC unchanged
    write = w.fpdu(w.tagged(w.WRITE, STAG, BASE + 16, b"w" * 9))
    for i, tcp in product(range(len(write)), (0, COLLECT)):
        yield config(tcp=tcp) + write[:i] + bytes([write[i] ^ 1]) + write[i + 1:] + good
    for i in (2, 70):
        yield config(CRC | MARKERS, tcp=NO_MEMORY, chunk=i) + good_marked
    for cut in range(1, 80, 7):
        yield config(chunk=cut) + good[:-cut]
    # the oldest request is an atomic
    response = w.fpdu(w.untagged(w.ATOMIC_RESP, 3, 1, struct.pack(">IQ", 0, 42)))
    yield config(atomics=1) + response + response
    yield config(CRC | LOCAL_ERROR, atomics=1) + response
    yield config(atomics=1) + w.fpdu(w.untagged(w.TERMINATE, 2, 1, struct.pack(">I", 0x02060000)))


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__)
        return 0 if "--help" in sys.argv else 2
    for make in (hello, negotiate, ddp, rdmap, atomic, rdv, datagram, wqe, fpdu, stream):
        folder = Path(sys.argv[1]) / make.__name__
        folder.mkdir(parents=True)
        for i, seed in enumerate(make()):
            (folder / ("%04d" % i)).write_bytes(seed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
