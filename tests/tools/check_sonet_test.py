#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The checker finds a genuine line right, and each planted fault wrong."""
import unittest

import check_sonet

# Two frames of a genuine STM-1 (tests/wan/line/sonet/genuine_frame.h says from where), the first
# ten octets of each row; all else is C3. A line that goes on with the second one has other ones.
FIRST = ("f6f6f62828280d00006e 830000000000000000dc ff0000ff0000ff0000fe 6a93930affff00000000"
         " 5d26f700000000000000 ff0000ff0000ff0000ff ff0000ff0000ff000000 ff0000ff0000ff000000"
         " 0b000000000000000000")
SECOND = ("f6f6f62828280d00006f 240000000000000000b3 ff0000ff0000ff0000fe 6a93930affff00000000"
          " 7a895800000000000000 ff0000ff0000ff0000ff ff0000ff0000ff000000 ff0000ff0000ff000000"
          " 0b000000000000000000")


def line_of(*frames, change=()):
    octets = b""
    for frame in frames:
        plain = bytearray(b"".join(bytes.fromhex(row) + b"\xc3" * 260 for row in frame.split()))
        octets += check_sonet.added(bytes(plain), bytes(9) + check_sonet.key(len(plain) - 9))
    octets = bytearray(octets)
    for at, bits in change:
        octets[at] ^= bits
    return bytes(octets)


class Genuine(unittest.TestCase):
    def test_a_genuine_line_is_right(self):
        line = check_sonet.check(1, b"noise" + line_of(FIRST, SECOND) + b"and more")
        self.assertEqual(line.wrong, [])
        self.assertEqual((line.counts["frames"], line.counts["b1_errors"]), (2, 0))

    def test_the_second_container_is_the_only_whole_one_that_a_pointer_has_led_to(self):
        line = check_sonet.check(1, line_of(FIRST, SECOND))
        self.assertEqual(b"".join(line.path.payload), b"\xc3" * 2340)
        self.assertEqual(line.counts["c2"], 0xFE)

    def test_each_wrong_bit_is_counted(self):
        line = check_sonet.check(1, line_of(FIRST, SECOND, change=((300, 0x81), (2000, 2))))
        self.assertEqual((line.counts["b1_errors"], line.counts["b2_errors"]), (3, 3))

    def test_a_wrong_bit_of_the_section_is_of_its_parity_only(self):
        line = check_sonet.check(1, line_of(FIRST, SECOND, change=((273, 1),)))
        self.assertEqual((line.counts["b1_errors"], line.counts["b2_errors"]), (1, 0))

    def test_b3_is_looked_at_where_there_is_a_container_before(self):
        right = line_of(FIRST, SECOND, SECOND)
        # That of the second container is of the first one and right; of the third one it is not.
        self.assertNotEqual(check_sonet.check(1, right).counts["b3_errors"], 0)

    def test_framing_octets_are_looked_at(self):
        line = check_sonet.check(1, line_of(FIRST, SECOND, change=((2430 + 1, 1),)))
        self.assertEqual(line.wrong[0], "frame 2: framing octets")

    def test_a_pointer_that_jumps_is_wrong(self):
        line = check_sonet.check(1, line_of(FIRST, SECOND.replace("0affff", "0bffff")))
        self.assertIn("frame 2: pointer 6a0b after 522", line.wrong)

    def test_increments_and_decrements_are_followed(self):
        for word, name in (("68a0", "increments"), ("6b5f", "decrements")):
            moved = SECOND.replace("6a93930a", word[:2] + "9393" + word[2:])
            line = check_sonet.check(1, line_of(FIRST, moved))
            self.assertEqual(line.counts[name], 1)

    def test_nothing_is_wrong_too(self):
        self.assertEqual(check_sonet.check(1, b"nothing").wrong, ["no frame"])


if __name__ == "__main__":
    unittest.main()
