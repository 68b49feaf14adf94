#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sends datagrams with a GRH to whomever, by pyverbs. Run it under `weft run` with
/usr/bin/python3."""

import argparse
import ipaddress
import socket

import pyverbs.enums as e
from pyverbs.addr import AH, GID, AHAttr, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, SendWR


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("dgid")
    parser.add_argument("dlid", type=int)
    parser.add_argument("hops", type=int)
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--pkey", type=lambda text: int(text, 0), help="the port's first one else")
    arguments = parser.parse_args()
    context = Context(name="weft0")
    domain = PD(context)
    queue = CQ(context, 16)
    region = MR(domain, 64, e.IBV_ACCESS_LOCAL_WRITE)
    attributes = QPAttr(port_num=1)
    attributes.qkey = 0x11111111
    if arguments.pkey is not None:
        pkeys = [context.query_pkey(1, i) for i in range(context.query_port(1).pkey_tbl_len)]
        attributes.pkey_index = next(
            i for i, pkey in enumerate(pkeys) if socket.ntohs(pkey & 0xFFFF) == arguments.pkey)
    pair = QP(domain, QPInitAttr(qp_type=e.IBV_QPT_UD, scq=queue, rcq=queue, cap=QPCap()),
              attributes)
    dgid = GID(ipaddress.IPv6Address(arguments.dgid).exploded)
    route = GlobalRoute(dgid=dgid, sgid_index=0, hop_limit=arguments.hops)
    handle = AH(domain, attr=AHAttr(dlid=arguments.dlid, port_num=1, is_global=1, gr=route))
    for _ in range(arguments.count):
        work = SendWR(num_sge=1, sg=[SGE(region.buf, 64, region.lkey)],
                      opcode=e.IBV_WR_SEND, send_flags=e.IBV_SEND_SIGNALED)
        work.set_wr_ud(handle, 0x123456, 0x11111111)
        pair.post_send(work)
        done = []
        while not done:
            _, done = queue.poll(1)
        assert done[0].status == e.IBV_WC_SUCCESS, done[0]
    print(f"sent {arguments.count}")


main()
