#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Read a line of 66-bit blocks, and say which frames and ordered sets are on it.

Written from the tables of IEEE 802.3, clauses 46 and 49, and from docs/wan-pcs.md, and apart from
src/wan/line/pcs, so that the two can judge each other. Slow, and bit by bit: blocks begin where 64
headers in a row are good; what is before that is not looked at.

usage: check_pcs.py [--most-first] [--ethernet | --infiniband] FILE
  --most-first   the most significant bit of an octet is first, as inside of an STS-192c
  --ethernet     look at preamble and FCS, and leave them out
  --infiniband   look at length and VCRC, and put the messages of ordered sets together
output, a line each, in order:
  frame HEX            what is between /S/ and /T/
  set CODE VALUE       an ordered set, as in "set 9C 000002"
  credit OP VL FCTBS FCCL WIDTH   training OWN HEARD FLAGS SCALE   (of --infiniband)
  error WHAT           a block that is none, a frame that does not end, a check that is wrong
exit status: 0 there was no error, 1 there was one, or no blocks, 2 the file cannot be read
"""
import struct
import sys
import zlib

BITS = 66
# Figure 49-7: the type of a block, and its eight lanes. C and its lane, D and its place in bits,
# O and S of lanes 0 and 4, T.
LAYOUTS = {
    0x1E: "C0 C1 C2 C3 C4 C5 C6 C7", 0x2D: "C0 C1 C2 C3 O36 D40 D48 D56",
    0x33: "C0 C1 C2 C3 S D40 D48 D56", 0x66: "O32 D8 D16 D24 S D40 D48 D56",
    0x55: "O32 D8 D16 D24 O36 D40 D48 D56", 0x78: "S D8 D16 D24 D32 D40 D48 D56",
    0x4B: "O32 D8 D16 D24 C4 C5 C6 C7", 0x87: "T C1 C2 C3 C4 C5 C6 C7",
    0x99: "D8 T C2 C3 C4 C5 C6 C7", 0xAA: "D8 D16 T C3 C4 C5 C6 C7",
    0xB4: "D8 D16 D24 T C4 C5 C6 C7", 0xCC: "D8 D16 D24 D32 T C5 C6 C7",
    0xD2: "D8 D16 D24 D32 D40 T C6 C7", 0xE1: "D8 D16 D24 D32 D40 D48 T C7",
    0xFF: "D8 D16 D24 D32 D40 D48 D56 T",
}
# Table 49-1.
CODES = {0x00: "idle", 0x06: "lpi", 0x1E: "E", 0x2D: "r0", 0x33: "r1", 0x4B: "r2", 0x55: "r3",
         0x66: "r4", 0x78: "r5"}
SETS = {0x0: "9C", 0xF: "5C"}


def bits_of(octets, most_first):
    order = range(7, -1, -1) if most_first else range(8)
    return [octet >> bit & 1 for octet in octets for bit in order]


def first_block(bits):
    """The bit at which blocks begin; None: nowhere."""
    for start in range(BITS):
        headers = range(start, len(bits) - BITS + 1, BITS)
        if len(headers) < 64:
            return None
        if all(bits[at] != bits[at + 1] for at in headers[:64]):
            return start
    return None


def number(bits):
    return sum(bit << place for place, bit in enumerate(bits))


def blocks_of(bits, start):
    """The header's first bit, and the payload's bits as they were before they were scrambled."""
    register = [None] * 58
    for at in range(start, len(bits) - BITS + 1, BITS):
        payload = []
        for bit in bits[at + 2:at + BITS]:
            known = register[57] is not None
            payload.append(bit ^ register[38] ^ register[57] if known else None)
            register = [bit] + register[:57]
        good = bits[at] != bits[at + 1]
        yield (bits[at] if good else None), payload


def lanes_of(first, payload):
    """Eight of ("D", octet), ("O", code), ("S",), ("T",), ("C", name); None: the block is none."""
    if first is None:
        return None
    if first == 0:
        return [("D", number(payload[8 * i:8 * i + 8])) for i in range(8)]
    layout = LAYOUTS.get(number(payload[:8]))
    if layout is None:
        return None
    lanes = []
    for word in layout.split():
        what, place = word[0], int(word[1:] or 0)
        if what == "D":
            lanes.append(("D", number(payload[place:place + 8])))
        elif what == "C":
            lanes.append(("C", CODES.get(number(payload[8 + 7 * place:15 + 7 * place]))))
        elif what == "O":
            lanes.append(("O", SETS.get(number(payload[place:place + 4]))))
        else:
            lanes.append((what, what))
    return None if any(lane[1] is None for lane in lanes) else lanes


class Reader:
    """Puts lanes together."""

    def __init__(self, emit):
        self.emit = emit
        self.frame = None

    def error(self, what):
        self.frame = None
        self.emit("error", what)

    def block(self, lanes):
        if lanes is None:
            return self.error("a block that is none")
        for first in (0, 4):
            column = lanes[first:first + 4]
            if column[0][0] == "O":
                if self.frame is not None:
                    self.error("an ordered set in a frame")
                self.emit("set", column[0][1], bytes(lane[1] for lane in column[1:]))
                continue
            for what, value in column:
                self.lane(what, value)

    def lane(self, what, value):
        if what == "D":
            if self.frame is None:
                return self.error("data outside of a frame")
            self.frame.append(value)
        elif what == "S":
            if self.frame is not None:
                self.error("a frame in a frame")
            self.frame = bytearray()
        elif what == "T":
            if self.frame is None:
                return self.error("the end of no frame")
            frame, self.frame = bytes(self.frame), None
            self.emit("frame", frame)
        elif self.frame is not None or value == "E":
            self.error("a frame without an end" if value == "idle" else "an error in a frame")


def vcrc(data):
    """IBA 7.8.2: x^16 + x^12 + x^3 + x + 1, the least significant bit of an octet first."""
    register = 0xFFFF
    for octet in data:
        register ^= octet
        for _ in range(8):
            register = register >> 1 ^ (0xD008 if register & 1 else 0)
    return struct.pack("<H", register ^ 0xFFFF)


class Packets:
    """What is said of an event in the terms of one kind of line."""

    def __init__(self, kind, out):
        self.kind, self.out, self.errors = kind, out, 0
        self.sets = []

    def say(self, *words):
        if words[0] == "error":
            self.errors += 1
        print(*words, file=self.out)

    def __call__(self, what, *values):
        if what == "frame":
            self.frame(values[0])
        elif what == "set":
            self.set(values[0], values[1])
        else:
            self.say(what, *values)

    def frame(self, octets):
        if self.kind == "ethernet":
            if octets[:7] != b"\x55" * 6 + b"\xd5":
                return self.say("error", "a preamble that is none")
            octets, fcs = octets[7:-4], octets[-4:]
            if struct.pack("<I", zlib.crc32(octets)) != fcs:
                return self.say("error", "a wrong FCS")
        elif self.kind == "infiniband":
            if len(octets) < 10 or 4 * (struct.unpack_from(">H", octets, 4)[0] & 0x7FF) + 2 != len(
                    octets):
                return self.say("error", "a length that is not the LRH's")
            if vcrc(octets[:-2]) != octets[-2:]:
                return self.say("error", "a wrong VCRC")
        self.say("frame", octets.hex())

    def set(self, code, value):
        if self.kind != "infiniband" or code != "5C":
            return self.say("set", code, value.hex())
        kind, place = value[0] >> 4, value[0] & 15
        self.sets = [kind, value] if place == 0 else self.sets + [value]
        if len(self.sets) != place + 2 or self.sets[0] != kind:
            self.say("error", "an ordered set out of its turn")
        elif place == 4:
            self.message(kind, b"".join(part[1:] for part in self.sets[1:]))

    def message(self, kind, octets):
        if vcrc(bytes((kind,)) + octets[:8]) != octets[8:]:
            return self.say("error", "a message with a wrong check")
        three = [int.from_bytes(octets[i:i + 3], "big") for i in (1, 4)]
        if kind == 1:
            return self.say("credit", octets[0] >> 4, octets[0] & 15, *three,
                            24 if octets[7] & 1 else 12)
        if kind == 2 and octets[0] == 1:
            return self.say("training", *struct.unpack_from(">HHBB", octets, 1))
        return self.say("error", "a message that nobody knows")


def read_line(octets, most_first, kind, out):
    """How many errors there were; None: there are no blocks."""
    bits = bits_of(octets, most_first)
    start = first_block(bits)
    if start is None:
        return None
    packets = Packets(kind, out)
    reader = Reader(packets)
    for place, (first, payload) in enumerate(blocks_of(bits, start)):
        if place > 0:  # which is what the descrambler begins with
            reader.block(lanes_of(first, payload))
    return packets.errors


def main(arguments):
    kind, most_first, paths = None, False, []
    for argument in arguments:
        if argument == "--most-first":
            most_first = True
        elif argument in ("--ethernet", "--infiniband"):
            kind = argument[2:]
        else:
            paths.append(argument)
    if len(paths) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        with open(paths[0], "rb") as file:
            octets = file.read()
    except OSError as error:
        print(error, file=sys.stderr)
        return 2
    errors = read_line(octets, most_first, kind, sys.stdout)
    if errors is None:
        print("error no blocks")
    return 0 if errors == 0 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
