#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""usage: vectors.py

Prints the rows of golden[] and digests[] in tests/kunit/mpa_marker_test.c: FPDUs
with markers as iwarp.py makes them, which has nothing in common with the module.
"""

import sys

from iwarp import Markers, SEND, WRITE, tagged, untagged

PHASES = range(0, 512, 4)
LENGTHS = ((14, 31), (32, 63), (64, 127), (128, 255), (256, 479), (480, 519), (520, 600),
           (1000, 1030), (1430, 1430), (8870, 8870), (64768, 64768))


def octets(n):
    """A ULPDU of n octets for a digest."""
    return bytes(i * 7 + n & 255 for i in range(n))


def text(data):
    """In hexadecimal, in the format of the test."""
    return ('"%s"' % data.hex().replace("00" * 24, '" ZEROS_24 "')).removesuffix(' ""')


def digest(first, last):
    """FNV-1a of all FPDUs: CRC32c would not do, as each of them ends with its own."""
    value = 0x811C9DC5
    for n in range(first, last + 1):
        for phase in PHASES:
            for b in Markers(phase).fpdu(octets(n)):
                value = (value ^ b) * 0x01000193 & 0xFFFFFFFF
    return value


def main():
    if len(sys.argv) > 1:
        sys.exit(__doc__)
    to = 0x0102030405060708
    for what, phase, ulpdu in (
            ("Figure 5", 0, untagged(SEND, 0, 1, bytes(24))),
            ("Figure 6", 492, untagged(SEND, 0, 2, bytes(24))),
            ("in the TO", 504, tagged(WRITE, 0x11223344, to, b"abc")),
            ("between PAD and CRC", 492, tagged(WRITE, 0x11223344, to, b"a")),
            ("right behind the CRC", 488, tagged(WRITE, 0x11223344, to, b"a")),
            ("in an empty Write", 508, tagged(WRITE, 0, 0))):
        print('\t{ "%s", %d, %s,\n\t  %s },' %
              (what, phase, text(ulpdu), text(Markers(phase).fpdu(ulpdu))))
    for first, last in LENGTHS:
        print("\t{ %d, %d, 0x%08x }," % (first, last, digest(first, last)))


main()
