#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Weft beside the Linux kernel's rdma_rxe, in a guest: the same kernel, the same unmodified
programs, two processes of one interface with each other.

Both compute a CRC over every byte twice, on a processor that is emulated. rxe hands packets for its
own address straight over, Weft's go through the kernel's loopback. Alternatives are interleaved;
medians are printed. Exit code 77 where there is no guest to be had.

usage: rxe_vm [--rounds N] [--messages N]
"""
import argparse
import re
import statistics
import sys

from perftest_runs import WEFT

sys.path.insert(0, "@PROJECT_SOURCE_DIR@/tests/interop/rxe")
import image  # noqa: E402
from guest import GUEST, Guest, weft_in  # noqa: E402

SIZE = 65536
PROGRAMS = ("ib_send_bw", "ib_write_bw")


class Bench:
    def __init__(self, guest, messages):
        self.guest, self.messages, self.port = guest, messages, 18500

    def run(self, command, seconds=60):
        code, said = self.guest.run(command, seconds)
        if code != 0:
            sys.exit(f"{command} failed in the guest:\n{said}\n{self.guest.troubles()}")
        return said

    def bandwidth(self, prefix, program, device, index):
        """MB/s as perftest has them, 2^20 bytes."""
        self.port += 1
        words = (f"{prefix} {program} -F -d {device} -x {index} -s {SIZE} -n {self.messages} "
                 f"-u 18 -p {self.port}")
        self.guest.start("server", f"timeout 100 {words}")
        self.run(f"tries=0; until grep -q ':{self.port:04X} .* 0A ' /proc/net/tcp /proc/net/tcp6 "
                 "|| [ $tries = 100 ]; do tries=$((tries + 1)); sleep 0.1; done")
        said = self.run(f"timeout 100 {words} {GUEST}", 110)
        rows = [line.split() for line in said.splitlines() if re.match(rf" *{SIZE} ", line)]
        code, other = self.guest.result("server")
        if code != 0 or not rows:
            sys.exit(f"{words} failed in the guest:\n{said}\n{other}\n{self.guest.troubles()}")
        return float(rows[-1][3])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--messages", type=int, default=400)
    options = parser.parse_args()
    with Guest(mtu=4200, network=False, processors=2, extra=weft_in(WEFT.parent.parent)) as guest:
        bench = Bench(guest, options.messages)
        print(bench.run("uname -r; grep -m 1 'model name' /proc/cpuinfo; "
                        "grep -m 1 ^flags /proc/cpuinfo | grep -oE 'v?pclmulqdq|avx512f|avx2' | "
                        "tr '\\n' ' '; grep -B 1 -A 3 'name *: crc32$' /proc/crypto").strip())
        for program in PROGRAMS:
            ours, theirs = [], []
            for _ in range(options.rounds):
                theirs.append(bench.bandwidth("", program, "rxe0", 1))
                ours.append(bench.bandwidth("/weft/bin/weft run --", program, "weft_eth0", 0))
            weft, rxe = statistics.median(ours), statistics.median(theirs)
            print(f"{program}, {SIZE} bytes: weft {weft:.1f} MB/s, rxe {rxe:.1f} MB/s")
            print(f"result: {program} weft / rxe = {weft / rxe:.2f}")
            print(f"result: {program} weft = {weft * 1.048576 / 1000:.3f} GB/s")


if __name__ == "__main__":
    try:
        main()
    except image.Unavailable as error:
        print(f"skipped: {error}")
        sys.exit(77)
