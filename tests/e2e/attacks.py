#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sends whole packets that no honest adapter sends, in the names of others, by a raw queue pair: at
a node that carries a service of type "process", run under `weft run` with /usr/bin/python3.

usage: attacks.py FACTS: FACTS are JSON, {"via": service LID, "app": [LID, GID, queue pair], "db":
the same, "own": [LID, GID]}. Says of each attack how many packets were sent, or that the adapter
does not let it out.
"""
import ipaddress
import json
import struct
import sys

import pyverbs.enums as e
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, SendWR

RC_SEND_ONLY, UC_SEND_ONLY, UD_SEND_ONLY, RESERVED = 0x04, 0x24, 0x64, 0x1F
QP1_KEY = 0x80010000
REQ, DREQ = 0x10, 0x15
TCP_5432 = 0x0000000001061538  # service ID of rdma_cm
ROOM = 8192


def gid(text):
    return ipaddress.IPv6Address(text).packed


class Sender:
    """Packets from `app` to `db`, unless something else is said."""

    def __init__(self, facts):
        self.via = facts["via"]
        self.app, self.db, self.own = facts["app"], facts["db"], facts["own"]

    def packet(self, opcode=RC_SEND_ONLY, body=bytes(256), **other):
        """All but the CRCs, which the adapter makes."""
        slid = other.get("slid", self.app[0])
        sgid = gid(other.get("sgid", self.app[1]))
        dgid = gid(other.get("dgid", self.db[1]))
        transport = struct.pack(">BBHII", opcode, 0, other.get("pkey", 0xFFFF),
                                other.get("qpn", self.db[2]), 1) + body
        behind = len(transport) + 4  # and the ICRC
        words = other.get("words", (8 + 40 + behind) // 4)
        return (struct.pack(">BBHHH", 0, 3, self.via, words, slid) +
                struct.pack(">IHBB", 6 << 28, behind, 0x1B, 255) + sgid + dgid + transport)

    def datagram(self, mad, **other):
        """To queue pair 1, and from it."""
        return self.packet(UD_SEND_ONLY, struct.pack(">II", QP1_KEY, 1) + mad, qpn=1, **other)

    @staticmethod
    def cm(attribute, fields):
        """A message of the communication manager; `fields`: offset and bytes of each."""
        mad = bytearray(256)
        struct.pack_into(">BBBBHHQH", mad, 0, 1, 7, 2, 3, 0, 0, 99, attribute)
        for offset, value in fields:
            mad[24 + offset:24 + offset + len(value)] = value
        return bytes(mad)

    def request(self):
        """What `app` could ask `db` for (IBA 12.6.5)."""
        return self.cm(REQ, [(0, b"\0\0\0\7"), (8, struct.pack(">Q", TCP_5432)),
                             (32, struct.pack(">I", self.app[2] << 8)),
                             (48, struct.pack(">HB", 0xFFFF, 0x37)),
                             (52, struct.pack(">HH", self.app[0], self.via)),
                             (56, gid(self.app[1])), (72, gid(self.db[1])), (93, b"\xFF")])


# How many packets of each: those that count as the same have other numbers.
ATTACKS = {
    "guessed-queue-pair": (1, lambda s: s.packet(slid=s.own[0], sgid=s.own[1])),
    "forged-sgid": (2, lambda s: s.packet(sgid=s.own[1])),
    "wrong-dgid": (4, lambda s: s.packet(dgid=s.own[1])),
    "forged-slid": (1, lambda s: s.packet(slid=s.own[0])),
    "forged-pkey": (2, lambda s: s.packet(pkey=0x8005)),
    "other-transport": (3, lambda s: s.packet(UC_SEND_ONLY)),
    "unknown-opcode": (5, lambda s: s.packet(RESERVED)),
    "oversize": (4, lambda s: s.packet(body=bytes(4096 + 4))),
    "short-management": (1, lambda s: s.datagram(s.request()[:128])),
    "forged-request": (2, lambda s: s.datagram(s.request(), slid=s.own[0], sgid=s.own[1])),
    "guessed-disconnect": (3, lambda s: s.datagram(
        s.cm(DREQ, [(0, b"\0\0\0\7"), (4, b"\0\0\0\7"),
                    (8, struct.pack(">I", s.db[2] << 8))]))),
    "subnet-management": (1, lambda s: s.packet(UD_SEND_ONLY, bytes(8 + 256), qpn=0)),
    "lying-length": (1, lambda s: s.packet(words=40)),
}


class Queue:
    """A raw queue pair, one packet at a time."""

    def __init__(self):
        context = Context(name="weft0")
        domain = PD(context)
        self.queue = CQ(context, 16)
        self.region = MR(domain, ROOM, e.IBV_ACCESS_LOCAL_WRITE)
        self.pair = QP(domain, QPInitAttr(qp_type=e.IBV_QPT_RAW_PACKET, scq=self.queue,
                                          rcq=self.queue, cap=QPCap()), QPAttr(port_num=1))

    def send(self, packet):
        """The status that it ends with."""
        self.region.write(packet, len(packet))
        piece = SGE(self.region.buf, len(packet), self.region.lkey)
        self.pair.post_send(SendWR(num_sge=1, sg=[piece], opcode=e.IBV_WR_SEND,
                                   send_flags=e.IBV_SEND_SIGNALED))
        done = []
        while not done:
            _, done = self.queue.poll(1)
        return done[0].status


def main():
    sender = Sender(json.loads(sys.argv[1]))
    for name, (count, make) in ATTACKS.items():
        queue = Queue()
        packet = make(sender)
        statuses = {queue.send(packet) for _ in range(count)}
        if statuses == {e.IBV_WC_LOC_LEN_ERR}:
            print(name, "refused")
        elif statuses == {e.IBV_WC_SUCCESS}:
            print(name, count)
        else:
            sys.exit(f"{name}: {statuses}")


main()
