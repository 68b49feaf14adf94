#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A datagram queue pair that answers every message with the same message, by pyverbs. Run it under
`weft run` with /usr/bin/python3. Prints `qpn NUMBER` when it is ready, a line for each message."""

import argparse
import ipaddress
import sys

import pyverbs.enums as e
from pyverbs.addr import AH, GID, AHAttr, GlobalRoute
from pyverbs.cq import CQ, CompChannel
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

AREA = 40      # bytes before a message
LONGEST = 4096
DEPTH = 16


def source_address(area, bare):
    """The sender's address and UDP port as the 40 bytes before a message tell: docs/wire-udp.md."""
    if area[0] >> 4 == 6:
        return ipaddress.IPv6Address(area[8:24]), None
    start = 12 if bare else 20
    header = area[start:start + 20]
    if header[0] != 0x45 or any(area[:start]):
        raise ValueError(f"no IPv4 header at {start}: {area.hex()}")
    total = 0
    for at in range(0, 20, 2):
        total += header[at] << 8 | header[at + 1]
    if (total & 0xFFFF) + (total >> 16) != 0xFFFF:
        raise ValueError(f"wrong IPv4 header checksum: {area.hex()}")
    port = int.from_bytes(area[32:34], "big") if bare else None
    return ipaddress.IPv4Address(header[12:16]), port


class EchoQueuePair:
    def __init__(self, arguments):
        self.bare = arguments.bare
        self.context = Context(name=arguments.device)
        self.domain = PD(self.context)
        self.channel = CompChannel(self.context)
        self.queue = CQ(self.context, 4 * DEPTH, None, self.channel, 0)
        self.region = MR(self.domain, (DEPTH + 1) * (AREA + LONGEST), e.IBV_ACCESS_LOCAL_WRITE)
        capacity = QPCap(max_send_wr=DEPTH, max_recv_wr=DEPTH)
        self.qkey = arguments.qkey
        self.gid_index = arguments.gid_index
        attributes = QPAttr(port_num=1)
        attributes.qkey = arguments.qkey
        # With attributes the constructor takes the queue pair to RTS.
        self.pair = QP(self.domain, QPInitAttr(qp_type=e.IBV_QPT_UD, scq=self.queue,
                                               rcq=self.queue, cap=capacity), attributes)
        for slot in range(DEPTH):
            self.post(slot)

    def address_of(self, slot):
        return self.region.buf + slot * (AREA + LONGEST)

    def post(self, slot):
        piece = SGE(self.address_of(slot), AREA + LONGEST, self.region.lkey)
        self.pair.post_recv(RecvWR(wr_id=slot, num_sge=1, sg=[piece]))

    def completions(self):
        """Waits by the completion channel, as programs that sleep do."""
        self.queue.req_notify(0)
        while True:
            count, found = self.queue.poll(1)
            if count == 0:
                self.channel.get_cq_event(self.queue)
                self.queue.ack_events(1)
                self.queue.req_notify(0)
                continue
            if found[0].status != e.IBV_WC_SUCCESS:
                raise RuntimeError(f"completion with status {found[0].status}")
            yield found[0]

    def answer(self, slot, length, address, source_qp):
        if address.version == 4:
            gid = ipaddress.IPv6Address(b"\0" * 10 + b"\xff\xff" + address.packed)
        else:
            gid = address
        route = GlobalRoute(dgid=GID(gid.exploded), sgid_index=self.gid_index, hop_limit=64)
        handle = AH(self.domain, attr=AHAttr(gr=route, is_global=1, port_num=1))
        request = SendWR(wr_id=DEPTH, num_sge=1, opcode=e.IBV_WR_SEND, send_flags=0,
                         sg=[SGE(self.address_of(slot) + AREA, length, self.region.lkey)])
        request.send_flags = e.IBV_SEND_SIGNALED
        request.set_wr_ud(handle, source_qp, self.qkey)
        self.pair.post_send(request)

    def serve(self, messages):
        """Answers `messages` messages; returns when the last answer has gone."""
        answered = 0
        for completion in self.completions():
            if completion.wr_id == DEPTH:
                answered += 1
                if answered == messages:
                    return
                continue
            slot, length = completion.wr_id, completion.byte_len - AREA
            offset = slot * (AREA + LONGEST)
            area = bytes(self.region.read(AREA, offset))
            address, port = source_address(area, self.bare)
            print(f"message of {length} bytes from {address} qp {completion.src_qp}", flush=True)
            if port is not None:
                print(f"src_qp is the port of the sender: "
                      f"{'yes' if port == completion.src_qp else 'no'}", flush=True)
            self.answer(slot, length, address, completion.src_qp)
            self.post(slot)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="weft_lo")
    parser.add_argument("--messages", type=int, default=1, help="how many to answer before it ends")
    parser.add_argument("--qkey", type=lambda text: int(text, 0), default=0x11111111)
    parser.add_argument("--gid-index", type=int, default=0)
    parser.add_argument("--bare", action="store_true", help="expect the 40 bytes of wire bare")
    arguments = parser.parse_args()
    echo = EchoQueuePair(arguments)
    print(f"qpn {echo.pair.qp_num}", flush=True)
    echo.serve(arguments.messages)
    return 0


if __name__ == "__main__":
    sys.exit(main())
