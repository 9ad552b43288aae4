# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""The journal of a traffic program, as journal.h lays it out."""

import mmap
import os
import struct
import time

CONNS = 4
IDLE, CONNECTING, UP, DRAINING = range(4)
START, RUN, DONE, GONE, FAILED = range(5)
COMMANDS = ("none quit disconnect error destroy dereg rereg invalidate overflow "
            "starve feed").split()

HEAD = struct.Struct("10I216s")
CONN = struct.Struct("10I16Q")
NAMES = ("state begun ended tried refused rejected forced qpn port reason sq_posted sq_done "
         "sq_silent sq_flushed sq_error rq_posted rq_done rq_flushed rq_error purged ops bytes "
         "sq_open rq_open sq_next rq_next").split()
SQ_DEPTH, RQ_DEPTH = 32, 16	# of traffic.h
SIZE = HEAD.size + CONN.size * (CONNS + 1)


class Counts:
    """One place for connections, at one moment."""
    __slots__ = NAMES

    def __init__(self, values):
        for name, value in zip(NAMES, values):
            setattr(self, name, value)

    def posted(self):
        return self.sq_posted + self.rq_posted

    def completed(self):
        return self.sq_done + self.sq_silent + self.rq_done

    def flushed(self):
        return self.sq_flushed + self.rq_flushed

    def failed(self):
        return self.sq_error + self.rq_error

    def open(self):
        """By the record of open WRs, not by the counts"""
        return bin(self.sq_open).count("1") + bin(self.rq_open).count("1")

    def lost(self):
        """WRs posted that neither completed, nor went with their QP, nor are open"""
        return (self.posted() - self.completed() - self.flushed() - self.failed() -
                self.purged - self.open())

    def newest_are_open(self):
        """WRs of a queue complete in order: the open ones are those posted last."""
        def newest(mask, number, depth):
            n = bin(mask).count("1")
            return mask == sum(1 << i % depth for i in range(number - n, number))
        return (newest(self.sq_open, self.sq_next, SQ_DEPTH) and
                newest(self.rq_open, self.rq_next, RQ_DEPTH))


class Journal:
    def __init__(self, path):
        self.path = path
        with open(path, "wb") as f:
            f.truncate(SIZE)
        fd = os.open(path, os.O_RDWR)
        self.map = mmap.mmap(fd, SIZE)
        os.close(fd)

    def head(self):
        return HEAD.unpack_from(self.map, 0)

    @property
    def phase(self):
        return self.head()[2]

    @property
    def failure(self):
        return self.head()[10].split(b"\0")[0].decode(errors="replace")

    @property
    def step(self):
        """It ended between a count and the record: one WR may be in only one of them."""
        return self.head()[9] != 0

    def conn(self, i):
        return Counts(CONN.unpack_from(self.map, HEAD.size + CONN.size * (i + 1)))

    def conns(self):
        return [self.conn(i) for i in range(CONNS)]

    def srq(self):
        return self.conn(-1)

    def may_miss(self, on):
        """Set whether an event may be lost for want of memory."""
        struct.pack_into("I", self.map, 32, on)

    def send(self, command, arg=0):
        """Give an order without waiting; returns its number."""
        seq = self.head()[3] + 1
        struct.pack_into("2I", self.map, 16, COMMANDS.index(command), arg)
        struct.pack_into("I", self.map, 12, seq)
        return seq

    def order(self, command, arg=0, seconds=5):
        """Give an order; returns 0, an errno, or None if it was not obeyed."""
        seq = self.send(command, arg)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            head = self.head()
            if head[6] == seq:
                return head[7]
            time.sleep(0.005)
        return None

    def close(self):
        self.map.close()
        os.unlink(self.path)
