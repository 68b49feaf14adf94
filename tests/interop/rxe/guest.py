# SPDX-License-Identifier: Apache-2.0
"""A running guest with rdma_rxe, on a tap device in the namespace of the caller."""
import base64
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


class Guest:
    """Use as a context: boots, and is ended with it."""

    def __init__(self, mtu=1500, boot_seconds=90):
        self.mtu = mtu
        self.boot_seconds = boot_seconds
        self.folder = None
        self.qemu = None
        self.channel = None

    def __enter__(self):
        source = image.get()
        self.folder = tempfile.TemporaryDirectory(prefix="weft-guest.")
        work = pathlib.Path(self.folder.name)
        try:
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
        subprocess.run(["ip", "link", "del", TAP], check=False, capture_output=True)
        if self.folder:
            self.folder.cleanup()

    def _network(self):
        for words in (["tuntap", "add", "dev", TAP, "mode", "tap"],
                      ["link", "set", TAP, "mtu", str(self.mtu), "addrgenmode", "none"],
                      ["link", "set", TAP, "up"],
                      *(["-6" if ":" in a else "-4", "addr", "add", a, "dev", TAP,
                         *(["nodad"] if ":" in a else [])] for a in HOST_ADDRESSES)):
            done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise image.Unavailable(f"ip {' '.join(words)}: {done.stderr.strip()}")

    def _boot(self, source, work):
        # What this guest has besides the image follows it: the kernel unpacks both.
        extra = image.Archive()
        extra.paths.add("etc/guest")
        extra.file("etc/guest/settings",
                   f"MTU={self.mtu}\nADDRESSES='{' '.join(ADDRESSES)}'\n")
        initrd = work / "initrd"
        initrd.write_bytes((source / "initrd").read_bytes() + extra.finish())
        control = work / "control"
        # No vnet_hdr: without it the guest gets no offloads, and what crosses the tap is what
        # would be on a wire.
        with open(work / "qemu.log", "wb") as log:
            self.qemu = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "qemu-system-x86_64", "-M", "pc",
                 "-accel", "tcg", "-cpu", "max", "-smp", "1", "-m", "384", "-nodefaults",
                 "-no-user-config", "-display", "none", "-no-reboot",
                 "-kernel", source / "vmlinux", "-initrd", initrd, "-append",
                 "console=ttyS0 quiet panic=-1 mitigations=off random.trust_cpu=on net.ifnames=0",
                 "-serial", f"file:{work / 'console.log'}",
                 "-chardev", f"socket,id=control,path={control},server=on,wait=off",
                 "-serial", "chardev:control",
                 "-netdev", f"tap,id=net,ifname={TAP},script=no,downscript=no,vnet_hdr=off",
                 "-device", f"virtio-net-pci,netdev=net,host_mtu={self.mtu},romfile="],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        deadline = time.monotonic() + self.boot_seconds
        while not control.exists():
            self._still_there(work, deadline)
            time.sleep(0.02)
        self.channel = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.channel.connect(os.fspath(control))
        while self._line(deadline) != "ready":
            self._still_there(work, deadline)

    def _still_there(self, work, deadline):
        if self.qemu.poll() is None and time.monotonic() < deadline:
            return
        said = [(work / name).read_text(errors="replace")[-2000:]
                for name in ("console.log", "qemu.log") if (work / name).exists()]
        raise RuntimeError("the guest did not come up:\n" + "\n".join(said))

    def _line(self, deadline):
        line = bytearray()
        while not line.endswith(b"\n"):
            self.channel.settimeout(max(0.1, deadline - time.monotonic()))
            piece = self.channel.recv(1)
            if not piece:
                raise RuntimeError("the guest ended")
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

    def result(self, name, seconds=60):
        code, output = self.run(
            f"tries=0; until [ -s /tmp/{name}.code ] || [ $tries = {seconds * 10} ]; do "
            f"tries=$((tries + 1)); sleep 0.1; done; cat /tmp/{name}.out; "
            f"exit $(cat /tmp/{name}.code || echo 124)", seconds + 10)
        return code, output
