#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Traffic of its own through `weft wan-emulator`, and what must come of it: usage:
wan_traffic.py WEFT faults|ways|change|streams. Ends with 0, or says what is wrong."""

import hashlib
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import zlib

SIZE = 200           # of a datagram
GROUP = 64           # that many fit into the smallest receive buffer
LIMIT = 50           # seconds, for anything that has to come to pass
ECT0, CE = 2, 3
IP_RECVTOS = 13


def check(condition, *what):
    if not condition:
        sys.exit("wan_traffic: " + " ".join(str(word) for word in what))


def await_that(condition, what):
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
    return check(False, "never:", what)


class Emulator:
    """A process, and what it says of itself."""

    def __init__(self, weft, *arguments):
        self.process = subprocess.Popen([weft, "wan-emulator", "--json", *arguments],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        ready = self.process.stderr.readline()
        check(" to " in ready, "the emulator says:", ready)
        self.listens = ready.split()[3]

    @property
    def address(self):
        host, port = self.listens.rsplit(":", 1)
        return host.strip("[]"), int(port)

    def report(self):
        self.process.send_signal(signal.SIGUSR1)
        return json.loads(self.process.stdout.readline())

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        out, _ = self.process.communicate(timeout=LIMIT)
        check(self.process.returncode == 0, "ended with", self.process.returncode)
        return json.loads(out.splitlines()[-1])


def datagram(kind, number):
    head = struct.pack(">4sIQ", kind, number, time.monotonic_ns())
    body = head + bytes(SIZE - len(head) - 4)
    return body + struct.pack(">I", zlib.crc32(body))


class Target:
    """Takes datagrams, and counts what has become of them."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.settimeout(0.05)
        self.total = self.damaged = self.behind = self.doubled = 0
        self.seen, self.last, self.fence = set(), -1, -1
        self.least_delay = 1 << 62

    def take(self):
        """One datagram, or False when none came for a while."""
        try:
            data = self.socket.recv(65536)
        except TimeoutError:
            return False
        self.total += 1
        if struct.pack(">I", zlib.crc32(data[:-4])) != data[-4:]:
            self.damaged += 1
            return True
        kind, number, sent_at = struct.unpack_from(">4sIQ", data)
        self.least_delay = min(self.least_delay, time.monotonic_ns() - sent_at)
        if kind == b"FNCE":
            self.fence = max(self.fence, number)
            return True
        self.doubled += number in self.seen
        self.behind += number < self.last and number not in self.seen
        self.seen.add(number)
        self.last = max(self.last, number)
        return True


def send_all(client, target, emulator, count):
    """In groups; after each a fence is sent until it arrives, and so has what was before it."""
    sent = 0
    for group, first in enumerate(range(0, count, GROUP)):
        for number in range(first, min(first + GROUP, count)):
            sent += client.sendto(datagram(b"DATA", number), emulator.address) > 0
        end = time.monotonic() + LIMIT
        while target.fence < group:
            check(time.monotonic() < end, "no fence has come through")
            sent += client.sendto(datagram(b"FNCE", group), emulator.address) > 0
            while target.fence < group and target.take():
                pass
    return sent


def near(name, count, trials, chance):
    """Within five standard deviations of what chance does."""
    mean = trials * chance
    spread = 5 * (mean * (1 - chance)) ** 0.5
    check(abs(count - mean) <= spread, name, count, "of", trials, "is not about", mean)


def faults(weft):
    target = Target()
    client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    emulator = Emulator(weft, "--forward", "delay=2ms,loss=5%,duplicate=2%,reorder=3%,"
                        "bit_errors=1e-5,late=500us,seed=9", "udp", "127.0.0.1:0",
                        "127.0.0.1:%d" % target.socket.getsockname()[1])
    sent = send_all(client, target, emulator, 12_000)

    def all_is_through():
        target.take()
        now = emulator.report()["forward"]
        return now["under_way"] == 0 and now["counters"]["delivered"] == target.total and now
    counters = await_that(all_is_through, "what was delivered is what came")["counters"]
    check(counters["overrun"] == 0 and counters["offered"] == sent, "sent", sent, counters)
    for name in ("no_memory", "foreign", "not_sent", "flow_gone", "too_long", "queue_full"):
        check(counters[name] == 0, name, counters)
    arrived = sent - counters["lost"]
    check(counters["delivered"] == arrived + counters["duplicated"], counters)
    near("lost", counters["lost"], sent, 0.05)
    near("duplicated", counters["duplicated"], arrived, 0.02)
    near("reordered", counters["reordered"], arrived, 0.03)
    near("damaged", counters["damaged"], arrived, SIZE * 8e-5)
    check(target.damaged >= counters["damaged"] * 0.9, "damaged", target.damaged, counters)
    check(target.behind > 0 and target.doubled > 0, "behind", target.behind, target.doubled)
    check(target.least_delay >= 2_000_000, "one came after", target.least_delay, "ns")
    check(emulator.end()["clients"] == 1, "one client")


def ways(weft):
    """Two clients, each of which gets its own answers; a traffic class; marks; an MTU."""
    target = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    target.bind(("::1", 0))
    target.settimeout(LIMIT)
    target.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVTCLASS, 1)
    emulator = Emulator(weft, "--path", "rate=8Mb/s,queue=1MB,mark=1kB,mtu=1400", "udp",
                        "[::1]:0", "[::1]:%d" % target.getsockname()[1])
    clients = []
    for name in (b"one", b"two"):
        client = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        client.settimeout(LIMIT)
        client.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_TCLASS, 0xB8 | ECT0)
        client.sendto(bytes(1401), emulator.address)
        for number in range(20):
            client.sendto(name + bytes([number]) + bytes(500), emulator.address)
        clients.append((name, client))
    classes = []
    for _ in range(40):
        data, extra, _, peer = target.recvmsg(2048, 256)
        classes.append(struct.unpack("i", extra[0][2])[0])
        target.sendto(data, peer)
    check(set(classes) == {0xB8 | ECT0, 0xB8 | CE}, "traffic classes", sorted(set(classes)))
    for name, client in clients:
        for number in range(20):
            data, peer = client.recvfrom(2048)
            check(data[:4] == name + bytes([number]), "answer", data[:4], "to", name, number)
            check(peer[1] == emulator.address[1], "an answer from", peer)
    report = emulator.end()
    counters = report["forward"]["counters"]
    check(counters["marked"] == classes.count(0xB8 | CE), "marked", counters)
    check(counters["too_long"] == 2 and report["clients"] == 2, report)


def change(weft):
    """Settings are read again while it runs; wrong ones change nothing."""
    target = Target()
    client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with tempfile.NamedTemporaryFile("w") as settings:
        def write(text):
            settings.seek(0)
            settings.truncate()
            settings.write(text)
            settings.flush()
        write("# as it begins\n\nforward loss=100%\n")
        emulator = Emulator(weft, "--settings", settings.name, "udp", "127.0.0.1:0",
                            "127.0.0.1:%d" % target.socket.getsockname()[1])

        def again(text, answer):
            write(text)
            emulator.process.send_signal(signal.SIGHUP)
            line = emulator.process.stderr.readline()
            check(answer in line, "the emulator says:", line)
        client.sendto(datagram(b"DATA", 0), emulator.address)
        await_that(lambda: emulator.report()["forward"]["counters"]["lost"] == 1, "one is lost")
        again("forward los=1\n", settings.name + ":1: los=1: there is no such setting")
        client.sendto(datagram(b"DATA", 1), emulator.address)
        await_that(lambda: emulator.report()["forward"]["counters"]["lost"] == 2, "two are lost")
        again("path delay=1ms\n", "the settings are changed")
        check(emulator.report()["backward"]["emulation"] == "delay=1ms", "both directions")
        client.sendto(datagram(b"DATA", 2), emulator.address)
        await_that(target.take, "the third arrives")
        check(target.seen == {2}, target.seen)
        emulator.end()


def streams(weft):
    """Bytes of four connections, both ways at once, in order and whole; ends of each way apart."""
    with tempfile.TemporaryDirectory() as folder:
        server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        server.bind(folder + "/target")
        server.listen()
        emulator = Emulator(weft, "--path", "rate=1Gb/s,delay=3ms,jitter=1ms,queue=200kB",
                            "stream", "127.0.0.1:0", "unix:%s/target" % folder)

        def answer():
            with server.accept()[0] as peer:
                digest = hashlib.sha256()
                while data := peer.recv(65536):
                    digest.update(data)
                    peer.sendall(data)
                peer.sendall(digest.digest())  # after the client's end

        def ask(seed, results):
            data = hashlib.shake_256(b"%d" % seed).digest(2_000_000)
            with socket.create_connection(emulator.address) as client:
                client.settimeout(LIMIT)

                def send():
                    client.sendall(data)
                    client.shutdown(socket.SHUT_WR)
                sender = threading.Thread(target=send)
                sender.start()
                back = b"".join(iter(lambda: client.recv(65536), b""))
                sender.join()
                results.append(back == data + hashlib.sha256(data).digest())
        results = []
        threads = [threading.Thread(target=answer) for _ in range(4)]
        threads += [threading.Thread(target=ask, args=(seed, results)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        check(results == [True] * 4, "what came back is not what was sent:", results)
        # Who connects when nobody listens any more is told by the end of the connection.
        server.close()
        os.unlink(folder + "/target")
        with socket.create_connection(emulator.address) as client:
            client.settimeout(LIMIT)
            try:
                check(client.recv(1) == b"", "an answer from nobody")
            except ConnectionResetError:
                pass
        await_that(lambda: emulator.report()["connections"] == 0, "all are gone")
        report = emulator.end()
        check(report["joined"] == 4 and report["refused"] == 1, report)
        check(report["forward"]["counters"]["delivered_bytes"] == 8_000_000, report)
        check(report["backward"]["counters"]["delivered_bytes"] == 8_000_128, report)


if __name__ == "__main__":
    {"faults": faults, "ways": ways, "change": change, "streams": streams}[sys.argv[2]](sys.argv[1])
