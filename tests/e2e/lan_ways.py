#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which way Ethernet over the fabric goes between two ports with a data service between them.

usage: lan_ways.py SERVICE ONE OTHER AT_ONE AT_SERVICE
  SERVICE, ONE, OTHER   LIDs: of the service, of the one port and of the other
  AT_ONE, AT_SERVICE    captures, as weft capture writes them, of the links of the one port and of
                        the service's
exit status: 0 every packet of the LAN goes through the service, both ways; 1 it does not
"""
import collections
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import check_crc  # noqa: E402
import check_lan  # noqa: E402


def packets_of(path):
    """(SLID, DLID, whether it has a GRH, whether of a connection) of packets that carry frames."""
    for _, data, _ in check_crc.records(path):
        record = check_crc.erf_payload(data)
        if record is None:
            continue
        native, _ = record
        packet = check_lan.packet_of(native)
        if packet is not None:
            connected = packet.opcode != check_lan.UD_SEND_ONLY
            yield packet.slid, packet.dlid, native[1] & 3 == 3, connected


def main():
    service, one, other = (int(lid) for lid in sys.argv[1:4])
    at_one = collections.Counter(packets_of(sys.argv[4]))
    at_service = collections.Counter(packets_of(sys.argv[5]))
    wrong = []
    for slid, dlid, has_grh, _ in at_one:
        if {slid, dlid} != {one, service} or not has_grh:
            wrong.append("at the port: from LID %d to LID %d, GRH %s" % (slid, dlid, has_grh))
    ways = collections.Counter()
    for (slid, dlid, _, _), count in at_service.items():
        ways[slid, dlid] += count
    for way in ((one, service), (service, other), (other, service), (service, one)):
        if not ways.pop(way, 0):
            wrong.append("at the service: nothing from LID %d to LID %d" % way)
    wrong += ["at the service: from LID %d to LID %d" % way for way in ways]
    print("packets: %d" % sum(at_one.values()))
    print("by connections: %d" % sum(n for (*_, connected), n in at_one.items() if connected))
    print("\n".join(wrong))
    return 1 if wrong or not at_one else 0


if __name__ == "__main__":
    sys.exit(main())
