#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check the CRCs of the InfiniBand and RoCEv2 packets in capture files.

Written from the standard and apart from src/wire, so that the two can judge each other; tshark
shows these CRCs but never checks them.

  Ethernet (link type 1)            ICRC of RoCEv2 in UDP to one of the ports given
  ERF (link type 197), type 21      ICRC and VCRC of native packets; raw ones have a VCRC only

Reads pcap and pcapng, in either byte order. The IPv4 Identification is that of the packet. Packets
that the capture cut short cannot be checked and are counted apart. Everything else is ignored.

usage: check_crc.py [--port PORT[-PORT]]... [--json] [-v] FILE...
exit status: 0 all good, 1 something bad or nothing to check, 2 a file cannot be read
"""
import argparse
import json
import struct
import sys
import zlib

ETHERNET, ERF = 1, 197
ERF_INFINIBAND = 21
ROCE_PORT = 4791


class Malformed(Exception):
    """The file is not a capture, or breaks off."""


# ---- capture files: each reader yields (link type, bytes captured, original length) ----

def read_pcap(blob):
    order = "<" if blob[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
    if len(blob) < 24:
        raise Malformed("pcap header is cut short")
    link = struct.unpack_from(order + "I", blob, 20)[0] & 0x0FFFFFFF
    at = 24
    while at < len(blob):
        if at + 16 > len(blob):
            raise Malformed("record header at %d is cut short" % at)
        size, original = struct.unpack_from(order + "II", blob, at + 8)
        at += 16
        if at + size > len(blob):
            raise Malformed("record at %d is cut short" % at)
        yield link, blob[at:at + size], original
        at += size


PCAP_MAGICS = (b"\xd4\xc3\xb2\xa1", b"\xa1\xb2\xc3\xd4",      # microseconds, either order
               b"\x4d\x3c\xb2\xa1", b"\xa1\xb2\x3c\x4d")      # nanoseconds
INTERFACE, OLD_PACKET, SIMPLE_PACKET, ENHANCED_PACKET = 1, 2, 3, 6


def read_pcapng(blob):
    order, links, snap, at = "<", [], [], 0
    while at < len(blob):
        if at + 12 > len(blob):
            raise Malformed("block at %d is cut short" % at)
        if blob[at:at + 4] == b"\x0a\x0d\x0d\x0a":         # a section sets the byte order anew
            order = "<" if blob[at + 8:at + 12] == b"\x4d\x3c\x2b\x1a" else ">"
            links, snap = [], []
        kind, total = struct.unpack_from(order + "II", blob, at)
        if total < 12 or total % 4 or at + total > len(blob):
            raise Malformed("block at %d has a bad length" % at)
        body = blob[at + 8:at + total - 4]
        at += total
        if kind == INTERFACE:
            link, _, limit = struct.unpack_from(order + "HHI", body)
            links.append(link)
            snap.append(limit or 1 << 32)
            continue
        if kind == ENHANCED_PACKET:
            interface, _, _, size, original = struct.unpack_from(order + "IIIII", body)
            start = 20
        elif kind == OLD_PACKET:
            interface, _, _, _, size, original = struct.unpack_from(order + "HHIIII", body)
            start = 20
        elif kind == SIMPLE_PACKET:
            interface, original, start = 0, struct.unpack_from(order + "I", body)[0], 4
            size = min(original, snap[0] if snap else 0)
        else:
            continue                                        # comments, names, statistics
        if interface >= len(links) or start + size > len(body):
            raise Malformed("packet block before %d names no interface or is cut short" % at)
        yield links[interface], body[start:start + size], original


def records(path):
    with open(path, "rb") as file:
        blob = file.read()
    magic = blob[:4]
    if magic == b"\x0a\x0d\x0d\x0a":
        return read_pcapng(blob)
    if magic in PCAP_MAGICS:
        return read_pcap(blob)
    raise Malformed("neither pcap nor pcapng")


# ---- the CRCs ----

def vcrc_table():
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0xD008 if value & 1 else 0)   # 0x100B, bits reversed
        table.append(value)
    return table


VCRC_TABLE = vcrc_table()


def vcrc(covered):
    value = 0xFFFF
    for byte in covered:
        value = value >> 8 ^ VCRC_TABLE[(value ^ byte) & 0xFF]
    return struct.pack("<H", value ^ 0xFFFF)


def icrc(masked):
    return struct.pack("<I", zlib.crc32(masked))


def ones(buffer, *positions):
    for position in positions:
        buffer[position] = 0xFF


# ---- packets: None when there is nothing to check, else a list of what is wrong ----

def check_native(packet, original):
    if len(packet) < 8:
        return ["shorter than an LRH"]
    end = 4 * (struct.unpack_from(">H", packet, 4)[0] & 0x7FF)
    if end + 2 > len(packet):
        return None if len(packet) < original else ["PktLen is more than the packet"]
    wrong = []
    if packet[end:end + 2] != vcrc(packet[:end]):
        wrong.append("VCRC %s, should be %s"
                     % (packet[end:end + 2].hex(), vcrc(packet[:end]).hex()))
    header = packet[1] & 3
    if header < 2:
        return wrong                                        # raw
    bth = 8 if header == 2 else 48
    if end < bth + 16:
        return wrong + ["PktLen is less than its headers"]
    masked = bytearray(packet[:end - 4])
    if header == 2:
        masked[0] |= 0xF0                                   # VL
    else:
        ones(masked, *range(8), 9, 10, 11, 15)              # LRH, traffic class, flow label, hops
        masked[8] |= 0x0F
    ones(masked, bth + 4)
    if packet[end - 4:end] != icrc(masked):
        wrong.append("ICRC %s, should be %s" % (packet[end - 4:end].hex(), icrc(masked).hex()))
    return wrong


def ip_of(frame):
    """(IP packet, offset of its UDP header, its length) of an Ethernet frame, or None."""
    at = 12
    while frame[at:at + 2] in (b"\x81\x00", b"\x88\xa8"):
        at += 4
    kind, ip = frame[at:at + 2], frame[at + 2:]
    if kind == b"\x08\x00" and len(ip) >= 20 and ip[9] == 17:
        if struct.unpack_from(">H", ip, 6)[0] & 0x3FFF:     # a fragment
            return None
        return ip, 4 * (ip[0] & 15), struct.unpack_from(">H", ip, 2)[0]
    if kind == b"\x86\xdd" and len(ip) >= 40 and ip[6] == 17:
        return ip, 40, 40 + struct.unpack_from(">H", ip, 4)[0]
    return None


def check_roce(frame, original, ports):
    found = ip_of(frame)
    if not found:
        return None
    ip, udp, total = found
    if len(ip) < udp + 8 or not any(low <= struct.unpack_from(">H", ip, udp + 2)[0] <= high
                                    for low, high in ports):
        return None
    if total > len(ip):
        return None if len(frame) < original else ["IP length is more than the frame"]
    if total < udp + 8 + 16 or struct.unpack_from(">H", ip, udp + 4)[0] != total - udp:
        return ["IP and UDP lengths disagree or leave no room for BTH and ICRC"]
    masked = bytearray(b"\xff" * 8 + ip[:total - 4])
    if ip[0] >> 4 == 4:
        ones(masked, 8 + 1, 8 + 8, 8 + 10, 8 + 11)          # type of service, TTL, checksum
    else:
        masked[8] |= 0x0F
        ones(masked, 8 + 1, 8 + 2, 8 + 3, 8 + 7)            # traffic class, flow label, hop limit
    ones(masked, 8 + udp + 6, 8 + udp + 7, 8 + udp + 8 + 4)  # UDP checksum, BTH resv8a
    carried = ip[total - 4:total]
    if carried == icrc(masked):
        return []
    return ["ICRC %s, should be %s" % (carried.hex(), icrc(masked).hex())]


def erf_payload(record):
    """The native packet in an ERF record and its length on the wire, or None."""
    if len(record) < 16 or record[8] & 0x7F != ERF_INFINIBAND:
        return None
    start, more = 16, record[8] & 0x80
    while more and start + 8 <= len(record):                # extension headers
        more = record[start] & 0x80
        start += 8
    length = struct.unpack_from(">H", record, 14)[0]
    return record[start:start + length], length


def check_record(link, data, original, ports):
    """None: nothing to check. "truncated": it cannot be. Else a list of what is wrong."""
    if link == ERF:
        native = erf_payload(data)
        if native is None:
            return None
        wrong = check_native(*native)
        return "truncated" if wrong is None else wrong
    if link != ETHERNET:
        return None
    wrong = check_roce(data, original, ports)
    if wrong is None and len(data) < original:
        return "truncated"
    return wrong


def check_file(path, ports):
    result = {"file": path, "packets": 0, "good": 0, "bad": 0, "truncated": 0, "failures": []}
    for number, (link, data, original) in enumerate(records(path), 1):
        wrong = check_record(link, data, original, ports)
        if wrong is None:
            continue
        if wrong == "truncated":
            result["truncated"] += 1
            continue
        result["packets"] += 1
        result["bad" if wrong else "good"] += 1
        if wrong:
            result["failures"].append({"record": number, "wrong": wrong})
    return result


def port_range(text):
    low, _, high = text.partition("-")
    span = int(low), int(high or low)
    if not 0 <= span[0] <= span[1] <= 65535:
        raise argparse.ArgumentTypeError("%s: not a port or a range of ports" % text)
    return span


def show(result, verbose):
    line = "%s: %d packets, %d good, %d bad" % (result["file"], result["packets"], result["good"],
                                                result["bad"])
    print(line + (", %d truncated" % result["truncated"] if result["truncated"] else ""))
    for failure in result["failures"][:None if verbose else 10]:
        print("  record %d: %s" % (failure["record"], "; ".join(failure["wrong"])))


def main():
    parser = argparse.ArgumentParser(
        description="Check the CRCs of InfiniBand and RoCEv2 captures.")
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--port", action="append", type=port_range, metavar="PORT[-PORT]",
                        help="UDP destination ports that mean RoCEv2 (default 4791)")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    parser.add_argument("-v", "--verbose", action="store_true", help="every bad packet, not ten")
    options = parser.parse_args()
    ports = options.port or [(ROCE_PORT, ROCE_PORT)]

    results = []
    for path in options.files:
        try:
            results.append(check_file(path, ports))
        except (Malformed, OSError, struct.error) as error:
            print("%s: %s" % (path, error), file=sys.stderr)
            return 2
    if options.json:
        print(json.dumps({"files": results}, indent=1))
    else:
        for result in results:
            show(result, options.verbose)
    bad = sum(result["bad"] for result in results)
    checked = sum(result["packets"] for result in results)
    if not checked and not options.json:
        print("nothing to check", file=sys.stderr)
    return 1 if bad or not checked else 0


if __name__ == "__main__":
    sys.exit(main())
