#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the firewall costs, beside plain forwarding by the same worker, and beside the kernel, which
forwards RoCEv2 of the same sizes from one veth pair to another through as many rules of nftables.

The kernel's time for a packet is what it takes to send it through the router, less what it takes to
send it to a host on the same link: forwarding alone.

usage: firewall [--rounds N] [--seconds N]
"""
import argparse
import json
import pathlib
import shutil
import statistics
import subprocess
import sys

from networks import Host, become_network_root, join

PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"
SIZES = (256, 4096)
RULES = (10, 100, 10_000)
ASKED = ("of connections", "to guessed queue pairs", "refused requests")
MTU = 9000


def nft_rules(count):
    """As the worker has them: none matches but the last."""
    lines = []
    for i in range(count - 1):
        low, high = i % 250 + 1, i // 250
        lines.append((
            f"ip saddr 172.16.{high}.{low} ip daddr 172.17.{high}.{low} accept",
            f"ip saddr 172.18.{high}.{low} udp dport {1 + i} drop",
            f"udp sport {1 + i} @th,64,8 0x0c drop",  # opcode of the BTH
            f"@th,80,16 {2 + i % 1000} ip daddr 172.19.{high}.{low} drop",  # its P_Key
        )[i % 4])
    return "\n".join(["table ip bench {", "chain forward {",
                      "type filter hook forward priority 0; policy drop;",
                      *lines, "udp dport 4791 accept", "}", "}"])


class Router:
    """The kernel between a sender and a host that takes nothing, and the two beside each other."""

    def __init__(self):
        self.sender, self.router, self.host = Host("sender"), Host("router"), Host("host")
        join(self.sender, "s0", "10.9.0.254/16", self.router, "r0", "10.9.0.253/16")
        join(self.router, "r1", "10.8.0.254/24", self.host, "h0", "10.8.0.253/24")
        join(self.sender, "s1", "10.7.0.1/24", self.host, "h1", "10.7.0.2/24")
        for at, names in ((self.sender, ("s0", "s1")), (self.router, ("r0", "r1")),
                          (self.host, ("h0", "h1"))):
            for name in names:
                at.run("ip", "link", "set", name, "mtu", MTU)
        self.host.run("sh", "-c", "echo 0 >/proc/sys/net/ipv4/ip_forward")
        for n in range(1, 11):
            self.router.run("ip", "neighbour", "add", f"10.8.0.{n}", "lladdr",
                            self.mac(self.host, "h0"), "dev", "r1")

    @staticmethod
    def link(host, name):
        return json.loads(host.run("ip", "-s", "-j", "link", "show", "dev", name))[0]

    def mac(self, host, name):
        return self.link(host, name)["address"]

    def arrived(self, name):
        return self.link(self.host, name)["stats64"]["rx"]["packets"]

    def use(self, rules):
        self.router.run("nft", "flush", "ruleset")
        if rules == 0:
            return
        subprocess.run(self.router.command("nft", "-f", "-"), input=nft_rules(rules), check=True,
                       text=True)

    def send(self, out, to, arrives, size, seconds):
        before = self.arrived(arrives)
        load = json.loads(self.sender.run(PROGRAMS / "roce_load", out, to, size, seconds))
        if self.arrived(arrives) - before < 0.99 * load["packets"]:
            sys.exit(f"firewall: of {load['packets']} packets that were sent, "
                     f"{self.arrived(arrives) - before} have arrived")
        return load["ns"]

    def measure(self, size, seconds):
        """Nanoseconds for each packet, by the number of rules; of sending alone."""
        out = {"sending": self.send("s1", self.mac(self.host, "h1"), "h1", size, seconds)}
        for rules in (0, *RULES):
            self.use(rules)
            out[rules] = self.send("s0", self.mac(self.router, "r0"), "h0", size, seconds)
        return out

    def end(self):
        for host in (self.sender, self.router, self.host):
            host.end()


def kernel():
    """A router; None where there is none, which is said."""
    if shutil.which("nft") is None:
        print("the kernel: not run, for there is no nft (script/bootstrap installs it)")
        return None
    router = Router()
    try:
        router.use(10)
    except subprocess.CalledProcessError:
        print("the kernel: not run, for it takes no rules of nftables")
        router.end()
        return None
    return router


def medians(rounds):
    """Of dictionaries, however deep, with the same keys."""
    if isinstance(rounds[0], dict):
        return {key: medians([one[key] for one in rounds]) for key in rounds[0]}
    return statistics.median(rounds)


def claim(name, value, good):
    print(f"result: {name} = {value:.2f}")
    if good is not None:
        print(f"  {'met' if good else 'MISSED'}")


def show_worker(times):
    for size in map(str, SIZES):
        one = times[size]
        print(f"packets of {size} bytes, 1,000 connections: plain {one['plain']:.0f} ns, "
              + ", ".join(f"{rules} rules {one[str(rules)]:.0f} ns" for rules in RULES))
        rate = 1e3 / one["100"]
        claim(f"million packets a second, 100 rules, {size} B", rate,
              rate >= 4 if size == "256" else None)
        share = one["plain"] / one["100"]
        claim(f"rate with 100 rules / plain, {size} B", share,
              share >= (0.8 if size == "256" else 0.9))
        ratio = one["10000"] / one["10"]
        claim(f"time with 10,000 rules / 10 rules, {size} B", ratio, ratio <= 1.2)
    for what in ASKED:
        one = times[what]
        print(f"each packet asked for, {what}: "
              + ", ".join(f"{rules} rules {one[str(rules)]:.0f} ns" for rules in RULES))
        ratio = one["10000"] / one["10"]
        claim(f"asked for each packet, time with 10,000 rules / 10 rules, {what}", ratio,
              ratio <= 1.2)
    tables = times["tables"]
    print(f"10,000 rules: tables of {tables['KiB']} KiB; a packet comes by {tables['tables']} "
          f"tables and {tables['rules']} rules at most")


def show_kernel(size, times, worker):
    sending = times["sending"]
    forwarding = {rules: max(1.0, times[rules] - sending) for rules in (0, *RULES)}
    print(f"the kernel, {size} B: sending {sending:.0f} ns; forwarding alone "
          + ", ".join(f"{rules} rules {forwarding[rules]:.0f} ns" for rules in (0, *RULES)))
    for rules in RULES:
        claim(f"packets a second with {rules:,} rules / those of nftables, {size} B",
              forwarding[rules] / worker[str(rules)], None)
    claim(f"nftables, time with 10,000 rules / 10 rules, {size} B",
          forwarding[10_000] / forwarding[10], None)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.5, help="of each of the kernel's loads")
    options = parser.parse_args()
    become_network_root()
    router = kernel()
    worker, kernels = [], {size: [] for size in SIZES}
    for _ in range(options.rounds):
        out = subprocess.run([PROGRAMS / "firewall_worker"], check=True, capture_output=True,
                             text=True).stdout
        worker.append(json.loads(out))
        for size in SIZES if router else ():
            kernels[size].append(router.measure(size, options.seconds))
    times = medians(worker)
    show_worker(times)
    if router:
        for size in SIZES:
            show_kernel(size, medians(kernels[size]), times[str(size)])
        router.end()


if __name__ == "__main__":
    main()
