# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""The jobs of the gate: what can be run, what each needs, and the sets of them."""

import os
import re
import shlex
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent
LOG = TOP / 'build/log/check'
TIMES = TOP / 'tests/times'
SYSTEM = ('tests/system', 'apis/*/tests/system')      # where system tests are

# Kernels of scripts/guest; on these, in an emulator, a guest takes half a minute to boot.
KERNELS = ('stock', '6.1', '6.12', 'kasan', 'smp-debug', 'uml-6.1', 'uml-6.12', 'newest', 'disks',
           'debug', 'kcsan', 'arm64', 's390x', 'ppc64el')
# Of other processors: what is built for them, and system tests that run there
ARCHES = ('arm64', 's390x', 'ppc64el')
ARCH_FILES = ('smoke', 'integrity', 'abi', 'cq', 'srq', 'orders', 'memory', 'mw', 'rfc7306', 'rawpeer')
EMULATED = ('stock', '6.1', '6.12', 'debug', 'kcsan', *ARCHES)
# With checkers, among them one of leaks, which looks through all memory when a guest ends
CHECKED = ('kasan', 'smp-debug')
# Linux 6.1: its KUnit cannot choose among a module's suites
NO_FILTER = ('kasan', 'uml', 'uml-6.1', *ARCHES)
# Run only when named
NAMED_ONLY = ('pyverbs_newest',)
# Long files that test no more on the stock kernel than on the newest: many rounds, and libraries
# and programs that only use verbs which other files test (pyverbs has a few for huge pages, too,
# of which User Mode Linux has none). Not rnicpi_ko, which is a module.
LIBRARIES = ('hosts', 'leak', 'libfabric', 'outcomes', 'perftest', 'perftest_ib', 'pingpong',
             'pyverbs', 'rdmacm', 'rnicpi', 'rnicpi_other', 'rnicpi_sanitize', 'ucx', 'vipl',
             'vipl_old', 'vipl_other', 'vipl_sanitize')
# Only the stock kernel has all that these need; they take minutes there, so the gate runs them.
GATE_ONLY = ('odp', 'podman', 'tunnels')


class Bad(Exception):
    """There is no such job."""


def stock_linux():
    """The version of Linux of the machine's own Debian"""
    return subprocess.run(['bash', '-c', '. scripts/lib.sh; stock_linux'], cwd=TOP, check=True,
                          stdout=subprocess.PIPE, text=True).stdout.strip()


def results_of(name):
    """The directory of a job's results, as passed to its command"""
    return os.path.relpath(LOG / name.replace(':', '-'), TOP)


@dataclass
class Job:
    """A command that is run once, with the jobs that it waits for."""
    name: str
    command: list
    needs: tuple = ()       # names of jobs that must pass first
    last: bool = False      # after all others
    alone: bool = False     # nothing may run beside it, since it measures; it comes last of all
    counts: bool = True     # its last line says how many tests passed, failed, were skipped
    whole: bool = False     # it is never ended in its midst
    limit: int = 3600       # seconds, after which it counts as hanging
    kernel: str = ''
    files: tuple = ()       # of tests/system
    again: str = ''         # the command to repeat it, with {0} in place of what has failed
    parts: str = '$.'       # what that may be, beside files: a regular expression
    expected: float = 0
    load: float = 1         # of a CPU, how much it keeps busy
    rank: float = field(default=0, compare=False)

    @property
    def log(self):
        return LOG / (self.name.replace(':', '-') + '.log')

    def rerun(self, what=''):
        """The command that repeats it, or only the parts that have failed"""
        if what and self.again:
            return self.again.format(shlex.join(what.split()))
        words = list(self.command)
        for option in ('--results', '--log'):
            if option in words:
                at = words.index(option)
                del words[at:at + 2]
        return shlex.join(words)


class Times:
    """The time and CPU time of each the last time, in seconds: a line for each job, or file of
    tests/system"""

    def __init__(self, path=TIMES):
        self.path = path
        self.seconds = {}
        if path.exists():
            for line in path.read_text(encoding='utf-8').splitlines():
                m = re.fullmatch(r'(\S+)\s+(\d+)\s+(\d+)', line)
                if m:
                    self.seconds[m[1]] = int(m[2]), int(m[3])

    def of(self, name, default):
        return self.seconds.get(name, (default, default))[0]

    def load(self, names):
        """How much of a CPU these keep busy: one, if nothing is known. A job that uses several
        counts as one, or it would wait for an idle machine."""
        known = [self.seconds[name] for name in names if name in self.seconds]
        took = sum(took for took, _ in known)
        return min(1, max(0.2, sum(cpu for _, cpu in known) / took)) if took else 1

    def write(self, seconds):
        """Write the table with the new values: (time, CPU time) of each"""
        head = [line for line in self.path.read_text(encoding='utf-8').splitlines()
                if line.startswith('#')] if self.path.exists() else []
        self.seconds.update({name: (max(1, round(took)), round(cpu))
                             for name, (took, cpu) in seconds.items()})
        lines = head + [f'{name:<40} {took:>5} {cpu:>5}'
                        for name, (took, cpu) in sorted(self.seconds.items())]
        self.path.write_text('\n'.join(lines) + '\n', encoding='utf-8')


def scripts():
    """The script of each system test"""
    return [p for folder in SYSTEM for p in TOP.glob(folder + '/*.sh')
            if not re.match(r'lib(-|$)', p.stem)]


def system_files():
    """All system tests that run when none is named"""
    return sorted(p.stem for p in scripts() if p.stem not in NAMED_ONLY)


def skips():
    """(kernels, file, test or '') of each line of tests/skips"""
    for line in (TOP / 'tests/skips').read_text(encoding='utf-8').splitlines():
        m = re.match(r'([\w.,-]+)\s+(\w+)(?:: ([^#]*\S))?\s*(#|$)', line)
        if m:
            yield m[1].split(','), m[2], m[3] or ''


def only_on_stock():
    """Files of tests/system, but for GATE_ONLY, that skip on the newest kernel something that the
    stock one runs; make check runs these there"""
    table = list(skips())
    nowhere = {file for kernels, file, test in table if 'stock' in kernels and not test}
    return [f for f in system_files() if f not in nowhere and f not in GATE_ONLY and
            any(file == f and 'newest' in kernels and 'stock' not in kernels
                for kernels, file, test in table)]


def pack(sizes, room):
    """Groups of names; none is larger than room if possible"""
    groups = []
    for name, size in sorted(sizes.items(), key=lambda item: (-item[1], item[0])):
        for group in groups:
            if sum(sizes[n] for n in group) + size <= room:
                group.append(name)
                break
        else:
            groups.append([name])
    return groups


class Plan:
    """Jobs by their names, with all that they need."""

    def __init__(self, times=None):
        self.times = times or Times()
        self.jobs = {}

    def add(self, name, command, default=60, **more):
        if name not in self.jobs:
            job = Job(name, shlex.split(command) if isinstance(command, str) else command, **more)
            job.expected = self.times.of(name, default)
            job.load = self.times.load([name])
            self.jobs[name] = job
        return name

    # --- what is built, once for all

    def kernel(self, kernel):
        """The kernel that a guest boots, if it has to be built or downloaded"""
        if kernel in ('stock', stock_linux()):
            return ()
        if kernel in ARCHES:
            return self.setup_arch(kernel)
        if kernel in ('6.1', '6.12'):
            command, default = f'scripts/kernel-image {kernel}', 60
        elif kernel in ('debug', 'kcsan'):
            command, default = f'scripts/kernel-{kernel}', 1800
        else:
            command, default = f'scripts/kernel-uml {kernel.removeprefix("uml-")}', 900
        # Most jobs wait for the newest kernel. A build of another one gets what other jobs leave
        # of the CPUs.
        if kernel != 'newest':
            command = 'nice -n 5 ' + command
        return (self.add(f'kernel:{kernel}', command, default, counts=False, limit=7200),)

    def setup_arch(self, arch):
        """Its compiler and emulator, and what runs there"""
        return (self.add(f'setup:{arch}', f'scripts/setup {arch}', 90, counts=False, whole=True),)

    def setup_packages(self):
        """What makes machines that packages are built and installed on"""
        return (self.add('setup:packages', 'scripts/setup packages', 60, counts=False, whole=True),)

    def build(self, arch):
        """All that guests of another processor get"""
        return (self.add(f'arch:{arch}', f'scripts/check-arch {arch}', 200,
                         needs=self.setup_arch(arch)),)

    def module(self, kernel):
        """The modules for the stock kernel. scripts/check-static looks at them while it compiles
        them, and reports what there was to say when it runs again."""
        if kernel not in ('stock', stock_linux()):
            return ()
        return (self.add('module:stock', ['bash', '-c', 'scripts/check-static compile; :'], 100,
                         counts=False),)

    def guest(self, kernel):
        """All that a guest with srnic needs, and the programs of the tests"""
        if kernel in ARCHES:
            return (self.add(f'stage:{kernel}', f'scripts/guest --kernel {kernel} --prepare', 20,
                             counts=False, needs=self.build(kernel)),)
        programs = self.add('programs', 'scripts/build-tests', 60, counts=False)
        return (self.add(f'stage:{kernel}', f'scripts/guest --kernel {kernel} --prepare', 60,
                         counts=False, needs=self.kernel(kernel) + self.module(kernel)), programs)

    # --- what is tested: NAME[:KERNEL[:FILE,...]]

    def static(self):
        self.add('static', 'scripts/check-static', 150, again='scripts/check-static {0}',
                 parts='[a-z]+(?= \\()', needs=self.module('stock'))

    def fuzz(self, seconds=60):
        self.add('fuzz' if seconds == 60 else f'fuzz:{seconds}',
                 f'scripts/fuzz --duration {seconds} --jobs 1', 60 + seconds,
                 again='scripts/fuzz --duration 60 {0}',
                 parts='|'.join(p.stem for p in TOP.glob('tests/fuzz/*.c')) + r'\b')

    def compile(self, kernel):
        self.add(f'compile:{kernel}', f'scripts/check-compile {kernel}', 60)

    def copy_linux(self):
        self.add('copy_linux', 'scripts/check-in-tree linux', 240, needs=self.kernel('newest'))

    def copy_rdma(self):
        self.add('copy_rdma', 'scripts/check-in-tree rdma-core', 60)

    def kunit(self, kernel):
        name = f'kunit:{kernel}'
        self.add(name, ['scripts/kunit', '--kernel', kernel, '--log',
                        results_of(name) + '/kunit.log'], 90, kernel=kernel,
                 needs=self.build(kernel) if kernel in ARCHES else self.kernel(kernel),
                 again=f'scripts/kunit --kernel {kernel}' +
                 ('' if kernel in NO_FILTER else ' --filter {0}'), parts='srnic-[a-z0-9-]+')

    def mutate(self, kernel):
        self.add(f'mutate:{kernel}', f'scripts/fuzz-guest --kernel {kernel} --duration 60 --markers --seed 1',
                 150, kernel=kernel, needs=self.guest(kernel))

    def chaos(self, kernel, faults='40'):
        name = f'chaos:{kernel}' + (f':{faults}' if faults != '40' else '')
        self.add(name, f'scripts/chaos --kernel {kernel} --faults {faults} --seed 1',
                 5 * int(faults), limit=3 * 3600, kernel=kernel, needs=self.guest(kernel))

    def wire(self, kernel):
        name = f'wire:{kernel}'
        self.add(name, ['scripts/check-wire', '--kernel', kernel, '--results',
                        results_of(name)], 60, kernel=kernel,
                 files=('rawpeer',), needs=self.guest(kernel))

    def system(self, kernel, files='', without=()):
        """Files of tests/system in as few guests as reasonable: short ones share a guest"""
        if files:
            names = files.split(',')
            for name in names:
                if not any(p.stem == name for p in scripts()):
                    raise Bad(f'there is no system test {name}.sh')
        else:
            names = [f for f in system_files() if f not in without]
        # Each file once, whatever group it is in.
        planned = {f for job in self.jobs.values() if job.name.startswith(f'system:{kernel}:')
                   for f in job.files}
        names = [f for f in names if f not in planned]
        if 'rawpeer' in names and (not files or kernel in ARCHES):
            names.remove('rawpeer')     # scripts/check-wire runs it, and makes a table
            self.wire(kernel)
        slow = kernel in EMULATED
        default, room = (40, 400) if slow else (30, 300) if kernel in CHECKED else (15, 120)
        sizes = {f: self.times.of(f'system:{kernel}:{f}', default) for f in names}
        for group in pack(sizes, room):
            name = f'system:{kernel}:{group[0]}' + (f'+{len(group) - 1}' if group[1:] else '')
            self.add(name, ['tests/system/run', '--kernel', kernel, '--results',
                            results_of(name), *group],
                     kernel=kernel, files=tuple(group), needs=self.guest(kernel), limit=3 * 3600,
                     again=f'tests/system/run --kernel {kernel} {{0}}')
            self.jobs[name].expected = sum(sizes[f] for f in group) + \
                self.times.of(f'boot:{kernel}', 40 if slow else 6)
            self.jobs[name].load = self.times.load(
                [f'boot:{kernel}', *(f'system:{kernel}:{f}' for f in group)])

    def arch(self, kernel):
        """What is built for another processor, its packages among that, and a choice of system
        tests there"""
        if kernel not in ARCHES:
            raise Bad(f'arch: {kernel} is no processor, there are: {", ".join(ARCHES)}')
        self.system(kernel, ','.join(ARCH_FILES))
        self.kunit(kernel)
        self.add(f'fuzz_arch:{kernel}', f'scripts/fuzz --arch {kernel}', 20, needs=self.setup_arch(kernel),
                 again=f'scripts/fuzz --arch {kernel} {{0}}')
        self.add(f'debs:{kernel}', f'scripts/check-debs {kernel}', 240,
                 needs=self.setup_arch(kernel) + self.setup_packages())

    def pair(self, near, far='stock'):
        """Two guests that talk to each other"""
        for kernel in (near, far):
            if kernel not in EMULATED:
                raise Bad(f'pair: {kernel} runs in no QEMU')
        name = f'pair:{near}:{far}'
        self.add(name, ['scripts/check-pair', '--results', results_of(name), near, far], 400,
                 kernel=near, needs=tuple(dict.fromkeys(self.guest(near) + self.guest(far))))

    def long(self, kernel, files):
        """Files of tests/system with the maximum number of rounds"""
        name = f'long:{kernel}:{files}'
        self.add(name, ['tests/system/run', '--kernel', kernel, '--long', '--timeout', '7200',
                        '--results', results_of(name), *files.split(',')], 900,
                 limit=3 * 3600, kernel=kernel, files=tuple(files.split(',')), needs=self.guest(kernel),
                 again=f'tests/system/run --kernel {kernel} --long {{0}}')

    def pyverbs(self):
        self.add('pyverbs', 'scripts/pyverbs-newest', 300, counts=False)
        self.system('newest', 'pyverbs_newest')
        for job in self.jobs.values():
            if 'pyverbs_newest' in job.files and 'pyverbs' not in job.needs:
                job.needs += ('pyverbs',)

    def packages(self):
        self.add('packages', 'scripts/check-packages', 3600, needs=self.setup_packages(),
                 limit=3 * 3600)

    def bench(self):
        # Nothing runs beside it, so its needs are built before.
        guest = self.guest('newest')
        program = self.add('programs:bench', f'make -s -C tests/bench OUT={TOP}/build/bench', 10,
                           counts=False, needs=('programs',))
        self.add('bench', 'scripts/check-bench', 40, alone=True, needs=(program, *guest))

    def conformance(self):
        self.add('conformance', ['scripts/conformance', os.path.relpath(LOG, TOP)], 5, last=True)

    # --- sets of them

    def set_check(self):
        """Everything on one kernel; on the stock one a little, and what only that can run. Nearly
        all of it waits for the newest kernel, whose build goes on while packages are
        installed."""
        self.add('setup:tests', 'scripts/setup tests', 240, counts=False, whole=True)
        for spec in ('static', 'fuzz', 'kunit:newest', 'mutate:newest', 'chaos:newest',
                     'system:newest', 'system:stock:' + ','.join(['smoke', *only_on_stock()]),
                     'conformance', 'bench'):
            self.want(spec)

    def set_gate(self):
        """What gates a change beside that: other kernels"""
        linux = stock_linux()
        other = '6.1' if linux == '6.12' else '6.12'
        for spec in ('kunit:kasan', 'mutate:kasan', 'chaos:kasan', 'wire:kasan', f'compile:{other}',
                     'compile:newest', 'copy_linux', f'system:{other}:smoke,loopback',
                     'system:arm64:smoke'):
            self.want(spec)
        self.fuzz(120)
        self.system('stock', without=('smoke', *only_on_stock(), *LIBRARIES))

    def set_all(self):
        """All jobs beside set_check"""
        linux = stock_linux()
        other = '6.1' if linux == '6.12' else '6.12'
        for spec in ('kunit:kasan', 'mutate:kasan', 'chaos:kasan:500', 'system:kasan',
                     'kunit:smp-debug', 'mutate:smp-debug', 'chaos:smp-debug', 'system:smp-debug',
                     f'compile:{other}', 'compile:newest', f'kunit:uml-{other}', f'mutate:{other}',
                     f'system:{other}', 'mutate:stock', 'pyverbs', 'copy_linux', 'copy_rdma', 'packages',
                     'long:newest:vipl,vipl_old,vipl_other,vipl_sanitize',
                     'long:newest:rnicpi,rnicpi_other,rnicpi_sanitize,rnicpi_ko',
                     'long:kasan:unstable', 'long:smp-debug:unstable'):
            self.want(spec)
        self.system('stock', without=('smoke', *only_on_stock()))
        for arch in ARCHES:
            self.arch(arch)
        self.pair('s390x')

    def set_kernels(self):
        """Linux 6.1, 6.12 and the newest, each with all of its tests"""
        linux = stock_linux()
        for kernel in ('6.1', '6.12', 'newest'):
            uml = 'kasan' if kernel == linux else 'newest' if kernel == 'newest' else 'uml-' + kernel
            for spec in (f'compile:{kernel}', f'kunit:{uml}', f'mutate:{kernel}', f'system:{kernel}'):
                self.want(spec)

    SETS = ('check', 'gate', 'all', 'kernels')
    PARTS = ('static', 'fuzz', 'compile', 'kunit', 'mutate', 'chaos', 'wire', 'system', 'long',
             'arch', 'pair', 'copy_linux', 'copy_rdma', 'pyverbs', 'packages', 'bench', 'conformance')
    OF_NO_KERNEL = ('static', 'fuzz', 'copy_linux', 'copy_rdma', 'pyverbs', 'packages', 'bench',
                    'conformance')

    def want(self, spec):
        """spec: a set, or PART[:KERNEL[:FILE,...]]"""
        part, *more = spec.split(':', 2)
        if part in self.SETS and not more:
            getattr(self, 'set_' + part)()
        elif part in self.OF_NO_KERNEL and not more:
            getattr(self, part)()
        elif part in self.PARTS and part not in self.OF_NO_KERNEL:
            if part == 'long' and len(more) < 2:
                raise Bad('long: of which files? long:KERNEL:FILE,...')
            if more and more[0] not in KERNELS:
                raise Bad(f'there is no kernel {more[0]}, see scripts/guest --help')
            if part == 'chaos' and len(more) > 1 and not more[1].isdecimal():
                raise Bad(f'chaos: {more[1]} is no number of faults')
            if part == 'pair' and more[1:] and more[1] not in KERNELS:
                raise Bad(f'there is no kernel {more[1]}, see scripts/guest --help')
            if len(more) > 1 and part not in ('system', 'long', 'chaos', 'pair'):
                raise Bad(f'{part} has no parts, see --help')
            getattr(self, part)(*(more or ['newest']))
        else:
            raise Bad(f'unknown part {spec}, see --help')

    def ranked(self):
        """All jobs; the rank of one is the minimum time that it and the jobs waiting for it
        take"""
        waiting = {}
        for job in self.jobs.values():
            # make check has installed what these two need
            if 'setup:tests' in self.jobs and job.name not in ('setup:tests', 'kernel:newest'):
                job.needs += ('setup:tests',)
            for need in job.needs:
                waiting.setdefault(need, []).append(job)

        def rank(job):
            if not job.rank:
                job.rank = job.expected + max(
                    (rank(j) for j in waiting.get(job.name, ()) if not j.alone), default=0)
            return job.rank
        for job in self.jobs.values():
            rank(job)
        return sorted(self.jobs.values(), key=lambda job: -job.rank)
