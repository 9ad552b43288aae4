# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Clients that connect and then send nothing, half of an MPA Request, a whole invalid one, or
random bytes."""

import socket
import time

KEY = b"MPA ID Req Frame"
WORDS = [b"", KEY[:7], KEY + b"\x40\x02\x00\x10", KEY + b"\x40\x01\x00\x00",
         bytes(range(100)), KEY + b"\x40\x02\x00\x04\x00\x04\x00\x04",
         KEY + b"\xff\xff\xff\xff" + bytes(50)]


def blow(addr, port, number, seconds):
    clients = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for _ in range(min(8, number - len(clients))):
            s = socket.socket()
            s.setblocking(False)
            try:
                s.connect((addr, port))
            except OSError:
                pass
            clients.append([s, WORDS[len(clients) % len(WORDS)]])
        for client in clients:
            try:
                if client[1]:
                    client[0].send(client[1])
                    client[1] = b""
            except OSError:
                pass	# not connected yet, or closed by the server
        time.sleep(0.02)
