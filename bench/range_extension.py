#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs at two sites that range extenders make one fabric, over an emulated WAN.

perftest's programs, unmodified, on a node of each of two labs; `weft wan-emulator` is between their
extenders. A run is `-D`: what comes in before the pipe is full does not count. The rate of the WAN
is modest, since two processors run the emulator, two daemons and two programs: what is measured is
what distance and loss take away, not what a machine can do. That is the last part, which has no
emulator: packets of 2 KiB through a tunnel, beside the same bytes in raw datagrams (GSO), and on
fibres. Where network namespaces can be made, a connection without extenders and a TCP flow cross a
network of the same delay and loss (bench/lossy_link), whose packets are as long as the extenders'
frames.

usage: range_extension [--rate RATE] [--seconds N] [--queue-pairs N] [--only PART] [--plot FILE]
"""
import argparse
import collections
import contextlib
import functools
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

import networks
from perftest_runs import HERE, Path, baseline, perftest, row
from placement import Placement
from sites import Wan, counted, free_ports, remotes, sites

MESSAGE = 8 << 20
FRAME = 65_000  # bytes: of the loopback interface's MTU
TCP_BUFFER = 64 << 20
RAW_BUFFER = 4 << 20  # of a socket of raw datagrams
LANE_BUFFER = 4 << 20  # of each lane
LANE_ROUNDS = 3
QUEUE_PAIRS_SPELL = 5  # times as long as others: messages of 8 MiB over 8 queue pairs
MARGIN = 1  # seconds of perftest's -f: at the beginning, and at the end
# What a range extender and its fabric must not drop: counters of tunnels, of their sockets, and of
# the ports of all nodes (of which the tx_ ones are PortXmitDiscards).
DROPS = {"rx_lost", "rx_overrun", "rx_no_memory", "rx_session_lost", "tx_no_memory", "tx_no_lane",
         "tx_session_lost", "tx_unconfirmed", "udp_overflow", "ip_overflow", "tx_hoq_life",
         "tx_switch_life", "tx_vl_stalled", "tx_mtu", "tx_no_vl", "tx_inactive", "tx_link_lost"}
WAN_DROPS = ("overrun", "queue_full", "no_memory")
troubles = []  # what was dropped, by the measurement


def say(*words):
    print("  $", *words, flush=True)


def measure(path, program, seconds, *options, size=MESSAGE):
    """Bytes a second."""
    words = ["-s", size, "-u", 20, "-D", seconds + 2 * MARGIN, "-f", MARGIN, "--report_gbits",
             *options]
    say(program, *words)
    return float(row(perftest(program, words, path=path)[0], size)[3]) * 1e9 / 8


def depth(wan):
    """Messages that a program lets be under way: more than the product."""
    return max(8, 2 * int(wan.product() / MESSAGE) + 4)


def drops(wan):
    """What there may be none of, as the labs have counted it: packets and datagrams that found no
    room, or nobody to take them. Where the WAN loses nothing, nothing is sent again either."""
    return collections.Counter({name: count for name, count in counted().items() if name in DROPS
                                or (name == "tx_repeated" and wan.told and not wan.loss)})


def wan_drops(wan, report):
    """The same of the emulator, which has said so at its end. Whoever finds out a rate may have
    found a queue's end."""
    report.seek(0)
    ways = json.loads(report.read().splitlines()[-1])
    return collections.Counter({f"{name} in the WAN, {way}": ways[way]["counters"].get(name, 0)
                                for way in ("forward", "backward") for name in WAN_DROPS
                                if wan.told or name != "queue_full"})


def one(wan, seconds, program="ib_write_bw", *options):
    words = " ".join((program, *map(str, options)))
    with tempfile.TemporaryFile("w+", encoding="utf-8") as report:
        with sites(wan, say=say, report=report) as (path, _):
            before = drops(wan)
            rate = measure(path, program, seconds, "-t", depth(wan), *options)
            used = max(remote["buffer_most_bytes"] for remote in remotes())
            lost = drops(wan) - before
        lost += wan_drops(wan, report)
    print(f"{words} over {wan.round_trip * 1e3:g} ms: {rate / 1e6:.1f} MB/s, buffer "
          f"{used / 1e6:.2f} MB of a product of {wan.product() / 1e6:.2f} MB", flush=True)
    if lost:
        where = f"{words} over {wan.round_trip * 1e3:g} ms with {wan.loss:g} of loss"
        troubles.append(f"{where}: " + ", ".join(f"{name} {lost[name]}" for name in sorted(lost)))
        print(f"  DROPPED: {troubles[-1]}", flush=True)
    return rate, used


def claim(name, value, goal):
    print(f"  {value:.3f}, {goal}")
    print(f"result: {name} = {value:.2f}", flush=True)


def draw(rates, wan_rate, picture):
    """The curve, by round trips in milliseconds."""
    data = "\n".join(f"{milliseconds} {rate / 1e6:.1f}" for milliseconds, rate in rates.items())
    script = f"""set terminal svg size 700,350 dynamic background 'white'
set output '{picture}'
$data << EOD
{data}
EOD
set xlabel 'round trip, ms'
set ylabel 'MB/s'
set yrange [0:{wan_rate * 1.2e-6:g}]
set key bottom left
plot {wan_rate * 1e-6:g} with lines dashtype 2 title 'the rate of the WAN', \
     $data with linespoints pointtype 7 linewidth 2 title 'ib\\_write\\_bw between two sites'
"""
    subprocess.run(["gnuplot"], input=script, text=True, check=True)


def distances(rate, seconds, queue_pairs, picture):
    """What is left over a distance, of one queue pair and of many."""
    near, _ = one(Wan(rate, 0), seconds)
    rates = {0: near}
    for milliseconds in (20, 50, 100, 150, 200) if picture else (20, 100, 200):
        wan = Wan(rate, milliseconds / 1e3)
        far, used = one(wan, seconds)
        claim(f"ib_write_bw over {milliseconds} ms / 0 ms", far / near, "at 200 ms at least 0.95")
        rates[milliseconds] = far
    if picture:
        draw(rates, rate, picture)
    claim("bulk buffer used / bandwidth-delay product at 200 ms", used / wan.product(),
          "at most 1.2")
    for program, options in (("ib_write_bw", ("-q", queue_pairs)), ("ib_send_bw", ()),
                             ("ib_read_bw", ("-o", 16)), ("ib_write_bw", ("-b",))):
        # Messages of several queue pairs end together: seldom, and many at once.
        spell = QUEUE_PAIRS_SPELL * seconds if "-q" in options else seconds
        near_too, _ = one(Wan(rate, 0), spell, program, *options)
        far, _ = one(wan, spell, program, *options)
        name = " ".join((program, *map(str, options)))
        claim(f"{name} over 200 ms / 0 ms", far / near_too, "at least 0.95")


@contextlib.contextmanager
def lossy_network(wan):
    """Two hosts, and the address of the first: between them the same rate, delay and loss, and a
    queue of the bandwidth-delay product."""
    hosts = networks.Host("near"), networks.Host("far")
    pids = [str(host.keeper.pid) for host in hosts]
    words = (HERE / "programs" / "lossy_link", *pids, "eth0", str(int(wan.round_trip * 5e5)),
             str(wan.loss), "1")
    link = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        link.stdout.readline()
        for number, host in enumerate(hosts, 1):
            host.run("ip", "address", "add", f"10.89.0.{number}/24", "dev", "eth0")
            host.run("ip", "link", "set", "eth0", "mtu", FRAME, "txqueuelen", 10_000, "up")
            host.run("tc", "qdisc", "add", "dev", "eth0", "root", "tbf", "rate",
                     f"{wan.rate * 8e-6:g}mbit", "burst", 2 * FRAME, "limit", int(wan.product()))
            for direction in ("rmem", "wmem"):
                host.run("sysctl", "-q", f"net.ipv4.tcp_{direction}=4096 131072 {TCP_BUFFER}")
        yield *hosts, "10.89.0.1"
    finally:
        link.terminate()
        link.communicate()
        for host in hosts:
            host.end()


def without_extenders(wan, seconds):
    """Bytes a second of a connection over the wire udp, and of a TCP flow of the kernel."""
    with lossy_network(wan) as (there, here, address):
        path = Path("lossy", "eth0", address, tuple(there.command()), tuple(here.command()))
        plain = measure(path, "ib_write_bw", seconds, "-t", 128, size=1 << 20)
        server = there.start("iperf3", "-s", "-1")
        there.run("sh", "-c", "until ss -tln | grep -q :5201; do sleep 0.05; done")
        out = here.run("iperf3", "-c", address, "-t", seconds, "-O", MARGIN,
                       "-C", "cubic", "-J")
        server.communicate()
    return plain, json.loads(out)["end"]["sum_received"]["bits_per_second"] / 8


def loss(rate, seconds):
    wan = Wan(rate, 0.1, 0.001)
    lossless, _ = one(Wan(rate, 0.1), seconds)
    lossy, _ = one(wan, seconds)
    claim("ib_write_bw over 100 ms with 0.1 % loss / lossless", lossy / lossless, "at least 0.9")
    if os.geteuid() != 0 or shutil.which("iperf3") is None:
        print("what there is without extenders needs root and iperf3: not run")
        return
    plain, tcp = without_extenders(wan, seconds)
    print(f"over 100 ms with 0.1 % loss, without extenders: RC {plain / 1e6:.1f} MB/s, TCP "
          f"{tcp / 1e6:.1f} MB/s")
    for name, theirs in (("RC without extenders", plain), ("TCP (CUBIC)", tcp)):
        claim(f"{name} over 100 ms with 0.1 % loss / ib_write_bw over extenders", theirs / lossy,
              "no goal")


def found_out(rate, seconds):
    """With a rate that the sites find out themselves."""
    for milliseconds in (20, 100):
        told, _ = one(Wan(rate, milliseconds / 1e3), seconds)
        auto, _ = one(Wan(rate, milliseconds / 1e3, told=False), seconds)
        claim(f"ib_write_bw over {milliseconds} ms at a rate that is found out / that is told",
              auto / told, "no goal")


@functools.cache
def placement():
    return Placement()


def through(seconds, fifo, *options):
    """What wan_tunnel prints."""
    words = tuple(map(str, (seconds, fifo, *options)))

    def run():
        say("wan_tunnel", *words)
        return json.loads(subprocess.run((HERE / "programs" / "wan_tunnel", *words),
                                         capture_output=True, text=True, check=True).stdout)
    return placement().near(run)


def both_ways(seconds):
    """At the same time, through a tunnel and on fibres."""
    with tempfile.TemporaryDirectory(prefix="weft-bench-") as directory:
        for name, option in (("a tunnel", None), ("a tunnel, sealed", "sealed"),
                             ("a fibre in shared memory", f"shm:{directory}/memory"),
                             ("a fibre in shared memory, in 64b/66b",
                              f"64b66b+shm:{directory}/blocks"),
                             ("a fibre on a Unix socket", f"unix:{directory}/socket"),
                             ("a fibre on TCP", f"tcp:127.0.0.1:{free_ports(1)[0]}")):
            both = through(seconds, 4 << 20, "both", *([option] if option else []))["gb_per_s"]
            print(f"both ways at the same time, through {name}: {both[0]:.2f} and {both[1]:.2f} "
                  "GB/s, at least 1 each")
            print(f"result: 2 KiB packets each way at once through {name} = {min(both):.2f} GB/s",
                  flush=True)


def raw_rate(seconds, to=0, out_of=0):
    """GB/s of raw datagrams over IPv6, between buffers of so many bytes; 0: between caches."""
    return placement().near(
        lambda: baseline("bw6", "gso", 2048, seconds, RAW_BUFFER, to, out_of)["gb_per_s"])


def lanes(seconds):
    """15 at once beside one, and 14 of them while the other one is blocked at the far side. They
    take turns, for what a machine does changes from second to second."""
    ways = (), ("lanes",), ("lanes", "blocked")
    rates = {options: [] for options in ways}
    for _ in range(LANE_ROUNDS):
        for options in ways:
            rates[options].append(through(seconds, LANE_BUFFER, *options)["lanes_gb_per_s"])
    one, every, rest = ([statistics.median(of_lane) for of_lane in zip(*rates[options])]
                        for options in ways)
    print(f"2 KiB packets one way: on one lane {sum(one):.2f} GB/s, on {len(every)} at once "
          f"{sum(every):.2f}, on {len(rest) - 1} while the first is blocked {sum(rest[1:]):.2f}")
    claim("2 KiB packets one way through a tunnel, on 15 lanes at once / on one",
          sum(every) / sum(one), "at least 0.95")
    claim("the slowest of 14 lanes while the other one is blocked / while it is not",
          min(after / before for after, before in zip(rest[1:], every[1:])), "at least 0.98")
    claim("what crosses on the blocked lane / on the others", rest[0] / sum(rest[1:]), "0")


def machine(seconds):
    """The rate of the tunnel itself, and of what programs see of it."""
    for fifo, options, used, name, goal in (
            (2 << 30, ("half",), 1 << 30, "1 GiB of a FIFO in use", 0.6),
            (4 << 20, (), 4 << 20, "FIFO of 4 MiB", 0.7)):
        raw = raw_rate(seconds, used, used)
        out = through(seconds, fifo, *options)
        rate = out["gb_per_s"][0]
        print(f"2 KiB packets one way: tunnel {rate:.2f} GB/s with at most "
              f"{out['buffer_most_bytes'] / 1e6:.2f} MB in the FIFO, raw GSO UDP/IPv6 between "
              f"buffers of {used >> 20} MiB {raw:.2f} GB/s")
        claim(f"2 KiB packets one way through a tunnel, {name} / raw GSO UDP/IPv6 between buffers "
              "of that size", rate / raw, f"at least {goal}")
        claim("the same / raw into such a buffer, out of the cache", rate / raw_rate(seconds, used),
              "no goal")
        claim("the same / raw between caches", rate / raw_rate(seconds), "no goal")
    sealed = through(seconds, 4 << 20, "sealed")["gb_per_s"][0]
    claim("2 KiB packets one way through a tunnel, sealed / insecure", sealed / rate, "no goal")
    both_ways(seconds)
    if os.geteuid() == 0:
        plain, dccp = (statistics.median(through(seconds, 4 << 20, way)["gb_per_s"][0]
                                         for _ in range(LANE_ROUNDS)) for way in ("ipv4", "dccp"))
        print(f"the same in IPv4 directly: {plain:.2f} GB/s, in DCCP {dccp:.2f} GB/s")
        claim("2 KiB packets one way through a tunnel in DCCP / in IPv4 directly", dccp / plain,
              "no goal")
    with sites(None, 64 << 20) as (path, _):
        ours = measure(path, "ib_write_bw", seconds, "-t", 32, "-m", 2048, size=1 << 20) / 1e9
    print(f"the same between programs, through two labs: {ours:.2f} GB/s")
    claim("2 KiB packets one way between programs at two sites / raw GSO UDP/IPv6", ours / raw,
          "no goal")
    print(placement())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rate", type=float, default=1.0, help="of the WAN, Gbit/s")
    parser.add_argument("--seconds", type=int, default=4, help="of each measurement")
    parser.add_argument("--queue-pairs", type=int, default=8)
    parser.add_argument("--only", choices=("distance", "auto", "loss", "lanes", "machine"))
    parser.add_argument("--plot", metavar="FILE", help="an SVG file for the rate over distances")
    options = parser.parse_args()
    rate = options.rate * 1e9 / 8
    if options.only in (None, "distance"):
        distances(rate, options.seconds, options.queue_pairs, options.plot)
    if options.only in (None, "auto"):
        found_out(rate, options.seconds)
    if options.only in (None, "loss"):
        loss(rate, options.seconds)
    if options.only in (None, "lanes"):
        lanes(options.seconds)
    if options.only in (None, "machine"):
        machine(options.seconds)
    if troubles:
        sys.exit("\n".join(("range_extension: packets were dropped:", *troubles)))


if __name__ == "__main__":
    main()
