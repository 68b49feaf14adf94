#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A stream of numbered messages over a reliable connection, by pyverbs, each byte looked at: what
is lost, comes twice, out of order or changed ends the test. Run it under `weft run --node` with
/usr/bin/python3; the two exchange their addresses by TCP.

    rc_stream.py --listen PORT [OPTIONS]
    rc_stream.py --connect HOST:PORT --seconds N [OPTIONS]
"""

import argparse
import json
import os
import socket
import sys
import time

import pyverbs.enums as e
from pyverbs.addr import AHAttr
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

DEPTH = 32
LAST = (1 << 64) - 1
MTU = e.IBV_MTU_2048
FIRST_PSN = 0x123456


def content(number, size):
    return number.to_bytes(8, "big") * (size // 8)


class Stream:
    def __init__(self, arguments):
        self.size = arguments.size
        self.port = arguments.port
        self.bits = arguments.path_bits
        self.ack_timeout = arguments.ack_timeout
        self.context = Context(name=arguments.device)
        self.domain = PD(self.context)
        self.queue = CQ(self.context, 2 * DEPTH)
        self.region = MR(self.domain, DEPTH * self.size, e.IBV_ACCESS_LOCAL_WRITE)
        capacity = QPCap(max_send_wr=DEPTH, max_recv_wr=DEPTH)
        self.pair = QP(self.domain, QPInitAttr(qp_type=e.IBV_QPT_RC, scq=self.queue,
                                               rcq=self.queue, cap=capacity))
        facts = self.context.query_port(self.port)
        if self.bits >> facts.lmc:
            sys.exit(f"path bits {self.bits}: the port has LMC {facts.lmc}")
        self.lid = facts.lid

    def piece(self, slot):
        return SGE(self.region.buf + slot * self.size, self.size, self.region.lkey)

    def receive_at(self, slot):
        self.pair.post_recv(RecvWR(wr_id=slot, num_sge=1, sg=[self.piece(slot)]))

    def meet(self, peer):
        """To RTS, towards the LID that has our path bits, too."""
        attributes = QPAttr(port_num=self.port)
        self.pair.to_init(attributes)
        for slot in range(DEPTH):
            self.receive_at(slot)
        peer.sendall(json.dumps([self.lid, self.pair.qp_num]).encode() + b"\n")
        lid, number = json.loads(peer.makefile().readline())
        attributes.dest_qp_num = number
        attributes.path_mtu = MTU
        attributes.rq_psn = attributes.sq_psn = FIRST_PSN
        attributes.max_rd_atomic = attributes.max_dest_rd_atomic = 1
        attributes.min_rnr_timer = 1
        attributes.timeout = self.ack_timeout
        attributes.retry_cnt = attributes.rnr_retry = 7
        address = AHAttr(dlid=lid + self.bits, port_num=self.port, is_global=0)
        address.src_path_bits = self.bits
        attributes.ah_attr = address
        self.pair.to_rtr(attributes)
        self.pair.to_rts(attributes)
        print(f"LID {self.lid + self.bits} to LID {lid + self.bits}", flush=True)

    def completions(self):
        while True:
            count, found = self.queue.poll(DEPTH)
            if count > 0:
                break
            os.sched_yield()
        for one in found:
            if one.status != e.IBV_WC_SUCCESS:
                sys.exit(f"a request failed with status {one.status}")
        return found

    def send_for(self, seconds):
        until = time.monotonic() + seconds
        free, number = list(range(DEPTH)), 0
        while time.monotonic() < until:
            while free:
                slot = free.pop()
                self.send(slot, number)
                number += 1
            free += [one.wr_id for one in self.completions()]
        while len(free) < DEPTH:
            free += [one.wr_id for one in self.completions()]
        self.send(0, LAST)
        self.completions()
        print(f"{number} messages sent", flush=True)

    def send(self, slot, number):
        self.region.write(content(number, self.size), self.size, slot * self.size)
        self.pair.post_send(SendWR(wr_id=slot, num_sge=1, sg=[self.piece(slot)],
                                   opcode=e.IBV_WR_SEND, send_flags=e.IBV_SEND_SIGNALED))

    def receive_all(self):
        number = 0
        while True:
            for one in self.completions():
                got = self.region.read(self.size, one.wr_id * self.size)
                if got == content(LAST, self.size):
                    print(f"{number} messages arrived, each once, in order and whole", flush=True)
                    return
                if one.byte_len != self.size or got != content(number, self.size):
                    sys.exit(f"message {number}: {one.byte_len} bytes, {got[:16].hex()}...")
                self.receive_at(one.wr_id)
                number += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--listen", type=int)
    parser.add_argument("--connect")
    parser.add_argument("--host", default="127.0.0.1", help="where to listen")
    parser.add_argument("--ack-timeout", type=int, default=18, help="4.096 us << this; 18: what a "
                        "subnet manager takes to lead around a dead link")
    parser.add_argument("--device", default="weft0")
    parser.add_argument("--port", type=int, default=1, help="of the adapter")
    parser.add_argument("--path-bits", type=int, default=0)
    parser.add_argument("--size", type=int, default=16384, help="of a message, a multiple of 8")
    parser.add_argument("--seconds", type=float, default=1)
    arguments = parser.parse_args()
    stream = Stream(arguments)
    if arguments.listen:
        with socket.create_server((arguments.host, arguments.listen)) as door:
            peer = door.accept()[0]
        stream.meet(peer)
        stream.receive_all()
        peer.recv(1)  # until the other end has its last acknowledgement
    else:
        host, port = arguments.connect.split(":")
        with socket.create_connection((host, int(port))) as peer:
            stream.meet(peer)
            stream.send_for(arguments.seconds)


if __name__ == "__main__":
    main()
