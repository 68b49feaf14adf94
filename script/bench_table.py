# SPDX-License-Identifier: Apache-2.0
"""bench_table.py FILE PROGRAM COMMIT DATE <OUTPUT: puts a row with the `result: NAME = VALUE` lines
of a program's output at the top of the program's table in a Markdown file. A program whose results
have other names than the newest table's gets a new table above it."""

import pathlib
import re
import sys


def row(cells):
    return "| " + " | ".join(cells) + " |"


def insert(text, program, cells, names):
    """`text` with the row `cells` put in; `names` are the columns after commit and date."""
    header = [row(["date", "commit", *names]), row(["---"] * (len(names) + 2))]
    lines = text.rstrip("\n").split("\n")
    title = f"## {program}"
    if title not in lines:
        return "\n".join([*lines, "", title, "", *header, row(cells)]) + "\n"
    at = lines.index(title) + 1
    end = next((n for n in range(at, len(lines)) if lines[n].startswith("## ")), len(lines))
    table = next((n for n in range(at, end) if lines[n].startswith("| date |")), end)
    if table < end and lines[table] == header[0]:
        lines.insert(table + 2, row(cells))
    else:
        block = [*header, row(cells), ""]
        if table == end and lines[table - 1]:
            block.insert(0, "")
        lines[table:table] = block
    return "\n".join(lines).rstrip("\n") + "\n"


def main():
    path, program, commit, date = pathlib.Path(sys.argv[1]), *sys.argv[2:5]
    results = re.findall(r"^result: *(.+?) *= *(.+?) *$", sys.stdin.read(), re.M)
    if not results:
        print(f"bench: {program} printed no 'result: NAME = VALUE' line", file=sys.stderr)
        return 1
    clean = [(name.replace("|", "/"), value.replace("|", "/")) for name, value in results]
    cells = [date, commit, *(value for _, value in clean)]
    path.write_text(insert(path.read_text(encoding="utf-8"), program, cells,
                           [name for name, _ in clean]), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
