# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""What is measured: cases, and on which paths."""

from collections import namedtuple

# name:    unique on a path
# path:    one of PATHS
# args:    for bench client
# value:   the figure of its result that counts, and its unit
# better:  'less' or 'more'
Case = namedtuple('Case', 'name path args value unit better')


def bytes_of(size):
    for unit, what in ((1 << 20, 'MiB'), (1 << 10, 'KiB')):
        if size >= unit:
            return f'{size // unit} {what}'
    return f'{size} B'


def latency(path, op, size, wait):
    # Programs that poll have a CPU each, or they would wait for each other's time slice
    pin = 1 if wait == 'poll' else 0
    return Case(f'{op} {bytes_of(size)}, {"polling" if wait == "poll" else "event-driven"}', path,
                {'do': 'latency', 'op': op, 'size': size, 'wait': wait, 'pin': pin},
                'p50_us', 'us p50', 'less')


def stream(path, op, size, links=1, depth=16, wait='poll'):
    name = f'{op} {bytes_of(size)}' + (f' x {links} QPs' if links > 1 else '')
    if wait != 'poll':
        name += ', event-driven'
    return Case(name, path,
                {'do': 'stream', 'op': op, 'size': size, 'links': links, 'depth': depth,
                 'wait': wait}, 'mib_s', 'MiB/s', 'more')


def rate(path, op, size, depth=128):
    return Case(f'{op} {bytes_of(size)}, rate', path,
                {'do': 'stream', 'op': op, 'size': size, 'depth': depth},
                'msg_s', 'msg/s', 'more')


def connect(path, links):
    return Case(f'rdma_connect, {links} at once', path, {'do': 'connect', 'links': links},
                'total_ms', 'ms', 'less')


PATHS = {
    'host': 'one host, MTU 65536',
    'veth1500': 'two hosts, veth, MTU 1500',
    'veth9000': 'two hosts, veth, MTU 9000',
}

QUICK = [
    latency('host', 'send', 64, 'poll'),
    latency('host', 'write', 64, 'poll'),
    latency('host', 'read', 64, 'poll'),
    latency('host', 'send', 64, 'event'),
    stream('host', 'write', 65536),
    stream('host', 'read', 65536),
    rate('host', 'send', 64),
    connect('host', 200),
    stream('veth1500', 'write', 65536),
    stream('veth1500', 'read', 65536),
    stream('veth1500', 'write', 65536, links=8),
    stream('veth9000', 'write', 65536),
]

SIZES = (64, 4096, 65536, 1 << 20)
# Bytes under way on all links together: what is under way at the end of a measurement
# has to arrive, and slow peers take their time.
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
            for links in (1, 8, 64):
                depth = max(1, min(16, UNDER_WAY // (size * links)))
                yield stream(path, op, size, links, depth)
    yield rate(path, 'send', 64)
    for links in (200, 1000):
        yield connect(path, links)


FULL = QUICK + [c for path in PATHS for c in wide(path)
                if (c.path, c.name) not in {(q.path, q.name) for q in QUICK}]
