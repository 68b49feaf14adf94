#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Large labs: OpenSM's sweep of 648 hosts (36-port switches, a fat tree of two levels) beside the
same OpenSM on ibsim, which answers out of tables, with the listing of the same fabric; then what a
lab of 5,832 hosts and 972 switches takes to start, to keep and to leave alone. Both fabrics are new
in each round; medians are printed.

usage: fabric_sweep [--rounds N]
"""
import argparse
import contextlib
import datetime
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import time

import labs
from labs import WEFT

TIME = re.compile(r"^(\w+ \d+ [\d:]+ \d{6}) .*(Entering DISCOVERING state|SUBNET UP)", re.M)
KIB = 1024


def resident_kib(process):
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
    return int(re.search(r"^VmRSS:\s+(\d+)", status, re.M)[1])


@contextlib.contextmanager
def lab(directory, size, links):
    """A fat tree that waits for its subnet manager: its process, how long it took to be there, and
    the memory it has then."""
    file = directory / "lab.toml"
    with file.open("w", encoding="utf-8") as out:
        subprocess.run([WEFT, "lab", "fat-tree", "--size", size], check=True, stdout=out)
    start = time.monotonic()
    with labs.background(WEFT, "up", "--sm", "none", file, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        ready, kib = time.monotonic() - start, resident_kib(process)
        labs.await_links({"Initializing": links})
        yield process, ready, kib


def on_node(*words):
    return [WEFT, "run", "--node", "h1", "--", *words]


@contextlib.contextmanager
def ibsim(listing):
    """Where its clients find it, once it has read the listing."""
    os.environ.update(IBSIM_SOCKNAME=f"weft-bench-{os.getpid()}", SIM_HOST="h1")
    with labs.background("ibsim", "-s", "-N", 2048, "-S", 256, "-P", 16384, listing,
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            if line.startswith("MaxMcastCap"):
                break
        yield process


def sweep_ms(log):
    """From the beginning to the end of the last sweep that OpenSM's log tells of."""
    found = [(datetime.datetime.strptime(when, "%b %d %H:%M:%S %f"), what)
             for when, what in TIME.findall(log.read_text(encoding="utf-8"))]
    if len(found) < 2 or found[-1][1] != "SUBNET UP":
        sys.exit(f"fabric_sweep: OpenSM did not finish its sweep:\n{log.read_text('utf-8')}")
    return (found[-1][0] - found[-2][0]).total_seconds() * 1000


def opensm_once(directory, prefix):
    log = directory / "opensm.log"
    log.unlink(missing_ok=True)
    subprocess.run([*prefix, "opensm", "--once", "-f", log], check=True, timeout=300, **labs.QUIET)
    return sweep_ms(log)


def compare_sweeps(directory, rounds):
    ours, theirs = ([], []), ([], [])
    listing = directory / "listing"
    for _ in range(rounds):
        with lab(directory, "18x36", 1296):
            if not listing.exists():
                with listing.open("w", encoding="utf-8") as out:
                    subprocess.run(on_node("ibnetdiscover"), check=True, stdout=out)
            for times in ours:
                times.append(opensm_once(directory, on_node()))
        with ibsim(listing):
            for times in theirs:
                times.append(opensm_once(directory, ["ibsim-run"]))
    for name, weft, rival in zip(("of a new fabric", "of one that is up"), ours, theirs):
        weft, rival = statistics.median(weft), statistics.median(rival)
        print(f"OpenSM's sweep {name}, 648 hosts: weft {weft:.0f} ms, ibsim {rival:.0f} ms, ratio "
              f"{weft / rival:.2f} (at most 1.5)")
        print(f"result: OpenSM's sweep {name}, 648 hosts, weft / ibsim = {weft / rival:.2f}",
              flush=True)


def cpu_seconds(process):
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)
    user, system = fields[1].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def idle_percent(process, seconds=20):
    before, start = cpu_seconds(process), time.monotonic()
    time.sleep(seconds)
    return 100 * (cpu_seconds(process) - before) / (time.monotonic() - start)


def say(what, value, unit, goal=None):
    print(f"{what}: {value:.2f} {unit}" + (f" (at most {goal})" if goal else ""))
    print(f"result: {what}, {unit} = {value:.2f}", flush=True)


def program_kib(process):
    """What the lab's process has more while a program has a node's adapter open."""
    before = resident_kib(process)
    with labs.background(*on_node("ibv_rc_pingpong", "-p", 18599)) as program:
        counters = labs.state()["counters"]
        while counters["attach_connections"] == counters["attach_connections_ended"]:
            if program.poll() is not None:
                sys.exit("fabric_sweep: ibv_rc_pingpong ended")
            counters = labs.state()["counters"]
        return resident_kib(process) - before


def measure_large(directory):
    with lab(directory, "18x18x18", 17496) as (process, ready, kib):
        say("5832 hosts start in", ready, "s", 10)
        say("5832 hosts resident", kib / KIB ** 2, "GiB", 2)
        say("5832 hosts idle before a subnet manager", idle_percent(process), "% of a CPU", 2)
        log = directory / "opensm.log"
        log.unlink(missing_ok=True)
        options = directory / "opensm.conf"
        options.write_text("force_log_flush TRUE\n", encoding="utf-8")
        with labs.background(*on_node("opensm", "-F", options, "-f", log)):
            while "SUBNET UP" not in (log.read_text(encoding="utf-8") if log.exists() else ""):
                time.sleep(0.5)
            say("5832 hosts swept in", sweep_ms(log) / 1000, "s")
            say("5832 hosts idle under OpenSM", idle_percent(process), "% of a CPU", 2)
        kib = resident_kib(process)
        say("5832 hosts resident after the sweep", kib / KIB ** 2, "GiB", 2)
        say("memory per end port", kib / 5832, "KiB")
        say("memory of a program, in the lab", program_kib(process), "KiB")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    for program, package in (("opensm", "opensm"), ("ibsim", "ibsim-utils"),
                             ("ibnetdiscover", "infiniband-diags")):
        if not shutil.which(program):
            sys.exit(f"fabric_sweep: {program} is missing: apt-get install {package}")
    with labs.directory() as directory:
        compare_sweeps(directory, options.rounds)
        measure_large(directory)


if __name__ == "__main__":
    main()
