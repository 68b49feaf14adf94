# SPDX-License-Identifier: Apache-2.0
"""A running guest with rdma_rxe, on a tap device in the namespace of the caller."""
import base64
import dataclasses
import os
import pathlib
import socket
import subprocess
import tempfile
import time

import image

ADDRESSES = ("10.77.0.2/24", "fd77::2/64")
HOST_ADDRESSES = ("10.77.0.1/24", "fd77::1/64")
GUEST, HOST = "10.77.0.2", "10.77.0.1"
GUEST6, HOST6 = "fd77::2", "fd77::1"
TAP = "rxe-tap"
HOST_MAC, GUEST_MAC = "02:00:00:77:00:01", "02:00:00:77:00:02"


@dataclasses.dataclass(frozen=True)
class Place:
    """A guest's interface, and ours at the other end of the cable: a tap device."""
    tap: str = TAP
    mac: str = GUEST_MAC
    addresses: tuple = ADDRESSES
    # Of ours: nobody is asked for them, nor for the guest's. Without any the guest has to ask for
    # whomever it speaks to.
    our_mac: str = HOST_MAC
    our_addresses: tuple = HOST_ADDRESSES

    def pairs(self):
        """Our addresses and the guest's, without their lengths."""
        return [(ours.partition("/")[0], theirs.partition("/")[0])
                for ours, theirs in zip(self.our_addresses, self.addresses)]


def weft_in(tree):
    """What puts the commands of a build's tree into a guest, at /weft: `extra` of Guest."""
    def add(archive):
        for path in (tree / "bin/weft", tree / "bin/weftd", *sorted((tree / "lib/weft").iterdir())):
            # All of it lies in the guest's memory: without what debuggers want, a tenth is left.
            with tempfile.NamedTemporaryFile() as small:
                image.run("strip", "--strip-debug", "-o", small.name, str(path))
                archive.program(path, f"weft/{path.relative_to(tree)}", small.name)
    return add


class Guest:
    """Use as a context: boots, and is ended with it."""

    def __init__(self, mtu=1500, boot_seconds=240, network=True, processors=1, extra=None,
                 capture=False, place=Place()):
        """`network`: whether its interface leads to ours, or nowhere. `extra`: called with an
        archive, to put more into the guest. `capture`: whether traffic() has what crosses it."""
        self.mtu = mtu
        self.boot_seconds = boot_seconds
        self.network = network
        self.processors = processors
        self.extra = extra
        self.capture = capture
        self.place = place
        self.folder = None
        self.qemu = None
        self.channel = None

    def __enter__(self):
        source = image.get()
        self.folder = tempfile.TemporaryDirectory(prefix="weft-guest.")
        work = pathlib.Path(self.folder.name)
        try:
            if self.network:
                self._network()
            self._boot(source, work)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, *_):
        if self.channel:
            self.channel.close()
        if self.qemu:
            self.qemu.kill()
            self.qemu.wait()
        if self.network:
            subprocess.run(["ip", "link", "del", self.place.tap], check=False,
                           capture_output=True)
        if self.folder:
            self.folder.cleanup()

    def _network(self):
        tap = self.place.tap
        for words in (["tuntap", "add", "dev", tap, "mode", "tap"],
                      ["link", "set", tap, "mtu", str(self.mtu), "addrgenmode", "none"],
                      ["link", "set", tap, "address", self.place.our_mac],
                      ["link", "set", tap, "up"],
                      *(["-6" if ":" in a else "-4", "addr", "add", a, "dev", tap,
                         *(["nodad"] if ":" in a else [])] for a in self.place.our_addresses),
                      # Programs with short timeouts are not to wait for a slow guest to be found.
                      *(["neigh", "add", a, "lladdr", self.place.mac, "dev", tap, "nud",
                         "permanent"] for _, a in self.place.pairs())):
            done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise image.Unavailable(f"ip {' '.join(words)}: {done.stderr.strip()}")

    def _boot(self, source, work):
        # What this guest has besides the image follows it: the kernel unpacks both.
        extra = image.Archive()
        extra.paths.add("etc/guest")
        extra.file("etc/guest/settings",
                   f"MTU={self.mtu}\nADDRESSES='{' '.join(self.place.addresses)}'\n")
        if self.extra:
            self.extra(extra)
        initrd = work / "initrd"
        initrd.write_bytes((source / "initrd").read_bytes() + extra.finish())
        control = work / "control"
        # No vnet_hdr: without it the guest gets no offloads, and what crosses the tap is what
        # would be on a wire.
        with open(work / "qemu.log", "wb") as log:
            self.qemu = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "qemu-system-x86_64", "-M", "pc",
                 "-accel", "tcg", "-cpu", "max", "-smp", str(self.processors), "-m", "384",
                 "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
                 "-kernel", source / "vmlinux", "-initrd", initrd, "-append",
                 # On a busy machine the timer of a guest comes too late for the check.
                 "console=ttyS0 quiet panic=-1 mitigations=off random.trust_cpu=on net.ifnames=0 "
                 "no_timer_check",
                 "-serial", f"file:{work / 'console.log'}",
                 "-chardev", f"socket,id=control,path={control},server=on,wait=off",
                 "-serial", "chardev:control",
                 "-netdev", f"tap,id=net,ifname={self.place.tap},script=no,downscript=no,"
                 "vnet_hdr=off" if self.network else "hubport,id=net,hubid=0",
                *(["-object", f"filter-dump,id=traffic,netdev=net,file={self.traffic()}"]
                  if self.capture else []),
                 "-device", f"virtio-net-pci,netdev=net,mac={self.place.mac},"
                 f"host_mtu={self.mtu},romfile="],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        deadline = time.monotonic() + self.boot_seconds
        self.channel = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        while self.channel.connect_ex(os.fspath(control)) != 0:
            self._still_there(deadline)
            time.sleep(0.02)
        while self._line(deadline) != "ready":
            self._still_there(deadline)
        for address, _ in self.place.pairs():
            self.run(f"ip neigh add {address} lladdr {self.place.our_mac} dev eth0 nud permanent")

    def traffic(self):
        """The capture (pcap) of what the guest has been sent and has sent, before it loses any."""
        return pathlib.Path(self.folder.name) / "traffic.pcap"

    def _still_there(self, deadline):
        if self.qemu.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError("the guest did not come up:\n" + self._said())

    def _said(self):
        """The last words of the guest's console and of qemu."""
        logs = [pathlib.Path(self.folder.name) / name for name in ("console.log", "qemu.log")]
        return "\n".join(log.read_text(errors="replace")[-2000:] for log in logs if log.exists())

    def _line(self, deadline):
        line = bytearray()
        while not line.endswith(b"\n"):
            self.channel.settimeout(max(0.1, deadline - time.monotonic()))
            try:
                piece = self.channel.recv(1)
            except TimeoutError as late:
                raise RuntimeError("the guest does not answer:\n" + self._said()) from late
            if not piece:
                raise RuntimeError("the guest ended:\n" + self._said())
            line += piece
        return line.decode(errors="replace").strip()

    def run(self, command, seconds=60):
        """A shell command in the guest; returns its exit code and its output."""
        packed = base64.b64encode(command.encode()).decode()
        self.channel.sendall(f"{seconds} {packed}\n".encode())
        deadline = time.monotonic() + seconds + 30
        code, _, answer = self._line(deadline).partition(" ")
        return int(code), base64.b64decode(answer).decode(errors="replace")

    def start(self, name, command):
        """Starts a command; result() has what became of it."""
        self.run(f"rm -f /tmp/{name}.*; ( {{ {command}; }} >/tmp/{name}.out 2>&1; "
                 f"echo $? >/tmp/{name}.code ) >/dev/null 2>&1 &")

    def troubles(self):
        """What the kernel has said since the last call, and who is still at work: for a failure."""
        return self.run("dmesg -c | tail -n 40; ps -o pid,stat,args | grep -v ']$'")[1]

    def result(self, name, seconds=60):
        code, output = self.run(
            f"tries=0; until [ -s /tmp/{name}.code ] || [ $tries = {seconds * 10} ]; do "
            f"tries=$((tries + 1)); sleep 0.1; done; cat /tmp/{name}.out; "
            f"exit $(cat /tmp/{name}.code || echo 124)", seconds + 10)
        return code, output
