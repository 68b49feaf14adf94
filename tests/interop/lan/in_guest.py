#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a script of this folder in a guest that has Weft and a whole Linux kernel: for what a lab's
LAN meets there and machines that tests run on often lack, bonds, bridges and VLAN interfaces.

usage: in_guest.py BUILD SCRIPT [SECONDS]
"""
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "rxe"))
import image  # noqa: E402
from guest import Guest, weft_in  # noqa: E402


def main():
    build, script = pathlib.Path(sys.argv[1]), sys.argv[2]
    seconds = int(sys.argv[3]) if len(sys.argv) > 3 else 400  # on a busy machine

    def add(archive):
        weft_in(build)(archive)
        for path in sorted(HERE.glob("*.sh")):
            archive.file(f"lan/{path.name}", path.read_bytes(), 0o755)

    # One processor for the lab, which looks for packets without a pause, and one for the programs.
    with Guest(network=False, processors=2, extra=add) as guest:
        code, said = guest.run(f"exec sh /lan/{script}", seconds)
        print(said, end="")
        if code != 0:
            print(f"{script} ended with exit code {code} in the guest\n{guest.troubles()}")
    return code


if __name__ == "__main__":
    try:
        sys.exit(main())
    except image.Unavailable as error:
        print(f"skipped: {error}")
        sys.exit(77)
