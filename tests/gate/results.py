# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""What the logs of a run contain: which test ran on which kernel, and the time of each file."""

import re
from collections import Counter
from pathlib import Path

KERNELS = r'stock|newest|kasan|smp-debug|debug|kcsan|disks|uml-6\.1|uml-6\.12|6\.12|6\.1|arm64|s390x|ppc64el'
# Directories of TAP files, and logs, of scripts/check; those of one kernel have its name
RESULTS = re.compile(rf'(?:system|wire|long|pair)-({KERNELS})(?:-.*)?')
LOG = re.compile(r'(?:check-)?(static|fuzz|mutate|chaos|compile|arch|fuzz_arch|debs|packages|copy_linux|copy_rdma|bench|'
                 rf'conformance)(?:-({KERNELS}))?(?:-\d+)?')
KUNIT = re.compile(rf'kunit(?:-({KERNELS}))?')
TEST = re.compile(r'^(not )?ok \d+(?: -)? +(.*?)( # SKIP.*)?$', re.M)
MACHINE = ('static', 'fuzz', 'packages', 'copy_linux', 'copy_rdma', 'bench', 'conformance')


def plain(name):
    """A test's name without parts that vary from run to run: times, counts, seeds"""
    name = re.sub(r' \([0-9.]+ m?s\)$', '', name)
    return re.sub(r'\d+(\.\d+)?', 'N', name)


def of_tap(text, prefix):
    """How often each test ran, or was skipped"""
    return Counter((f'{prefix}: {plain(name)}', bool(skipped))
                   for _, name, skipped in TEST.findall(text))


def of_kunit(text):
    """The same of KTAP, where tests are one level in"""
    tests, suite = Counter(), '?'
    for line in text.splitlines():
        m = re.match(r'    # Subtest: (\S+)', line)
        if m:
            suite = m[1]
        m = re.match(r'    (not )?ok \d+(?: -)? (\w+)(.*)', line)
        if m:
            tests[f'kunit {suite}.{m[2]}', 'SKIP' in m[3]] += 1
    return tests


def of_log(path, part, kernel):
    """The same of a job's output"""
    text = path.read_text(encoding='utf-8', errors='replace')
    if part in MACHINE:
        kernel = 'machine'
    elif part != 'compile':
        kernel = kernel or 'kasan'
    # a name ends where the figures begin
    return kernel, Counter((key.split(' = ')[0] if part == 'bench' else key, skipped)
                           for key, skipped in of_tap(text, part).elements()
                           if part != 'compile' or 'compile' in key)


class Lists:
    """How often each (kernel, test) ran or was skipped. Of several runs the one with most."""

    def __init__(self):
        self.tests = Counter()

    def add(self, kernel, tests):
        self.tests |= Counter({(kernel, name, skipped): n for (name, skipped), n in tests.items()})

    def read(self, folder):
        """folder: build/log/check, or build/log as scripts/check once left it"""
        folder = Path(folder)
        for path in sorted(folder.iterdir()):
            kernel = {'system': 'stock', 'newest': 'newest'}.get(path.name)
            m = RESULTS.fullmatch(path.name)
            if path.is_dir() and (m or kernel):
                for tap in sorted(path.glob('*.tap')):
                    text = tap.read_text(encoding='utf-8', errors='replace')
                    self.add(kernel or m[1], of_tap(text, tap.stem))
                    if re.search(r'^1\.\.0 # SKIP', text, re.M):
                        self.add(kernel or m[1], Counter({(tap.stem, True): 1}))
                continue
            m = KUNIT.fullmatch(path.stem)
            if m and (path.is_dir() or path.suffix == '.log'):
                log = path / 'kunit.log' if path.is_dir() else path
                if log.exists():
                    self.add((m[1] or 'kasan'), of_kunit(
                        log.read_text(encoding='utf-8', errors='replace')))
                continue
            if path.suffix != '.log':
                continue
            m = LOG.fullmatch(path.stem)
            if m:
                self.add(*of_log(path, m[1], m[2]))
            elif path.name == 'check-kernels.log':
                for kernel in re.findall(r'^ok \d+ - (\S+) compile', path.read_text(
                        encoding='utf-8', errors='replace'), re.M):
                    self.add(kernel, Counter({('compile: compile', False): 1}))

    def lines(self):
        for (kernel, name, skipped), n in sorted(self.tests.items()):
            yield f'{kernel}\t{n}\t{"skipped" if skipped else "ran"}\t{name}'

    @classmethod
    def parse(cls, text):
        lists = cls()
        for line in text.splitlines():
            kernel, n, how, name = line.split('\t')
            lists.tests[kernel, name, how == 'skipped'] = int(n)
        return lists

    def lost(self, after):
        """(kernel, test) that ran here, and does not run, or not as often, in after"""
        return sorted((kernel, name, n, after.tests[kernel, name, False])
                      for (kernel, name, skipped), n in self.tests.items()
                      if not skipped and after.tests[kernel, name, False] < n)

    def new(self, after):
        return sum(1 for (kernel, name, skipped) in after.tests
                   if not skipped and not self.tests[kernel, name, False])

    def table(self):
        """(kernels, {file: {kernel: [ran, skipped]}}) of tests/system"""
        rows = {}
        for (kernel, name, skipped), n in self.tests.items():
            file = name.split(': ')[0]
            if kernel != 'machine' and not file.startswith(('kunit ', 'compile', 'arch', 'debs', 'fuzz_arch')):
                cell = rows.setdefault(file, {}).setdefault(kernel, [0, 0])
                cell[skipped] += n
        return sorted({k for row in rows.values() for k in row}), rows


DONE = re.compile(r'^# --- ([\w-]+): status \d+, (\d+) s$', re.M)


def times(done):
    """(seconds, CPU seconds) of each job, and of each file of those that have several; the time
    that a guest adds"""
    seconds, boots = {}, {}
    for what in done:
        job = what.job
        if not what.passed:
            continue
        if not job.name.startswith('system:'):
            if not job.name.startswith('kernel:') or what.took > 30:   # else it was there
                seconds[job.name] = what.took, what.cpu
            continue
        files = DONE.findall(job.log.read_text(encoding='utf-8', errors='replace'))
        of_files = {name: int(s) for name, s in files if name in job.files}
        # the CPU time of a single file is not known
        load = what.cpu / what.took if what.took else 1
        seconds.update({f'system:{job.kernel}:{name}': (s, s * load) for name, s in of_files.items()})
        boot = what.took - sum(of_files.values())
        boots.setdefault(job.kernel, []).append((boot, boot * load))
    for kernel, all_of in boots.items():
        seconds[f'boot:{kernel}'] = tuple(sum(column) / len(all_of) for column in zip(*all_of))
    return seconds
