# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""
Run rdma-core's own Python tests, unchanged, on one device.

    suite.py --tests DIR --dev DEV --addr IP,MAC --list FILE
             [--rdmacm | --gid N --ib-list FILE] [GLOB...]

DIR holds the package "tests" of rdma-core. FILE names the tests that do not fit the device, and
why, a glob and a reason on each line: these may skip themselves, or are not run. With --rdmacm
the tests are those whose reason in FILE is "rtr", run with QPs that are connected by rdma_cm (see
rdmacm.py), and those of rdmacm_tests.py. With --gid they are the same tests, unchanged, on a
device that connects QPs by modify_qp with this GID; --ib-list names those that do not fit even
then.

Each test has a line of TAP on the standard output, with its time, or the reason for which it was
skipped. At the end come unittest's own summary and the plan: all loaded tests have run.

The tests run in a child of this process; if one of them kills it or hangs, those behind it run in
another. So the others still run, and the interpreter, which is slow to start, usually starts
once.
"""

import argparse
import fnmatch
import gc
import importlib.util
import json
import os
import select
import signal
import sys
import time
import traceback
import unittest

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..'))
from tap import Tap

LIMIT = 60  # seconds for one test


def arguments():
    p = argparse.ArgumentParser()
    p.add_argument('--tests', required=True)
    p.add_argument('--dev', required=True)
    p.add_argument('--addr', required=True)
    p.add_argument('--list', required=True)
    p.add_argument('--rdmacm', action='store_true')
    p.add_argument('--gid', default='0')
    p.add_argument('--ib-list')
    p.add_argument('globs', nargs='*')
    return p.parse_args()


def read_list(path):
    """[(glob, reason)] of a list; the first that matches is the one."""
    rules = []
    with open(path) as f:
        for line in f:
            line = line.split('#')[0].strip()
            if line:
                rules.append(line.split(None, 1))
    return rules


def name_of(test):
    return test.id().removeprefix('tests.')


def reason_for(rules, name):
    return next((r for glob, r in rules if fnmatch.fnmatchcase(name, glob)), None)


class Outcome(unittest.TestResult):
    """The result of one test, in a form that goes through a pipe."""

    def __init__(self):
        super().__init__()
        self.verdict, self.text = 'ok', ''

    def addError(self, test, err):
        self.verdict, self.text = 'error', self._exc_info_to_string(err, test)

    def addFailure(self, test, err):
        self.verdict, self.text = 'failure', self._exc_info_to_string(err, test)

    def addSkip(self, test, reason):
        self.verdict, self.text = 'skip', reason


class Child:
    """A process that runs tests, and reports the result of each."""

    def __init__(self, tests, after):
        sys.stdout.flush()
        sys.stderr.flush()
        self.pipe, wr = os.pipe()
        self.said = b''
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.pipe)
            os.setpgid(0, 0)
            for test in tests:
                self.run_one(test, after, wr)
            os._exit(0)
        os.close(wr)

    @staticmethod
    def run_one(test, after, wr):
        outcome = Outcome()
        try:
            test.run(outcome)
            after()
        except BaseException:
            outcome.verdict, outcome.text = 'error', traceback.format_exc()
        # free the objects of a failed test, which its traceback kept until it became text
        gc.collect()
        sys.stdout.flush()
        said = json.dumps([outcome.verdict, outcome.text[-4000:]]) + '\n'
        os.write(wr, said.encode())

    def outcome(self):
        """(verdict, text) of the next test; False as well if it was the last."""
        end = time.monotonic() + LIMIT
        while b'\n' not in self.said:
            if not select.select([self.pipe], [], [], max(0, end - time.monotonic()))[0]:
                self.end()
                return 'error', f'not done after {LIMIT} s', False
            part = os.read(self.pipe, 65536)
            if not part:
                return 'error', f'the interpreter died (status {self.end():#x})', False
            self.said += part
        line, self.said = self.said.split(b'\n', 1)
        return *json.loads(line), True

    def end(self):
        """Kill it, with the processes that it left running."""
        os.close(self.pipe)
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        return os.waitpid(self.pid, 0)[1]


class Forking(unittest.TestSuite):
    """A suite that runs in a child, and goes on in another if that one dies."""

    def __init__(self, tests, rules, after):
        super().__init__(tests)
        self.rules, self.after = rules, after
        self.tap = Tap()

    def run(self, result, debug=False):
        fits = [(t, reason_for(self.rules, name_of(t))) for t in self]
        for test, why in fits:
            if why and not why.startswith('skips'):
                self.note(test, why, result, 'skip', why, 0)
        left = [(t, why) for t, why in fits if not why or why.startswith('skips')]
        child = None
        while left:
            child = child or Child([t for t, _ in left], self.after)
            test, why = left.pop(0)
            start = time.monotonic()
            verdict, text, alive = child.outcome()
            self.note(test, why, result, verdict, text, time.monotonic() - start)
            if not alive:
                child = None
        if child:
            child.end()
        return result

    def note(self, test, why, result, verdict, text, took):
        result.startTest(test)
        if verdict == 'skip' and not why:
            verdict, text = 'failure', f'is not among those that may skip, but did: {text}'
        name = f'{name_of(test)} ({took:.1f} s)'
        if verdict == 'ok':
            result.addSuccess(test)
            self.tap.result(True, name, why and f'passes, but the list says: {why}' or '')
        elif verdict == 'skip':
            result.addSkip(test, text)
            self.tap.skip(name_of(test), why)
        else:
            # the text is that of the child, not of an exception here
            (result.failures if verdict == 'failure' else result.errors).append((test, text))
            self.tap.result(False, name, text)
        result.stopTest(test)


def all_tests(suite):
    for t in suite:
        if isinstance(t, unittest.TestSuite):
            yield from all_tests(t)
        else:
            yield t


def package(name, path):
    """
    A package whose own code, which imports all of the tests, has not run yet: the classes from
    which they derive can still be replaced.
    """
    spec = importlib.util.spec_from_file_location(
        name, os.path.join(path, '__init__.py'), submodule_search_locations=[path])
    sys.modules[name] = importlib.util.module_from_spec(spec)
    return sys.modules[name]


def tell_address(base, addr):
    """
    The suite finds the address of a device through the PCI device below it, which a software
    device lacks: set it.
    """
    ip, mac = addr.split(',')

    def get_ip_mac(self, dev, port, idx):
        self.args.append([dev, port, idx, ip, mac])

    base.RDMATestCase._get_ip_mac = get_ip_mac


def main():
    args = arguments()
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:0] = [args.tests, os.path.join(args.tests, 'tests'), here]
    sys.argv[1:] = ['--dev', args.dev, '--port', '1', '--gid', args.gid]
    from args_parser import parser
    parser.parse_args()
    tests = package('tests', os.path.join(args.tests, 'tests'))
    base = importlib.import_module('tests.base')
    tell_address(base, args.addr)
    after = int     # does nothing
    rules = read_list(args.list)
    if args.rdmacm:
        rdmacm = importlib.import_module('rdmacm')
        rdmacm.install(args.addr.split(',')[0])
        after = rdmacm.disconnect_all
    tests.__spec__.loader.exec_module(tests)

    loader = unittest.TestLoader()
    cases = list(all_tests(loader.loadTestsFromModule(tests)))
    if args.rdmacm or args.ib_list:
        cases = [t for t in cases
                 if reason_for(rules, name_of(t)) == 'rtr']
    if args.ib_list:
        rules = read_list(args.ib_list)
    if args.rdmacm:
        own = importlib.import_module('rdmacm_tests')
        cases = [own.adapt(t) for t in cases]
        for cls in own.OWN:
            cases += all_tests(loader.loadTestsFromTestCase(cls))
        rules = own.RULES
    if args.globs:
        cases = [t for t in cases
                 if any(fnmatch.fnmatchcase(t.id(), g) for g in args.globs)]
    suite = Forking(cases, rules, after)
    unittest.TextTestRunner(stream=sys.stdout, verbosity=0).run(suite)
    # none of the loaded tests may be missing
    if suite.tap.count != len(cases):
        sys.exit(f'{suite.tap.count} tests ran of {len(cases)}')
    sys.exit(suite.tap.end())


if __name__ == '__main__':
    main()
