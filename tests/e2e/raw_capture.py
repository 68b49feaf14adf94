# SPDX-License-Identifier: Apache-2.0
"""Keeps what crosses an interface, byte by byte, for somebody to look for what must not be there.

usage: raw_capture.py INTERFACE FILE: packets, one behind the other, until SIGTERM. Says "capturing"
when it does, and at the end how many packets there were.
"""
import signal
import socket
import sys

ETH_P_ALL = 0x0003


class Ended(Exception):
    """SIGTERM has come."""


def end(*_):
    """Leaves the loop, also out of a system call; the signal may come a second time."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise Ended


def main():
    """Captures until it is told to end."""
    interface, path = sys.argv[1:]
    packets = 0
    signal.signal(signal.SIGTERM, end)
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL)) as wire, \
            open(path, "wb") as file:
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 20)
        wire.bind((interface, 0))
        print("capturing", flush=True)
        try:
            while True:
                file.write(wire.recv(1 << 17))
                packets += 1
        except Ended:
            pass
    print(f"{packets} packets", flush=True)


main()
