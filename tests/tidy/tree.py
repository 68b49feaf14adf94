# SPDX-License-Identifier: Apache-2.0
"""The files of the project, as the rules of tidy.py look at them."""

import functools
import os
import pathlib
import re
import subprocess

SOURCE = {".h", ".cc", ".c"}
SCRIPT = {".py", ".sh"}


class File:
    """One file: its path from the top of the tree, and its text."""

    def __init__(self, root, path):
        self.root, self.path = root, path
        self.parts = pathlib.PurePosixPath(path).parts
        self.name = self.parts[-1]
        self.suffix = pathlib.PurePosixPath(path).suffix

    @functools.cached_property
    def bytes(self):
        return (self.root / self.path).read_bytes()

    @functools.cached_property
    def is_text(self):
        return b"\0" not in self.bytes[:4096]

    @functools.cached_property
    def lines(self):
        return self.bytes.decode("utf-8", "replace").splitlines() if self.is_text else []

    @functools.cached_property
    def code_lines(self):
        """The lines of a C++ file with comments and string contents blanked out."""
        text = "\n".join(self.lines)
        token = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)

        def blank(match):
            found = match.group(0)
            if found.startswith('"'):
                return '""'
            return re.sub(r"[^\n]", " ", found)

        # An include's own quotes are not a string.
        kept = [line if line.lstrip().startswith("#include") else None for line in self.lines]
        blanked = token.sub(blank, text).split("\n")
        return [k if k is not None else b for k, b in zip(kept, blanked)]

    @property
    def is_executable(self):
        return os.access(self.root / self.path, os.X_OK)

    @property
    def has_shebang(self):
        return self.bytes.startswith(b"#!")

    @property
    def is_cxx(self):
        return self.suffix in SOURCE

    @property
    def is_cmake(self):
        return self.suffix == ".cmake" or self.name == "CMakeLists.txt"

    @property
    def is_script(self):
        return self.suffix in SCRIPT or self.has_shebang

    @property
    def folder(self):
        """The folder of src/ that holds it, or ''."""
        return self.parts[1] if self.parts[0] == "src" and len(self.parts) > 2 else ""


class Tree:
    """All files of the project: what git knows or would take; without git, every file."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.files = [File(self.root, path) for path in sorted(self._paths())]
        self.by_path = {file.path: file for file in self.files}

    def _paths(self):
        if (self.root / ".git").exists():
            listed = subprocess.run(
                ["git", "-c", "safe.directory=*", "-C", str(self.root), "ls-files", "-z",
                 "--cached", "--others", "--exclude-standard"],
                check=True, capture_output=True).stdout.decode()
            paths = [path for path in listed.split("\0") if path]
        else:
            paths = [str(path.relative_to(self.root)) for path in self.root.rglob("*")
                     if path.is_file()]
        return [path for path in set(paths) if (self.root / path).is_file()
                and not path.startswith("build/")]

    def exists(self, path):
        return path in self.by_path or any(name.startswith(path.rstrip("/") + "/")
                                           for name in self.by_path)
