# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Run jobs: as many at once as keep the CPUs of the workers busy, the longest first, each in a
session of its own that ends with it."""

import os
import re
import signal
import subprocess
import time

COUNTS = re.compile(r'^(\d+) passed, (\d+) failed, (\d+) skipped$', re.M)
# Share of a CPU by which running jobs may exceed the workers: no job works all the time
SPARE = 0.5
# Bytes of memory that a guest uses
GUEST = 1 << 30
# In the environment of all processes that a job starts
MARK = 'SRNIC_JOB'


class Stopped(Exception):
    """By a signal"""


def processes_of(mark, whole=True):
    """Processes that have this mark, or one of this tree, in their environment"""
    found = []
    mark = f'{MARK}={mark}'.encode() + (b'\0' if whole else b':')
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{pid}/environ', 'rb') as f:
                if b'\0' + mark in b'\0' + f.read() + b'\0' and int(pid) != os.getpid():
                    found.append(int(pid))
        except OSError:
            pass
    return found


def kill(pid, number, group=False):
    try:
        (os.killpg if group else os.kill)(pid, number)
    except (ProcessLookupError, PermissionError):
        pass


def sweep_tree(cwd):
    """End what a run of this tree left that was killed"""
    for pid in processes_of(str(cwd), whole=False):
        kill(pid, signal.SIGKILL)


class Running:
    """A job that runs, or has run."""

    def __init__(self, job, slot, cwd):
        self.job, self.slot = job, slot
        self.begin = time.monotonic()
        self.took = 0
        self.cpu = 0            # seconds, of all processes that it waited for
        self.counts = [0, 0, 0]
        self.why = ''           # why it failed, beside its tests
        self.status = None
        self.mark = f'{cwd}:{os.getpid()}:{job.name}'
        job.log.parent.mkdir(parents=True, exist_ok=True)
        env = dict(os.environ, **{MARK: self.mark})
        if job.counts:
            env['SRNIC_BUILT'] = '1'    # by the jobs that it needs
        with open(job.log, 'wb') as out:
            self.process = subprocess.Popen(job.command, cwd=cwd, env=env, stdin=subprocess.DEVNULL,
                                            stdout=out, stderr=subprocess.STDOUT,
                                            start_new_session=True)

    @property
    def passed(self):
        return self.status == 0 and not self.why and not self.counts[1]

    def poll(self):
        """As Popen.wait(), but keeps the CPU time, which that one drops"""
        if self.process.returncode is None:
            pid, status, usage = os.wait4(self.process.pid, os.WNOHANG)
            if pid:
                self.process.returncode = os.waitstatus_to_exitcode(status)
                self.cpu = usage.ru_utime + usage.ru_stime
        return self.process.returncode

    def ended(self):
        """Has it ended, or must it?"""
        self.took = time.monotonic() - self.begin
        self.status = self.poll()
        if self.status is None and self.took > self.job.limit:
            self.stop()
            self.why = f'not done after {self.job.limit} s'
        return self.status is not None

    def ask(self):
        kill(self.process.pid, signal.SIGTERM, group=True)
        for pid in processes_of(self.mark):
            kill(pid, signal.SIGTERM)

    def stop(self, wait=False):
        """End it with all that it started: first in a way that lets each clean up. Or wait for its
        own end as long as it may take."""
        if not wait:
            self.ask()
        deadline = time.monotonic() + (self.job.limit if wait else 10)
        while (self.poll() is None or processes_of(self.mark)) and \
                time.monotonic() < deadline:
            time.sleep(0.1)
        kill(self.process.pid, signal.SIGKILL, group=True)
        self.status = self.process.wait()
        self.sweep()

    def sweep(self):
        """None of its processes may be left"""
        for pid in processes_of(self.mark):
            kill(pid, signal.SIGKILL)

    def judge(self):
        """Its counts, and whether these are plausible"""
        self.sweep()
        if self.job.counts:
            found = COUNTS.findall(self.job.log.read_text(encoding='utf-8', errors='replace'))
            if found:
                self.counts = [int(n) for n in found[-1]]
            elif not self.why:
                self.why = f'said not how many tests passed (status {self.status})'
            if not self.why and self.status == 0 and not self.counts[0]:
                self.why = 'no test passed'
        if not self.why and self.status and not self.counts[1]:
            self.why = f'ended with status {self.status}'
        if self.why:
            self.counts[1] += 1


class NotRun:
    """A job that needs a failed one: it has failed."""

    def __init__(self, job, need):
        self.job, self.took, self.cpu, self.status, self.slot = job, 0, 0, None, None
        self.passed = False
        self.counts = [0, 1 if job.counts else 0, 0]
        self.why = f'did not run: {need} failed'


def guests_at_once():
    """For how many guests there is memory: theirs is a file in /dev/shm"""
    with open('/proc/meminfo', encoding='ascii') as f:
        free = int(re.search(r'^MemAvailable: *(\d+)', f.read(), re.M)[1]) << 10
    shm = os.statvfs('/dev/shm')
    return max(1, min(free, shm.f_bavail * shm.f_frsize) // GUEST)


class Queue:
    """watch has begins(running), ends(running), tick(running list, jobs left), say(text), which
    are called."""

    def __init__(self, jobs, workers, watch, cwd='.', tick=0.2, guests=None):
        self.guests = guests or guests_at_once()
        self.waiting = list(jobs)       # by rank
        self.workers, self.watch, self.cwd, self.tick = workers, watch, cwd, tick
        self.running, self.done = [], {}
        self.total = len(self.waiting)

    def ready(self, job):
        if job.last or job.alone:
            others = [j for j in self.waiting if j is not job and not (j.last or j.alone)]
            busy = [r for r in self.running if job.alone or not r.job.alone]
            if others or busy or any(j.last for j in self.waiting if j is not job and job.alone):
                return False
        return all(need in self.done and self.done[need].passed for need in job.needs)

    def fits(self, job):
        """Is a CPU of a worker free enough? Jobs that mostly wait share one."""
        if any(r.job.alone for r in self.running):
            return False
        if job.kernel and sum(bool(r.job.kernel) for r in self.running) >= self.guests:
            return False
        return not self.running or \
            sum(r.job.load for r in self.running) + job.load <= self.workers + SPARE * (self.workers > 1)

    def unmet(self, job):
        return next((n for n in job.needs if n in self.done and not self.done[n].passed), None)

    def end(self, what):
        self.done[what.job.name] = what
        self.watch.ends(what)

    def give_up(self):
        """The jobs that needed one that failed, and so on"""
        while True:
            job = next((j for j in self.waiting if self.unmet(j)), None)
            if not job:
                return
            self.waiting.remove(job)
            self.end(NotRun(job, self.unmet(job)))

    def begin_some(self):
        self.give_up()
        while True:
            job = next((j for j in self.waiting if self.ready(j)), None)
            if not job:
                if self.waiting and not self.running:
                    raise ValueError(f'{self.waiting[0].name} waits for what never comes')
                break
            # A shorter job that would fit does not overtake: it would keep the room taken.
            if not self.fits(job):
                break
            self.waiting.remove(job)
            slot = min(set(range(len(self.running) + 1)) - {r.slot for r in self.running})
            self.running.append(Running(job, slot, self.cwd))
            self.watch.begins(self.running[-1])

    def run(self):
        """Run all of them; the result of each, by name"""
        number = 0

        # Not raised in the handler: a job may just have been started, and be in no list.
        def stopped(what, _):
            nonlocal number
            number = what
        signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        before = [signal.signal(s, stopped) for s in signals]
        try:
            while self.waiting or self.running:
                if number:
                    raise Stopped(number)
                self.begin_some()
                for r in [r for r in self.running if r.ended()]:
                    self.running.remove(r)
                    r.judge()
                    self.end(r)
                self.watch.tick(self.running, self.waiting)
                time.sleep(self.tick if self.running else 0)
        finally:
            for s in signals:
                signal.signal(s, signal.SIG_IGN)
            for r in self.running:
                if r.job.whole:
                    self.watch.say(f'waiting for {r.job.name}')
                else:
                    r.ask()
            for r in self.running:
                r.stop(wait=r.job.whole)
            for s, handler in zip(signals, before):
                signal.signal(s, handler)
        return self.done
