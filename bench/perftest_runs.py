# SPDX-License-Identifier: Apache-2.0
"""Runs of perftest's programs under Weft, and of the plain UDP programs beside them."""
import json
import os
import pathlib
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
WEFT = HERE.parent / "bin" / "weft"
BASELINE = HERE / "udp_baseline"
_port = 18600 + os.getpid() % 1000


def baseline(*words):
    out = subprocess.run([BASELINE, *map(str, words)], check=True, capture_output=True, text=True)
    return json.loads(out.stdout)


def perftest(program, options, buffer=None):
    """Runs server and client on a CPU each; returns the client's output, the server's counters."""
    global _port
    _port += 1
    run = [str(WEFT), "run", "--interface", "lo", "--stats"]
    if buffer:
        run += ["--socket-buffer", str(buffer)]
    command = [*run, "--", program, "-x", "0", "-F", "-p", str(_port), *map(str, options)]
    server = subprocess.Popen(["taskset", "-c", "1", *command], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
    time.sleep(0.5)
    client = subprocess.run(["taskset", "-c", "0", *command, "127.0.0.1"], capture_output=True,
                            text=True, timeout=120)
    _, server_errors = server.communicate(timeout=120)
    if client.returncode != 0 or server.returncode != 0:
        sys.exit(f"{program} failed:\n{client.stdout}{client.stderr}{server_errors}")
    return client.stdout, server_errors


def row(output, size):
    """The numbers that perftest printed for messages of `size` bytes."""
    return [line.split() for line in output.splitlines() if re.match(rf"\s*{size}\s", line)][-1]


def bandwidth(program, size, options, buffer=None):
    """GB/s, million messages a second, and the server's counters."""
    out, counters = perftest(program, ["-s", size, "--report_gbits", *options], buffer)
    cells = row(out, size)
    return float(cells[3]) / 8, float(cells[4]), counters


def latency(program, size, options):
    """Median round trip in nanoseconds."""
    out, _ = perftest(program, ["-s", size, *options])
    return float(row(out, size)[4]) * 2000  # perftest prints one way in microseconds


def counter(text, name):
    """Sum of a counter of --stats."""
    return sum(int(n) for n in re.findall(rf"^\s+{name}\s+(\d+)\s+#", text, re.M))
