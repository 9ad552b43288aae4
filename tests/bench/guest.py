#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""usage: tests/bench/guest.py --bench PROGRAM [OPTION...]

Measure, in a guest (tests/bench/run starts it): for each path, round after round,
each case with one peer after the other. Each result is a line of JSON in --out.
"""

import argparse
import fnmatch
import json
import os
import platform
import select
import signal
import subprocess
import sys
import time

import cases
import disks
from hosts import INCAST_MODULES, Failed, Hosts, PEERS, sh


class Server:
    """bench server, in the server's netns; serves all cases."""

    def __init__(self, program, ns):
        self.start = ['ip', 'netns', 'exec', ns, program, 'server']
        self.process = None

    def restart(self):
        self.end()
        self.process = subprocess.Popen(self.start, start_new_session=True,
                                        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        os.set_blocking(self.process.stderr.fileno(), False)

    def said(self):
        """Errors of the server since the last call"""
        text = self.process.stderr.read() or b''
        return text.decode(errors='replace').strip()

    def settle(self, limit):
        """Wait for the processes of finished cases: until then their objects exist."""
        end = time.monotonic() + limit
        while children(self.process.pid) and time.monotonic() < end:
            time.sleep(0.05)

    def end(self):
        if self.process:
            kill(self.process)
            self.process = None


def children(pid):
    """Its child processes. Not all kernels have /proc/PID/task/PID/children."""
    found = []
    for name in os.listdir('/proc'):
        if name.isdigit():
            try:
                with open(f'/proc/{name}/stat', encoding='utf-8', errors='replace') as f:
                    fields = f.read().rpartition(')')[2].split()
            except OSError:
                continue        # it has ended
            if int(fields[1]) == pid:
                found.append(int(name))
    return found


def kill(process):
    """Returns False if it cannot be killed."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        return False
    return True


def arguments_of(case, peer, options):
    """What the program is told, by name"""
    return dict(case.args, net=peer.net, ms=case.longer * options.ms,
                limit=max(options.limit, case.args.get('limit', 0)))


def measure(options, case, peer, hosts, server):
    """The result of one run: its figures, or {'failed': why}."""
    if case.args['do'] == 'disk':
        return server.measure(case, peer, case.longer * options.ms, options.limit)
    args = arguments_of(case, peer, options)
    command = [options.bench, 'client', hosts.address(peer)]
    command += [f'{k}={v}' for k, v in args.items()]
    # the program knows this limit as well, and reports more
    limit = args['ms'] / 1000 + args['limit'] + 5
    end = time.monotonic() + limit
    before = hosts.queue(peer) if case.path == 'incast' else None
    clients = start(command, case.pairs, hosts.clients, end)
    results, failed = [], []
    for client in clients:
        try:
            out, err = client.communicate(timeout=max(0.1, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            failed.append(f'not done after {limit:.0f} s' +
                          ('' if kill(client) else ', and cannot be killed'))
            continue
        if client.returncode == 0:
            results.append(json.loads(out))
        else:
            failed += err.strip().splitlines()[-1:] or [f'status {client.returncode}']
    if failed:
        time.sleep(0.2)
        why = failed[:1] + server.said().splitlines()[-1:]
        server.restart()
        return {'failed': '; server: '.join(why).replace('FAIL: ', '')}
    server.said()
    if case.args['do'] in ('connect', 'scale', 'turnover'):
        server.settle(30)
    result = together(results)
    if before:
        result['marked'], result['lost'] = (
            now - then for now, then in zip(hosts.queue(peer), before))
    return result


def start(command, number, netns, end):
    """So many processes of it, in these netns in turn. Several begin to measure together: each
    tells that it is connected, and waits for the end of its input."""
    if number > 1:
        command = [*command, 'together=1']
    begin, hold = os.pipe()
    clients = [subprocess.Popen(['ip', 'netns', 'exec', netns[i % len(netns)], *command],
                                start_new_session=True, stdin=begin, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)
               for i in range(number)]
    os.close(begin)
    if number > 1:
        for client in clients:
            # one that has failed has ended, and says why
            if select.select([client.stdout], [], [], max(0, end - time.monotonic()))[0]:
                client.stdout.readline()
    os.close(hold)
    return clients


# Of several programs these are added; of all else it is the mean.
SUMS = ('messages',)
# What all have done from the first one's begin to the last one's end: one that gets more than its
# share of a link has done its part early, and the rates of all, added, are more than the link's.
RATES = ('mib_s', 'msg_s')
# Each program measures the whole guest, and divides by what it has done itself.
SHARED = ('switches_per_message', 'cpu_ms_per_gib')


def together(results):
    """The figures of several programs at the same time, as of one"""
    first = dict(results[0])
    if len(results) > 1:
        span = max(r['begin'] + r['seconds'] for r in results) - min(r['begin'] for r in results)
        for key, value in first.items():
            if key in RATES:
                first[key] = sum(r[key] * r['seconds'] for r in results) / span
            elif isinstance(value, (int, float)):
                number = 1 if key in SUMS else len(results) ** (2 if key in SHARED else 1)
                first[key] = sum(r[key] for r in results) / number
        first['seconds'] = span
        if 'p99_us' in first:
            # one that starves barely changes the mean
            first['worst_p99_us'] = max(r['p99_us'] for r in results)
    return first


class Calm:
    """Whether other programs use the machine: the speed of its slowest CPU in a loop, as a share
    of the highest ever measured."""

    ENOUGH = 0.8

    def __init__(self, options):
        self.bench = options.bench
        self.best = options.best

    def now(self):
        out = subprocess.run([self.bench, 'speed'], capture_output=True, text=True, check=True)
        loops = json.loads(out.stdout)['loops_ms']
        self.best = max([self.best] + loops)
        return min(loops) / self.best

    def measured(self, patience, function, *args):
        """The result of the function when the machine was calm before and after; or the calmest
        result within so many seconds."""
        end = time.monotonic() + patience
        best = None
        while True:
            before = self.now()
            late = time.monotonic() >= end
            if before < self.ENOUGH and not late:
                time.sleep(0.1)
                continue
            result = function(*args)
            result['calm'] = min(before, self.now())
            if best is None or result['calm'] > best['calm'] and 'failed' not in result:
                best = result
            if best['calm'] >= self.ENOUGH or late or 'failed' in best:
                return best


def lacking(server, todo, peers):
    """(peer, cases of todo that it has and that cannot be measured here, why), on the path disks"""
    for what in dict.fromkeys(c.args['what'] for c in todo):
        for peer in peers:
            of_what = [c for c in todo if c.args['what'] == what and cases.has(c, peer)]
            why = of_what and server.lacks(what, peer)
            if why:
                yield peer, of_what, why


def load_module(options, name):
    if os.path.isdir(f'/sys/module/{name}'):
        return
    path = dict(m.split('=', 1) for m in options.module).get(name)
    if path:
        for dep in sh('modinfo', '-F', 'depends', path).strip().split(','):
            if dep:
                sh('modprobe', dep)
        sh('insmod', path)
    else:
        sh('modprobe', name)


def load(options, peers):
    """Load modules; peers that lack theirs are left out."""
    dead = {}
    for peer in peers:
        try:
            if peer.module:
                load_module(options, peer.module)
        except Failed as why:
            dead[peer.name] = f'no module: {why}'
    return dead


def arguments(argv=None):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--list', action='store_true', help='only say what would be measured')
    parser.add_argument('--bench', help='the program')
    parser.add_argument('--out', default='/scratch/results.jsonl')
    parser.add_argument('--peers', help='default: all, but those of --full only without it')
    parser.add_argument('--paths', default=','.join(cases.PATHS))
    parser.add_argument('--cases', default='*', help='globs of names, separated by ;')
    parser.add_argument('--full', action='store_true', help='all there are, not those of QUICK')
    parser.add_argument('--rounds', type=int, default=3)
    parser.add_argument('--ms', type=int, default=1000, help='for each measurement')
    parser.add_argument('--limit', type=int, default=30, help='seconds beyond that')
    parser.add_argument('--best', type=int, default=0, help='fastest loop seen by earlier runs')
    parser.add_argument('--patience', type=float, default=2,
                        help='seconds to wait, at each measurement, for the machine to be ours')
    parser.add_argument('--module', action='append', default=[], metavar='NAME=FILE')
    options = parser.parse_args(argv)
    if options.peers is None:
        options.peers = ','.join(p for p in PEERS if options.full or p not in cases.FULL_PEERS)
    for what, known in (('peers', PEERS), ('paths', cases.PATHS)):
        for name in getattr(options, what).split(','):
            if name not in known:
                parser.error(f'--{what}: no "{name}"; there are {", ".join(known)}')
    if options.rounds < 1 or options.ms < 1:
        parser.error('--rounds and --ms: at least 1')
    chosen = set()
    for glob in options.cases.split(';'):
        found = selected(options, glob)
        if not found:
            parser.error(f'--cases: "{glob}" is none on {options.paths}, see --full --list')
        chosen.update((c.path, c.name) for c in found)
    if not any(cases.has(cases.BY_NAME[key], PEERS[name])
               for key in chosen for name in options.peers.split(',')):
        parser.error(f'none of {options.peers} has such a case')
    options.paths = [(path, [c for c in cases.FULL if c.path == path and (path, c.name) in chosen])
                     for path in options.paths.split(',')]
    if not options.list and not options.bench:
        parser.error('--bench is missing')
    return options


def selected(options, glob):
    """The selected cases; one that only --full has is selected by its name, too."""
    paths = options.paths.split(',')
    for known in [cases.FULL] if options.full else [cases.QUICK, cases.FULL]:
        found = [c for c in known if c.path in paths and fnmatch.fnmatch(c.name, glob)]
        if found:
            return found
    return []


def main():
    options = arguments()
    if options.list:
        print('peers:', options.peers)
        for path, todo in options.paths:
            for case in todo:
                print(f'{path}: {case.name}')
        return
    os.environ.setdefault('LANG', 'C.UTF-8')
    wanted = [PEERS[name] for name in options.peers.split(',')]
    dead = load(options, wanted)
    peers = [p for p in wanted if p.name not in dead]
    calm = Calm(options)
    with open(options.out, 'w', encoding='utf-8') as out:

        def note(**record):
            out.write(json.dumps(record) + '\n')
            out.flush()

        note(kind='guest', linux=platform.release(), cpus=os.cpu_count(), load=os.getloadavg(),
             rounds=options.rounds, ms=options.ms)
        for name, why in dead.items():
            note(kind='dead', peer=name, path='', why=why)
        for path, todo in options.paths:
            if not todo:
                continue
            try:
                for name in INCAST_MODULES if path == 'incast' else ():
                    load_module(options, name)
                hosts = Hosts(path, [p for p in peers if any(cases.has(c, p) for c in todo)])
            except Failed as why:
                print(f'# {path}: {why}', file=sys.stderr, flush=True)
                for peer in peers:
                    note(kind='dead', peer=peer.name, path=path, why=str(why))
                continue
            for name, why in hosts.dead.items():
                note(kind='dead', peer=name, path=path, why=why)
            alive = [p for p in hosts.peers if p.name not in hosts.dead]
            failures = {}
            if path == 'disks':
                server = disks.Disks(hosts)
                for peer, missing, why in lacking(server, todo, alive):
                    note(kind='dead', peer=peer.name, path=path, why=why)
                    failures.update({(peer.name, c.name): 2 for c in missing})
            else:
                server = Server(options.bench, hosts.server)
                server.restart()
            for number in range(1, options.rounds + 1):
                for case in todo:
                    if case.link:
                        hosts.shape(case.link)
                    for peer in alive:
                        key = peer.name, case.name
                        if not cases.has(case, peer) or failures.get(key, 0) >= 2:
                            continue
                        result = calm.measured(options.patience, measure, options, case, peer, hosts,
                                               server)
                        note(kind='result', path=path, case=case.name, peer=peer.name,
                             round=number, **result)
                        if 'failed' in result:
                            failures[key] = failures.get(key, 0) + 1
                            print(f'# {path}: {case.name}: {peer.name}: {result["failed"]}',
                                  file=sys.stderr, flush=True)
                        else:
                            print(f'{path:9} {number} {case.name:30} {peer.name:10} '
                                  f'{result[case.value]:12.6g} {case.unit}'
                                  f'{"" if result["calm"] >= Calm.ENOUGH else "  ?"}', flush=True)
            server.end()
            hosts.end()
        note(kind='end', best=calm.best)


if __name__ == '__main__':
    main()
