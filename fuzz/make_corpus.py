#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Make the seed corpora of the targets here from the genuine packets in tests/data.

One packet, the shortest, is kept for each opcode, framing and pad count, in the forms that the
walker knows: link packet, Ethernet frame, and the bare transport packet in it.

Lives of connections, as fuzz/rdmacm_commands.cc reads them, are written here by hand.

usage: make_corpus.py          rewrites corpus/walker, corpus/crc and what is made of
                               corpus/rdmacm_commands, corpus/fabric_packets,
                               corpus/attachments, corpus/attach_socket, corpus/program_end,
                               corpus/management_socket, corpus/part_socket,
                               corpus/subnet_database, corpus/sealed_datagrams,
                               corpus/wan_encapsulation, corpus/tls_stream,
                               corpus/fibre_stream, corpus/neighbours, corpus/key_offer,
                               corpus/lan_messages, corpus/leg_messages, corpus/site_greeting,
                               corpus/kernel_routes and corpus/lab_file, beside this script
"""
import pathlib
import random
import shutil
import struct

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


def sealed_datagrams():
    """(name, bytes): a path as fuzz/sealed_datagrams.cc reads its steps."""
    def seal(size):
        return bytes((0, size)) + bytes(i & 255 for i in range(size))

    def arrive(number):
        return struct.pack(">BH", 3, number)
    rotate, later = b"\1", struct.pack(">BH", 2, 11000)
    yield "in-order", b"".join(seal(size) + arrive(at) for at, size in enumerate((0, 1, 40, 200)))
    yield "reversed-and-twice", seal(9) * 7 + b"".join(arrive(6 - at // 2) for at in range(14))
    yield "old-epoch", seal(5) * 3 + arrive(0) + rotate + seal(5) + arrive(3) + arrive(1) + (
        later + arrive(2))
    yield "epochs-ahead", seal(3) + (rotate + seal(3)) * 20 + arrive(16) + arrive(20) + arrive(0)
    yield "changed", seal(20) + b"".join(
        struct.pack(">BHBBB", 4, 0, 2, at, 1 << at % 8) for at in range(0, 51, 5)) + arrive(0)
    yield "cut-and-longer", seal(20) + bytes((4, 0, 0, 0, 30, 4, 0, 0, 0, 30, 4, 0, 0, 1, 7))
    yield "made-up", b"".join(bytes((5, size)) + bytes(size) for size in (0, 2, 30, 31, 80))


def fibre_stream():
    """A fibre's symbols: trains, brings packets of both kinds, trains anew, is out of step."""
    def training(own, heard):
        return (b"\xbc\x00\x45\x45Wf\x01" + own.to_bytes(2, "big") + heard.to_bytes(2, "big") +
                b"\x03\x02\x45\x45\x45")

    def some(stream):
        return bytes([3, len(stream)]) + stream

    seek, late = b"\x00", b"\x01\x3b\x9a\xca\x00"
    packet = b"\xfb" + bytes(5) + b"\x07" + bytes(23) + b"\xfd"
    credit = b"\x5c" + bytes(6) + b"\xfd"
    up = seek + some(training(5, 1))
    yield "connected", up + some(packet + credit) + some(packet[:20]) + some(packet[20:])
    yield "anew", up + some(packet + training(6, 1) + training(6, 2)) + some(packet) + seek + seek
    yield "bad", up + some(packet[:-1] + b"\xfe") + some(packet[:-1] + b"\xfb") + late
    yield "skips", up + late + some(b"\xbc\x1c\x1c\x1c") + late * 4 + some(b"\xbc\x1c\x00")


def key_offer():
    """(name, bytes): messages of a control channel."""
    yield "all", bytes([1, 1, 1, 2, 3])
    yield "none", bytes([1, 1])
    yield "unknown", bytes([1, 1, 0, 3, 255])
    yield "other-version", bytes([1, 2, 1])
    yield "other-type", bytes([2, 1, 1])
    yield "too-many", bytes([1, 1] + [1] * 33)


def leg_messages():
    """(name, bytes): steps of fuzz/leg_messages.cc."""
    send, later = bytes([2, 0]), bytes([3, 0, 20, 0, 0])
    told = bytes([1, 0, 0])
    head = struct.pack(">BBBBIIQ", 2, 0, 0, 0, 1, 2, 3)
    report = struct.pack(">QQQQIIII", 9, 8, 7, 6, 5, 4, 3, 1000000)
    yield "sent-and-told", (send + later + told) * 20
    yield "marked", (bytes([2, 255]) + later + told) * 20
    yield "silent", send + later * 200
    yield "changed", b"".join(send + later + bytes([1, at, 1 << at % 8]) for at in range(68))
    yield "head", bytes([0, len(head) + 1]) + head + bytes([1, 0])
    reported = head[:2] + b"\x01" + head[3:] + report
    yield "report", bytes([0, len(reported)]) + reported + bytes([0])
    yield "half-a-report", bytes([0, 40]) + reported[:40] + bytes([0])
    yield "no-such-leg", bytes([0, len(head)]) + b"\x02\x07" + head[2:] + bytes([0])


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


def site_greeting():
    """(name, bytes): what extenders say before their tunnel begins."""
    yield "asks", bytes([1, 1, 29, 47]) + b"udp"
    yield "agrees", bytes([2, 1, 29, 47]) + b"ipv6"
    yield "refuses", bytes([3, 1, 0, 0]) + b"no remote here has the address 192.0.2.1:7471"
    yield "short", bytes([1, 1, 0])
    yield "other-type", bytes([4, 1, 0, 0])
    yield "other-version", bytes([1, 2, 0, 0])
    yield "unprintable", bytes([3, 1, 0, 0]) + b"\x1b[2J"
    yield "too-long", bytes([3, 1, 0, 0]) + b"x" * 201
    yield "layers", bytes([1, 1, 0, 1]) + b"ipv6/ethernet"


def checksum(blob):
    """RFC 1071, of an even number of bytes."""
    total = sum(struct.unpack(">%dH" % (len(blob) // 2), blob))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def neighbours():
    """(name, bytes): ARP and neighbour discovery of a station, as fuzz/neighbours.cc has it."""
    macs = {1: bytes((2, 0, 0, 0, 0, 1)), 2: bytes((2, 0, 0, 0, 0, 2))}

    def arp(operation, sender, target):
        return bytes(6 * [255]) + macs[2] + b"\x08\x06" + struct.pack(
            ">HHBBH", 1, 0x0800, 6, 4, operation) + macs[2] + bytes((192, 0, 2, sender)) + bytes(
                6) + bytes((192, 0, 2, target))

    def discovery(kind, flags, sender, to, target, option):
        def host(last):
            return bytes.fromhex("fd00") + bytes(13) + bytes((last,))
        source, destination = host(sender), host(to)
        body = struct.pack(">BBHI", kind, 0, 0, flags) + host(target) + option
        total = checksum(source + destination + struct.pack(">II", len(body), 58) + body)
        return macs[1] + macs[2] + b"\x86\xdd\x60\0\0\0" + struct.pack(
            ">HBB", len(body), 58, 255) + source + destination + body[:2] + struct.pack(
                ">H", total) + body[4:]

    def life(ipv4, *frames):
        run = bytes((0, 0x00))
        return bytes((ipv4,)) + run + b"".join(
            bytes((0x60, len(frame))) + frame + run for frame in frames) + bytes((0x3F,)) * 12
    there = discovery(136, 0x60000000, 2, 1, 2, b"\2\1" + macs[2])
    yield "arp-answer", life(1, arp(2, 2, 1))
    yield "arp-question", life(1, arp(1, 2, 1), arp(2, 2, 1))
    yield "arp-announcement", life(1, arp(1, 2, 2), arp(1, 1, 1))
    yield "answer", life(0, there)
    yield "question", life(0, discovery(135, 0, 2, 1, 1, b"\1\1" + macs[2]), there)
    yield "unasked", life(0, discovery(136, 0x20000000, 2, 1, 2, b"\2\1" + macs[2]))
    yield "conflict", life(0, discovery(136, 0x20000000, 2, 1, 1, b"\2\1" + macs[2]))
    yield "bad-option", life(0, discovery(136, 0x60000000, 2, 1, 2, b"\2\0" + macs[2]))


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


def tls_stream():
    """(name, bytes): messages, and a stranger's bytes, as fuzz/tls_stream.cc cuts them."""
    def pieces(blob, size, more=b""):
        return b"".join(bytes((len(blob[at:at + size]),)) + blob[at:at + size] + more
                        for at in range(0, len(blob), size))
    stream = b"".join(struct.pack(">I", size) + bytes(size) for size in (0, 1, 200, 0, 7))
    for size in (1, 4, 5, 255):
        yield "messages-by-%d" % size, b"\0" + pieces(stream, size, b"\1")
    yield "message-too-long", b"\0" + pieces(stream + struct.pack(">I", 201), 100, b"\0")
    yield "no-tls", b"\1\0" + pieces(b"GET / HTTP/1.1\r\n\r\n", 255)
    yield "no-tls-to-client", b"\1\1" + pieces(b"SSH-2.0-x\r\n", 255)
    yield "alert", b"\1\0" + pieces(bytes((21, 3, 3, 0, 2, 2, 40)), 3)
def wan_encapsulation():
    """(name, bytes): a stack's number, a flag and a packet, as fuzz/wan_encapsulation.cc reads
    them: from the remote, address 2 and port 5000, to address 1 and port 4000."""
    def checksum(data):
        total = sum(struct.unpack(">%dH" % (len(data) // 2), data + bytes(len(data) % 2)))
        while total >> 16:
            total = (total & 0xFFFF) + (total >> 16)
        return struct.pack(">H", ~total & 0xFFFF)
    near, far = (bytes.fromhex("fd") + bytes(14) + bytes([end]) for end in (1, 2))
    near4, far4 = (bytes((192, 0, 2, end)) for end in (1, 2))
    frame = bytes(range(64))

    def udp(source, destination):
        head = struct.pack(">HHHH", 5000, 4000, 8 + len(frame), 0)
        pseudo = source + destination + struct.pack(">II", 8 + len(frame), 17)
        return head[:6] + checksum(pseudo + head + frame) + frame

    def ipv6(following, body):
        head = struct.pack(">IHBB", 6 << 28 | 0xBA << 20, len(body), following, 64)
        return head + far + near + body

    def ipv4(protocol, body):
        head = struct.pack(">BBHHHBBH", 0x45, 0xBA, 20 + len(body), 0, 0x4000, 64, protocol, 0)
        return head[:10] + checksum(head + far4 + near4) + far4 + near4 + body

    def options(following, body, pad=bytes.fromhex("010400000000")):
        return bytes((following, 1, 0x1E, 6)) + b"credit" + pad + body

    def ethernet(kind, body):
        return bytes((2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2)) + kind + body
    v6, v4 = b"\x86\xdd", b"\x08\x00"
    udp6, udp4 = udp(far, near), udp(far4, near4)
    yield "null", b"\0\0" + frame
    yield "udp-ipv6", b"\1\0" + ipv6(17, udp6)
    yield "udp-ipv6-unchecked", b"\1\1" + ipv6(17, udp6[:6] + bytes(2) + frame)
    yield "udp-ipv4", b"\2\0" + ipv4(17, udp4)
    yield "ipv6", b"\3\0" + ipv6(253, frame)
    yield "udp-options-ipv6", b"\4\0" + ipv6(60, options(17, udp6))
    yield "udp-options-ipv6-absent", b"\4\0" + ipv6(17, udp6)
    yield "udp-options-ipv6-others", b"\4\0" + ipv6(60, options(17, udp6, b"\x3e\2ab\0\0"))
    yield "options-ipv6-ethernet", b"\5\0" + ethernet(v6, ipv6(60, options(253, frame)))
    yield "udp-ipv4-ethernet", b"\6\0" + ethernet(v4, ipv4(17, udp4) + bytes(9))
    yield "ethernet", b"\7\0" + ethernet(b"\x88\xb5", frame)
    yield "udp-options-ipv6-ethernet", b"\x08\0" + ethernet(v6, ipv6(60, options(17, udp6)))


def main():
    shortest = {}
    for name, blob in seeds():
        if name not in shortest or len(blob) < len(shortest[name]):
            shortest[name] = blob
    for folder in ("walker", "crc"):
        shutil.rmtree(HERE / "corpus" / folder, ignore_errors=True)
        (HERE / "corpus" / folder).mkdir(parents=True)
    for name, blob in shortest.items():
        (HERE / "corpus" / "walker" / name).write_bytes(blob)
        if name.startswith("link"):
            (HERE / "corpus" / "crc" / name).write_bytes(blob)
    # Lengths at which the kernels change their ways.
    for size in (0, 3, 4, 15, 16, 63, 64, 255, 256, 511, 512, 1100):
        blob = bytes(range(16)) + bytes(i * 7 & 255 for i in range(size))
        (HERE / "corpus" / "crc" / ("length-%04d" % size)).write_bytes(blob)
    for folder, made in (("fabric_packets", fabric_packets()), ("lab_file", lab_files()),
                         ("attachments", attachments()), ("attach_socket", attach_socket()),
                         ("management_socket", management_socket()),
                         ("part_socket", part_socket()),
                         ("subnet_database", subnet_database()),
                         ("sealed_datagrams", sealed_datagrams()), ("tls_stream", tls_stream()),
                         ("fibre_stream", fibre_stream()), ("key_offer", key_offer()),
                         ("leg_messages", leg_messages()),
                         ("lan_messages", lan_messages()),
                         ("site_greeting", site_greeting()),
                         ("neighbours", neighbours()),
                         ("kernel_routes", kernel_routes()),
                         ("wan_encapsulation", wan_encapsulation()),
                         ("program_end", program_end())):
        (HERE / "corpus" / folder).mkdir(exist_ok=True)
        for name, blob in made:
            (HERE / "corpus" / folder / name).write_bytes(blob)
    for name, blob in lives():
        (HERE / "corpus" / "rdmacm_commands" / ("life-" + name)).write_bytes(bytes(blob))


if __name__ == "__main__":
    main()
