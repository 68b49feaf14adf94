#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a thousand connections between two processes carry together, beside what eight carry.

Two processes on loopback, RDMA writes over RC queue pairs that share a completion queue, as many
writes outstanding in all either way.

usage: connections [--rounds N] [--seconds N]
"""
import argparse
import statistics

from networks import Host, Load, become_network_root, counter, run_flows
from placement import Placement

FEW, MANY = 8, 1000
SIZES = {4_096: 8, 65_536: 4}  # bytes, and writes outstanding on each of many


def rate(queue_pairs, size, depth, seconds):
    host = Host("both")
    try:
        load = Load(seconds, queue_pairs=queue_pairs, size=size, depth=depth, waiting="spin")
        rates, counters, receiver = run_flows(host, [host], "127.0.0.1", load, interface="lo")
    finally:
        host.end()
    print(f"{queue_pairs} queue pairs, {size} B: {rates[0] / 1e6:.0f} MB/s, "
          f"{counter(counters[0], 'tx_retransmitted')} of {counter(counters[0], 'tx_packets')} "
          f"packets sent again, {counter(receiver, 'udp_rx_overflow')} lost by sockets", flush=True)
    return rates[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=4)
    options = parser.parse_args()
    become_network_root()
    placement = Placement()
    for size, depth in SIZES.items():
        few, many = [], []
        for _ in range(options.rounds):
            few.append(placement.near(lambda: rate(FEW, size, 128, options.seconds)))
            many.append(placement.near(lambda: rate(MANY, size, depth, options.seconds)))
        ratio = statistics.median(many) / statistics.median(few)
        print(f"writes of {size} B: {MANY} queue pairs / {FEW} = {ratio:.2f} (at least 0.8)")
        print(f"result: {size} B, {MANY} queue pairs / {FEW} = {ratio:.2f}")
    print(placement)


if __name__ == "__main__":
    main()
