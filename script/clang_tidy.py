# SPDX-License-Identifier: Apache-2.0
"""clang_tidy.py BUILD SOURCE ...: runs clang-tidy over the sources as BUILD compiles them, as many
at a time as there are processors, and exits 1 if it finds anything. BUILD/clang-tidy remembers what
was clean: a source is looked at again once it, a header that it includes, its command or
.clang-tidy is another."""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

CLANG_TIDY = "clang-tidy-14"


def dependencies(build):
    """What each object was made from, as ninja noted it."""
    listing = subprocess.run(["ninja", "-C", build, "-t", "deps"], check=True, text=True,
                             stdout=subprocess.PIPE).stdout
    found = {}
    for block in re.split(r"\n\s*\n", listing):
        first, *rest = block.strip().split("\n")
        found[first.split(":")[0]] = [line.strip() for line in rest]
    return found


class Memory:
    """The state in which each source was clean."""

    def __init__(self, build):
        self.build = pathlib.Path(build)
        self.dependencies = dependencies(build)
        self.contents = {}
        self.common = self.content(pathlib.Path(".clang-tidy")) + subprocess.run(
            [CLANG_TIDY, "--version"], check=True, stdout=subprocess.PIPE).stdout

    def content(self, path):
        if path not in self.contents:
            self.contents[path] = hashlib.sha256(path.read_bytes()).digest()
        return self.contents[path]

    def state(self, source, command):
        """A digest of all that clang-tidy sees; None when the source has not been compiled yet."""
        parts = self.dependencies.get(re.search(r" -o (\S+)", command)[1])
        if parts is None:
            return None
        digest = hashlib.sha256(self.common + command.encode() + self.content(source))
        for part in parts:
            path = self.build / part
            if not path.exists():
                return None
            digest.update(part.encode() + self.content(path))
        return digest.hexdigest()

    def note(self, source):
        return self.build / "clang-tidy" / source


def look_at(source, build):
    done = subprocess.run([CLANG_TIDY, "--quiet", "-p", build, source], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


def main():
    build, *sources = sys.argv[1:]
    with open(pathlib.Path(build) / "compile_commands.json", encoding="utf-8") as file:
        commands = {os.path.relpath(one["file"]): one["command"] for one in json.load(file)}
    memory = Memory(build)
    states = {}
    for source in sources:
        if source not in commands:
            print(f"{source}: {build} does not compile it", file=sys.stderr)
            return 1
        state = memory.state(pathlib.Path(source), commands[source])
        note = memory.note(source)
        if state is None or not note.exists() or note.read_text() != state:
            states[source] = state
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        work = {pool.submit(look_at, source, build): source for source in states}
        for one in concurrent.futures.as_completed(work):
            source = work[one]
            code, said = one.result()
            if code != 0:
                failed += 1
                print(said, flush=True)
            elif states[source] is not None:
                memory.note(source).parent.mkdir(parents=True, exist_ok=True)
                memory.note(source).write_text(states[source])
    print(f"clang-tidy: {failed} sources of {len(sources)} have findings; "
          f"{len(sources) - len(states)} were known to be clean")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
