#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reliable connections through Weft beside plain UDP sockets, in one run.

perftest's programs with RC, unmodified, two processes on loopback, against bench/udp_baseline:
super-buffers (GSO and GRO) for bandwidth, a plain sendto/recv loop for 256-byte messages, a
spinning ping-pong for latency. Alternatives are interleaved; medians are printed.

usage: rc [--rounds N] [--only bandwidth|small|latency]
"""
import argparse
import json
import statistics
import subprocess

from perftest_runs import HERE, bandwidth, baseline, counter, latency

LARGE = ((65_536, 20_000), (1_048_576, 1_500))


def compare_bandwidth(rounds):
    for mtu in (4096, 2048):
        for size, iterations in LARGE:
            for program in ("ib_write_bw", "ib_send_bw", "ib_read_bw"):
                ours, theirs, again = [], [], 0
                for _ in range(rounds):
                    theirs.append(baseline("bw", "gso", mtu, 1)["gb_per_s"])
                    rate, _, counters = bandwidth(program, size, ["-n", iterations, "-m", mtu])
                    ours.append(rate)
                    again += counter(counters, "tx_retransmitted")
                ratio = statistics.median(ours) / statistics.median(theirs)
                name = f"{program} RC {size} B, MTU {mtu}"
                print(f"{name}: weft {statistics.median(ours):.2f} GB/s, udp gso "
                      f"{statistics.median(theirs):.2f} GB/s, ratio {ratio:.2f} (at least 0.65), "
                      f"{again} packets sent again")
                print(f"result: {name} weft / udp gso = {ratio:.2f}")


def compare_small(rounds):
    ours, theirs = [], []
    for _ in range(rounds):
        theirs.append(baseline("bw", "plain", 256, 1)["messages_per_s"] / 1e6)
        ours.append(bandwidth("ib_send_bw", 256, ["-n", 1_000_000])[1])
    ratio = statistics.median(ours) / statistics.median(theirs)
    print(f"ib_send_bw RC 256 B: weft {statistics.median(ours):.2f} million/s, udp plain "
          f"{statistics.median(theirs):.2f} million/s, ratio {ratio:.2f} (at least 5)")
    print(f"result: ib_send_bw RC 256 B weft / udp plain = {ratio:.2f}")


def memory_latency():
    """A second thread copies into the memory that the first one spins on, as RDMA writes do."""
    out = subprocess.run([HERE / "udp_memory_latency", "8", "5000"], check=True,
                         capture_output=True, text=True).stdout
    return json.loads(out.splitlines()[0])["round_trip_ns"]


def compare_latency(rounds):
    rivals = {"ib_send_lat": lambda: baseline("lat", 8, 20_000)["round_trip_ns"],
              "ib_write_lat": memory_latency}
    for program, rival in rivals.items():
        ours, theirs = [], []
        for _ in range(rounds):
            theirs.append(rival())
            ours.append(latency(program, 8, ["-n", 5_000]))
        ratio = statistics.median(ours) / statistics.median(theirs)
        print(f"{program} RC 8 B: weft {statistics.median(ours):.0f} ns, udp "
              f"{statistics.median(theirs):.0f} ns round trip, ratio {ratio:.2f} (at most 1.5)")
        print(f"result: {program} RC 8 B weft / udp = {ratio:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=["bandwidth", "small", "latency"])
    options = parser.parse_args()
    if options.only in (None, "bandwidth"):
        compare_bandwidth(options.rounds)
    if options.only in (None, "small"):
        compare_small(options.rounds)
    if options.only in (None, "latency"):
        compare_latency(options.rounds)


if __name__ == "__main__":
    main()
