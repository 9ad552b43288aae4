#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""usage: tests/bench/publish.py [--into DIR] [--restless WHY] [RESULTS.jsonl...]

Write what tests/bench/run measured (default: build/bench/out/results.jsonl):

  Documentation/benchmarks.md      all of it; but what stands between the two lines of
                                   the findings is written by hand, and stays
  Documentation/benchmarks/*.svg   plots, drawn by gnuplot (scripts/setup bench)
  README.md                        what stands between the two lines of the figures

The first file of results is the one of README.md. Each other one, of another kernel or
of other cases, has a part of its own. --into DIR writes below DIR and not below the top
of the tree. The same results give the same files.

Where other programs had the machine in more than a fifth of the measurements, nothing is
written, unless --restless says why such results are published; the reason is published
as well.
"""

import argparse
import sys
from pathlib import Path

import cases
import plots
from cases import Bad
from hosts import PEERS
from report import (Results, cell, costs, figure, goals, machine_lines,
                    ratio_text, ratios_of)

TOP = Path(__file__).resolve().parent.parent.parent
DOC = 'Documentation/benchmarks.md'
PLOTS = 'Documentation/benchmarks'
FINDINGS = ('<!-- findings: begin; by hand -->', '<!-- findings: end -->')
FIGURES = ('<!-- figures: begin; tests/bench/publish.py writes them -->', '<!-- figures: end -->')
# In README.md: with CRC, the default, and without it where it is optional
SHORT = ('srnic-crc', 'srnic', 'siw', 'rxe', 'tcp', 'ktcp')
RIVALS = ('siw', 'rxe')
SHORT_RATIOS = (*(('srnic', other) for other in ('siw', 'rxe', 'tcp', 'ktcp')),
                ('srnic-crc', 'srnic'))
CALM = 0.8      # share of the measurements in which the machine must have been ours
HEADS = {'srnic-crc': 'srnic, CRC', 'tcp': 'TCP', 'ktcp': 'TCP in the kernel'}

INTRO = """\
srnic is measured beside the two other software RDMA devices of Linux, siw and rxe, beside
programs on TCP sockets, and beside TCP inside the kernel, which an iWARP device has below
it. The program is the same for all RDMA devices, and the peers take turns: round by
round, case by case. [testing.rst](testing.rst) tells how, and what is measured in each
case. All cases that were measured are here, those that a peer wins as well.

tests/bench/publish.py writes this file from the results; the findings are written by hand.
"""

READING = """\
A figure is the median of the rounds in which the machine was as fast as it can be, if these
are most of them; else, with `?`, of all rounds. ± is half of the distance between the largest
and the smallest value of these rounds. Ratios tell how many times as good srnic is as the peer,
in the median of all rounds, so they are not those of the figures: above 1 srnic is faster, and below 1, in **bold**, the peer is. `crc:crc` is srnic
with CRC beside siw with CRC, `crc:tcp` and `crc:ktcp` srnic with CRC beside TCP, and
`crc:off` what CRC costs: the same device with it beside that without it. `n/a`: the peer
has no device there; `-`: there is no such case for it.
"""


def text_of(value):
    """For a cell of a table"""
    return ' '.join(str(value).replace('|', '\\|').replace('<', '&lt;').split())


def table(head, rows, left=1):
    """left: columns of words; the others are of figures"""
    yield '| ' + ' | '.join(head) + ' |'
    yield '| ' + ' | '.join(['---'] * left + ['---:'] * (len(head) - left)) + ' |'
    for row in rows:
        yield '| ' + ' | '.join(text_of(c) for c in row) + ' |'


def bold_below_one(value):
    """A ratio in words: which of the two is faster"""
    text = ratio_text(value)
    return f'**{text}**' if value is not None and value < 1 else text


def between(text, marks, where):
    """(what comes before the two lines, what stands between them, what comes after)"""
    if text.count(marks[0]) != 1 or text.count(marks[1]) != 1:
        raise Bad(f'{where}: the lines "{marks[0]}" and "{marks[1]}" have to be there once')
    before, rest = text.split(marks[0])
    if marks[1] not in rest:
        raise Bad(f'{where}: "{marks[1]}" comes before "{marks[0]}"')
    inner, after = rest.split(marks[1])
    return before, inner, after


# --- parts of benchmarks.md -------------------------------------------------------

def how(results):
    rows = [(what, f'`{text}`' if what == 'command' else text)
            for what, text in machine_lines(results)]
    rows += [(f'n/a: {peer}{" " + path if path else ""}', why)
             for (path, peer), why in results.dead.items()]
    yield from table(('', ''), rows, 2)
    yield ''
    yield from table(('Peer', ''), [(p, PEERS[p].what) for p in results.peers], 2)


def wanted(results):
    """Nothing, if none of it was measured"""
    rows = [(cases.PATHS[bound.case.path], bound.title,
             f'{bound.peer} : {" or ".join(bound.others)}', f'{bound.least:.2f}',
             ratio_text(value), met) for bound, value, met in goals(results)]
    if not rows:
        return
    met = sum(row[-1] == 'yes' for row in rows)
    yield (f'So many times as good as the peer, or the best one of several, or as another case of '
           f'the same one, srnic is to be '
           f'(tests/bench/wanted). {met} of {len(rows)} are met.')
    yield ''
    yield from table(('Path', 'Case', 'Peers', 'Wanted', 'Measured', 'Met'), rows, 3)


def plots_of(results, number, into):
    """Draw them; the lines that include them. A later run has file names of its own."""
    folder = into / PLOTS
    folder.mkdir(parents=True, exist_ok=True)
    for plot in plots.PLOTS:
        if plots.has_data(results, plot):
            name = f'{plot.file}{"" if number == 1 else f"-{number}"}.svg'
            plots.draw(results, plot, folder / name)
            yield f'![{plot.title}](benchmarks/{name})'
            yield ''
            yield plot.about
            yield ''


def figures(results, path):
    ratios = ratios_of(results)
    rows = [[case.name, case.unit] + [cell(results, case, peer) for peer in results.peers] +
            [bold_below_one(results.ratio(case, a, b)) for a, b, _ in ratios]
            for case in results.cases() if case.path == path]
    yield from table(['Case', ''] + results.peers + [name for _, _, name in ratios], rows)
    rows = [[case.name, unit] + [figure(medians[p]) if p in medians else '-' for p in results.peers]
            for case, _, unit, medians in costs(results, path)]
    if rows:
        yield ''
        yield 'What it cost the whole guest, both ends, and the tails of latencies:'
        yield ''
        yield from table(['Case', ''] + results.peers, rows)


def part(results, number, into, level):
    """A run"""
    sharps = '#' * level
    yield f'{sharps} How it was measured'
    yield ''
    yield from how(results)
    yield ''
    goal_lines = list(wanted(results))
    if goal_lines:
        yield f'{sharps} What is wanted'
        yield ''
        yield from goal_lines
        yield ''
    yield f'{sharps} Plots'
    yield ''
    yield from plots_of(results, number, into)
    for path in cases.PATHS:
        if any(case.path == path for case in results.cases()):
            yield f'{sharps} {cases.PATHS[path][0].upper()}{cases.PATHS[path][1:]}'
            yield ''
            yield from figures(results, path)
            yield ''
    if results.failed:
        yield f'{sharps} What failed'
        yield ''
        yield from table(('Path', 'Case', 'Peer', 'Why'),
                         [(*key, why) for key, why in results.failed.items()], 4)
        yield ''


def benchmarks(runs, into):
    """The text of benchmarks.md"""
    try:
        old = (into / DOC).read_text(encoding='utf-8')
    except FileNotFoundError:
        old = '\n'.join((FINDINGS[0], FINDINGS[1]))
    findings = between(old, FINDINGS, into / DOC)[1].strip('\n')
    lines = ['<!-- SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause -->', '# Benchmarks', '',
             *INTRO.splitlines(), '', '## How to read the tables', '', *READING.splitlines(), '']
    for number, results in enumerate(runs, 1):
        if number > 1:
            lines += [f'## Another run: Linux {results.guest["linux"]}', '']
        lines += part(results, number, into, 2 if number == 1 else 3)
    lines += ['## Findings', '', FINDINGS[0], *findings.splitlines(), FINDINGS[1]]
    return '\n'.join(lines).rstrip('\n') + '\n'


# --- README.md -------------------------------------------------------------------

def short(results):
    """The figures of README.md: the cases of QUICK"""
    peers = [p for p in SHORT if p in results.peers]
    rivals = [p for p in RIVALS if p in peers]
    pairs = [pair for pair in SHORT_RATIOS if {*pair} <= {*peers}]
    rows, ahead, seen = [], 0, 0
    for case in results.cases():
        if case not in cases.QUICK:
            continue
        known = [r for r in (results.ratio(case, 'srnic', rival) for rival in rivals)
                 if r is not None]
        seen += bool(known)
        ahead += bool(known) and min(known) >= 1
        rows.append([f'{case.name}; {plots.HOSTS[case.path]}', case.unit] +
                    [cell(results, case, peer) for peer in peers] +
                    [bold_below_one(results.ratio(case, *pair)) for pair in pairs])
    if not rows:
        raise Bad('README.md has the cases of QUICK, and the results have none of them')
    m, g = results.machine, results.guest
    yield (f'Medians of {g["rounds"]} rounds; ratios in **bold** where srnic is slower. It is '
           f'faster than {" and ".join(rivals)} in {ahead} of {seen} rows.')
    yield ('srnic and siw are without CRC, but where it is said; srnic asks for it by default, '
           f'and rxe always has one. {m["cpu"]}, {g["cpus"]} CPUs; '
           f'{m["where"]}, Linux {g["linux"]}; {m["date"]}.')
    if results.restless:
        yield (f'In {results.calm_share():.0%} of the measurements the machine was as fast as it '
               f'can be; {text_of(results.restless)}')
    yield ''
    yield from table(['', ''] + [HEADS.get(p, p) for p in peers] +
                     [f'{HEADS.get(a, a)} : {HEADS.get(b, b)}' for a, b in pairs], rows)
    yield ''
    yield '`make bench` and `make bench-report` take them again;'
    yield f'[benchmarks.md]({DOC}) has all cases, and what stands in the way.'


def readme(results, into):
    path = into / 'README.md'
    if not path.exists():
        path = TOP / 'README.md'
    before, _, after = between(path.read_text(encoding='utf-8'), FIGURES, path)
    return before + '\n'.join([FIGURES[0], *short(results), FIGURES[1]]) + after


def publish(options):
    files = options.results or [TOP / 'build/bench/out/results.jsonl']
    runs = [Results(f) for f in files]
    for file, results in zip(files, runs):
        if not results.machine:
            raise Bad(f'{file}: no machine in it: was the run ended?')
        if results.calm_share() < CALM:
            results.restless = options.restless
            if not results.restless:
                raise Bad(f'{file}: only in {results.calm_share():.0%} of the measurements the '
                          f'machine was calm, {CALM:.0%} are wanted; --restless WHY publishes them')
    into = options.into.resolve()
    # Everything is checked before anything is written.
    text = readme(runs[0], into)
    for old in (into / PLOTS).glob('*.svg'):
        old.unlink()
    (into / PLOTS).mkdir(parents=True, exist_ok=True)
    (into / DOC).write_text(benchmarks(runs, into), encoding='utf-8')
    (into / 'README.md').write_text(text, encoding='utf-8')
    print(f'{DOC}, {len(list((into / PLOTS).glob("*.svg")))} plots in {PLOTS}, README.md; '
          f'the machine was as fast as it can be in {runs[0].calm_share():.0%} of the measurements')


def main():
    parser = argparse.ArgumentParser(description=__doc__, usage=argparse.SUPPRESS,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--into', type=Path, default=TOP, help=argparse.SUPPRESS)
    parser.add_argument('--restless', default='', metavar='WHY', help=argparse.SUPPRESS)
    parser.add_argument('results', nargs='*', type=Path, help=argparse.SUPPRESS)
    try:
        publish(parser.parse_args())
    except (Bad, OSError) as why:
        sys.exit(f'publish.py: {why}')


if __name__ == '__main__':
    main()
