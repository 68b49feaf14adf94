# SPDX-License-Identifier: Apache-2.0
"""Two labs with a node each, which range extenders make one subnet, and a WAN between them."""
import contextlib
import dataclasses
import json
import socket
import subprocess
import sys
import time

import labs
from labs import WEFT
from perftest_runs import Path

SITE = """name = "{name}"
network = "10.254.{third}.0/17"
sm = "{manager}"
{lan}
[switch.s-{name}]
ports = 4
[extender.x-{name}]
listen = "{listen}"
buffer = "{buffer}"
{own_key}
[extender.x-{name}.remote.{other}]
{path}
{other_key}
[node.n-{name}]
[[link]]
ends = ["n-{name}", "s-{name}"]
[[link]]
ends = ["s-{name}", "x-{name}:1"]
"""
LAN = 'lan = {{ netns = "{netns}", name = "lan1", mtu = 9000 }}'
NAMES = ("west", "east")


@dataclasses.dataclass(frozen=True)
class Wan:
    rate: float  # bytes a second
    round_trip: float  # seconds
    loss: float = 0
    told: bool = True  # the sites: of the rate; else they find it out

    def product(self):
        """Bytes that are under way in a round trip."""
        return self.rate * self.round_trip

    def buffer(self):
        """Bytes of a lane, for a frame or two more than the product; while frames are lost, what
        was sent after them waits, too."""
        return int(self.product() * (2.5 if self.loss else 1.2)) + (1 << 20)

    def emulation(self):
        loss = f",loss={self.loss:%}" if self.loss else ""
        return f"rate={self.rate * 8e-9:g}Gb/s,delay={self.round_trip * 500:g}ms{loss}"


def status():
    out = subprocess.run([WEFT, "status", "--json"], capture_output=True, text=True,
                         check=False).stdout
    return json.loads(out or "{}").get("labs", [])


def remotes():
    """Each site's end of the tunnel."""
    return [remote for lab in status() for extender in lab["extenders"]
            for remote in extender["remotes"]]


def counted(name):
    """Sum of a counter of both ends of the tunnel."""
    return sum(remote["counters"].get(name, 0) for remote in remotes())


def await_one_subnet():
    for _ in range(600):
        states = [lab["links"]["states"] for lab in status()]
        if states == [{"Active": 2}] * 2:
            return
        time.sleep(0.05)
    sys.exit(f"the links of the two sites are {states} after 30 seconds")


def free_ports(count):
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket(socket.AF_INET6, socket.SOCK_DGRAM))
                   for _ in range(count)]
        for each in sockets:
            each.bind(("::", 0))
        return [each.getsockname()[1] for each in sockets]


def new_keys(directory):
    """For each site the line of its own key, and that of the other one's fingerprint."""
    prints = {name: subprocess.run([WEFT, "extend", "keygen", directory / f"{name}.key"],
                                   capture_output=True, text=True, check=True).stdout.strip()
              for name in NAMES}
    return {name: (f'key = "{directory / name}.key"', f'fingerprint = "{prints[other]}"')
            for name, other in zip(NAMES, reversed(NAMES))}


@contextlib.contextmanager
def sites(wan, buffer=None, sealed=False, settings=None, lan=None, say=lambda *words: None):
    """Both, with the emulator between them; without a WAN, joined directly, over IPv6, and each on
    the processor of its program (perftest_runs), as if it were a machine: where the kernel puts
    both labs on one, or each on the other's, it is another measurement. `settings`: a file of the
    emulator's, by which the WAN may be changed. `lan`: for each site the file of a network
    namespace, in which its node has the Ethernet interface lan1. Yields where programs run, and the
    emulator's process."""
    host = "127.0.0.1" if wan else "[::1]"
    west, east, between = (f"{host}:{port}" for port in free_ports(3))
    with labs.directory() as directory, contextlib.ExitStack() as running:
        keys = new_keys(directory) if sealed else {}
        for name, other, third, manager, listen, remote, processor in (
                ("west", "east", 0, "weft", west, between if wan else east, 0),
                ("east", "west", 128, "none", east, "" if wan else west, 1)):
            lines = [f'address = "{remote}"'] if remote else []
            if wan:
                lines.append(f'rate = "{wan.rate * 8e-9:g}Gb/s"' if wan.told else 'rate = "auto"')
            own_key, other_key = keys.get(name, ("insecure = true", ""))
            text = SITE.format(name=name, other=other, third=third, manager=manager, listen=listen,
                               buffer=f"{buffer or wan.buffer()}B", path="\n".join(lines),
                               own_key=own_key, other_key=other_key,
                               lan=LAN.format(netns=lan[name]) if lan else "")
            (directory / f"{name}.toml").write_text(text, encoding="utf-8")
            place = () if wan else ("taskset", "-c", processor)
            running.enter_context(labs.background(*place, WEFT, "up", directory / f"{name}.toml"))
        emulator = None
        if wan:
            words = ("wan-emulator", "udp", between, east, "--path", wan.emulation())
            say("weft", *words)
            if sealed:
                running.enter_context(labs.background(WEFT, words[0], "stream", *words[2:]))
            if settings:
                words += ("--settings", settings)
            emulator = running.enter_context(labs.background(WEFT, *words))
        await_one_subnet()
        yield Path("two sites", nodes=("n-east", "n-west"), labs=("east", "west")), emulator
