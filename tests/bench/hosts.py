# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Peers, and the hosts that they talk between."""

import json
import os
import subprocess
import time
from collections import namedtuple

# link: type of the RDMA link, or None; module: the module to load for it; policy: of a device of
# srnic; what: description for the reader
Peer = namedtuple('Peer', 'name net link module policy what')

PEERS = {p.name: p for p in (
    Peer('srnic', 'verbs', 'srnic', 'srnic', {'crc': 'off'}, 'srnic without CRC'),
    Peer('srnic-crc', 'verbs', 'srnic', 'srnic', {'crc': 'required'}, 'srnic with CRC'),
    Peer('srnic-markers', 'verbs', 'srnic', 'srnic', {'crc': 'off', 'markers': 'on'},
         'srnic with MPA markers, without CRC'),
    Peer('srnic-large', 'verbs', 'srnic', 'srnic', {'crc': 'off', 'max_fpdu': 'auto'},
         'srnic with FPDUs of 32 KiB, without CRC'),
    Peer('vipl', 'vipl', 'srnic', 'srnic', {'crc': 'off'}, 'libvipl on srnic without CRC'),
    Peer('siw', 'verbs', 'siw', 'siw', {}, 'siw, without CRC'),
    Peer('siw-crc', 'verbs', 'siwcrc', 'siw_crc', {}, 'siw built to require CRC'),
    Peer('rxe', 'verbs', 'rxe', 'rdma_rxe', {}, 'rxe: RoCEv2, always with CRC'),
    Peer('tcp', 'tcp', None, None, {}, 'programs on sockets'),
    Peer('ktcp', 'ktcp', None, 'srnic_bench', {}, 'TCP inside the kernel'),
)}


# Of the interfaces, where there are two hosts
MTUS = {'veth1500': 1500, 'veth9000': 9000, 'wan': 1500, 'incast': 1500}

# A path of many kilometres, with room for all that is sent: nothing is lost but by chance.
# rtt_ms: there and back; rate, loss: of each direction
Link = namedtuple('Link', 'rtt_ms rate loss', defaults=[None])

WAN = {
    '20 ms, 1 Gbit/s': Link(20, '1gbit'),
    '100 ms, 100 Mbit/s': Link(100, '100mbit'),
    '20 ms, 200 Mbit/s, 0.1 % loss': Link(20, '200mbit', '0.1%'),
}

# Many hosts send to one, through the port of a switch that is slower than theirs. Its queue marks
# packets, and loses them when it is full. The names are those of TCP's congestion controls.
SENDERS = 16
CONGESTION = ('cubic', 'dctcp', 'bbr')
# Two CPUs do not do what programs do with messages at 1 Gbit/s: then they are what all wait for.
# The same queue at a fifth of the rate tells what the network does.
RATES = {'': '1gbit', ', 200 Mbit/s': '200mbit'}
INCAST = {control + name: (control, rate) for name, rate in RATES.items() for control in CONGESTION}
# TCP hands so many segments over at once, which are marked or lost together: each by itself would
# take more of two CPUs than they have, and 45 of 64 KiB would be another queue.
SEGMENTS = 8
BOTTLENECK = ['tbf', 'burst', '32kb', 'limit', '1mb', 'rate']
QUEUE = ['red', 'limit', 1000000, 'min', 100000, 'max', 300000, 'avpkt', 1500, 'burst', 120,
         'probability', 0.1, 'ecn', 'bandwidth']
INCAST_MODULES = ('tcp_dctcp', 'tcp_bbr', 'sch_red')


class Failed(Exception):
    """A command of the set-up failed; the text says which and why."""


def sh(*command, limit=20):
    """Run a command. Bounded: a peer may hang."""
    text = ' '.join(str(c) for c in command)
    try:
        done = subprocess.run([str(c) for c in command], capture_output=True, text=True,
                              timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        raise Failed(f'{text}: not done after {limit} s') from None
    if done.returncode:
        raise Failed(f'{text}: {(done.stderr or done.stdout).strip()}')
    return done.stdout


def netem(link):
    """The words for tc, for each of the two ends"""
    words = ['netem', 'limit', 20000, 'delay', f'{link.rtt_ms / 2:g}ms', 'rate', link.rate]
    return words + ['loss', link.loss] if link.loss else words


def is_active(device):
    try:
        return 'state ACTIVE' in sh('rdma', 'link', 'show', f'{device}/1')
    except Failed:
        return False


class Hosts:
    """Netns h1 and h2 with a pair of interfaces for each peer, or h1 alone. On the path disks it
    is the initial netns, the only one that the kernel's own users of RDMA know."""

    def __init__(self, path, peers):
        self.path = path
        self.peers = peers
        self.devices = []
        self.dead = {}          # peer: why it has no device
        self.client = None if path == 'disks' else 'h1'
        self.server = {'disks': None, 'host': 'h1'}.get(path, 'h2')
        self.clients = [f'c{n}' for n in range(SENDERS)] if path == 'incast' else [self.client]
        self.rules = []
        self.ends = []          # (netns, interface), of two hosts
        self.slow = []          # ports of the switch to the server, of an incast
        self.link = None
        self.netns = sorted({*self.clients, self.server} - {None})
        if path == 'incast':
            self.netns.append('switch')
        for ns in self.netns:
            sh('ip', 'netns', 'add', ns)
            sh('ip', '-n', ns, 'link', 'set', 'lo', 'up')
        if path == 'disks':
            self.one_netns()
        for i, peer in enumerate(peers):
            try:
                self.add(i, peer)
            except Failed as why:
                self.dead[peer.name] = str(why)
        if path in ('wan', 'incast'):
            try:
                self.shape(next(iter(WAN if path == 'wan' else INCAST)))
            except Failed:
                self.end()
                raise

    def shape(self, name):
        """Make all pairs a link of WAN. netem loses packets as TCP makes them, of up to 64 KiB, and
        those of one peer are larger than those of another. A link that loses gets them segment
        by segment, as a router does, so that each peer loses as many of as many bytes. Or make
        the switch's port to the server one of INCAST, and let all hosts use its congestion control,
        in connections they make from now on."""
        if name == self.link:
            return
        if self.path == 'incast':
            control, rate = INCAST[name]
            # what other namespaces than the first may use
            sh('sysctl', '-qw', f'net.ipv4.tcp_allowed_congestion_control=reno {" ".join(CONGESTION)}')
            for ns in (*self.clients, self.server):
                sh('ip', 'netns', 'exec', ns, 'sysctl', '-qw', 'net.ipv4.tcp_ecn=1',
                   f'net.ipv4.tcp_congestion_control={control}')
            for port in self.slow:
                slow = ['tc', '-n', 'switch', 'qdisc', 'replace', 'dev', port]
                sh(*slow, 'root', 'handle', '1:', *BOTTLENECK, rate)
                sh(*slow, 'parent', '1:1', 'handle', '2:', *QUEUE, rate)
            self.link = name
            return
        link = WAN[name]
        for ns, dev in self.ends:
            sh('tc', '-n', ns, 'qdisc', 'replace', 'dev', dev, 'root', *netem(link))
            sh('ip', '-n', ns, 'link', 'set', dev, 'gso_max_segs', 1 if link.loss else 65535)
        self.link = name

    def one_netns(self):
        """Packets to an address of the machine itself would go over lo: a rule for each pair of
        interfaces comes before (one_netns in tests/system/lib.sh)."""
        sh('sysctl', '-qw', 'net.ipv4.conf.all.rp_filter=0')
        self.rule('pref', 3, 'lookup', 'local')
        sh('ip', 'rule', 'del', 'pref', 0)

    def rule(self, *words):
        sh('ip', 'rule', 'add', *words)
        self.rules.append(words)

    def routes(self, i):
        """Routes to each address of a pair over the other end"""
        for own, there, (source, target) in ((f'v{i}a', f'v{i}b', self.addresses(i)),
                                             (f'v{i}b', f'v{i}a', self.addresses(i)[::-1])):
            table = 1000 + 2 * i + (own[-1] == 'b')
            sh('sysctl', '-qw', f'net.ipv4.conf.{own}.accept_local=1',
               f'net.ipv4.conf.{own}.rp_filter=0')
            sh('ip', 'route', 'add', 'table', table, target, 'dev', own, 'src', source)
            self.rule('pref', 1, 'iif', there, 'lookup', 'local')
            self.rule('pref', 2, 'to', target, 'lookup', table)

    def address(self, peer):
        """The server's"""
        return self.addresses(self.peers.index(peer))[-1]

    def addresses(self, i):
        if self.path == 'host':
            return [f'10.78.{i}.1']
        if self.path == 'incast':
            return [f'10.77.{i}.{n + 1}' for n in range(SENDERS + 1)]
        return [f'10.77.{i}.1', f'10.77.{i}.2']

    def add(self, i, peer):
        prefix = 24
        if self.path == 'host':
            # Packets to an address of the host go over lo, whose MTU counts.
            sh('ip', '-n', 'h1', 'link', 'add', f'd{i}', 'mtu', 65536, 'type', 'dummy')
            ends = [('h1', f'd{i}')]
        elif self.path == 'disks':
            sh('ip', 'link', 'add', f'v{i}a', 'mtu', 1500, 'type', 'veth',
               'peer', 'name', f'v{i}b', 'mtu', 1500)
            ends = [(None, f'v{i}a'), (None, f'v{i}b')]
            prefix = 32
        elif self.path == 'incast':
            ends = self.add_switch(i)
        else:
            mtu = MTUS[self.path]
            # different indices, see two_hosts in tests/system/lib.sh
            sh('ip', 'link', 'add', f'v{i}a', 'index', 100 + 2 * i, 'mtu', mtu, 'netns', 'h1',
               'type', 'veth', 'peer', 'name', f'v{i}b', 'index', 101 + 2 * i, 'mtu', mtu,
               'netns', 'h2')
            ends = [('h1', f'v{i}a'), ('h2', f'v{i}b')]
            self.ends += ends
        for (ns, dev), addr in zip(ends, self.addresses(i)):
            there = ['ip', '-n', ns] if ns else ['ip']
            sh(*there, 'addr', 'add', f'{addr}/{prefix}', 'dev', dev)
            sh(*there, 'link', 'set', dev, 'up')
        if self.path == 'disks':
            self.routes(i)
        if not peer.link:
            return
        for ns, dev in ends:
            name = f'{dev}_{peer.link}'
            there = ['ip', 'netns', 'exec', ns] if ns else []
            sh(*there, 'rdma', 'link', 'add', name, 'type', peer.link, 'netdev', dev)
            self.devices.append(name)
            for attribute, value in peer.policy.items():
                path = f'/sys/class/infiniband/{name}/policy/{attribute}'
                with open(path, 'w', encoding='ascii') as f:
                    f.write(value)
            end = time.monotonic() + 10
            while not is_active(name):
                if time.monotonic() > end:
                    raise Failed(f'the port of {name} does not get active')
                time.sleep(0.05)

    def add_switch(self, i):
        """One for each peer; its ends are those of all hosts, the server's the last"""
        sh('ip', '-n', 'switch', 'link', 'add', f'b{i}', 'type', 'bridge')
        sh('ip', '-n', 'switch', 'link', 'set', f'b{i}', 'up')
        ends = [(ns, f'v{i}n{n}') for n, ns in enumerate((*self.clients, self.server))]
        for ns, dev in ends:
            sh('ip', '-n', 'switch', 'link', 'add', f'p{dev}', 'mtu', MTUS[self.path],
               'type', 'veth', 'peer', 'name', dev, 'mtu', MTUS[self.path], 'netns', ns)
            sh('ip', '-n', 'switch', 'link', 'set', f'p{dev}', 'master', f'b{i}', 'up')
            sh('ip', '-n', ns, 'link', 'set', dev, 'gso_max_segs', SEGMENTS)
        self.slow.append(f'pv{i}n{SENDERS}')
        return ends

    def queue(self, peer):
        """(packets that the queue of this peer's bottleneck has marked, those that it lost)"""
        i = self.peers.index(peer)
        said = json.loads(sh('tc', '-s', '-j', '-n', 'switch', 'qdisc', 'show',
                             'dev', f'pv{i}n{SENDERS}'))
        red = next(q for q in said if q['kind'] == 'red')
        return red['marked'], red['drops']

    def end(self):
        for name in self.devices:
            if os.path.exists(f'/sys/class/infiniband/{name}'):
                self.quietly('rdma', 'link', 'delete', name)
        if self.path == 'disks':
            self.quietly('ip', 'rule', 'add', 'pref', 0, 'lookup', 'local')
            for words in self.rules:
                self.quietly('ip', 'rule', 'del', *words)
            for dev in os.listdir('/sys/class/net'):
                if dev[0] == 'v' and dev[-1] == 'a':
                    self.quietly('ip', 'link', 'del', dev)
        for ns in self.netns:
            self.quietly('ip', 'netns', 'del', ns)

    @staticmethod
    def quietly(*command):
        try:
            sh(*command)
        except Failed as why:
            print(f'# {why}', flush=True)
