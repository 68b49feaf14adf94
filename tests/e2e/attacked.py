#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One connection by rdma_cm, of which both ends say their queue pair's number. Run it under `weft
run` with /usr/bin/python3.

usage: attacked.py listen ADDRESS PORT: says what the messages are that come
       attacked.py connect ADDRESS PORT FILE: sends what FILE has, once it is there
"""
import pathlib
import sys
import time

from pyverbs import cm_enums
from pyverbs.cmid import CMID, AddrInfo
from pyverbs.qp import QPCap, QPInitAttr

SIZE = 64


def listen(address, port):
    listener = CMID(creator=AddrInfo(src=address, src_service=port,
                                     port_space=cm_enums.RDMA_PS_TCP, flags=cm_enums.RAI_PASSIVE),
                    qp_init_attr=QPInitAttr(cap=QPCap(max_recv_wr=4)))
    listener.listen()
    connection = listener.get_request()
    regions = [connection.reg_msgs(SIZE) for _ in range(4)]
    for region in regions:
        connection.post_recv(region)
    connection.accept()
    print("queue pair", connection.qpn, flush=True)
    for region in regions:
        done = connection.get_recv_comp()
        if done.status:
            return print("the connection has ended", flush=True)
        print("got", region.read(done.byte_len, 0).rstrip(b"\0").decode(), flush=True)
    return None


def connect(address, port, file):
    connection = CMID(creator=AddrInfo(dst=address, dst_service=port,
                                       port_space=cm_enums.RDMA_PS_TCP),
                      qp_init_attr=QPInitAttr(cap=QPCap(max_recv_wr=4)))
    region = connection.reg_msgs(SIZE)
    connection.connect()
    print("queue pair", connection.qpn, flush=True)
    path = pathlib.Path(file)
    while not path.exists():
        time.sleep(0.05)
    message = path.read_bytes()
    region.write(message.ljust(SIZE, b"\0"), SIZE)
    connection.post_send(region)
    if connection.get_send_comp().status:
        sys.exit("the connection has ended")
    print("sent", flush=True)


{"listen": listen, "connect": connect}[sys.argv[1]](*sys.argv[2:])
