#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""usage: tests/fuzz/coverage.py FILE GOAL

Print the table of lines and branches that FILE, of llvm-cov export, says were
reached, and the lines that were not. The status is 0 if GOAL percent of the lines
of all files together were, without those of the rx engine, which has parts that
run in a kernel only.
"""

import json
import sys
from pathlib import Path


ENGINE = ("engine/rx.c", "engine/place.c", "engine/deliver.c", "engine/read.c")


def percent(reached, count):
    return 100 * reached / count if count else 100


def row(name, lines, branches):
    print("%-28s %5d of %5d %6.1f %%   %5d of %5d %6.1f %%" % (
        name, *lines, percent(*lines), *branches, percent(*branches)))


def not_reached(segments):
    """Ranges of lines whose first region never ran"""
    ranges = []
    # line, column, count, has a count, is the start of a region, is a gap
    for (line, _, count, counted, _, gap), nxt in zip(segments, segments[1:] + [segments[-1]]):
        if counted and not count and not gap:
            first, last = line, max(line, nxt[0])
            if ranges and ranges[-1][1] >= first:
                ranges[-1][1] = max(last, ranges[-1][1])
            else:
                ranges.append([first, last])
    return ", ".join(str(a) if a == b else "%d-%d" % (a, b) for a, b in ranges)


def main():
    if len(sys.argv) != 3:
        print(__doc__)
        return 0 if "--help" in sys.argv else 2
    data = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["data"][0]
    total = {"lines": [0, 0], "branches": [0, 0]}
    missing = []
    print("%-28s %24s   %24s" % ("reached", "lines", "branches"))
    for f in sorted(data["files"], key=lambda f: f["filename"]):
        name = f["filename"].split("/srnic/")[-1]
        counts = {}
        for kind, whole in total.items():
            counts[kind] = [f["summary"][kind]["covered"], f["summary"][kind]["count"]]
            if name not in ENGINE:
                whole[0] += counts[kind][0]
                whole[1] += counts[kind][1]
        row(name, counts["lines"], counts["branches"])
        if counts["lines"][0] < counts["lines"][1]:
            missing.append("%s: %s" % (name, not_reached(f["segments"])))
    row("total, without the engine", total["lines"], total["branches"])
    for line in missing:
        print("not reached in", line)
    return percent(*total["lines"]) < int(sys.argv[2])


if __name__ == "__main__":
    sys.exit(main())
