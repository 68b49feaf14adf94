#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A datagram queue pair sends numbered messages to another one of the same process, on wire bare:
nothing but they arrives at the receiver's socket, and in order, so the n-th arrival is the n-th
message in every run. Prints a line for each that the program has received, with its content; what
`weft run --fault` has done to them can be read from that. Needs pyverbs (/usr/bin/python3)."""

import sys

import pyverbs.enums as e
from pyverbs.addr import AH, AHAttr, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

AREA = 40       # bytes before a message
LENGTH = 32     # of a numbered message
END = 8         # of one that says that there are no more
MESSAGES = 300
LOT = 10        # sent at a time
QKEY = 0x11111111


def main():
    context = Context(name="weft_lo")
    domain = PD(context)
    queue = CQ(context, 4 * MESSAGES)
    sends = CQ(context, 4 * LOT)
    room = AREA + LENGTH
    memory = MR(domain, 2 * MESSAGES * room + LENGTH, e.IBV_ACCESS_LOCAL_WRITE)
    outgoing = 2 * MESSAGES * room

    def make(capacity):
        attributes = QPAttr(port_num=1)
        attributes.qkey = QKEY
        return QP(domain, QPInitAttr(qp_type=e.IBV_QPT_UD, scq=sends, rcq=queue, cap=capacity,
                                     sq_sig_all=1), attributes)

    # The first socket draws the first numbers.
    receiver = make(QPCap(max_send_wr=1, max_recv_wr=2 * MESSAGES))
    sender = make(QPCap(max_send_wr=LOT, max_recv_wr=1))
    for slot in range(2 * MESSAGES):
        receiver.post_recv(RecvWR(wr_id=slot, num_sge=1,
                                  sg=[SGE(memory.buf + slot * room, room, memory.lkey)]))
    route = GlobalRoute(dgid=context.query_gid(1, 0), sgid_index=0, hop_limit=64)
    handle = AH(domain, attr=AHAttr(gr=route, is_global=1, port_num=1))

    def send(text):
        memory.write(text, len(text), outgoing)
        request = SendWR(num_sge=1, opcode=e.IBV_WR_SEND, send_flags=e.IBV_SEND_SIGNALED,
                         sg=[SGE(memory.buf + outgoing, len(text), memory.lkey)])
        request.set_wr_ud(handle, receiver.qp_num, QKEY)
        sender.post_send(request)
        while True:
            count, found = sends.poll(1)
            if count:
                assert found[0].status == e.IBV_WC_SUCCESS
                return

    def take():
        """Prints what has come; whether the end was among it."""
        while True:
            count, found = queue.poll(1)
            if not count:
                return False
            assert found[0].status == e.IBV_WC_SUCCESS
            length = found[0].byte_len - AREA
            if length == END:
                return True
            print(bytes(memory.read(length, found[0].wr_id * room + AREA)).hex())

    for number in range(MESSAGES):
        send(b"message %-24d" % number)
        if number % LOT == LOT - 1:
            take()
    # It may be lost, too.
    while True:
        send(b"the end.")
        if take():
            return 0


if __name__ == "__main__":
    sys.exit(main())
