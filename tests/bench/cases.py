# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""What is measured: cases, their paths and peers. What is required of them."""

from collections import namedtuple
from pathlib import Path

from hosts import CONGESTION, INCAST, PEERS, SENDERS, WAN

HERE = Path(__file__).resolve().parent

# name:    unique on a path
# path:    one of PATHS
# args:    for bench client
# value:   the figure of its result that counts, and its unit
# better:  'less' or 'more'
# pairs:   programs that do the same at the same time, each with a server's process of its own
# link:    of hosts.WAN, or of hosts.INCAST, on these paths
# longer:  it takes so many times as long as others
Case = namedtuple('Case', 'name path args value unit better pairs link longer',
                  defaults=[1, None, 1])


class Bad(Exception):
    """The contents of a file are wrong; the text says how."""


def bytes_of(size):
    for unit, what in ((1 << 20, 'MiB'), (1 << 10, 'KiB')):
        if size >= unit:
            return f'{size // unit} {what}'
    return f'{size} B'


def latency(path, op, size, wait, pairs=1):
    # Programs that poll, or look in memory, need a CPU each, or they wait for each other's time
    # slice; but this wait is what the cases with several pairs measure
    pin = 0 if wait == 'event' else 1
    how = {'poll': 'polling', 'event': 'event-driven', 'memory': 'looking in memory'}
    name = f'{op} {bytes_of(size)}, {how[wait]}'
    if pairs > 1:
        name += f', {pairs} programs a CPU'
    return Case(name, path, {'do': 'latency', 'op': op, 'size': size, 'wait': wait, 'pin': pin},
                'p50_us', 'us p50', 'less', pairs)


def stream(path, op, size, links=1, depth=16, wait='poll', pairs=1):
    name = f'{op} {bytes_of(size)}' + (f' x {links} QPs' if links > 1 else '')
    if pairs > 1:
        name += f', {pairs} programs'
    if wait != 'poll':
        name += ', event-driven'
    return Case(name, path,
                {'do': 'stream', 'op': op, 'size': size, 'links': links, 'depth': depth,
                 'wait': wait}, 'mib_s', 'MiB/s', 'more', pairs)


def wan(op, links, link, wait='poll'):
    """8 MiB under way, more than any of these holds, and long enough for TCP to find out how much
    that is, which the first, short phase is for"""
    case = stream('wan', op, 65536, links, 128 // links, wait)
    return case._replace(name=f'{case.name}, {link}', link=link, longer=8,
                         args=dict(case.args, limit=60))


def incast(link):
    """From each host to the one that all send to: as much as possible; and one message at a time,
    which is sent back, as many at each rate"""
    slower = 1 if link in CONGESTION else 5
    write = stream('incast', 'write', 65536, wait='event', pairs=SENDERS)
    send = latency('incast', 'send', 65536, 'event', SENDERS)._replace(value='p99_us',
                                                                       unit='us p99')
    for case, name in ((write, 'write 64 KiB'), (send, 'send 64 KiB')):
        if case is send or slower == 1:
            yield case._replace(name=f'{name}, {SENDERS} to 1, {link}', link=link,
                                longer=4 * slower, args=dict(case.args, limit=60 * slower))


def rate(path, op, size, depth=128):
    return Case(f'{op} {bytes_of(size)}, rate', path,
                {'do': 'stream', 'op': op, 'size': size, 'depth': depth},
                'msg_s', 'msg/s', 'more')


def echo(path, depth):
    """Messages that come back, so many under way; those of both directions count"""
    return Case(f'send 64 B two-way, {depth} outstanding', path,
                {'do': 'echo', 'op': 'send', 'size': 64, 'depth': depth, 'wait': 'poll', 'pin': 1},
                'msg_s', 'msg/s', 'more')


def connect(path, links):
    return Case(f'rdma_connect, {links} at once', path, {'do': 'connect', 'links': links},
                'total_ms', 'ms', 'less')


def turnover(path, links):
    """Connections one after the other; over the first ones slabs grow to what is needed"""
    return Case(f'connect and disconnect, {links:,} in a row', path,
                {'do': 'turnover', 'links': links, 'limit': 120}, 'conn_s', 'connections/s', 'more')


def scale(path, links):
    """Many QPs: idle, and then a Write on each at the same time"""
    return Case(f'scale, {links} QPs', path,
                {'do': 'scale', 'op': 'write', 'size': 64, 'links': links, 'depth': 1,
                 'limit': 300}, 'msg_s', 'msg/s', 'more')


def register(path, size):
    return Case(f'register {bytes_of(size)}', path, {'do': 'register', 'size': size},
                'p50_us', 'us/MiB p50', 'less')


def disk(what, rw, size, depth):
    """What the kernel's own users of RDMA read and write: tests/bench/disks.py. fio itself takes a
    part of a second, which is in the CPU time."""
    way = rw.removeprefix('rand')
    how = f'{"sequential" if way == rw else "random"} {way}'
    value, unit, better = 'io_s', f'{way}s/s', 'more'
    if way == rw:
        value, unit = 'mib_s', 'MiB/s'
    elif depth == 1:
        how, value, unit, better = f'{how}, one at a time', 'p50_us', 'us p50', 'less'
    return Case(f'{"NVMe-oF" if what == "nvme" else "NFS"} {bytes_of(size)} {how}', 'disks',
                {'do': 'disk', 'what': what, 'rw': rw, 'size': size, 'depth': depth},
                value, unit, better, longer=3)


PATHS = {
    'host': 'one host, MTU 65536',
    'veth1500': 'two hosts, veth, MTU 1500',
    'veth9000': 'two hosts, veth, MTU 9000',
    'wan': 'two hosts, netem, MTU 1500',
    'incast': f'{SENDERS} hosts to one, 1 Gbit/s or less with ECN, MTU 1500',
    'disks': 'NVMe-oF and NFS, two interfaces of one host, MTU 1500',
}

# For the program; disks.py has its own cases
LINES = ('host', 'veth1500', 'veth9000')

QUICK = [
    latency('host', 'send', 64, 'poll'),
    latency('host', 'write', 64, 'poll'),
    latency('host', 'read', 64, 'poll'),
    latency('host', 'send', 64, 'event'),
    stream('host', 'write', 65536),
    stream('host', 'read', 65536),
    rate('host', 'send', 64),
    echo('host', 32),
    connect('host', 200),
    connect('veth1500', 200),
    stream('veth1500', 'write', 65536),
    stream('veth1500', 'read', 65536),
    stream('veth1500', 'write', 65536, links=8),
    stream('veth1500', 'write', 65536, wait='event', pairs=8),
    stream('veth9000', 'write', 65536),
]

SIZES = (64, 4096, 65536, 1 << 20)
LINKS = (1, 8, 64)
DEPTHS = (1, 8, 32)
# Bytes under way on all links together: at the end of a measurement these still have to arrive,
# and slow peers take long.
UNDER_WAY = 16 << 20


def wide(path):
    """All sizes, operations and numbers of links, on one path"""
    for op in ('send', 'write', 'read'):
        for size in SIZES:
            yield latency(path, op, size, 'poll')
            if op != 'write':
                yield latency(path, op, size, 'event')
    for op in ('send', 'write', 'read'):
        for size in SIZES:
            for links in LINKS:
                depth = max(1, min(16, UNDER_WAY // (size * links)))
                yield stream(path, op, size, links, depth)
    yield rate(path, 'send', 64)
    for depth in DEPTHS:
        yield echo(path, depth)
    for links in (200, 1000):
        yield connect(path, links)


def spread():
    """As many QPs of one program, and of programs with one each. These sleep: programs that poll
    and are more than the CPUs would measure the scheduler. One program polls, too."""
    for num in (1, 2, 4, 8):
        yield stream('veth1500', 'write', 65536, links=num)
        yield stream('veth1500', 'write', 65536, links=num, wait='event')
        yield stream('veth1500', 'write', 65536, pairs=num, wait='event')


# Cases of one path, or of any
ONCE = [latency('host', op, 64, 'poll', pairs=2) for op in ('send', 'write', 'read')] + [
    latency('host', 'send', 64, 'memory'),
    register('host', 1 << 20),
    register('host', 16 << 20),
    turnover('veth1500', 10000),
    scale('host', 1000),
    scale('host', 4000),
] + [disk(what, *how) for what in ('nvme', 'nfs')
     for how in (('randread', 4096, 1), ('randread', 4096, 32), ('randwrite', 4096, 32),
                 ('read', 131072, 8), ('write', 131072, 8))] + [
    wan(*how, link) for link in WAN for how in (('write', 1), ('read', 1), ('write', 4))
] + [
    # a program that polls keeps one of two CPUs from all that this rate takes
    wan(op, 1, next(iter(WAN)), 'event') for op in ('write', 'read')
] + [case for link in INCAST for case in incast(link)]

# Some are in several of the lists.
FULL = list({(c.path, c.name): c for c in [
    *QUICK, *(c for path in LINES for c in wide(path)), *spread(), *ONCE]}.values())

# Peers that are measured with --full or by name only
FULL_PEERS = ('srnic-markers', 'srnic-large')

# Others on a WAN tell nothing that the paths without delay do not.
WAN_PEERS = ('srnic', 'srnic-crc', 'siw', 'tcp')
INCAST_PEERS = ('srnic', 'srnic-crc', 'tcp')

BY_NAME = {(c.path, c.name): c for c in FULL}


def has(case, peer):
    """Whether this peer supports the case at all, and whether the result has a meaning."""
    do, op, size = case.args['do'], case.args.get('op'), case.args.get('size')
    if case.path == 'wan' and peer.name not in WAN_PEERS:
        return False
    if case.path == 'incast' and peer.name not in INCAST_PEERS:
        return False
    if case.args.get('wait') == 'memory' and peer.net != 'vipl':
        return False
    if do == 'disk':
        return peer.net in ('verbs', 'tcp') and peer.name not in FULL_PEERS
    if peer.net == 'ktcp':
        return do == 'stream' and op != 'read' and size >= 4096
    if peer.net == 'vipl':
        return case.pairs == 1 and (
            do == 'latency' and op == 'send' and size <= 65536 or
            do == 'stream' and op == 'write' and size <= 65536 and case.args['links'] == 1 and
            case.args['wait'] == 'poll')
    if peer.net == 'tcp':
        return do not in ('register', 'turnover')
    if peer.name in FULL_PEERS:
        return case.pairs == 1 and (do == 'stream' and size == 65536 or
                                    do == 'latency' and size == 64)
    return True


def rows(path):
    """The lines of a table in a file, without spaces and comments: (where, [field...])"""
    with open(path, encoding='utf-8') as f:
        for number, line in enumerate(f, 1):
            line = line.partition('#')[0].strip()
            if line:
                yield f'{path}:{number}', [part.strip() for part in line.split('|')]


# Figures beside the one that counts, for which there are bounds: all of them times, and their
# names for a reader
TIMES = {'p50_us': 'p50', 'p99_us': 'p99', 'cpu_ms_per_gib': 'CPU time of a GiB',
         'disconnect_ms': 'disconnect'}


class Bound(namedtuple('Bound', 'case figure peer beside others least')):
    """case, peer: of srnic; figure: of the results; beside: the case that it is compared with, in
    most bounds the same one; others: the peers that it is compared with, the best of them if
    several; least: how many times as good it must be, see Results.ratio"""

    @property
    def title(self):
        name = self.case.name
        if self.figure != self.case.value:
            name += f', {TIMES[self.figure]}'
        return name if self.beside == self.case else f'{name} : {self.beside.name}'

    @property
    def better(self):
        return self.case.better if self.figure == self.case.value else 'less'


def case_of(where, host, name):
    if (host, name) not in BY_NAME:
        raise Bad(f'{where}: no case "{name}" on path "{host}"')
    return BY_NAME[host, name]


def bounds(path):
    """A file of bounds: tests/bench/bounds, tests/bench/wanted"""
    for where, fields in rows(path):
        if len(fields) != 4:
            raise Bad(f'{where}: not path | case | peers | bound')
        host, names, peers, least = fields
        names, _, figure = names.removesuffix(']').partition(' [')
        name, _, beside = (part.strip() for part in names.partition(':'))
        case = case_of(where, host, name)
        if figure not in ('', *TIMES):
            raise Bad(f'{where}: no figure "{figure}"')
        peer, _, others = (part.strip() for part in peers.partition(':'))
        if not peer or not others:
            raise Bad(f'{where}: "{peers}" is not PEER : PEER')
        others = tuple(p.strip() for p in others.split(','))
        for known in {peer, *others} - PEERS.keys():
            raise Bad(f'{where}: no peer "{known}"')
        time = least.endswith('of its time')
        try:
            number = float(least.removesuffix('of its time'))
        except ValueError:
            raise Bad(f'{where}: "{least}" is no number') from None
        bound = Bound(case, figure or case.value, peer,
                      case_of(where, host, beside) if beside else case, others,
                      1 / number if time and number > 0 else number)
        if time and (bound.better != 'less' or number <= 0):
            raise Bad(f'{where}: "{least}": of a case that is no time')
        yield bound


def wanted():
    return list(bounds(HERE / 'wanted'))
