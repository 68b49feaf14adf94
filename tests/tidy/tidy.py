#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rules of the house, as a test. `tidy.py [--root DIR] RULE ...` prints one line for each
breach, `path:line: what is wrong`, and exits 1 if there is one; `--list` names the rules. Each rule
has a test in tidy_test.py that shows it fail."""

import argparse
import pathlib
import re
import sys

import claims as claimed_tests
import unnamed as unnamed_names
from tree import Tree

RULES = {}


def rule(function):
    RULES[function.__name__.replace("_", "-")] = function
    return function


# What each folder of src/ may include of the others. Dependencies point down only; docs/
# architecture.md draws the same.
MAY_INCLUDE = {
    "base": set(),
    "wire": {"base"},
    "phy": {"base", "wire"},
    "link": {"base", "wire"},
    "io": {"base"},
    "carrier": {"base", "wire", "link"},
    "umad": {"base", "io"},
    "hca": {"base", "wire"},
    "mgmt": {"base", "wire", "hca"},
    "fabric": {"base", "wire", "phy", "hca", "link", "mgmt"},
    "sm": {"base", "wire", "mgmt"},
    "rdmacm": {"base", "wire", "hca", "mgmt"},
    "wan": {"base", "wire", "phy", "link"},
    "lan": {"base", "wire"},
    "service": {"base", "wire", "lan"},
    "sim": {"base", "wire", "hca", "wan"},
    "port": {"base", "wire", "io", "hca"},
    "host": {"base", "wire", "io", "hca", "port"},
    "daemon": {"base", "wire", "io", "umad", "hca", "mgmt", "link", "carrier", "fabric", "rdmacm",
               "port", "host", "phy", "sm", "wan", "lan", "service"},
    "verbs": {"base", "wire", "io", "hca", "port", "host"},
    "cli": {"base", "wire", "io", "umad", "phy", "hca", "fabric", "wan", "service", "port", "host",
            "daemon", "verbs"},
}
# Protocol without I/O, clock, threads or a random device.
CORES = {"wire", "phy", "link", "carrier", "hca", "mgmt", "fabric", "sm", "rdmacm", "wan", "lan",
         "service", "sim"}
WORLD_HEADERS = re.compile(
    r"<(sys/|netinet/|arpa/|net/|linux/|infiniband/|openssl/|unistd\.h|poll\.h|fcntl\.h|signal\.h"
    r"|pthread\.h|time\.h|ctime|thread|mutex|shared_mutex|condition_variable|future|random|fstream"
    r"|iostream|filesystem|cstdio|stdio\.h|semaphore|stop_token)[^>]*>")
# Core files that may nevertheless: path and why.
MAY_TOUCH = {
    "src/hca/memory_table.h": "threads of a process register memory in one table: a mutex",
    "src/hca/memory_table.cc": "removal waits until no thread uses the region: yields",
    "src/sim/seeds.cc": "a run's seeds come from the environment: WEFT_SIM_SEEDS",
}
WORLD_CALLS = re.compile(
    r"\b(steady_clock::now|system_clock::now|high_resolution_clock::now|clock_gettime|gettimeofday"
    r"|time\(nullptr\)|random_device|getrandom|getenv|__rdtsc|__builtin_ia32_rdtsc|std::thread"
    r"|std::mutex|thread_local|socket\(|sendmsg\(|recvmsg\()")


@rule
def lines(tree):
    """Sources have at most 500 lines, tests at most 800."""
    for file in tree.files:
        limit = 800 if file.parts[0] == "tests" else 500
        if (file.is_cxx or file.is_script or file.is_cmake) and len(file.lines) > limit:
            yield file.path, limit + 1, f"{len(file.lines)} lines, at most {limit}"


@rule
def columns(tree):
    """Lines of sources, scripts and CMake files have at most 100 columns, no tab, no blank end."""
    for file in tree.files:
        if not (file.is_cxx or file.is_script or file.is_cmake):
            continue
        for number, line in enumerate(file.lines, 1):
            if len(line) > 100:
                yield file.path, number, f"{len(line)} columns, at most 100"
            if "\t" in line:
                yield file.path, number, "a tab"
            if line != line.rstrip():
                yield file.path, number, "blanks at the end"


@rule
def functions(tree):
    """Functions of src/ have at most 70 lines."""
    for file in tree.files:
        if file.parts[0] != "src" or not file.is_cxx:
            continue
        for first, last in function_bodies(file.code_lines):
            if last - first + 1 > 70:
                yield file.path, first, f"a function of {last - first + 1} lines, at most 70"


def function_bodies(code):
    """First and last line of every function, by the layout that clang-format gives: a body opens
    with a line that ends in '{' and closes with a '}' of the same indentation."""
    scope = re.compile(r"^\s*(inline\s+)?(namespace|class|struct|enum|union|extern|template)\b")
    open_scopes = []  # indentation of the classes and namespaces around
    number = 0
    while number < len(code):
        line = code[number]
        indent = len(line) - len(line.lstrip())
        if line.strip().startswith("}") and open_scopes and indent <= open_scopes[-1]:
            open_scopes.pop()
        elif line.rstrip().endswith("{"):
            start = number
            # A signature may take several lines; its first is the last one indented no further.
            closing_indent = indent
            while start > 0 and code[start].strip() and indent_of(code[start]) > 0 and (
                    code[start - 1].rstrip().endswith((",", "(", "->")) or
                    code[start].lstrip().startswith((":", ","))):
                start -= 1
                closing_indent = min(closing_indent, indent_of(code[start]))
            if scope.match(code[start]) and "(" not in line.split("{")[0]:
                open_scopes.append(closing_indent)
            else:
                end = number + 1
                while end < len(code) and not (code[end].strip().startswith("}") and
                                               indent_of(code[end]) <= closing_indent):
                    end += 1
                yield start + 1, min(end, len(code) - 1) + 1
                number = end
        number += 1


def indent_of(line):
    return len(line) - len(line.lstrip())


@rule
def licence(tree):
    """Every source, script and CMake file says its licence in its first or second line."""
    for file in tree.files:
        if not (file.is_cxx or file.is_script or file.is_cmake or file.name == "packages.txt"):
            continue
        if not file.lines and file.name == "__init__.py":
            continue
        if not any("SPDX-License-Identifier: Apache-2.0" in line for line in file.lines[:2]):
            yield file.path, 1, "no licence line (SPDX-License-Identifier: Apache-2.0)"


@rule
def layers(tree):
    """A folder of src/ includes only folders below it."""
    include = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
    for file in tree.files:
        if not file.folder or not file.is_cxx:
            continue
        if file.folder not in MAY_INCLUDE:
            yield file.path, 1, f"src/{file.folder} has no place in MAY_INCLUDE of tidy.py"
            continue
        allowed = MAY_INCLUDE[file.folder] | {file.folder}
        for number, line in enumerate(file.lines, 1):
            match = include.match(line)
            if not match or "/" not in match.group(1):
                continue
            other = match.group(1).split("/")[0]
            if other in MAY_INCLUDE and other not in allowed:
                yield file.path, number, f"src/{file.folder} may not include {other}/"


@rule
def cores(tree):
    """Cores have no I/O, clock, thread or random device."""
    for file in tree.files:
        if file.folder not in CORES or not file.is_cxx or file.path in MAY_TOUCH:
            continue
        for number, line in enumerate(file.code_lines, 1):
            for pattern in (WORLD_HEADERS, WORLD_CALLS):
                match = pattern.search(line)
                if match:
                    yield (file.path, number, f"a core touches the world: {match.group(0)}")


@rule
def headers(tree):
    """Every header has #pragma once; packets are not read by casting."""
    for file in tree.files:
        if not file.is_cxx:
            continue
        if file.suffix == ".h" and "#pragma once" not in file.lines[:60]:
            yield file.path, 1, "no #pragma once"
        if file.folder in CORES:
            for number, line in enumerate(file.code_lines, 1):
                if "#pragma pack" in line or "__attribute__((packed" in line:
                    yield file.path, number, "a packed struct: use named offsets over bytes"


@rule
def readmes(tree):
    """Every folder of src/ has a README.md of at most 40 lines."""
    folders = {file.parts[:2] for file in tree.files
               if file.parts[0] == "src" and len(file.parts) > 2}
    for parts in sorted(folders):
        path = "/".join(parts) + "/README.md"
        if path not in tree.by_path:
            yield path, 1, "missing: what lives here, what it may include, where to start reading"
        elif len(tree.by_path[path].lines) > 40:
            yield path, 41, f"{len(tree.by_path[path].lines)} lines, at most 40"


@rule
def words(tree):
    """Nothing is left to do, and nothing names a place outside the project."""
    # Written so that this file does not break the rule.
    unfinished = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")
    outside = re.compile(
        r"/wo" r"rk/|(?<![\w/])(\.\./)*sha" r"red/(README|design|style|anchors|users|abi|perf|facts"
        r"|vectors|interop|seeds|hooks)")
    for file in tree.files:
        for number, line in enumerate(file.lines, 1):
            if unfinished.search(line):
                yield file.path, number, "unfinished work: docs/roadmap.md, or do it now"
            if outside.search(line):
                yield file.path, number, "a path outside the project"


@rule
def names(tree):
    """File names are plain: sources in snake_case, nothing with blanks."""
    for file in tree.files:
        if not re.fullmatch(r"[A-Za-z0-9._+/-]+", file.path):
            yield file.path, 1, "a file name holds other characters than letters, digits and ._+-"
        elif file.is_cxx and not re.fullmatch(r"[a-z0-9_]+\.(h|cc|c)", file.name):
            yield file.path, 1, "a source's name is not in snake_case"


@rule
def unnamed(tree):
    """A name in an unnamed namespace is one of its folder: sources are compiled together."""
    yield from unnamed_names.breaches(tree)


@rule
def claims(tree):
    """Tests that a table of the documentation names are there."""
    yield from claimed_tests.breaches(tree)


@rule
def counters(tree):
    """A table of CounterInfo has a row for each counter: the compiler fills up what is missing."""
    for file in tree.files:
        if not file.is_cxx or file.parts[0] != "src":
            continue
        text = "\n".join(file.lines)
        for table in re.finditer(r"std::array<CounterInfo,[^>]*>\(\s*(\w+)::kCount\)>\s*\w+\s*"
                                 r"\{(.*?)\}\};", text, re.DOTALL):
            listed = re.search(rf"enum class {table[1]}\b[^{{]*\{{(.*?)\bkCount\b", text, re.DOTALL)
            if listed is None:
                continue
            counters = len(re.findall(r"\bk\w+", re.sub(r"//.*", "", listed[1])))
            rows = len(re.findall(r'\{\s*"', table[2]))
            if rows != counters:
                yield (file.path, text.count("\n", 0, table.start()) + 1,
                       f"{rows} rows for {counters} counters of {table[1]}")


@rule
def executables(tree):
    """What starts with #! can be run, and what can be run starts with #!."""
    for file in tree.files:
        if file.has_shebang and not file.is_executable:
            yield file.path, 1, "has a #! line but is not executable"
        if file.is_executable and not file.has_shebang:
            yield file.path, 1, "is executable but has no #! line"


@rule
def built(tree):
    """Every source is named in a CMakeLists.txt or *.cmake above it."""
    for file in tree.files:
        if file.suffix not in {".cc", ".c"} or \
                file.parts[0] not in {"src", "tests", "bench", "fuzz", "examples"}:
            continue
        above = {"/".join(file.parts[:depth]) for depth in range(1, len(file.parts))}
        text = "\n".join(line for other in tree.files
                         if other.is_cmake and "/".join(other.parts[:-1]) in above
                         for line in other.lines)
        if not re.search(rf"(?<![\w]){re.escape(file.name)}\b", text) and \
                not re.search(rf"(?<![\w.]){re.escape(file.name.rsplit('.', 1)[0])}\b", text):
            yield file.path, 1, "is built by no CMakeLists.txt"


@rule
def links(tree):
    """Links in Markdown, and paths and man pages named anywhere, lead somewhere."""
    link = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
    doc = re.compile(r"(?<![\w./-])((?:docs|script|examples)/[\w./-]*\w)")
    page = re.compile(r"\b(weft[\w-]*)\(([1-8])\)")
    for file in tree.files:
        fenced = False
        for number, line in enumerate(file.lines, 1):
            if file.suffix == ".md":
                fenced = fenced != line.lstrip().startswith("```")
                for target in [] if fenced else link.findall(line):
                    yield from check_link(tree, file, number, target)
            is_prose = file.suffix == ".md" or file.is_cxx or file.is_script
            if file.parts[0] != "tests" and is_prose:
                for target in doc.findall(line):
                    if not tree.exists(target) and not re.search(r"[A-Z]{3,}", target):
                        yield file.path, number, f"names {target}, which is not there"
            for name, section in page.findall(line) if file.parts[0] != "tests" else []:
                if not any(path.endswith(f"/{name}.{section}") for path in tree.by_path):
                    yield file.path, number, f"names {name}({section}), which is not there"


def check_link(tree, file, number, target):
    if re.match(r"[a-z]+:", target):
        return
    path, _, anchor = target.partition("#")
    parent = pathlib.PurePosixPath(file.path).parent
    parts = []
    for part in (parent / path).parts if path else pathlib.PurePosixPath(file.path).parts:
        if part == "..":
            parts = parts[:-1]
        elif part != ".":
            parts.append(part)
    resolved = "/".join(parts)
    if not tree.exists(resolved):
        yield file.path, number, f"a link to {target}, which is not there"
    elif anchor and resolved in tree.by_path:
        if anchor not in {slug(line) for line in tree.by_path[resolved].lines
                          if line.startswith("#")}:
            yield file.path, number, f"a link to {target}, where no heading is called so"


def slug(heading):
    """The anchor that GitHub and GitLab give to a heading."""
    text = re.sub(r"[^\w\- ]", "", heading.lstrip("#").strip().lower())
    return text.replace(" ", "-")


@rule
def readme_commands(tree):
    """Every command that README.md shows is run by a test: tests/e2e/readme_commands.txt."""
    shown = [command for _, command in fenced_commands(tree.by_path["README.md"].lines)]
    path = "tests/e2e/readme_commands.txt"
    listed = {}
    for number, line in enumerate(tree.by_path[path].lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        test, _, command = line.partition(" | ")
        listed[command.strip()] = number
        if test.strip() == "run":
            continue
        label, _, name = test.strip().partition(".")
        cmake = tree.by_path.get(f"tests/{label}/CMakeLists.txt")
        if test.strip() != "ci" and (cmake is None or name not in "\n".join(cmake.lines)):
            yield path, number, f"no test is called {test.strip()}"
    for command in shown:
        if command not in listed:
            yield "README.md", 1, f"shows a command that no test runs: {command} (see {path})"
    for command, number in listed.items():
        if command not in shown:
            yield path, number, f"README.md does not show this command: {command}"


def fenced_commands(text):
    """The commands of ```sh and ```console blocks: (line number, command)."""
    language = None
    for number, line in enumerate(text, 1):
        fence = re.match(r"\s*```(\w*)", line)
        if fence:
            language = fence.group(1) if language is None else None
        elif language == "sh" and line.strip() and not line.lstrip().startswith("#"):
            yield number, re.sub(r"\s+# .*", "", line).strip()
        elif language == "console" and line.startswith("$ "):
            yield number, re.sub(r"\s+# .*", "", line[2:]).strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", default=str(pathlib.Path(__file__).resolve().parents[2]))
    parser.add_argument("--list", action="store_true", help="name the rules and stop")
    parser.add_argument("rules", nargs="*", metavar="RULE")
    arguments = parser.parse_args()
    if arguments.list:
        for name, function in RULES.items():
            print(f"{name:16} {function.__doc__.splitlines()[0]}")
        return 0
    unknown = [name for name in arguments.rules if name not in RULES]
    if unknown:
        print(f"tidy: no rule '{unknown[0]}'; there are: {', '.join(RULES)}", file=sys.stderr)
        return 2
    tree = Tree(arguments.root)
    breaches = 0
    for name in arguments.rules or RULES:
        for path, number, message in RULES[name](tree):
            print(f"{path}:{number}: {message} [{name}]")
            breaches += 1
    if breaches:
        print(f"tidy: {breaches} breaches of the rules of the house")
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
