# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Results of tests as TAP, for the programs in Python that run tests."""

import sys
import traceback


class Failure(Exception):
    """A test has failed, and this is why."""


def expect(cond, what):
    if not cond:
        raise Failure(what)


class Tap:
    """A line for each test as it ends; at last the plan, which shows that it is complete."""

    def __init__(self):
        self.count = self.failed = 0

    def result(self, good, name, why=""):
        """why: the reason, of any number of lines"""
        self.count += 1
        self.failed += not good
        print("%s %d - %s" % ("ok" if good else "not ok", self.count, name))
        for line in why.splitlines():
            print("#     " + line)
        sys.stdout.flush()

    def skip(self, name, reason):
        self.count += 1
        print("ok %d - %s # SKIP %s" % (self.count, name, reason), flush=True)

    def test(self, name, function, *args):
        """It passes if function returns; the return value is a remark. Returns whether it
        passed."""
        try:
            note = function(*args)
        except Failure as e:
            self.result(False, name, str(e))
            return False
        except Exception:
            self.result(False, name, traceback.format_exc())
            return False
        self.result(True, "%s: %s" % (name, note) if note else name)
        return True

    def end(self):
        """The plan; returns the program's exit status."""
        print("1..%d" % self.count, flush=True)
        return 1 if self.failed else 0
