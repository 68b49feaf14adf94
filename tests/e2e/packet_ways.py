#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which ways packets took at a link, management datagrams apart.

usage: packet_ways.py CAPTURE: of a file that weft capture writes a line for each way, in order:
SLID, DLID, how many packets, and the DGID, or "-" where they have no GRH.
"""
import collections
import ipaddress
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import check_crc  # noqa: E402
import check_lan  # noqa: E402


def main():
    ways = collections.Counter()
    for _, data, _ in check_crc.records(sys.argv[1]):
        record = check_crc.erf_payload(data)
        packet = check_lan.packet_of(record[0]) if record else None
        if packet is None:
            continue
        native = record[0]
        dgid = str(ipaddress.IPv6Address(native[32:48])) if native[1] & 3 == 3 else "-"
        ways[packet.slid, packet.dlid, dgid] += 1
    for (slid, dlid, dgid), count in sorted(ways.items()):
        print(slid, dlid, count, dgid)


main()
