#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Weft against the Linux kernel's own RoCE, rdma_rxe, in a guest: the same unmodified programs on
both sides.

usage: rxe_test.py [--full] [NAME ...]    NAME: only the scenarios whose name holds it
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import image
from guest import GUEST, GUEST6, HOST, HOST6, TAP, Guest

BUILD = pathlib.Path(os.environ.get("WEFT_BUILD", "build/release"))
# RoCE's path MTU follows the interface's: MTU less 80, rounded down.
MTUS = {1500: 1024, 4200: 4096}
TIMEOUT_EXPONENT = 18  # the guest's clock is emulated: 1 s, so that nothing is sent twice for that


def pingpong(service, path_mtu, count):
    """ibv_*_pingpong: the same words on both sides."""
    words = [f"ibv_{service}_pingpong", "-n", str(count)]
    return words + (["-s", "1000"] if service == "ud" else ["-m", str(path_mtu), "-s", "9000"])


def perftest(tool, *words):
    timeout = [] if "UD" in words else ["-u", str(TIMEOUT_EXPONENT)]
    return [tool, "-F", *timeout, *map(str, words)]


def scenarios(path_mtu, full):
    """Name, words of the program without address and GID index."""
    yield "rc pingpong", pingpong("rc", path_mtu, 50)
    yield "uc pingpong", pingpong("uc", path_mtu, 50)
    yield "ud pingpong", pingpong("ud", path_mtu, 50)
    for what in ("send", "write", "read"):
        yield f"{what} bw", perftest(f"ib_{what}_bw", "-n", 40, "-s", 65536)
    yield "atomic bw", perftest("ib_atomic_bw", "-n", 40)
    yield "atomic cas", perftest("ib_atomic_bw", "-n", 40, "-A", "CMP_AND_SWAP")
    yield "ud send bw", perftest("ib_send_bw", "-c", "UD", "-n", 40, "-s", 1024)
    if full:
        for what in ("send", "write", "read"):
            yield f"{what} lat", perftest(f"ib_{what}_lat", "-n", 50)
            yield f"{what} small", perftest(f"ib_{what}_bw", "-n", 100, "-s", 1)
            yield f"{what} large", perftest(f"ib_{what}_bw", "-n", 5, "-s", 1 << 20)
            yield f"{what} both ways", perftest(f"ib_{what}_bw", "-n", 40, "-s", 8192, "-b")
        yield "uc write bw", perftest("ib_write_bw", "-c", "UC", "-n", 20, "-s", 8192)


class Host:
    """Our side: programs under `weft run --wire roce`."""

    def __init__(self, work):
        self.work = work
        self.weft = str(BUILD / "bin" / "weft")

    def command(self, words, *more):
        return [self.weft, "run", "--wire", "roce", "--interface", TAP, *more, "--", *words]

    def gid_index(self, address):
        listed = subprocess.run(
            self.command(["ibv_devinfo", "-v"]), check=True, capture_output=True, text=True).stdout
        wanted = address if ":" in address else f"::ffff:{address}"
        for index, gid in re.findall(r"GID\[\s*(\d+)\]:\s+(\S+?),?\s", listed):
            if gid == wanted:
                return int(index)
        sys.exit(f"{address} is not in the GID table:\n{listed}")

    def start(self, words, *more):
        out = open(self.work / "host.out", "w+", encoding="utf-8")
        return subprocess.Popen(["timeout", "60", *self.command(words, *more)],
                                stdin=subprocess.DEVNULL, stdout=out, stderr=out), out


def finish(process):
    child, out = process
    code = child.wait()
    out.seek(0)
    return code, out.read()


def listens(guest, host, port, at_guest):
    """Waits for the program that serves."""
    for _ in range(100):
        if at_guest:
            # No ss in the guest: /proc/net/tcp and tcp6 name ports in hexadecimal; 0A is LISTEN.
            code, _ = guest.run(f"grep -q ':{port:04X} .* 0A ' /proc/net/tcp /proc/net/tcp6")
            found = code == 0
        else:
            found = bool(subprocess.run(["ss", "-Htln", f"sport = :{port}"], check=True,
                                        capture_output=True, text=True).stdout)
        if found:
            return True
        if host and host[0].poll() is not None:
            return False
        time.sleep(0.1)
    return False


class Runner:
    def __init__(self, guest, host, family):
        self.guest, self.host, self.family = guest, host, family
        self.port = 18700
        self.host_ip, self.guest_ip = (HOST6, GUEST6) if family == 6 else (HOST, GUEST)
        # The GIDs are of that family; the programs' own exchange is over IPv4, where they listen.
        self.host_index = host.gid_index(HOST6 if family == 6 else HOST)
        self.guest_index = 2 if family == 6 else 1  # link-local, IPv4, IPv6: the order of addresses

    def words(self, program, index):
        option = "-x" if program[0].startswith("ib_") else "-g"
        return [*program, "-p", str(self.port), option, str(index)]

    def run(self, program, client, *options):
        """`client`: "host" or "guest". Returns None, or what went wrong."""
        self.port += 1
        ours = self.words(program, self.host_index)
        theirs = " ".join(self.words(program, self.guest_index))
        if client == "host":
            self.guest.start("server", f"timeout 50 {theirs}")
            if not listens(self.guest, None, self.port, True):
                return "the guest's server never listened:\n" + self.guest.result("server", 1)[1]
            code, said = finish(self.host.start([*ours, GUEST], *options))
            other_code, other = self.guest.result("server")
        else:
            process = self.host.start(ours, *options)
            if not listens(self.guest, process, self.port, False):
                return "our server never listened:\n" + finish(process)[1]
            other_code, other = self.guest.run(f"timeout 50 {theirs} {HOST}", 60)
            code, said = finish(process)
        return self.verdict(code, said, other_code, other)

    def rping(self, client):
        """Through the connection managers of both sides."""
        self.port += 1
        words = ["rping", "-p", str(self.port), "-C", "5", "-v", "-a"]
        if client == "host":
            self.guest.start("server", f"timeout 30 {' '.join([*words, self.guest_ip, '-s'])}")
            time.sleep(1)
            code, said = finish(self.host.start([*words, self.guest_ip, "-c"]))
            other_code, other = self.guest.result("server", 35)
        else:
            process = self.host.start([*words, self.host_ip, "-s"])
            time.sleep(2)
            other_code, other = self.guest.run(
                f"timeout 30 {' '.join([*words, self.host_ip, '-c'])}", 35)
            code, said = finish(process)
        return self.verdict(code, said, other_code, other)

    @staticmethod
    def verdict(code, said, other_code, other):
        if code == 0 and other_code == 0:
            return None
        return f"ours ended with {code}, the guest's with {other_code}\n{said}\n--- guest\n{other}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    failures = []
    passed = 0
    with tempfile.TemporaryDirectory(prefix="weft-rxe.") as work:
        host = Host(pathlib.Path(work))
        for mtu, path_mtu in MTUS.items():
            with Guest(mtu) as guest:
                for family in (4, 6):
                    runner = Runner(guest, host, family)
                    for name, program in [*scenarios(path_mtu, options.full), ("rping", None)]:
                        for client in ("host", "guest"):
                            title = f"{name}, IPv{family}, MTU {path_mtu}, client {client}"
                            if options.names and not any(n in title for n in options.names):
                                continue
                            wrong = runner.run(program, client) if program else runner.rping(client)
                            print(f"{'FAILED' if wrong else 'ok'}: {title}", flush=True)
                            passed += not wrong
                            if wrong:
                                failures.append(title)
                                print(wrong, flush=True)
    print(f"rxe: {passed} scenarios passed, {len(failures)} failed")
    sys.exit(1 if failures or not passed else 0)


if __name__ == "__main__":
    try:
        main()
    except image.Unavailable as error:
        print(f"skipped: {error}")
        sys.exit(77)
