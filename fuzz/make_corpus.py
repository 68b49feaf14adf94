#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Make the seed corpora of the targets here from the genuine packets in tests/data.

One packet, the shortest, is kept for each opcode, framing and pad count, in the forms that the
walker knows: link packet, Ethernet frame, and the bare transport packet in it.

Lives of connections, as fuzz/rdmacm_commands.cc reads them, are written here by hand.

usage: make_corpus.py          rewrites the folders of corpus/, beside this script, that are made
                               of captures or by hand; service_corpus.py has those of
                               data services, wan_corpus.py those of the WAN,
                               phy_corpus.py those of the physical layer,
                               atm_corpus.py those of ATM
"""
import pathlib
import random
import shutil
import struct

import atm_corpus
import phy_corpus
import service_corpus
import sonet_corpus
import wan_corpus

HERE = pathlib.Path(__file__).parent
DATA = HERE.parent / "tests" / "data"
ETHERNET, ERF = 1, 197


def records(path):
    """(link type, bytes) of each record of a little-endian pcap file."""
    blob = path.read_bytes()
    link, at = struct.unpack_from("<I", blob, 20)[0], 24
    while at + 16 <= len(blob):
        size = struct.unpack_from("<I", blob, at + 8)[0]
        yield link, blob[at + 16:at + 16 + size]
        at += 16 + size


def frame_parts(frame):
    """(name of the framing, transport packet) of an Ethernet frame with RoCEv2, else None."""
    kind, ip = frame[12:14], frame[14:]
    if kind == b"\x08\x00" and ip[9] == 17:
        header, total, name = (ip[0] & 15) * 4, struct.unpack_from(">H", ip, 2)[0], "ipv4"
    elif kind == b"\x86\xdd" and ip[6] == 17:
        header, total, name = 40, 40 + struct.unpack_from(">H", ip, 4)[0], "ipv6"
    else:
        return None
    if ip[header + 2:header + 4] != b"\x12\xb7":
        return None
    return name, ip[header + 8:total]


def seeds():
    """(name, bytes) of every candidate."""
    for path in sorted(DATA.glob("*/*.pcap")):
        for link, record in records(path):
            if link == ERF:
                packet = record[16:16 + struct.unpack_from(">H", record, 14)[0]]
                is_global = packet[1] & 3 == 3
                bth = packet[48:] if is_global else packet[8:]
                yield "link-%s-%02x-%d" % ("global" if is_global else "local", bth[0],
                                           bth[1] >> 4 & 3), packet
            elif link == ETHERNET and (parts := frame_parts(record)):
                framing, transport = parts
                kind = "%02x-%d" % (transport[0], transport[1] >> 4 & 3)
                yield "%s-%s" % (framing, kind), record
                yield "transport-%s" % kind, transport


# A step names the host, the file and what to do; what it draws besides follows.
DELIVER, EVENT, LISTEN, DIAL, ANSWER, COMMAND = 0, 4, 7, 8, 9, 10
ARRIVES = 7
PARAMETERS = [1, 0, 0, 0, 0, 0]  # of a connection
DESTROY_ID, DISCONNECT, JOIN_IP_MCAST, LEAVE_MCAST, NEWEST = 1, 10, 16, 17, 16


def lives():
    """(name, bytes) of what programs do with identifiers from the first command to the last."""
    def step(host, what, *drawn):
        return [host, 0, what, *drawn]

    def command(number, *drawn):
        return step(1, COMMAND, number, *drawn, 1)

    deliver = step(0, DELIVER, ARRIVES)
    accept, ready = step(0, ANSWER, *PARAMETERS, 1), step(1, ANSWER, *PARAMETERS, 0)
    for name, life in (("rc", 0), ("ud", 1), ("uc", 2), ("ib", 3), ("ipoib", 4)):
        meet = (step(0, LISTEN, life) + step(1, DIAL, life, 0, 1, 1, *PARAMETERS) + deliver +
                accept + deliver + ready * 3 + deliver)
        disconnect = command(DISCONNECT, NEWEST) + deliver * 2 + step(0, EVENT, 1) + ready
        yield name + "-connect", meet
        yield name + "-disconnect", meet + disconnect
        yield name + "-destroy", meet + command(DESTROY_ID, NEWEST) + deliver
    joined = step(1, DIAL, 1, 0, 0) + command(JOIN_IP_MCAST, 1, 0, 2, 0, NEWEST)
    yield "join-leave", joined + step(1, EVENT, 1) * 2 + command(LEAVE_MCAST, NEWEST)


def fabric_packets():
    """(name, bytes): genuine management packets, put into each link of a fabric in turn."""
    packets = [record[16:16 + struct.unpack_from(">H", record, 14)[0]]
               for path in sorted((DATA / "ib").glob("*.pcap")) for _, record in records(path)]
    short = [packet for packet in packets if len(packet) <= 510 and len(packet) % 2 == 0]
    for number in range(0, len(short), 6):
        blob = b"".join(bytes([(number + i) % 10, 3 + 4 * (i % 2), len(packet) // 2]) + packet
                        for i, packet in enumerate(short[number:number + 6]))
        yield "genuine-%02d" % (number // 6), blob


def attachments():
    """(name, bytes): programs that mostly send, as fuzz/attachments.cc reads their steps."""
    for seed in range(8):
        chance = random.Random(seed)
        steps = bytearray()
        for _ in range(40):
            program, action = chance.randrange(5), chance.choice((0, 1, 1, 2, 4, 6, 7, 7, 7, 7, 7))
            steps += bytes((program, action))
            if action == 1:  # its first queue pair joins
                steps += bytes((0, chance.randrange(3), 0))
            elif action == 7:  # to whom, with a GRH or without, and nothing changed
                steps += bytes((0, chance.randrange(64), chance.randrange(2),
                                chance.randrange(5), 0, 0, 0, 0, 1, 1))
            else:
                steps += bytes(chance.randrange(256) for _ in range(2))
        yield "steps-%d" % seed, bytes(steps)


def raw_programs():
    """(name, bytes): the same, of which two have raw queue pairs, with rules, and send by them."""
    for seed in range(4):
        chance = random.Random(seed)
        steps = bytearray()
        for program in (1, 2):  # those at node b: raw, and one rule or another
            steps += bytes((program, 12, 0, 0))
            steps += bytes((program, 12, 0, 1, chance.randrange(2), 8 * (program + 1), 0))
        for _ in range(30):
            program, action = chance.randrange(5), chance.choice((2, 6, 7, 7, 7, 7, 7, 13))
            steps += bytes((program, action))
            if action == 7:
                steps += bytes((0, chance.randrange(64), chance.randrange(2),
                                chance.randrange(5), 0, 0, 0, 0, 1, 1))
            else:
                steps += bytes(chance.randrange(256) for _ in range(5))
        yield "raw-%d" % seed, bytes(steps)


def raw_packets():
    """(name, bytes): packets as fuzz/raw_packets.cc reads them, received and sent."""
    for seed in range(24):
        chance = random.Random(seed)
        blob = bytes((seed % 2,))
        if seed % 2 == 0:  # room for it, in one piece or in two
            blob += bytes((0x1F, 0xFF, seed // 2 % 2, 0x1F, 0xFF))
        size = chance.choice((0, 16, 60, 64, 100, 1024, 4096))
        blob += bytes((seed // 4 % 2, size >> 8, size & 255, chance.choice((4, 0, 0x64, 0xFF))))
        blob += bytes((0, 1, 1))
        blob += bytes((chance.choice((20, 60, 68, 128)), 6, 1, 1, 1))
        yield "packet-%02d" % seed, blob


def attach_socket():
    """(name, bytes): processes as fuzz/attach_socket.cc reads their steps."""
    for seed in range(8):
        chance = random.Random(seed)
        steps = bytearray()
        for process in range(3):  # a place for each
            steps += bytes((process, 0, process % 2, 0, process, 3, process, 2, 1, 0, 0, 0))
        for _ in range(30):
            action = chance.choice((0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 11, 11, 11, 11))
            steps += bytes((chance.randrange(3), action))
            steps += bytes(chance.randrange(16) for _ in range(4))
        yield "steps-%d" % seed, bytes(steps)


def management_socket():
    """(name, bytes): processes as fuzz/management_socket.cc reads their steps."""
    for seed in range(8):
        chance = random.Random(seed)
        steps = bytearray()
        for process in range(3):  # a port for each, and agents of two classes
            steps += bytes((process, 0, 0, process, 1 if process < 2 else 0))
            for mgmt_class in (1, 2 + process):
                steps += bytes((process, 2, mgmt_class, 1, 0)) + bytes(5) + b"\0"
        for _ in range(30):
            action = chance.choice((0, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 9, 9))
            steps += bytes((chance.randrange(3), action))
            if action < 9:
                steps += bytes(chance.randrange(4) for _ in range(4))
                continue
            known = chance.randrange(7)
            steps += bytes((known, 1, chance.choice((0, 0, 1, 5)), *((2,) * (known == 1)),
                            chance.randrange(256), chance.choice((1, 2, 0x10, 0x11, 0x15)), 0))
            steps += bytes((1, 2) * (known == 1)) + bytes((0, 0, chance.randrange(2), 100, 1))
            steps += bytes((chance.randrange(1, 5),) * (known != 1))
            steps += bytes((known > 1, 0, 0, 0, 0, 0, 0))
        yield "steps-%d" % seed, bytes(steps)


def part_socket():
    """(name, bytes): processes as fuzz/part_socket.cc reads their steps."""
    for seed in range(8):
        chance = random.Random(seed)
        steps = bytearray((0, 0, 1, 0, 1, 1))  # a good hello, and what it hears
        for _ in range(40):
            action = chance.choice((0, 2, 2, 3, 3, 4, 5, 6, 7, 7, 7, 7, 8))
            steps += bytes((chance.randrange(2), action))
            steps += bytes(chance.randrange(256 if seed > 3 else 8) for _ in range(6))
        yield "steps-%d" % seed, bytes(steps)


def program_end():
    """(name, bytes): what a daemon and a program do, as fuzz/program_end.cc reads their steps."""
    for seed in range(8):
        chance = random.Random(seed)
        steps = bytearray()
        for _ in range(40):  # honest, then less and less so
            action = chance.choice((0, 0, 0, 3, 3, 4, 5, 6, 8) if seed < 4 else range(11))
            steps += bytes((action,)) + bytes(chance.randrange(256) for _ in range(3))
        yield "steps-%d" % seed, bytes(steps)


def lab_files():
    """(name, bytes): the examples, and listings."""
    for path in sorted((HERE.parent / "examples" / "labs").glob("*.toml")):
        yield "lab-" + path.stem, b"\0" + path.read_bytes()
    for path in sorted((DATA / "fabric").glob("four.*")):
        yield path.name.replace(".", "-"), b"\1" + path.read_bytes()


def subnet_database():
    """(name, bytes): files, changes and rows as fuzz/subnet_database.cc reads them. Whole files are
    made by hand of genuine ones: `VACUUM` with pages of 512 bytes."""
    def put(what, at, data):
        return struct.pack(">BIB", what, at, len(data)) + data

    def cut(what, at):
        return struct.pack(">BI", 0xF8 | what, at)
    yield "changed-nothing", b"\1"
    yield "changed-version", b"\1" + cut(1, 0) + put(0, 60, b"\0\0\0\7")
    yield "changed-application", b"\1" + cut(1, 0) + put(0, 68, b"else")
    yield "changed-page", b"\1" + cut(1, 0) + put(0, 4096, bytes(200))
    yield "changed-schema", b"\1" + cut(1, 0) + put(0, 3900, b"\xff" * 40)
    yield "changed-cell", b"\1" + cut(1, 0) + put(0, 2 * 4096 - 8, b"\x7f" * 8)
    yield "changed-log", b"\1" + put(1, 32, bytes(24)) + put(1, 5000, b"x" * 99)
    yield "changed-log-frame", b"\1" + put(1, 2000, b"x")
    yield "cut-file", b"\1" + cut(0, 5000) + cut(1, 0)
    yield "cut-log", b"\1" + cut(1, 4200)
    null, some, byte, guid, gid, blob, record = range(7)
    numbers = (0, 1, -1, 0xBFFF, 0xC000, 1 << 32, (1 << 63) - 1, -(1 << 63))

    def number(value):
        return bytes((some, numbers.index(value)))
    yield "rows-lid", b"\2" + b"".join(
        bytes((1, guid)) + number(lid) + bytes((byte, 3)) for lid in numbers)
    yield "rows-group", b"\2" + bytes((2, gid, 1)) + number(0xC000) + number(1) + bytes(
        (record, 2, 16)) + bytes([0xFF, 0x12]) + bytes(14) + bytes((3, gid, 1, gid, 0, guid)) + (
            number(1) + number(0))
    yield "rows-service", b"\2" + bytes((4, guid, gid, 0)) + number((1 << 63) - 1) + number(
        (1 << 63) - 1) + bytes((record, 6, 9)) + bytes(9)
    yield "rows-subscription", b"\2" + bytes((8, gid, 0, blob, 36)) + bytes(
        [0] * 23 + [1] + [0] * 12) + number(1) * 7 + bytes((gid, 0)) + number(1) * 4
    yield "rows-alias", b"\2" + bytes((9, guid)) + number(1) + bytes((guid,)) + bytes(
        (9, guid, byte, 255, 7, 3)) + b"0x7"
    yield "rows-event", b"\2" + bytes((7, null)) + number(-(1 << 63)) + bytes((7, 4)) + (
        b"link" + bytes((7, 3)) + b"\x1b[m")
    yield "rows-past", b"\2" + bytes((5, null, guid, 7, 2)) + b"ca" + bytes((7, 1)) + (
        b"\xff" + number((1 << 63) - 1) + bytes((null, 6, null, guid)) + number(1 << 32)
        + bytes((guid,)) + number(-1) + number(0) + bytes((null,)) + bytes((0,)) + number(1)
        + number(-1))


def service_fields():
    """(name, bytes): packets for fuzz/service_fields.cc."""
    def packet(opcode, rest, gids=True, qp=0x55, pad=0):
        transport = struct.pack(">BBHII", opcode, pad << 4, 0xFFFF, qp, 7) + rest + bytes(4)
        grh = struct.pack(">IHBB", 0x60000000, len(transport), 0x1B, 1) + bytes(range(32))
        body = (grh if gids else b"") + transport
        lrh = struct.pack(">BBHHH", 0, 3 if gids else 2, 2, (8 + len(body)) // 4, 1)
        return lrh + body + bytes(2)

    def datagram(payload, qp=0x55, qkey=0x1234):
        pad = -len(payload) % 4
        return packet(0x64, struct.pack(">II", qkey, 0x42) + payload + bytes(pad), qp=qp, pad=pad)

    def ipv4(protocol, rest, fragment=0):
        return struct.pack(">BBHHHBBHII", 0x45, 0, 20 + len(rest), 1, fragment, 64, protocol, 0,
                           0x0A000001, 0x0A000002) + rest

    def ipv6(following, rest):
        return struct.pack(">IHBB", 6 << 28, len(rest), following, 64) + bytes(32) + rest

    def mad(mgmt_class, attribute, body=bytes(232)):
        return struct.pack(">BBBBHHQHHI", 1, mgmt_class, 2, 3, 0, 0, 7, attribute, 0, 0) + body

    tcp = struct.pack(">HHIIBBHHH", 1000, 22, 0, 0, 0x50, 2, 0, 0, 0)
    udp = struct.pack(">HHHH", 1000, 53, 12, 0) + bytes(4)
    ether = bytes.fromhex("02574c00000502574c000006")
    yield "send", packet(0x04, bytes(16), gids=False)
    yield "write", packet(0x06, bytes(16) + bytes(64))
    yield "atomic", packet(0x13, bytes(28))
    yield "unknown", packet(0x1F, bytes(16))
    yield "ipoib-tcp", datagram(bytes.fromhex("08000000") + ipv4(6, tcp))
    yield "ipoib-fragment", datagram(bytes.fromhex("08000000") + ipv4(6, tcp, 0x2000))
    yield "ipoib-ipv6", datagram(bytes.fromhex("86dd0000") + ipv6(17, udp))
    yield "ipoib-extensions", datagram(bytes.fromhex("86dd0000") + ipv6(0, bytes.fromhex(
        "3c000000000000002c000000000000001100000100000007") + udp))
    yield "ipoib-neighbour", datagram(bytes.fromhex("86dd0000") + ipv6(58, bytes.fromhex(
        "87000000000000") + bytes(17) + bytes.fromhex("010300008000004800") + bytes(15)))
    yield "ipoib-arp", datagram(bytes.fromhex("080600000020080014040001") + bytes(48))
    yield "lan", datagram(struct.pack(">HBBIIIHHHH", 0x574C, 0x11, 0, 1, 58, 0, 0, 0, 0, 0) + ether
                          + bytes.fromhex("810030050800") + ipv4(6, tcp))
    for message in range(0x10, 0x1B):
        yield f"cm-{message:02x}", datagram(mad(7, message), qp=1, qkey=0x80010000)
    yield "cm-addresses", datagram(
        mad(7, 0x10, bytes(8) + struct.pack(">Q", 0x01060016) + bytes(124) + b"\x00\x40"
            + bytes(90)), qp=1, qkey=0x80010000)
    yield "sa", datagram(mad(3, 0x35), qp=1, qkey=0x80010000)
    yield "raw-ipv6", struct.pack(">BBHHH", 0, 1, 2, 15, 1) + ipv6(17, udp) + bytes(2)


def lan_messages():
    """(name, bytes): steps of fuzz/lan_messages.cc."""
    def strange(total, offset, size, mark=0x574C1100, gso=0, headers=0, start=0, place=0):
        return struct.pack(">BBIIIIHHHH", 0, 24 + size, mark, 1, total, offset, gso, headers, start,
                           place) + bytes(size)

    def honest(number, *parts):
        return b"".join(bytes([2, number, part]) for part in parts)

    def part(number, total, offset, units):
        return struct.pack(">BBHHB", 1, number, total, offset, units)

    yield "whole", strange(40, 0, 40) + honest(3, 0, 0)
    yield "two-parts", strange(100, 0, 64) + strange(100, 64, 36)
    yield "offload", strange(90, 0, 90, 0x574C11C1, 1448, 66, 34, 16)
    yield "checksum-beyond", strange(90, 0, 90, 0x574C1140, start=80, place=10)
    yield "other", strange(8, 0, 8, 0) + strange(8, 0, 8, 0x574C2100)
    yield "any-order", honest(40, 6, 2, 2, 0, 5, 1, 4, 3) + honest(41, 3, 1, 0, 2, 6, 5, 4)
    yield "late", honest(200, 1) + b"\3\x63" + honest(200, 2) + b"\3\1" + honest(200, 0)
    flood = b"".join(part(number, 0xFFFF, 0, 2) for number in range(40))
    yield "flood", honest(40, 0) + flood + honest(40, 1, 2, 3, 4, 5, 6)
    yield "conflict", part(1, 999, 0, 4) + part(1, 999, 8, 4) + part(2, 99, 0, 4) + part(2, 9, 0, 1)


def inner_packets():
    """(name, bytes): a cut and a datagram with a packet of IP, for fuzz/packet_flow.cc."""
    def datagram(cut, payload):
        pad = -len(payload) % 4
        words = (28 + len(payload) + pad + 4) // 4
        return (bytes([cut]) + struct.pack(">BBHHH", 0, 2, 2, words, 1)
                + struct.pack(">BBHII", 0x64, pad << 4, 0xFFFF, 0x111, 5)
                + struct.pack(">II", 7, 0x222) + payload + bytes(pad + 6))

    udp = struct.pack(">HHHH", 1000, 2000, 8, 0)
    four = struct.pack(">BBHHHBBHII", 0x45, 0, 28, 0, 0, 64, 17, 0, 1, 2) + udp
    six = struct.pack(">IHBB15xB15xB", 6 << 28, 8, 17, 64, 1, 2) + udp
    yield "ipoib-4", datagram(2, b"\x08\0\0\0" + four)
    yield "ipoib-6", datagram(30, b"\x86\xdd\0\0" + six)
    frame = b"\xc5\0\0\0" + bytes(12)
    yield "eoib-4", datagram(9, frame + b"\x08\0" + four)
    tags = b"\x88\xa8\0\5\x81\0\0\6"
    yield "eoib-tags-6", datagram(70, frame + tags + b"\x86\xdd" + six)


def kernel_routes():
    """(name, bytes): messages of rtnetlink of a little-endian machine."""
    def attribute(kind, data):
        return struct.pack("<HH", 4 + len(data), kind) + data + bytes(-len(data) % 4)

    def message(bits, attributes, kind=24, table=254, way=1, source=0, flags=0):
        header = struct.pack("<BBBBBBBBI", 10, bits, source, 0, table, 3, 0, way, flags)
        body = header + attributes
        return struct.pack("<IHHII", 16 + len(body), kind, 2, 1, 7) + body
    there = attribute(1, bytes.fromhex("fd000000000000020000000000000000"))
    gateway = attribute(5, bytes.fromhex("20010db8000000000000000000000002"))
    metric = attribute(6, struct.pack("<I", 1024))
    way = struct.pack("<HBBi", 8 + len(gateway), 0, 0, 3) + gateway
    yield "plain", message(64, there + metric + gateway)
    yield "default", message(0, gateway)
    yield "ways", message(64, there + attribute(9, way + way))
    yield "way-too-long", message(64, there + attribute(9, struct.pack("<HBBi", 90, 0, 0, 3)))
    large, named = (attribute(15, struct.pack("<I", table)) for table in (1000, 254))
    yield "large-table", message(64, there + gateway + large, 24, 252)
    yield "named-table", message(64, there + gateway + named, 24, 0)
    yield "gone", message(64, there + gateway, 25)
    yield "blackhole", message(64, there, way=6)
    yield "from-sources", message(64, there + gateway, source=64)
    yield "dead", message(64, there + gateway, flags=1)
    yield "long-prefix", message(129, there + gateway)
    yield "short-gateway", message(64, there + attribute(5, bytes(4)))
    yield "cut", message(64, there + gateway)[:-3]
    yield "several", message(64, there + gateway) + message(0, gateway) + message(64, there)


def lan_answers():
    """(name, bytes): a kind of question, and a datagram of subnet administration."""
    ours, port = 0x1002574C00000001, bytes.fromhex("0200000000000001")
    gid = bytes.fromhex("fe80000000000000") + port

    def answer(kind, attribute, *records, method=0x92, status=0, size=None):
        stride = size or len(records[0]) // 8 if records else 0
        head = struct.pack(">BBBBHHQHHI", 1, 3, 2, method, status, 0, 1, attribute, 0, 0)
        return bytes([kind]) + head + bytes(12) + struct.pack(">QHHQ", 0, stride, 0, 0) + (
            b"".join(records))

    def node(kind=1, platform=port):
        return struct.pack(">HH", 9, 0) + bytes((1, 1, kind, 1)) + port + platform + port + bytes(
            12 + 64 + 4)

    def path(slid=8, dlid=12, mtu=0x84, to=gid):
        return bytes(8) + to + gid + struct.pack(">HHIBBHHBBBB", dlid, slid, 0, 0, 0x81, 0xFFFF, 0,
                                                 mtu, 0x83, 0x92, 0) + bytes(6)

    def service(number=ours, where=gid):
        return struct.pack(">Q", number) + where + struct.pack(">HHI", 0, 0, 300) + bytes(144)
    yield "platforms", answer(0, 0x11, node(), node(2), node())
    yield "ports", answer(2, 0x11, node(), node(1, bytes(8)))
    yield "members", answer(1, 0x31, service(), service(7), service(ours, bytes(16)))
    yield "paths", answer(3, 0x35, path(), path(11, 13), path(12), path(8, 0xC000), path(mtu=0x86))
    yield "no-stride", answer(3, 0x35, path(), size=1)
    yield "cut", answer(0, 0x11, node(), node())[:-9]
    yield "none", answer(1, 0x31, status=0x0300)
    info = bytes(4 + 16) + struct.pack(">HH", 8, 1) + bytes(10)
    yield "lids", answer(3, 0x12, info + bytes(3) + b"\2" + bytes(200), method=0x81)
    group = bytes.fromhex("ff12574cffff") + bytes(9) + b"\1" + gid + struct.pack(
        ">IHBBHBBIBB", 0x574C0001, 0xC001, 0x84, 0, 0xFFFF, 0x83, 0x92, 0, 0x21, 0)
    yield "group", answer(3, 0x38, group + bytes(200), method=0x81)[:257]
    notice = b"\x84\0\0\4" + struct.pack(">HHH", 64, 1, 0) + bytes(6) + gid
    yield "notice", (answer(0, 2, notice + bytes(200), method=6) + bytes(256))[:257]


def main():
    shortest = {}
    for name, blob in seeds():
        if name not in shortest or len(blob) < len(shortest[name]):
            shortest[name] = blob
    for folder in ("walker", "crc", "packet_flow"):
        shutil.rmtree(HERE / "corpus" / folder, ignore_errors=True)
        (HERE / "corpus" / folder).mkdir(parents=True)
    for name, blob in shortest.items():
        (HERE / "corpus" / "walker" / name).write_bytes(blob)
        if name.startswith("link"):
            (HERE / "corpus" / "crc" / name).write_bytes(blob)
            (HERE / "corpus" / "packet_flow" / name).write_bytes(b"\0" + blob)
    for name, blob in inner_packets():
        (HERE / "corpus" / "packet_flow" / name).write_bytes(blob)
    # Lengths at which the kernels change their ways.
    for size in (0, 3, 4, 15, 16, 63, 64, 255, 256, 511, 512, 1100):
        blob = bytes(range(16)) + bytes(i * 7 & 255 for i in range(size))
        (HERE / "corpus" / "crc" / ("length-%04d" % size)).write_bytes(blob)
    for folder, made in (("fabric_packets", fabric_packets()), ("lab_file", lab_files()),
                         ("attachments", attachments()), ("attachments", raw_programs()),
                         ("raw_packets", raw_packets()), ("attach_socket", attach_socket()),
                         ("management_socket", management_socket()),
                         ("part_socket", part_socket()),
                         ("subnet_database", subnet_database()),
                         ("lan_messages", lan_messages()),
                         ("service_fields", service_fields()),
                         ("lan_answers", lan_answers()),
                         ("kernel_routes", kernel_routes()),
                         ("program_end", program_end()), *service_corpus.corpora(),
                         *wan_corpus.corpora(), *phy_corpus.corpora(),
                         *atm_corpus.corpora(), *sonet_corpus.corpora()):
        (HERE / "corpus" / folder).mkdir(exist_ok=True)
        for name, blob in made:
            (HERE / "corpus" / folder / name).write_bytes(blob)
    for name, blob in lives():
        (HERE / "corpus" / "rdmacm_commands" / ("life-" + name)).write_bytes(bytes(blob))


if __name__ == "__main__":
    main()
