#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compare what LAN ports have sent over the fabric with what their Ethernet interfaces have seen.

Written from docs/lan.md and apart from src/lan, so that the two can judge each other. It takes the
frames out of the messages of a capture of the fabric, by which all of them came, and looks for each
one, bit for bit, in captures of the interfaces: that of its sender and those of its receivers. What
kernels have left to do with a frame must be said in its messages as it stands in the frame.

Of each capture only that counts which is between two broadcasts of EtherType 0x88B6, with "begin"
and "end".

usage: check_lan.py FABRIC LID=ETHERNET...
  FABRIC         ERF (link type 197), type 21, as weft capture writes it: a link that all frames
                 between the ports cross once
  LID=ETHERNET   of each port the base LID, and a capture of its interface
exit status: 0 all agree, 1 something does not, or there is nothing, 2 a file cannot be read
"""
import collections
import struct
import sys

import check_crc

MARK = b"\xff" * 6, b"\x88\xb6"
ASKING = bytes.fromhex("02574c000000")   # from which a port asks its own host
UD_SEND_ONLY = 0x64
UC_FIRST, UC_MIDDLE, UC_LAST, UC_ONLY = 0x20, 0x21, 0x22, 0x24
GSO = {0: "none", 1: "TCP over IPv4", 4: "TCP over IPv6", 5: "UDP"}
HEADER = 24

Packet = collections.namedtuple("Packet", "slid dlid opcode psn qp source_qp payload")
Message = collections.namedtuple("Message", "slid dlid source_qp connection data")
Frame = collections.namedtuple("Frame", "slid dlid connection parts header bytes")


class Wrong(Exception):
    """Something that docs/lan.md does not allow."""


def packet_of(native):
    """IBA 7 and 9, of packets with a BTH; nothing of others, and of management datagrams."""
    lnh = native[1] & 3
    if lnh < 2:
        return None
    end = 4 * (struct.unpack_from(">H", native, 4)[0] & 0x7FF)
    dlid, slid = struct.unpack_from(">H", native, 2)[0], struct.unpack_from(">H", native, 6)[0]
    at = 8 if lnh == 2 else 48
    opcode, pad = native[at], native[at + 1] >> 4 & 3
    qp, psn = (int.from_bytes(native[at + i:at + i + 3], "big") for i in (5, 9))
    at += 12
    source_qp = 0
    if opcode == UD_SEND_ONLY:
        source_qp = int.from_bytes(native[at + 5:at + 8], "big")
        at += 8
    if qp < 2:
        return None
    return Packet(slid, dlid, opcode, psn, qp, source_qp, native[at:end - 4 - pad])


def messages(packets):
    """What packets carry: a datagram each, or messages of unreliable connections (IBA 9.8.2)."""
    under_way = {}
    for packet in packets:
        if packet.opcode == UD_SEND_ONLY:
            yield Message(packet.slid, packet.dlid, packet.source_qp, False, packet.payload)
            continue
        way = packet.slid, packet.dlid, packet.qp
        if packet.opcode in (UC_FIRST, UC_ONLY):
            if way in under_way:
                raise Wrong("a message breaks off on the connection %s" % (way,))
            under_way[way] = [packet.psn, b""]
        elif packet.opcode not in (UC_MIDDLE, UC_LAST):
            raise Wrong("opcode %#x, which is of neither UD nor UC" % packet.opcode)
        elif way not in under_way or packet.psn != under_way[way][0] + 1 & 0xFFFFFF:
            raise Wrong("a message goes on that has not begun on the connection %s" % (way,))
        under_way[way] = [packet.psn, under_way[way][1] + packet.payload]
        if packet.opcode in (UC_LAST, UC_ONLY):
            yield Message(packet.slid, packet.dlid, 0, True, under_way.pop(way)[1])
    if under_way:
        raise Wrong("messages break off on the connections %s" % sorted(under_way))


def kind_of(data):
    """Of a message's header, which must be as the table of messages has it."""
    if len(data) < HEADER or data[:2] != b"WL":
        raise Wrong("a message that does not begin with a header: %s" % data[:HEADER].hex())
    if data[2] >> 4 != 1 or data[2] & 15 not in (1, 2):
        raise Wrong("version and kind %#x" % data[2])
    if data[3] & 0x18 or data[3] & 7 not in GSO:
        raise Wrong("byte 3 is %#x" % data[3])
    return data[2] & 15


def frames(all_messages):
    """The frames that they carry, each when its last part has come."""
    parts = {}
    for message in all_messages:
        if kind_of(message.data) == 2:
            continue                                        # what a port wants of groups
        number, total, begin = struct.unpack_from(">III", message.data, 4)
        header, part = message.data[:HEADER], message.data[HEADER:]
        if not 1 <= total <= 65597 or begin % 8 or begin + len(part) > total:
            raise Wrong("a part of %d bytes at %d of a frame of %d" % (len(part), begin, total))
        if begin + len(part) < total and len(part) % 8:
            raise Wrong("a part of %d bytes, which is not the last one" % len(part))
        if message.connection:
            if number or begin or len(part) != total:
                raise Wrong("no whole frame on a connection: %s" % header.hex())
            yield Frame(message.slid, message.dlid, True, 1, header, part)
            continue
        key = message.slid, message.source_qp, message.dlid, number
        said = header[:12] + header[16:]
        first, got = parts.setdefault(key, (said, {}))
        if said != first or begin in got:
            raise Wrong("parts of the frame %s contradict each other" % (key,))
        got[begin] = part
        if sum(map(len, got.values())) < total:
            continue
        whole = b""
        for at in sorted(got):
            if at != len(whole):
                raise Wrong("parts of the frame %s do not meet" % (key,))
            whole += got[at]
        del parts[key]
        yield Frame(message.slid, message.dlid, False, len(got), header, whole)
    if parts:
        raise Wrong("parts of the frames %s are missing" % sorted(parts))


def ones_sum(data):
    total = sum(struct.unpack(">%dH" % (len(data) // 2), data[:len(data) & ~1]))
    total += data[-1] << 8 if len(data) % 2 else 0
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def transport_of(frame):
    """(protocol, where it begins, its bytes, its pseudo header) of whole IP packets; or None."""
    at = 12
    while frame[at:at + 2] in (b"\x81\x00", b"\x88\xa8"):
        at += 4
    kind, ip = frame[at:at + 2], at + 2
    if kind == b"\x08\x00":
        size = struct.unpack_from(">H", frame, ip + 2)[0]
        if struct.unpack_from(">H", frame, ip + 6)[0] & 0x3FFF:
            return None                                     # a fragment
        start, protocol = ip + 4 * (frame[ip] & 15), frame[ip + 9]
        addresses = frame[ip + 12:ip + 20]
        end = ip + size
    elif kind == b"\x86\xdd":
        size = struct.unpack_from(">H", frame, ip + 4)[0]
        start, protocol, addresses = ip + 40, frame[ip + 6], frame[ip + 8:ip + 40]
        end = start + size
    else:
        return None
    body = frame[start:end]
    return protocol, start, body, addresses + struct.pack(">II", len(body), protocol)


CHECKSUM_AT = {6: 16, 17: 6}             # of TCP and UDP


def check_offload(frame):
    """What the header says of the checksum and of segments, against the frame."""
    flags, gso = frame.header[3], frame.header[3] & 7
    segment, headers, start, offset = struct.unpack_from(">HHHH", frame.header, 16)
    found = transport_of(frame.bytes)
    left = bool(flags & 0x40)
    if left:
        if found is None or (start, offset) != (found[1], CHECKSUM_AT.get(found[0])):
            raise Wrong("a checksum is left to do at %d + %d: there is none" % (start, offset))
        carried = struct.unpack_from(">H", frame.bytes, start + offset)[0]
        if carried != ones_sum(found[3]):
            raise Wrong("the sum of the pseudo header is %#x, not %#x"
                        % (carried, ones_sum(found[3])))
    elif found is not None and found[0] in CHECKSUM_AT:
        carried = struct.unpack_from(">H", found[2], CHECKSUM_AT[found[0]])[0]
        if (carried or found[0] == 6) and ones_sum(found[3] + found[2]) != 0xFFFF:
            raise Wrong("a checksum is wrong that nobody has left to do")
    if gso:
        if not left or found is None or not segment:
            raise Wrong("segments of %d bytes are left to cut of no TCP or UDP" % segment)
        end = found[1] + (4 * (found[2][12] >> 4) if found[0] == 6 else 8)
        if headers != end:
            raise Wrong("the headers are said to have %d bytes, and have %d" % (headers, end))


def check_addresses(frame):
    """Whose address a frame has is its sender, and it goes where its destination's LIDs are."""
    for name, mac, lid in (("source", frame.bytes[6:12], frame.slid),
                           ("destination", frame.bytes[:6], frame.dlid)):
        if name == "destination" and mac[0] & 1:
            continue
        base, lmc = int.from_bytes(mac[4:], "big"), mac[3]
        if mac[:3] != b"\x02WL" or lmc > 7 or not base <= lid < base + (1 << lmc):
            raise Wrong("the %s %s is not of LID %d" % (name, mac.hex(":"), lid))


def between_marks(all_frames, bytes_of):
    """Those from the mark "begin" to the mark "end", without these."""
    inside, out = False, []
    for frame in all_frames:
        data = bytes_of(frame)
        if (data[:6], data[12:14]) == MARK:
            if data[14:].startswith(b"end") and inside:
                return out
            inside = inside or data[14:].startswith(b"begin")
        elif inside:
            out.append(frame)
    raise Wrong("there is no mark at its %s" % ("end" if inside else "begin"))


def of_fabric(path):
    packets = []
    for link, data, _ in check_crc.records(path):
        native = check_crc.erf_payload(data) if link == check_crc.ERF else None
        if native is None:
            raise Wrong("%s has something that is no packet of InfiniBand" % path)
        packet = packet_of(native[0])
        packets += [packet] if packet else []
    return between_marks(list(frames(messages(packets))), lambda frame: frame.bytes)


def of_interface(path):
    """What its host sent and was sent, but for what stays with the host."""
    out = []
    for link, data, original in check_crc.records(path):
        if link != check_crc.ETHERNET or len(data) < original:
            raise Wrong("%s has something that is no whole frame of Ethernet" % path)
        out.append(bytes(data))
    return [frame for frame in between_marks(out, lambda frame: frame) if frame[6:12] != ASKING]


def to_group(frame):
    return frame[0] & 1 and frame[:6] != b"\xff" * 6


def compare(lid, carried, seen):
    """Each frame of the port at this LID, as often as it has come. Of those to groups it is not
    known here who wanted them: what the port has sent to somebody, its host has sent."""
    mine = [frame for frame in carried if lid in (frame.slid, frame.dlid) or frame.dlid >= 0xC000]
    there = collections.Counter(frame.bytes for frame in mine if not to_group(frame.bytes))
    here = collections.Counter(frame for frame in seen if not to_group(frame))
    for name, more in (("on the fabric", there - here), ("at its interface", here - there)):
        for frame, times in more.items():
            raise Wrong("port %d: %d times only %s: %s… of %d bytes"
                        % (lid, times, name, frame[:48].hex(), len(frame)))
    for frame in mine:
        if to_group(frame.bytes) and frame.slid == lid and frame.bytes not in seen:
            raise Wrong("port %d: a frame to a group is not its host's: %s…"
                        % (lid, frame.bytes[:48].hex()))
    return sum(there.values())


def main():
    if len(sys.argv) < 3 or any("=" not in argument for argument in sys.argv[2:]):
        sys.exit(__doc__)
    path = sys.argv[1]
    try:
        carried = of_fabric(path)
        for frame in carried:
            check_addresses(frame)
            check_offload(frame)
        for argument in sys.argv[2:]:
            lid, _, path = argument.partition("=")
            agreed = compare(int(lid), carried, of_interface(path))
            print("port %s: %d frames agree" % (lid, agreed))
    except Wrong as wrong:
        print("%s: %s" % (path, wrong))
        return 1
    except (check_crc.Malformed, OSError, struct.error, IndexError) as error:
        print("%s: %s" % (path, error), file=sys.stderr)
        return 2
    count = collections.Counter()
    for frame in carried:
        count["by connections" if frame.connection else "in datagrams"] += 1
        count["in several parts"] += frame.parts > 1
        count["with a checksum left to do"] += bool(frame.header[3] & 0x40)
        count["with segments left to cut"] += bool(frame.header[3] & 7)
    print("%d frames: %s" % (len(carried), ", ".join("%d %s" % (n, what)
                                                      for what, n in sorted(count.items()))))
    return 0 if carried else 1


if __name__ == "__main__":
    sys.exit(main())
