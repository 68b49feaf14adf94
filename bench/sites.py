# SPDX-License-Identifier: Apache-2.0
"""Two labs with a node each, which range extenders join over a WAN: one subnet, or two."""
import collections
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
sm = {manager}
{lan}
{parts}
[switch.s-{name}]
ports = 4
[extender.x-{name}]
{kind}
listen = "{listen}"
buffer = "{buffer}"
{own_key}
[extender.x-{name}.remote.{other}]
{path}
{other_key}
[node.n-{name}]
port_guids = ["{guid:#018x}"]
{hosts}
[[link]]
ends = ["n-{name}", "s-{name}"]
[[link]]
ends = ["s-{name}", "x-{name}:1"]
"""
LAN = 'lan = {{ netns = "{netns}", name = "lan1", mtu = 9000 }}'
NAMES = ("west", "east")
THIRD = {"west": 0, "east": 128}  # byte of the IP addresses of their nodes, which are .1
NUMBER = {"west": 0xa01, "east": 0xe01}  # end of the GUIDs of these


@dataclasses.dataclass(frozen=True)
class How:
    """What the sites are, beside their WAN."""
    sealed: bool = False
    apart: bool = False  # each extender is a process of its own, `weft extend`
    opensm: bool = False  # it manages the one subnet, from the node in west
    router: bool = False  # each site is a subnet of its own, managed by Weft's manager


def address(name):
    """Of the site's node."""
    return f"10.254.{THIRD[name]}.1"


def prefix(name):
    """Of GIDs, where the site is a subnet of its own."""
    return f"fd00:0:0:{NAMES.index(name) + 1}:"


def described(how, name, other):
    """What a lab file has of how the sites are."""
    manager = '"weft"' if name == "west" and not how.opensm else '"none"'
    if not how.router:
        return {"manager": manager, "kind": "", "hosts": "", "routes": []}
    return {"manager": f'{{ subnet_prefix = "{prefix(name)}:/64" }}', "kind": 'mode = "router"',
            "hosts": f'[hosts]\n"{address(other)}" = "{prefix(other)}200::{NUMBER[other]:x}"',
            "routes": [f'prefixes = ["{prefix(other)}:/64"]']}


@dataclasses.dataclass(frozen=True)
class Wan:
    rate: float  # bytes a second
    round_trip: float  # seconds
    loss: float = 0
    told: bool = True  # the sites: of the rate; else they find it out
    pace: float = 0  # bytes a second that the sites send; 0: as much as the rate

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


def status(details=False):
    words = [WEFT, "status", "--json", *(["-d"] if details else [])]
    out = subprocess.run(words, capture_output=True, text=True, check=False).stdout
    return json.loads(out or "{}").get("labs", [])


def remotes():
    """Each site's end of the tunnel."""
    return [remote for lab in status() for extender in lab["extenders"]
            for remote in extender["remotes"]]


def counted():
    """Sums of the counters of both extenders and of all ports of the labs, by their names."""
    sums = collections.Counter()
    for lab in status(details=True):
        for extender in lab["extenders"]:
            for part in (extender, *extender["remotes"]):
                sums.update(part["counters"])
        for node in lab["nodes"]:
            for port in node["ports"]:
                sums.update(port.get("counters", {}))
    return sums


def lids(site):
    """Of its nodes, and of its extender where that is a router, the LIDs by their names."""
    return {node["name"]: port["lid"] for lab in status(details=True) if lab["name"] == site
            for node in lab["nodes"] for port in node["ports"] if port["lid"]}


def await_sites(parts):
    """Until both are joined, and all links of their labs are Active."""
    for _ in range(600):
        labs_now = status()
        states = [lab["links"]["states"] for lab in labs_now]
        if len(states) == parts and set().union(*states) == {"Active"} and \
                all(remote["active"] for remote in remotes()):
            return
        time.sleep(0.05)
    sys.exit(f"the links of the two sites are {states} after 30 seconds")


def await_lab(name):
    """Until programs can run there."""
    for _ in range(600):
        if any(lab["name"] == name for lab in status()):
            return
        time.sleep(0.05)
    sys.exit(f"lab {name} has not begun after 30 seconds")


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


def site_file(directory, name, how, wan, **given):
    """The lab file of a site, and where it is."""
    other = NAMES[1 - NAMES.index(name)]
    about = described(how, name, other)
    lines = about.pop("routes") + given.pop("path")
    if wan:
        lines.append(f'rate = "{(wan.pace or wan.rate) * 8e-9:g}Gb/s"' if wan.told
                     else 'rate = "auto"')
    if how.apart:
        about["kind"] += '\npart = "wan"'
    text = SITE.format(name=name, other=other, third=THIRD[name],
                       guid=(2 << 56) + NUMBER[name], path="\n".join(lines),
                       parts="[part]\ncore = {}\nwan = {}" if how.apart else "", **about, **given)
    file = directory / f"{name}.toml"
    file.write_text(text, encoding="utf-8")
    return file


@contextlib.contextmanager
def sites(wan, buffer=None, how=How(), settings=None, lan=None, say=lambda *words: None,
          report=subprocess.DEVNULL):
    """Both, with the emulator between them; without a WAN, joined directly, over IPv6, and each on
    the processor of its program (perftest_runs), as if it were a machine: where the kernel puts
    both labs on one, or each on the other's, it is another measurement. `settings`: a file of the
    emulator's, by which the WAN may be changed. `lan`: for each site the file of a network
    namespace, in which its node has the Ethernet interface lan1. `report`: a file that gets what
    the emulator has counted, as JSON, when it ends. Yields where programs run, and the emulator's
    process."""
    host = "127.0.0.1" if wan else "[::1]"
    west, east, between = (f"{host}:{port}" for port in free_ports(3))
    with labs.directory() as directory, contextlib.ExitStack() as running:
        keys = new_keys(directory) if how.sealed else {}
        for name, listen, remote, processor in (("west", west, between if wan else east, 0),
                                                ("east", east, "" if wan else west, 1)):
            own_key, other_key = keys.get(name, ("insecure = true", ""))
            file = site_file(directory, name, how, wan, listen=listen,
                             path=[f'address = "{remote}"'] if remote else [],
                             buffer=f"{buffer or wan.buffer()}B", own_key=own_key,
                             other_key=other_key,
                             lan=LAN.format(netns=lan[name]) if lan else "")
            place = () if wan else ("taskset", "-c", processor)
            part = ("--part", "core") if how.apart else ()
            running.enter_context(labs.background(*place, WEFT, "up", *part, file))
            if how.apart:
                running.enter_context(labs.background(*place, WEFT, "extend", file))
        emulator = None
        if wan:
            words = ("wan-emulator", "udp", between, east, "--path", wan.emulation())
            say("weft", *words)
            if how.sealed:
                running.enter_context(labs.background(WEFT, words[0], "stream", *words[2:]))
            if settings:
                words += ("--settings", settings)
            emulator = running.enter_context(labs.background(WEFT, *words, "--json",
                                                             stdout=report))
        if how.opensm:
            await_lab("west")
            running.enter_context(labs.background(WEFT, "run", "--lab", "west", "--node", "n-west",
                                                  "--", "opensm", "-f", directory / "opensm.log"))
        await_sites(4 if how.apart else 2)
        yield Path("two sites", nodes=("n-east", "n-west"), labs=("east", "west")), emulator
