#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""usage: tests/bench/report.py RESULTS.jsonl

Print a table of what tests/bench/guest.py measured: medians, and behind each half of
the distance between the largest and the smallest value, as a share of the median.
"""

import json
import statistics
import sys
from collections import defaultdict

import cases
from hosts import PEERS


ENOUGH = 0.8    # how calm a machine is that figures can be trusted of (guest.py)


class Results:
    """Values by path, case and peer; and why there are none. What was measured while
    others had the machine does not count, if there is anything else."""

    def __init__(self, path):
        self.values = {}                        # of each round
        self.noisy = set()                      # where others had the machine, each time
        self.records = defaultdict(list)        # all there is
        self.failed = {}
        self.dead = {}
        self.guest = {}
        self.calm = []                          # of each measurement
        self.peers = []
        by_key = {(c.path, c.name): c for c in cases.FULL}
        with open(path, encoding='utf-8') as f:
            for line in f:
                r = json.loads(line)
                if r['kind'] == 'guest':
                    self.guest = r
                elif r['kind'] == 'dead':
                    self.dead[r['path'], r['peer']] = r['why']
                    self.seen(r['peer'])
                elif r['kind'] == 'result':
                    key = r['path'], r['case'], r['peer']
                    self.seen(r['peer'])
                    self.calm.append(r['calm'])
                    if 'failed' in r:
                        self.failed[key] = r['failed']
                    else:
                        self.records[key].append(r)
        for key, records in self.records.items():
            if any(r['calm'] >= ENOUGH for r in records):
                records[:] = [r for r in records if r['calm'] >= ENOUGH]
            else:
                self.noisy.add(key)
            name = by_key[key[:2]].value
            self.values[key] = {r['round']: r[name] for r in records}

    def seen(self, peer):
        if peer not in self.peers:
            self.peers.append(peer)
            self.peers.sort(key=list(PEERS).index)

    def rounds(self, case, peer):
        return self.values.get((case.path, case.name, peer), {})

    def ratio(self, case, peer, other):
        """How many times as good as the other one, in the median round; or None"""
        a, b = self.rounds(case, peer), self.rounds(case, other)
        ratios = [b[r] / a[r] if case.better == 'less' else a[r] / b[r] for r in a if r in b]
        return statistics.median(ratios) if ratios else None


def figure(value):
    """Three digits, or all before the point"""
    return f'{value:,.0f}' if value >= 100 else f'{value:.1f}' if value >= 10 else f'{value:.2f}'


# Who is compared with whom, and how the column is called
RATIOS = (('srnic', 'siw', 'srnic:siw'), ('srnic-crc', 'siw-crc', 'crc:crc'),
          ('srnic', 'ktcp', 'srnic:ktcp'))


def ratio(results, case, peer, other):
    value = results.ratio(case, peer, other)
    return '-' if value is None else f'{value:.3f}' if value < 0.1 else f'{value:.2f}'


def cell(results, case, peer):
    key = case.path, case.name, peer
    values = results.rounds(case, peer).values()
    if values:
        middle = statistics.median(values)
        spread = (max(values) - min(values)) / 2 / middle * 100
        return f'{figure(middle)}{"?" if key in results.noisy else ""} {f"±{spread:.0f}%":>5}'
    if key in results.failed:
        return 'failed'
    if ('', peer) in results.dead or (case.path, peer) in results.dead:
        return 'n/a'
    return '-'


# What it cost: figures of a record, for the cases that have them
COSTS = (
    ('cpu_ms_per_gib', 'CPU ms/GiB', lambda c: c.value == 'mib_s'),
    ('switches_per_message', 'switches/msg', lambda c: c.value in ('p50_us', 'msg_s')),
    ('p99_us', 'us p99', lambda c: c.value == 'p50_us'),
    ('kib_per_conn', 'KiB/QP pair', lambda c: c.value == 'total_ms'),
    ('threads_per_conn', 'threads/QP pair', lambda c: c.value == 'total_ms'),
)


def cost_rows(results, measured):
    for key, unit, has in COSTS:
        for case in cases.FULL:
            if (case.path, case.name) in measured and has(case):
                row = [f'  {case.path}: {case.name}', unit]
                for peer in results.peers:
                    values = [r[key] for r in results.records[case.path, case.name, peer]]
                    row.append(figure(statistics.median(values)) if values else '-')
                yield row


def print_rows(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        line = [row[0].ljust(widths[0])]
        line += [text.rjust(width) for text, width in zip(row[1:], widths[1:])]
        print('  '.join(line).rstrip())


def main():
    if len(sys.argv) != 2 or sys.argv[1] in ('-h', '--help'):
        print(__doc__.strip())
        sys.exit(0 if len(sys.argv) == 2 else 2)
    results = Results(sys.argv[1])
    measured = {(path, case) for path, case, _ in list(results.values) + list(results.failed)}
    ratios = [r for r in RATIOS if {r[0], r[1]} <= set(results.peers)]
    rows = [['', ''] + results.peers + [name for _, _, name in ratios]]
    path = None
    for case in sorted(cases.FULL, key=lambda c: list(cases.PATHS).index(c.path)):
        if (case.path, case.name) not in measured:
            continue
        if case.path != path:
            path = case.path
            rows.append([cases.PATHS[path] + ':'] + [''] * (len(rows[0]) - 1))
        rows.append(['  ' + case.name, case.unit] +
                    [cell(results, case, peer) for peer in results.peers] +
                    [ratio(results, case, a, b) for a, b, _ in ratios])
    print_rows(rows)
    print()
    print_rows([['what it cost the guest:', ''] + results.peers] +
               list(cost_rows(results, measured)))
    print('\nmedian, and half of the range; ratios: those of the median round, above 1 srnic is better')
    print('guest: Linux {linux}, {cpus} CPUs; {rounds} rounds of {ms} ms'.format(**results.guest))
    for (path, peer), why in results.dead.items():
        print(f'n/a: {peer}{" " + path if path else ""}: {why}')
    for (path, case, peer), why in results.failed.items():
        print(f'failed: {path}: {case}: {peer}: {why}')
    if results.calm:
        share = sum(c >= ENOUGH for c in results.calm) / len(results.calm)
        print(f'the machine was ours in {share:.0%} of all measurements; others count only '
              'where there is nothing else (?)')


if __name__ == '__main__':
    main()
