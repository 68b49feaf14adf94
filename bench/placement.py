# SPDX-License-Identifier: Apache-2.0
"""Measurements by two processes on two processors that a host does not move apart meanwhile.

A virtual machine's processors are threads of its host, which moves them when it likes: from cores
that share a cache to others, whose memory is several times as far. Plain sockets and Weft then
have half of their rate or less, and a ratio of a run here and a run there says nothing."""
import json
import pathlib
import subprocess

TRIES = 8
FAR = 3  # times the least distance that was seen
_PROBE = pathlib.Path(__file__).resolve().parent / "programs" / "processor_distance"


class Placement:
    def __init__(self):
        self.repeated = 0  # measurements that were made again, for the processors were far apart
        self.far = 0  # that were taken all the same: they never came together
        self._least = min(self._distance() for _ in range(5))

    def _distance(self):
        out = subprocess.run([_PROBE], check=True, capture_output=True, text=True).stdout
        return json.loads(out)["round_trip_ns"]

    def near(self, measure):
        """What measure() returns, of a time when the processors were near before and after."""
        for _ in range(TRIES):
            before = self._distance()
            result = measure()
            after = self._distance()
            self._least = min(self._least, before, after)
            if max(before, after) <= FAR * self._least:
                return result
            self.repeated += 1
        self.far += 1
        return result

    def __str__(self):
        return (f"processors {self._least:.0f} ns from each other and back; {self.repeated} "
                f"measurements repeated, for they were far apart, and {self.far} taken "
                "all the same")
