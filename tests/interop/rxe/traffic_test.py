#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The judge of what crosses the guest's network finds what is wrong in it, when it comes."""
import pathlib
import struct
import tempfile
import unittest

from traffic import FILE_HEADER, RECORD_HEADER, Traffic

import check_crc

CAPTURE = pathlib.Path(__file__).resolve().parents[2] / "data" / "roce" / "rc-rnr.pcap"
IPV4_UDP = 14 + 20 + 8  # before the BTH


def records(blob):
    at = FILE_HEADER
    while at < len(blob):
        end = at + RECORD_HEADER + struct.unpack_from("=I", blob, at + 8)[0]
        yield blob[at:end]
        at = end


class Judge(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "traffic.pcap"
        blob = CAPTURE.read_bytes()
        self.records = list(records(blob))
        frame = self.records[0][RECORD_HEADER:]
        self.sender = ".".join(map(str, check_crc.ip_of(frame)[0][12:16]))
        self.path.write_bytes(blob[:FILE_HEADER])
        self.traffic = Traffic(self.path, [self.sender])

    def more(self, *pieces):
        with open(self.path, "ab") as file:
            file.write(b"".join(pieces))

    def changed(self, at, value):
        """The first packet, with another byte and the ICRC that this has."""
        out = bytearray(self.records[0])
        start = RECORD_HEADER + IPV4_UDP
        out[start + at] = value
        wrong = check_crc.check_roce(bytes(out[RECORD_HEADER:]), len(out), [(4791, 4791)])
        if wrong:
            out[-4:] = bytes.fromhex(wrong[0].rpartition(" ")[2])
        return bytes(out)

    def test_finds_nothing_in_what_linux_sent(self):
        self.more(*self.records)
        self.assertIsNone(self.traffic.judge())
        self.assertGreater(self.traffic.sent, 0)

    def test_finds_nothing_to_judge(self):
        self.assertIn("no RoCEv2 packet", self.traffic.judge())
        self.more(*self.records)
        self.assertIsNone(self.traffic.judge())
        self.assertIn("no RoCEv2 packet", self.traffic.judge(), "each packet is judged once")

    def test_waits_for_the_rest_of_a_record(self):
        self.more(self.records[0], self.records[1][:20])
        self.assertIsNone(self.traffic.judge())
        self.more(self.records[1][20:])
        self.assertIsNone(self.traffic.judge())

    def test_finds_an_opcode_that_is_not_the_standards(self):
        self.more(self.records[0], self.changed(0, 0xC2))
        self.assertIn(f"packet 2 from {self.sender}: opcode 0xc2", self.traffic.judge())

    def test_finds_a_reserved_bit(self):
        self.more(self.changed(8, 0x81))
        self.assertIn("BTH resv7", self.traffic.judge())

    def test_finds_a_wrong_icrc(self):
        spoiled = bytearray(self.records[0])
        spoiled[-1] ^= 1
        self.more(bytes(spoiled))
        self.assertIn("ICRC", self.traffic.judge())


if __name__ == "__main__":
    unittest.main()
