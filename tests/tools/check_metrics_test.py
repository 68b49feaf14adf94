#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_metrics.py reads what is right, and finds each thing that is not."""
import unittest

from check_metrics import Wrong, read_metrics

GOOD = (
    "# HELP a_b_total what it counts\n"
    "# TYPE a_b_total counter\n"
    'a_b_total{of="x"} 1\n'
    'a_b_total{of="\\"y\\\\\\n",lane="7"} 18446744073709551615\n'
    "# HELP a_c with a \\\\ and a \\n\n"
    "# TYPE a_c gauge\n"
    "a_c -1.5e-07\n"
    "# HELP a_d_total nothing of it yet\n"
    "# TYPE a_d_total counter\n")


class Metrics(unittest.TestCase):
    def test_are_read(self):
        families = read_metrics(GOOD, "a_")
        self.assertEqual(list(families), ["a_b_total", "a_c", "a_d_total"])
        self.assertEqual(families["a_b_total"].samples[(("of", "x"),)], "1")
        self.assertEqual(len(families["a_b_total"].samples), 2)
        self.assertEqual(families["a_c"].samples, {(): "-1.5e-07"})

    def test_are_refused_when_something_is_wrong(self):
        head = "# HELP m help\n# TYPE m gauge\n"
        for text, what in (
                ("", "no end"),
                (GOOD[:-1], "no end"),
                ("m 1\n", "not of the family"),
                ("# HELP m help\nm 1\n", "before the type"),
                ("# TYPE m gauge\nm 1\n", "does not follow"),
                ("# HELP m help\n", "no type"),
                ("# HELP m \n# TYPE m gauge\n", "no help"),
                ("# HELP m a\\b\n# TYPE m gauge\n", "no help"),
                ("# HELP m help\n# TYPE m counter\n", "end in _total"),
                ("# HELP m_total help\n# TYPE m_total gauge\n", "end in _total"),
                ("# HELP m help\n# TYPE m meter\n", "no such type"),
                ("# HELP 1m help\n# TYPE 1m gauge\n", "no name"),
                ("# a comment\n", "neither"),
                (head + "n 1\n", "not of the family"),
                (head + "\n", "not of the family"),
                (head + "m 1\n" + head, "second time"),
                (head + "m 1\nm 2\n", "same labels"),
                (head + 'm{a="1"} 1\nm{a="1"} 1\n', "same labels"),
                (head + 'm{a="1",a="2"} 1\n', "twice"),
                (head + 'm{a="1",} 1\n', "comma"),
                (head + 'm{a="1"b="2"} 1\n', "comma"),
                (head + 'm{a="\\x"} 1\n', "no label"),
                (head + 'm{a="b"c"} 1\n', "comma"),
                (head + "m{} 1\n", "braces"),
                (head + 'm{a="1" 1\n', "do not end"),
                (head + "m  1\n", "no value"),
                (head + "m one\n", "no value"),
                (head + "m 1 \n", "no value"),
                (head + "m 1\r\n", "no value"),
                ("# HELP m_total h\n# TYPE m_total counter\nm_total -1\n", "whole number"),
                ("# HELP m_total h\n# TYPE m_total counter\nm_total 0.5\n", "whole number"),
        ):
            with self.subTest(text=text):
                with self.assertRaisesRegex(Wrong, what):
                    read_metrics(text)
        with self.assertRaisesRegex(Wrong, "no name"):
            read_metrics(GOOD, "b_")


if __name__ == "__main__":
    unittest.main()
