#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What programs rely on in an open port, called as they call it.

Run with an argument it is a program on a node of a lab: that one test.
"""
import ctypes
import errno
import os
import select
import subprocess
import sys
import threading
import unittest

from lab_fixture import BUILD, DROP_IN, PATIENCE, SOURCE, Lab  # noqa: F401

HEADER = 64
MAD = 256
SUBN_DIRECTED = 0x81
GET = 0x01
NODE_INFO = 0x0011


def library():
    out = ctypes.CDLL(str(DROP_IN / "libibumad.so.3"), use_errno=True)
    out.umad_get_mad.restype = ctypes.c_void_p
    return out


class Port:
    """An open port of the node that this process runs on."""

    def __init__(self, umad):
        self.umad = umad
        self.number = umad.umad_open_port(None, 0)
        assert self.number >= 0, self.number

    def register(self, mgmt_class, version, methods=(), rmpp=0):
        mask = (ctypes.c_long * 2)()
        for method in methods:
            mask[method // 64] |= 1 << method % 64
        return self.umad.umad_register(
            self.number, mgmt_class, version, rmpp, mask if methods else None
        )

    def send(self, agent, route, transaction, timeout=1000):
        """Asks for the NodeInfo of whatever is there."""
        mad = bytearray(MAD)
        mad[0:4] = bytes((1, SUBN_DIRECTED, 1, GET))
        mad[7] = len(route)
        mad[8:16] = transaction.to_bytes(8, "big")
        mad[16:18] = NODE_INFO.to_bytes(2, "big")
        mad[32:36] = b"\xff" * 4  # permissive LIDs
        mad[129 : 129 + len(route)] = bytes(route)
        buffer = (ctypes.c_ubyte * (HEADER + MAD))()
        buffer[HEADER:] = list(mad)
        self.umad.umad_set_addr(buffer, 0xFFFF, 0, 0, 0)
        return self.umad.umad_send(self.number, agent, buffer, MAD, timeout, 0)

    def receive(self, room=MAD, timeout=PATIENCE * 1000):
        """(what umad_recv returns, length, status, datagram)"""
        buffer = (ctypes.c_ubyte * (HEADER + max(room, MAD)))()
        length = ctypes.c_int(room)
        got = self.umad.umad_recv(self.number, buffer, ctypes.byref(length), timeout)
        return got, length.value, self.umad.umad_status(buffer), bytes(buffer)[HEADER:]


class Ports(unittest.TestCase):
    def setUp(self):
        self.umad = library()
        self.port = Port(self.umad)

    def tearDown(self):
        self.umad.umad_close_port(self.port.number)

    def test_an_answer_comes_to_who_asked_with_its_transaction(self):
        self.assertEqual(self.port.register(0x04, 1), 0)
        agent = self.port.register(SUBN_DIRECTED, 1)
        self.assertEqual(agent, 1)
        self.assertEqual(self.port.send(agent, (1,), 0x1234567), 0)
        got, length, status, mad = self.port.receive()
        self.assertEqual((got, length, status), (agent, MAD, 0))
        self.assertEqual(mad[3], 0x81)  # GetResp
        self.assertEqual(mad[12:16], (0x1234567).to_bytes(4, "big"))
        self.assertEqual(mad[64 + 2], 2)  # NodeInfo.NodeType of a switch

    def test_what_nobody_answers_comes_back_before_the_same_time_is_over_for_its_sender(self):
        agent = self.port.register(SUBN_DIRECTED, 1)
        self.assertEqual(self.port.send(agent, (1, 5), 0x77, timeout=200), 0)
        got, length, status, mad = self.port.receive(timeout=200)
        self.assertEqual((got, length, status), (agent, 24, errno.ETIMEDOUT))
        self.assertEqual(mad[12:16], (0x77).to_bytes(4, "big"))

    def test_one_that_does_not_fit_stays_and_says_how_long_it_is(self):
        agent = self.port.register(SUBN_DIRECTED, 1)
        self.port.send(agent, (), 1)
        got, length, _, _ = self.port.receive(room=100)
        self.assertEqual((got, length), (-errno.ENOSPC, MAD))
        self.assertEqual(self.port.receive()[:2], (agent, MAD))

    def test_nothing_there(self):
        self.assertEqual(self.port.receive(timeout=0)[0], -errno.EWOULDBLOCK)
        self.assertEqual(self.port.receive(timeout=1)[0], -errno.ETIMEDOUT)
        self.assertEqual(self.umad.umad_poll(self.port.number, 1), -errno.ETIMEDOUT)

    def test_the_port_can_be_polled_and_is_readable_for_datagrams_only(self):
        poll = select.poll()
        poll.register(self.umad.umad_get_fd(self.port.number), select.POLLIN)
        agent = self.port.register(SUBN_DIRECTED, 1)
        self.assertEqual(poll.poll(0), [])
        self.port.send(agent, (), 1)
        self.assertEqual(len(poll.poll(PATIENCE * 1000)), 1)
        self.port.receive()
        self.assertEqual(poll.poll(0), [])

    def test_agents_are_numbered_per_port_and_there_are_32(self):
        agents = [self.port.register(0x04, 1) for _ in range(32)]
        self.assertEqual(agents, list(range(32)))
        self.assertLess(self.port.register(0x04, 1), 0)
        self.assertEqual(self.umad.umad_unregister(self.port.number, 7), 0)
        self.assertLess(self.umad.umad_unregister(self.port.number, 7), 0)
        self.assertEqual(self.port.register(0x04, 1), 7)

    def test_a_method_of_a_class_is_one_programs_on_a_port(self):
        other = Port(self.umad)
        self.assertEqual(self.port.register(0x06, 1, (1, 2)), 0)
        self.assertLess(other.register(0x06, 1, (2,)), 0)
        self.assertEqual(other.register(0x06, 1, (3,)), 0)
        self.umad.umad_close_port(self.port.number)
        # The daemon has read that by the time that it answers somebody who comes afterwards.
        self.port = Port(self.umad)
        self.assertEqual(self.port.register(0x06, 1, (2,)), 0)
        self.umad.umad_close_port(other.number)

    def test_bad_requests_are_refused(self):
        for wrong in ((0, 1), (0x100, 1), (SUBN_DIRECTED, 300)):
            self.assertLess(self.port.register(*wrong), 0, wrong)
        self.assertLess(self.port.register(0x04, 1, rmpp=1), 0)  # performance has none
        self.assertLess(self.umad.umad_open_port(b"other", 1), 0)
        self.assertLess(self.umad.umad_open_port(None, 7), 0)
        self.assertEqual(self.port.send(32, (), 1), -errno.EIO)
        # An agent that is not registered: the datagram comes back.
        self.assertEqual(self.port.send(3, (), 1), 0)
        self.assertEqual(self.port.receive()[2], errno.EINVAL)

    def test_a_program_that_is_subnet_manager_says_so_as_long_as_it_has_the_file_open(self):
        path = ctypes.create_string_buffer(256)
        self.assertEqual(self.umad.umad_get_issm_path(None, 0, path, 256), 0)
        self.assertEqual(self.capability_is_sm(False), False)
        with open(os.open(path.value, os.O_RDONLY | os.O_NONBLOCK), "rb"):
            self.assertEqual(self.capability_is_sm(True), True)
        self.assertEqual(self.capability_is_sm(False), False)

    def capability_is_sm(self, wanted):
        """Whether IsSM is set; asks again until it is as wanted."""
        agent = self.port.register(SUBN_DIRECTED, 1)
        for transaction in range(1, 2000):
            mad = bytearray(MAD)
            mad[0:4] = bytes((1, SUBN_DIRECTED, 1, GET))
            mad[8:16] = transaction.to_bytes(8, "big")
            mad[16:18] = (0x0015).to_bytes(2, "big")  # PortInfo
            mad[32:36] = b"\xff" * 4
            buffer = (ctypes.c_ubyte * (HEADER + MAD))()
            buffer[HEADER:] = list(mad)
            self.umad.umad_set_addr(buffer, 0xFFFF, 0, 0, 0)
            self.umad.umad_send(self.port.number, agent, buffer, MAD, 1000, 0)
            answer = self.port.receive()[3]
            is_sm = int.from_bytes(answer[64 + 20 : 64 + 24], "big") >> 1 & 1 == 1
            if is_sm == wanted:
                break
        self.umad.umad_unregister(self.port.number, agent)
        return is_sm


class Ends(unittest.TestCase):
    """Of a daemon, while a program waits for it."""

    def test_a_program_that_waits_learns_that_the_daemon_is_gone(self):
        umad = library()
        port = Port(umad)
        got = []
        waiting = threading.Thread(target=lambda: got.append(port.receive(timeout=-1)[0]))
        waiting.start()
        os.kill(int(os.environ["LAB_DAEMON"]), 9)
        waiting.join(PATIENCE)
        self.assertEqual(got, [-errno.EIO])
        self.assertLess(port.register(0x04, 1), 0)
        self.assertLess(umad.umad_open_port(None, 0), 0)


class OnANode(unittest.TestCase):
    def run_there(self, case):
        lab = Lab("pair.toml")
        environment = lab.environment("a")
        environment["LAB_DAEMON"] = str(lab.daemon.pid)
        done = subprocess.run(
            [sys.executable, __file__, case],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=3 * PATIENCE,
            check=False,
        )
        lab.close()
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_ports(self):
        self.run_there("Ports")

    def test_ends(self):
        self.run_there("Ends")


if __name__ == "__main__":
    chosen = sys.argv[1] if len(sys.argv) > 1 else "OnANode"
    unittest.main(argv=[sys.argv[0], "-v", chosen])
