#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The checker reads the published example, and finds every planted fault."""
import io
import struct
import unittest

import check_pcs

# thaler_1_0706.pdf of the IEEE 802.3 10GEPON study group: headers as they are on the line, payloads
# scrambled, of an Ethernet frame between idle blocks. The scrambler began with ones.
EXAMPLE = [
    ("10", 0x7bfff0800000001e), ("10", 0x623016aaaaad1578), ("01", 0x6a767c6ec581e108),
    ("01", 0x8df4aacc802830e6), ("01", 0x2cdb936dae49ee83), ("01", 0x74905a82db7046f3),
    ("01", 0xc57a251a6b79511e), ("01", 0x4aca440cd4bf1f41), ("01", 0x2c3f2db5d2122809),
    ("01", 0x320e33b3c8de9249), ("10", 0xb599add7c83aa32a),
]


class Line:
    """Blocks as they go out, in front of which are idle ones."""

    def __init__(self):
        self.bits, self.register = [], [1] * 58

    def raw(self, header, payload):
        self.bits += [int(bit) for bit in header] + [payload >> i & 1 for i in range(64)]

    def block(self, header, payload):
        out = 0
        for i in range(64):
            bit = payload >> i & 1 ^ self.register[38] ^ self.register[57]
            out |= bit << i
            self.register = [bit] + self.register[:57]
        self.raw(header, out)

    def idle(self, count=70):
        for _ in range(count):
            self.block("10", 0x1E)

    def read(self, kind=None, most_first=False):
        bits = self.bits + [0] * (-len(self.bits) % 8)
        order = range(7, -1, -1) if most_first else range(8)
        octets = bytes(sum(bits[i + n] << place for n, place in enumerate(order))
                       for i in range(0, len(bits), 8))
        out = io.StringIO()
        errors = check_pcs.read_line(octets, most_first, kind, out)
        return errors, out.getvalue().splitlines()


def frame_blocks(line, octets):
    whole = len(octets) - 7 & ~7
    line.block("10", 0x78 | int.from_bytes(octets[:7], "little") << 8)
    for i in range(7, 7 + whole, 8):
        line.block("01", int.from_bytes(octets[i:i + 8], "little"))
    rest = octets[7 + whole:]
    kind = (0x87, 0x99, 0xAA, 0xB4, 0xCC, 0xD2, 0xE1, 0xFF)[len(rest)]
    line.block("10", kind | int.from_bytes(rest, "little") << 8)


class CheckPcs(unittest.TestCase):
    def test_reads_the_published_example(self):
        # Idle before it, of a scrambler that then has ones: what it says does not matter.
        line = Line()
        for _ in range(70):
            line.raw("10", (1 << 64) - 1)
        for header, payload in EXAMPLE:
            line.raw(header, payload)
        errors, said = line.read()
        frames = [words for words in said if words.startswith("frame")]
        self.assertEqual(len(frames), 1)
        octets = bytes.fromhex(frames[0].split()[1])
        self.assertEqual(octets[:7], b"\x55" * 6 + b"\xd5")
        self.assertEqual(len(octets), 7 + 64)
        self.assertEqual(octets[7:15], struct.pack("<Q", 0x8b0e380577200008))
        self.assertEqual(octets[-8:], struct.pack("<Q", 0x79f7eb9300000000))

    def test_reads_frames_of_any_size_and_either_order_of_bits(self):
        for most_first in (False, True):
            line = Line()
            line.idle()
            sent = [bytes(range(size)) for size in range(7, 40)]
            for octets in sent:
                frame_blocks(line, octets)
            line.idle(1)
            self.assertEqual(line.read(None, most_first),
                             (0, ["frame " + octets.hex() for octets in sent]))

    def test_finds_what_is_wrong(self):
        faults = {
            "a block that is none": [("10", 0x77)],
            "data outside of a frame": [("01", 1)],
            "the end of no frame": [("10", 0x87)],
            "a frame in a frame": [("10", 0x78), ("10", 0x78), ("10", 0x87)],
            "a frame without an end": [("10", 0x78), ("10", 0x1E)],
            "an ordered set in a frame": [("10", 0x78), ("10", 0x4B)],
            "an error in a frame": [("10", 0x1E | 0x1E << 8)],
        }
        for what, blocks in faults.items():
            line = Line()
            line.idle()
            for block in blocks:
                line.block(*block)
            line.idle(1)
            errors, said = line.read()
            self.assertGreater(errors, 0, what)
            self.assertIn("error " + what, said)

    def test_looks_at_checks(self):
        packet = bytes.fromhex("0002000500020007") + b"\0"  # an LRH, and one octet too many
        line = Line()
        line.idle()
        frame_blocks(line, packet + b"\0")
        good = packet[:8]
        frame_blocks(line, good + check_pcs.vcrc(good))
        frame_blocks(line, good + b"\0\0")
        line.idle(1)
        errors, said = line.read("infiniband")
        self.assertEqual(errors, 2)
        self.assertEqual(said[1], "frame " + (good + check_pcs.vcrc(good)).hex())
        self.assertEqual(line.read("ethernet")[0], 3)

    def test_says_that_there_are_no_blocks(self):
        self.assertIsNone(check_pcs.read_line(bytes(2000), False, None, io.StringIO()))


if __name__ == "__main__":
    unittest.main()
