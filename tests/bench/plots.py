# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""SVG plots of results, all peers side by side. gnuplot draws them: the same results
give the same file."""

import re
import shutil
import statistics
import subprocess
from collections import namedtuple
from pathlib import Path

import cases
from cases import Bad
from hosts import WAN

# file: its name, without .svg
Plot = namedtuple('Plot', 'file title panels about')
# x:     of the axis, or None: the points are groups of bars
# points: (label or x, path, name of the case, figure of its results)
Panel = namedtuple('Panel', 'title unit x points')

COLOURS = {
    'srnic': '#0b5394', 'srnic-crc': '#3d85c6', 'srnic-markers': '#9fc5e8',
    'srnic-large': '#073763', 'vipl': '#8e7cc3',
    'siw': '#b45f06', 'siw-crc': '#f6b26b', 'rxe': '#6aa84f', 'tcp': '#999999', 'ktcp': '#444444',
}
OPS = ('send', 'write', 'read')
LESS, MORE = 'Lower is better.', 'Higher is better.'
SPAN = 20       # figures that differ so much need a logarithmic scale

HOSTS = {'host': 'one host', 'veth1500': 'MTU 1500', 'veth9000': 'MTU 9000'}
MOVING = [(f'{op}, {HOSTS[path]}', path, f'{op} 64 KiB')
          for path in cases.LINES for op in ('write', 'read')] + [
              ('write, 8 QPs, MTU 1500', 'veth1500', 'write 64 KiB x 8 QPs')]
TALKING = [(f'{op}, polling', 'host', f'{op} 64 B, polling') for op in OPS] + [
    (f'{op}, events', 'host', f'{op} 64 B, event-driven') for op in ('send', 'read')]
MANY = [(f'{links}, {HOSTS[path]}', path, f'rdma_connect, {links} at once')
        for path in cases.LINES for links in (200, 1000)]
DISKS = [(what, way) for what in ('NVMe-oF', 'NFS') for way in ('read', 'write')]
IN_MEMORY = 'fio in the guest, disk and file in memory. '
SCALE = [(f'{links} QPs', 'host', f'scale, {links} QPs') for links in (1000, 4000)]


def bars(file, title, unit, points, figure, about):
    return Plot(file, title, [Panel('', unit, None, [(*p, figure) for p in points])], about)


def over_sizes(path):
    yield Plot(f'latency-{path}', f'Latency over size, polling: {cases.PATHS[path]}', [
        Panel(op, 'us, median', 'bytes', [
            (size, path, f'{op} {cases.bytes_of(size)}, polling', 'p50_us')
            for size in cases.SIZES])
        for op in OPS], 'Half of a round trip for Send and Write. ' + LESS)
    yield Plot(f'throughput-{path}', f'Throughput over size, one QP: {cases.PATHS[path]}', [
        Panel(op, 'MiB/s', 'bytes', [
            (size, path, f'{op} {cases.bytes_of(size)}', 'mib_s') for size in cases.SIZES])
        for op in OPS], MORE)
    yield Plot(f'qps-{path}', f'Throughput over QPs, 64 KiB: {cases.PATHS[path]}', [
        Panel(op, 'MiB/s', 'QPs', [
            (links, path, f'{op} 64 KiB' + (f' x {links} QPs' if links > 1 else ''), 'mib_s')
            for links in cases.LINKS])
        for op in OPS], MORE)


PLOTS = [
    bars('latency', 'Latency, 64 B, one host', 'us, median', TALKING, 'p50_us', LESS),
    Plot('tail', 'Latency of a Send of 64 B, one host', [
        Panel('', 'us', None, [(f'{text}, {label}', 'host', f'send 64 B, {wait}', figure)
                               for wait, label in (('polling', 'polling'),
                                                   ('event-driven', 'events'))
                               for text, figure in (('p50', 'p50_us'), ('p99', 'p99_us'),
                                                    ('p99.9', 'p999_us'))])], LESS),
    bars('programs', 'Latency, 64 B, two polling programs a CPU', 'us, median',
         [(op, 'host', f'{op} 64 B, polling, 2 programs a CPU') for op in OPS],
         'p50_us', LESS),
    bars('throughput', 'Throughput, 64 KiB', 'MiB/s', MOVING, 'mib_s', MORE),
    Plot('programs-write', 'Write 64 KiB, MTU 1500: QPs of one program, and of as many programs', [
        Panel(title, 'MiB/s', 'QPs', [
            (num, 'veth1500', f'write 64 KiB{how.format(num) if num > 1 else ""}{wait}', 'mib_s')
            for num in (1, 2, 4, 8)])
        for title, how, wait in (('one program, polling', ' x {} QPs', ''),
                                 ('one program, events', ' x {} QPs', ', event-driven'),
                                 ('programs, events', ', {} programs', ', event-driven'))], MORE),
    bars('cpu', 'CPU time for a GiB, 64 KiB', 'ms of CPU time', MOVING, 'cpu_ms_per_gib',
         'Of the whole guest, both ends. ' + LESS),
    bars('messages', 'Messages of 64 B', 'messages/s',
         [(HOSTS[path], path, 'send 64 B, rate') for path in cases.LINES], 'msg_s', MORE),
    bars('two-way', 'Messages of 64 B that come back', 'messages/s, both ways',
         [(f'{depth}, {HOSTS[path]}', path, f'send 64 B two-way, {depth} outstanding')
          for path in cases.LINES for depth in cases.DEPTHS], 'msg_s',
         'So many outstanding, each of them sent back. ' + MORE),
    bars('wan', 'WAN, 64 KiB', 'MiB/s',
         [(f'{text}, {link}', 'wan', f'{what}, {link}') for link in WAN
          for text, what in (('write', 'write 64 KiB'), ('read', 'read 64 KiB'),
                             ('4 QPs', 'write 64 KiB x 4 QPs'))],
         'mib_s', MORE),
    bars('connections', 'So many connections at once', 'ms until all are up', MANY, 'total_ms',
         LESS),
    bars('memory', 'Kernel memory of a connection, both ends', 'KiB', MANY[:2] + SCALE,
         'kernel_kib_per_conn', LESS),
    bars('scale', 'Writes of 64 B on all QPs at the same time', 'messages/s', SCALE, 'msg_s',
         MORE),
    Plot('register', 'Registering memory', [
        Panel('', 'us for a MiB, median', None, [
            (f'{text}, {size} MiB', 'host', f'register {size} MiB', figure) for size in (1, 16)
            for text, figure in (('register', 'p50_us'), ('deregister', 'dereg_us'))])],
         LESS),
    bars('disks', 'NVMe-oF and NFS, 128 KiB, sequential', 'MiB/s',
         [(f'{what}, {way}', 'disks', f'{what} 128 KiB sequential {way}')
          for what, way in DISKS], 'mib_s', IN_MEMORY + MORE),
    bars('disks-small', 'NVMe-oF and NFS, 4 KiB, random', '1/s',
         [(f'{what}, {way}', 'disks', f'{what} 4 KiB random {way}') for what, way in DISKS],
         'io_s', IN_MEMORY + MORE),
    Plot('disks-tail', 'NVMe-oF and NFS, 4 KiB, random: time until one is done', [
        Panel('', 'us', None, [(f'{text}, {what}, {way}', 'disks', f'{what} 4 KiB random {way}',
                                figure)
                               for what, way in DISKS
                               for text, figure in (('p50', 'p50_us'), ('p99', 'p99_us'))])],
         IN_MEMORY + LESS),
] + [plot for path in cases.LINES for plot in over_sizes(path)]


def values(results, path, name, peer, figure):
    return [r[figure] for r in results.records[path, name, peer] if figure in r]


def has_data(results, plot):
    """A line needs two points."""
    for panel in plot.panels:
        found = {label for label, path, name, figure in panel.points for peer in results.peers
                 if values(results, path, name, peer, figure)}
        if len(found) >= (2 if panel.x else 1):
            return True
    return False


def quoted(text):
    return "'" + str(text).replace("'", "''") + "'"


def number(value):
    return f'{value:.6g}'


def tick(panel, x):
    return cases.bytes_of(x).replace(' ', '').replace('iB', '') if panel.x == 'bytes' else x


def panel_script(results, panel, peers, block):
    """The commands of gnuplot that draw it"""
    points = [p for p in panel.points
              if any(values(results, *p[1:3], peer, p[3]) for peer in peers)]
    if not points:
        return [], ['set multiplot next']
    data, every = [f'{block} << EOD'], []
    for label, path, name, figure in points:
        line = [number(label) if panel.x else '"' + label.replace(', ', '\\n') + '"']
        for peer in peers:
            found = values(results, path, name, peer, figure)
            if found:
                # nothing below zero: memory freed meanwhile is noise
                figures = [max(0, f(found)) for f in (statistics.median, min, max)]
                every += [f for f in figures if f > 0]
                line += [number(f) for f in figures]
            else:
                line += ['?'] * 3
        data.append(' '.join(line))
    data.append('EOD')
    steep = bool(every) and max(every) > SPAN * min(every)
    out = [f'set title {quoted(panel.title)}', f'set ylabel {quoted(panel.unit)}']
    if panel.x:
        low, high = points[0][0], points[-1][0]
        out += [f'set xlabel {quoted(panel.x)}', 'set logscale x 2',
                f'set xrange [{low / 1.5:g}:{high * 1.5:g}]',
                'set xtics (' + ', '.join(
                    f'{quoted(tick(panel, p[0]))} {p[0]}'
                    for p in points) + ')']
    if steep:
        out += ['set logscale y', f'set yrange [{min(every) / 2:g}:{max(every) * 2:g}]']
    else:
        out += ['unset logscale y', 'set yrange [0:*]']
    parts = []
    for i, peer in enumerate(peers):
        columns = ':'.join(str(c) for c in range(2 + 3 * i, 5 + 3 * i))
        colour = quoted(COLOURS[peer])
        if panel.x:
            # gnuplot complains of a line without points
            if any(values(results, *p[1:3], peer, p[3]) for p in points):
                parts.append(f'{block} using 1:{2 + 3 * i} with linespoints notitle '
                             f'lc rgb {colour} pt 7 ps 0.4 lw 1.5')
        else:
            parts.append(f'{block} using {columns}:xtic(1) title {quoted(peer)} lc rgb {colour}')
    out.append('plot ' + ', \\\n    '.join(parts))
    return data, out


def script(results, plot, file):
    peers = [p for p in results.peers
             if any(values(results, path, name, p, figure)
                    for panel in plot.panels for _, path, name, figure in panel.points)]
    lines = plot.panels[0].x is not None
    groups = sum(len(panel.points) for panel in plot.panels)
    width = 1040 if lines else max(520, min(1040, 220 + 30 * groups * len(peers) // 2))
    out = [f'set terminal svg size {width},400 font "sans,12" noenhanced background rgb "white"',
           f'set output {quoted(file)}',
           'set datafile missing "?"',
           'set grid ytics lc rgb "#dddddd"', 'set border 3',
           'set tics nomirror', 'set xtics font ",9"', 'set tmargin 3',
           f'set bmargin {4 if lines else 5}',
           'set style fill solid 0.9 noborder', 'set style data histograms',
           'set style histogram errorbars gap 1.5 lw 1',
           'set errorbars 0.5 front lc rgb "black"']
    data, draw = [], []
    for i, panel in enumerate(plot.panels):
        block, commands = panel_script(results, panel, peers, f'$panel{i}')
        data += block
        draw += commands
    out += data
    if lines:
        # the fourth one has the names of the lines
        out += [f'set multiplot layout 1,{len(plot.panels) + 1} title {quoted(plot.title)}'] + draw
        out += ['unset logscale', 'unset border', 'unset tics', 'unset grid', 'unset xlabel',
                'unset ylabel', 'unset title', 'set xrange [0:1]', 'set yrange [0:1]',
                'set key left center',
                'plot ' + ', \\\n    '.join(
                    f'NaN with linespoints title {quoted(p)} lc rgb {quoted(COLOURS[p])} '
                    'pt 7 ps 0.4 lw 1.5' for p in peers), 'unset multiplot']
    else:
        out += ['set key outside right top', *draw[:1], f'set title {quoted(plot.title)}',
                *draw[1:]]
    return '\n'.join(out) + '\n'


def draw(results, plot, file):
    if not shutil.which('gnuplot'):
        raise Bad('there is no gnuplot; scripts/setup bench')
    done = subprocess.run(['gnuplot'], input=script(results, plot, file), capture_output=True,
                          text=True, check=False)
    if done.returncode or done.stderr.strip():
        raise Bad(f'gnuplot: {plot.file}: {done.stderr.strip() or done.returncode}')
    shrink(Path(file))


def shrink(file):
    """Half of gnuplot's output draws nothing, and is removed."""
    text = file.read_text(encoding='utf-8')
    text = re.sub(r'<desc>.*?</desc>\n?', '', text)
    text = re.sub(r'<defs>.*?</defs>', lambda m: '<defs>' + ''.join(
        re.findall(r"<[^<]*id='gpPt[56]'[^<]*/>", m[0])) + '</defs>', text, flags=re.S)
    before = ''
    while text != before:
        before = text
        text = re.sub(r'<g [^<>]*>\s*</g>\n*', '', text)
    text = re.sub(r'\n\s*', '\n', text)
    file.write_text(text, encoding='utf-8')
