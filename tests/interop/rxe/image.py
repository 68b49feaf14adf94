# SPDX-License-Identifier: Apache-2.0
"""Makes the image of a small Linux guest with the kernel's rdma_rxe driver and the RDMA tools of
this machine: Debian's kernel package, busybox, and what the programs need to run."""
import fcntl
import gzip
import io
import lzma
import os
import pathlib
import re
import shutil
import stat
import subprocess
import tempfile

# Programs for the guest; those that this machine has not are left out.
TOOLS = """ibv_devinfo ibv_rc_pingpong ibv_uc_pingpong ibv_ud_pingpong ibv_srq_pingpong rping
ucmatose udaddy ib_send_bw ib_send_lat ib_write_bw ib_write_lat ib_read_bw ib_read_lat
ib_atomic_bw ib_atomic_lat rdma ip tc timeout stdbuf""".split()
# What stdbuf preloads; the path is compiled into it.
STDBUF = "/usr/libexec/coreutils/libstdbuf.so"
MODULES = """virtio_pci virtio_net crc32_generic ib_core ib_uverbs rdma_cm rdma_ucm rdma_rxe
sch_netem sch_ingress cls_flower act_gact crc32_pclmul""".split()
# For whoever wants them: modprobe loads them in the guest.
MORE_MODULES = "tun bonding 8021q bridge stp llc veth".split()
NEEDED = {"qemu-system-x86_64": "qemu-system-x86", "busybox": "busybox-static", "dash": "dash",
          "rdma": "iproute2", "ip": "iproute2", "dpkg-deb": "dpkg"}

INIT = """#!/bin/sh
export PATH=/usr/bin HOME=/root LC_ALL=C
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
mkdir -p /dev/shm /tmp /run; mount -t tmpfs shm /dev/shm; mount -t tmpfs tmp /tmp
ulimit -l unlimited
while read -r module; do insmod "$module"; done </etc/guest/modules
. /etc/guest/settings
ip link set lo up
for knob in accept_dad accept_ra router_solicitations; do
  for file in /proc/sys/net/ipv6/conf/*/$knob; do echo 0 >"$file"; done
done
ip link set eth0 mtu "$MTU" up
for address in $ADDRESSES; do
  case $address in
    *:*) ip -6 addr add "$address" dev eth0 nodad ;;
    *) ip addr add "$address" dev eth0 ;;
  esac
done
rdma link add rxe0 type rxe netdev eth0
tries=0
until grep -q ACTIVE /sys/class/infiniband/rxe0/ports/1/state || [ $tries = 50 ]; do
  tries=$((tries + 1)); sleep 0.1
done
# One command a line, in base64; the answer is its output in base64, and its exit code.
stty -F /dev/ttyS1 raw -echo 2>/dev/null
exec 3<>/dev/ttyS1
echo ready >&3
while read -r seconds command <&3; do
  printf %s "$command" | base64 -d >/tmp/command
  timeout -s KILL "$seconds" sh /tmp/command </dev/null >/tmp/answer 2>&1 3>&-
  code=$?
  printf '%s %s\\n' "$code" "$(base64 -w0 /tmp/answer)" >&3
done
poweroff -f
"""


class Unavailable(Exception):
    """This machine cannot run the guest; the text says why."""


def run(*words, **options):
    return subprocess.run(words, check=True, capture_output=True, text=True, **options).stdout


class Archive:
    """An initramfs: the "newc" cpio format of the kernel's early user space."""

    def __init__(self):
        self.out = io.BytesIO()
        self.paths = set()
        self.inode = 1

    def _add(self, path, mode, data=b""):
        parent = os.path.dirname(path)
        if parent and parent not in self.paths:
            self.folder(parent)
        if path in self.paths:
            return
        self.paths.add(path)
        self._entry(path, mode, data)

    def _entry(self, path, mode, data):
        name = path.encode() + b"\0"
        fields = [self.inode, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name), 0]
        self.inode += 1
        header = b"070701" + b"".join(b"%08X" % field for field in fields) + name
        self.out.write(header + b"\0" * (-len(header) % 4) + data + b"\0" * (-len(data) % 4))

    def folder(self, path):
        self._add(path, stat.S_IFDIR | 0o755)

    def link(self, path, target):
        self._add(path, stat.S_IFLNK | 0o777, target.encode())

    def file(self, path, data, mode=0o644):
        self._add(path, stat.S_IFREG | mode, data if isinstance(data, bytes) else data.encode())

    def program(self, source, path, content=None):
        """An ELF program with the shared libraries it names. `content`: a file to be put there in
        its place, which needs the same ones."""
        self.file(path, pathlib.Path(content or source).read_bytes(), 0o755)
        listed = subprocess.run(["ldd", source], capture_output=True, text=True, check=False)
        for library in re.findall(r"(/\S+) \(0x", listed.stdout):
            # /lib and the like are links in the guest.
            where = re.sub(r"^/(lib|lib64|bin|sbin)/", r"usr/\1/", library).lstrip("/")
            self.file(where, pathlib.Path(library).resolve().read_bytes(), 0o755)

    def finish(self):
        self._entry("TRAILER!!!", 0, b"")
        return self.out.getvalue()


def unpack_kernel(packed):
    """The ELF kernel inside a bzImage: under emulation it would take seconds to unpack itself."""
    for magic, unpack in ((b"\xfd7zXZ\0", lambda data: lzma.LZMADecompressor().decompress(data)),
                          (b"\x1f\x8b\x08", lambda data: gzip.GzipFile(
                              fileobj=io.BytesIO(data)).read())):
        at = packed.find(magic)
        while at >= 0:
            try:
                kernel = unpack(packed[at:])
                if kernel.startswith(b"\x7fELF"):
                    return kernel
            except (OSError, EOFError, lzma.LZMAError):
                pass
            at = packed.find(magic, at + 1)
    raise Unavailable("the kernel package's image is packed in an unknown way")


def closure(folder, wanted):
    """Paths of the modules and of what they need, dependencies first."""
    paths, needs = {}, {}
    for line in (folder / "modules.dep").read_text().splitlines():
        path, _, rest = line.partition(":")
        name = pathlib.Path(path).name.split(".ko")[0].replace("-", "_")
        paths[name] = path
        needs[name] = [pathlib.Path(p).name.split(".ko")[0].replace("-", "_")
                       for p in rest.split()]
    order = []

    def visit(name):
        if name in order or name not in paths:
            return
        for other in needs[name]:
            visit(other)
        order.append(name)

    for name in wanted:
        visit(name)
    return [paths[name] for name in order]


def fetch_kernel(folder):
    """Downloads and unpacks Debian's kernel package; returns its version."""
    depends = run("apt-cache", "depends", "--important", "linux-image-amd64")
    found = re.search(r"Depends: (linux-image-[0-9]\S*)", depends)
    if not found:
        raise Unavailable("apt does not know linux-image-amd64")
    try:
        run("apt-get", "-q", "download", found.group(1), cwd=folder, timeout=600)
    except subprocess.CalledProcessError as error:
        raise Unavailable(f"apt-get download {found.group(1)} failed: {error.stderr}") from error
    package = next(folder.glob("linux-image-*.deb"))
    run("dpkg-deb", "-x", str(package), str(folder / "kernel"))
    return next((folder / "kernel/lib/modules").iterdir()).name


def add_modules(archive, folder):
    """Those that the guest loads when it boots, and those that it may load."""
    wanted = closure(folder, MODULES)
    there = {*wanted, *closure(folder, MORE_MODULES)}
    where = f"usr/lib/modules/{folder.name}"
    for path in sorted(there):
        archive.file(f"{where}/{path}", (folder / path).read_bytes())
    archive.file(f"{where}/modules.dep", "".join(
        line for line in (folder / "modules.dep").read_text().splitlines(keepends=True)
        if line.partition(":")[0] in there))
    archive.file("etc/guest/modules", "".join(f"/{where}/{path}\n" for path in wanted))


def make(folder):
    """Writes `folder`/vmlinux and `folder`/initrd."""
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        version = fetch_kernel(work)
        tree = work / "kernel"
        modules = tree / "lib/modules" / version
        run("busybox", "depmod", "-b", str(tree), version)
        archive = Archive()
        for path in ("usr/bin", "usr/lib", "usr/lib64", "dev", "proc", "sys", "root", "tmp", "run"):
            archive.folder(path)
        archive.link("var/run", "/run")
        for link in ("bin", "lib", "lib64", "sbin"):
            archive.link(link, "usr/bin" if link.endswith("bin") else "usr/" + link)
        for tool in TOOLS:
            source = shutil.which(tool, path=os.environ["PATH"] + ":/usr/sbin:/sbin")
            if source:
                archive.program(os.path.realpath(source), f"usr/bin/{tool}")
        archive.program(STDBUF, STDBUF.lstrip("/"))
        archive.program(shutil.which("dash"), "usr/bin/sh")
        archive.program(shutil.which("busybox"), "usr/bin/busybox")
        for applet in run("busybox", "--list").split():
            archive.link(f"usr/bin/{applet}", "busybox")
        # libibverbs finds its provider by these two; the path is compiled into it.
        archive.file("etc/libibverbs.d/rxe.driver", "driver rxe\n")
        for provider in pathlib.Path("/usr/lib/x86_64-linux-gnu/libibverbs").glob("librxe-*.so"):
            archive.program(str(provider), str(provider).lstrip("/"))
        # Loaded by glibc when a thread ends.
        archive.program("/lib/x86_64-linux-gnu/libgcc_s.so.1",
                        "usr/lib/x86_64-linux-gnu/libgcc_s.so.1")
        add_modules(archive, modules)
        archive.file("etc/passwd", "root:x:0:0:root:/root:/bin/sh\n")
        archive.file("etc/nsswitch.conf", "hosts: files\n")
        archive.file("etc/hosts", "127.0.0.1 localhost\n")
        archive.file("init", INIT, 0o755)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "vmlinux").write_bytes(
            unpack_kernel((tree / f"boot/vmlinuz-{version}").read_bytes()))
        (folder / "initrd").write_bytes(archive.finish())


def get():
    """The folder with the image, made if there is none yet. Raises Unavailable."""
    missing = sorted({package for program, package in NEEDED.items()
                      if not shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin:/sbin")})
    if os.uname().machine != "x86_64":
        raise Unavailable("the guest is an x86-64 one")
    if missing:
        raise Unavailable(f"missing packages: {' '.join(missing)}")
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME", "/tmp")) / f"weft-rxe-{os.getuid()}"
    cache.mkdir(mode=0o700, parents=True, exist_ok=True)
    if cache.stat().st_uid != os.getuid():
        raise Unavailable(f"{cache} belongs to somebody else")
    with open(cache / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        # Another recipe makes another image.
        recipe = pathlib.Path(__file__).read_bytes()
        stamp = cache / "recipe"
        if not stamp.exists() or stamp.read_bytes() != recipe:
            make(cache)
            stamp.write_bytes(recipe)
    return cache


def main():
    """Makes the image if need be, where the network can be reached: exit code 77 if it cannot."""
    try:
        print(get())
    except Unavailable as error:
        print(f"skipped: {error}")
        raise SystemExit(77) from error


if __name__ == "__main__":
    main()
