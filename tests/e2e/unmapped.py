#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program unmaps memory that it has registered, without deregistering it, or makes it read-only,
and then it or its peer works on that: the work ends in error, and the program lives on. Two
connected queue pairs in one process. Run it under `weft run` with /usr/bin/python3: it needs
pyverbs. Prints a line for each case."""

import argparse
import ctypes
import mmap
import sys
import time

import pyverbs.enums as e
from pyverbs.addr import AHAttr, GlobalRoute
from pyverbs.cq import CQ, CompChannel
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, SendWR

ACCESS = (e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE | e.IBV_ACCESS_REMOTE_READ |
          e.IBV_ACCESS_REMOTE_ATOMIC)
LENGTH = 64 * 1024   # too little for an arena or a stack of this process to take its place
PATIENCE = 20   # seconds

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int,
                      ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


class Mapping:
    """Fresh memory, registered."""

    def __init__(self, domain):
        self.buf = map_memory()
        self.region = MR(domain, LENGTH, ACCESS, address=self.buf)
        self.lkey, self.rkey = self.region.lkey, self.region.rkey

    def unmap(self):
        if libc.munmap(self.buf, LENGTH) != 0:
            raise OSError(ctypes.get_errno(), "munmap")

    def protect(self):
        if libc.mprotect(self.buf, LENGTH, mmap.PROT_READ) != 0:
            raise OSError(ctypes.get_errno(), "mprotect")

    def first(self):
        return ctypes.c_uint64.from_address(self.buf).value


def map_memory():
    address = libc.mmap(None, LENGTH, mmap.PROT_READ | mmap.PROT_WRITE,
                        mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    if address == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), "mmap")
    return address


class Pair:
    """Two queue pairs that are connected with each other. With `sleeps` the program waits for
    completions in the kernel, so that the work is done by a thread of the library."""

    def __init__(self, context, domain, gid_index, sleeps=False):
        self.channel = CompChannel(context) if sleeps else None
        self.queue = CQ(context, 16, None, self.channel)
        capacity = QPCap(max_send_wr=4, max_recv_wr=4)
        self.ends = [QP(domain, QPInitAttr(qp_type=e.IBV_QPT_RC, scq=self.queue, rcq=self.queue,
                                           cap=capacity, sq_sig_all=1)) for _ in range(2)]
        gid = context.query_gid(1, gid_index)
        for end, other in zip(self.ends, reversed(self.ends)):
            route = GlobalRoute(dgid=gid, sgid_index=gid_index, hop_limit=64)
            attributes = QPAttr(port_num=1)
            attributes.qp_access_flags = ACCESS
            attributes.ah_attr = AHAttr(gr=route, is_global=1, port_num=1)
            attributes.dest_qp_num = other.qp_num
            attributes.path_mtu = e.IBV_MTU_1024
            attributes.max_rd_atomic = attributes.max_dest_rd_atomic = 4
            attributes.min_rnr_timer = 12
            attributes.timeout, attributes.retry_cnt, attributes.rnr_retry = 14, 7, 7
            end.to_rts(attributes)

    def work(self, opcode, local, remote, length):
        """Has the first queue pair do one piece of work (atomics: add 1, or put 5 in the place of
        1); returns its completion's status."""
        request = SendWR(num_sge=1, sg=[SGE(local.buf, length, local.lkey)], opcode=opcode)
        if opcode in (e.IBV_WR_ATOMIC_FETCH_AND_ADD, e.IBV_WR_ATOMIC_CMP_AND_SWP):
            request.set_wr_atomic(remote.rkey, remote.buf, 1, 5)
        else:
            request.set_wr_rdma(remote.rkey, remote.buf)
        if self.channel:
            self.queue.req_notify()
        self.ends[0].post_send(request)
        if self.channel:
            self.channel.get_cq_event(self.queue)
            self.queue.ack_events(1)
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            count, found = self.queue.poll(1)
            if count:
                return found[0].status
        raise RuntimeError("no completion")


NAMES = {e.IBV_WC_SUCCESS: "success", e.IBV_WC_REM_ACCESS_ERR: "remote access error",
         e.IBV_WC_LOC_PROT_ERR: "local protection error",
         e.IBV_WC_LOC_ACCESS_ERR: "local access error"}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="weft_lo")
    parser.add_argument("--gid-index", type=int, default=0)
    arguments = parser.parse_args()
    context = Context(name=arguments.device)
    domain = PD(context)
    steady = MR(domain, LENGTH, ACCESS)

    def name(status):
        return NAMES.get(status, f"status {status}")

    def case(title, opcode, length, peers, sleeps=False):
        """Once while the memory is there, once when it is not."""
        pair, memory = Pair(context, domain, arguments.gid_index, sleeps), Mapping(domain)
        local, remote = (steady, memory) if peers else (memory, steady)
        before = pair.work(opcode, local, remote, length)
        memory.unmap()
        after = pair.work(opcode, local, remote, length)
        print(f"{title}: {name(before)}, unmapped: {name(after)}", flush=True)

    def protected(title, opcode, length):
        """What the peer may not write to any more, though the region says so."""
        pair, memory = Pair(context, domain, arguments.gid_index), Mapping(domain)
        before = pair.work(opcode, steady, memory, length), memory.first()
        memory.protect()
        after = pair.work(opcode, steady, memory, length), memory.first()
        print(f"{title}: {name(before[0])} {before[1]}, read-only: {name(after[0])} {after[1]}",
              flush=True)

    case("write to the peer's", e.IBV_WR_RDMA_WRITE, LENGTH, True)
    case("read of the peer's", e.IBV_WR_RDMA_READ, LENGTH, True)
    case("atomic on the peer's", e.IBV_WR_ATOMIC_FETCH_AND_ADD, 8, True)
    case("write from its own", e.IBV_WR_RDMA_WRITE, LENGTH, False)
    case("read to its own", e.IBV_WR_RDMA_READ, LENGTH, False)

    case("asleep: write to the peer's", e.IBV_WR_RDMA_WRITE, LENGTH, True, True)
    case("asleep: read of the peer's", e.IBV_WR_RDMA_READ, LENGTH, True, True)
    case("asleep: atomic on the peer's", e.IBV_WR_ATOMIC_FETCH_AND_ADD, 8, True, True)
    case("asleep: write from its own", e.IBV_WR_RDMA_WRITE, LENGTH, False, True)
    case("asleep: read to its own", e.IBV_WR_RDMA_READ, LENGTH, False, True)

    protected("write", e.IBV_WR_RDMA_WRITE, LENGTH)
    protected("add", e.IBV_WR_ATOMIC_FETCH_AND_ADD, 8)
    protected("swap", e.IBV_WR_ATOMIC_CMP_AND_SWP, 8)

    other = MR(domain, LENGTH, ACCESS)
    steady.write(b"still here", 10)
    status = Pair(context, domain, arguments.gid_index).work(e.IBV_WR_RDMA_WRITE, steady, other, 10)
    print(f"afterwards: {name(status)}, {bytes(other.read(10, 0)).decode()}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
