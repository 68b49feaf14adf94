#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The programs of examples/ do what their first lines say."""
import os
import pathlib
import subprocess
import sys
import unittest

BUILD = pathlib.Path(os.environ["WEFT_BUILD"])
EXAMPLES = BUILD / "examples"
ENVIRONMENT = dict(os.environ, LD_LIBRARY_PATH=str(BUILD / "lib" / "weft"))
PATIENCE = 60  # seconds; a hang is a failure


def start(*command):
    return subprocess.Popen(
        [str(part) for part in command],
        env=ENVIRONMENT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


class Examples(unittest.TestCase):
    def end(self, process, last_words=None):
        out, errors = process.communicate(last_words, timeout=PATIENCE)
        self.assertEqual(process.returncode, 0, errors)
        return out.splitlines()

    def test_hello_arrives(self):
        lines = self.end(start(EXAMPLES / "ud_hello"))
        self.assertEqual(
            lines, ["hello over UDP (15 bytes, from the expected queue pair: yes)"]
        )

    def test_hello_names_the_device_that_is_not_there(self):
        process = start(EXAMPLES / "ud_hello", "mlx5_0")
        _, errors = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 1)
        self.assertIn("no device mlx5_0", errors)

    def test_three_services_share_a_queue_that_is_refilled(self):
        # 13 of 16 buffers are used when the event comes.
        lines = self.end(start(EXAMPLES / "ud_shared"))
        self.assertEqual(lines, ["20, 20 and 20 messages, refilled 4 times"])

    def chat_in(self, group):
        names = ("alice", "bob", "carol")
        people = {name: start(EXAMPLES / "mcast_chat", "weft_lo", group, name, 2) for name in names}
        for process in people.values():
            self.assertEqual(process.stdout.readline(), "joined\n")
        # Everybody is in the group before anybody speaks.
        for name, process in people.items():
            process.stdin.write(f"I am {name}\n")
            process.stdin.flush()
        for name, process in people.items():
            others = [f"{other}: I am {other}" for other in names if other != name]
            self.assertEqual(sorted(self.end(process)), others)

    def test_three_people_chat_in_a_group(self):
        self.chat_in("239.192.7.1")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
