#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every way in which a program comes to libibverbs ends at the drop-in.

The environment is the one that `weft run` makes: the private directory first on the loader's path,
and the library preloaded under its own name for programs with a DT_RPATH.
"""
import os
import pathlib
import subprocess
import sys
import unittest

BUILD = pathlib.Path(os.environ["WEFT_BUILD"])
DROP_IN = BUILD / "lib" / "weft"
SHAPES = BUILD / "tests" / "shapes"


def run(*command):
    environment = dict(os.environ)
    environment["LD_LIBRARY_PATH"] = str(DROP_IN)
    environment["LD_PRELOAD"] = f"{DROP_IN}/libibverbs.so.1 {DROP_IN}/libweft_shim.so"
    return subprocess.run(
        [str(part) for part in command],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


class Shapes(unittest.TestCase):
    def finds_the_loopback_device(self, *command):
        done = run(*command)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("weft_lo", done.stdout.split())

    def test_a_linked_program(self):
        self.finds_the_loopback_device(SHAPES / "linked")

    def test_a_program_whose_rpath_names_the_distributions_directory(self):
        self.finds_the_loopback_device(SHAPES / "linked_rpath")

    def test_a_plugin_in_a_scope_of_its_own(self):
        self.finds_the_loopback_device(SHAPES / "loader", "plugin", SHAPES / "libplugin.so")

    def test_a_plugin_that_prefers_its_own_dependencies(self):
        self.finds_the_loopback_device(
            SHAPES / "loader", "plugin", SHAPES / "libplugin.so", "deepbind"
        )

    def test_a_program_that_opens_the_unversioned_name_first(self):
        self.finds_the_loopback_device(
            SHAPES / "loader", "names", "libibverbs.so", "libibverbs.so.1"
        )

    def test_a_program_that_opens_the_versioned_name(self):
        self.finds_the_loopback_device(SHAPES / "loader", "names", "libibverbs.so.1")

    def test_a_program_in_python(self):
        code = "import pyverbs.device as d; print(*(x.name.decode() for x in d.get_device_list()))"
        if run("/usr/bin/python3", "-c", "import pyverbs").returncode != 0:
            self.skipTest("python3-pyverbs is not installed")
        self.finds_the_loopback_device("/usr/bin/python3", "-c", code)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
