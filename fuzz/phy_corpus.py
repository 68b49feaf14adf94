# SPDX-License-Identifier: Apache-2.0
"""What make_corpus.py makes of the physical layer of links."""

import struct


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
