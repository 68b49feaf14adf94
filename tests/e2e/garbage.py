#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sends datagrams to a queue pair's UDP port, each wrong in one way, then a right one, and prints
how many of each kind went and whether the right one was answered. Builds packets from
docs/wire-udp.md, apart from src/wire, so that both must agree on the format."""

import argparse
import random
import socket
import struct
import sys
import zlib

BTH, DETH, ICRC = 12, 8, 4
UD_SEND_ONLY = 0x64
EACH = 5


def icrc(source, destination, source_port, destination_port, transport):
    """RoCEv2 over IPv4 (Annex A17): what routers change is taken as ones, Identification as 0."""
    length = 20 + 8 + len(transport) + ICRC
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0xFF, length, 0, 0x4000, 0xFF, 17, 0xFFFF,
                     socket.inet_aton(source), socket.inet_aton(destination))
    udp = struct.pack("!HHHH", source_port, destination_port, 8 + len(transport) + ICRC, 0xFFFF)
    masked = bytearray(transport)
    masked[4] = 0xFF
    covered = b"\xFF" * 8 + ip + udp + bytes(masked)
    return struct.pack("<I", zlib.crc32(covered))


def packet(arguments, payload, *, opcode=UD_SEND_ONLY, version=0, qkey=None, qpn=None, pkey=0xFFFF,
           pad=None):
    pad = -len(payload) % 4 if pad is None else pad
    qkey = arguments.qkey if qkey is None else qkey
    qpn = arguments.port if qpn is None else qpn
    bth = struct.pack("!BBHII", opcode, pad << 4 | version, pkey, qpn, 0)
    deth = struct.pack("!II", qkey, arguments.source_port)
    return bth + deth + payload + b"\0" * (-len(payload) % 4)


def kinds(arguments, noise):
    """Name of the counter that must grow, and the datagrams that must make it."""
    def sealed(transport):
        return transport + icrc("127.0.0.1", "127.0.0.1", arguments.source_port, arguments.port,
                                transport)

    message = b"a message of garbage"
    good = sealed(packet(arguments, message))
    flipped = bytearray(good)
    flipped[-6] ^= 1
    # Three lengths below the smallest packet of this wire, nothing among them.
    yield "udp_rx_runt", [b"", b"\x64", good[:15]]
    # The CRC that follows the cut is the last four bytes of something else.
    yield "udp_rx_bad_icrc", [bytes(flipped), good[:-1], good[:24], noise(64), noise(1500)]
    yield "udp_rx_oversized", [sealed(packet(arguments, b"x" * 4200)),
                               sealed(packet(arguments, b"x" * 9000)),
                               sealed(packet(arguments, b"x" * 65_000))]
    yield "rx_bad_qkey", [sealed(packet(arguments, message, qkey=0x22222222))] * EACH
    yield "rx_bad_version", [sealed(packet(arguments, message, version=3))] * EACH
    yield "rx_bad_pkey", [sealed(packet(arguments, message, pkey=0x8123))] * EACH
    yield "rx_bad_opcode", [sealed(packet(arguments, message, opcode=opcode))
                            for opcode in (0x04, 0x2A, 0x81, 0xFF, 0x66)]
    # More padding than there is message; a transport header and nothing behind it.
    yield "rx_malformed", [sealed(packet(arguments, b"", pad=3)),
                           sealed(packet(arguments, message)[:BTH])]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True, help="number of the queue pair")
    parser.add_argument("--qkey", type=lambda text: int(text, 0), default=0x11111111)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    draw = random.Random(arguments.seed)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.bind(("127.0.0.1", 0))
        sender.settimeout(5)
        arguments.source_port = sender.getsockname()[1]
        to = ("127.0.0.1", arguments.port)
        for counter, datagrams in kinds(arguments, draw.randbytes):
            for datagram in datagrams:
                sender.sendto(datagram, to)
            print(f"sent {counter} {len(datagrams)}")
        message = packet(arguments, b"still there?")
        sender.sendto(message + icrc("127.0.0.1", "127.0.0.1", arguments.source_port,
                                     arguments.port, message), to)
        while True:
            answer = sender.recv(65536)
            # Credit datagrams between Weft peers come on the same path; they are no answer.
            if answer[0] == UD_SEND_ONLY:
                break
        transport, crc = answer[:-ICRC], answer[-ICRC:]
        right = crc == icrc("127.0.0.1", "127.0.0.1", arguments.port, arguments.source_port,
                            transport)
        print(f"answer: {transport[BTH + DETH:].decode()}, ICRC {'right' if right else 'wrong'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
