#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Unreliable datagrams through Weft beside plain UDP sockets, in one run.

ib_send_bw -c UD and ib_send_lat -c UD of Debian's perftest, unmodified, two processes on loopback,
against bench/udp_baseline: super-buffers (GSO and GRO) for 4096 bytes, a plain sendto/recv loop for
256 bytes, a spinning ping-pong for latency. Alternatives are interleaved; medians are printed.

usage: ud [--rounds N] [--only bandwidth|stock|latency]
"""
import argparse
import statistics

import perftest_runs
from perftest_runs import baseline, counter

STOCK_BUFFER = 212992
UD = ["-c", "UD"]


def bandwidth(size, iterations, buffer=None):
    """GB/s, and of the numbered datagrams those that never arrived or found no buffer, and all."""
    rate, _, counters = perftest_runs.bandwidth("ib_send_bw", size, [*UD, "-n", iterations], buffer)
    lost = counter(counters, "rx_lost") + counter(counters, "rx_no_receive")
    return rate, lost, counter(counters, "rx_packets")


def latency(size, iterations):
    return perftest_runs.latency("ib_send_lat", size, [*UD, "-n", iterations])


def compare_bandwidth(rounds, buffer, title):
    for size, mode, iterations, goal in ((4096, "gso", 400_000, "at least 0.5"),
                                         (256, "plain", 1_000_000, "at least 4")):
        ours, theirs, lost, received = [], [], 0, 0
        for _ in range(rounds):
            words = ("bw", mode, size, 1) + ((buffer,) if buffer else ())
            theirs.append(baseline(*words)["gb_per_s"])
            rate, missing, got = bandwidth(size, iterations, buffer)
            ours.append(rate)
            lost += missing
            received += got
        ratio = statistics.median(ours) / statistics.median(theirs)
        share = lost / max(1, lost + received)
        print(f"{title} {size} B: weft {statistics.median(ours):.2f} GB/s, udp {mode} "
              f"{statistics.median(theirs):.2f} GB/s, ratio {ratio:.2f} ({goal}), "
              f"lost {lost} of {lost + received} ({share:.4%})")
        print(f"result: {title} {size} B weft / udp {mode} = {ratio:.2f}")
        print(f"result: {title} {size} B weft = {statistics.median(ours):.2f} GB/s")
        print(f"result: {title} {size} B lost = {share:.4%}")


def compare_latency(rounds):
    ours, theirs = [], []
    for _ in range(rounds):
        theirs.append(baseline("lat", 64, 20_000)["round_trip_ns"])
        ours.append(latency(64, 20_000))
    ratio = statistics.median(ours) / statistics.median(theirs)
    print(f"latency 64 B: weft {statistics.median(ours):.0f} ns, udp "
          f"{statistics.median(theirs):.0f} ns round trip, ratio {ratio:.2f} (at most 1.3)")
    print(f"result: latency 64 B weft / udp = {ratio:.2f}")
    print(f"result: latency 64 B weft = {statistics.median(ours):.0f} ns")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", choices=["bandwidth", "stock", "latency"])
    options = parser.parse_args()
    if options.only in (None, "bandwidth"):
        compare_bandwidth(options.rounds, None, "bandwidth")
    if options.only in (None, "stock"):
        compare_bandwidth(options.rounds, STOCK_BUFFER, "bandwidth with stock buffers")
    if options.only in (None, "latency"):
        compare_latency(options.rounds)


if __name__ == "__main__":
    main()
