#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs at two sites that range extenders make one fabric, over an emulated WAN.

perftest's programs, unmodified, on a node of each of two labs; `weft wan-emulator` is between their
extenders. A run is `-D`: what comes in before the pipe is full does not count. The rate of the WAN
is modest, since two processors run the emulator, two daemons and two programs: what is measured is
what distance and loss take away, not what a machine can do. That is the last part, which has no
emulator: packets of 2 KiB through a tunnel, beside the same bytes in raw datagrams (GSO).

usage: range_extension [--rate RATE] [--seconds N] [--queue-pairs N]
"""
import argparse
import json
import subprocess

from perftest_runs import HERE, baseline, perftest, row
from sites import Wan, counted, remotes, sites

MESSAGE = 8 << 20
MARGIN = 1  # seconds of perftest's -f: at the beginning, and at the end


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


def check_nothing_lost(wan):
    names = ["rx_lost", "tx_no_memory", "rx_no_memory", "tx_session_lost", "rx_session_lost"]
    names += [] if wan.loss else ["tx_repeated"]
    for name in names:
        if counted(name):
            print(f"  {name}: {counted(name)}")


def one(wan, seconds, program="ib_write_bw", *options):
    with sites(wan, say=say) as (path, _):
        rate = measure(path, program, seconds, "-t", depth(wan), *options)
        used = max(remote["buffer_most_bytes"] for remote in remotes())
        check_nothing_lost(wan)
    words = " ".join((program, *map(str, options)))
    print(f"{words} over {wan.round_trip * 1e3:g} ms: {rate / 1e6:.1f} MB/s, buffer "
          f"{used / 1e6:.2f} MB of a product of {wan.product() / 1e6:.2f} MB", flush=True)
    return rate, used


def claim(name, value, goal):
    print(f"  {value:.3f}, {goal}")
    print(f"result: {name} = {value:.2f}", flush=True)


def distances(rate, seconds, queue_pairs):
    """What is left over a distance, of one queue pair and of many."""
    near, _ = one(Wan(rate, 0), seconds)
    at_100 = 0
    for milliseconds in (20, 100, 200):
        wan = Wan(rate, milliseconds / 1e3)
        far, used = one(wan, seconds)
        claim(f"ib_write_bw over {milliseconds} ms / 0 ms", far / near, "at 200 ms at least 0.95")
        if milliseconds == 100:
            at_100 = far
    claim("bulk buffer used / bandwidth-delay product at 200 ms", used / wan.product(),
          "at most 1.2")
    for program, options in (("ib_write_bw", ("-q", queue_pairs)), ("ib_send_bw", ()),
                             ("ib_read_bw", ("-o", 16)), ("ib_write_bw", ("-b",))):
        near_too, _ = one(Wan(rate, 0), seconds, program, *options)
        far, _ = one(wan, seconds, program, *options)
        name = " ".join((program, *map(str, options)))
        claim(f"{name} over 200 ms / 0 ms", far / near_too, "at least 0.95")
    return at_100


def loss(rate, seconds, lossless):
    wan = Wan(rate, 0.1, 0.001)
    lossy, _ = one(wan, seconds)
    claim("ib_write_bw over 100 ms with 0.1 % loss / lossless", lossy / lossless, "at least 0.9")


def machine(seconds):
    """The rate of the tunnel itself, and of what programs see of it."""
    for buffer, name, goal in ((1 << 30, "1 GiB", 0.6), (4 << 20, "4 MiB", 0.7)):
        raw = baseline("bw6", "gso", 2048, seconds)["gb_per_s"]
        words = (HERE / "programs" / "wan_tunnel", str(seconds), str(buffer))
        say(*words[0].parts[-1:], *words[1:])
        out = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
        print(f"2 KiB packets one way: tunnel {out['gb_per_s']:.2f} GB/s with "
              f"{out['buffer_most_bytes'] / 1e6:.2f} MB of a FIFO of {name} in use, raw GSO "
              f"UDP/IPv6 {raw:.2f} GB/s")
        claim(f"2 KiB packets one way through a tunnel, FIFO of {name} / raw GSO UDP/IPv6",
              out["gb_per_s"] / raw, f"at least {goal}")
    with sites(None, 64 << 20) as (path, _):
        ours = measure(path, "ib_write_bw", seconds, "-t", 32, "-m", 2048, size=1 << 20) / 1e9
    print(f"the same between programs, through two labs: {ours:.2f} GB/s")
    claim("2 KiB packets one way between programs at two sites / raw GSO UDP/IPv6", ours / raw,
          "no goal")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rate", type=float, default=1.0, help="of the WAN, Gbit/s")
    parser.add_argument("--seconds", type=int, default=4, help="of each measurement")
    parser.add_argument("--queue-pairs", type=int, default=8)
    options = parser.parse_args()
    rate = options.rate * 1e9 / 8
    lossless = distances(rate, options.seconds, options.queue_pairs)
    loss(rate, options.seconds, lossless)
    machine(options.seconds)


if __name__ == "__main__":
    main()
