# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""The faults. Each function applies one to a pair of hosts, undoes it if that does not happen by
itself, and returns which connections may end by it (may), which must end (must), which processes
may lose their device (gone), and whether it took effect (took): a connection that is about to end
can refuse an order, and an allocation may not have come. All others must not be affected."""

import os
import re
import signal
import subprocess
import time

import storm
from hosts import BIN, Trouble, enter, in_child, run, within
from journal import CONNS, UP

DEBUG = "/sys/kernel/debug/"
TRACING = "/sys/kernel/tracing/"


class Outcome:
    def __init__(self, may=(), must=(), gone=(), rebuild=False, took=True):
        self.took = took
        self.must = set(must)
        self.may = set(may) | self.must
        self.gone = set(gone)
        self.rebuild = rebuild


KINDS = {}


class Kind:
    def __init__(self, function, weight, under, needs, quiet):
        self.function, self.weight, self.under, self.needs = function, weight, under, needs
        self.quiet = quiet
        self.name = function.__name__.replace("_", "-")

    def missing(self):
        """The feature that this kernel lacks for it, or None"""
        for path in self.needs:
            if not os.path.exists(path):
                return path
        return None


def fault(weight=10, under=False, needs=(), quiet=False):
    """
    weight: how often, of all; under: also while the network loses packets; quiet: connections
    that end can be made anew at once
    """
    def add(function):
        kind = Kind(function, weight, under, needs, quiet)
        KINDS[kind.name] = kind
        return function
    return add


def write(path, value):
    for _ in range(50):		# may fail because of the fault that it ends
        try:
            with open(path, "w") as f:
                f.write(str(value))
            return
        except OSError as e:
            error = e
            time.sleep(0.02)
    raise Trouble("%s: %s" % (path, error))


def ip(pair, side, *command):
    run("ip", "-n", pair.ns(side), *command)


def set_link(pair, side, state):
    ip(pair, side, "link", "set", pair.dev(side), state)


def netem(pair, side, *how):
    run("tc", "-n", pair.ns(side), "qdisc", "replace", "dev", pair.dev(side), "root", "netem",
        "limit", 1000, *how)


def netem_seen(pair, side):
    """Packets that it let through, and that it dropped"""
    out = run("tc", "-n", pair.ns(side), "-s", "qdisc", "show", "dev", pair.dev(side))
    m = re.search(r"netem .*\n Sent \d+ bytes (\d+) pkt \(dropped (\d+)", out)
    return int(m[1]), int(m[2])


def netem_off(pair, side):
    run("tc", "-n", pair.ns(side), "qdisc", "del", "dev", pair.dev(side), "root")


def pick_conn(rng, pair):
    return rng.choice(pair.sessions), rng.randrange(CONNS)


def doomed(pair, session):
    return [(session, i) for i in range(CONNS)]


# --- the end of programs ----------------------------------------------------------

@fault(weight=22, under=True)
def kill_client(ctl, pair, rng):
    s = rng.choice(pair.sessions)
    s.client.kill()
    return Outcome(must=s.conns())


@fault(weight=22, under=True)
def kill_server(ctl, pair, rng):
    s = rng.choice(pair.sessions)
    s.server.kill()
    return Outcome(must=s.conns())


@fault(weight=14, under=True)
def kill_both(ctl, pair, rng):
    s = rng.choice(pair.sessions)
    for p in rng.sample(s.processes, 2):
        p.child.send_signal(signal.SIGKILL)
    for p in s.processes:
        p.kill()
    return Outcome(must=s.conns())


@fault(weight=20, under=True)
def stop_and_continue(ctl, pair, rng):
    """A program that does nothing for a while"""
    p = rng.choice(pair.processes())
    p.child.send_signal(signal.SIGSTOP)
    time.sleep(rng.uniform(0.05, 0.8))
    p.child.send_signal(signal.SIGCONT)
    return Outcome()


# --- the network --------------------------------------------------------------------

@fault(weight=24)
def link_down_up(ctl, pair, rng):
    side = rng.randrange(2)
    set_link(pair, side, "down")
    time.sleep(rng.uniform(0, 0.5))
    set_link(pair, side, "up")
    return Outcome()


def weather(*how):
    def blow(ctl, pair, rng):
        sides = rng.choice(((0,), (1,), (0, 1)))
        for side in sides:
            netem(pair, side, *how)
        time.sleep(rng.uniform(0.2, 0.8))
        seen = [netem_seen(pair, side) for side in sides]
        for side in sides:
            netem_off(pair, side)
        return Outcome(took=any(dropped if "loss" in how else passed > 20
                                for passed, dropped in seen))
    return blow


for name, how in (("loss", ("loss", "5%")), ("reordering", ("delay", "8ms", "4ms", "reorder", "30%")),
                  ("delay", ("delay", "30ms", "20ms")), ("duplication", ("duplicate", "20%")),
                  ("corruption", ("corrupt", "5%")),
                  ("all_weather", ("loss", "2%", "delay", "5ms", "5ms", "reorder", "20%",
                                   "duplicate", "5%", "corrupt", "2%"))):
    blow = weather(*how)
    blow.__name__ = name
    fault(weight=18)(blow)


@fault(weight=20)
def mtu(ctl, pair, rng):
    pair.mtu = rng.choice([m for m in (600, 1000, 1280, 1500, 4000, 9000) if m != pair.mtu])
    for side in rng.sample((0, 1), 2):
        ip(pair, side, "link", "set", pair.dev(side), "mtu", pair.mtu)
    return Outcome()


@fault(weight=24, under=True, quiet=True)
def reset(ctl, pair, rng):
    """A RST from a third party"""
    s, i = pick_conn(rng, pair)
    port = s.server.journal.conn(i).port
    side = rng.randrange(2)
    before = s.client.journal.conn(i).ended, s.server.journal.conn(i).ended
    shooter = subprocess.Popen(
        [BIN + "/rst", pair.dev(side), str(s.port), str(port)],
        preexec_fn=lambda: enter(pair.ns(side)), stdin=subprocess.DEVNULL)
    ended = within(15, lambda: s.client.journal.conn(i).ended > before[0] and
                   s.server.journal.conn(i).ended > before[1])
    shooter.kill()
    shooter.wait()
    if not ended:
        raise Trouble("%s %d: still there after a RST" % (s.name, i))
    return Outcome(must=[(s, i)])


def retries(pair, number):
    """How soon TCP gives up"""
    for side in 0, 1:
        pid = in_child(pair.ns(side), lambda: write("/proc/sys/net/ipv4/tcp_retries2", number))
        if os.waitpid(pid, 0)[1]:
            raise Trouble("tcp_retries2")


@fault(weight=8)
def vanish(ctl, pair, rng):
    """The peer vanishes without FIN or RST: TCP has to detect it. Either end may die
    meanwhile."""
    retries(pair, 3)
    dark = rng.randrange(2)
    victims = rng.sample(pair.sessions, rng.randrange(len(pair.sessions) + 1))
    # before the link is down: TCP may detect it while the victims are still being killed
    survivors = [(q, i, q.journal.conn(i).ended) for s in victims
                 for q in [s.client if s.side(dark) is s.server else s.server]
                 for i in range(CONNS)]
    if rng.random() < 0.5:
        set_link(pair, dark, "down")
        undo = lambda: set_link(pair, dark, "up")
    else:
        for side in 0, 1:
            netem(pair, side, "loss", "100%")
        undo = lambda: [netem_off(pair, side) for side in (0, 1)]
    for s in victims:
        s.side(dark).kill()
    # the survivors get no notification
    ended = within(30, lambda: all(q.journal.conn(i).ended > n for q, i, n in survivors))
    if not victims:
        time.sleep(rng.uniform(0.5, 4))
    undo()
    retries(pair, 15)
    if not ended:
        raise Trouble("connections with a peer that vanished do not end: " + ", ".join(
            "%s %d" % (q.name, i) for q, i, n in survivors
            if q.journal.conn(i).ended == n))
    return Outcome(may=pair.conns(), must=[c for s in victims for c in s.conns()])


# --- devices ---------------------------------------------------------------------

def all_gone(pair, sides):
    """Programs with an open device get an event that it is gone, and end."""
    processes = [s.side(side) for s in pair.sessions for side in sides]
    if not within(10, lambda: not any(p.running() for p in processes)):
        raise Trouble("not told that the device is gone: " + ", ".join(
            p.name for p in processes if p.running()))
    return processes


@fault(weight=12, under=True)
def link_delete(ctl, pair, rng):
    side = rng.randrange(2)
    run("rdma", "link", "delete", pair.rdma(side))
    return Outcome(must=pair.conns(), gone=all_gone(pair, [side]), rebuild=True)


@fault(weight=8)
def netdev_delete(ctl, pair, rng):
    ip(pair, 0, "link", "del", pair.dev(0))
    if not within(15, lambda: not pair.has_rdma(0) and not pair.has_rdma(1)):
        raise Trouble("devices without an interface")
    return Outcome(must=pair.conns(), gone=all_gone(pair, [0, 1]), rebuild=True)


@fault(weight=8)
def netns_delete(ctl, pair, rng):
    side = rng.randrange(2)
    run("ip", "netns", "del", pair.ns(side))
    pair.paired[side].stop()	# the device goes with its last process
    for s in pair.sessions:
        s.side(side).kill()
    if not within(20, lambda: not pair.has_rdma(side)):
        raise Trouble("a device whose netns was deleted")
    # the other end of the veth is gone as well
    if not within(15, lambda: not pair.has_rdma(1 - side)):
        raise Trouble("a device without an interface")
    return Outcome(must=pair.conns(), gone=all_gone(pair, [1 - side]), rebuild=True)


@fault(weight=5)
def rmmod(ctl, pair, rng):
    """In use: the devices are removed below their users, and the module with them"""
    run("rmmod", "srnic", seconds=30)
    if os.path.exists("/sys/module/srnic"):
        raise Trouble("the module is still there")
    gone = [p for q in ctl.pairs for p in all_gone(q, [0, 1])]
    run("modprobe", "srnic")
    return Outcome(must=[c for q in ctl.pairs for c in q.conns()], gone=gone, rebuild=True)


# --- queues and memory, by order ---------------------------------------------------

def order(process, command, arg):
    """True if it was obeyed; a connection that is about to end cannot obey."""
    err = process.journal.order(command, arg, 10 * run.slow)
    if err is None and process.running():
        raise Trouble("%s does not obey" % process.name)
    if err not in (0, 11):
        raise Trouble("%s: %s: %s" % (process.name, command, os.strerror(err or 5)))
    return err == 0


def by_order(command, odd=None, process=None):
    def give(ctl, pair, rng):
        s, i = pick_conn(rng, pair)
        if odd is not None:
            i = i & ~1 | odd
        p = rng.choice(s.processes) if process is None else getattr(s, process)
        before = p.journal.conn(i)
        if not order(p, command, i):
            return Outcome(may=[(s, i)], took=False)
        if not within(20, lambda: p.journal.conn(i).ended > before.ended):
            raise Trouble("%s %d: did not end by %s" % (p.name, i, command))
        return Outcome(must=[(s, i)])
    return give


for name, args in (("disconnect", ("disconnect",)), ("modify_to_error", ("error",)),
                   ("destroy_qp", ("destroy", None, "client")), ("dereg_in_flight", ("dereg", 0)),
                   ("rereg_in_flight", ("rereg", 0)), ("invalidate_in_flight", ("invalidate", 1))):
    give = by_order(*args)
    give.__name__ = name
    fault(weight=20, under=True, quiet=True)(give)


@fault(weight=14, quiet=True)
def cq_overflow(ctl, pair, rng):
    s, i = pick_conn(rng, pair)
    p = s.client
    before = p.journal.conn(i)
    if not order(p, "overflow", i):
        return Outcome(may=[(s, i)], took=False)
    if not within(30, lambda: p.journal.conn(i).ended >= before.ended + 2):
        raise Trouble("%s %d: no end by an overflow" % (p.name, i))
    return Outcome(must=[(s, i)])


@fault(weight=14, quiet=True)
def srq_starvation(ctl, pair, rng):
    s = rng.choice(pair.sessions)
    before = [s.server.journal.conn(i).ended for i in range(CONNS)]
    if not order(s.server, "starve", 0):
        return Outcome(took=False)
    dry = within(20, lambda: any(s.server.journal.conn(i).ended > before[i] for i in (2, 3)))
    order(s.server, "feed", 0)
    if not dry:
        raise Trouble("%s: nothing ended without a receive" % s.name)
    return Outcome(may=[(s, 2), (s, 3)])


# --- resources of the kernel -------------------------------------------------------

@fault(weight=8)
def memory_pressure(ctl, pair, rng):
    """Nearly all memory is in use for a moment; caches have to be dropped"""
    with open("/proc/meminfo") as f:
        info = dict((l.split()[0], int(l.split()[1])) for l in f)
    mib = max(0, info["MemAvailable:"] // 1024 - 80)
    os.makedirs("/run/hog", exist_ok=True)
    run("mount", "-t", "tmpfs", "-o", "size=100%", "hog", "/run/hog")
    run("dd", "if=/dev/zero", "of=/run/hog/hog", "bs=1M", "count=%d" % mib)
    time.sleep(0.2)
    run("umount", "/run/hog")
    return Outcome()


@fault(weight=8)
def tcp_memory(ctl, pair, rng):
    """TCP is made to believe that it uses too much memory"""
    path = "/proc/sys/net/ipv4/tcp_mem"
    with open(path) as f:
        old = f.read()
    write(path, "1 2 4")
    time.sleep(rng.uniform(0.1, 0.5))
    write(path, old)
    return Outcome()


def inject(what, probability, times, tasks, seconds):
    """At most so many allocations fail; whether one did. It takes as long as given, or longer if
    none came."""
    base = DEBUG + what + "/"
    write(base + "verbose", 0)
    write(base + "interval", 1)
    write(base + "ignore-gfp-wait", 0)
    if what == "fail_page_alloc":
        write(base + "ignore-gfp-highmem", 0)
        write(base + "min-order", 0)
    write(base + "task-filter", 1 if tasks else 0)
    marked = []
    for t in tasks or ():
        try:
            write("/proc/%d/make-it-fail" % t, 1)
            marked.append(t)
        except Trouble:
            pass	# a kthread that has just ended
    # vmalloc() without memory logs words that are trouble elsewhere: keep them off the console,
    # which scripts/guest judges
    with open("/proc/sys/kernel/printk") as f:
        loglevel = f.read().split()[0]
    write("/proc/sys/kernel/printk", 1)
    write(base + "times", times)
    write(base + "probability", probability)
    time.sleep(seconds)		# and no allocation of ours
    failed = within(5, lambda: left(base) < times)
    write(base + "probability", 0)
    write("/proc/sys/kernel/printk", loglevel)
    for t in marked:
        try:
            with open("/proc/%d/make-it-fail" % t, "w") as f:
                f.write("0")
        except OSError:
            pass
    return failed


def left(base):
    """How many more allocations may fail"""
    with open(base + "times") as f:
        return int(f.read())


def kthreads(names=None):
    found = []
    for pid in os.listdir("/proc"):
        if not pid.isdigit():
            continue
        try:
            with open("/proc/%s/comm" % pid) as f:
                comm = f.read().strip()
        except OSError:
            continue
        if comm.startswith(("srnic-tx/", "srnic-rx/")) and (names is None or comm in names):
            found.append((int(pid), comm))
    return found


def failing_program(what):
    def fail(ctl, pair, rng):
        """Of a program, which meanwhile has to make a connection anew"""
        s, i = pick_conn(rng, pair)
        p = rng.choice(s.processes)
        s.client.journal.send(rng.choice(["disconnect", "error"]), i)
        took = inject(what, rng.choice([2, 10, 40]), rng.choice([1, 10, 100]), [p.pid],
                      rng.uniform(0.2, 0.6))
        return Outcome(may=s.conns(), took=took)
    return fail


def failing_kthreads(what):
    def fail(ctl, pair, rng):
        """Of the kthreads of one end's connections"""
        s = rng.choice(pair.sessions)
        p = rng.choice(s.processes)
        names = set()
        for c in p.journal.conns():
            names |= {"srnic-tx/%d" % c.qpn, "srnic-rx/%d" % c.qpn}
        # of another device's QPs with these numbers, too
        may = [(s2, i) for q in ctl.pairs for s2 in q.sessions for p2 in s2.processes
               for i, c in enumerate(p2.journal.conns())
               if "srnic-tx/%d" % c.qpn in names]
        tasks = [pid for pid, comm in kthreads(names)]
        took = bool(tasks) and inject(what, rng.choice([2, 10, 40]), rng.choice([1, 10, 100]),
                                      tasks, rng.uniform(0.1, 0.4))
        return Outcome(may=may, took=took)
    return fail


def failing_all(what):
    def fail(ctl, pair, rng):
        """Of all contexts, interrupts and workqueues included, while connections are made"""
        s, i = pick_conn(rng, pair)
        s.client.journal.send("error", i)
        took = inject(what, rng.choice([1, 5]), rng.choice([10, 100]), None,
                      rng.uniform(0.1, 0.3))
        return Outcome(may=[c for q in ctl.pairs for c in q.conns()], took=took)
    return fail


for what, short in (("failslab", "slab"), ("fail_page_alloc", "pages")):
    for maker, who in ((failing_program, "program"), (failing_kthreads, "kthreads"),
                       (failing_all, "all")):
        f = maker(what)
        f.__name__ = "no_%s_%s" % (short, who)
        fault(weight=12, needs=(DEBUG + what, "/proc/self/make-it-fail"))(f)


# --- misbehaving peers ---------------------------------------------------------

@fault(weight=12)
def half_open_storm(ctl, pair, rng):
    """Clients that stay half-open; honest clients must get through"""
    s, i = pick_conn(rng, pair)
    number, seconds = rng.choice([20, 70, 120]), rng.uniform(0.5, 1.5)
    pid = in_child(pair.ns(s.client_side), lambda: storm.blow(
        pair.addr(s.server_side), s.port, number, seconds))
    time.sleep(0.3 * run.slow)
    before = s.client.journal.conn(i)
    obeyed = order(s.client, "disconnect", i)
    through = within(20, lambda: s.client.journal.conn(i).begun > before.begun and
                     s.client.journal.conn(i).state == UP)
    os.waitpid(pid, 0)
    if obeyed and not through:
        raise Trouble("%s %d: nobody gets in during a storm" % (s.name, i))
    return Outcome(may=[(s, i)], took=obeyed)
