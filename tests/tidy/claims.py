# SPDX-License-Identifier: Apache-2.0
"""The tests that tables of the documentation name as what shows a claim, and those that there
are."""

import fnmatch
import re

# Suite.Test or Suite.*; where a name is long, "…" stands for the rest of it.
UNIT = re.compile(r"(?<![\w.*/])([A-Z][a-z]\w*\.(?:\*|[A-Z]\w*…?|…\w+…?))")
DEFINED = re.compile(r"^(?:TEST|TEST_F|TEST_P|TYPED_TEST)\(\s*(\w+),\s*(\w+)", re.M)
# Names of this form that are none: states of a link (IBA vol 2, 5.6), as in Polling.Active.
LINK_STATES = {"Config", "Polling", "Recovery", "Sleep"}
# Those that are scripts, by the folder of tests/: a "*" in their names stands for anything.
SCRIPT = re.compile(r"`(e2e|interop)\.([a-z0-9*-]+)`")
LOOP = re.compile(r"foreach\((\w+)\s+([^)]*)\)|string\(REPLACE (\S) (\S) (\w+) \$\{(\w+)\}\)"
                  r"|(?<!\S)(?:weft_script_test\((\w+)\s+|(\w+)\()([\w${}-]+)")


def unit_tests(tree):
    return [f"{suite}.{test}" for file in tree.files
            if file.parts[0] == "tests" and file.is_cxx
            for suite, test in DEFINED.findall("\n".join(file.lines))]


def script_tests(tree, label):
    """Their names, of loops over words, and of what follows from a loop's word, each one."""
    cmake = tree.by_path.get(f"tests/{label}/CMakeLists.txt")
    words, names = {}, []
    for match in LOOP.finditer("\n".join(cmake.lines) if cmake else ""):
        loop, values, old, new, variable, of_loop, function, own, name = match.groups()
        if loop:
            words[loop] = values.split()
        elif variable:
            words[variable] = [word.replace(old, new) for word in words.get(of_loop, [])]
        elif label in (function, own):
            names += expanded(name, words)
    return names


def expanded(name, words):
    """The name with each of its variable's words in its place."""
    variable = re.search(r"\$\{(\w+)\}", name)
    if variable is None:
        return [name]
    return [each for word in words.get(variable[1], [])
            for each in expanded(name.replace(variable[0], word), words)]


def breaches(tree):
    units = "\n".join(unit_tests(tree))
    scripts = {label: script_tests(tree, label) for label in ("e2e", "interop")}
    for file in tree.files:
        if file.suffix != ".md":
            continue
        for number, line in enumerate(file.lines, 1):
            if not line.startswith("|"):
                continue
            for name in UNIT.findall(line):
                if name.split(".")[0] in LINK_STATES:
                    continue
                wanted = re.escape(name).replace("…", r"\w*").replace(r"\*", r"\w+")
                if not re.search(rf"^{wanted}$", units, re.M):
                    yield file.path, number, f"names the test {name}, which is not there"
            for label, name in SCRIPT.findall(line):
                if not fnmatch.filter(scripts[label], name):
                    yield file.path, number, f"names the test {label}.{name}, which is not there"
