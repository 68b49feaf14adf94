#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Weft against the Linux kernel's own RoCE, rdma_rxe, in a guest: the same unmodified programs on
both sides. What crosses the wire meanwhile is written down and judged: a scenario fails as well
when one bit that we sent is not the standard's.

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
from traffic import Traffic

BUILD = pathlib.Path(os.environ.get("WEFT_BUILD", "build/release"))
# RoCE's path MTU follows the interface's: MTU less 80, rounded down.
MTUS = {1500: 1024, 4200: 4096}
LOSSY_FAMILIES = {1500: (4,), 4200: (6,)}   # each once
TIMEOUT_EXPONENT = 18  # the guest's clock is emulated: 1 s, so that nothing is sent twice for that
LOSSY_EXPONENT = 16  # 268 ms: where packets are lost they have to be sent twice
LOSS = 100  # one packet of so many, each way


def pingpong(service, path_mtu, count):
    """ibv_*_pingpong: the same words on both sides."""
    words = [f"ibv_{service}_pingpong", "-n", str(count)]
    return words + (["-s", "1000"] if service == "ud" else ["-m", str(path_mtu), "-s", "9000"])


def perftest(tool, *words, timeout=TIMEOUT_EXPONENT):
    patience = [] if "UD" in words else ["-u", str(timeout)]
    return [tool, "-F", *patience, *map(str, words)]


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


def lossy_scenarios():
    """With packets lost on purpose: reliable services only. perftest's ends agree over TCP that
    they are done, so that no last acknowledgement is owed by somebody who has gone."""
    for what in ("send", "write", "read"):
        yield (f"{what} bw with loss",
               perftest(f"ib_{what}_bw", "-n", 40, "-s", 65536, timeout=LOSSY_EXPONENT))
    yield "atomic bw with loss", perftest("ib_atomic_bw", "-n", 400, timeout=LOSSY_EXPONENT)


class Lossy:
    """While it lasts one RoCE packet of LOSS is lost on its way into the guest; what comes from
    there is lost by our side, which is told so by its options."""
    options = ["--fault", f"loss={100 / LOSS}%,seed=7"]

    def __init__(self, guest):
        self.guest = guest

    def __enter__(self):
        rules = "".join(
            f"tc filter add dev eth0 ingress protocol {protocol} flower ip_proto udp dst_port 4791 "
            f"action gact pass random netrand drop {LOSS} && " for protocol in ("ip", "ipv6"))
        code, said = self.guest.run(f"tc qdisc add dev eth0 clsact && {rules} true")
        if code != 0:
            sys.exit(f"the guest cannot lose packets:\n{said}")
        return self

    def lost(self):
        """Into the guest, so far."""
        said = self.guest.run("tc -s filter show dev eth0 ingress")[1]
        return sum(map(int, re.findall(r"dropped (\d+)", said)))

    def __exit__(self, *_):
        self.guest.run("tc qdisc del dev eth0 clsact")


class Host:
    """Our side: programs under `weft run --wire roce`."""

    def __init__(self, work):
        self.work = work
        self.weft = str(BUILD / "bin" / "weft")
        self.lost = 0  # on purpose, of what came from the guest

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
        return subprocess.Popen(["timeout", "60", *self.command(words, "--stats", *more)],
                                stdin=subprocess.DEVNULL, stdout=out, stderr=out), out

    def finish(self, process):
        child, out = process
        code = child.wait()
        out.seek(0)
        said = out.read()
        self.lost += sum(map(int, re.findall(r"fault_lost +(\d+)", said)))
        return code, said


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
            self.guest.start("server", f"timeout 50 stdbuf -oL {theirs}")
            if not listens(self.guest, None, self.port, True):
                return "the guest's server never listened:\n" + self.guest.result("server", 1)[1]
            code, said = self.host.finish(self.host.start([*ours, GUEST], *options))
            other_code, other = self.guest.result("server")
        else:
            process = self.host.start(ours, *options)
            if not listens(self.guest, process, self.port, False):
                return "our server never listened:\n" + self.host.finish(process)[1]
            other_code, other = self.guest.run(f"timeout 50 stdbuf -oL {theirs} {HOST}", 60)
            code, said = self.host.finish(process)
        return self.verdict(code, said, other_code, other)

    def rping(self, client, *options):
        """Through the connection managers of both sides. Nothing shows from outside that the server
        listens by now: a client that finds nobody tries again."""
        for _ in range(5):
            wrong = self.rping_once(client, *options)
            if not wrong or not re.search("RDMA_CM_EVENT_(REJECTED|UNREACHABLE)", wrong):
                break
        return wrong

    def rping_once(self, client, *options):
        self.port += 1
        words = ["rping", "-p", str(self.port), "-C", "5", "-v", "-a"]
        if client == "host":
            self.guest.start(
                "server", f"timeout 30 stdbuf -oL {' '.join([*words, self.guest_ip, '-s'])}")
            time.sleep(1)
            code, said = self.host.finish(
                self.host.start([*words, self.guest_ip, "-c"], *options))
            other_code, other = self.guest.result("server", 35)
        else:
            process = self.host.start([*words, self.host_ip, "-s"], *options)
            time.sleep(2)
            other_code, other = self.guest.run(
                f"timeout 30 stdbuf -oL {' '.join([*words, self.host_ip, '-c'])}", 35)
            code, said = self.host.finish(process)
        return self.verdict(code if not tripped(code, said) else 0, said,
                            other_code if not tripped(other_code, other) else 0, other)

    def verdict(self, code, said, other_code, other):
        if code == 0 and other_code == 0:
            return None
        return (f"ours ended with {code}, the guest's with {other_code}\n{said}\n"
                f"--- guest\n{other}\n--- guest's kernel and processes\n{self.guest.troubles()}")


def tripped(code, said):
    """rping closes a channel while a thread of its own is on the way to ask it for the next event:
    that may find the descriptor gone, and ends the program with -1, after all has been done."""
    return code == 255 and "rdma_get_cm_event: Bad file descriptor" in said and "ping-4:" in said


class Tally:
    """What has passed, of the scenarios whose name was asked for."""

    def __init__(self, names):
        self.names = names
        self.passed = 0
        self.failures = []
        self.traffic = None  # of the guest that is asked

    def note(self, title, run):
        if self.names and not any(name in title for name in self.names):
            return
        wrong = "\n".join(filter(None, (run(), self.traffic.judge())))
        print(f"{'FAILED' if wrong else 'ok'}: {title}", flush=True)
        if wrong:
            self.failures.append(title)
            print(wrong, flush=True)
        else:
            self.passed += 1


def with_loss(guest, host, families, path_mtu, tally):
    """The scenarios with loss; packets must indeed have been lost, both ways."""
    before = host.lost, tally.passed
    with Lossy(guest) as lossy:
        for family in families:
            runner = Runner(guest, host, family)
            for client in ("host", "guest"):
                where = f"IPv{family}, MTU {path_mtu}, client {client}"
                for name, program in lossy_scenarios():
                    tally.note(f"{name}, {where}",
                               lambda: runner.run(program, client, *lossy.options))
                tally.note(f"rping with loss, {where}",
                           lambda: runner.rping(client, *lossy.options))
        if tally.passed == before[1]:
            return
        into, out = lossy.lost(), host.lost - before[0]
    print(f"lost on purpose: {into} packets into the guest, {out} from it", flush=True)
    if not tally.names and 0 in (into, out):
        tally.failures.append("losing packets")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    tally = Tally(options.names)
    sent = 0
    with tempfile.TemporaryDirectory(prefix="weft-rxe.") as work:
        host = Host(pathlib.Path(work))
        for mtu, path_mtu in MTUS.items():
            with Guest(mtu, capture=True) as guest:
                tally.traffic = Traffic(guest.traffic(), (HOST, HOST6))
                for family in (4, 6):
                    runner = Runner(guest, host, family)
                    for name, program in [*scenarios(path_mtu, options.full), ("rping", None)]:
                        for client in ("host", "guest"):
                            tally.note(f"{name}, IPv{family}, MTU {path_mtu}, client {client}",
                                       lambda: runner.run(program, client) if program
                                       else runner.rping(client))
                lossy = (4, 6) if options.full else LOSSY_FAMILIES[mtu]
                with_loss(guest, host, lossy, path_mtu, tally)
                sent += tally.traffic.sent
    print(f"{sent} packets that we sent to rxe were looked at, bit by bit")
    print(f"rxe: {tally.passed} scenarios passed, {len(tally.failures)} failed")
    sys.exit(1 if tally.failures or not tally.passed else 0)


if __name__ == "__main__":
    try:
        main()
    except image.Unavailable as error:
        print(f"skipped: {error}")
        sys.exit(77)
