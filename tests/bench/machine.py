#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""usage: tests/bench/machine.py RESULTS.jsonl NAME=VALUE... -- ARGUMENT...

Append to the results of a run what machine it was on (tests/bench/run calls it): its CPU,
what the NAMEs say, and the command that takes the same figures again, of run's ARGUMENTs.
"""

import json
import os
import shlex
import sys

# Arguments with places on this machine, which do not affect the figures
PLACES = ('--out', '--tree')


def cpu_model():
    with open('/proc/cpuinfo', encoding='utf-8') as f:
        for line in f:
            name, _, value = line.partition(':')
            if name.strip() == 'model name':
                return value.strip()
    return os.uname().machine


def memory_gib():
    return os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / (1 << 30)


def command(arguments):
    words = ['tests/bench/run']
    rest = iter(arguments)
    for word in rest:
        if word in PLACES:
            next(rest, None)
        else:
            words.append(word)
    return shlex.join(words)


def main():
    if len(sys.argv) < 3 or '--' not in sys.argv:
        sys.exit(__doc__.strip())
    end = sys.argv.index('--')
    record = {'kind': 'machine', 'cpu': cpu_model(), 'cpus': os.cpu_count(),
              'memory_gib': round(memory_gib()), 'command': command(sys.argv[end + 1:])}
    for argument in sys.argv[2:end]:
        name, _, value = argument.partition('=')
        record[name] = int(value) if value.isdigit() and name != 'srnic' else value
    with open(sys.argv[1], 'a', encoding='utf-8') as f:
        f.write(json.dumps(record) + '\n')


if __name__ == '__main__':
    main()
