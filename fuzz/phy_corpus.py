# SPDX-License-Identifier: Apache-2.0
"""Seeds of the fuzz targets of src/phy, made by hand: make_corpus.py writes them."""
import random
import struct

TS1, TS2, IDLE, PACKET, CHARACTERS, NOISE, RESTART, CROSS = range(8)
OWN_CLOCK = 0x80
LANES = (12, 8, 4, 1)  # by the first byte of an input of link_lanes


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


class LinkSteps:
    """Steps of fuzz/link_lanes.cc, each with the wrong bits of as many lanes as the link has."""

    def __init__(self, width):
        self.lanes = LANES[width]
        fine = bytes(self.lanes)  # no bit of any lane is wrong
        self.train = bytes((TS1, 5)) + fine + bytes((TS2, 7)) + fine + self.idle(20)
        self.packet = bytes((PACKET, 30)) + bytes(range(30)) + b"\1" + fine
        self.link = bytes((PACKET, 0)) + fine
        self.bad = bytes((PACKET, 14)) + bytes(range(14)) + b"\0" + fine
        self.after = self.idle(30)
        self.noise = bytes((NOISE, 20)) + bytes(range(20)) + bytes(self.lanes - 1)

    def idle(self, columns):
        return bytes((IDLE, columns)) + bytes(self.lanes)

    def characters(self, *characters):
        return bytes((CHARACTERS, len(characters), *characters)) + bytes(self.lanes)

    def wrong(self, lane, place, copies):
        """What comes behind a step: bit `place` of a lane so often, where 1 is a wrong one."""
        return (bytes(lane) + b"\xff" + struct.pack(">HB", place, copies)
                + bytes(self.lanes - lane - 1))


def link_lanes():
    """(name, bytes): width and clock, then steps, each with its wrong bits."""
    for width in range(4):
        steps = LinkSteps(width)
        for clock in (0, OWN_CLOCK):
            name = f"{steps.lanes}x" + ("-own-clock" if clock else "")
            yield "packets-" + name, (bytes((width | clock,)) + steps.train + steps.packet
                                      + steps.link + steps.bad + steps.after)
        slip = bytes((IDLE, 40)) + steps.wrong(steps.lanes - 1, 0x55, 0)
        yield f"slip-{steps.lanes}x", (bytes((width,)) + steps.train + slip + steps.packet
                                       + steps.after * 6)
        yield f"noise-{steps.lanes}x", (bytes((width,)) + steps.noise + steps.train + steps.packet
                                        + steps.noise + steps.packet + steps.after)
    four, one = LinkSteps(2), LinkSteps(3)
    crossed = bytes((CROSS, 0x0A, 0xA5, 1))
    yield "crossed-and-reversed", b"\2" + crossed + four.train + four.packet + four.after
    wrong = bytes((PACKET, 30)) + bytes(range(30)) + b"\1" + four.wrong(1, 0x21, 1)
    yield "wrong-bit", b"\2" + four.train + wrong + four.packet + four.after
    twice = bytes((IDLE, 40)) + four.wrong(0, 0x55, 2)
    yield "bit-twice", b"\2" + four.train + twice + four.train + four.packet + four.after
    odd = one.characters(201, 1, 2, 206, 203, 204, 205, 202, 1, 1, 1, 206, 204, 203, 9, 9)
    yield "control-characters", b"\3" + one.train + odd + one.packet + one.after
    long = one.characters(204) + one.idle(250) * 2
    yield "no-end", b"\3" + one.train + long + one.packet + one.after
    yield "restart", (b"\2" + four.train + four.packet + bytes((RESTART,)) + four.train
                      + four.packet + four.after)
    yield "skip-sets", b"\2" + four.train + four.idle(255) * 20 + four.packet + four.after


def ddr_negotiation():
    """(name, bytes): what happens to a port, as fuzz/ddr_negotiation.cc reads its steps."""
    up, down, deadline, again = b"\3", b"\4", b"\6", b"\7\xff\0\0\0"
    request, ack, result, result_ack, no_sweep = 0xE0, 0xE1, 0xE2, 0xE3, 4

    def port(mode=0, transmit=1, receive=1, lanes=4, sweeps=True):
        return bytes((mode, transmit - 1, receive - 1, lanes == 4, 0 if sweeps else 0xFF))

    def hear(flags, iterations=1, ms=100, number=None):
        whose = b"\0" if number is None else bytes((0xFF, number))
        return bytes((2, flags)) + struct.pack(">HB", ms, iterations) + whose + b"\1\0"

    def fields(*words):
        return bytes((1, 4 * len(words))) + struct.pack(">%dI" % len(words), *words)
    asked = up + hear(request) + hear(ack) + deadline
    swept = asked + deadline * 3 + up
    agreed = swept + hear(result, 0) + hear(result_ack, 0) + deadline
    yield "agreed", port() + agreed + up + deadline
    yield "acknowledgements-lost", (port() + up + hear(request) + deadline * 7 + up
                                    + hear(result, 0) + deadline * 4 + up)
    yield "time-out-at-ddr", port() + agreed + down + deadline + up + hear(request, number=9)
    yield "lost-at-ddr", port() + agreed + up + deadline + down + up + hear(request, number=9)
    yield "no-answer", port() + up + deadline * 4 + hear(request) + hear(ack) + deadline
    yield "refused", port() + up + hear(0) + hear(request)
    yield "none-found", port() + b"\7\0\0\0\0" + agreed + up
    yield "no-sweep", (port(sweeps=False) + asked + hear(result | no_sweep, 8)
                       + hear(result_ack, 8) + deadline + up)
    yield "peer-restarts", port() + swept + hear(request, number=9) + hear(ack) + deadline
    yield "port-restarts", port() + swept + again + agreed
    yield "sdr-only", port(mode=2) + up + hear(request) + hear(request)
    yield "ddr-only", port(mode=1) + up + hear(request) + down + up
    yield "wide", port(0, 9, 9, 4) + asked + deadline * 99 + up + hear(result, 8) + deadline * 4
    yield "fields", (port() + up + fields(1, 5000, 100, 0) + fields(1, 5000, 100, 10)
                     + fields(1, 2500, 100, 1) + fields(0x40000001, 5000, 0, 9)
                     + fields(1, 5000, 0xFFFFFFFF, 1) + fields(0x1FFFFFFF, 5000, 100, 9))


def conformance_judge():
    """(name, bytes): an exchange, as fuzz/conformance_judge.cc reads it."""
    up, line, transmit, receive, measured, answers = 1, 3, 4, 5, 6, 7
    capabilities, ack, result, result_ack = range(4)
    soon, tenth, ms, sweep = 1, 3, 4, 6

    def event(step, kind, node, speed=0, use=0, configuration=0, polling=0):
        return bytes((step, kind, node, 0, 0, 0, 1, 0, speed, use, 0, configuration, 1, 0,
                      polling, 1))

    def say(step, node, flags, iterations, copies=4, bandwidth=1, arrived=1):
        return bytes((step, 0, node, flags, 1, iterations, bandwidth, 0, 0, 0, 0, 0, 0, 0, 0,
                      arrived, copies))

    def both(step, flags, **more):
        return say(step, 0, flags, 2, **more) + say(soon, 1, flags, 1, **more)

    def lines(step, speed, use):
        return event(step, line, 0, speed, use) + event(0, line, 1, speed, use)
    sdr_up = event(0, up, 0) + event(0, up, 1)
    tried = b"".join(event(0, transmit, node) + event(0, receive, node)
                     + event(sweep, measured, node) for node in (0, 1, 0, 1))
    asked = both(ms, capabilities) + both(soon, ack)
    told = both(ms, result) + both(soon, result_ack)
    ended = event(0, answers, 0, polling=1) + event(0, answers, 1, polling=1)
    whole = (lines(0, 0, 0) + sdr_up + asked + lines(ms, 1, 1) + tried + lines(sweep, 0, 0) + sdr_up
             + told + lines(ms, 1, 0) + event(ms, up, 0, 1) + event(0, up, 1, 1) + ended)
    yield "whole", b"\1\0\0\0" + whole
    yield "twice", b"\1\0\0\0" + whole + whole
    yield "lines-alone", b"\1\0\1\1" + whole
    yield "messages-alone", b"\1\1" + asked + event(sweep, 0, 0) + told
    yield "nothing-found", b"\1\0\0\0" + lines(0, 0, 0) + sdr_up + both(ms, 6) + ended
    yield "five-copies", b"\1\1" + both(ms, capabilities, copies=5)
    yield "another-bandwidth", b"\1\1" + both(ms, capabilities, bandwidth=0) + both(soon, ack)
    yield "lost", b"\1\0\1\1" + sdr_up + both(ms, capabilities, arrived=0) * 4
    yield "too-early", b"\1\1" + both(tenth, capabilities) * 3
    yield "packets", b"\0" + bytes((0, 40)) + bytes(range(40)) + bytes((0, 3, 1, 2, 3))

    def packet(flags, iterations, transaction=0, attribute=1, wrong=15, around=5):
        """A MAD in a packet: what is wrong in it and around it, as some_mad() reads it."""
        return bytes((1, flags, 1, iterations, 1, 1, transaction, attribute, wrong, around, 0))
    yield "whole-packets", b"\0" + b"".join(
        packet(flags, 2 - number % 2, number) for flags in (0, 1, 2, 3) for number in (0, 1))
    for number in range(5):
        yield "wrong-header-%d" % number, b"\0" + packet(0, 2, wrong=number) * 2 + packet(1, 1)
        yield "wrong-envelope-%d" % number, b"\0" + packet(0, 2, around=number) * 2 + packet(1, 1)
    yield "another-attribute", b"\0" + packet(0, 2, attribute=0) * 2 + packet(1, 1, attribute=0)
    yield "damaged", b"\0" + packet(0, 2)[:-1] + b"\xff\x64" + packet(1, 2)


def corpora():
    """(folder, what is in it)"""
    yield "phy_code", phy_code()
    yield "link_lanes", link_lanes()
    yield "ddr_negotiation", ddr_negotiation()
    yield "conformance_judge", conformance_judge()
