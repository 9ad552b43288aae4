# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Pairs of hosts (network namespaces on a veth), and the traffic between them."""

import ctypes
import os
import subprocess
import sys
import time

import journal
from journal import CONNS

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import Failure

BIN = os.environ.get("CHAOS_BIN", "build/tests")
RUN = "/dev/shm/chaos"
PAIRED_PORT = "7499"
SCRIPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scripts/")


class Trouble(Failure):
    """A violation"""


LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNET = 0x40000000


def enter(ns):
    """Move this process into a netns: cheaper than "ip netns exec" """
    fd = os.open("/run/netns/" + ns, os.O_RDONLY)
    if LIBC.setns(fd, CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")
    os.close(fd)


def in_child(ns, function):
    """Start function in a process of its own in a netns; its pid."""
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        enter(ns)
        function()
        status = 0
    finally:
        os._exit(status)


def run(*command, check=True, seconds=30, ns=None):
    """A command of the administrator; its output."""
    try:
        r = subprocess.run([str(c) for c in command], stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           preexec_fn=(lambda: enter(ns)) if ns else None,
                           timeout=seconds * run.slow)
    except subprocess.TimeoutExpired:
        raise Trouble("hangs: " + " ".join(map(str, command)))
    out = r.stdout.decode(errors="replace")
    if check and r.returncode:
        raise Trouble("status %d of %s: %s" % (r.returncode, " ".join(map(str, command)), out))
    return out


run.slow = 1


def within(seconds, test, step=0.05):
    end = time.monotonic() + seconds * run.slow
    while True:
        if test():
            return True
        if time.monotonic() > end:
            return False
        time.sleep(step)


class Process:
    """One end of a session, with its journal; made anew after its end."""

    def __init__(self, session, role, ns, addr, port, seed, rate, size):
        self.session, self.role, self.ns = session, role, ns
        self.args = (role, addr, port, seed, rate, size, run.slow)
        self.name = "%s-%s" % (session.name, role)
        self.child = self.journal = None
        self.killed = False
        self.log = open("%s/%s.log" % (RUN, self.name), "ab")

    def start(self):
        if self.journal:
            self.journal.close()
        self.killed = False
        self.journal = journal.Journal("%s/%s.journal" % (RUN, self.name))
        self.child = subprocess.Popen(
            [BIN + "/traffic", self.journal.path] + [str(a) for a in self.args],
            preexec_fn=lambda: enter(self.ns), stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)

    @property
    def pid(self):
        return self.child.pid

    def running(self):
        return self.child is not None and self.child.poll() is None

    def kill(self):
        self.killed = True
        if self.running():
            self.child.kill()
        if self.child:
            try:
                self.child.wait(30 * run.slow)
            except subprocess.TimeoutExpired:
                raise Trouble("%s does not die" % self.name)


class Paired:
    """
    One end of a connection without rdma_cm (paired.c), started again whenever it ends. No fault
    is meant for it, and each may end it.
    """

    def __init__(self, pair, side):
        self.pair, self.side = pair, side
        self.name = "p%d-paired%d" % (pair.index, side)
        self.path = "%s/%s.count" % (RUN, self.name)
        self.child = None
        self.log = open("%s/%s.log" % (RUN, self.name), "ab")
        with open(self.path, "wb") as f:
            f.write(bytes(8))

    def verified(self):
        with open(self.path, "rb") as f:
            return int.from_bytes(f.read(8), sys.byteorder)

    def start(self):
        role = ("server", "client")[self.side]
        self.child = subprocess.Popen(
            [BIN + "/paired", self.path, self.pair.rdma(self.side), role, self.pair.addr(0),
             PAIRED_PORT, str(run.slow)], preexec_fn=lambda: enter(self.pair.ns(self.side)),
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)

    def revive(self):
        status = self.child.poll() if self.child else 4
        if status is None:
            return
        if status != 4:
            with open(self.log.name) as f:
                raise Trouble("%s ended with status %d: %s" % (self.name, status, f.read()[-500:]))
        self.start()

    def stop(self):
        if self.child:
            self.child.kill()
            self.child.wait()
            self.child = None


class Session:
    """A server on one host, a client on the other, four connections."""

    def __init__(self, pair, index, seed, rate, size):
        server, client = (1, 0) if index % 2 == 0 else (0, 1)
        self.pair, self.index = pair, index
        self.name = "p%ds%d" % (pair.index, index)
        self.port = 7500 + index
        args = (pair.addr(server), self.port, seed, rate, size)
        self.server_side, self.client_side = server, client
        self.server = Process(self, "server", pair.ns(server), *args)
        self.client = Process(self, "client", pair.ns(client), *args)
        self.processes = (self.server, self.client)

    def conns(self):
        return [(self, i) for i in range(CONNS)]

    def side(self, host):
        return self.server if self.server_side == host else self.client


class Pair:
    """Hosts 0 and 1 of a pair: netns, veth, address, RDMA link each."""

    def __init__(self, index, sessions, seed, rate, size):
        self.index, self.mtu = index, 1500
        self.sessions = [Session(self, i, seed + 10 * index + i, rate, size)
                         for i in range(sessions)]
        self.paired = [Paired(self, side) for side in (0, 1)]

    def ns(self, side):
        return "h%d" % (2 * self.index + side + 1)

    def dev(self, side):
        return "v%d" % (2 * self.index + side + 1)

    def rdma(self, side):
        return "sr%d" % (2 * self.index + side + 1)

    def addr(self, side):
        return "10.77.%d.%d" % (self.index, side + 1)

    def processes(self):
        return [p for s in self.sessions for p in s.processes]

    def conns(self):
        return [c for s in self.sessions for c in s.conns()]

    def build(self):
        """Make all that is missing."""
        for side in 0, 1:
            if not os.path.exists("/run/netns/" + self.ns(side)):
                run("ip", "netns", "add", self.ns(side))
                run("ip", "-n", self.ns(side), "link", "set", "lo", "up")
        if not self.has_netdev():
            # the indices differ, since all devices are seen in each netns
            base = 100 + 10 * self.index
            run("ip", "link", "add", self.dev(0), "index", base, "mtu", self.mtu,
                "netns", self.ns(0), "type", "veth", "peer", "name", self.dev(1),
                "index", base + 1, "mtu", self.mtu, "netns", self.ns(1))
            for side in 0, 1:
                run("ip", "-n", self.ns(side), "addr", "add", self.addr(side) + "/24",
                    "dev", self.dev(side))
                run("ip", "-n", self.ns(side), "link", "set", self.dev(side), "up")
        for side in 0, 1:
            if not self.has_rdma(side):
                run("rdma", "link", "add", self.rdma(side), "type", "srnic",
                    "netdev", self.dev(side), ns=self.ns(side))
        for side in 0, 1:
            if not within(10, lambda: self.active(side)):
                raise Trouble("the port of %s does not get active" % self.rdma(side))
            # on every other pair a message without a receive ends its connection at once, and QPs
            # without rdma_cm acknowledge; at one end of each the kthreads do all work
            other = self.index % 2
            policies = [("ib_port", 4791), ("ib_timeout", 1), ("no_receive", other),
                        ("ib_ack", "off" if other else "on")]
            if side:
                policies.append(("inline_work", "off"))
            for name, value in policies:
                with open("/sys/class/infiniband/%s/policy/%s" % (self.rdma(side), name), "w") as f:
                    f.write(str(value))

    def has_netdev(self):
        out = run("ip", "-n", self.ns(0), "link", "show", self.dev(0), check=False)
        return "mtu" in out

    def has_rdma(self, side):
        return os.path.exists("/sys/class/infiniband/" + self.rdma(side))

    def active(self, side):
        try:
            with open("/sys/class/infiniband/%s/ports/1/state" % self.rdma(side)) as f:
                return "ACTIVE" in f.read()
        except OSError:
            return False

    def demolish(self):
        for side in 0, 1:
            if self.has_rdma(side):
                run("rdma", "link", "delete", self.rdma(side))
        for side in 0, 1:
            run("ip", "netns", "del", self.ns(side), check=False)
