#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A RoCEv2 peer that knows the standard and nothing else, on a plain UDP socket: connection
manager and one reliable connection, as rdma_client (role client: that is the other end) or
rdma_server wants them. Packets of its own get lost on purpose. Every packet that arrives must be
the standard's to the last bit; what is not is printed, and the exit status is 1.

usage: standard_peer.py ROLE OUR_ADDRESS PEER_ADDRESS"""

import pathlib
import socket
import struct
import sys
import time
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import check_standard

PORT = 4791
PATIENCE = 20
OUR_QPN, OUR_PSN, OUR_COMM = 0x4321, 0x1000, 0x77000001
SEND_ONLY, ACK, UD_SEND = 0x04, 0x11, 0x64
REQ, REP, RTU, DREQ, DREP = 0x10, 0x13, 0x14, 0x15, 0x16
MESSAGE = b"sixteen bytes.\0\0"   # what rdma_client and rdma_server exchange
NAK_SEQUENCE = 0x60


class Peer:
    def __init__(self, ours, theirs):
        self.ours, self.theirs = socket.inet_aton(ours), socket.inet_aton(theirs)
        self.there = (theirs, PORT)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.IPPROTO_IP, 10, 2)   # IP_MTU_DISCOVER, IP_PMTUDISC_DO
        self.socket.bind((ours, PORT))
        self.wrong = 0
        self.mad_psn = 0

    def say(self, text):
        print(text, flush=True)

    # ---- packets

    def send(self, packet):
        """BTH to payload; a datagram that may not be fragmented has Identification 0."""
        total = 20 + 8 + len(packet) + 4
        pseudo = struct.pack(">BBHHHBBH4s4s", 0x45, 0xFF, total, 0, 0x4000, 0xFF, 17, 0xFFFF,
                             self.ours, self.theirs)
        udp = struct.pack(">HHHH", PORT, PORT, total - 20, 0xFFFF)
        masked = bytearray(b"\xff" * 8 + pseudo + udp + packet)
        masked[8 + 28 + 4] = 0xFF
        self.socket.sendto(packet + struct.pack("<I", zlib.crc32(masked)), self.there)

    def bth(self, opcode, qpn, psn, ask=False):
        return struct.pack(">BBHII", opcode, 0x40, 0xFFFF, qpn, ask << 31 | psn & 0xFFFFFF)

    def packets(self):
        """What arrives, without its ICRC, each looked at closely; ends after a while."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            self.socket.settimeout(max(deadline - time.monotonic(), 0.01))
            try:
                packet = self.socket.recv(4096)[:-4]
            except TimeoutError:
                return
            wrong = check_standard.of_packet(packet)
            if wrong:
                self.wrong += 1
                self.say(f"not the standard's: {'; '.join(wrong)}: {packet.hex()}")
            yield packet

    def wait_for(self, what, fits):
        for packet in self.packets():
            if fits(packet):
                return packet
        raise SystemExit(f"no {what} came")

    # ---- the connection manager

    def send_mad(self, kind, transaction, body):
        header = struct.pack(">BBBBHHQHHI", 1, 7, 2, 3, 0, 0, transaction, kind, 0, 0)
        deth = struct.pack(">II", 0x80010000, 1)
        mad = (header + body).ljust(256, b"\0")
        self.send(self.bth(UD_SEND, 1, self.mad_psn) + deth + mad)
        self.mad_psn += 1

    def wait_for_mad(self, kind):
        def fits(packet):
            return packet[0] == UD_SEND and struct.unpack_from(">H", packet, 20 + 16)[0] == kind

        packet = self.wait_for(check_standard.MESSAGES[kind][0], fits)
        self.say(f"{check_standard.MESSAGES[kind][0]} came")
        return struct.unpack_from(">Q", packet, 28)[0], packet[20 + 24:]

    def gid(self, address):
        return bytes(10) + b"\xff\xff" + address

    def answer_request(self):
        self.transaction, req = self.wait_for_mad(REQ)
        self.their_comm = struct.unpack_from(">I", req)[0]
        self.their_qpn = int.from_bytes(req[32:35], "big")
        self.our_send_psn = int.from_bytes(req[44:47], "big")
        rep = bytearray(232)
        struct.pack_into(">II", rep, 0, OUR_COMM, self.their_comm)
        rep[12:15] = OUR_QPN.to_bytes(3, "big")
        rep[20:23] = OUR_PSN.to_bytes(3, "big")
        rep[24:28] = bytes([1, 1, 15 << 3 | 1, 7 << 5])
        rep[28:36] = (0x0200005EFE000001).to_bytes(8, "big")
        self.send_mad(REP, self.transaction, bytes(rep))
        self.wait_for_mad(RTU)

    def request(self, port):
        self.transaction = 3 << 32 | OUR_COMM   # as Linux counts
        req = bytearray(232)
        struct.pack_into(">II", req, 0, OUR_COMM, 0)
        req[8:16] = (0x01060000 | port).to_bytes(8, "big")
        req[16:24] = (0x0200005EFE000001).to_bytes(8, "big")
        req[32:36] = OUR_QPN.to_bytes(3, "big") + b"\1"
        req[36:40] = b"\0\0\0\1"
        req[40:44] = bytes([0, 0, 0, 20 << 3 | 1])       # RC, with end-to-end credits
        req[44:48] = OUR_PSN.to_bytes(3, "big") + bytes([20 << 3 | 7])
        req[48:52] = bytes([0xFF, 0xFF, 3 << 4 | 7, 15 << 4])   # MTU 1024
        req[52:56] = b"\xff\xff\xff\xff"
        req[56:72], req[72:88] = self.gid(self.ours), self.gid(self.theirs)
        req[93], req[94], req[95] = 64, 1 << 3, 19 << 3
        req[140:144] = struct.pack(">BBH", 0, 0x40, 5000)
        req[156:160], req[172:176] = self.ours, self.theirs
        self.send_mad(REQ, self.transaction, bytes(req))
        _, rep = self.wait_for_mad(REP)
        self.their_comm = struct.unpack_from(">I", rep)[0]
        self.their_qpn = int.from_bytes(rep[12:15], "big")
        self.our_send_psn = int.from_bytes(rep[20:23], "big")
        self.send_mad(RTU, self.transaction, struct.pack(">II", OUR_COMM, self.their_comm))

    def end(self):
        transaction, _ = self.wait_for_mad(DREQ)
        self.send_mad(DREP, transaction, struct.pack(">II", OUR_COMM, self.their_comm))

    # ---- the connection

    def send_message(self):
        """A packet too early, which a standard receiver refuses and does not keep, then the one."""
        def put(psn):
            self.send(self.bth(SEND_ONLY, self.their_qpn, psn, True) + MESSAGE)

        put(self.our_send_psn + 1)
        nak = self.wait_for("NAK", lambda p: p[0] == ACK)
        if nak[12] != NAK_SEQUENCE:
            raise SystemExit(f"a gap is answered with syndrome {nak[12]:#x}")
        self.say("NAK came")
        put(self.our_send_psn)
        self.wait_for("ACK", lambda p: p[0] == ACK and p[12] >> 5 == 0)
        self.say("ACK came")

    def take_message(self):
        """The first time it is lost, so that it comes again."""
        def fits(packet):
            return packet[0] == SEND_ONLY

        self.wait_for("message", fits)
        again = self.wait_for("message again", fits)
        self.say(f"message came again, {len(again) - 12} bytes")
        self.send(self.bth(ACK, self.their_qpn, OUR_PSN) + bytes([0x1F, 0, 0, 1]))


def main():
    role, ours, theirs = sys.argv[1:]
    peer = Peer(ours, theirs)
    peer.say("ready")
    if role == "client":
        peer.answer_request()
        peer.take_message()
        peer.send_message()
    else:
        peer.request(7471)
        peer.send_message()
        peer.take_message()
    peer.end()
    peer.say(f"done, {peer.wrong} packets were not the standard's")
    return 1 if peer.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
