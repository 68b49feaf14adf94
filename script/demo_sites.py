# SPDX-License-Identifier: Apache-2.0
"""Two sites with a WAN between them: a part of script/demo.

Two labs of a switch and a node each, whose extenders, processes of `weft extend`, are joined,
sealed, through an emulated WAN of 10 Gbit/s and 100 ms there and back. First they are one subnet,
which Debian's OpenSM manages from a node of one site: sminfo, ibnetdiscover, ibv_rc_pingpong, rping
and ib_write_bw run across, and ping and iperf3, where the nodes can have Ethernet interfaces, each
in a network namespace of its own. While ib_write_bw runs, the WAN begins to lose frames, and then
is away for a moment. What arrives, and what waits in the bulk buffers, is drawn over time. Then
each is a subnet of its own, with LIDs of its own, and rping and ib_write_bw run from one to the
other.

The sites send less than the WAN takes: on a machine of two processors six processes of theirs and
the WAN's, and two programs, are what limits the rate.
"""
import argparse
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

RATE = 10e9 / 8  # of the WAN, bytes a second
PACE = 2e9 / 8  # that the sites send, the same
ROUND_TRIP = 0.1
PACKET = 2048  # bytes of payload that the programs give a packet
MESSAGE = 1 << 20
EVERY = 0.1  # seconds between two looks
# From when on, in seconds of ib_write_bw, what is the matter with the WAN.
TIMES = ((0.0, "", "as it should be"), (4.0, "loss=0.1%", "0.1 % loss"), (8.0, "loss=100%", "cut"),
         (8.5, "", "well again"))
SECONDS = 12  # that are drawn
PINGS = 5
BESIDE = f"sent {PACE / 1e6:.0f}, WAN {RATE / 1e6:.0f} MB/s"


class Table:
    def __init__(self, path):
        self.path, self.where = path, "sites"

    def note(self, program, result, beside="", ratio=""):
        with open(self.path, "a", encoding="utf-8") as table:
            print(self.where, program, result, beside, ratio, sep="\t", file=table)
        print(f"{self.where}: {program}: {result}", flush=True)


class Watch(threading.Thread):
    """Looks at both ends of the tunnel until it is told to end: seconds since much began to
    arrive, bytes a second that arrived, bytes in the bulk buffer, of the end that receives."""

    def __init__(self, remotes):
        super().__init__(daemon=True)
        self.remotes, self.samples = remotes, []
        self.flowing, self.ending = threading.Event(), threading.Event()

    def run(self):
        last, began = None, 0
        while not self.ending.wait(EVERY):
            ends = self.remotes()
            now = time.monotonic()
            if len(ends) != 2:
                continue
            end = max(ends, key=lambda end: end["counters"].get("rx_packets", 0))
            packets = end["counters"].get("rx_packets", 0)
            rate = (packets - last[1]) * PACKET / (now - last[0]) if last else 0
            last = (now, packets)
            if rate > PACE / 10 and not self.flowing.is_set():
                began = now
                self.flowing.set()
            if self.flowing.is_set():
                self.samples.append((now - began, rate, end["buffer_bytes"]))


def change_in_time(watch, change):
    """What TIMES says, from when on much arrives."""
    watch.flowing.wait()
    began = time.monotonic()
    for begins, words, _ in TIMES[1:]:
        if watch.ending.wait(began + begins - time.monotonic()):
            return
        change(words)


def run(bench, path, words, at_server=(), at_client=None):
    """Of a program whose server is at one site and whose client at the other, what the client said;
    each has further arguments."""
    at_client = (path.address,) if at_client is None else at_client
    ends = [[bench.WEFT, "run", *path.place(end), "--", *words, *last]
            for end, last in ((0, at_server), (1, at_client))]
    with subprocess.Popen(["timeout", "60", *map(str, ends[0])], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True) as server:
        time.sleep(1)  # it says nothing when it listens
        client = subprocess.run(["timeout", "60", *map(str, ends[1])], capture_output=True,
                                text=True, check=False)
        said = server.communicate()[0]
    # rping may trip over its own end, when all is done: of a channel that is closed it asks for
    # the next event.
    bad = {0, 255} if words[0] == "rping" else {0}
    if {client.returncode, server.returncode} - bad:
        sys.exit(f"{words[0]} failed:\n{client.stdout}{client.stderr}{said}")
    return client.stdout


def at_node(bench, site, *words):
    """What a program on the site's node says."""
    ran = subprocess.run(map(str, (bench.WEFT, "run", "--lab", site, "--node", f"n-{site}", "--",
                                   *words)), capture_output=True, text=True, check=False)
    if ran.returncode:
        sys.exit(f"{words[0]} failed:\n{ran.stdout}{ran.stderr}")
    return ran.stdout


def show_fabric(bench, table):
    """OpenSM is in west, and whoever asks in east."""
    found = re.search(r"sm lid (\d+) .*SMINFO_MASTER", at_node(bench, "east", "sminfo"))
    if not found:
        sys.exit("sminfo at east finds no master")
    table.note("OpenSM at west, sminfo at east", f"master at LID {found[1]}")
    found = at_node(bench, "east", "ibnetdiscover")
    kinds = [found.count(f"\n{kind}") for kind in ("Switch", "Ca")]
    if kinds != [4, 2]:
        sys.exit(f"ibnetdiscover found {kinds[0]} switches and {kinds[1]} adapters:\n{found}")
    table.note("ibnetdiscover at east", "4 switches, 2 adapters found")


def show_pingpong(bench, path, table):
    said = run(bench, path, ["ibv_rc_pingpong", "-p", 18700 + os.getpid() % 200, "-n", 20])
    took = float(said.rsplit(" usec/iter", 1)[0].rsplit(" ", 1)[1]) / 1000
    table.note("ibv_rc_pingpong", f"{took:.1f} ms an exchange", f"WAN {ROUND_TRIP * 1e3:g} ms")


def show_rping(bench, sites, path, table):
    """By IP address, which the subnet administrator knows when the lab has told it."""
    address = sites.address("east")
    said = run(bench, path, ["rping", "-v", "-C", PINGS, "-a", address], ("-s",), ("-c",))
    if said.count("ping data: rdma-ping-") != PINGS:
        sys.exit(f"rping failed:\n{said}")
    table.note("rping", f"{PINGS} pings")


class Lan:
    """Ethernet between the two nodes: one in each network namespace, which a process keeps."""
    ADDRESSES = {"west": "192.0.2.1", "east": "192.0.2.2"}
    # A TCP connection needs a window of what is under way in a round trip, and Linux allows 6 MB.
    SETTINGS = tuple(f"net.ipv4.tcp_{way}=4096 131072 {int(4 * PACE * ROUND_TRIP)}"
                     for way in ("rmem", "wmem"))

    def __init__(self, bench, table, keepers):
        self.bench, self.table = bench, table
        self.files = {site: f"/proc/{keeper}/ns/net"
                      for site, keeper in zip(self.ADDRESSES, keepers)}

    def at(self, site, *words):
        return ["nsenter", f"--net={self.files[site]}", "--", *words]

    def interface(self, site):
        words = [self.bench.WEFT, "lan", "--lab", site, "--json"]
        said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        return json.loads(said)["interfaces"][0]

    def await_peers(self):
        """Why it cannot be; nothing: both nodes know each other."""
        for _ in range(300):
            both = [self.interface(site) for site in self.ADDRESSES]
            for each in both:
                if each["state"] == "failed":
                    return each["why"]
            if all(each["state"] == "up" and each["peer_count"] == 1 for each in both):
                return ""
            time.sleep(0.1)
        sys.exit(f"the two LAN ports do not know each other after 30 seconds: {both}")

    def show(self):
        why = self.await_peers()
        if why:
            print(f"sites: no Ethernet between the nodes: {why}", flush=True)
            return
        for site, address in self.ADDRESSES.items():
            for words in (("ip", "address", "add", f"{address}/24", "dev", "lan1"),
                          ("sysctl", "-qw", *self.SETTINGS)):
                subprocess.run(self.at(site, *words), check=True)
        self.show_ping()
        self.show_stream()

    def show_ping(self):
        words = self.at("west", "ping", "-q", "-c", "10", "-i", "0.2", self.ADDRESSES["east"])
        ran = subprocess.run(words, capture_output=True, text=True, check=False)
        times = re.search(r"= [0-9.]+/([0-9.]+)/", ran.stdout)
        if ran.returncode or not times:
            sys.exit(f"ping over the LAN failed:\n{ran.stdout}{ran.stderr}")
        self.table.note("ping over the LAN", f"{float(times[1]):.1f} ms there and back",
                        f"WAN {ROUND_TRIP * 1e3:g} ms")

    def show_stream(self):
        port = str(19100 + os.getpid() % 200)
        server = self.at("east", "timeout", "60", "iperf3", "-s", "-1", "-p", port)
        with subprocess.Popen(server, **self.bench.QUIET):
            time.sleep(1)
            # Until the window has grown, it is not counted.
            words = self.at("west", "timeout", "60", "iperf3", "-c", self.ADDRESSES["east"], "-p",
                            port, "-O", "3", "-t", "4", "-J")
            ran = subprocess.run(words, capture_output=True, text=True, check=False)
        if ran.returncode:
            sys.exit(f"iperf3 over the LAN failed:\n{ran.stdout}{ran.stderr}")
        rate = json.loads(ran.stdout)["end"]["sum_received"]["bits_per_second"] / 8
        self.table.note("iperf3 over the LAN, one TCP connection", f"{rate / 1e6:.0f} MB/s",
                        BESIDE, f"{rate / PACE:.2f}")


def show_write_bandwidth(bench, sites, path, table, change):
    watch = Watch(sites.remotes)
    watch.start()
    threading.Thread(target=change_in_time, args=(watch, change), daemon=True).start()
    depth = int(2 * PACE * ROUND_TRIP / MESSAGE)
    run(bench, path, ["ib_write_bw", "-F", "-p", 18900 + os.getpid() % 200, "-m", PACKET, "-s",
                      MESSAGE, "-u", 20, "-t", depth, "-D", SECONDS + 1])
    watch.ending.set()
    watch.join()
    for (begins, _, name), ends in zip(TIMES, [*(time[0] for time in TIMES[1:]), SECONDS]):
        # Behind a change the pipe fills, or what was lost comes after all.
        rates = [rate for when, rate, _ in watch.samples if begins + 1 < when < ends]
        if rates:
            rate = sum(rates) / len(rates)
            table.note(f"ib_write_bw RC, 1 MiB, WAN {name}", f"{rate / 1e6:.0f} MB/s", BESIDE,
                       f"{rate / PACE:.2f}")
    return watch.samples


def draw(samples, picture):
    """Over time, on the terminal and as a file. Nothing where there is no gnuplot."""
    data = "\n".join(f"{when:.2f} {rate / 1e6:.3f} {held / 1e6:.3f}"
                     for when, rate, held in samples)
    script = ["$data << EOD", data, "EOD", "set xlabel 'seconds'", "set key outside top center",
              "set yrange [0:]", f"set xrange [0:{SECONDS}]"]
    marks = [f"set arrow from {begins},graph 0 to {begins},graph 1 nohead dashtype 2; "
             f"set label '{name}' at {begins},graph 0.96 offset 0.5,0"
             for begins, _, name in TIMES]
    lines = ("plot $data using 1:2 with lines linewidth 2 title 'arrives, MB/s', "
             "$data using 1:3 with filledcurves y1=0 fillstyle transparent solid 0.3 "
             "title 'in the bulk buffer, MB'")
    dumb = ("plot $data using 1:2 with points pointtype '*' title 'arrives, MB/s', "
            "$data using 1:3 with points pointtype 'b' title 'in the bulk buffer, MB'")
    for terminal, where, extra in ((["set terminal dumb 100 24"], [], [dumb]),
                                   (["set terminal svg size 900,400 dynamic background 'white'"],
                                    [f"set output '{picture}'"], [*marks, lines])):
        try:
            subprocess.run(["gnuplot"], input="\n".join([*terminal, *where, *script, *extra, ""]),
                           text=True, check=True)
        except FileNotFoundError:
            print("sites: without gnuplot there is no picture: apt-get install gnuplot-nox")
            return
    print(f"sites: the picture: {picture}", flush=True)


def show_one_subnet(bench, sites, wan, lan, table):
    """What was seen of the tunnel while the WAN was not as it should be."""
    how = sites.How(sealed=True, apart=True, opensm=True)
    with tempfile.TemporaryDirectory(prefix="weft-demo-") as directory:
        settings = pathlib.Path(directory) / "wan"
        settings.write_text(f"path {wan.emulation()}\n", encoding="utf-8")
        buffer = int(3 * PACE * ROUND_TRIP)  # what a loss, and an outage, hold up
        with sites.sites(wan, buffer, how, settings, lan and lan.files) as (path, emulator):
            def change(words):
                text = ",".join(filter(None, (wan.emulation(), words)))
                settings.write_text(f"path none,{text}\n", encoding="utf-8")
                emulator.send_signal(signal.SIGHUP)
            show_fabric(bench, table)
            show_pingpong(bench, path, table)
            show_rping(bench, sites, path, table)
            if lan:
                lan.show()
            return show_write_bandwidth(bench, sites, path, table, change)


def show_two_subnets(bench, sites, wan, table):
    """Programs that tell each other their GIDs by themselves are told the LIDs of the routers,
    which each site has of its own."""
    how = sites.How(sealed=True, apart=True, router=True)
    with sites.sites(wan, int(3 * PACE * ROUND_TRIP), how) as (path, _):
        lids = {site: sites.lids(site) for site in sites.NAMES}
        table.note("each its own LIDs, of node and router", "; ".join(
            f"{site} {lids[site][f'n-{site}']} and {lids[site][f'x-{site}']}" for site in lids))
        show_rping(bench, sites, path, table)
        depth = int(2 * PACE * ROUND_TRIP / MESSAGE)
        words = ["ib_write_bw", "-F", "-x", 0, "-p", 19300 + os.getpid() % 200, "-s", MESSAGE, "-u",
                 20, "-t", depth, "-n", 4 * depth, "--report_gbits"]
        said = run(bench, path, words, ("--dlid", lids["east"]["x-east"]),
                   ("--dlid", lids["west"]["x-west"], path.address))
        cells = [line.split() for line in said.splitlines() if re.match(rf"\s*{MESSAGE}\s", line)]
        table.note("ib_write_bw RC, 1 MiB, between two subnets",
                   f"{float(cells[-1][3]) * 1e3 / 8:.0f} MB/s", BESIDE)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bench", help="where the modules of the benchmarks are, in a build tree")
    parser.add_argument("table", help="a file that gets a line for each result, columns of tabs")
    parser.add_argument("picture", help="an SVG file that is written")
    parser.add_argument("--lan", nargs=2, metavar="PID", help="processes in the network namespaces "
                        "of the two nodes, which then have Ethernet interfaces there")
    options = parser.parse_args()
    sys.path.insert(0, options.bench)
    import labs as bench  # pylint: disable=import-outside-toplevel
    import sites  # pylint: disable=import-outside-toplevel
    table = Table(options.table)
    wan = sites.Wan(RATE, ROUND_TRIP, pace=PACE)
    print(f"sites: a WAN of {RATE * 8e-9:g} Gb/s and {ROUND_TRIP * 1e3:g} ms, of which they use "
          f"{PACE * 8e-9:g} Gb/s: {os.cpu_count()} processors run both sites, the WAN and the "
          "programs", flush=True)
    lan = Lan(bench, table, options.lan) if options.lan else None
    samples = show_one_subnet(bench, sites, wan, lan, table)
    table.where = "subnets"
    show_two_subnets(bench, sites, wan, table)
    draw(samples, options.picture)


if __name__ == "__main__":
    main()
