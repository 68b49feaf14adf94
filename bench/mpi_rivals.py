#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reliable connections beside what message passing does without an adapter, in one run.

perftest's ib_send_bw and ib_send_lat with RC on Weft, two processes on loopback with a processor
each, against UCX's tag matching over TCP (ucx_perftest) and libfabric's reliable datagrams over UDP
sockets (fi_pingpong, provider udp;ofi_rxd). Alternatives are interleaved; medians are printed.

usage: mpi_rivals [--rounds N]
"""
import argparse
import os
import re
import statistics
import subprocess
import sys
import time

from perftest_runs import bandwidth, latency
from placement import Placement

SIZE = 65_536
_port = 17600 + os.getpid() % 900


def pair(server, client, environment=None):
    """Runs both on a processor each; returns what the client said."""
    environment = {**os.environ, **(environment or {})}
    first = subprocess.Popen(["taskset", "-c", "1", *server], stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE, text=True, env=environment)
    time.sleep(0.5)
    second = subprocess.run(["taskset", "-c", "0", *client], capture_output=True, text=True,
                            timeout=120, env=environment)
    _, errors = first.communicate(timeout=120)
    if second.returncode != 0 or first.returncode != 0:
        sys.exit(f"{client[0]} failed:\n{second.stdout}{second.stderr}{errors}")
    return second.stdout


def next_port():
    global _port
    _port += 1
    return str(_port)


def ucx(test, size, iterations):
    """The last row of ucx_perftest over TCP: median and average in microseconds, MB/s (of 2^20)."""
    command = ["ucx_perftest", "-p", next_port(), "-t", test, "-s", str(size), "-n",
               str(iterations), "-w", "1000"]
    out = pair(command, [*command, "127.0.0.1"], {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "lo"})
    cells = [line for line in out.splitlines() if line.startswith("Final:")][-1].split()
    return {"median_us": float(cells[2]), "gb_per_s": float(cells[5]) * 2**20 / 1e9}


def rxd(size, iterations):
    """GB/s of fi_pingpong: one message under way, half the round trip each."""
    port = next_port()
    command = ["fi_pingpong", "-p", "udp;ofi_rxd", "-e", "rdm", "-I", str(iterations), "-S",
               str(size)]
    out = pair([*command, "-B", port], [*command, "-P", port, "127.0.0.1"])
    found = re.findall(rf"^\S+ +{iterations} .*s +([0-9.]+) +[0-9.]+ +[0-9.]+ *$", out, re.M)
    return float(found[-1]) / 1e3


def compare_bandwidth(rounds, placement):
    ours, tcp, datagrams = [], [], []
    for _ in range(rounds):
        tcp.append(placement.near(lambda: ucx("tag_bw", SIZE, 60_000)["gb_per_s"]))
        datagrams.append(placement.near(lambda: rxd(SIZE, 500)))
        ours.append(placement.near(lambda: bandwidth("ib_send_bw", SIZE, ["-n", 60_000])[0]))
    weft = statistics.median(ours)
    for rival, rates, goal in (("ucx tag_bw over tcp", tcp, 1.3),
                               ("fi_pingpong over udp;ofi_rxd", datagrams, 5)):
        ratio = weft / statistics.median(rates)
        print(f"ib_send_bw RC {SIZE} B: weft {weft:.2f} GB/s, {rival} "
              f"{statistics.median(rates):.3f} GB/s, ratio {ratio:.2f} (at least {goal})")
        print(f"result: ib_send_bw RC {SIZE} B weft / {rival} = {ratio:.2f}")


def compare_latency(rounds, placement):
    ours, theirs = [], []
    for _ in range(rounds):
        theirs.append(placement.near(lambda: ucx("tag_lat", 8, 20_000)["median_us"] * 1e3))
        ours.append(placement.near(lambda: latency("ib_send_lat", 8, ["-n", 20_000]) / 2))
    ratio = statistics.median(ours) / statistics.median(theirs)
    print(f"ib_send_lat RC 8 B: weft {statistics.median(ours):.0f} ns, ucx tag_lat over tcp "
          f"{statistics.median(theirs):.0f} ns one way, ratio {ratio:.2f} (below 1)")
    print(f"result: ib_send_lat RC 8 B weft / ucx tag_lat over tcp = {ratio:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    placement = Placement()
    compare_bandwidth(options.rounds, placement)
    compare_latency(options.rounds, placement)
    print(placement)


if __name__ == "__main__":
    main()
