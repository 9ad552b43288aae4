# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""What a person sees of a run: the jobs that run, each failure at once, the time spent."""

import re
import shutil
import sys
import time

BEAT = 60       # seconds between two lines, where no line can be redrawn
REMARKS = 40    # lines at most of a test's remarks on its failure
FILE = re.compile(r'^# --- ([\w-]+)$')
SUITE = re.compile(r'^([\w-]+):$')
FAILED = re.compile(r'^( {4})?not ok \d+(?: -)? +(.*)')


def clock(seconds):
    seconds = round(seconds)
    if seconds >= 3600:
        return f'{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}'
    return f'{seconds // 60}:{seconds % 60:02}'


def counts_of(counts):
    return '{} passed, {} failed, {} skipped'.format(*counts)


def shown(path, top):
    return path.relative_to(top) if path.is_relative_to(top) else path


class Reader:
    """The log of a running job: its present file or suite, and its failures."""

    def __init__(self, job):
        self.job = job
        self.log = job.log.open(encoding='utf-8', errors='replace')
        self.rest = ''
        self.part = ''
        self.more = 0

    def failures(self):
        """(failures since the last call, the part it is in), (a remark on it, None)"""
        *lines, self.rest = (self.rest + self.log.read()).split('\n')
        for line in lines:
            m = FILE.match(line) or SUITE.match(line)
            if m:
                self.part = m[1]
            m = FAILED.match(line)
            if m:
                yield m[2], self.which(m[2])
                self.more = REMARKS
            elif self.more and re.match(r' *# {2,}\S', line):
                self.more -= 1
                yield line.strip(), None
            else:
                self.more = 0

    def which(self, what):
        """The file, suite or harness to run once more"""
        if self.job.files:
            name = what.split(':')[0]
            name = name if name in self.job.files else self.part
            return name if name in self.job.files else ' '.join(self.job.files)
        name = re.match(self.job.parts, self.part) or re.match(self.job.parts, what)
        return name[0] if name else ''


class Display:
    """Called by schedule.Queue. On a terminal a line for each worker is redrawn below all
    others."""

    def __init__(self, top, out=sys.stdout, terminal=None):
        self.top, self.out = top, out
        self.terminal = out.isatty() if terminal is None else terminal
        self.begin = self.beat = time.monotonic()
        self.drawn = 0
        self.readers = {}
        self.counts = [0, 0, 0]
        self.failed = []
        self.took = []
        self.width = max(len('kernel:smp-debug'), 30)

    def erase(self):
        if self.drawn:
            self.out.write(f'\033[{self.drawn}F\033[J')
            self.drawn = 0

    def say(self, text):
        self.erase()
        print(text, file=self.out, flush=True)

    # --- called by the queue

    def begins(self, running):
        self.readers[running.job.name] = Reader(running.job)
        if not self.terminal:
            self.say(f'{self.now()}  begin  {running.job.name:<{self.width}} '
                     f'{self.about(running.job)}')

    def ends(self, what):
        job = what.job
        reader = self.readers.get(job.name)
        if reader:
            self.look(reader)
            reader.log.close()
            del self.readers[job.name]
        if what.counts[1] and not what.why and not any(j is job for j, _, _ in self.failed):
            what.why = f'{what.counts[1]} failed'
        if what.why:
            self.tell(job, what.why)
            if what.status is not None and not job.counts:
                for line in job.log.read_text(encoding='utf-8', errors='replace').splitlines()[-10:]:
                    self.say('        | ' + line)
        self.counts = [a + b for a, b in zip(self.counts, what.counts)]
        self.took.append(what)
        if what.counts[1] or not what.passed:
            verdict = 'FAILED'
        else:
            verdict = 'ok'
        self.say(f'{self.now()}  {verdict:<6} {job.name:<{self.width}} {clock(what.took):>7}'
                 + (f'  {counts_of(what.counts)}' if job.counts else ''))

    def tick(self, running, left):
        running = sorted(running, key=lambda r: r.slot)
        for r in running:
            self.look(self.readers[r.job.name])
        now = time.monotonic()
        lines = [f'{clock(now - r.begin)} of {self.about(r.job)}' +
                 (f', {part}' if (part := self.readers[r.job.name].part) and len(r.job.files) > 1
                  else '') for r in running]
        if self.terminal:
            self.erase()
            columns = shutil.get_terminal_size().columns - 1     # a line must not wrap
            for r, line in zip(running, lines):
                print(f'  [{r.slot + 1}] {r.job.name:<{self.width}} {line}'[:columns], file=self.out)
            print(f'  {self.now()}, {len(left)} more jobs, {counts_of(self.counts)}'[:columns],
                  file=self.out, flush=True)
            self.drawn = len(running) + 1
        elif now - self.beat >= BEAT and running:
            self.beat = now
            self.say(f'{self.now()}         ' + '; '.join(
                f'{r.job.name} {line}' for r, line in zip(running, lines)) +
                f'; {len(left)} more')

    # --- the texts

    def now(self):
        return f'{clock(time.monotonic() - self.begin):>7}'

    @staticmethod
    def about(job):
        return f'about {clock(job.expected)}'

    def look(self, reader):
        for what, part in reader.failures():
            if part is None:
                self.say('      ' + what)
            else:
                self.tell(reader.job, what, part)

    def tell(self, job, what, part=''):
        """A failure: the log, and the command that repeats just this"""
        self.failed.append((job, what, part))
        self.say(f'FAIL  {job.name}: {what}\n'
                 f'      log    {shown(job.log, self.top)}\n'
                 f'      again  {job.rerun(part)}')

    def summary(self, on=''):
        """The time spent, and the results"""
        self.erase()
        self.say(f'\n{"Where the time went:":<{self.width + 2}} {"time":>8} {"of CPUs":>8}')
        for what in sorted(self.took, key=lambda w: -w.took):
            self.say(f'  {what.job.name:<{self.width}} {clock(what.took):>8} {clock(what.cpu):>8}  '
                     + (counts_of(what.counts) if what.job.counts else 'built' if what.passed else 'failed'))
        spent = time.monotonic() - self.begin
        busy = sum(w.took for w in self.took)
        cpu = sum(w.cpu for w in self.took)
        self.say(f'  {"all":<{self.width}} {clock(spent):>8} {clock(cpu):>8}  {clock(busy)} of work\n')
        if self.failed:
            self.say('Failed:')
            for job, what, part in self.failed:
                self.say(f'  {job.name}: {what}\n    {job.rerun(part)}')
        if on:
            self.say(on)
        self.say(counts_of(self.counts))
