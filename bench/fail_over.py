#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long a reliable connection through a pair of firewalls stands still when the active one is
cut off: the lab's subnet manager leads the service LID to the other one, which was told of the
connection, and the ends send again what was lost. Messages go one each millisecond, so that what
comes behind a lost one tells of it; the pause is that between two messages at the receiver.

usage: fail_over [--rounds N]
"""
import argparse
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
    """A line for each pause that is longer than usual: when it was over, and its milliseconds."""
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
    last, count = None, 0
    while True:
        done = connection.get_recv_comp()
        if done is None or done.status:
            sys.exit(f"the connection has ended after {count} messages")
        region = regions[count % DEPTH]
        if int.from_bytes(region.read(8, 0), "big") != count:
            sys.exit(f"message {count} is another one")
        connection.post_recv(region)
        now = time.monotonic()
        if last is not None and now - last > 10 * PACE:
            print(now, 1000 * (now - last), flush=True)
        last, count = now, count + 1


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



def cut(labs, node):
    subprocess.run([labs.WEFT, "link", f"{node}:1", "down"], check=True, stdout=subprocess.DEVNULL)
    time.sleep(SECONDS_BETWEEN)
    labs.await_links({"Active": len(LINKS) - 1, "Down": 1})
    subprocess.run([labs.WEFT, "link", f"{node}:1", "up"], check=True, stdout=subprocess.DEVNULL)
    labs.await_links({"Active": len(LINKS)})
    time.sleep(SECONDS_BETWEEN)


def measure(labs, rounds):
    """Of each round, the longest pause at the receiver from just before the cut on."""
    pauses = []
    with at(labs, "db", "receive", stdout=subprocess.PIPE, text=True) as receiver:
        if receiver.stdout.readline() != "listening\n":
            sys.exit("nobody listens on node db")
        with at(labs, "app", "send"):
            time.sleep(SECONDS_BETWEEN)
            cuts = []
            for i in range(rounds):
                # The one that has taken over keeps the LIDs, and is cut off next.
                cuts.append(time.monotonic())
                cut(labs, MEMBERS[i % 2])
        receiver.terminate()
        lines = [tuple(map(float, line.split())) for line in receiver.stdout
                 if line[0].isdigit()]
    for i, begun in enumerate(cuts):
        end = cuts[i + 1] if i + 1 < len(cuts) else float("inf")
        within = [pause for over, pause in lines if begun <= over < end]
        if not within:
            sys.exit("a member of the pair was cut off, and nothing has stood still")
        pauses.append(max(within))
    return pauses


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
            pauses = measure(labs, arguments.rounds)
    print("pauses in ms:", *(f"{pause:.0f}" for pause in pauses))
    print(f"result: longest pause = {max(pauses):.0f} ms")
    print(f"result: median pause = {statistics.median(pauses):.0f} ms")
    print(f"result: longest pause / {GOAL} ms = {max(pauses) / GOAL:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
