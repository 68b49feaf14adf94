#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A thread waits for an event of a channel that another one closes, as rping does at its end: it
still gets what comes, for to the kernel a file is open as long as somebody is in a call on it. One
that comes too late finds a bad descriptor, never something in between."""
import ctypes
import errno
import os
import socket
import struct
import sys
import threading
import time

PORT_SPACE_TCP = 0x0106
cm = ctypes.CDLL("librdmacm.so.1", use_errno=True)
cm.rdma_create_event_channel.restype = ctypes.POINTER(ctypes.c_int)  # its first member: fd
cm.rdma_get_cm_event.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
cm.rdma_create_id.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int]
cm.rdma_resolve_addr.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int]
cm.rdma_resolve_route.argtypes = [ctypes.c_void_p, ctypes.c_int]
cm.rdma_connect.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
cm.rdma_ack_cm_event.argtypes = [ctypes.c_void_p]

NOBODY = struct.pack("=H", socket.AF_INET) + struct.pack(
    ">H4s8x", 9, socket.inet_aton("127.0.0.1"))
# rdma_conn_param: no private data, one read either way, a queue pair of the program's own.
PARAMETERS = struct.pack("=QBBBBBBBxI", 0, 0, 1, 1, 0, 3, 3, 0, 0x123) + bytes(16)


def event_of(channel):
    event = ctypes.c_void_p()
    result = cm.rdma_get_cm_event(channel, ctypes.byref(event))
    return event, 0 if result == 0 else ctypes.get_errno()


def finish(what, channel):
    """The event that tells that a step is done."""
    event, error = event_of(channel)
    if error != 0:
        sys.exit(f"{what}: {os.strerror(error)}")
    cm.rdma_ack_cm_event(event)


GET_EVENT = struct.pack("=IHHQ", 12, 8, 0, 0)


def ask_until_closed(descriptor, errors):
    while not errors or errors[-1] == errno.EAGAIN:
        try:
            os.write(descriptor, GET_EVENT)
            errors.append(0)
        except OSError as error:
            errors[:] = [error.errno]


def close_under_askers():
    sys.setswitchinterval(1e-4)
    for turn in range(100):
        descriptor = os.open("/dev/infiniband/rdma_cm", os.O_RDWR | os.O_NONBLOCK)
        errors = []
        asker = threading.Thread(target=ask_until_closed, args=(descriptor, errors))
        asker.start()
        while not errors:
            time.sleep(0)
        os.close(descriptor)
        asker.join()
        if errors != [errno.EBADF]:
            sys.exit(f"turn {turn}: who asks a closed file for events gets {errors}")
    print("no file was half closed")


def main():
    close_under_askers()
    for turn in range(10):
        channel = cm.rdma_create_event_channel()
        identifier = ctypes.c_void_p()
        if cm.rdma_create_id(channel, ctypes.byref(identifier), None, PORT_SPACE_TCP) != 0:
            sys.exit("rdma_create_id failed")
        if cm.rdma_resolve_addr(identifier, None, NOBODY, 1000) != 0:
            sys.exit("rdma_resolve_addr failed")
        finish("rdma_resolve_addr", channel)
        if cm.rdma_resolve_route(identifier, 1000) != 0:
            sys.exit("rdma_resolve_route failed")
        finish("rdma_resolve_route", channel)
        got = []
        waiter = threading.Thread(target=lambda: got.append(event_of(channel)[1]))
        waiter.start()
        time.sleep(0.05)  # until it waits
        descriptor = channel[0]
        if cm.rdma_connect(identifier, PARAMETERS) != 0:
            sys.exit("rdma_connect failed")
        os.close(descriptor)  # the rejection is still on its way
        waiter.join(10)
        if not got:
            print(f"turn {turn}: the event never came", flush=True)
            os._exit(1)
        if got[0] != 0:
            sys.exit(f"turn {turn}: rdma_get_cm_event: {os.strerror(got[0])}")
    print("every event came")


main()
