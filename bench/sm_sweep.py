#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long a new lab takes until all its ports are Active: its own subnet manager beside OpenSM
with the corresponding engine on the same lab, fat trees of 648 and of 5,832 hosts. Weft's time
counts from `weft up` on, with the start of the lab; OpenSM's from the start of the program on a lab
that waits for it. Medians of the rounds. And the peak memory of both as programs on a node that set
the lab up once: `weft sm run --once` and `opensm --once`.

usage: sm_sweep [--rounds N] [--large]     --large: 5,832 hosts too, and Weft alone with 11,664
"""
import argparse
import pathlib
import re
import statistics
import subprocess
import sys
import time

import labs
from labs import WEFT

# Weft's engine, and OpenSM's that are for the same; how much of their time it may take.
ENGINES = [("minhop", ["minhop"], 0.5), ("ftree", ["ftree"], 0.5),
           ("layered", ["lash", "dfsssp", "nue"], 0.25)]
SMALL = ("18x36", 648, 1.0)
LARGE = ("18x18x18", 5832, None)
LARGEST = ("18x18x36", 11664)
PATIENCE = 180  # s with a manager, of which some engines take hours for the large trees


def lab_file(directory, size, engine):
    text = subprocess.run([WEFT, "lab", "fat-tree", "--size", size], check=True,
                          capture_output=True, text=True).stdout
    file = directory / "lab.toml"
    file.write_text(f'sm = {{ engine = "{engine}", database = "none" }}\n{text}', encoding="utf-8")
    return file


def peak_mib(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    found = re.search(r"^VmHWM:\s+(\d+)", status, re.M)  # one that has just ended has none
    return int(found[1]) / 1024 if found else 0


def await_sweep(process):
    for _ in range(60_000):
        said = subprocess.run([WEFT, "sm", "--json"], capture_output=True, text=True, check=False)
        if said.returncode == 0 and '"sweeps": 0' not in said.stdout:
            if '"failures": 0' not in said.stdout:
                sys.exit(f"sm_sweep: not all could be written:\n{said.stdout}")
            return
        if process.poll() is not None:
            sys.exit("sm_sweep: the lab has ended")
        time.sleep(0.005)
    sys.exit("sm_sweep: no sweep ends")


def weft_once(file):
    start = time.monotonic()
    with labs.background(WEFT, "up", file) as process:
        await_sweep(process)
        return time.monotonic() - start, peak_mib(process.pid)


def manager_once(file, *command):
    """Seconds and MiB of a manager that ends when a lab without one is set up, and how it ended;
    nothing: it had not after PATIENCE."""
    with labs.background(WEFT, "up", "--sm", "none", file, stdout=subprocess.PIPE) as lab:
        lab.stdout.readline()
        start = time.monotonic()
        with labs.background(*command) as process:
            mib = 0
            while process.poll() is None and time.monotonic() - start < PATIENCE:
                mib = max(mib, peak_mib(process.pid))
                time.sleep(0.01)
            took, code = time.monotonic() - start, process.poll()
            if code is None:
                process.kill()  # it listens to nothing while it computes
            return took, mib, code


def manager_mib(file, engine):
    _, mib, code = manager_once(file, WEFT, "sm", "run", "--node", first_node(file), "--engine",
                                engine, "--database", "none", "--once")
    if code != 0:
        sys.exit(f"sm_sweep: weft sm run --once ended with {code}")
    return mib


def opensm_once(directory, file, engine):
    """As manager_once; nothing: this OpenSM does not have the engine, or it gave up."""
    log = directory / "opensm.log"
    log.unlink(missing_ok=True)
    took, mib, code = manager_once(file, WEFT, "run", "--node", first_node(file), "--", "opensm",
                                "--once", "-R", engine, "-f", log)
    text = log.read_text(encoding="utf-8")
    is_up = "SUBNET UP" in text and is_engine(text, engine)
    return (took, mib, code) if is_up or code is None else None


def is_engine(log, engine):
    return engine == "minhop" or f"{engine} tables configured on all switches" in log


def first_node(file):
    return re.search(r"^\[node\]\n(\S+) =", file.read_text(encoding="utf-8"), re.M)[1]


def weft_alone(file, hosts, engine, rounds):
    runs = [weft_once(file) for _ in range(rounds)]
    seconds = statistics.median(took for took, _ in runs)
    mib = manager_mib(file, engine)
    with_fabric = max(mib for _, mib in runs)
    print(f"{hosts} hosts, {engine}: {seconds:.2f} s, {with_fabric:.0f} MiB with the fabric; the "
          f"manager alone {mib:.0f} MiB", flush=True)
    return seconds, mib


def compare(directory, size, hosts, goal, rounds):
    for engine, theirs, share in ENGINES:
        file = lab_file(directory, size, engine)
        seconds, mib = weft_alone(file, hosts, engine, rounds)
        for rival in theirs:
            runs = [opensm_once(directory, file, rival) for _ in range(rounds)]
            if None in runs:
                print(f"  OpenSM has no {rival} here", flush=True)
                continue
            other = statistics.median(took for took, _, _ in runs)
            other_mib = max(mib for _, mib, _ in runs)
            ended = "" if all(code is not None for _, _, code in runs) else " and more"
            print(f"  OpenSM {rival}: {other:.2f} s{ended}, {other_mib:.0f} MiB; ratio "
                  f"{seconds / other:.3f} (at most {goal or share}), memory {mib / other_mib:.2f} "
                  "(at most 1)")
            print(f"result: {hosts} hosts, {engine} / OpenSM's {rival} = {seconds / other:.3f}")
            print(f"result: {hosts} hosts, memory of {engine} / OpenSM's {rival} = "
                  f"{mib / other_mib:.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--large", action="store_true")
    options = parser.parse_args()
    with labs.directory() as directory:
        compare(directory, *SMALL, options.rounds)
        if options.large:
            compare(directory, *LARGE, 1)
            for engine, _, _ in ENGINES:
                size, hosts = LARGEST
                weft_alone(lab_file(directory, size, engine), hosts, engine, 1)


if __name__ == "__main__":
    main()
