# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Whether the memory that the faults and the programs used was freed."""

import os

from hosts import SCRIPTS, Trouble, run, within

PAGE_KIB = os.sysconf("SC_PAGE_SIZE") // 1024


def kernel_memory():
    """KiB that the kernel cannot reclaim"""
    return int(run(SCRIPTS + "kernel-memory"))


def slabs():
    """The KiB of each slab cache, by its name, if the kernel has the list, and of other memory"""
    kib = {}
    try:
        with open("/proc/slabinfo") as f:
            for line in f:
                name, *n = line.split()
                if len(n) > 13 and n[11] == "slabdata":
                    kib[name] = int(n[13]) * int(n[4]) * PAGE_KIB
    except OSError:
        pass
    with open("/proc/meminfo") as f:
        for line in f:
            name, n = line.split()[:2]
            if name in ("VmallocUsed:", "KernelStack:"):
                kib[name[:-1]] = int(n)
    return kib


class Memory:
    """The kernel's memory that it cannot reclaim, from one point of time on"""

    def __init__(self):
        self.kib, self.slabs = kernel_memory(), slabs()

    def grew(self):
        """What grew most, as a hint at a leak"""
        by = {name: kib - self.slabs.get(name, 0) for name, kib in slabs().items()}
        most = sorted(by, key=by.get, reverse=True)[:8]
        return ", ".join("%s %+d" % (name, by[name]) for name in most)

    def back(self, slack):
        """Network namespaces and sockets are freed some time after their programs"""
        def is_back():
            self.now = kernel_memory()
            return self.now - self.kib <= slack
        good = within(20, is_back)
        said = "%d KiB before, %d KiB after" % (self.kib, self.now)
        if not good:
            raise Trouble("%s: %s" % (said, self.grew()))
        return said
