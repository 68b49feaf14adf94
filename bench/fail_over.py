#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long a reliable connection through a pair of firewalls stands still when the active one is
cut off: the lab's subnet manager leads the service LID to the other one, which was told of the
connection, and the ends send again what was lost. Messages go one each millisecond, so that what
comes behind a lost one tells of it; the pause is the longest time between two messages at the
receiver, of which there are some also while nothing is cut: it is a Python program.

usage: fail_over [--rounds N]
"""
import argparse
import itertools
import json
import statistics
import subprocess
import sys
import time

PORT = 5432
DEPTH = 1024
IN_FLIGHT = 900  # messages, of what would be sent in nearly a second
SIZE = 256
PACE = 0.001  # seconds
GOAL = 300  # milliseconds
ADDRESS = "127.253.0.2"  # of db
SECONDS_BETWEEN = 2
MEMBERS = ("fw1", "fw2")
LINKS = (("app", "s1"), ("db", "s2"), ("fw1", "s1"), ("fw2", "s2"), ("s1:7", "s2:7"),
         ("s1:8", "s2:8"))
LAB = """name = "fail-over"
network = "127.253.0.0/16"
[switch]
s1 = { ports = 8 }
s2 = { ports = 8 }
[node]
app = {}
db = {}
fw1 = {}
fw2 = {}
[service.firewall]
at = [["fw1", "fw2"]]
""" + "".join(f'[[link]]\nends = ["{one}", "{other}"]\n' for one, other in LINKS)


def capacity():
    from pyverbs.qp import QPCap, QPInitAttr
    return QPInitAttr(cap=QPCap(max_send_wr=DEPTH, max_recv_wr=DEPTH))


def receive():
    """A line for each message: when it came."""
    from pyverbs import cm_enums
    from pyverbs.cmid import CMID, AddrInfo
    listener = CMID(creator=AddrInfo(src=ADDRESS, src_service=str(PORT),
                                     port_space=cm_enums.RDMA_PS_TCP,
                                     flags=cm_enums.RAI_PASSIVE), qp_init_attr=capacity())
    listener.listen()
    print("listening", flush=True)
    connection = listener.get_request()
    regions = [connection.reg_msgs(SIZE) for _ in range(DEPTH)]
    for region in regions:
        connection.post_recv(region)
    connection.accept()
    for count in itertools.count():
        done = connection.get_recv_comp()
        if done is None or done.status:
            sys.exit(f"the connection has ended after {count} messages")
        region = regions[count % DEPTH]
        if int.from_bytes(region.read(8, 0), "big") != count:
            sys.exit(f"message {count} is another one")
        connection.post_recv(region)
        print(time.monotonic(), flush=True)


def send():
    from pyverbs import cm_enums
    from pyverbs.cmid import CMID, AddrInfo
    connection = CMID(creator=AddrInfo(dst=ADDRESS, dst_service=str(PORT),
                                       port_space=cm_enums.RDMA_PS_TCP), qp_init_attr=capacity())
    connection.connect()
    regions = [connection.reg_msgs(SIZE) for _ in range(DEPTH)]
    count, due = 0, time.monotonic()
    while True:
        if count >= IN_FLIGHT and connection.get_send_comp().status:
            sys.exit(f"the connection has ended after {count} messages")
        region = regions[count % DEPTH]
        region.write(count.to_bytes(8, "big"), 8)
        connection.post_send(region)
        count += 1
        due = max(due + PACE, time.monotonic() - IN_FLIGHT * PACE)
        time.sleep(max(0, due - time.monotonic()))


def at(labs, node, end, **how):
    return labs.background(labs.WEFT, "run", "--node", node, "--", "/usr/bin/python3", "-u",
                           __file__, "--end", end, **how)


def forwarded(labs):
    """Packets that went by each member of the pair."""
    said = subprocess.run([labs.WEFT, "service", "firewall", "--json"], check=True,
                          stdout=subprocess.PIPE).stdout
    return {one["node"]: one["counters"].get("forwarded", 0)
            for one in json.loads(said)["services"]}


def cut(labs, node, standby):
    before = forwarded(labs)[standby]
    subprocess.run([labs.WEFT, "link", f"{node}:1", "down"], check=True, stdout=subprocess.DEVNULL)
    time.sleep(SECONDS_BETWEEN)
    if forwarded(labs)[standby] - before < SECONDS_BETWEEN / PACE / 2:
        sys.exit(f"{node} was cut off, and the messages do not go by {standby}")
    labs.await_links({"Active": len(LINKS) - 1, "Down": 1})
    subprocess.run([labs.WEFT, "link", f"{node}:1", "up"], check=True, stdout=subprocess.DEVNULL)
    labs.await_links({"Active": len(LINKS)})
    time.sleep(SECONDS_BETWEEN)


def await_listener(arrivals):
    for _ in range(3000):
        if arrivals.read_text(encoding="utf-8") == "listening\n":
            return
        time.sleep(0.01)
    sys.exit("nobody listens on node db")


def longest(arrivals, begun, end):
    """Milliseconds between two of the messages of a time."""
    within = [at for at in arrivals if begun <= at < end]
    return 1000 * max(after - at for at, after in itertools.pairwise(within))


def measure(labs, arrivals, rounds):
    """Of each round, the longest pause at the receiver from just before the cut on; and without
    one."""
    with arrivals.open("w", encoding="utf-8") as out, at(labs, "db", "receive", stdout=out):
        await_listener(arrivals)
        with at(labs, "app", "send"):
            time.sleep(SECONDS_BETWEEN)
            begun = time.monotonic()
            time.sleep(2 * SECONDS_BETWEEN)
            cuts = [time.monotonic()]
            for i in range(rounds):
                # The one that has taken over keeps the LIDs, and is cut off next.
                cut(labs, MEMBERS[i % 2], MEMBERS[1 - i % 2])
                cuts.append(time.monotonic())
    times = [float(line) for line in arrivals.read_text(encoding="utf-8").splitlines()[1:]]
    return [longest(times, *pair) for pair in itertools.pairwise(cuts)], longest(times, begun,
                                                                               cuts[0])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--end", choices=("receive", "send"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.end:
        return receive() if arguments.end == "receive" else send()
    import labs
    with labs.directory() as directory:
        lab = directory / "fail-over.toml"
        lab.write_text(LAB, encoding="utf-8")
        with labs.background(labs.WEFT, "up", lab):
            labs.await_links({"Active": len(LINKS)})
            pauses, uncut = measure(labs, directory / "arrivals", arguments.rounds)
    print(f"longest pause with nothing cut: {uncut:.0f} ms")
    print("pauses in ms:", *(f"{pause:.0f}" for pause in pauses))
    print(f"result: longest pause = {max(pauses):.0f} ms")
    print(f"result: median pause = {statistics.median(pauses):.0f} ms")
    print(f"result: longest pause / {GOAL} ms = {max(pauses) / GOAL:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
