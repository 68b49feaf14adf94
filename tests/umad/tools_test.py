#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""OpenSM and the tools of infiniband-diags manage a lab, unmodified.

Exit code 77: they are not installed.
"""
import re
import shutil
import sys
import tempfile
import unittest

from lab_fixture import Lab

TOOLS = ("opensm", "ibstat", "ibnetdiscover", "iblinkinfo", "smpquery", "sminfo", "perfquery",
         "saquery", "ibroute", "ibtracert")


class Tools(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lab = Lab("two-switches.toml")
        with tempfile.TemporaryDirectory() as logs:
            cls.opensm = cls.lab.run("a", "opensm", "--once", "--log_file", f"{logs}/log")

    @classmethod
    def tearDownClass(cls):
        counters = cls.lab.close()
        assert counters["mad_nonsense"] == counters["mad_unread"] == 0, counters

    def says(self, pattern, node, *command):
        done = self.lab.run(node, *command)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertRegex(done.stdout, pattern)
        return done.stdout

    def test_opensm_brings_the_fabric_up_and_ends(self):
        self.assertEqual(self.opensm.returncode, 0, self.opensm.stdout)
        self.assertIn("Entering MASTER state", self.opensm.stdout)
        for node in "abc":
            self.says(r"State: Active", node, "ibstat", "weft0", "1")

    def test_each_node_sees_its_own_adapter(self):
        guids = {self.says("0x", node, "ibstat", "-p") for node in "abcd"}
        self.assertEqual(len(guids), 4)
        self.assertEqual(len(self.says("0x", "d", "ibstat", "-p").split()), 2)
        self.says(r"Switch 'weft0'", "left", "ibstat")

    def test_ibnetdiscover_finds_the_lab(self):
        said = self.says("switchguid", "b", "ibnetdiscover")
        self.assertEqual(set(re.findall(r'^Ca\t.*# "(\w+)"', said, re.M)), set("abcd"))
        self.assertEqual(set(re.findall(r'^Switch\t.*# "(\w+)"', said, re.M)), {"left", "right"})

    def test_iblinkinfo_shows_active_links(self):
        self.says(r"4X +10.0 Gbps Active/ +LinkUp", "a", "iblinkinfo")

    def test_smpquery_by_route_and_by_lid(self):
        self.says("Node Description:\\.+left", "a", "smpquery", "-D", "nodedesc", "0,1")
        self.says("LinkState:\\.+Active", "a", "smpquery", "portinfo", "1", "1")
        self.says("NodeType:\\.+Channel Adapter", "b", "smpquery", "nodeinfo", "1")

    def test_perfquery_reads_counters(self):
        self.says("PortXmitPkts:", "a", "perfquery")
        self.says("PortXmitPkts:", "a", "perfquery", "-x")

    def test_what_is_behind_an_empty_port_is_given_up(self):
        done = self.lab.run("a", "smpquery", "-t", "100", "-D", "nodeinfo", "0,1,5")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("failed", done.stdout)


if __name__ == "__main__":
    if not all(shutil.which(tool) for tool in TOOLS):
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], "-v"])
