#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""usage: startup.py ROLES ADDRESS DEVICE

MPA start-up (RFC 5044 7.1, RFC 6581) against a scripted peer on plain TCP, which
is initiator and responder in turn. The program ROLES (roles.c) is behind the
device DEVICE, whose policy the tests change in sysfs. Output is that of peer.py;
the ids are the rows M-* and V2-* of the requirement tables.
"""

import sys

from initiator import as_initiator
from responder import as_responder
from startup_suite import Suite


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    su = Suite(*sys.argv[1:])
    su.roles.answer()
    as_initiator(su.test)
    as_responder(su.test)
    su.roles.program.kill()
    sys.exit(su.tap.end())


if __name__ == "__main__":
    main()
