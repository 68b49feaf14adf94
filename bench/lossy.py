#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What random loss leaves of a connection's rate at a round trip of 10 ms.

Two network namespaces with bench/lossy_link between them, a process that hands every IP packet on
after 5 ms or, by chance, not at all; RDMA writes of 64 KiB over one RC queue pair. The same program
and the same link, without loss, are what it is measured by.

usage: lossy [--rounds N] [--seconds N]
"""
import argparse
import statistics
import subprocess

from networks import HERE, Host, Load, become_network_root, counter, run_flows

LOSSES = {0.001: 0.9, 0.01: 0.7}  # and what is to be left
DELAY_US = 5_000                  # one way
MTU = 4_500                       # takes a path MTU of 4096


def rate(loss, seconds, seed):
    here, there = Host("here"), Host("there")
    ends = [str(host.keeper.pid) for host in (here, there)]
    link = subprocess.Popen([HERE / "programs" / "lossy_link", *ends, "eth0", str(DELAY_US),
                             str(loss), str(seed)], stdout=subprocess.PIPE, text=True)
    try:
        link.stdout.readline()
        for host, address in ((here, "10.89.0.1/24"), (there, "10.89.0.2/24")):
            host.run("ip", "address", "add", address, "dev", "eth0")
            host.run("ip", "link", "set", "eth0", "mtu", MTU, "txqueuelen", 10_000, "up")
        load = Load(seconds, depth=64, warm_up=2)
        rates, counters, _ = run_flows(there, [here], "10.89.0.2", load)
    finally:
        link.terminate()
        report, _ = link.communicate()
        for host in (here, there):
            host.end()
    again = counter(counters[0], "tx_retransmitted")
    print(f"loss {loss:.1%}: {rates[0] / 1e6:.1f} MB/s, {again} of "
          f"{counter(counters[0], 'tx_packets')} packets sent again; the link: "
          f"{'; '.join(report.splitlines())}", flush=True)
    return rates[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=5)
    options = parser.parse_args()
    become_network_root()
    kept = {loss: [] for loss in LOSSES}
    for seed in range(1, options.rounds + 1):
        lossless = rate(0, options.seconds, seed)
        for loss, ratios in kept.items():
            ratios.append(rate(loss, options.seconds, seed) / lossless)
    for loss, goal in LOSSES.items():
        ratio = statistics.median(kept[loss])
        print(f"of the lossless rate {ratio:.2f} is left under {loss:.1%} loss (at least {goal})")
        print(f"result: kept under {loss:.1%} loss at 10 ms = {ratio:.2f}")


if __name__ == "__main__":
    main()
