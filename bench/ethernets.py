# SPDX-License-Identifier: Apache-2.0
"""Ethernets between two network namespaces, each by another program in user space, and what iperf3
and ping find of them. Each is a context that yields its Ethernet."""
import contextlib
import dataclasses
import json
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from labs import background
from networks import HERE, Host, join

ADDRESSES = ("10.90.0.1", "10.90.0.2")  # of the Ethernet's two stations
UNDERLAY = ("10.91.0.1", "10.91.0.2")  # of the network that a tunnel goes through
UNDERLAY_MTU = 9000  # a frame of a tunnel is one packet of it
PORT = 18800
PATIENCE = 20  # seconds, for programs to begin


@dataclasses.dataclass(frozen=True)
class Ethernet:
    hosts: tuple
    interface: str

    def address(self):
        """Gives both stations their addresses, and waits until they reach each other."""
        for host, address in zip(self.hosts, ADDRESSES):
            host.run("ip", "address", "add", f"{address}/24", "dev", self.interface)
            host.run("ip", "link", "set", self.interface, "up")
        until(lambda: quiet(self.hosts[0], "ping", "-c1", "-W1", ADDRESSES[1]),
              f"{ADDRESSES[1]} does not answer by {self.interface}")

    def gbit_per_s(self, seconds):
        """Of one TCP connection, as its receiver has it."""
        server = self.hosts[1].start("iperf3", "-s", "-1", "-p", PORT)
        until(lambda: str(PORT) in self.hosts[1].run("ss", "-Hltn"), "iperf3 does not listen")
        report = json.loads(self.hosts[0].run("iperf3", "-J", "-c", ADDRESSES[1], "-p", PORT, "-O1",
                                              "-t", seconds))
        server.communicate()
        return report["end"]["sum_received"]["bits_per_second"] / 1e9

    def round_trip_us(self, count):
        """Median of echoes, each sent when the one before has come; of bench/echo_trips, since ping
        tells no less than microseconds."""
        program = HERE / "programs" / "echo_trips"
        return json.loads(self.hosts[0].run(program, ADDRESSES[1], count))["median_ns"] / 1000

    def ping_us(self, count):
        """The same by ping."""
        text = self.hosts[0].run("ping", "-A", "-c", count, ADDRESSES[1])
        return 1000 * statistics.median(map(float, re.findall(r" time=([\d.]+) ms", text)))


def quiet(host, *words):
    """Whether it ends well."""
    return subprocess.run(host.command(*words), capture_output=True, check=False).returncode == 0


def until(condition, otherwise):
    for _ in range(PATIENCE * 50):
        if condition():
            return
        time.sleep(0.02)
    sys.exit(otherwise)


def has_interface(host, name):
    return quiet(host, "ip", "link", "show", "dev", name)


@contextlib.contextmanager
def two_hosts():
    hosts = (Host("left"), Host("right"))
    try:
        yield hosts
    finally:
        for host in hosts:
            host.end()


@contextlib.contextmanager
def forwarder(how, mtu=1500, spin_us=0):
    """bench/tap_forwarder: "offloads" or "plain"; it may spin before it sleeps."""
    with two_hosts() as hosts:
        spaces = [f"/proc/{host.keeper.pid}/ns/net" for host in hosts]
        words = [HERE / "programs" / "tap_forwarder", *spaces, "tap0", mtu, how,
                 spin_us]
        with background(*words, stdout=subprocess.PIPE) as process:
            if process.stdout.readline() != b"ready\n":
                sys.exit("bench/tap_forwarder did not begin")
            yield Ethernet(hosts, "tap0")


@contextlib.contextmanager
def _tunnel(begin):
    """Over a veth pair. `begin(hosts, end, directory)`: the words that start the program at an end;
    it makes tap0."""
    with two_hosts() as hosts, tempfile.TemporaryDirectory(prefix="weft-bench-") as directory:
        join(hosts[0], "eth0", f"{UNDERLAY[0]}/24", hosts[1], "eth0", f"{UNDERLAY[1]}/24")
        for host in hosts:
            host.run("ip", "link", "set", "eth0", "mtu", UNDERLAY_MTU)
        with contextlib.ExitStack() as programs:
            for end, host in enumerate(hosts):
                words = begin(end, pathlib.Path(directory))
                programs.enter_context(background(*host.command(*words)))
            for host in hosts:
                until(lambda host=host: has_interface(host, "tap0"), "the tunnel did not begin")
            yield Ethernet(hosts, "tap0")


def openvpn():
    """Without cipher and digest."""
    return _tunnel(lambda end, _: [
        "openvpn", "--dev", "tap0", "--dev-type", "tap", "--proto", "udp", "--local", UNDERLAY[end],
        "--remote", UNDERLAY[1 - end], "--cipher", "none", "--auth", "none", "--sndbuf", "1000000",
        "--rcvbuf", "1000000", "--verb", "0"])


def socat():
    return _tunnel(lambda end, _: [
        "socat", "-b65536", "TUN,tun-name=tap0,tun-type=tap,iff-no-pi,up",
        f"UDP4-DATAGRAM:{UNDERLAY[1 - end]}:{PORT},bind={UNDERLAY[end]}:{PORT}"])


def _begin_tinc(end, directory):
    """A switch without cipher and digest; the keys are only for who may join it."""
    names = ("left", "right")
    if end == 0:
        for name, address in zip(names, UNDERLAY):
            own = directory / name
            (own / "hosts").mkdir(parents=True)
            (own / "tinc.conf").write_text(
                f"Name = {name}\nMode = switch\nDeviceType = tap\nInterface = tap0\n"
                f"ConnectTo = {names[1 - names.index(name)]}\n", encoding="utf-8")
            (own / "hosts" / name).write_text(
                f"Address = {address}\nCipher = none\nDigest = none\n", encoding="utf-8")
            subprocess.run(["tincd", "-c", own, "-K2048"], stdin=subprocess.DEVNULL, check=True,
                           capture_output=True)
        for name, other in (names, names[::-1]):
            shutil.copy(directory / name / "hosts" / name, directory / other / "hosts" / name)
    own = directory / names[end]
    return ["tincd", "-c", own, "--pidfile", own / "pid", "-D"]


def tinc():
    return _tunnel(_begin_tinc)


# What a person would pick, and the program that it needs.
TUNNELS = {"OpenVPN without cipher": ("openvpn", openvpn), "tinc without cipher": ("tincd", tinc),
           "socat over UDP": ("socat", socat)}
