#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Connects with a second process, which then is stopped or killed, and says what the first one is
told of that. Run it under `weft run` with /usr/bin/python3: it needs pyverbs.

  stopped   the second one is stopped for a while: the connection lives on
  idle      killed while nothing is outstanding
  busy      killed, and then there is work for it, with retries that would take half a minute"""

import argparse
import os
import signal
import subprocess
import sys
import time

import pyverbs.enums as e
from pyverbs.addr import AHAttr, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

ACCESS = e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE
LENGTH = 4096
TIMEOUT = 20  # 4.3 s; with its retries 34 s


class End:
    """A queue pair, its memory, and one receive request."""

    def __init__(self, device, gid_index):
        self.gid_index = gid_index
        self.context = Context(name=device)
        self.domain = PD(self.context)
        self.queue = CQ(self.context, 16)
        capacity = QPCap(max_send_wr=4, max_recv_wr=4)
        self.pair = QP(self.domain, QPInitAttr(qp_type=e.IBV_QPT_RC, scq=self.queue,
                                               rcq=self.queue, cap=capacity, sq_sig_all=1))
        self.region = MR(self.domain, LENGTH, ACCESS)

    def name(self):
        return f"{self.pair.qp_num} {self.region.rkey} {self.region.buf}"

    def connect(self, name):
        number, self.remote_key, self.remote_address = (int(word) for word in name.split())
        gid = self.context.query_gid(1, self.gid_index)
        attributes = QPAttr(port_num=1)
        attributes.qp_access_flags = ACCESS
        attributes.ah_attr = AHAttr(gr=GlobalRoute(dgid=gid, sgid_index=self.gid_index,
                                                   hop_limit=64), is_global=1, port_num=1)
        attributes.dest_qp_num = number
        attributes.path_mtu = e.IBV_MTU_1024
        attributes.max_rd_atomic = attributes.max_dest_rd_atomic = 1
        attributes.min_rnr_timer = 12
        attributes.timeout, attributes.retry_cnt, attributes.rnr_retry = TIMEOUT, 7, 7
        self.pair.to_rts(attributes)
        self.pair.post_recv(RecvWR(wr_id=77, num_sge=1,
                                   sg=[SGE(self.region.buf, LENGTH, self.region.lkey)]))

    def write(self):
        request = SendWR(wr_id=1, num_sge=1, sg=[SGE(self.region.buf, 100, self.region.lkey)],
                         opcode=e.IBV_WR_RDMA_WRITE)
        request.set_wr_rdma(self.remote_key, self.remote_address)
        self.pair.post_send(request)

    def completion(self, patience):
        end = time.monotonic() + patience
        while time.monotonic() < end:
            count, found = self.queue.poll(1)
            if count:
                return STATUS.get(found[0].status, f"status {found[0].status}")
        return "nothing"

    def event(self):
        event = self.context.get_async_event()
        event.ack()
        return "fatal" if event.event_type == e.IBV_EVENT_QP_FATAL else str(event.event_type)

    def state(self):
        attributes, _ = self.pair.query(e.IBV_QP_STATE)
        return STATES.get(attributes.qp_state, str(attributes.qp_state))


STATUS = {e.IBV_WC_SUCCESS: "success", e.IBV_WC_RETRY_EXC_ERR: "retries exceeded",
          e.IBV_WC_WR_FLUSH_ERR: "flushed"}
STATES = {e.IBV_QPS_RTS: "ready to send", e.IBV_QPS_ERR: "error"}


def peer(arguments):
    end = End(arguments.device, arguments.gid_index)
    print(end.name(), flush=True)
    end.connect(sys.stdin.readline())
    print("connected", flush=True)
    sys.stdin.readline()  # until the end of the other process, if it comes to that


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["stopped", "idle", "busy", "peer"])
    parser.add_argument("--device", default="weft_lo")
    parser.add_argument("--gid-index", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=5, help="how long to leave it stopped")
    arguments = parser.parse_args()
    if arguments.what == "peer":
        peer(arguments)
        return 0

    other = subprocess.Popen([sys.executable, __file__, "peer", "--device", arguments.device,
                              "--gid-index", str(arguments.gid_index)], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True)
    try:
        end = End(arguments.device, arguments.gid_index)
        end.connect(other.stdout.readline())
        print(end.name(), file=other.stdin, flush=True)
        other.stdout.readline()
        end.write()
        print(f"before: {end.completion(20)}", flush=True)
        if arguments.what == "stopped":
            os.kill(other.pid, signal.SIGSTOP)
            time.sleep(arguments.seconds)
            print(f"state while stopped: {end.state()}", flush=True)
            os.kill(other.pid, signal.SIGCONT)
            end.write()
            print(f"afterwards: {end.completion(20)}", flush=True)
            return 0
        other.kill()
        other.wait()
        killed = time.monotonic()
        if arguments.what == "busy":
            end.write()
            print(f"outstanding: {end.completion(60)}", flush=True)
        else:
            print(f"event: {end.event()}", flush=True)
        print(f"after {time.monotonic() - killed:.1f} s", flush=True)
        print(f"receive: {end.completion(5)}", flush=True)
        print(f"state: {end.state()}", flush=True)
        end.write()
        print(f"posted later: {end.completion(5)}", flush=True)
        return 0
    finally:
        other.kill()


if __name__ == "__main__":
    sys.exit(main())
