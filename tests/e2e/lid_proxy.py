#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Between a client and a server of libibverbs' ping-pongs, which tell each other where they are by
TCP: tells both another LID instead, one at which a data service takes what they send.

usage: lid_proxy.py PORT SERVER_PORT LID: for one client; ends when both have said what they had to.
"""
import socket
import sys

# LID, queue pair and PSN, and GID as text, as both write it (libibverbs' examples, pingpong).
MESSAGE = len("0000:000000:000000:" + 32 * "0") + 1


def read_exactly(source, count):
    data = b""
    while len(data) < count:
        more = source.recv(count - len(data))
        if not more:
            sys.exit(f"only {len(data)} bytes of {count} came")
        data += more
    return data


def pass_on(source, to, lid):
    to.sendall(b"%04x" % lid + read_exactly(source, MESSAGE)[4:])


def main():
    port, server_port, lid = map(int, sys.argv[1:])
    with socket.create_server(("127.0.0.1", port)) as door:
        client = door.accept()[0]
    with client, socket.create_connection(("127.0.0.1", server_port)) as server:
        pass_on(client, server, lid)
        pass_on(server, client, lid)
        while data := client.recv(64):  # "done"
            server.sendall(data)


main()
