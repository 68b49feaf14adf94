#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Frames of many kinds, from the interface of this network namespace to that of another one, where
they must come as they were sent; or says which frames come here to an address, until it is ended;
or sends so many broadcasts, which have the numbers from 1 on; or one with a text, as check_lan.py
looks for.

usage: lan_frames.py NAMESPACE INTERFACE
       lan_frames.py hear INTERFACE ADDRESS
       lan_frames.py send INTERFACE NUMBER
       lan_frames.py mark INTERFACE TEXT
"""
import ctypes
import fcntl
import os
import socket
import struct
import sys

ETH_P_ALL = 3
CLONE_NEWNET = 0x40000000
SIOCGIFHWADDR = 0x8927
SOL_PACKET, PACKET_AUXDATA, PACKET_ADD_MEMBERSHIP, PACKET_MR_PROMISC = 263, 8, 1, 1
TP_STATUS_VLAN_VALID, TP_STATUS_VLAN_TPID_VALID = 1 << 4, 1 << 6


def station(interface):
    """A packet socket there, and the interface's address."""
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    sock.bind((interface, ETH_P_ALL))
    sock.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
    answer = fcntl.ioctl(sock, SIOCGIFHWADDR, struct.pack("16s16x", interface.encode()))
    return sock, answer[18:24]


def come(sock):
    """The next frame, with the tag that the kernel has taken out of it put back."""
    frame, extra, _, _ = sock.recvmsg(70_000, 256)
    for level, kind, data in extra:
        if (level, kind) != (SOL_PACKET, PACKET_AUXDATA):
            continue
        status, _, _, _, _, tci, tpid = struct.unpack("IIIHHHH", data[:20])
        if status & TP_STATUS_VLAN_VALID:
            tpid = tpid if status & TP_STATUS_VLAN_TPID_VALID else 0x8100
            frame = frame[:12] + struct.pack(">HH", tpid, tci) + frame[12:]
    return frame


def hear(interface, address):
    sock, _ = station(interface)
    print("hears", flush=True)
    while True:
        frame = come(sock)
        if frame[:6].hex(":") == address:
            print(f"came: {frame[:40].hex()}", flush=True)


def send(interface, number):
    sock, own = station(interface)
    for i in range(1, int(number) + 1):
        sock.send(b"\xff" * 6 + own + b"\x88\xb5" + struct.pack(">I", i) + bytes(42))


def mark(interface, text):
    sock, own = station(interface)
    sock.send(b"\xff" * 6 + own + b"\x88\xb6" + text.encode() + bytes(46))


def main():
    if sys.argv[1] == "hear":
        hear(*sys.argv[2:])
    if sys.argv[1] == "send":
        return send(*sys.argv[2:])
    if sys.argv[1] == "mark":
        return mark(*sys.argv[2:])
    here, own = station(sys.argv[2])
    with open(sys.argv[1], "rb") as space:
        if ctypes.CDLL(None, use_errno=True).setns(space.fileno(), CLONE_NEWNET) != 0:
            sys.exit(os.strerror(ctypes.get_errno()))
    there, other = station(sys.argv[2])
    there.settimeout(10)
    text = bytes(range(256)) * 6
    unicast, to_all, lldp = other, b"\xff" * 6, b"\x01\x80\xc2\x00\x00\x0e"
    kinds = {
        "VLAN 5": b"\x81\x00\x00\x05\x88\xb5" + text[:1000],
        "VLAN 5, full": b"\x81\x00\x60\x05\x88\xb5" + text[:1496],
        "VLANs 7 and 9": b"\x88\xa8\x00\x07\x81\x00\x00\x09\x88\xb5" + text[:900],
        "Ethernet II": b"\x88\xb5" + text[:1500],
        "802.3 with LLC": struct.pack(">H", 103) + b"\xe0\xe0\x03" + text[:100],
        "802.3 with SNAP": struct.pack(">H", 108) + b"\xaa\xaa\x03\0\0\0\x81\x37" + text[:100],
        "IPX of old": struct.pack(">H", 60) + b"\xff\xff" + text[:58],
        "LLDP": b"\x88\xcc" + text[:60],
    }
    for name, rest in kinds.items():
        for destination in (lldp,) if name == "LLDP" else (unicast, to_all):
            frame = destination + own + rest
            here.send(frame)
            while True:
                try:
                    got = come(there)
                except socket.timeout:
                    sys.exit(f"{name} to {destination.hex(':')} did not come")
                if got[12:14] in (b"\x08\x06", b"\x08\x00", b"\x86\xdd"):
                    continue  # the kernels' own
                if got != frame:
                    sys.exit(f"{name}: sent {frame[:40].hex()}… of {len(frame)} bytes, "
                             f"came {got[:40].hex()}… of {len(got)}")
                break
        print(name)
    print("all came")


if __name__ == "__main__":
    main()
