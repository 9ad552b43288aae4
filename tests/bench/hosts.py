# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Peers, and the hosts that they talk between."""

import os
import subprocess
import time
from collections import namedtuple

# link: type of the RDMA link, or None; module: what has to be loaded for it;
# policy: of a device of srnic; what: for the reader
Peer = namedtuple('Peer', 'name net link module policy what')

PEERS = {p.name: p for p in (
    Peer('srnic', 'verbs', 'srnic', 'srnic', {'crc': 'off'}, 'srnic without CRC'),
    Peer('srnic-crc', 'verbs', 'srnic', 'srnic', {'crc': 'required'}, 'srnic with CRC'),
    Peer('srnic-markers', 'verbs', 'srnic', 'srnic', {'crc': 'off', 'markers': 'on'},
         'srnic with MPA markers, without CRC'),
    Peer('siw', 'verbs', 'siw', 'siw', {}, 'siw, without CRC'),
    Peer('siw-crc', 'verbs', 'siwcrc', 'siw_crc', {}, 'siw built to require CRC'),
    Peer('rxe', 'verbs', 'rxe', 'rdma_rxe', {}, 'rxe: RoCEv2, always with CRC'),
    Peer('tcp', 'tcp', None, None, {}, 'programs on sockets'),
    Peer('ktcp', 'ktcp', None, 'srnic_bench', {}, 'TCP inside the kernel'),
)}


class Failed(Exception):
    """A command of the set-up did not work; the text says which and why."""


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


def is_active(device):
    try:
        return 'state ACTIVE' in sh('rdma', 'link', 'show', f'{device}/1')
    except Failed:
        return False


class Hosts:
    """Netns h1 and h2 with a pair of interfaces for each peer, or h1 alone."""

    def __init__(self, path, peers):
        self.path = path
        self.devices = []
        self.dead = {}          # peer: why it has no device
        self.server = 'h1' if path == 'host' else 'h2'
        for ns in {'h1', self.server}:
            sh('ip', 'netns', 'add', ns)
            sh('ip', '-n', ns, 'link', 'set', 'lo', 'up')
        for i, peer in enumerate(peers):
            try:
                self.add(i, peer)
            except Failed as why:
                self.dead[peer.name] = str(why)

    def address(self, peers, peer):
        """The server's"""
        return self.addresses(peers.index(peer))[-1]

    def addresses(self, i):
        if self.path == 'host':
            return [f'10.78.{i}.1']
        return [f'10.77.{i}.1', f'10.77.{i}.2']

    def add(self, i, peer):
        if self.path == 'host':
            # What is sent to an address of the host goes over lo, whose MTU counts.
            sh('ip', '-n', 'h1', 'link', 'add', f'd{i}', 'mtu', 65536, 'type', 'dummy')
            ends = [('h1', f'd{i}')]
        else:
            mtu = self.path.removeprefix('veth')
            # different indices, see two_hosts in tests/system/lib.sh
            sh('ip', 'link', 'add', f'v{i}a', 'index', 100 + 2 * i, 'mtu', mtu, 'netns', 'h1',
               'type', 'veth', 'peer', 'name', f'v{i}b', 'index', 101 + 2 * i, 'mtu', mtu,
               'netns', 'h2')
            ends = [('h1', f'v{i}a'), ('h2', f'v{i}b')]
        for (ns, dev), addr in zip(ends, self.addresses(i)):
            sh('ip', '-n', ns, 'addr', 'add', f'{addr}/24', 'dev', dev)
            sh('ip', '-n', ns, 'link', 'set', dev, 'up')
        if not peer.link:
            return
        for ns, dev in ends:
            name = f'{dev}_{peer.link}'
            sh('ip', 'netns', 'exec', ns, 'rdma', 'link', 'add', name, 'type', peer.link,
               'netdev', dev)
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

    def end(self):
        for name in self.devices:
            if os.path.exists(f'/sys/class/infiniband/{name}'):
                try:
                    sh('rdma', 'link', 'delete', name)
                except Failed as why:
                    print(f'# {why}', flush=True)
        for ns in {'h1', self.server}:
            try:
                sh('ip', 'netns', 'del', ns)
            except Failed as why:
                print(f'# {why}', flush=True)
