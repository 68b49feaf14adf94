#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_standard.py finds nothing in what Linux sent, and every bit that is changed."""

import pathlib
import unittest

import check_standard

DATA = pathlib.Path(__file__).resolve().parents[1] / "data" / "roce"
CLEAN = ["cm-rping.pcap", "cm-rping-ip6.pcap", "cm-ucmatose.pcap", "cm-reject.pcap",
         "rc-pipeline.pcap", "rc-rnr.pcap", "rc-atomic.pcap", "rc-nak-access.pcap",
         "rxe6_opcodes.pcap", "ud-256.pcap", "uc-256.pcap", "cnp_connectx4.pcap"]


def packets(name):
    return [packet for _, packet in check_standard.packets(DATA / name, None)]


def changed(packet, at, mask):
    out = bytearray(packet)
    out[at] |= mask
    return bytes(out)


class CheckStandard(unittest.TestCase):
    def test_finds_nothing_in_what_others_sent(self):
        for name in CLEAN:
            sent = packets(name)
            self.assertTrue(sent, name)
            for packet in sent:
                self.assertEqual(check_standard.of_packet(packet), [], name)

    def test_finds_opcodes_of_manufacturers(self):
        packet = packets("rc-rnr.pcap")[0]
        weft = b"\xc2" + packet[1:]
        self.assertEqual(check_standard.of_packet(weft), ["opcode 0xc2"])
        self.assertEqual(check_standard.of_packet(weft, (0xC2,)), [])

    def test_finds_reserved_bits(self):
        packet = packets("rc-rnr.pcap")[0]
        for at, mask in ((1, 1), (4, 1), (8, 1)):
            self.assertEqual(len(check_standard.of_packet(changed(packet, at, mask))), 1, at)

    def test_finds_reserved_bits_and_private_data_of_every_message(self):
        seen = set()
        for packet in packets("cm-rping.pcap") + packets("cm-reject.pcap"):
            if packet[0] not in check_standard.UD:
                continue
            name, reserved, private = check_standard.MESSAGES[packet[20 + 17]]
            seen.add(name)
            for at, mask in [*reserved, (231, 1)]:
                found = check_standard.of_packet(changed(packet, 44 + at, mask))
                self.assertEqual(len(found), 1, f"{name} {at}")
        self.assertTrue({"REQ", "REP", "RTU", "REJ"} <= seen, seen)


if __name__ == "__main__":
    unittest.main()
