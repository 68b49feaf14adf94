# SPDX-License-Identifier: Apache-2.0
"""What sonet_stream reads, by hand: for make_corpus.py."""
import struct

FRAMES, WRONG, OCTETS, OVERHEAD, FILL, CUT, WAY, TIME, NAME = range(9)
BITS, LOST, DOUBLED, SLIPPED = range(4)
STRAIGHT, REGENERATOR, MULTIPLEXER = range(3)


def frames(count=8):
    return bytes((FRAMES, count - 1))


def wrong(kind, at=1000, argument=1):
    more = b"" if kind == LOST else bytes((argument,))
    return bytes((WRONG, 0)) + struct.pack(">HB", at, kind) + more


def overhead(row, column, bits, times=1):
    """Bits of an octet of the overhead, or of the path's first column, wrong for so many frames."""
    return bytes((OVERHEAD, row, column, times - 1, bits))


def way(which, clock=0):
    """`clock`: octets a frame by which the multiplexer's is faster, from -16 to 15."""
    return bytes((WAY, which, 8 * (clock + 16)))


def named(which, text):
    """A trace of this format, none, 16 or 64 octets."""
    return bytes((NAME, which, len(text))) + text


def sonet_stream():
    """(name, bytes): traces, pointer and steps, as fuzz/sonet_stream.cc reads them."""
    for choice, pointer in ((0, 174), (1, 0), (2, 10), (0, 255)):
        yield "traces-%d-pointer-%d" % (choice, pointer), bytes((choice, pointer)) + frames() * 30
    begin = bytes((1, 174)) + frames() * 5
    for kind, name in enumerate(("bits", "lost", "doubled", "slipped")):
        yield "octet-" + name, begin + wrong(kind) + frames() + wrong(kind, 5, 7) + frames()
    # Of each row a column: J0, B1, D1, H1, B2, K2 as AIS and as RDI, M1, and the path's.
    for row, column, bits in ((0, 6, 1), (1, 0, 3), (2, 0, 1), (3, 0, 0xF0), (3, 0, 0x60),
                              (3, 3, 0xAA), (3, 3, 0x55), (4, 0, 0xFF), (4, 6, 7), (4, 6, 6),
                              (8, 5, 40), (8, 5, 9), (0, 9, 5), (1, 9, 0xFF), (2, 9, 0x16),
                              (2, 9, 7), (3, 9, 0x38), (3, 9, 0x98)):
        change = overhead(row, column, bits)
        yield "overhead-%d-%d-%02x" % (row, column, bits), (
            begin + change + frames(3) + overhead(row, column, bits, 8) * 2 + frames())
    zeros = bytes((FILL, 3, 0x90, 0))
    yield "zeros", begin + zeros + frames()
    yield "zeros-for-long", begin + bytes((FILL, 7, 0xFF, 0)) * 40 + frames(2) + zeros + frames()
    yield "ones", begin + bytes((FILL, 7, 0xFF, 0xFF)) * 46
    yield "noise", begin + bytes((OCTETS, 200)) + bytes(i * 7 & 255 for i in range(200)) + frames()
    yield "framing", begin + bytes((OCTETS, 6)) + bytes.fromhex("f6f6f6282828") + frames()
    yield "cut", begin + bytes((CUT, 0)) + frames() + bytes((CUT, 1)) + frames()
    yield "silence", begin + bytes((TIME, 5, TIME, 99, TIME, 2)) + frames()
    ais = bytes((FILL, 4, 0, 0xFF))
    for which, name in ((REGENERATOR, "regenerator"), (MULTIPLEXER, "multiplexer")):
        yield name, bytes((1, 174)) + way(which) + frames() * 6 + wrong(BITS) + frames() * 3
        yield name + "-cut", (begin + way(which) + frames() * 3 + bytes((FILL, 7, 0xFF, 0)) * 20
                              + frames() * 4 + ais + way(STRAIGHT) + frames())
    yield "pointers-of-a-multiplexer", (begin + way(MULTIPLEXER) + frames() * 8
                                        + wrong(LOST) + frames(4) + overhead(3, 3, 0xAA)
                                        + frames(4) + overhead(3, 3, 0x55) + frames(8) * 3)
    for clock, name in ((12, "faster"), (-12, "slower")):
        yield "multiplexer-that-is-" + name, begin + way(MULTIPLEXER, clock) + frames() * 16
    for choice, name in ((0xE1, "stm4"), (0xE7, "stm4-with-a-path-of-its-own"),
                         (7, "path-of-its-own")):
        yield name, bytes((choice, 174)) + frames() * 3 + way(MULTIPLEXER) + frames() * 3
    missing = overhead(3, 1, 0xFF, 8)
    yield "stm4-concatenation", bytes((0xE1, 174)) + frames() * 3 + missing * 2 + frames() * 2
    yield "bits-late", begin + (wrong(SLIPPED, 9, 3) + frames()) * 3 + wrong(SLIPPED, 9, 0)
    yield "framing-once", (begin + bytes((CUT, 0, OCTETS, 6)) + bytes.fromhex("f6f6f6282828")
                           + bytes((FILL, 7, 0xFF, 0x55)) * 3 + frames())
    yield "names", b"\1\256" + b"".join(
        named(which, text) for which in range(3)
        for text in (b"", b"west", b"x" * 16, b"x" * 63, b"\x07"))


def corpora():
    return (("sonet_stream", sonet_stream()),)
