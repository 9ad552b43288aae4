# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""The kernel's own users of RDMA over a peer: disks over NVMe-oF and files over NFS, both in
memory, read and written by fio."""

import glob
import json
import os
import re
import shutil
import subprocess
import time
import uuid

from hosts import Failed, sh

MIB = 128               # of the disk, and of the file
DISK = '/dev/ram0'
CONFIG = '/sys/kernel/config'
EXPORT, MOUNTS, FILE = '/run/bench/export', '/run/bench/mount', 'file'
NVME_PORT, NFS_RDMA_PORT = 4420, 20049
MODULES = {
    'nvme': {'verbs': ('brd', 'nvmet-rdma', 'nvme-rdma'), 'tcp': ('brd', 'nvmet-tcp', 'nvme-tcp')},
    'nfs': {'verbs': ('nfsd', 'nfsv3', 'rpcrdma'), 'tcp': ('nfsd', 'nfsv3')},
}
PROGRAMS = {'nvme': ('fio', 'nvme'),
            'nfs': ('fio', 'rpc.nfsd', 'rpc.mountd', 'exportfs', 'rpcbind', 'mount.nfs')}


def modules(what, peer):
    return MODULES[what][peer.net]


def fio(args, name, ms):
    """The command"""
    return ['fio', '--name=bench', f'--filename={name}', '--direct=1', '--ioengine=libaio',
            f'--rw={args["rw"]}', f'--bs={args["size"]}', f'--iodepth={args["depth"]}',
            f'--size={MIB}m', '--time_based', f'--runtime={ms}ms', '--thread',
            '--output-format=json']


def tell(path, value):
    try:
        with open(path, 'w', encoding='ascii') as f:
            f.write(str(value))
    except OSError as why:
        raise Failed(f'{path}: {why.strerror}') from None


def programs(what):
    """Programs that the machine lacks are in packages of the guest, which are put in their place
    first (scripts/guest-packages)."""
    packages = os.environ.get('SRNIC_PACKAGES')
    for name in PROGRAMS[what]:
        if not shutil.which(name) and name != 'fio' and packages and os.path.isdir(packages):
            sh('sh', '-c', f'tar -C "{packages}" -cf - . | '
               'tar -C / -xf - --keep-directory-symlink --no-same-owner', limit=120)
        if not shutil.which(name):
            raise Failed(f'there is no {name} (scripts/setup bench)')


def cpu_seconds():
    """CPU time of the guest that was not idle"""
    with open('/proc/stat', encoding='ascii') as f:
        user, nice, system, _, _, irq, soft = (int(n) for n in f.readline().split()[1:8])
    return (user + nice + system + irq + soft) / os.sysconf('SC_CLK_TCK')


def switches():
    with open('/proc/stat', encoding='ascii') as f:
        return next(int(line.split()[1]) for line in f if line.startswith('ctxt '))


def switches_of_threads():
    """{thread id: (name, task switches)}. Of a kworker the name has the queue of its last work, with
    a + while it works, and all of its switches count for that queue."""
    threads = {}
    for path in glob.glob('/proc/[0-9]*/task/[0-9]*/status'):
        try:
            with open(path, encoding='utf-8', errors='replace') as f:
                fields = dict(line.rstrip('\n').split(':\t', 1) for line in f if ':\t' in line)
            count = (int(fields['voluntary_ctxt_switches']) +
                     int(fields['nonvoluntary_ctxt_switches']))
        except (OSError, KeyError):     # it has ended
            continue
        threads[path.split('/')[4]] = re.sub('[0-9]+', 'N', fields['Name']).replace('+', '-'), count
    return threads


def whose(before, after, number):
    """{name: task switches for each of so many operations}, of threads that had some. Those of fio
    have ended; idle CPUs have none here."""
    sums = {}
    for thread, (name, count) in after.items():
        count -= before.get(thread, (name, 0))[1]
        sums[name] = sums.get(name, 0) + count / number
    return {name: round(count, 2) for name, count in sorted(sums.items()) if count >= 0.01}


class Disks:
    """The target and the server, and the disks and mounts connected to them"""

    def __init__(self, hosts):
        self.hosts = hosts
        self.peers = hosts.peers        # the position gives the addresses
        # nvme would derive one from a serial number that guests lack, anew for each connection
        self.uuid = uuid.uuid4()
        self.files = {}         # (what, peer): the file for fio, or a Failed
        self.up = set()

    def lacks(self, what, peer):
        """Why it cannot be measured here at all, or None"""
        try:
            programs(what)
            for module in modules(what, peer):
                sh('modprobe', module)
        except Failed as why:
            return str(why)
        return None

    # --- NVMe over Fabrics ---

    def ram_disk(self):
        if 'disk' in self.up:
            return
        sh('modprobe', '-r', 'brd')
        sh('modprobe', 'brd', 'rd_nr=1', f'rd_size={MIB * 1024}')
        # fio reads blocks that were never written without comparing them
        sh('dd', 'if=/dev/urandom', f'of={DISK}', 'bs=1M', f'count={MIB}', limit=120)
        if not os.path.ismount(CONFIG):
            sh('mount', '-t', 'configfs', 'configfs', CONFIG)
        self.up.add('disk')

    def nvme(self, peer, address):
        """A subsystem and a port of its own for each peer: otherwise the host takes them for
        several paths to the same disk."""
        self.ram_disk()
        number = self.peers.index(peer) + 1
        transport = 'rdma' if peer.net == 'verbs' else 'tcp'
        name = f'nqn.2026-01.test:{peer.name}'
        subsystem = f'{CONFIG}/nvmet/subsystems/{name}'
        port = f'{CONFIG}/nvmet/ports/{number}'
        os.makedirs(f'{subsystem}/namespaces/1')
        tell(f'{subsystem}/attr_allow_any_host', 1)
        tell(f'{subsystem}/namespaces/1/device_path', DISK)
        tell(f'{subsystem}/namespaces/1/enable', 1)
        os.mkdir(port)
        for key, value in (('trtype', transport), ('adrfam', 'ipv4'), ('traddr', address),
                           ('trsvcid', NVME_PORT + number)):
            tell(f'{port}/addr_{key}', value)
        try:
            os.symlink(subsystem, f'{port}/subsystems/{name}')
        except OSError as why:
            raise Failed(f'nvmet does not listen at {address}: {why.strerror}') from None
        sh('nvme', 'connect', '-t', transport, '-a', address, '-s', NVME_PORT + number, '-n', name,
           f'--hostnqn=nqn.2014-08.org.nvmexpress:uuid:{self.uuid}', f'--hostid={self.uuid}',
           limit=60)
        return self.nvme_disk(name)

    @staticmethod
    def nvme_disk(name):
        end = time.monotonic() + 20
        while time.monotonic() < end:
            for controller in glob.glob('/sys/class/nvme/nvme*'):
                with open(f'{controller}/subsysnqn', encoding='ascii') as f:
                    if f.read().strip() != name:
                        continue
                for disk in glob.glob(f'{controller}/nvme*n1'):
                    # nvme0c1n1 is a path to nvme0n1
                    device = '/dev/' + re.sub(r'c\d+', '', os.path.basename(disk))
                    if os.path.exists(device):
                        return device
            time.sleep(0.1)
        raise Failed(f'no disk of {name}')

    # --- NFS ---

    def nfs_server(self):
        if 'nfs' in self.up:
            return
        for directory in (EXPORT, '/run/rpcbind', '/var/lib/nfs'):
            os.makedirs(directory, exist_ok=True)
        sh('mount', '-t', 'tmpfs', '-o', f'size={MIB + 16}m', 'export', EXPORT)
        sh('dd', 'if=/dev/urandom', f'of={EXPORT}/{FILE}', 'bs=1M', f'count={MIB}', limit=120)
        with open('/etc/passwd', 'r+', encoding='utf-8') as f:
            # the package's installation would have done this
            if not re.search('^_rpc:', f.read(), re.M):
                f.write('_rpc:x:65533:65534::/run/rpcbind:/usr/sbin/nologin\n')
        with open('/etc/exports', 'w', encoding='ascii'):
            pass
        sh('mount', '-t', 'nfsd', 'nfsd', '/proc/fs/nfsd')
        sh('rpcbind')
        sh('sh', '-c', 'for _ in $(seq 50); do rpcinfo -T tcp 127.0.0.1 portmapper && exit; '
           'sleep 0.1; done; exit 1')
        sh('rpc.mountd')
        sh('exportfs', '-o', 'rw,fsid=0,no_root_squash,no_subtree_check,insecure', f'*:{EXPORT}')
        sh('rpc.nfsd', '--grace-time', '10', '4')
        self.up.add('nfs')

    def nfs(self, peer, address):
        self.nfs_server()
        how = 'proto=tcp'
        if peer.net == 'verbs':
            if 'nfs-rdma' not in self.up:
                tell('/proc/fs/nfsd/portlist', f'rdma {NFS_RDMA_PORT}\n')
                self.up.add('nfs-rdma')
            how = f'rdma,port={NFS_RDMA_PORT}'
        where = f'{MOUNTS}/{peer.name}'
        os.makedirs(where, exist_ok=True)
        # version 3: a client of version 4 takes all addresses of one server for paths to the same
        sh('mount', '-t', 'nfs', '-o', f'vers=3,nolock,nosharecache,mountproto=tcp,{how}',
           f'{address}:{EXPORT}', where, limit=60)
        return f'{where}/{FILE}'

    # --- measuring ---

    def file(self, what, peer):
        key = what, peer.name
        if key not in self.files:
            try:
                self.files[key] = getattr(self, what)(peer, self.hosts.address(peer))
            except (Failed, OSError) as why:
                self.files[key] = Failed(str(why))
        if isinstance(self.files[key], Failed):
            raise self.files[key]
        return self.files[key]

    def measure(self, case, peer, ms, limit):
        """The figures of one run of fio, or {'failed': why}"""
        args = case.args
        try:
            name = self.file(args['what'], peer)
            threads = switches_of_threads()
            cpu, switched = cpu_seconds(), switches()
            out = json.loads(subprocess.run(fio(args, name, ms), capture_output=True, text=True,
                                            check=True, timeout=ms / 1000 + limit).stdout)
            cpu, switched = cpu_seconds() - cpu, switches() - switched
            after = switches_of_threads()
            way = args['rw'].removeprefix('rand')
            done = out['jobs'][0][way]
            percentile = done['clat_ns']['percentile']
            number, gib = done['total_ios'], done['io_bytes'] / (1 << 30)
            if not number:
                return {'failed': f'fio has done no {way}'}
            return {'io_s': done['iops'], 'mib_s': done['bw_bytes'] / (1 << 20),
                    'p50_us': percentile['50.000000'] / 1e3,
                    'p99_us': percentile['99.000000'] / 1e3,
                    'p999_us': percentile['99.900000'] / 1e3,
                    'messages': number, 'seconds': done['runtime'] / 1e3,
                    'cpu_ms_per_gib': cpu * 1e3 / gib, 'switches_per_message': switched / number,
                    'switches_of': whose(threads, after, number)}
        except Failed as why:
            return {'failed': str(why)}
        except subprocess.CalledProcessError as why:
            return {'failed': (why.stderr.strip().splitlines() or [f'fio: {why}'])[-1]}
        except subprocess.TimeoutExpired:
            return {'failed': f'fio: not done after {ms / 1000 + limit:.0f} s'}
        except (ValueError, KeyError) as why:
            return {'failed': f'fio says something else: {why}'}

    def end(self):
        """Disconnect all from the peers' devices, so that these can go. Bounded, and errors are
        ignored."""
        for key, name in self.files.items():
            if isinstance(name, Failed):
                continue
            try:
                if key[0] == 'nfs':
                    sh('umount', '-f', f'{MOUNTS}/{key[1]}')
                else:
                    sh('nvme', 'disconnect', '-n', f'nqn.2026-01.test:{key[1]}')
            except Failed as why:
                print(f'# {why}', flush=True)
        for link in glob.glob(f'{CONFIG}/nvmet/ports/*/subsystems/*'):
            os.unlink(link)
        for port in glob.glob(f'{CONFIG}/nvmet/ports/*'):
            os.rmdir(port)
        if 'nfs' in self.up:
            try:
                sh('rpc.nfsd', '0')
                sh('exportfs', '-ua')
            except Failed as why:
                print(f'# {why}', flush=True)
