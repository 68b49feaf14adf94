#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows that every rule of tidy.py can fail, and that none complains of a tree that keeps it."""

import os
import pathlib
import tempfile
import unittest

import tidy
from tree import Tree

LICENCE = "// SPDX-License-Identifier: Apache-2.0\n"
HASH_LICENCE = "# SPDX-License-Identifier: Apache-2.0\n"

GOOD = {
    "README.md": "# Weft\n\nSee [the notes](docs/notes.md#part-one) and `script/go`.\n\n"
                 "```sh\nscript/go --all   # everything\n```\n",
    "docs/notes.md": "# Notes\n\n## Part one\n\nText.\n",
    "script/go": "#!/bin/sh\n" + HASH_LICENCE,
    "src/CMakeLists.txt": HASH_LICENCE + "add_subdirectory(wire)\n",
    "src/wire/CMakeLists.txt": HASH_LICENCE + "weft_library(wire SOURCES bth.cc)\n",
    "src/wire/README.md": "# wire\n",
    "src/wire/bth.h": LICENCE + '#pragma once\n#include "base/ids.h"\n',
    "src/wire/bth.cc": LICENCE + '#include "wire/bth.h"\n\nint f() {\n  return 1;\n}\n',
    "tests/e2e/CMakeLists.txt": HASH_LICENCE + "weft_script_test(e2e readme COMMAND x)\n",
    "tests/e2e/readme_commands.txt": "e2e.readme | script/go --all\n",
}


def long_function(lines, opening="int f() {"):
    return LICENCE + opening + "\n" + "  g();\n" * (lines - 2) + "}\n"


def in_unnamed(text):
    return LICENCE + f"namespace weft {{\nnamespace {{\n{text}\n}}  // namespace\n"


class Rules(unittest.TestCase):
    def breaches(self, rule, **changes):
        """What `rule` says of the good tree with `changes` made: path -> text, None to remove."""
        with tempfile.TemporaryDirectory() as root:
            files = dict(GOOD, **changes.get("files", {}))
            for path, text in files.items():
                if text is None:
                    continue
                target = pathlib.Path(root, path)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(text, encoding="utf-8")
                target.chmod(0o755 if text.startswith("#!") else 0o644)
            for path, mode in changes.get("modes", {}).items():
                os.chmod(pathlib.Path(root, path), mode)
            return [(path, number) for path, number, _ in tidy.RULES[rule](Tree(root))]

    def test_every_rule_accepts_a_tree_that_keeps_it(self):
        for rule in tidy.RULES:
            with self.subTest(rule=rule):
                self.assertEqual(self.breaches(rule), [])

    def test_every_rule_is_shown_to_fail_here(self):
        shown = {name[len("test_"):].split("__")[0].replace("_", "-") for name in dir(self)
                 if "__" in name and name.startswith("test_")}
        self.assertEqual(set(tidy.RULES) - shown, set())

    def one(self, rule, path, number=1, **changes):
        self.assertIn((path, number), self.breaches(rule, **changes))

    def test_lines__refuses_a_source_of_501_and_a_test_of_801(self):
        source = LICENCE + "\n" * 500
        self.one("lines", "src/wire/bth.cc", 501, files={"src/wire/bth.cc": source})
        self.assertEqual(self.breaches("lines", files={"tests/wire/bth_test.cc": source}), [])
        self.one("lines", "tests/a_test.cc", 801, files={"tests/a_test.cc": LICENCE + "\n" * 800})

    def test_columns__refuses_101_columns_tabs_and_blank_ends(self):
        for bad in ("//" + "x" * 99, "\tint a;", "int a; "):
            self.one("columns", "src/wire/bth.cc", 2, files={"src/wire/bth.cc": LICENCE + bad})
        fits = LICENCE + "//" + "x" * 98
        self.assertEqual(self.breaches("columns", files={"src/wire/bth.cc": fits}), [])

    def test_functions__refuses_71_lines(self):
        self.assertEqual(self.breaches("functions", files={"src/wire/bth.cc": long_function(70)}),
                         [])
        self.one("functions", "src/wire/bth.cc", 2, files={"src/wire/bth.cc": long_function(71)})

    def test_functions__finds_them_inside_namespaces_and_classes(self):
        method = "  int f() {\n" + "    g();\n" * 70 + "  }\n"
        text = LICENCE + "namespace a {\nclass B {\n" + method + "};\n}  // namespace a\n"
        self.one("functions", "src/wire/bth.cc", 4, files={"src/wire/bth.cc": text})

    def test_functions__counts_from_the_first_line_of_the_signature(self):
        text = long_function(70, opening="int f(int a,\n      int b) {")
        self.one("functions", "src/wire/bth.cc", 2, files={"src/wire/bth.cc": text})

    def test_counters__refuses_a_table_with_a_row_too_few_or_too_many(self):
        enum = "enum class C : int {\n  kA,  // kB once\n  kC,\n  kCount\n};\n"
        begin = "std::array<CounterInfo, static_cast<std::size_t>(C::kCount)>\n    kInfo{{\n"
        row = '        {"a", "what it is"},\n'
        for rows in (1, 3):
            text = LICENCE + enum + begin + row * rows + "    }};\n"
            self.one("counters", "src/wire/a.h", 7, files={"src/wire/a.h": text})
        text = LICENCE + enum + begin + row * 2 + "    }};\n"
        self.assertEqual(self.breaches("counters", files={"src/wire/a.h": text}), [])

    def test_licence__refuses_a_file_without_it(self):
        for path, text in (("src/wire/bth.cc", "int a;\n"), ("script/go", "#!/bin/sh\necho\n"),
                           ("src/CMakeLists.txt", "add_subdirectory(wire)\n"),
                           ("tests/a.py", "print()\n")):
            self.one("licence", path, files={path: text})

    def test_layers__refuses_an_include_upwards(self):
        for folder, other in (("wire", "io"), ("wire", "hca"), ("base", "wire"), ("io", "port"),
                              ("hca", "port"), ("sim", "io"), ("port", "host"), ("host", "verbs")):
            path = f"src/{folder}/a.cc"
            self.one("layers", path, 2, files={path: LICENCE + f'#include "{other}/x.h"\n'})

    def test_layers__refuses_a_folder_that_has_no_place(self):
        self.one("layers", "src/misc/a.cc", files={"src/misc/a.cc": LICENCE})

    def test_cores__refuses_io_clocks_threads_and_random_devices(self):
        for bad in ("#include <sys/socket.h>", "#include <thread>", "#include <fstream>",
                    "#include <openssl/evp.h>",
                    "auto t = std::chrono::steady_clock::now();", "clock_gettime(0, &t);",
                    "std::random_device r;", "getrandom(p, 4, 0);", "std::mutex m;"):
            self.one("cores", "src/wire/bth.cc", 2, files={"src/wire/bth.cc": LICENCE + bad + "\n"})

    def test_cores__looks_at_code_and_not_at_comments_and_strings(self):
        text = LICENCE + '// no steady_clock::now here\nconst char* s = "getrandom";\n'
        self.assertEqual(self.breaches("cores", files={"src/wire/bth.cc": text}), [])
        self.assertEqual(
            self.breaches("cores", files={"src/io/a.cc": LICENCE + "#include <thread>\n"}), [])

    def test_headers__refuses_a_missing_pragma_and_packed_structs(self):
        self.one("headers", "src/wire/bth.h", files={"src/wire/bth.h": LICENCE})
        self.one("headers", "src/wire/bth.h", 3,
                 files={"src/wire/bth.h": LICENCE + "#pragma once\n#pragma pack(1)\n"})

    def test_readmes__refuses_a_missing_and_a_long_one(self):
        self.one("readmes", "src/wire/README.md", files={"src/wire/README.md": None})
        self.one("readmes", "src/wire/README.md", 41, files={"src/wire/README.md": "x\n" * 41})

    def test_words__refuses_unfinished_work_and_paths_outside(self):
        for bad in ("// TO" + "DO: later", "// FIX" + "ME", "// see /wo" + "rk/main",
                    "// see ../sha" + "red/design.md"):
            self.one("words", "src/wire/bth.cc", 2, files={"src/wire/bth.cc": LICENCE + bad + "\n"})
        fine = LICENCE + "// mktemp -d XXXXXX, share" + "d/memory\n"
        self.assertEqual(self.breaches("words", files={"src/wire/bth.cc": fine}), [])

    def test_unnamed__the_same_constant_in_two_sources(self):
        source = in_unnamed("constexpr int kMost = 4;")
        self.assertEqual(
            self.breaches("unnamed", files={"src/wire/a.cc": source, "src/wire/b.cc": source}),
            [("src/wire/b.cc", 4)])

    def test_unnamed__a_function_is_told_apart_by_its_parameters(self):
        def source(parameters):
            return in_unnamed(f"int most({parameters}) {{\n  return 1;\n}}")
        files = {"src/wire/a.cc": source("int a"), "src/wire/b.cc": source("unsigned a")}
        self.assertEqual(self.breaches("unnamed", files=files), [])
        files["src/wire/c.cc"] = source("int other")
        self.assertEqual(self.breaches("unnamed", files=files), [("src/wire/c.cc", 4)])

    def test_unnamed__hides_a_name_of_a_header(self):
        header = (LICENCE + "#pragma once\nnamespace weft {\nstruct Head {\n};\n"
                  "}  // namespace weft\n")
        source = in_unnamed("class Head {\n};")
        self.assertEqual(
            self.breaches("unnamed", files={"src/wire/a.h": header, "src/wire/b.cc": source}),
            [("src/wire/b.cc", 4)])

    def test_claims__refuses_a_table_that_names_a_test_that_is_not_there(self):
        tests = {
            "tests/wire/bth_test.cc": LICENCE + "TEST(Bth, ReadsWhatItWrites) {\n}\n",
            "tests/e2e/CMakeLists.txt": HASH_LICENCE + """weft_script_test(e2e readme COMMAND x)
foreach(layers udp/ipv6
    ipv6)
  string(REPLACE / - name ${layers})
  e2e(wire-${name} x)
endforeach()
""",
        }
        for good in ("Bth.*", "Bth.ReadsWhat…", "Bth.…Writes", "`e2e.readme`, **Other.** Words",
                     "`e2e.wire-*`", "`e2e.wire-udp-ipv6`"):
            files = {**tests, "docs/notes.md": f"Nil.* is no row\n| a claim | {good} |\n"}
            self.assertEqual(self.breaches("claims", files={**files, "README.md": ""}), [])
        for bad in ("Bth.…Reads", "Bth.Reads", "Nil.*", "`e2e.lost`", "`e2e.wire-ipv4`",
                    "`e2e.wire-*-ipv4`"):
            self.one("claims", "docs/notes.md", 1,
                     files={**tests, "docs/notes.md": f"| a claim | {bad} |\n"})

    def test_names__refuses_blanks_and_capitals(self):
        for path in ("docs/two words.md", "src/wire/Bth.cc"):
            self.one("names", path, files={path: LICENCE})

    def test_executables__refuses_both_mistakes(self):
        self.one("executables", "script/go", modes={"script/go": 0o644})
        self.one("executables", "docs/notes.md", modes={"docs/notes.md": 0o755})

    def test_built__refuses_a_source_that_nothing_builds(self):
        for path in ("src/wire/lost.cc", "tests/wire/lost_test.cc"):
            self.one("built", path, files={path: LICENCE})

    def test_links__refuses_links_paths_and_man_pages_that_lead_nowhere(self):
        for bad in ("[x](docs/none.md)", "[x](docs/notes.md#none)", "see docs/none.md",
                    "see weft-none(1)"):
            self.one("links", "README.md", files={"README.md": bad + "\n"})
        self.one("links", "src/wire/bth.cc", 2,
                 files={"src/wire/bth.cc": LICENCE + "// see docs/none.md\n"})

    def test_readme_commands__refuses_one_that_no_test_runs(self):
        self.one("readme-commands", "README.md",
                 files={"README.md": "```sh\nscript/go --all\nscript/other\n```\n"})

    def test_readme_commands__refuses_a_list_that_has_gone_stale(self):
        path = "tests/e2e/readme_commands.txt"
        self.one("readme-commands", path, files={"README.md": "# Weft\n"})
        self.one("readme-commands", path, files={path: "e2e.lost | script/go --all\n"})


if __name__ == "__main__":
    unittest.main()
