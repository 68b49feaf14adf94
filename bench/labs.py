# SPDX-License-Identifier: Apache-2.0
"""Labs for benchmarks, each in a process of its own."""
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
WEFT = HERE.parent / "bin" / "weft"
QUIET = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


@contextlib.contextmanager
def directory():
    """Where labs have their sockets, and they and OpenSM what they write, from then on."""
    with tempfile.TemporaryDirectory(prefix="weft-bench-") as name:
        os.environ.update(XDG_RUNTIME_DIR=name, XDG_STATE_HOME=f"{name}/state", OSM_TMP_DIR=name,
                          OSM_CACHE_DIR=name)
        yield pathlib.Path(name)


@contextlib.contextmanager
def background(*words, **how):
    """A process that is ended when it is not needed any more."""
    process = subprocess.Popen([*map(str, words)], **(QUIET | how))
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def state():
    """What `weft status` knows of the lab that runs; nothing: none does."""
    status = subprocess.run([WEFT, "status", "--json"], capture_output=True, text=True,
                            check=False).stdout
    labs = json.loads(status or "{}").get("labs")
    return labs[0] if labs else None


def await_links(states):
    """Until all links are in these states, as {name: how many}."""
    for _ in range(3000):
        lab = state()
        if lab and lab["links"]["states"] == states:
            return
        time.sleep(0.01)
    sys.exit(f"the lab's links are not {states} within 30 seconds")
