#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The checker finds every genuine packet good, and every planted fault bad."""
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

import check_crc

HERE = pathlib.Path(__file__).resolve().parent
DATA = HERE.parent / "data"
IB = DATA / "ib" / "infiniband.pcap"
ROCE = DATA / "roce" / "rc-atomic.pcap"


def run(*arguments):
    done = subprocess.run([sys.executable, HERE / "check_crc.py", *map(str, arguments)],
                          capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def pcapng(order, sections):
    """A pcapng file; each section is a list of (link type, [packet, ...])."""
    def block(kind, body):
        body += b"\0" * (-len(body) % 4)
        size = struct.pack(order + "I", 12 + len(body))
        return struct.pack(order + "I", kind) + size + body + size

    comment = struct.pack(order + "HH", 1, 5) + b"hello\0\0\0" + struct.pack(order + "HH", 0, 0)
    out = b""
    for interfaces in sections:
        out += block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1) + comment)
        for link, _ in interfaces:
            out += block(1, struct.pack(order + "HHI", link, 0, 0) + comment)
        out += block(5, struct.pack(order + "III", 0, 0, 0))         # statistics
        for index, (_, packets) in reversed(list(enumerate(interfaces))):
            for packet in packets:
                padded = packet + b"\0" * (-len(packet) % 4)
                out += block(6, struct.pack(order + "IIIII", index, 0, 0, len(packet), len(packet))
                             + padded + comment)
    return out


class Checker(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def write(self, name, blob):
        path = os.path.join(self.folder.name, name)
        with open(path, "wb") as file:
            file.write(blob)
        return path

    def packets(self, path):
        return [data for _, data, _ in check_crc.records(path)]

    def test_finds_every_genuine_packet_good(self):
        status, out, _ = run("--json", IB, *sorted((DATA / "roce").glob("*.pcap")))
        files = json.loads(out)["files"]
        self.assertEqual(status, 0)
        self.assertEqual(files[0]["packets"], 43)
        self.assertEqual([file["good"] for file in files], [file["packets"] for file in files])
        self.assertGreaterEqual(sum(file["good"] for file in files), 43 + 587)
        self.assertEqual(sum(file["bad"] + file["truncated"] for file in files), 0)

    def test_says_how_many_are_good_per_file(self):
        status, out, _ = run(IB)
        self.assertEqual((status, out), (0, "%s: 43 packets, 43 good, 0 bad\n" % IB))

    def test_finds_a_flipped_bit_wherever_a_crc_covers_it(self):
        frame = self.packets(ROCE)[0]
        udp = 14 + 20
        uncovered = {14 + 1, 14 + 8, 14 + 10, 14 + 11, udp + 6, udp + 7, udp + 8 + 4}
        for at in range(14, len(frame)):
            changed = bytearray(frame)
            changed[at] ^= 0x04
            wrong = check_crc.check_record(1, bytes(changed), len(frame), [(4791, 4791)])
            if at in uncovered:
                self.assertEqual(wrong, [], at)
            else:
                self.assertNotEqual(wrong, [], at)     # bad, or no longer RoCEv2 at all

    def test_finds_a_flipped_bit_anywhere_in_a_native_packet(self):
        record = self.packets(IB)[0]
        for at in range(16, 16 + struct.unpack_from(">H", record, 14)[0]):
            changed = bytearray(record)
            changed[at] ^= 0x01
            self.assertTrue(check_crc.check_record(197, bytes(changed), len(record), []), at)

    def test_exits_with_1_and_names_the_record_when_one_is_bad(self):
        blob = bytearray(ROCE.read_bytes())
        blob[-1] ^= 1
        status, out, _ = run(self.write("bad.pcap", blob))
        self.assertEqual(status, 1)
        self.assertIn(" 1 bad", out)
        self.assertIn("record %d: ICRC" % len(self.packets(ROCE)), out)

    def test_reads_pcapng_of_several_interfaces_sections_and_comments(self):
        native, roce = self.packets(IB), self.packets(ROCE)
        for order in "<>":
            blob = pcapng(order, [[(1, roce), (197, native)], [(197, native[:3]), (113, [b"xy"])]])
            status, out, _ = run("--json", self.write("two.pcapng", blob))
            self.assertEqual(status, 0)
            self.assertEqual(json.loads(out)["files"][0]["good"], len(roce) + 43 + 3)

    def test_checks_the_ports_it_is_told(self):
        blob = pcapng("<", [[(1, [self.moved(frame, 50000) for frame in self.packets(ROCE)])]])
        path = self.write("moved.pcapng", blob)
        self.assertEqual(run(path)[0], 1)              # nothing on 4791
        self.assertEqual(run("--port", "49152-65535", path)[0], 0)
        self.assertEqual(run("--port", "4791", "--port", "50000", path)[0], 0)
        self.assertEqual(run("--port", "50001-50002", path)[0], 1)

    def moved(self, frame, port):
        """The same RoCEv2 packet to another UDP port, with its ICRC made right again."""
        changed = bytearray(frame)
        struct.pack_into(">H", changed, 14 + 20 + 2, port)
        wrong = check_crc.check_roce(bytes(changed), len(changed), [(port, port)])
        changed[-4:] = bytes.fromhex(wrong[0].rpartition(" ")[2])
        return bytes(changed)

    def test_counts_truncated_packets_apart(self):
        packets = self.packets(ROCE)
        blob = bytearray(ROCE.read_bytes()[:24])
        for frame in packets:
            blob += struct.pack("<IIII", 0, 0, 60, len(frame)) + frame[:60]
        status, out, _ = run(self.write("cut.pcap", blob))
        self.assertEqual(status, 1)                    # nothing could be checked
        self.assertIn("%d truncated" % len(packets), out)

    def test_refuses_what_is_not_a_capture(self):
        self.assertEqual(run(self.write("text", b"hello, world, this is no capture"))[0], 2)
        self.assertEqual(run(self.write("short.pcap", IB.read_bytes()[:100]))[0], 2)
        self.assertEqual(run(os.path.join(self.folder.name, "absent"))[0], 2)


if __name__ == "__main__":
    unittest.main()
