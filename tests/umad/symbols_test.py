#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The drop-in exports what the distribution's libibumad does, and says the same where no adapter is
needed for it. Exit code 77: the distribution's is not installed."""
import ctypes
import glob
import os
import pathlib
import subprocess
import sys
import unittest

OURS = pathlib.Path(os.environ["WEFT_BUILD"]) / "lib" / "weft" / "libibumad.so.3"
SYSTEM = sorted(glob.glob("/usr/lib/*/libibumad.so.3"))


def dynamic_symbols(path):
    """(name@version, exported) of every dynamic symbol."""
    listing = subprocess.run(
        ["readelf", "--dyn-syms", "--wide", path], capture_output=True, text=True, check=True
    )
    for line in listing.stdout.splitlines():
        fields = line.split()
        if len(fields) >= 8 and fields[4] != "LOCAL" and fields[0] != "Num:":
            yield fields[7], fields[6] != "UND"


def exported(path):
    return {name for name, ours in dynamic_symbols(path) if ours}


class Symbols(unittest.TestCase):
    def test_names_and_versions_are_those_of_the_distribution(self):
        theirs = exported(SYSTEM[0])
        self.assertEqual(len([name for name in theirs if "@@" in name]), 39)
        self.assertEqual(exported(OURS), theirs)

    def test_no_cxx_runtime_is_needed(self):
        """A program may bring an older one of its own."""
        dynamic = subprocess.run(
            ["readelf", "--dynamic", "--wide", OURS], capture_output=True, text=True, check=True
        )
        self.assertNotIn("libstdc++", dynamic.stdout)


class SameAnswers(unittest.TestCase):
    """Of functions that only look at numbers, or write into the program's own buffer."""

    def setUp(self):
        self.libraries = [ctypes.CDLL(str(OURS)), ctypes.CDLL(SYSTEM[0])]

    def compare(self, function, *arguments):
        answers = []
        for library in self.libraries:
            call = getattr(library, function)
            call.restype = ctypes.c_char_p
            answers.append(call(*arguments))
        self.assertEqual(answers[0], answers[1], (function, arguments))

    def test_the_words_for_classes_and_methods(self):
        for value in range(256):
            self.compare("umad_class_str", value)
            for mgmt_class in range(256):
                self.compare("umad_method_str", mgmt_class, value)

    def test_the_words_for_a_status(self):
        for value in range(0x10000):
            self.compare("umad_common_mad_status_str", ctypes.c_uint16(value))
            self.compare("umad_sa_mad_status_str", ctypes.c_uint16(value))

    def test_the_words_for_attributes(self):
        for mgmt_class in (0x00, 0x01, 0x03, 0x04, 0x07, 0x32, 0x81, 0xFF):
            for high in (0x00, 0x01, 0xFF):  # attribute identifiers are big-endian
                for low in range(256):
                    self.compare("umad_attribute_str", mgmt_class, ctypes.c_uint16(low << 8 | high))

    def test_addresses_in_a_buffer(self):
        address = (ctypes.c_ubyte * 44)(*range(1, 45))
        calls = (
            ("umad_set_addr", 0x1234, 0x56789A, 5, -0x7FFF0000),
            ("umad_set_addr_net", 0x1234, 0x56789A, 5, -0x7FFF0000),
            ("umad_set_grh", address),
            ("umad_set_grh", None),
        )
        for name, *arguments in calls:
            for fill in (0x00, 0xA5):
                buffers = []
                for library in self.libraries:
                    buffer = (ctypes.c_ubyte * 320)(*([fill] * 320))
                    self.assertEqual(getattr(library, name)(buffer, *arguments), 0)
                    buffers.append(bytes(buffer))
                self.assertEqual(buffers[0], buffers[1], name)

    def test_where_things_are_in_a_buffer(self):
        ours = self.libraries[0]
        buffer = (ctypes.c_ubyte * 320)()
        at = ctypes.addressof(buffer)
        for name in ("umad_get_mad", "umad_get_mad_addr"):
            getattr(ours, name).restype = ctypes.c_void_p
        # The layout with a P_Key index, which programs have been built for since 2007.
        self.assertEqual(ours.umad_size(), 64)
        self.assertEqual(ours.umad_get_mad(buffer) - at, 64)
        self.assertEqual(ours.umad_get_mad_addr(buffer) - at, 20)
        buffer[4] = 110
        self.assertEqual(ours.umad_status(buffer), 110)
        buffer[56] = 0x34
        buffer[57] = 0x12
        self.assertEqual(ours.umad_get_pkey(buffer), 0x1234)
        # The distribution's does this once it has seen a kernel that takes it.
        self.assertEqual(ours.umad_set_pkey(buffer, 0x5678), 0)
        self.assertEqual(bytes(buffer[56:58]), b"\x78\x56")

    def test_the_debug_level_stays_when_it_is_asked_for(self):
        for library in self.libraries:
            self.assertEqual([library.umad_debug(level) for level in (3, -1, 0, -1)], [3, 3, 0, 0])


if __name__ == "__main__":
    if not SYSTEM:
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], "-v"])
