#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Unreliable datagrams through Weft beside plain UDP sockets, in one run.

ib_send_bw -c UD and ib_send_lat -c UD of Debian's perftest, unmodified, two processes on loopback,
against bench/udp_baseline: super-buffers (GSO and GRO) for 4096 bytes, a plain sendto/recv loop for
256 bytes, a spinning ping-pong for latency. Alternatives are interleaved; medians are printed.

usage: ud [--rounds N] [--only bandwidth|stock|latency]
"""
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
WEFT = HERE.parent / "bin" / "weft"
BASELINE = HERE / "udp_baseline"
STOCK_BUFFER = 212992
_port = 18600 + os.getpid() % 1000


def baseline(*words):
    out = subprocess.run([BASELINE, *map(str, words)], check=True, capture_output=True, text=True)
    return json.loads(out.stdout)


def lost_by(stats):
    """Numbered datagrams that never arrived or found no buffer, and all that were received."""
    names = {"rx_lost": 0, "rx_no_receive": 0, "rx_packets": 0}
    for line in stats.splitlines():
        found = re.match(r"\s+(\w+)\s+(\d+)\s+#", line)
        if found and found.group(1) in names:
            names[found.group(1)] += int(found.group(2))
    return names["rx_lost"] + names["rx_no_receive"], names["rx_packets"]


def perftest(program, options, buffer=None):
    """Runs server and client on a CPU each; returns the client's output, the server's counters."""
    global _port
    _port += 1
    run = [str(WEFT), "run", "--interface", "lo", "--stats"]
    if buffer:
        run += ["--socket-buffer", str(buffer)]
    command = [*run, "--", program, "-c", "UD", "-x", "0", "-p", str(_port), *options]
    server = subprocess.Popen(["taskset", "-c", "1", *command], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
    time.sleep(0.5)
    client = subprocess.run(["taskset", "-c", "0", *command, "127.0.0.1"], capture_output=True,
                            text=True, timeout=120)
    _, server_errors = server.communicate(timeout=120)
    if client.returncode != 0 or server.returncode != 0:
        sys.exit(f"{program} failed:\n{client.stdout}{client.stderr}{server_errors}")
    return client.stdout, server_errors


def bandwidth(size, iterations, buffer=None):
    out, errors = perftest("ib_send_bw", ["-s", str(size), "-n", str(iterations), "-F",
                                          "--report_gbits"], buffer)
    row = [line.split() for line in out.splitlines() if re.match(rf"\s*{size}\s", line)][-1]
    lost, received = lost_by(errors)
    return float(row[3]) / 8, lost, received


def latency(size, iterations):
    out, _ = perftest("ib_send_lat", ["-s", str(size), "-n", str(iterations), "-F"])
    row = [line.split() for line in out.splitlines() if re.match(rf"\s*{size}\s", line)][-1]
    return float(row[4]) * 2000  # typical one-way microseconds to round-trip nanoseconds


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
