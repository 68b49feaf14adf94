# SPDX-License-Identifier: Apache-2.0
"""Seeds for the targets of data services; make_corpus.py writes them."""


def map_records():
    """(name, bytes): what another instance says, for fuzz/map_records.cc."""
    def queue_pair(number, real, owner, peer, flags, gone=1):
        return bytes((1, gone, flags, number, real, owner, peer))

    def connection(requester, responder, ids, state, numbers, gone=1):
        return bytes((2, gone, requester, responder, *ids, state, *numbers))

    def time(seconds):
        return bytes((3, seconds))

    pair = queue_pair(3, 4, 0, 1, 2) + queue_pair(5, 6, 1, 0, 2)
    raw = bytes((1, 2, 0, 0, 0, 0, 9, 0, 0, 0, 7, 0)) + bytes(20) + bytes(range(32))
    yield "raw", b"\0" + raw
    yield "life", (pair + connection(0, 1, (1, 2), 1, (3, 5)) + connection(0, 1, (1, 2), 2, (3, 5))
                   + time(9) + connection(0, 1, (1, 2), 3, (3, 5)) + time(6))
    yield "gone", pair + queue_pair(3, 4, 0, 1, 2, gone=0) + time(1)
    yield "datagrams", queue_pair(3, 4, 0, 1, 7) + time(255) + time(255)
    yield "full", b"".join(queue_pair(n, n % 16, n % 4, n // 4 % 4, n % 8) for n in range(48))
    yield "short", bytes((4, 1, 0, 3, 4, 0, 1, 60))


def firewall_records():
    """(name, bytes): what another firewall says, for fuzz/firewall_records.cc."""
    def connection(flags, ends, private=1, lid=1, what=0x10, state=()):
        return bytes((1, flags, *ends, private, what, lid - 1, 1, *state))

    def flow(flags, ports=(0, 1), answered=0, lid=1, what=4, state=()):
        return bytes((2, flags, *ports, answered, what, lid - 1, *state))

    def damaged(which, at, by):
        return bytes((3, which, at, by))

    def told(flags, ident, *rest):
        return bytes((4, flags, ident, *rest))

    def time(tenths):
        return bytes((6, tenths))

    ends = (0x1D, 1, 0x1E, 2)
    yield "raw", bytes((0, 60, 0x1F)) + bytes(59)
    yield "phases", b"".join(connection(0x40 | phase << 1, (0x1D, phase, 0x5E, 2)) + time(9)
                             for phase in range(4))
    yield "anew", connection(0x44, ends) + connection(0x44, (0x1D, 3, 0x1E, 2)) + time(70)
    yield "resolved", connection(0x45, ends) + bytes((5, 0xE0 | 9, 0, 1)) + time(255)
    yield "flows", b"".join(flow(number << 4 | 1, answered=number & 1) for number in range(8))
    yield "full", b"".join(connection(0x40 | (n % 3) << 1, (
        0x1D | (n % 4) << 6, n % 6, 0x1E, n // 6)) for n in range(24))
    yield "begun-before", connection(0x44, ends, what=0x50, lid=4, state=(2,)) + flow(
        1, lid=4, what=0x44, state=(2,))
    yield "no-state", flow(1, what=0x24)
    yield "damaged", connection(0x44, ends) + b"".join(damaged(0, at, 0xFF) for at in range(120))
    yield "messages", told(0x09, 1, 1) + told(0x46, 2, 1, 1) + told(0x89, 1, 2, 1) + bytes((
        5, 0xC9, 0, 1)) + time(30)


def corpora():
    """(target, (name, bytes) of each of its seeds)."""
    return (("map_records", map_records()), ("firewall_records", firewall_records()))
