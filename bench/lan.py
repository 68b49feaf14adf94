#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ethernet over the fabric, between two nodes of a lab, beside what forwards the same frames with
no fabric at all: bench/tap_forwarder, and the tunnels that a person would pick.

One TCP connection of iperf3, and round trips of ICMP echoes, each sent when the one before has
come.
Then what a broadcast costs the lab's process: it is sent from one buffer to each further node.

usage: lan [--rounds N] [--seconds N] [--mtu BYTES]
"""
import argparse
import contextlib
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import time

import labs
from ethernets import TUNNELS, Ethernet, forwarder, has_interface, two_hosts, until
from labs import WEFT, background
from networks import become_network_root

# Of the LAN's rate: how much of which other one it should be at least; and of its round trip.
GOALS = {"forwarder with offloads": 0.6, "forwarder with offloads that spins": 0.6,
         "forwarder without offloads": 2.0}
SPIN_US = 50  # as a lab's process does before it sleeps
TUNNEL, ROUND_TRIP = 1.0, 1.5
NODES = (2, 64)  # that get a broadcast
BROADCASTS = 500
ECHOES = 3000


def interfaces():
    out = subprocess.run([WEFT, "lan", "--json"], capture_output=True, text=True,
                         check=False).stdout
    return json.loads(out or "{}").get("interfaces", [])


def all_up(count):
    """Each with a carrier, and with a peer in each other."""
    there = interfaces()
    return len(there) == count and all(
        each["state"] == "up" and each["peer_count"] == count - 1 for each in there)


def lab_file(directory, nodes, options):
    """A switch with so many nodes."""
    lines = ["name = \"bench\"", f"lan = {options}", "[switch.s]", "ports = 254"]
    for n in range(nodes):
        lines += [f"[node.n{n}]", "[[link]]", f"ends = [\"n{n}\", \"s\"]"]
    file = directory / "lan.toml"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


@contextlib.contextmanager
def lan(directory, mtu):
    """Two nodes in namespaces of their own."""
    with two_hosts() as hosts:
        for n, host in enumerate(hosts):
            link = directory / f"net-n{n}"
            link.unlink(missing_ok=True)
            link.symlink_to(f"/proc/{host.keeper.pid}/ns/net")
        options = f"{{ netns = \"{directory}/net-{{node}}\", mtu = {mtu} }}"
        with background(WEFT, "up", lab_file(directory, 2, options)):
            until(lambda: all_up(2), "the LAN did not come up")
            yield Ethernet(hosts, "lan1")


def ethernets(directory, mtu):
    """What is measured, by name."""
    out = {"forwarder with offloads": lambda: forwarder("offloads", mtu),
           "forwarder with offloads that spins": lambda: forwarder("offloads", mtu, SPIN_US),
           "forwarder without offloads": lambda: forwarder("plain", mtu),
           "LAN": lambda: lan(directory, mtu)}
    for name, (program, make) in TUNNELS.items():
        if shutil.which(program):
            out[name] = make
        else:
            print(f"{name} is left out: there is no {program}")
    return out


def broadcast_cost(directory, nodes):
    """CPU seconds of the lab's process for a broadcast of 1500 bytes that all others get; all nodes
    have their interfaces in this namespace."""
    with background(WEFT, "up", lab_file(directory, nodes, "true")) as process:
        until(lambda: all_up(nodes), f"the LAN of {nodes} nodes did not come up")
        sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        sender.bind(("lan-n0", 0))
        own = sender.getsockname()[4]
        frame = b"\xff" * 6 + own + b"\x88\xb5" + bytes(1500)
        before = frames(nodes), processor_time(process.pid)
        for _ in range(BROADCASTS):
            sender.send(frame)
            time.sleep(0.005)
        until(lambda: frames(nodes) - before[0] >= BROADCASTS * (nodes - 1) * 0.99,
              "broadcasts were lost")
        copied = sum(each["packets"].get("tx_copied", 0) for each in interfaces())
        if copied:
            sys.exit(f"the payload of {copied} packets was copied")
        return (processor_time(process.pid) - before[1]) / BROADCASTS


def frames(nodes):
    """That all interfaces but the sender's gave to their kernels."""
    out = subprocess.run(["ip", "-j", "-s", "link", "show"], capture_output=True, check=True)
    return sum(each["stats64"]["rx"]["packets"] for each in json.loads(out.stdout)
               if each["ifname"] in {f"lan-n{n}" for n in range(1, nodes)})


def processor_time(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        user, system = file.read().rsplit(")", 1)[1].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--mtu", type=int, default=1500)
    options = parser.parse_args()
    become_network_root()
    with labs.directory() as directory:
        rates, trips = {}, {}
        everyone = ethernets(directory, options.mtu)
        for _ in range(options.rounds):
            for name, make in everyone.items():
                with make() as ethernet:
                    ethernet.address()
                    rates.setdefault(name, []).append(ethernet.gbit_per_s(options.seconds))
                    trips.setdefault(name, []).append(ethernet.round_trip_us(ECHOES))
                    by_ping = ethernet.ping_us(ECHOES)
                print(f"{name}: {rates[name][-1]:.2f} Gb/s, {trips[name][-1]:.2f} us, by ping "
                      f"{by_ping:.0f} us", flush=True)
        tell(rates, trips)
        cost = {nodes: broadcast_cost(directory, nodes) for nodes in NODES}
    few, many = NODES
    further = (cost[many] - cost[few]) / (many - few) * 1e6
    print(f"a broadcast costs {cost[few] * 1e6:.1f} us among {few} nodes, "
          f"{cost[many] * 1e6:.1f} us among {many}, its payload in one place")
    print(f"result: broadcast, us of CPU per further node = {further:.2f}")


def tell(rates, trips):
    rate = {name: statistics.median(each) for name, each in rates.items()}
    trip = {name: statistics.median(each) for name, each in trips.items()}
    for name, each in rate.items():
        if name == "LAN":
            continue
        goal = GOALS.get(name, TUNNEL)
        print(f"TCP by the LAN is {rate['LAN'] / each:.2f} of {name} (at least {goal})")
        print(f"result: TCP, LAN / {name} = {rate['LAN'] / each:.2f}")
    for how in ("", " that spins"):
        other = trip[f"forwarder with offloads{how}"]
        slower = trip["LAN"] / other
        print(f"its round trip of {trip['LAN']:.2f} us is {slower:.2f} of that of a "
              f"forwarder{how}, {other:.2f} us (at most {ROUND_TRIP})")
        print(f"result: round trip, LAN / forwarder{how} = {slower:.2f}")


if __name__ == "__main__":
    main()
