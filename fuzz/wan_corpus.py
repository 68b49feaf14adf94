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
        return bytes([5, len(stream)]) + stream

    def says(kind, *arguments):
        return bytes((3, kind)) + bytes(arguments) + b"\0\0"

    symbols, seek, late = b"\0", b"\x00", b"\x01\x3b\x9a\xca\x00"
    packet = b"\xfb" + bytes(5) + b"\x07" + bytes(23) + b"\xfd"
    credit = b"\x5c" + bytes(6) + b"\xfd"
    for code in (1, 2):
        up = bytes((code,)) + seek + says(0, 5, 1, 3) + says(0, 5, 1, 3)
        talk = b"".join(says(3, words) for words in range(0, 40, 3)) + says(1) + b"".join(
            says(2, op, 1, 9, 8) for op in (0, 1, 2, 0, 2, 1))
        yield f"code-{code}", up + talk + late + says(1)
        noise = b"\3\3\x20\xff\0\x30\1\0" + b"\3\1\0\xff" + says(0, 6, 2, 3) * 3
        yield f"code-{code}-noise", up + some(bytes(range(200))) + late + (
            says(0, 6, 1, 16) + talk + noise + talk)
        yield f"code-{code}-anew", up + says(0, 7, 1, 3) + seek + seek + says(0, 7, 3, 3) + talk
    up = symbols + seek + some(training(5, 1))
    yield "connected", up + some(packet + credit) + some(packet[:20]) + some(packet[20:])
    yield "anew", up + some(packet + training(6, 1) + training(6, 2)) + some(packet) + seek + seek
    yield "bad", up + some(packet[:-1] + b"\xfe") + some(packet[:-1] + b"\xfb") + late
    yield "sends", up + b"\x07\x09\1\2\3\4" * 3 + late + b"\x07\xff\0\0\0\0" + seek + (
        b"\x07\1\0\0\0\0")
    yield "says", up + says(1) + says(3, 9) + says(2, 1, 2, 3, 4) + bytes((3, 3, 2, 0, 0xFF)) + (
        says(0, 5, 1, 3) + some(b"\xbc\x1c\0\0"))
    yield "no-length", up + some(b"\xfb" + bytes(20))
    yield "no-symbol", up + some(b"\0\0")
    yield "bad-credit", up + some(credit[:-1] + b"\0")
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


def dccp():
    """(name, bytes): steps of fuzz/dccp.cc, whose first byte says how much checksums cover."""
    client, server = 0x00, 0x80         # who does it
    deliver, late = 2, bytes([12, 255, 255])

    def both(times=1):
        return bytes([client | deliver, 0, server | deliver, 0]) * times

    def frame(end, size=40):
        return bytes([end, size, 0])

    def made_up(end, kind, options=b"", sequence=0, back=0):
        head = bytes([end | 10, kind, sequence, 0, 0, 0])
        return head + (b"" if kind in (0, 2) else bytes([back])) + (
            bytes([len(options)]) + options + b"\0")

    up = both(6)
    flow = b"".join(frame(end) * 2 + both(3) for end in (client, server)) * 6
    yield "flow", b"\0" + up + flow
    yield "flow-partial", b"\1" + up + flow + late + both(3)
    yield "lost", b"\0" + up + (frame(client) + bytes([7]) + frame(client) * 4 + both(8)) * 6
    yield "handshake-lost", b"\0" + bytes([7]) + late + up + bytes([server | 7]) + late + up
    yield "one-way", b"\0" + up + (frame(client) * 3 + both(4)) * 8 + late * 3 + both(8)
    yield "timeouts", b"\0" + up + (frame(client) * 3 + bytes([7, 7, 7]) + late) * 6
    yield "marked", b"\0" + up + (frame(client) + bytes([deliver, 255]) + both(2)) * 12
    yield "doubled", b"\0" + up + (frame(client) + bytes([8]) + both(3)) * 6
    yield "mixed-up", b"\0" + up + (frame(client) * 3 + bytes([6, 2, 0, 6, 1, 0]) + both(3)) * 6
    yield "stopped", b"\0" + up + flow[:60] + bytes([14, 255]) + both(6) + late * 3
    yield "stopped-by-server", b"\0" + up + flow[:60] + bytes([server | 14, 255]) + both(6) + late
    yield "begun-anew", b"\0" + up + bytes([13, 255]) + both(6) + frame(server) * 2 + both(9) + (
        bytes([server | 13, 255]) + frame(client) * 2 + both(9) + late + both(9))
    yield "changed", b"\0" + up + b"".join(
        frame(client) + bytes([9, at, 1 << at % 8, 0]) + both(2) for at in range(0, 40, 3))
    for kind in range(10):
        yield "made-up-%d" % kind, b"\0" + up + b"".join(
            made_up(end, kind) + both(3) for end in (server, client)) + late + both(4)
    yield "options", b"\0" + up + b"".join(made_up(client, kind, options) + both(2) for kind in (
        2, 3, 4) for options in (
            bytes.fromhex("2603000026044001"), bytes.fromhex("2703402503012504ffff"),
            bytes.fromhex("02280481a028028024"), bytes.fromhex("290601020304"),
            bytes.fromhex("2009030000000001002005050009"),
            bytes.fromhex("20040103220602010022046301"),
            bytes.fromhex("220408012005080100"), bytes.fromhex("2105060101230305")))
    yield "mandatory", b"\0" + up + made_up(client, 3, bytes.fromhex("01780200")) + both(4)
    yield "mandatory-ccid", b"\0" + up + made_up(client, 3, bytes.fromhex("0120040103")) + both(4)
    yield "malformed", b"\0" + up + made_up(client, 3, bytes.fromhex("26ff")) + (
        made_up(server, 3, bytes.fromhex("010126"))) + both(4)
    yield "stranger", b"\0" + up + bytes([client | 10, 2, 0, 255, 9, 9, 0, 0, 0, 0]) * 12 + late
    yield "far-ahead", b"\0" + up + bytes([client | 10, 3, 0, 0, 255, 9, 9, 9, 9, 0, 0, 0, 0]) * 12


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
    them: from the remote, address 2 and port 5000, to address 1 and port 4000. With flag 2, a
    frame, by how much its packet is cut, and what of it is changed."""
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
    mpls, label, null = b"\x88\x47", bytes.fromhex("00011140"), bytes.fromhex("00002140")
    yield "mpls-ethernet", b"\x09\0" + ethernet(mpls, label + frame)
    yield "mpls-ethernet-stack", b"\x09\0" + ethernet(mpls, label[:2] + b"\x10\x40" + label)
    yield "udp-ipv6-mpls-ethernet", b"\x0a\0" + ethernet(mpls, label + ipv6(17, udp6))
    yield "udp-ipv6-mpls-ethernet-null", b"\x0a\0" + ethernet(mpls, null + ipv6(17, udp6))
    yield "dccp-ipv6", b"\x0b\0" + ipv6(33, frame)
    # Of the other end, cut by some bytes, and with others changed.
    yield "cut-ethernet", bytes((7, 2, 8)) + bytes(range(8)) + b"\x09"
    yield "cut-udp-options-ipv6", bytes((4, 2, 0, 3))
    yield "other-label", bytes((9, 2, 8)) + bytes(range(8)) + bytes((0, 15, 1))
    yield "no-last-label", bytes((9, 0)) + ethernet(mpls, null[:2] + b"\x20\x40") + (
        bytes.fromhex("00002040") * 12)
    yield "changed-ipv4", bytes((2, 2, 0, 0, 8, 1))
    yield "no-ipv4-header", bytes((2, 2, 0, 0, 0, 4))
    yield "changed-mpls-ethernet", bytes((9, 2, 8)) + bytes(range(8)) + bytes((0, 16, 1, 17, 4))


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


def gfp_stream():
    """(name, bytes): steps of fuzz/gfp_stream.cc; the first byte is what is agreed on."""
    def hec(value):
        state = 0
        for octet in struct.pack(">H", value):
            state ^= octet << 8
            for _ in range(8):
                state = (state << 1 ^ (0x1021 if state & 0x8000 else 0)) & 0xFFFF
        return struct.pack(">HH", value, state)

    def raw(octets):
        return bytes([0, len(octets)]) + octets

    def sent(packet, octets=200):
        return bytes([1, len(packet)]) + packet + bytes([octets])

    def wrong(octets, at, bits):
        return bytes([2, octets - 1, at, bits])

    def made_up(payload, kind):
        return bytes([3, len(payload)]) + payload + struct.pack(">H", kind)

    def later(nanoseconds):
        return bytes([6]) + struct.pack(">I", nanoseconds)
    idle = bytes.fromhex("b6ab31e0")
    for kind in (0, 1, 3, 7, 0x92):
        yield "packets-%d" % kind, bytes([kind]) + (sent(bytes(range(60))) + later(10**8)) * 6
    yield "bits-wrong", b"\1" + (sent(b"abc" * 9) + wrong(40, 5, 1) + wrong(9, 0, 0x11)) * 8
    yield "hunts", b"\0" + raw(idle[1:] + b"\0\0\0") + sent(b"xyz") * 3 + raw(idle * 3 + b"\5")
    yield "interrupted", b"\1" + sent(bytes(99), 60) + b"\4" + sent(bytes(99)) * 3
    manages = b"".join(made_up(b"", 0x8000 + upi) for upi in range(7))
    kinds = [0xF0, 0x10F0, 0x11F0, 0x01F0, 0x55, 0xA001, 0x9001, 0xF2, 0x2F0, 0x8106]
    heads = b"".join(made_up(payload, kind) + later(10**8) for kind in kinds
                     for payload in (b"", b"\1\0" + hec(0x100)[2:], bytes(12)))
    yield "made-up", b"\0" + raw(idle * 2) + manages + heads + b"\5\0" + later(10**9) * 4
    yield "made-up-linear", b"\x13" + raw(idle * 2) + heads + b"\5\1" + later(10**9) * 4
    yield "control-frames", b"\0" + raw(idle * 2 + bytes(
        a ^ b for a, b in zip(hec(2), idle)) + idle)
    yield "fields", b"\0" + raw(hec(12) + hec(0x1101) + hec(0x300) + bytes(4)) + raw(
        hec(5) + bytes(5)) + raw(hec(4) + hec(0x1201)) + raw(hec(0x55)) + raw(b"ab") + raw(
            hec(4) + hec(0x8005)) + raw(hec(4) + hec(0xA00D)) + raw(hec(3)) + raw(
                hec(4) + hec(0x6F10)) + raw(hec(4) + hec(0x0011)) + raw(hec(4) + hec(0x0002))


def ppp_stream():
    """(name, bytes): steps of fuzz/ppp_stream.cc; the first byte is what is carried."""
    def raw(octets):
        return bytes([0, len(octets)]) + octets

    def frame(protocol, information):
        return bytes([2, protocol, len(information)]) + information

    def control(code, identifier, data):
        return struct.pack(">BBH", code, identifier, 4 + len(data)) + data

    def later(nanoseconds):
        return bytes([6]) + struct.pack(">I", nanoseconds)
    good, second = bytes([7, 30]), later(10**9)
    echo = bytes.fromhex("7eff03c0210901000c7d5d7d5e112254455354144aa1d17e")
    options = bytes.fromhex("010405dc" "0506aabbccdd" "0702" "0802" "090304" "0304c023" "0206")
    for kind in (0, 1, 2, 3, 4, 9, 15):
        packets = bytes([3, 40]) + bytes(range(100, 140)) + bytes([3]) + b"abc"
        yield "up-%d" % kind, bytes([kind]) + good + packets + good + later(4 * 10**9) * 3
    yield "octets", b"\0" + raw(b"\1\2" + echo + echo[1:]) + raw(b"\x7d\x7e") + raw(
        echo[:9]) + b"\4\0" + raw(echo) + raw(b"\x7e\xff\x03\0\x7e" + bytes(240)) + raw(echo)
    yield "bits-wrong", b"\0" + (bytes([1, 90, 20, 8]) + second) * 9
    codes = b"".join(frame(0, control(code, 1, data)) for code in range(14)
                     for data in (b"", options, bytes(6), b"\x80\x57\1\1"))
    yield "lcp", b"\0" + codes + second * 3 + good + codes + second * 3
    for protocol, data in ((1, b"\1\x0a" + bytes(8)), (2, b"\3\6" + bytes(4)), (3, b"\1\2")):
        inner = b"".join(frame(protocol, control(code, 1, more)) + second for code in range(9)
                         for more in (data, data[:2] + b"\1" * (len(data) - 2), b"\2\2"))
        yield "ncp-%d" % protocol, bytes([protocol - 1]) + inner + good + inner + good
    yield "magic-wished", b"\3" + b"".join(
        frame(0, control(3 + (at & 1), at, b"\5\6abcd\1\4\0\xa0")) for at in range(6)) + second
    yield "vendor", b"\3" + good + frame(7, bytes(7)) + frame(7, bytes(12)) + frame(
        7, bytes.fromhex("0000000002494200") + b"x") + frame(7, bytes.fromhex("0000000002494200"))
    yield "silence", b"\0" + good + later(2 * 10**9) * 60
    yield "ended", b"\1" + good + b"\5\0" + second * 3 + b"\5\1" + second * 40 + b"\4\0\4\1"
    yield "too-many", b"\0" + frame(0, control(15, 1, b"")) * 70
    yield "fields", b"\0" + raw(bytes.fromhex("ff03405b11223344024942003344556677")) + raw(
        bytes.fromhex("ff03c02101010010010405dc0702030006") + bytes(6)) + raw(
            bytes.fromhex("fe038021010100100306010203040305") + bytes(6)) + raw(
                bytes.fromhex("ff038057010100080104")) + raw(
                    bytes.fromhex("ff030057010203040506070809")) + raw(
                        bytes.fromhex("ff03c223010203040506070809")) + b"".join(
                            raw(bytes.fromhex("ff03%04x" % number) + bytes(9))
                            for number in (0x21, 0x281, 0x8281)) + raw(
                                bytes.fromhex("0901000c1122334454455354"))


def pcs_stream():
    """A line of 66-bit blocks, as fuzz/pcs_stream.cc reads its steps."""
    def block(layout, payload=0):
        return bytes((1, layout)) + struct.pack(">Q", payload)

    def word(octets, control):
        return b"\3" + struct.pack(">QB", octets, control)

    def frame(size):
        return bytes((4, size)) + bytes(i & 255 for i in range(size))
    data, find, late = b"\2\2" + bytes(range(8)), b"\5", b"\7\0\0\x98\x96\x80"
    yield "types", b"".join(block(layout) for layout in range(15)) + late
    yield "frames", b"".join(frame(size) for size in range(14)) + late * 3
    yield "overlong", b"".join(frame(size) for size in (14, 15, 16, 21, 22, 100, 255)) + late
    yield "long", block(5) + data * 3 + block(12) + block(5) + data + block(13) + frame(3)
    yield "words", word(0xD5555555555555FB, 1) + word(1, 0) + word(0x07070707070707FD, 255) + (
        word(0x555555FB0200009C, 0x11) + word(0xFEFEFEFEFEFEFEFE, 255) + word(0x06, 1))
    remote, local = (word(0x9C0000009C | n << 24 | n << 56, 0x11) * 4 for n in (2, 1))
    yield "faults", remote + late + local + late + frame(9) + late
    yield "noise", bytes((0, 60)) + bytes(range(60)) + find + frame(5) + bytes((0, 1, 9)) + find
    yield "bad-headers", (b"\2\3" + bytes(8)) * 20 + late + find + frame(4)
    yield "messages", b"\6\x21" + bytes(33) + b"\2" + bytes(range(8)) + bytes(5) + (
        b"\6\0\1" + bytes(8) + b"\0\xff\0\0\0")
    yield "interrupted", b"\7\xff\0\0\0\1" + find + frame(8)


def corpora():
    """(folder, what is in it)"""
    yield "sealed_datagrams", sealed_datagrams()
    yield "tls_stream", tls_stream()
    yield "fibre_stream", fibre_stream()
    yield "pcs_stream", pcs_stream()
    yield "key_offer", key_offer()
    yield "leg_messages", leg_messages()
    yield "fec", fec()
    yield "site_greeting", site_greeting()
    yield "service_messages", service_messages()
    yield "neighbours", neighbours()
    yield "wan_encapsulation", wan_encapsulation()
    yield "gfp_stream", gfp_stream()
    yield "ppp_stream", ppp_stream()
    yield "dccp", dccp()
