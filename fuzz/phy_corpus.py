# SPDX-License-Identifier: Apache-2.0
"""Seeds of the fuzz targets of src/phy, made by hand: make_corpus.py writes them."""
import random

TS1, TS2, IDLE, PACKET, CHARACTERS, NOISE, RESTART, CROSS = range(8)
OWN_CLOCK = 0x80
FINE = bytes(12)  # no bit of any lane is wrong


def phy_code():
    """(name, bytes): disparity and whether one word is taken from the input, a cut, data."""
    source = random.Random(1)
    yield "empty", b""
    yield "one-byte", b"\1\0\0\x4a"
    yield "all-bytes", b"\0\0\x40" + bytes(range(256))
    yield "all-bytes-at-positive-disparity", b"\1\0\x41" + bytes(range(256))
    # Bytes that take D.x.A7, and those that change the disparity each.
    yield "alternate-sevens", b"\0\0\5" + bytes((0xF1, 0xF2, 0xF4, 0xEB, 0xED, 0xEE) * 11)
    yield "flips", b"\1\0\7" + bytes((0x03, 0x65, 0x0A) * 43)
    for name, low, high in (("com", 0x17, 0xC0), ("skp", 0x0B, 0xC0), ("no-character", 0xFF, 3)):
        data = bytearray(source.randbytes(150))
        data[70:72] = high, low
        yield "word-" + name, b"\2\0\x46" + bytes(data)
    for size in (63, 64, 65, 127, 128, 129, 200):
        yield f"random-{size}", b"\0\0\x0d" + source.randbytes(size)


def link_lanes():
    """(name, bytes): width and clock, then steps, each with its wrong bits."""
    train = bytes((TS1, 5)) + FINE + bytes((TS2, 7)) + FINE + bytes((IDLE, 20)) + FINE
    packet = bytes((PACKET, 30)) + bytes(range(30)) + b"\1" + FINE
    link = bytes((PACKET, 0)) + FINE
    bad = bytes((PACKET, 14)) + bytes(range(14)) + b"\0" + FINE
    after = bytes((IDLE, 30)) + FINE
    for width in range(4):
        for clock in (0, OWN_CLOCK):
            name = ("12x", "8x", "4x", "1x")[width] + ("-own-clock" if clock else "")
            yield "packets-" + name, bytes((width | clock,)) + train + packet + link + bad + after
    crossed = bytes((CROSS, 0x0A, 0xA5, 1))
    yield "crossed-and-reversed", b"\2" + crossed + train + packet + after
    wrong = bytes((PACKET, 30)) + bytes(range(30)) + b"\1" + b"\0\xff\0\x21\1" + bytes(9)
    yield "wrong-bit", b"\2" + train + wrong + packet + after
    slip = bytes((IDLE, 40)) + b"\xff\0\x55\0" + bytes(9)
    yield "slip", b"\2" + train + slip + packet + (after * 6)
    twice = bytes((IDLE, 40)) + b"\xff\0\x55\2" + bytes(9)
    yield "bit-twice", b"\2" + train + twice + train + packet + after
    odd = bytes((CHARACTERS, 16, 201, 1, 2, 206, 203, 204, 205, 202, 1, 1, 1, 206, 204, 203, 9, 9))
    yield "control-characters", b"\3" + train + odd + FINE + packet + after
    long = bytes((CHARACTERS, 1, 204)) + FINE + (bytes((IDLE, 250)) + FINE) * 2
    yield "no-end", b"\3" + train + long + packet + after
    noise = bytes((NOISE, 20)) + bytes(range(20)) + bytes(3)
    yield "noise", b"\2" + noise + train + packet + noise + packet + after
    yield "restart", b"\2" + train + packet + bytes((RESTART,)) + train + packet + after
    skips = (bytes((IDLE, 255)) + FINE) * 20
    yield "skip-sets", b"\2" + train + skips + packet + after


def corpora():
    """(folder, what is in it)"""
    yield "phy_code", phy_code()
    yield "link_lanes", link_lanes()
