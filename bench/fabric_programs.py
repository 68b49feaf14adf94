#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs on the nodes of a lab, through one switch, beside bare shared memory and wire `udp`.

perftest's programs with RC, unmodified, on two nodes under OpenSM; bench/programs/shared_memory: a
ping-pong through a third process, and a ring with a copy in and a copy out; the same programs of
perftest on loopback. Alternatives are interleaved; medians are printed.

usage: fabric_programs [--rounds N]
"""
import argparse
import contextlib
import dataclasses
import json
import os
import pwd
import shutil
import statistics
import subprocess
import sys

import labs
from perftest_runs import HERE, LOOPBACK, WEFT, Path, bandwidth, latency

LAB = """name = "bench"
[switch]
middle = { ports = 4 }
[node]
left = {}
right = {}
[[link]]
ends = ["left", "middle:1"]
[[link]]
ends = ["right", "middle:2"]
"""
OTHER = 65533  # a user who has nothing to do with the lab
SHARED_MEMORY = HERE / "programs" / "shared_memory"


def shared_memory(*words):
    out = subprocess.run([SHARED_MEMORY, *map(str, words)], check=True, capture_output=True,
                         text=True).stdout
    return json.loads(out)


@contextlib.contextmanager
def lab():
    """Its two nodes, once the subnet manager has brought the links up, and its directory."""
    with labs.directory() as directory:
        file = directory / "lab.toml"
        file.write_text(LAB, encoding="utf-8")
        name = f"bench-{os.getpid()}"
        with labs.background(WEFT, "up", "--sm", "none", "--name", name, "--access",
                             "attach=everyone", file):
            labs.await_links({"Initializing": 2})
            with labs.background(WEFT, "run", "--node", "left", "--", "opensm", "-f",
                                 directory / "opensm.log"):
                labs.await_links({"Active": 2})
                yield Path("one switch", nodes=("left", "right"), labs=(name, name)), directory


def report(name, ours, theirs, rival, goal, unit):
    ours, theirs = statistics.median(ours), statistics.median(theirs)
    print(f"{name}: weft {ours:.2f} {unit}, {rival} {theirs:.2f} {unit}, ratio {ours / theirs:.2f} "
          f"({goal})")
    print(f"result: {name}, lab / {rival} = {ours / theirs:.2f}", flush=True)


def compare_latency(path, rounds):
    ours, bare, udp = [], [], []
    for _ in range(rounds):
        bare.append(shared_memory("ping-pong", 8, 20_000)["round_trip_ns"])
        ours.append(latency("ib_send_lat", 8, ["-n", 20_000], path))
        udp.append(latency("ib_send_lat", 8, ["-n", 5_000], LOOPBACK))
    name = "ib_send_lat RC 8 B round trip"
    report(name, ours, bare, "process-switch-process in shared memory", "at most 2", "ns")
    report(name, ours, udp, "wire udp", "below 1", "ns")


def as_other(path, directory):
    """The same with the server another user's; nothing: he cannot be had, or cannot reach Weft."""
    if os.geteuid() != 0:
        return None
    runtime = directory / "other"
    runtime.mkdir(mode=0o700)
    os.chown(runtime, OTHER, OTHER)
    directory.chmod(0o711)
    words = ("setpriv", f"--reuid={OTHER}", f"--regid={OTHER}", "--clear-groups", "env",
             f"XDG_RUNTIME_DIR={runtime}")
    if subprocess.run([*words, "test", "-x", WEFT], check=False).returncode != 0:
        return None
    owner = pwd.getpwuid(os.geteuid()).pw_name
    return dataclasses.replace(path, server=words,
                               labs=(f"{owner}/{path.labs[0]}", path.labs[1]))


def compare_bandwidth_of_users(path, rounds):
    ours, ring = [], []
    for _ in range(rounds):
        ring.append(shared_memory("ring", 65_536, 1)["gb_per_s"])
        ours.append(bandwidth("ib_write_bw", 65_536, ["-n", 10_000], path=path)[0])
    report("ib_write_bw RC 64 KiB between programs of two users", ours, ring,
           "ring with two copies", "at least 0.35", "GB/s")


def compare_bandwidth(path, rounds):
    ours, ring, udp = [], [], []
    for _ in range(rounds):
        ring.append(shared_memory("ring", 65_536, 1)["gb_per_s"])
        ours.append(bandwidth("ib_write_bw", 65_536, ["-n", 20_000], path=path)[0])
        udp.append(bandwidth("ib_write_bw", 65_536, ["-n", 20_000])[0])
    name = "ib_write_bw RC 64 KiB between programs of one user"
    report(name, ours, ring, "ring with two copies", "at least 0.45", "GB/s")
    report(name, ours, udp, "wire udp", "at least 1.1", "GB/s")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if not shutil.which("opensm"):
        sys.exit("fabric_programs: opensm is missing: apt-get install opensm")
    with lab() as (path, directory):
        compare_latency(path, options.rounds)
        compare_bandwidth(path, options.rounds)
        users = as_other(path, directory)
        if users:
            compare_bandwidth_of_users(users, options.rounds)
        else:
            print("between programs of two users: not measured, for that takes root, and a build "
                  "that others can read")


if __name__ == "__main__":
    main()
