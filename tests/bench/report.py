#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""usage: tests/bench/report.py RESULTS.jsonl

Print a table of what tests/bench/guest.py measured: medians, and behind each half of
the distance between the largest and the smallest value, as a share of the median.
"""

import json
import os
import statistics
import sys
from collections import defaultdict

import cases
from cases import Bad
from hosts import PEERS

# The properties of a machine that tests/bench/run writes
MACHINE = ('cpu', 'cpus', 'memory_gib', 'where', 'mem_mib', 'date', 'took_s', 'others_s', 'srnic',
           'status', 'command')
ENOUGH = 0.8    # how calm a machine must be for its figures to count (guest.py)


def records_of(path):
    """(where, record) of each line of a file of results"""
    if not os.path.exists(path):
        raise Bad(f'{path}: is not there; tests/bench/run measures and writes it')
    with open(path, encoding='utf-8') as f:
        for number, line in enumerate(f, 1):
            where = f'{path}:{number}'
            try:
                record = json.loads(line)
            except ValueError:
                raise Bad(f'{where}: not JSON') from None
            if not isinstance(record, dict) or 'kind' not in record:
                raise Bad(f'{where}: not a record of the benchmark')
            yield where, record


class Results:
    """Values by path, case and peer; and the reasons for missing ones. Values measured while the
    machine was slow do not count where most rounds were calm. Ratios are of all rounds: what slows
    one peer of a round slows the other one as well, more or less."""

    def __init__(self, path):
        self.noisy = set()                      # where few rounds were calm
        self.every = {}                         # the records of all rounds
        self.records = defaultdict(list)        # those that count
        self.failed = {}
        self.dead = {}
        self.guest = {}
        self.machine = {}                       # of tests/bench/machine.py
        self.calm = []                          # of each measurement
        self.restless = ''                      # why it is published though others had the machine
        self.peers = []
        for where, r in records_of(path):
            try:
                self.take(r)
            except KeyError as lacks:
                raise Bad(f'{where}: there is no {lacks}') from None
            except Bad as why:
                raise Bad(f'{where}: {why}') from None
        if not self.guest or not self.records and not self.failed:
            raise Bad(f'{path}: no results')
        for key, records in self.records.items():
            self.every[key] = list(records)
            calm = [r for r in records if r['calm'] >= ENOUGH]
            if 2 * len(calm) > len(records):
                records[:] = calm
            else:
                self.noisy.add(key)

    def take(self, r):
        """A record"""
        if r['kind'] == 'guest':
            self.guest = r
        elif r['kind'] == 'machine':
            for name in MACHINE:
                r[name]         # a KeyError, if it is not there
            self.machine = r
        elif r['kind'] == 'dead':
            self.dead[r['path'], r['peer']] = r['why']
            self.seen(r['peer'])
        elif r['kind'] == 'result':
            key = r['path'], r['case'], r['peer']
            case = cases.BY_NAME.get(key[:2])
            if not case:
                raise Bad(f'no case "{r["case"]}" on path "{r["path"]}": of another version?')
            self.seen(r['peer'])
            self.calm.append(r['calm'])
            if 'failed' in r:
                self.failed[key] = r['failed']
            else:
                r[case.value]   # a KeyError, if it is not there
                self.records[key].append(r)

    def calm_share(self):
        """The share of the measurements in which the machine was as fast as it can be"""
        return sum(c >= ENOUGH for c in self.calm) / len(self.calm)

    def seen(self, peer):
        if peer not in PEERS:
            raise Bad(f'no peer "{peer}"')
        if peer not in self.peers:
            self.peers.append(peer)
            self.peers.sort(key=list(PEERS).index)

    def cases(self):
        """Those that were measured, path by path"""
        measured = {key[:2] for key in list(self.every) + list(self.failed)}
        order = list(cases.PATHS)
        return sorted((c for c in cases.FULL if (c.path, c.name) in measured),
                      key=lambda c: order.index(c.path))

    def rounds(self, case, peer, figure=None):
        """{round: value}, of all rounds; figure: another one than that which counts"""
        name = figure or case.value
        return {r['round']: r[name] for r in self.every.get((case.path, case.name, peer), ())
                if name in r}

    @staticmethod
    def ratio_of(a, b, better):
        """How many times as good the one is as the other, in the median round; the ratio of
        medians if they have no round in common; or None"""
        if not a or not b:
            return None
        pairs = [(a[r], b[r]) for r in a if r in b] or [
            (statistics.median(a.values()), statistics.median(b.values()))]
        if better == 'less':
            pairs = [(y, x) for x, y in pairs]
        return statistics.median(x / y for x, y in pairs) if all(y for _, y in pairs) else None

    def ratio(self, case, peer, other):
        return self.ratio_of(self.rounds(case, peer), self.rounds(case, other), case.better)

    def bound_ratio(self, bound):
        """The same beside the best of its peers, of those measured; or None"""
        own = self.rounds(bound.case, bound.peer, bound.figure)
        ratios = [self.ratio_of(own, self.rounds(bound.beside, other, bound.figure), bound.better)
                  for other in bound.others]
        return min((r for r in ratios if r is not None), default=None)


def figure(value):
    """Three digits, or all before the point"""
    size = abs(value)
    return f'{value:,.0f}' if size >= 100 else f'{value:.1f}' if size >= 10 else f'{value:.2f}'


# Which peers are compared, and the title of the column
RATIOS = (('srnic', 'siw', 'srnic:siw'), ('srnic', 'rxe', 'srnic:rxe'),
          ('srnic', 'tcp', 'srnic:tcp'), ('srnic', 'ktcp', 'srnic:ktcp'),
          ('srnic-crc', 'siw-crc', 'crc:crc'), ('srnic-crc', 'tcp', 'crc:tcp'),
          ('srnic-crc', 'ktcp', 'crc:ktcp'), ('srnic-crc', 'srnic', 'srnic, crc:off'),
          ('siw-crc', 'siw', 'siw, crc:off'))


def ratio_text(value):
    return '-' if value is None else f'{value:.3f}' if value < 0.1 else f'{value:.2f}'


def ratio(results, case, peer, other):
    return ratio_text(results.ratio(case, peer, other))


def cell(results, case, peer):
    key = case.path, case.name, peer
    values = [r[case.value] for r in results.records.get(key, ())]
    if values:
        middle = statistics.median(values)
        spread = (max(values) - min(values)) / 2 / middle * 100
        return f'{figure(middle)}{"?" if key in results.noisy else ""} {f"±{spread:.0f}%":>5}'
    if key in results.failed:
        return 'failed'
    if ('', peer) in results.dead or (case.path, peer) in results.dead:
        return 'n/a'
    return '-'


# Costs and other figures of a record, for the cases that have them
def is_latency(case):
    return case.args['do'] in ('latency', 'disk')


def is_many(case):
    return case.args['do'] in ('connect', 'scale')


COSTS = (
    ('cpu_ms_per_gib', 'CPU ms/GiB', lambda c: c.value == 'mib_s'),
    ('switches_per_message', 'switches/msg', lambda c: is_latency(c) or c.value == 'msg_s'),
    ('p50_us', 'us p50', lambda c: c.args['do'] == 'disk' or c.value == 'p99_us'),
    ('p99_us', 'us p99', lambda c: (c.value == 'p50_us' or is_latency(c)) and c.value != 'p99_us'),
    ('p999_us', 'us p99.9', is_latency),
    ('worst_p99_us', 'us p99, the worst host', lambda c: is_latency(c) and c.pairs > 1),
    ('marked', 'packets marked', lambda c: c.path == 'incast'),
    ('lost', 'packets lost', lambda c: c.path == 'incast'),
    ('dereg_us', 'us/MiB to deregister', lambda c: c.args['do'] == 'register'),
    ('conn_s', 'connections/s', is_many),
    ('conn_s_first', 'connections/s, first 1,000', lambda c: c.args['do'] == 'turnover'),
    ('conn_s_last', 'connections/s, last 1,000', lambda c: c.args['do'] == 'turnover'),
    ('disconnect_ms', 'ms to disconnect all', lambda c: c.args['do'] == 'connect'),
    ('kib_left', 'kernel KiB left by each', lambda c: c.args['do'] == 'turnover'),
    ('kernel_kib_per_conn', 'kernel KiB/QP pair', is_many),
    ('threads_per_conn', 'threads/QP pair', is_many),
    ('kernel_mib_before', 'kernel MiB before', lambda c: c.args['do'] == 'scale'),
    ('kernel_mib_after', 'kernel MiB after', lambda c: c.args['do'] == 'scale'),
    ('threads_before', 'threads before', lambda c: c.args['do'] == 'scale'),
    ('threads_after', 'threads after', lambda c: c.args['do'] == 'scale'),
    ('idle_cpus_busy', 'CPUs busy when idle', lambda c: c.args['do'] == 'scale'),
)


def costs(results, path=None):
    """(case, figure, unit, {peer: median}), of those that were measured"""
    for key, unit, has in COSTS:
        for case in results.cases():
            if has(case) and path in (None, case.path):
                medians = {}
                for peer in results.peers:
                    values = [r[key] for r in results.records[case.path, case.name, peer]
                              if key in r]
                    if values:
                        medians[peer] = statistics.median(values)
                if medians:
                    yield case, key, unit, medians


def print_rows(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        line = [row[0].ljust(widths[0])]
        line += [text.rjust(width) for text, width in zip(row[1:], widths[1:])]
        print('  '.join(line).rstrip())


def ratios_of(results):
    return [r for r in RATIOS if {r[0], r[1]} <= set(results.peers)]


def goals(results):
    """The bounds of the cases that were measured: (bound, ratio, whether it is met or '-')"""
    measured = results.cases()
    for bound in cases.wanted():
        if bound.case in measured:
            value = results.bound_ratio(bound)
            # rounded as it is judged: 1.199 is not 1.2
            yield bound, value, '-' if value is None else 'yes' if value >= bound.least else 'no'


def machine_lines(results):
    """(what, text) of a run"""
    m, g = results.machine, results.guest
    if m:
        yield 'machine', f'{m["cpu"]}, {m["cpus"]} CPUs, {m["memory_gib"]} GiB'
    yield 'guest', f'Linux {g["linux"]}, {g["cpus"]} CPUs' + (
        f', {m["mem_mib"]} MiB, {m["where"]}' if m else '')
    yield 'measured', f'{g["rounds"]} rounds of {g["ms"]} ms'
    if results.calm:
        yield 'calm', (f'in {results.calm_share():.0%} of all measurements the machine was as fast '
                       'as it can be')
    if results.restless:
        yield 'not calmer', results.restless
    if m:
        yield 'others', f'{m["others_s"]} s of CPU time in {m["took_s"]} s'
        yield 'srnic', m['srnic']
        yield 'date', m['date']
        yield 'command', m['command']
        if m['status']:
            yield 'ended', (f'with status {m["status"]}: not all was measured, or the guest '
                            'complained')


def print_report(results):
    ratios = ratios_of(results)
    rows = [['', ''] + results.peers + [name for _, _, name in ratios]]
    path = None
    for case in results.cases():
        if case.path != path:
            path = case.path
            rows.append([cases.PATHS[path] + ':'] + [''] * (len(rows[0]) - 1))
        rows.append(['  ' + case.name, case.unit] +
                    [cell(results, case, peer) for peer in results.peers] +
                    [ratio(results, case, a, b) for a, b, _ in ratios])
    print_rows(rows)
    print()
    print_rows([['what it cost the guest:', ''] + results.peers] +
               [[f'  {case.path}: {case.name}', unit] +
                [figure(medians[p]) if p in medians else '-' for p in results.peers]
                for case, _, unit, medians in costs(results)])
    rows = [['  ' + f'{bound.case.path}: {bound.title}',
             f'{bound.peer} : {" or ".join(bound.others)}', f'{bound.least:.2f}',
             ratio_text(value), met] for bound, value, met in goals(results)]
    if rows:
        print()
        print_rows([['what is wanted:', '', 'at least', 'is', 'met']] + rows)
    print('\nmedian, and half of the range; ratios: those of the median round, above 1 srnic '
          'is better')
    for what, text in machine_lines(results):
        print(f'{what}: {text}')
    for (path, peer), why in results.dead.items():
        print(f'n/a: {peer}{" " + path if path else ""}: {why}')
    for (path, case, peer), why in results.failed.items():
        print(f'failed: {path}: {case}: {peer}: {why}')


def main():
    if len(sys.argv) != 2 or sys.argv[1] in ('-h', '--help'):
        print(__doc__.strip())
        sys.exit(0 if len(sys.argv) == 2 else 2)
    try:
        print_report(Results(sys.argv[1]))
    except (Bad, OSError) as why:
        sys.exit(f'report.py: {why}')


if __name__ == '__main__':
    main()
