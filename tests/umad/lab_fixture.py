# SPDX-License-Identifier: Apache-2.0
"""A lab with its management socket in a directory of its own, and programs on its nodes."""
import os
import pathlib
import subprocess
import tempfile

BUILD = pathlib.Path(os.environ["WEFT_BUILD"])
SOURCE = pathlib.Path(os.environ["WEFT_SOURCE"])
DROP_IN = BUILD / "lib" / "weft"
# A wait that a test ends with a failure; no test passes by waiting for so long.
PATIENCE = 60


class Lab:
    def __init__(self, file):
        self.directory = tempfile.TemporaryDirectory(prefix="weft-umad-")
        self.daemon = subprocess.Popen(
            [BUILD / "tests" / "umad_lab_daemon", SOURCE / "examples" / "labs" / file, self.path],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.daemon.stdout.readline() == "ready\n"

    @property
    def path(self):
        return self.directory.name

    def environment(self, node):
        return dict(
            os.environ,
            WEFT_LAB=self.path,
            WEFT_NODE=node,
            LD_LIBRARY_PATH=str(DROP_IN),
            LD_PRELOAD=f"{DROP_IN}/libibumad.so.3",
        )

    def run(self, node, *command):
        """The finished program, with all that it said."""
        return subprocess.run(
            [str(part) for part in command],
            env=self.environment(node),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE,
            check=False,
        )

    def close(self):
        """The daemon's counters."""
        self.daemon.terminate()
        said, _ = self.daemon.communicate(timeout=PATIENCE)
        self.directory.cleanup()
        return {name: int(value) for name, value in (line.split() for line in said.splitlines())}
