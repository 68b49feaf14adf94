#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How connections share a path with each other and with TCP.

Network namespaces, real sockets: eight senders into one receiver, each a process with one RC queue
pair that writes without pause, once with nothing between but a router and once over a link of 400
Mbit/s with a queue before it; then one such flow beside one of kernel TCP with CUBIC, over the same
link, with queues of several lengths.

usage: congestion [--seconds N] [--only incast|cubic]
"""
import argparse
import pathlib
import socket
import sys
import time

from networks import (Load, Star, become_network_root, counter, finish_flows, outcome, run_flows,
                      start_flows)

SENDERS = 8
RATE = 400  # Mbit/s of the slow link
INCAST_QUEUE = 1_000_000
CUBIC_QUEUES = (250_000, 1_000_000)
TCP_PORT = 18_701


def jain(rates):
    return sum(rates) ** 2 / (len(rates) * sum(rate * rate for rate in rates))


def incast(name, seconds, rate, queue, service="rc"):
    load = Load(seconds, service=service)
    with Star(SENDERS, rate, queue) as star:
        rates, counters, receiver = run_flows(star.receiver, star.senders, star.receiver_address,
                                              load)
        dropped = star.dropped()[1] if rate else 0
    sent = sum(counter(text, "tx_packets") for text in counters)
    again = sum(counter(text, "tx_retransmitted") for text in counters)
    overflow = counter(receiver, "udp_rx_overflow")
    lost = (dropped + overflow) / sent
    print(f"{name}: {sum(rates) / 1e6:.0f} MB/s in all, {sent} packets, {again} sent again, "
          f"{dropped} dropped by the queue, {overflow} by the receiver's sockets: lost "
          f"{lost:.4%} (less than 0.1 %), Jain index {jain(rates):.3f} (at least 0.9)")
    print(f"result: {name} lost = {lost:.4%}")
    print(f"result: {name} Jain = {jain(rates):.3f}")


def tcp_receive(port):
    with socket.create_server(("0.0.0.0", port)) as server:
        print("ready", flush=True)
        connection, _ = server.accept()
        while connection.recv(1 << 20):
            pass


def tcp_send(address, port, warm_up, seconds):
    data = bytes(1 << 18)
    with socket.socket() as flow:
        flow.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
        flow.connect((address, port))
        start = time.monotonic()
        counted = 0
        while (now := time.monotonic()) < start + warm_up + seconds:
            sent = flow.send(data)
            if now >= start + warm_up:
                counted += sent
    print(counted / seconds)


def beside_cubic(seconds, queue):
    warm_up = 3
    load = Load(seconds, warm_up=warm_up)
    with Star(2, RATE, queue) as star:
        weft_sender, tcp_sender = star.senders
        sink = star.receiver.start(sys.executable, __file__, "tcp-receive", TCP_PORT)
        sink.stdout.readline()
        processes = start_flows(star.receiver, [weft_sender], star.receiver_address, load)
        rival = tcp_sender.start(sys.executable, __file__, "tcp-send", star.receiver_address,
                                 TCP_PORT, warm_up, seconds)
        rates, counters, _ = finish_flows(*processes, load)
        theirs = float(outcome(rival, load.patience)[0])
        outcome(sink, load.patience)
    ours, again = rates[0], counter(counters[0], "tx_retransmitted")
    share = ours / (ours + theirs)
    name = f"beside CUBIC, queue {queue // 1000} kB"
    print(f"{name}: weft {ours / 1e6:.1f} MB/s ({again} packets sent again), TCP "
          f"{theirs / 1e6:.1f} MB/s of {RATE / 8:.0f}; weft's share {share:.2f} (0.25 to 0.75)")
    print(f"result: {name}, weft's share = {share:.2f}")


def main():
    if sys.argv[1:2] == ["tcp-receive"]:
        return tcp_receive(int(sys.argv[2]))
    if sys.argv[1:2] == ["tcp-send"]:
        return tcp_send(sys.argv[2], *map(int, sys.argv[3:6]))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--only", choices=["incast", "cubic"])
    options = parser.parse_args()
    become_network_root()
    if options.only in (None, "incast"):
        incast("8 into 1", options.seconds, None, 0)
        incast(f"8 into 1 over {RATE} Mbit/s", options.seconds, RATE, INCAST_QUEUE)
    if options.only in (None, "cubic"):
        known = pathlib.Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text()
        if "cubic" not in known.split():
            sys.exit("this kernel has no CUBIC")
        for queue in CUBIC_QUEUES:
            beside_cubic(options.seconds, queue)
    return 0


if __name__ == "__main__":
    sys.exit(main())
