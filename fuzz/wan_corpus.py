# SPDX-License-Identifier: Apache-2.0
"""What the range extender's targets read, by hand: for make_corpus.py."""
import struct

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


def fec():
    """(name, bytes): steps of fuzz/fec.cc."""
    come, lost = bytes([0, 9, 2, 5, 7, 2]), bytes([0, 200, 0, 0])
    repair, later, ahead = bytes([2, 1, 0]), bytes([4, 8, 0]), bytes([3, 20])
    changed = bytes([2, 1, 255, 0, 30, 1])
    eight = bytes([7, 1])
    yield "one-lost", eight + (come * 3 + lost + come * 4 + repair * 2) * 3
    yield "two-lost", eight + (lost * 2 + come * 6 + repair * 2) * 3
    yield "too-many-lost", eight + (lost * 3 + come * 5 + repair * 2) * 20
    yield "paused", eight + (come * 2 + lost + later + repair * 2) * 5
    yield "gaps", eight + (come + ahead) * 8 + repair * 2 + lost + come + later + repair
    yield "alone", bytes([0, 0]) + (lost + repair) * 5
    yield "most", bytes([31, 7]) + lost * 8 + come * 24 + repair * 8
    yield "changed-repair", eight + lost + come * 7 + changed + repair
    item = struct.pack(">BBHIQI", 9, 0, 34, 8, 0xFF, 0) + bytes(34)
    yield "made-up", eight + come * 8 + bytes([5, len(item)]) + item + bytes([3])


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
    """RFC 1071."""
    total = sum(struct.unpack(">%dH" % (len(blob) // 2), blob + bytes(len(blob) % 2)))
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
    near, far = (bytes.fromhex("fd") + bytes(14) + bytes([end]) for end in (1, 2))
    near4, far4 = (bytes((192, 0, 2, end)) for end in (1, 2))
    frame = bytes(range(64))

    def udp(source, destination):
        head = struct.pack(">HHHH", 5000, 4000, 8 + len(frame), 0)
        pseudo = source + destination + struct.pack(">II", 8 + len(frame), 17)
        return head[:6] + struct.pack(">H", checksum(pseudo + head + frame)) + frame

    def ipv6(following, body):
        head = struct.pack(">IHBB", 6 << 28 | 0xBA << 20, len(body), following, 64)
        return head + far + near + body

    def ipv4(protocol, body):
        head = struct.pack(">BBHHHBBH", 0x45, 0xBA, 20 + len(body), 0, 0x4000, 64, protocol, 0)
        total = checksum(head + far4 + near4)
        return head[:10] + struct.pack(">H", total) + far4 + near4 + body

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


def service_messages():
    """(name, bytes): what the ends of the way to an external server tell each other."""
    def message(kind, body, version=1):
        padded = body + bytes(max(4 - len(body), -len(body) % 4))
        size = 16 + len(padded)
        return (struct.pack(">BBHHH", 0, 0, 0xffff, size // 4, 0xffff) +
                struct.pack(">HH", 0, 0x88b6) + struct.pack(">BBH", version, kind, len(body)) +
                padded + bytes(2))
    ends = bytes(range(32))
    question = struct.pack(">Q", 7) + ends + struct.pack(">HBBHH", 0x8001, 3, 0, 15, 0)
    yield "question", message(1, question)
    yield "answer", message(2, struct.pack(">QBBHHH", 7, 1, 3, 11, 15, 0))
    yield "no-path", message(2, struct.pack(">QBBHHH", 7, 0, 0, 0, 0, 0))
    yield "paths-changed", message(3, b"")
    yield "record", message(4, b"\0\0" + bytes(range(29)))
    yield "empty-record", message(4, b"\xff\xff")
    counters = b"".join(bytes([len(name)]) + name + struct.pack(">Q", 5)
                        for name in (b"packets", b"drop_by_service", b"x" * 48))
    yield "counters", message(5, b"\1\3" + counters)
    yield "no-counters", message(5, b"\2\0")
    yield "other-version", message(1, question, 2)
    yield "cut", message(5, b"\1\3" + counters)[:60]


def corpora():
    """(folder, what is in it)"""
    yield "sealed_datagrams", sealed_datagrams()
    yield "tls_stream", tls_stream()
    yield "fibre_stream", fibre_stream()
    yield "key_offer", key_offer()
    yield "leg_messages", leg_messages()
    yield "fec", fec()
    yield "site_greeting", site_greeting()
    yield "service_messages", service_messages()
    yield "neighbours", neighbours()
    yield "wan_encapsulation", wan_encapsulation()
