# SPDX-License-Identifier: Apache-2.0
"""Runs of perftest's programs under Weft, and of the plain UDP programs beside them."""
import contextlib
import dataclasses
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


@dataclasses.dataclass(frozen=True)
class Path:
    """Where server and client run: the words before their commands, and where they meet."""
    name: str
    interface: str = "lo"
    address: str = "127.0.0.1"
    server: tuple = ()
    client: tuple = ()
    nodes: tuple = ()  # of a lab: the server's and the client's
    labs: tuple = ()  # what each calls the lab; nothing: the only one

    def place(self, end):
        """What `weft run` is told of it; 0: the server, 1: the client."""
        if not self.nodes:
            return ["--interface", self.interface]
        return ["--node", self.nodes[end], *(["--lab", self.labs[end]] if self.labs else [])]


LOOPBACK = Path("loopback")


@contextlib.contextmanager
def veth():
    """Two network namespaces joined by a link of MTU 9000; nothing without the right to make
    them."""
    left, right = (f"weft-bench-{os.getpid()}-{end}" for end in "lr")

    def ip(*words):
        subprocess.run(["ip", *words], check=True, capture_output=True)
    try:
        try:
            for name in (left, right):
                ip("netns", "add", name)
                ip("-n", name, "link", "set", "lo", "up")
            ip("-n", left, "link", "add", "veth0", "mtu", "9000", "type", "veth", "peer", "name",
               "veth0", "mtu", "9000", "netns", right)
            for name, address in ((left, "10.99.0.1/24"), (right, "10.99.0.2/24")):
                ip("-n", name, "address", "add", address, "dev", "veth0")
                ip("-n", name, "link", "set", "veth0", "up")
        except (OSError, subprocess.CalledProcessError):
            yield None
            return
        yield Path("veth", "veth0", "10.99.0.2", ("ip", "netns", "exec", right),
                   ("ip", "netns", "exec", left))
    finally:
        for name in (left, right):
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


def _seconds(usage):
    return usage.ru_utime + usage.ru_stime


def _finish(process):
    """What it wrote, and the CPU time of it and its threads."""
    out, errors = process.stdout.read(), process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return out, errors, _seconds(usage)


def _start(words):
    return subprocess.Popen(["timeout", "120", *map(str, words)], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def baseline(*words):
    process = _start([BASELINE, *words])
    out, errors, cpu = _finish(process)
    if process.returncode != 0:
        sys.exit(f"udp_baseline failed:\n{errors}")
    return json.loads(out) | {"cpu_s": cpu}


def baseline_bandwidth(path, size, seconds):
    """Segmented sends and coalesced receives: GB/s, and CPU seconds of both ends for each GB."""
    if path == LOOPBACK:
        result = baseline("bw", "gso", size, seconds)
        cpu = result["cpu_s"]
    else:
        global _port
        _port += 1
        server = _start([*path.server, "taskset", "-c", "1", BASELINE, "bw-serve", path.address,
                         _port])
        time.sleep(0.2)
        client = _start([*path.client, "taskset", "-c", "0", BASELINE, "bw-to", path.address,
                         _port, "gso", size, seconds])
        out, _, cpu = _finish(client)
        cpu += _finish(server)[2]
        result = json.loads(out)
    return result["gb_per_s"], cpu / (result["gb_per_s"] * seconds)


def _await_listener(path, port, server):
    """Until the server listens on a TCP port, or has ended."""
    for _ in range(300):
        sockets = subprocess.run([*path.server, "ss", "-Hltn", f"sport = :{port}"], check=True,
                                 capture_output=True, text=True)
        # Left to _finish(), which asks what it used.
        ended = os.waitid(os.P_PID, server.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if sockets.stdout or ended:
            return
        time.sleep(0.1)


def perftest(program, options, buffer=None, path=LOOPBACK):
    """Runs server and client on a CPU each; returns the client's output, the server's counters, and
    the CPU seconds of both."""
    global _port
    _port += 1
    words = ["--stats", *(["--socket-buffer", buffer] if buffer else []), "--", program,
             *([] if path.nodes else ["-x", "0"]), "-F", "-p", _port, *options]
    server = _start([*path.server, "taskset", "-c", "1", WEFT, "run", *path.place(0), *words])
    _await_listener(path, _port, server)
    client = _start([*path.client, "taskset", "-c", "0", WEFT, "run", *path.place(1), *words,
                     path.address])
    out, errors, cpu = _finish(client)
    _, server_errors, server_cpu = _finish(server)
    if client.returncode != 0 or server.returncode != 0:
        sys.exit(f"{program} failed:\n{out}{errors}{server_errors}")
    return out, server_errors, cpu + server_cpu


def row(output, size):
    """The numbers that perftest printed for messages of `size` bytes."""
    return [line.split() for line in output.splitlines() if re.match(rf"\s*{size}\s", line)][-1]


def bandwidth(program, size, options, buffer=None, path=LOOPBACK):
    """GB/s, million messages a second, and the server's counters."""
    out, counters, _ = perftest(program, ["-s", size, "--report_gbits", *options], buffer, path)
    cells = row(out, size)
    return float(cells[3]) / 8, float(cells[4]), counters


def cpu_per_gb(program, size, iterations, options, path=LOOPBACK):
    """CPU seconds of both ends for each GB: what many messages cost more than few, for beginning
    and ending costs perftest a good part of a second whatever is sent."""
    few = iterations // 10
    spent = [perftest(program, ["-s", size, "-n", n, *options], path=path)[2]
             for n in (few, iterations)]
    return (spent[1] - spent[0]) / ((iterations - few) * size / 1e9)


def latency(program, size, options, path=LOOPBACK):
    """Median round trip in nanoseconds."""
    out, _, _ = perftest(program, ["-s", size, *options], path=path)
    return float(row(out, size)[4]) * 2000  # perftest prints one way in microseconds


def counter(text, name):
    """Sum of a counter of --stats."""
    return sum(int(n) for n in re.findall(rf"^\s+{name}\s+(\d+)\s+#", text, re.M))
