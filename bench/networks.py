# SPDX-License-Identifier: Apache-2.0
"""Networks of namespaces for benchmarks, and runs of bench/flows in them. Everything is gone when
the process that made it ends."""
import json
import os
import pathlib
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
WEFT = HERE.parent / "bin" / "weft"
FLOWS = HERE / "programs" / "flows"
PORT = 18700  # of the receiver of flows; each network is private


def become_network_root():
    """As anybody but root: starts the program again where it may make networks."""
    if os.geteuid() == 0:
        return
    command = ["unshare", "--user", "--map-root-user", "--net"]
    if subprocess.run([*command, "true"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
        sys.exit("this benchmark makes network namespaces: run it as root")
    os.execvp(command[0], [*command, sys.executable, *sys.argv])


class Host:
    """A network namespace, kept by a process that sleeps."""

    def __init__(self, name):
        self.name = name
        own = os.readlink("/proc/self/ns/net")
        self.keeper = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "unshare", "--net",
                                        "sleep", "infinity"], stdin=subprocess.DEVNULL)
        comm = pathlib.Path(f"/proc/{self.keeper.pid}/comm")
        while (os.readlink(f"/proc/{self.keeper.pid}/ns/net") == own
               or comm.read_text(encoding="utf-8").strip() != "sleep"):
            time.sleep(0.01)
        self.run("ip", "link", "set", "lo", "up")
        self.run("sh", "-c", "echo 1 >/proc/sys/net/ipv4/ip_forward")

    def command(self, *words):
        return ["nsenter", f"--net=/proc/{self.keeper.pid}/ns/net", "--", *map(str, words)]

    def run(self, *words):
        """What it prints."""
        return subprocess.run(self.command(*words), check=True, capture_output=True,
                              text=True).stdout

    def start(self, *words):
        return subprocess.Popen(self.command(*words), stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def end(self):
        self.keeper.kill()
        self.keeper.wait()


def join(one, name_one, address_one, other, name_other, address_other):
    """A veth pair between two hosts; addresses with their prefix lengths."""
    subprocess.run(["ip", "link", "add", name_one, "netns", str(one.keeper.pid), "type", "veth",
                    "peer", "name", name_other, "netns", str(other.keeper.pid)], check=True)
    for host, name, address in ((one, name_one, address_one), (other, name_other, address_other)):
        host.run("ip", "address", "add", address, "dev", name)
        host.run("ip", "link", "set", name, "up")


class Star:
    """Senders, each with a link of its own to a router, and one receiver behind it. Where `rate`
    (megabits per second) is given, the router's link to the receiver is no faster and has a queue
    of `queue` bytes before it."""

    receiver_address = "10.88.0.2"

    def __init__(self, senders, rate=None, queue=0):
        self.router = Host("router")
        self.receiver = Host("receiver")
        self.senders = [Host(f"sender {n}") for n in range(senders)]
        join(self.router, "wan0", "10.88.0.1/24", self.receiver, "eth0", "10.88.0.2/24")
        self.receiver.run("ip", "route", "add", "default", "via", "10.88.0.1")
        for n, sender in enumerate(self.senders, 1):
            join(self.router, f"s{n}", f"10.88.{n}.1/24", sender, "eth0", f"10.88.{n}.2/24")
            sender.run("ip", "route", "add", "default", "via", f"10.88.{n}.1")
        if rate:
            # A burst smaller than what leaves in one call: every packet waits for itself.
            self.router.run("tc", "qdisc", "add", "dev", "wan0", "root", "tbf", "rate",
                            f"{rate}mbit", "burst", "16kb", "limit", queue)

    def dropped(self):
        """Packets that the bottleneck has passed and dropped."""
        text = self.router.run("tc", "-s", "qdisc", "show", "dev", "wan0")
        passed, dropped = re.search(r"Sent \d+ bytes (\d+) pkt \(dropped (\d+)", text).groups()
        return int(passed), int(dropped)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for host in (self.router, self.receiver, *self.senders):
            host.end()


def weft(interface, *words, options=()):
    return [str(WEFT), "run", "--interface", interface, "--stats", *options, "--", *map(str, words)]


def counter(text, name):
    """Sum of a counter of --stats."""
    return sum(int(n) for n in re.findall(rf"^\s+{name}\s+(\d+)\s+#", text, re.M))


def outcome(process, patience):
    """What a program printed, once it has ended well, and its counters."""
    try:
        out, errors = process.communicate(timeout=patience)
    except subprocess.TimeoutExpired:
        process.kill()
        out, errors = process.communicate()
    if process.returncode != 0:
        sys.exit(f"{' '.join(process.args)} failed:\n{out}{errors}")
    return out, errors


class Load:
    """What each sender does; see bench/flows."""

    def __init__(self, seconds, service="rc", queue_pairs=1, size=65_536, depth=32, warm_up=1,
                 waiting="sleep", options=()):
        self.words = (service, queue_pairs, size, depth, warm_up, seconds, waiting)
        self.options = options
        self.patience = warm_up + seconds + 60


def start_flows(receiver, senders, address, load, interface="eth0"):
    """Processes: the receiver's, and one for each sender."""
    there = receiver.start(*weft(interface, FLOWS, "receive", PORT, len(senders),
                                 options=load.options))
    here = [sender.start(*weft(interface, FLOWS, "send", address, PORT, *load.words,
                               options=load.options)) for sender in senders]
    return there, here


def finish_flows(there, here, load):
    """Bytes per second and counters of each sender, then the counters of the receiver."""
    rates, counters = [], []
    for process in here:
        out, errors = outcome(process, load.patience)
        result = json.loads(out.splitlines()[-1])
        rates.append(result["bytes"] / result["seconds"])
        counters.append(errors)
    return rates, counters, outcome(there, load.patience)[1]


def run_flows(receiver, senders, address, load, interface="eth0"):
    return finish_flows(*start_flows(receiver, senders, address, load, interface), load)
