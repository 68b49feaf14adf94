#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Look for bits that the InfiniBand architecture does not define in RoCEv2 packets: opcodes, fields
that are reserved, and private data of connections whose programs have given none.

Written from the standard and apart from src/wire. Reads captures as check_crc.py does.

usage: check_standard.py [--from ADDRESS] [--find-opcode OPCODE] FILE...
  --from ADDRESS          only what this address sent
  --find-opcode OPCODE    says how many packets have it, and counts it among the standard's; may
                          be given more than once
  --agreed                the ends may agree on extensions: a REP may end with what says so
exit status: 0 nothing found, 1 something found or nothing to look at, 2 a file cannot be read
"""
import argparse
import collections
import ipaddress
import struct
import sys

import check_crc

RC = [code for code in range(0x18) if code != 0x15]
OPCODES = {*RC, *range(0x20, 0x2C), 0x64, 0x65, 0x81, *(0xA0 + code for code in RC)}
AETH = {0x0D, 0x0F, 0x10, 0x11, 0x12}   # RC opcodes that carry one
UD = {0x64, 0x65}
CM_CLASS = 0x07
TRAILER = 16     # of a REP between Weft peers, which says that the ends agree on extensions
IP_HEADER = 36   # of rdma_cm, before the program's private data (A11)

# Of each message of the connection manager: its name, (offset, bits that must be 0) and where the
# private data begins; offsets from the end of the MAD header.
PATH = [(38, 0x0F), (39, 0xC0), (42, 0x07), (43, 0x07)]
MESSAGES = {
    0x10: ("REQ", [*((at, 0xFF) for at in (4, 5, 6, 7, 24, 25, 26, 27)),
                   *((52 + at, mask) for at, mask in PATH),
                   *((96 + at, mask) for at, mask in PATH)], 140),
    0x11: ("MRA", [(8, 0x3F), (9, 0x07)], 10),
    0x12: ("REJ", [(8, 0x3F), (9, 0x01)], 84),
    0x13: ("REP", [(15, 0xFF), (19, 0xFF), (23, 0xFF), (27, 0x0F)], 36),
    0x14: ("RTU", [], 8),
    0x15: ("DREQ", [(11, 0xFF)], 12),
    0x16: ("DREP", [], 8),
}


def of_mad(mad, agreed):
    if len(mad) != 256 or mad[1] != CM_CLASS:
        return [f"no message of the connection manager: {mad[:4].hex()}, {len(mad)} bytes"]
    wrong = []
    if mad[0] != 1 or mad[2] != 2 or mad[3] != 0x03 or any(mad[4:8]) or any(mad[18:24]):
        wrong.append(f"MAD header {mad[:24].hex()}")
    kind = struct.unpack_from(">H", mad, 16)[0]
    if kind not in MESSAGES:
        return wrong + [f"attribute {kind:#x}"]
    name, reserved, private = MESSAGES[kind]
    body = mad[24:]
    wrong += [f"{name}: byte {at} is {body[at]:#x}" for at, mask in reserved if body[at] & mask]
    data = body[private:]
    if agreed and name == "REP":
        data = data[:-TRAILER]
    if name == "REQ":
        header, data = data[:IP_HEADER], data[IP_HEADER:]
        if header[0] != 0 or header[1] not in (0x40, 0x60):
            wrong.append(f"REQ: IP header {header[:4].hex()}")
        if header[1] == 0x40 and (any(header[4:16]) or any(header[20:32])):
            wrong.append("REQ: an IPv4 address has more than 4 bytes")
    if any(data):
        wrong.append(f"{name}: private data {data.hex()}")
    return wrong


def of_packet(packet, also=(), agreed=False):
    """What is not the standard's in a packet from its BTH up to, without, the ICRC."""
    if len(packet) < 12:
        return ["shorter than a BTH"]
    opcode = packet[0]
    if opcode in also:
        return []
    if opcode not in OPCODES:
        return [f"opcode {opcode:#x}"]
    wrong = []
    if packet[1] & 0x0F:
        wrong.append(f"transport version {packet[1] & 0x0F}")
    if packet[4] & 0x3F:
        wrong.append(f"BTH resv6a {packet[4] & 0x3F:#x}")
    if packet[8] & 0x7F:
        wrong.append(f"BTH resv7 {packet[8] & 0x7F:#x}")
    if opcode in UD:
        if len(packet) < 20 or packet[16]:
            wrong.append("DETH reserved")
        if int.from_bytes(packet[5:8], "big") == 1:
            wrong += of_mad(packet[20:], agreed)
    elif opcode & 0x1F in AETH and opcode != 0x81:
        syndrome = packet[12]
        kind = syndrome >> 5
        if kind not in (0, 1, 3) or (kind == 3 and syndrome & 0x1F > 4):
            wrong.append(f"AETH syndrome {syndrome:#x}")
    return wrong


def packets(path, sender):
    """(number of the record, packet) of each RoCEv2 packet that `sender` sent."""
    for number, (link, frame, _) in enumerate(check_crc.records(path), 1):
        found = check_crc.ip_of(frame) if link == check_crc.ETHERNET else None
        if not found:
            continue
        ip, udp, total = found
        if struct.unpack_from(">H", ip, udp + 2)[0] != check_crc.ROCE_PORT:
            continue
        source = ip[12:16] if ip[0] >> 4 == 4 else ip[8:24]
        if sender is None or source == sender.packed:
            yield number, ip[udp + 8:total - 4]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--from", dest="sender", type=ipaddress.ip_address, metavar="ADDRESS")
    parser.add_argument("--find-opcode", type=lambda text: int(text, 0), metavar="OPCODE",
                        dest="also", action="append", default=[])
    parser.add_argument("--agreed", action="store_true")
    options = parser.parse_args()
    looked_at = bad = 0
    found = collections.Counter()
    for path in options.files:
        try:
            for number, packet in packets(path, options.sender):
                looked_at += 1
                found[packet[0]] += 1
                wrong = of_packet(packet, options.also, options.agreed)
                bad += bool(wrong)
                if wrong:
                    print(f"{path}: record {number}: {'; '.join(wrong)}")
        except (check_crc.Malformed, OSError, struct.error, IndexError) as error:
            print(f"{path}: {error}", file=sys.stderr)
            return 2
    print(f"{looked_at} packets, {bad} with something that is not the standard's")
    for opcode in options.also:
        print(f"{found[opcode]} with opcode {opcode:#x}")
    return 1 if bad or not looked_at else 0


if __name__ == "__main__":
    sys.exit(main())
