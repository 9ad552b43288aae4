#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""usage: echo.py call|serve ADDRESS PORT

A scripted peer of librnicpi's example echo, which begins as a TCP conversation and continues with
RDMA: its client (call) or its server for one client (serve). Exit status 0 if all was as RFC
5040, 5041 and 5044 have it.
"""

import socket
import struct
import sys

from iwarp import MPA_C, REP_KEY, REQ_KEY, SEND, StartFrame, Stream, start_frame

MESSAGES = (b"one", b"two words", b"", b"x" * 4000)


def require(good, what):
    if not good:
        sys.exit("echo.py: " + what)


def start(stream, key):
    frame = StartFrame(stream, key)
    require(frame.rev == 1 and frame.flags == MPA_C and not frame.pd,
            "flags %#x, revision %d" % (frame.flags, frame.rev))


def message(stream):
    """The next message, of one segment or more."""
    data = b""
    while True:
        seg = stream.get()
        require(seg and seg.op == SEND and seg.qn == 0 and seg.mo == len(data), "no Send")
        data += seg.payload
        if seg.last:
            return data


def call(sock):
    stream = Stream(sock)
    stream.raw(struct.pack(">I", len(MESSAGES)) + start_frame(REQ_KEY, MPA_C, 1))
    start(stream, REP_KEY)
    for text in MESSAGES:
        stream.send(text)
        require(message(stream) == text, "another echo of %d octets" % len(text))
    require(stream.get() is None, "more than the echoes")


def serve(sock):
    stream = Stream(sock)
    count, = struct.unpack(">I", stream.octets(4))
    start(stream, REQ_KEY)
    stream.raw(start_frame(REP_KEY, MPA_C, 1))
    for _ in range(count):
        stream.send(message(stream))
    require(stream.get() is None, "more than was announced")


def main():
    if len(sys.argv) != 4 or sys.argv[1] not in ("call", "serve"):
        sys.exit(__doc__)
    address = (sys.argv[2], int(sys.argv[3]))
    if sys.argv[1] == "call":
        sock = socket.create_connection(address, 20)
        call(sock)
    else:
        listener = socket.create_server(address)
        listener.settimeout(20)
        sock, _ = listener.accept()
        sock.settimeout(20)
        serve(sock)
    print("as it should be")


main()
