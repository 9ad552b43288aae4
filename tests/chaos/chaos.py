# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""
chaos.py: traffic between pairs of hosts, and one fault after the other. Runs as
root in a guest (scripts/chaos); prints TAP and a table.

After each fault: each connection that had to end has ended, with every WR completed once and in
order (the programs check that, traffic.c); each other connection is the same as before; all
connections are up again and move data; no task hangs; the kernel reported no trouble. At the end:
nothing is left.
"""

import argparse
import collections
import os
import random
import re
import signal
import subprocess
import sys
import time

import faults
import hosts
import journal
from hosts import RUN, SCRIPTS, Trouble, run, within
from journal import CONNS
from memory import Memory
from tap import Tap

COLUMNS = ("connections", "completed", "flushed", "failed", "gone", "refused", "tried")


class Controller:
    def __init__(self, opt):
        self.opt = opt
        self.rng = random.Random(opt.seed)
        self.pairs = [hosts.Pair(i, max(1, opt.sessions - i), opt.seed, opt.rate, opt.size)
                      for i in range(opt.pairs)]
        self.processes = [p for q in self.pairs for p in q.processes()]
        self.paired = [p for q in self.pairs for p in q.paired]
        self.carried = collections.Counter()	# of processes that are gone
        self.rows = collections.defaultdict(collections.Counter)
        self.troubles = []
        self.blocked = {}		# task in D state -> since when
        self.lives = collections.Counter()
        self.kmsg = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
        os.lseek(self.kmsg, 0, os.SEEK_END)
        self.tap = Tap()

    # --- counting ---------------------------------------------------------------

    @staticmethod
    def counts_of(process):
        n = collections.Counter()
        if not process.journal:
            return n
        for c in process.journal.conns() + [process.journal.srq()]:
            n["posted"] += c.posted()
            n["completed"] += c.completed()
            n["flushed"] += c.flushed()
            n["failed"] += c.failed()
            n["gone"] += c.purged
            n["ops"] += c.ops
            n["bytes"] += c.bytes
            n["open"] += c.open()
            for name in "tried", "refused", "rejected", "forced":
                n[name] += getattr(c, name)
            if process is process.session.client:
                n["connections"] += c.begun
        return n

    def carry(self, process):
        """Its counts are final: open WRs went with the process"""
        n = self.counts_of(process)
        n["gone"] += n.pop("open", 0)
        if process.journal.step:
            n["torn"] += 1
        self.carried += n
        self.lives[process.name] += 1

    def bury(self, process):
        self.carry(process)
        if not process.journal.step:
            self.check_balance(process)

    @staticmethod
    def check_balance(process):
        """Of a process that has ended: the WRs it posted are those it polled and those still
        open"""
        names = ["connection %d" % i for i in range(CONNS)] + ["SRQ"]
        for name, c in zip(names, process.journal.conns() + [process.journal.srq()]):
            if c.lost():
                raise Trouble("%s, %s: %d WRs posted, %d completed, %d flushed, %d failed, "
                              "%d purged, %d open" % (process.name, name, c.posted(), c.completed(),
                                                      c.flushed(), c.failed(), c.purged, c.open()))
            if name != "SRQ" and not c.newest_are_open():
                raise Trouble("%s, %s: SQ %#x is open before %d, RQ %#x before %d" % (
                    process.name, name, c.sq_open, c.sq_next, c.rq_open, c.rq_next))

    def totals(self):
        n = self.carried.copy()
        for p in self.processes:
            if p.child:
                n += self.counts_of(p)
        return n

    # --- life of the programs ----------------------------------------------------

    def revive(self, gone=()):
        """Start the processes that do not run; complain about those that should."""
        for p in self.paired:
            p.revive()
        for p in self.processes:
            if p.child is None:
                p.start()
                continue
            status = p.child.poll()
            if status is None:
                continue
            if p.journal.phase == journal.FAILED:
                raise Trouble("%s: %s" % (p.name, p.journal.failure))
            if not (status == 4 or status == -9 and p.killed or status == 3 and p in gone):
                raise Trouble("%s ended with status %d" % (p.name, status))
            self.bury(p)
            p.start()

    def identity(self, conn):
        s, i = conn
        return tuple((self.lives[p.name], p.journal.conn(i).begun) for p in s.processes)

    def all_conns(self):
        return [c for q in self.pairs for c in q.conns()]

    def settle(self, seconds, gone=()):
        """All connections are up and data moves over them, both ways, from now on."""
        def marks():
            return {(p.name, i): (self.lives[p.name], p.journal.conn(i).begun, p.journal.conn(i).ops)
                    for p in self.processes for i in range(CONNS)}
        self.revive(gone)
        base = marks()
        goals = {p: p.verified() + 3 for p in self.paired}
        left, behind = [], []

        def moved():
            self.revive(gone)
            behind[:] = [p.name for p, goal in goals.items() if p.verified() < goal]
            del left[:]
            for p in self.processes:
                for i in range(CONNS):
                    c = p.journal.conn(i)
                    life, begun, ops = base[p.name, i]
                    if c.state != journal.UP or c.ops < ops + 3:
                        left.append((p, i))
                    if self.lives[p.name] != life or c.begun != begun:
                        base[p.name, i] = (self.lives[p.name], c.begun, c.ops if
                                           self.lives[p.name] == life else 0)
            return not left and not behind
        if not within(seconds, moved):
            raise Trouble("no progress: " + ", ".join(
                ["%s %d (state %d)" % (p.name, i, p.journal.conn(i).state) for p, i in left] +
                behind))

    # --- the kernel ---------------------------------------------------------------

    def mark(self, text):
        try:
            with open("/dev/kmsg", "w") as f:
                f.write("chaos: " + text)
        except OSError:
            pass

    def kernel_log(self, injected=False):
        lines = []
        while True:
            try:
                record = os.read(self.kmsg, 8192).decode(errors="replace")
            except BlockingIOError:
                break
            except OSError:	# overwritten meanwhile
                continue
            text = record.split(";", 1)[-1].split("\n")[0]
            if not text.startswith("chaos: "):
                lines.append(text)
        if any("vmalloc error: " in line or "page allocation failure" in line for line in lines):
            if not injected:
                raise Trouble("no memory, which nobody took")
            # this line and its backtrace; any other trouble has a headline of its own
            lines = [line for line in lines if not re.search(
                "vmalloc error: |page allocation failure|Call Trace:|RIP: 0033|Modules linked in",
                line)]
        if not lines:
            return
        r = subprocess.run([SCRIPTS + "kernel-trouble"],
                           input="\n".join(lines) + "\n", stdout=subprocess.PIPE, text=True)
        if r.returncode == 1:
            raise Trouble("the kernel complains: " + " | ".join(r.stdout.split("\n")[:5]))

    def tasks(self):
        """No task is in uninterruptible sleep for long"""
        blocked = {}
        for pid in os.listdir("/proc"):
            if pid.isdigit():
                try:
                    with open("/proc/%s/stat" % pid) as f:
                        stat = f.read()
                except OSError:
                    continue
                name, rest = stat.split("(", 1)[1].rsplit(")", 1)
                if rest.split()[0] == "D":
                    blocked[pid, name] = self.blocked.get((pid, name), time.monotonic())
        self.blocked = blocked
        for (pid, name), since in blocked.items():
            if time.monotonic() - since > 15 * run.slow:
                try:
                    with open("/proc/%s/stack" % pid) as f:
                        stack = f.read()
                except OSError:
                    stack = ""
                raise Trouble("%s (%s) hangs: %s" % (name, pid, stack.replace("\n", " ")))

    def kthreads_belong_to(self, qps):
        """A QP has two kthreads, or none before it needs them"""
        def right():
            names = [comm for _, comm in faults.kthreads()]
            tx = sorted(n[9:] for n in names if n.startswith("srnic-tx/"))
            rx = sorted(n[9:] for n in names if n.startswith("srnic-rx/"))
            return tx == rx and len(tx) <= qps
        if not within(15, right, 0.1):
            raise Trouble("kthreads of %d QPs: %s" % (qps, " ".join(
                          c for _, c in faults.kthreads())))

    # --- faults -------------------------------------------------------------------

    def may_miss(self, on):
        for p in self.processes:
            p.journal.may_miss(on)

    def one(self, number, kind):
        pair = self.rng.choice(self.pairs)
        under = kind.under and self.rng.random() < 0.3
        quiet = kind.quiet and not under
        before = {c: self.identity(c) for c in self.all_conns()}
        count = self.totals()
        self.mark("%d: %s of pair %d%s" % (number, kind.name, pair.index,
                                           ", packets get lost" if under else ""))
        if under:
            faults.netem(pair, 0, "loss", "2%", "delay", "3ms", "2ms")
        no_memory = kind.name.startswith("no-")
        self.may_miss(no_memory)
        outcome = kind.function(self, pair, self.rng)
        if outcome.rebuild:
            for q in self.pairs:
                q.build()
        elif under:
            faults.netem_off(pair, 0)
        self.settle(45, outcome.gone)
        self.may_miss(False)
        for c, old in before.items():
            new = self.identity(c)
            name = "%s connection %d" % (c[0].name, c[1])
            if c not in outcome.may and new != old:
                raise Trouble("%s ended, of which it was no business: %s to %s" % (name, old, new))
            if c in outcome.must and any(x == y for x, y in zip(new, old)):
                raise Trouble("%s goes on: %s to %s" % (name, old, new))
        self.tasks()
        self.kernel_log(injected=no_memory)
        if number % 10 == 0:
            self.kthreads_belong_to(2 * len(self.all_conns()) + len(self.paired))
        now = self.totals()
        if quiet:
            self.all_connected(now - count)
        row = self.rows[kind.name]
        row["times" if outcome.took else "missed"] += 1
        row["under"] += under and outcome.took
        for name in COLUMNS:
            row[name] += now[name] - count[name]
        return outcome.took

    @staticmethod
    def all_connected(n):
        """Without a fault in the way, connecting fails only if the peer's program refuses"""
        if n["tried"] or n["refused"] > n["rejected"]:
            raise Trouble("%d attempts to connect failed, and %d were refused, %d of them by a "
                          "program" % (n["tried"], n["refused"], n["rejected"]))

    def deck(self, kinds):
        """Each kind at least once, else by weight; in random order"""
        n = max(self.opt.faults, len(kinds))
        total = sum(k.weight for k in kinds)
        more = [k for k in kinds for _ in range(max(0, round(k.weight * n / total) - 1))]
        while len(more) < n - len(kinds):
            more.append(self.rng.choices(kinds, [k.weight for k in kinds])[0])
        self.rng.shuffle(more)
        cards = kinds + more[:n - len(kinds)]
        self.rng.shuffle(cards)
        return cards

    def start_all(self):
        for q in self.pairs:
            q.build()
        self.settle(60)

    def end_all(self):
        """In good order: clients first"""
        for p in self.paired:
            p.stop()
        for role in "client", "server":
            ps = [getattr(s, role) for q in self.pairs for s in q.sessions]
            for p in ps:
                if p.running():
                    p.journal.send("quit")
            if not within(30, lambda: not any(p.running() for p in ps)):
                raise Trouble("do not end when told to: " + ", ".join(
                    p.name for p in ps if p.running()))
            for p in ps:
                if p.child.returncode:
                    raise Trouble("%s ended with status %d: %s" % (
                        p.name, p.child.returncode, p.journal.failure))
                for i, c in enumerate(p.journal.conns()):
                    if c.open():
                        raise Trouble("%s %d: %d WRs never completed" % (p.name, i, c.open()))
        for p in self.processes:
            self.bury(p)
            p.child = None

    def reset_all(self):
        """After a trouble: everything from the start"""
        faults_off()
        for p in self.paired:
            p.stop()
        for p in self.processes:
            if p.running():
                p.kill()
            if p.child:
                self.carry(p)
                p.child = None
        if not os.path.exists("/sys/module/srnic"):
            run("modprobe", "srnic")
        for q in self.pairs:
            q.demolish()
        self.start_all()

    # --- results ------------------------------------------------------------------

    def explain(self):
        for p in self.processes:
            print("#     %s pid %s: %s" % (
                p.name, p.child.pid if p.child else "-", " ".join(
                    "%d/%d+%d" % (c.state, c.begun, c.open())
                    for c in p.journal.conns()) if p.journal else ""))
        for command in (("rdma", "resource"), ("ps", "-eo", "pid,stat,args")):
            for line in run(*command, check=False).split("\n"):
                if command[0] == "rdma" or "traffic" in line:
                    print("#    ", line)
        sys.stdout.flush()


def faults_off():
    for what in "failslab", "fail_page_alloc":
        if os.path.exists(faults.DEBUG + what):
            faults.write(faults.DEBUG + what + "/probability", 0)


def vmstat(name):
    with open("/proc/vmstat") as f:
        for line in f:
            if line.startswith(name + " "):
                return int(line.split()[1])
    return 0


def no_resources():
    def empty():
        out = run("rdma", "resource", "show")
        return all(" %s 0" % what in line for line in out.split("\n") if line
                   for what in ("qp", "cm_id", "mr", "pd", "cq"))
    if not within(15, empty):
        raise Trouble(run("rdma", "resource", "show"))


def no_pins():
    if not within(5, lambda: vmstat("nr_foll_pin_acquired") == vmstat("nr_foll_pin_released")):
        raise Trouble("%d pages pinned, %d released" % (
            vmstat("nr_foll_pin_acquired"), vmstat("nr_foll_pin_released")))
    return "%d pages were" % vmstat("nr_foll_pin_acquired")


STATES = faults.TRACING + "events/sock/inet_sock_set_state/"


def watch_sockets():
    """Record the states of each socket, for open_sockets()"""
    if os.path.exists(STATES):
        faults.write(faults.TRACING + "buffer_size_kb", 4096)
        faults.write(STATES + "filter", "protocol == 6")	# TCP
        faults.write(STATES + "enable", 1)


def open_sockets():
    """Ends and states of the sockets that are not closed; their netns may have lost its name"""
    states = {}
    with open(faults.TRACING + "trace") as f:
        for line in f:
            m = re.search(r" sport=(\d+) dport=(\d+) saddr=(\S+) daddr=(\S+) .*newstate=(\S+)", line)
            if m:
                who, _, _, when = line.split()[:4]
                states[m.group(3, 1, 4, 2)] = "%s by %s at %s" % (m.group(5), who, when.rstrip(":"))
    return ["%s:%s-%s:%s %s" % (k + (s,)) for k, s in states.items()
            if not s.startswith("TCP_CLOSE ")]


def no_sockets():
    def used():
        with open("/proc/net/sockstat") as f:
            for line in f:
                if line.startswith("TCP:"):
                    n = dict(zip(line.split()[1::2], map(int, line.split()[2::2])))
                    return n["orphan"] + n["alloc"]
        return 0
    if not within(30, lambda: used() == 0, 0.2):
        raise Trouble("%d sockets are left: %s" % (used(), ", ".join(open_sockets())))


def unload():
    run("rmmod", "srnic")
    if os.path.exists("/sys/module/srnic"):
        raise Trouble("it is still there")


def leaks():
    r = subprocess.run([SCRIPTS + "memory-leaks"], stdout=subprocess.PIPE, text=True)
    if r.returncode:
        raise Trouble("memory is lost:\n" + "\n".join("#     " + line for line in
                      r.stdout.split("\n")[:80]))


def options():
    p = argparse.ArgumentParser(description="Faults under traffic; see scripts/chaos")
    p.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "big"))
    p.add_argument("--faults", type=int, default=500)
    p.add_argument("--duration", type=float, default=0)
    p.add_argument("--limit", type=float, default=0, help="no fault after so many seconds")
    p.add_argument("--only", default="")
    p.add_argument("--pairs", type=int, default=2)
    p.add_argument("--sessions", type=int, default=2)
    p.add_argument("--rate", type=float, default=12)
    p.add_argument("--size", type=int, default=8000)
    p.add_argument("--slow", type=int, default=1)
    p.add_argument("--verbose", action="store_true")
    return p.parse_args()


def main():
    born = time.monotonic()
    opt = options()
    # too harmful for a machine in use
    if not os.path.exists("/run/srnic/job"):
        sys.exit("this is for a guest only: scripts/chaos")
    run.slow = opt.slow
    os.makedirs(RUN, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *a: sys.exit(143))
    print("# seed %d" % opt.seed, flush=True)
    ctl = Controller(opt)
    kinds, missing = [], []
    for k in faults.KINDS.values():
        if opt.only and k.name not in opt.only.split(","):
            continue
        (missing if k.missing() else kinds).append(k)
    if not kinds:
        sys.exit("no such fault; there are: " + " ".join(faults.KINDS))

    watch_sockets()
    # once up and down: then objects are made that stay for good
    ctl.start_all()
    ctl.end_all()
    for q in ctl.pairs:
        q.demolish()
    memory = Memory()

    ctl.start_all()
    begin = time.monotonic()
    number, cards = 0, []
    while len(ctl.troubles) < 5:
        if not cards:
            if number and (not opt.duration or time.monotonic() - begin > opt.duration):
                break
            cards = ctl.deck(kinds)
        if opt.duration and time.monotonic() - begin > opt.duration:
            break
        if opt.limit and time.monotonic() - born > opt.limit:
            break
        kind = cards.pop()
        number += 1
        start = time.monotonic()
        try:
            if not ctl.one(number, kind):
                # the kind comes again later
                cards.insert(ctl.rng.randrange(len(cards) + 1), kind)
                if ctl.rows[kind.name]["missed"] > 20 + 5 * ctl.rows[kind.name]["times"]:
                    raise Trouble("has no effect again and again")
        except Trouble as e:
            ctl.troubles.append((number, kind.name))
            ctl.rows[kind.name]["times"] += 1
            ctl.rows[kind.name]["wrong"] += 1
            print("# TROUBLE at fault %d, %s: %s" % (number, kind.name, e), flush=True)
            ctl.mark("trouble: %s" % e)
            ctl.explain()
            try:
                ctl.reset_all()
            except Trouble as e2:
                print("# and no way on: %s" % e2, flush=True)
                break
        if opt.verbose:
            print("# %4d %-22s %5.2f s" % (number, kind.name, time.monotonic() - start), flush=True)
        ctl.rows[kind.name]["ms"] += int((time.monotonic() - start) * 1000)
    took = time.monotonic() - begin

    for k in kinds:
        row = ctl.rows[k.name]
        if row["wrong"]:
            ctl.tap.result(False, k.name, "%d of %d went wrong" % (row["wrong"], row["times"]))
        elif row["times"]:
            ctl.tap.test(k.name, lambda: "%d times" % row["times"])
        elif opt.duration:
            ctl.tap.skip(k.name, "its turn did not come")
        else:
            ctl.tap.result(False, k.name, "never took effect, in %d attempts" % row["missed"])
    for k in missing:
        ctl.tap.skip(k.name, "this kernel has no " + k.missing())

    def enough():
        took = sum(row["times"] for row in ctl.rows.values())
        if not opt.duration and cards:
            raise Trouble("%d, and no time for %d more" % (took, len(cards)))
        return "%d" % took
    ctl.tap.test("all faults were injected", enough)
    faults_off()
    ctl.tap.test("the programs end in good order", ctl.end_all)
    ctl.tap.test("kthreads are gone with their QPs", lambda: ctl.kthreads_belong_to(0))
    ctl.tap.test("no task hangs", ctl.tasks)
    ctl.tap.test("rdma resource shows nothing", no_resources)
    ctl.tap.test("no page is pinned", no_pins)
    for q in ctl.pairs:
        q.demolish()
    ctl.tap.test("no socket is left", no_sockets)

    ctl.tap.test("kernel memory is back", lambda: memory.back(1024 + number))
    if os.path.exists("/sys/kernel/debug/kmemleak"):
        ctl.tap.test("kmemleak finds nothing", leaks)
    ctl.tap.test("the module unloads", unload)
    if os.path.exists("/sys/kernel/debug/kmemleak"):
        ctl.tap.test("kmemleak finds nothing after that", leaks)

    def balance():
        n = ctl.totals()
        off = n["posted"] - n["completed"] - n["flushed"] - n["failed"] - n["gone"]
        # a program killed between a count and its record: one WR, or all of a QP
        if abs(off) > 48 * n["torn"]:
            raise Trouble(str(n))
        return "%d posted, %d completed + %d flushed + %d failed + %d gone with their owner%s" % (
            n["posted"], n["completed"], n["flushed"], n["failed"], n["gone"],
            "; %d were killed while they counted" % n["torn"] if n["torn"] else "")
    ctl.tap.test("every WR is accounted for", balance)
    ctl.tap.test("the kernel log is clean", ctl.kernel_log)
    form = "# %-22s %6s %6s %6s %12s %10s %8s %7s %8s %8s %6s %8s"
    print(form % (("fault", "times", "missed", "lossy") + COLUMNS + ("s each",)))
    total = collections.Counter()
    for name in sorted(ctl.rows, key=list(faults.KINDS).index):
        row = ctl.rows[name]
        total += row
        print(form % ((name, row["times"], row["missed"], row["under"]) +
                      tuple(row[c] for c in COLUMNS) +
                      ("%.2f" % (row["ms"] / 1000 / max(1, row["times"])),)))
    print(form % (("all", total["times"], total["missed"], total["under"]) +
                  tuple(total[c] for c in COLUMNS) +
                  ("%.2f" % (total["ms"] / 1000 / max(1, total["times"])),)))
    n = ctl.totals()
    print("# %d faults in %d s; %d operations and %d MiB verified, and %d messages without rdma_cm; "
          "%d ends that no event told of for want of memory; seed %d" % (
              total["times"], took, n["ops"], n["bytes"] >> 20,
              sum(p.verified() for p in ctl.paired), n["forced"], opt.seed))
    return ctl.tap.end()


sys.exit(main())
