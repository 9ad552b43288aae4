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

HEAD = struct.Struct("9I220s")
CONN = struct.Struct("8I12Q")
NAMES = ("state begun ended tried qpn port reason pad sq_posted sq_done sq_silent sq_flushed "
         "sq_error rq_posted rq_done rq_flushed rq_error purged ops bytes").split()
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

    def outstanding(self):
        return (self.posted() - self.completed() - self.flushed() - self.failed() -
                self.purged)


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
        return self.head()[9].split(b"\0")[0].decode(errors="replace")

    def conn(self, i):
        return Counts(CONN.unpack_from(self.map, HEAD.size + CONN.size * (i + 1)))

    def conns(self):
        return [self.conn(i) for i in range(CONNS)]

    def srq(self):
        return self.conn(-1)

    def may_miss(self, on):
        """Tell it whether an event may be lost for want of memory."""
        struct.pack_into("I", self.map, 32, on)

    def send(self, command, arg=0):
        """Give an order without waiting; its number."""
        seq = self.head()[3] + 1
        struct.pack_into("2I", self.map, 16, COMMANDS.index(command), arg)
        struct.pack_into("I", self.map, 12, seq)
        return seq

    def order(self, command, arg=0, seconds=5):
        """Give an order; 0, an errno, or None if nobody obeyed."""
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
