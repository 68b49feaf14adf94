#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The checker takes frames out of messages however they are cut, and finds every planted fault."""
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

import check_lan

HERE = pathlib.Path(__file__).resolve().parent
A, B = 5, 6                              # LIDs
MAC = {lid: b"\x02WL\0" + struct.pack(">H", lid) for lid in (A, B)}


def pcap(link, packets):
    out = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 1 << 18, link)
    for packet in packets:
        out += struct.pack("<IIII", 0, 0, len(packet), len(packet)) + packet
    return out


def erf(packet):
    return struct.pack("<Q", 0) + bytes((21, 4)) + struct.pack(">HHH", 16 + len(packet), 0,
                                                              len(packet)) + packet


def native(slid, dlid, opcode, psn, qp, payload, source_qp=0x70):
    """A packet, without right CRCs: another checker is for these."""
    pad = -len(payload) % 4
    body = bytes((opcode, pad << 4)) + b"\xff\xff" + struct.pack(">II", qp, psn)
    if opcode == 0x64:
        body += struct.pack(">II", 1, source_qp)
    body += payload + bytes(pad) + bytes(4)
    return struct.pack(">BBHHH", 0, 2, dlid, (8 + len(body)) // 4, slid) + body + bytes(2)


def header(total, begin=0, number=0, kind=1, flags=0, offload=(0, 0, 0, 0)):
    return struct.pack(">2sBBIIIHHHH", b"WL", 0x10 | kind, flags, number, total, begin, *offload)


def frame(to, source, rest):
    return to + source + rest


def tcp(source, to, left):
    """A segment of TCP whose checksum is right, or left to do."""
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + 20 + 11, 1, 0, 64, 6, 0, b"\xc0\0\2\1",
                     b"\xc0\0\2\2")
    pseudo = ip[12:20] + struct.pack(">II", 31, 6)
    segment = bytearray(struct.pack(">HHIIBBHHH", 7, 8, 1, 2, 0x50, 0x18, 100, 0, 0))
    segment += b"hello world"
    total = check_lan.ones_sum(pseudo if left else pseudo + segment)
    struct.pack_into(">H", segment, 16, total if left else total ^ 0xFFFF)
    return frame(MAC[to], MAC[source], b"\x08\x00" + ip + segment)


def mark(text):
    return frame(b"\xff" * 6, MAC[A], b"\x88\xb6" + text + bytes(40))


class CheckLan(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.number = 100
        self.packets, self.seen = [], {A: [], B: []}
        self.datagrams(mark(b"begin"))
        text = bytes(range(256)) * 8
        self.broadcast = frame(b"\xff" * 6, MAC[B], b"\x88\xb5" + text)
        self.datagrams(self.broadcast, B, (0, 1024, 512), flags=0)
        self.done = tcp(A, B, left=False)
        self.connection(self.done)
        self.left = tcp(A, B, left=True)
        self.connection(self.left, flags=0x40, offload=(0, 0, 34, 16))
        self.packets.append(native(A, B, 0x64, 0, 0x71, header(4, number=7, kind=2) + bytes(4)))
        self.seen[A].append(frame(b"\1\0\x5e\0\0\x6a", check_lan.ASKING, b"\x08\x00"))
        self.seen[B].append(frame(b"\1\0\x5e\0\0\x16", MAC[B], b"\x08\x00"))   # nobody wants it

    def datagrams(self, whole, source=A, parts=(0,), flags=0):
        self.number += 1
        ends = sorted(parts)[1:] + [len(whole)]
        for begin in parts:
            end = ends[sorted(parts).index(begin)]
            self.packets.append(native(source, A + B - source, 0x64, 0, 0x71,
                                       header(len(whole), begin, self.number, 1, flags)
                                       + whole[begin:end]))
        self.see(whole)

    def connection(self, whole, flags=0, offload=(0, 0, 0, 0)):
        text = header(len(whole), flags=flags, offload=offload) + whole
        cut = [text[at:at + 32] for at in range(0, len(text), 32)]
        for i, part in enumerate(cut):
            opcode = 0x20 if i == 0 else 0x22 if i == len(cut) - 1 else 0x21
            self.packets.append(native(A, B, opcode, 50 + len(self.packets), 0x99, part))
        self.see(whole)

    def see(self, whole):
        for lid in (A, B):
            self.seen[lid].append(whole)

    def check(self):
        if not self.seen[A][-1].startswith(b"\xff" * 6 + MAC[A]):
            self.datagrams(mark(b"end"))
        files = {}
        for name, blob in (("fabric", pcap(197, map(erf, self.packets))),
                           ("a", pcap(1, self.seen[A])), ("b", pcap(1, self.seen[B]))):
            files[name] = os.path.join(self.folder.name, name)
            with open(files[name], "wb") as file:
                file.write(blob)
        done = subprocess.run(
            [sys.executable, HERE / "check_lan.py", files["fabric"], f"{A}={files['a']}",
             f"{B}={files['b']}"], capture_output=True, text=True, check=False)
        self.assertEqual(done.stderr, "")
        return done.returncode, done.stdout

    def refuses(self, why):
        code, said = self.check()
        self.assertEqual(code, 1, said)
        self.assertIn(why, said)

    def test_frames_are_found_however_they_are_cut(self):
        code, said = self.check()
        self.assertEqual(code, 0, said)
        self.assertIn("port 5: 3 frames agree\nport 6: 3 frames agree\n", said)
        self.assertIn("3 frames: 2 by connections, 1 in datagrams, 1 in several parts, "
                      "1 with a checksum left to do, 0 with segments left to cut", said)

    def test_a_bit_that_is_another_one_at_an_interface(self):
        at = self.seen[B].index(self.done)
        self.seen[B][at] = self.done[:-1] + bytes((self.done[-1] ^ 1,))
        self.refuses("port 6: 1 times only")

    def test_a_frame_that_did_not_come(self):
        self.seen[B].remove(self.broadcast)
        self.refuses("port 6: 1 times only on the fabric")

    def test_a_frame_that_came_twice(self):
        self.see(self.left)
        self.refuses("only at its interface")

    def test_a_frame_that_the_fabric_never_had(self):
        self.seen[A].append(tcp(B, A, left=False))
        self.refuses("port 5: 1 times only at its interface")

    def test_a_part_that_is_missing(self):
        del self.packets[2]
        self.refuses("are missing")

    def test_parts_that_overlap(self):
        self.number += 1
        for begin in (0, 8):
            self.packets.append(native(A, B, 0x64, 0, 0x71,
                                       header(24, begin, self.number) + bytes(16)))
        self.refuses("do not meet")

    def test_parts_that_contradict_each_other(self):
        self.number += 1
        for begin, total in ((0, 24), (16, 32)):
            self.packets.append(native(A, B, 0x64, 0, 0x71,
                                       header(total, begin, self.number) + bytes(8)))
        self.refuses("contradict")

    def test_a_checksum_that_is_said_to_be_left_and_is_not(self):
        self.connection(self.done, flags=0x40, offload=(0, 0, 34, 16))
        self.refuses("pseudo header")

    def test_a_checksum_that_is_left_and_not_said_to_be(self):
        self.connection(self.left)
        self.refuses("a checksum is wrong")

    def test_segments_with_other_headers_than_are_said(self):
        self.connection(self.left, flags=0x41, offload=(1448, 66, 34, 16))
        self.refuses("66 bytes, and have 54")

    def test_a_frame_in_anothers_name(self):
        self.datagrams(frame(b"\xff" * 6, MAC[B], b"\x88\xb5" + bytes(60)), A)
        self.refuses("source 02:57:4c:00:00:06 is not of LID 5")

    def test_headers_that_cannot_be(self):
        for bad in (header(60)[:2] + b"\x21" + header(60)[3:], header(60, flags=0x10),
                    header(60, flags=2), b"WX" + header(60)[2:]):
            with self.subTest(bad.hex()):
                self.setUp()
                self.packets.append(native(A, B, 0x64, 0, 0x71, bad + bytes(60)))
                self.assertEqual(self.check()[0], 1)

    def test_a_message_that_breaks_off(self):
        del self.packets[-2]             # the last of the last connection's
        self.refuses("break")

    def test_captures_without_marks(self):
        self.seen[B] = self.seen[B][1:]
        self.refuses("no mark at its begin")


if __name__ == "__main__":
    unittest.main()
