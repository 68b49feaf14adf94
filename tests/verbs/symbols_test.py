#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The drop-in exports every name@version that installed clients of libibverbs ask for.

What they ask for is read from the clients themselves. Exit code 77: no client is installed.
"""
import glob
import os
import pathlib
import re
import subprocess
import sys
import unittest

LIBRARY = pathlib.Path(os.environ["WEFT_BUILD"]) / "lib" / "weft" / "libibverbs.so.1"
SYSTEM = "/usr/lib/*"
CLIENTS = (
    "/usr/bin/ib_send_bw",
    "/usr/bin/ibv_*",
    "/usr/bin/rping",
    f"{SYSTEM}/libmlx4.so.1",
    f"{SYSTEM}/libmlx5.so.1",
    f"{SYSTEM}/libefa.so.1",
    f"{SYSTEM}/librdmacm.so.1",
    f"{SYSTEM}/libfabric.so.1",
    f"{SYSTEM}/ucx/libuct_ib.so.0",
    "/usr/lib/python3/dist-packages/pyverbs/*.so",
)
NAME = re.compile(r"^(\w+)@@?(IBVERBS_[\w.]+)$")


def symbols(path):
    """(name, version, exported) of the symbols that concern libibverbs."""
    listing = subprocess.run(
        ["readelf", "--dyn-syms", "--wide", path], capture_output=True, text=True, check=True
    )
    for line in listing.stdout.splitlines():
        fields = line.split()
        if len(fields) < 8 or not (match := NAME.match(fields[7])):
            continue
        yield match.group(1), match.group(2), fields[6] != "UND"


def installed_clients():
    return sorted({path for pattern in CLIENTS for path in glob.glob(pattern)})


class Symbols(unittest.TestCase):
    def setUp(self):
        self.exported = {(name, version) for name, version, ours in symbols(LIBRARY) if ours}

    def test_every_installed_client_finds_what_it_asks_for(self):
        for client in installed_clients():
            wanted = {(name, version) for name, version, ours in symbols(client) if not ours}
            with self.subTest(client):
                self.assertEqual(wanted - self.exported, set())

    def test_the_public_interface_is_whole(self):
        """75 names at their default version, 34 at an older one."""
        public = {pair for pair in self.exported if "PRIVATE" not in pair[1]}
        self.assertEqual(len(public), 109)
        self.assertEqual(len(self.exported - public), 71)

    def test_nothing_else_is_visible(self):
        listing = subprocess.run(
            ["readelf", "--dyn-syms", "--wide", LIBRARY], capture_output=True, text=True, check=True
        )
        for line in listing.stdout.splitlines():
            fields = line.split()
            if len(fields) < 8 or fields[6] == "UND" or fields[4] == "LOCAL":
                continue
            self.assertRegex(fields[7], r"IBVERBS_|^Name$")

    def test_no_cxx_runtime_is_needed(self):
        """A program may bring an older one of its own."""
        dynamic = subprocess.run(
            ["readelf", "--dynamic", "--wide", LIBRARY], capture_output=True, text=True, check=True
        )
        self.assertNotIn("libstdc++", dynamic.stdout)
        self.assertIn("NODELETE", dynamic.stdout)


if __name__ == "__main__":
    if not installed_clients():
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], "-v"])
