#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reliable connections through Weft beside plain UDP sockets, in one run.

perftest's programs with RC, unmodified, two processes on loopback, and for bandwidth also in two
network namespaces (as root; else the output says so), against bench/udp_baseline: super-buffers
(GSO and GRO) for bandwidth and CPU time, a plain sendto/recv loop for 256-byte messages, a spinning
ping-pong for latency. Alternatives are interleaved; medians are printed.

usage: rc [--rounds N] [--only loopback|veth|small|latency]
"""
import argparse
import json
import statistics
import subprocess

from placement import Placement
from perftest_runs import (HERE, LOOPBACK, bandwidth, baseline, baseline_bandwidth, counter,
                           cpu_per_gb, latency, veth)

LARGE = ((65_536, 60_000), (1_048_576, 4_000))  # a second, as long as plain sockets have
CPU_BYTES = 4e9  # so many are sent to measure what a byte costs


def compare_bandwidth(path, rounds, placement):
    for mtu in (4096, 2048):
        for size, iterations in LARGE:
            for program in ("ib_write_bw", "ib_send_bw", "ib_read_bw"):
                compare_one(path, rounds, placement, mtu, size, iterations, program)


def compare_one(path, rounds, placement, mtu, size, iterations, program):
    """Rate and CPU time of one program, beside those of plain sockets in the same minute."""
    ours, theirs, our_cpu, their_cpu, again = [], [], [], [], 0
    for _ in range(rounds):
        rate, cpu = placement.near(lambda: baseline_bandwidth(path, mtu, 1))
        theirs.append(rate)
        their_cpu.append(cpu)
        rate, _, counters = placement.near(
            lambda: bandwidth(program, size, ["-n", iterations, "-m", mtu], path=path))
        ours.append(rate)
        again += counter(counters, "tx_retransmitted")
        our_cpu.append(placement.near(
            lambda: cpu_per_gb(program, size, int(CPU_BYTES / size), ["-m", mtu], path)))
    ratio = statistics.median(ours) / statistics.median(theirs)
    cost = statistics.median(our_cpu) / statistics.median(their_cpu)
    name = f"{program} RC {size} B, MTU {mtu}, {path.name}"
    print(f"{name}: weft {statistics.median(ours):.2f} GB/s, udp gso "
          f"{statistics.median(theirs):.2f} GB/s, ratio {ratio:.2f} (at least 0.65); CPU s/GB weft "
          f"{statistics.median(our_cpu):.3f}, udp gso {statistics.median(their_cpu):.3f}, ratio "
          f"{cost:.2f} (at most 1.6); {again} packets sent again")
    print(f"result: {name} weft / udp gso = {ratio:.2f}")
    print(f"result: {name} CPU per byte weft / udp gso = {cost:.2f}", flush=True)


def compare_small(rounds, placement):
    ours, theirs = [], []
    for _ in range(rounds):
        theirs.append(placement.near(
            lambda: baseline("bw", "plain", 256, 1)["messages_per_s"] / 1e6))
        ours.append(placement.near(lambda: bandwidth("ib_send_bw", 256, ["-n", 1_000_000])[1]))
    ratio = statistics.median(ours) / statistics.median(theirs)
    print(f"ib_send_bw RC 256 B: weft {statistics.median(ours):.2f} million/s, udp plain "
          f"{statistics.median(theirs):.2f} million/s, ratio {ratio:.2f} (at least 5)")
    print(f"result: ib_send_bw RC 256 B weft / udp plain = {ratio:.2f}")


def memory_latency():
    """A second thread copies into the memory that the first one spins on, as RDMA writes do."""
    out = subprocess.run([HERE / "udp_memory_latency", "8", "5000"], check=True,
                         capture_output=True, text=True).stdout
    return json.loads(out.splitlines()[0])["round_trip_ns"]


def compare_latency(rounds, placement):
    rivals = {"ib_send_lat": lambda: baseline("lat", 8, 20_000)["round_trip_ns"],
              "ib_write_lat": memory_latency}
    for program, rival in rivals.items():
        ours, theirs = [], []
        for _ in range(rounds):
            theirs.append(placement.near(rival))
            ours.append(placement.near(lambda: latency(program, 8, ["-n", 5_000])))
        ratio = statistics.median(ours) / statistics.median(theirs)
        print(f"{program} RC 8 B: weft {statistics.median(ours):.0f} ns, udp "
              f"{statistics.median(theirs):.0f} ns round trip, ratio {ratio:.2f} (at most 1.5)")
        print(f"result: {program} RC 8 B weft / udp = {ratio:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=["loopback", "veth", "small", "latency"])
    options = parser.parse_args()
    placement = Placement()
    if options.only in (None, "loopback"):
        compare_bandwidth(LOOPBACK, options.rounds, placement)
    if options.only in (None, "veth"):
        with veth() as path:
            if path:
                compare_bandwidth(path, options.rounds, placement)
            else:
                print("veth: not measured, for no network namespaces can be made here")
    if options.only in (None, "small"):
        compare_small(options.rounds, placement)
    if options.only in (None, "latency"):
        compare_latency(options.rounds, placement)
    print(placement)


if __name__ == "__main__":
    main()
