#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check the octets of a SONET/SDH line and take the payload of its one path out of them.

Written from the tables of ITU-T G.707 (frame 9.2, pointer 8.1, overhead 9.2.2 and 9.3.1, scrambler
6.5) and apart from src/wan/line/sonet, so that the two can judge each other. It says for each frame
what is wrong: framing octets, B1, B2, B3, indications of concatenation, fixed stuff that is not
zero, a pointer that moves in no way that is allowed. The first frame's B1 and B2, and the B3 of the
first container, are of what is not there, and are not looked at.

usage: check_sonet.py N FILE [PAYLOAD]
  N        of STM-N: 1, 4, 16 or 64, with one container for all of it
  FILE     octets of the line, from anywhere on; frames are looked for by their framing octets
  PAYLOAD  where the payload goes, from the first container that begins
prints a JSON object of counts, with "wrong", a list of sentences
exit status: 0 all is right, 1 something is not, or there is no frame, 2 a file cannot be read
"""
import collections
import json
import sys

ROWS, UNITS = 9, 783
A1, A2 = b"\xf6", b"\x28"
NORMAL, NEW_DATA = 0b0110, 0b1001
I_BITS, D_BITS = 0b1010101010, 0b0101010101


def key(size):
    """The scrambler's sequence: x^7 + x^6 + 1, from ones on, the first bit out being the oldest."""
    register, octets = [1] * 7, bytearray()
    while len(octets) < min(size, 127):
        octet = 0
        for _ in range(8):
            octet = octet << 1 | register[6]
            register = [register[5] ^ register[6]] + register[:6]
        octets.append(octet)
    return (bytes(octets) * (size // len(octets) + 1))[:size]


def added(one, other):
    number = int.from_bytes(one, "big") ^ int.from_bytes(other, "big")
    return number.to_bytes(len(one), "big")


def parity(octets, lanes):
    """Even parity of octets that are so many apart."""
    octets = octets + bytes(-len(octets) % lanes)
    number = 0
    for at in range(0, len(octets), lanes):
        number ^= int.from_bytes(octets[at:at + lanes], "big")
    return number.to_bytes(lanes, "big")


def bip8(octets):
    lanes = 512
    while lanes:
        octets = parity(octets, lanes)
        lanes //= 2
    return octets


def wrong_bits(one, other):
    return bin(int.from_bytes(one, "big") ^ int.from_bytes(other, "big")).count("1")


class Path:
    """Octets of containers as they come, and the payload that they have."""

    def __init__(self, n, counts, wrong):
        self.n, self.counts, self.wrong = n, counts, wrong
        self.size, self.row = 2349 * n, 261 * n
        self.octets = bytearray()
        self.skip = None      # octets until a container begins; unknown without a pointer
        self.parity = None    # of the container before
        self.payload = []

    def begin(self, skip):
        """A container begins after so many octets, and not as it seemed."""
        self.octets.clear()
        self.skip, self.parity = skip, None

    def until_next(self):
        """How many octets are left of the present container, modulo its size."""
        return self.skip if self.skip else -len(self.octets) % self.size

    def take(self, octets):
        if self.skip is None:
            return
        begin = min(self.skip, len(octets))
        self.skip -= begin
        self.octets += octets[begin:]
        while len(self.octets) >= self.size:
            self.container(bytes(self.octets[:self.size]))
            del self.octets[:self.size]

    def container(self, octets):
        self.counts["containers"] += 1
        if self.parity is not None:
            self.counts["b3_errors"] += wrong_bits(self.parity, octets[self.row:self.row + 1])
        self.parity = bip8(octets)
        self.counts["rei_p"] += octets[3 * self.row] >> 4
        for row in range(ROWS):
            stuff = octets[row * self.row + 1:row * self.row + self.n]
            if stuff.strip(b"\0"):
                self.wrong.append("fixed stuff is not zero in row %d" % (row + 1))
            self.payload.append(octets[row * self.row + self.n:(row + 1) * self.row])
        self.counts["c2"] = octets[2 * self.row]


class Line:
    """Frames, one after the other."""

    def __init__(self, n):
        self.n, self.row, self.head = n, 270 * n, 9 * n
        self.key = bytes(self.head) + key(ROWS * self.row - self.head)
        self.counts = collections.Counter()
        self.wrong = []
        self.path = Path(n, self.counts, self.wrong)
        self.b1 = self.b2 = self.pointer = None

    def frame(self, line):
        n, row = self.n, self.row
        self.counts["frames"] += 1
        name = "frame %d: " % self.counts["frames"]
        if line[:6 * n] != A1 * 3 * n + A2 * 3 * n:
            self.wrong.append(name + "framing octets")
        plain = added(line, self.key)
        if self.b1 is not None:
            self.counts["b1_errors"] += wrong_bits(self.b1, plain[row:row + 1])
            self.counts["b2_errors"] += wrong_bits(self.b2, plain[4 * row:4 * row + 3 * n])
        self.b1 = bip8(line)
        section = b"".join(plain[i * row:i * row + self.head] for i in range(3))
        self.b2 = added(parity(plain, 3 * n), parity(section, 3 * n))
        self.counts["rei_l"] += plain[8 * row + 3 * n + 2]
        for i in range(3):
            self.path.take(plain[i * row + self.head:(i + 1) * row])
        self.pointers(name, plain[3 * row:4 * row])
        for i in range(4, ROWS):
            self.path.take(plain[i * row + self.head:(i + 1) * row])

    def pointers(self, name, row):
        n = self.n
        word = row[0] << 8 | row[3 * n]
        for other in range(1, n):
            if row[other] & 0xF3 != 0x93 or row[3 * n + other] != 0xFF:
                self.wrong.append(name + "pointer %d is not of a concatenation" % (other + 1))
                break
        flag, value = word >> 12, word & 0x3FF
        octets = row[self.head:]
        before, self.pointer = self.pointer, value
        if flag == NEW_DATA and value < UNITS or before is None and flag == NORMAL:
            self.counts["new_data"] += flag == NEW_DATA
            self.path.begin(value * 3 * n)
        elif before is not None and flag == NORMAL and value == before:
            if self.path.until_next() != value * 3 * n % self.path.size:
                self.wrong.append(name + "the container is not where the pointer says")
        elif before is not None and flag == NORMAL and value == before ^ I_BITS:
            self.counts["increments"] += 1
            self.pointer = (before + 1) % UNITS
            octets = octets[3 * n:]
        elif before is not None and flag == NORMAL and value == before ^ D_BITS:
            self.counts["decrements"] += 1
            self.pointer = (before - 1) % UNITS
            octets = row[6 * n:9 * n] + octets
        else:
            self.wrong.append(name + "pointer %04x after %s" % (word, before))
            self.pointer = before
        self.path.take(octets)


def check(n, octets):
    line = Line(n)
    framing = A1 * 3 * n + A2 * 3 * n
    at = octets.find(framing)
    size = ROWS * 270 * n
    while at >= 0 and at + size <= len(octets):
        line.frame(octets[at:at + size])
        at += size
    if not line.counts["frames"]:
        line.wrong.append("no frame")
    for parity_name in ("b1", "b2", "b3"):
        if line.counts[parity_name + "_errors"]:
            line.wrong.append("%s is wrong" % parity_name.upper())
    return line


def main(arguments):
    if len(arguments) not in (2, 3) or arguments[0] not in ("1", "4", "16", "64"):
        sys.exit(__doc__)
    try:
        with open(arguments[1], "rb") as file:
            octets = file.read()
    except OSError as error:
        print(error, file=sys.stderr)
        return 2
    line = check(int(arguments[0]), octets)
    if len(arguments) == 3:
        with open(arguments[2], "wb") as file:
            file.write(b"".join(line.path.payload))
    counts = dict.fromkeys(("frames", "containers", "b1_errors", "b2_errors", "b3_errors", "rei_l",
                            "rei_p", "new_data", "increments", "decrements", "c2"), 0)
    print(json.dumps({**counts, **line.counts, "wrong": line.wrong}))
    return 1 if line.wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
