#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares, field by field, what two subnet managers answered to the same questions, and holds the
differences against a page that has a reason for each.

usage: lab_differences.py OURS THEIRS PAGE

OURS and THEIRS are directories of answers, as lab_questions.py leaves them. PAGE has a table with
five columns: the question, the record and its field, our answer, theirs, and why they differ. In
the first four an asterisk stands for anything; a dash is that nothing was told.
exit status: 0 the page is right; 1 it lacks a difference, or has one that is not there; 2 the
answers are not of the same questions
"""
import pathlib
import re
import sys

# What tells a record from others of its kind, in the words of saquery; always at its beginning.
IDENTITY = {"lid", "endportlid", "portnum", "port", "inport", "outport", "block", "position",
            "fromlid", "fromport", "slid", "dlid", "mlid", "portgid", "record"}
FIRST_FIELDS = 6
TOLD, NOTHING = "told", "-"
FIELD = re.compile(r"^\s*(?P<name>\S.*?):?\.{2,}(?P<value>.*)$")
# Lines of two columns, of which the first is a name.
ROWS = (
    re.compile(r"^\s*(?P<name>0x[0-9a-f]{4}) (?P<value>\d{3}(?= :).*)$"),      # ibroute
    re.compile(r"^\s*(?P<name>\d+)\s+(?P<value>\d+)\s*$"),                     # LFTRecord
    re.compile(r"^\s*(?P<name>0xc[0-9a-f]{3})\s+(?P<value>0x[0-9a-f]+)\s*$"),  # MFTRecord
)
# What is another each time: clocks and counters.
NOISE = (
    (re.compile(r"^# Topology file: .*"), ""),
    (re.compile(r"^ibwarn: \[\d+\] (mad_dump_linkwidth: bad width 0)?"), ""),
    (re.compile(r"^(StateChange:\.+)\d"), r"\1N"),
    (re.compile(r"(time|min/avg/max =) [0-9./]+ ms"), r"\1 N ms"),
    (re.compile(r"activity count \d+"), "activity count N"),
    (re.compile(r"^(\s*ActCount\.+)\d+"), r"\1N"),
    (re.compile(r"^(\s*Port(?:Unicast|Multicast)?(?:Xmit|Rcv)(?:Data|Pkts|Wait):\.+)\d+"), r"\1N"),
)


class Answers:
    """Of one manager: of each question each record, and of that each field with its values. What is
    in no record is in one without a name."""

    def __init__(self, directory):
        self.names = {}
        for line in (directory / "names").read_text(encoding="utf-8").splitlines():
            value, name = line.split()
            self.names[value] = name
        self.of = {}
        for file in sorted(directory.glob("[0-9]*")):
            question, _, text = file.read_text(encoding="utf-8").partition("\n")
            self.of[question] = self.records_in(text)

    def records_in(self, text):
        found = {}
        for heading, fields in records_of(text):
            name = f"{heading} {self.identity_of(fields)}".strip() if heading else ""
            record = found.setdefault(name, {})
            for field, value in fields:
                record.setdefault(field, []).append(value)
        return found

    def identity_of(self, fields):
        parts = []
        for name, value in fields[:FIRST_FIELDS]:
            if name.lower() not in IDENTITY:
                continue
            if name == "Block" and int(value) > 0 and int(value) % 256 == 0:
                value = str(int(value) // 256)  # in the other order of bytes
            known = name.lower().endswith(("lid", "gid"))
            parts.append(self.names.get(value, value) if known else value)
        return "/".join(parts)


def records_of(text):
    """The heading of each record, and its fields in their order; no heading: those of no record."""
    heading, fields = "", []
    for line in text.split("\n"):
        for pattern, instead in NOISE:
            line = pattern.sub(instead, line)
        if re.match(r"^\S.*dump:\s*$", line):
            yield heading, fields
            heading, fields = line.split(" dump:")[0], []
        elif line.strip():
            fields.append(field_of(line))
    yield heading, fields


def field_of(line):
    match = FIELD.match(line)
    for row in ROWS:
        match = match or row.match(line)
    return (match["name"], match["value"].strip()) if match else (line.strip(), TOLD)


def differences(ours, theirs):
    """(question, field, our value, their value), in the order of the questions. Of a record that
    one of them does not tell: (question, record, TOLD or NOTHING, the other)."""
    for question, our_records in ours.of.items():
        their_records = theirs.of[question]
        for record in dict.fromkeys([*our_records, *their_records]):
            if record in our_records and record in their_records:
                for field, *values in of_fields(our_records[record], their_records[record]):
                    yield question, f"{record}: {field}" if record else field, *values
            else:
                told_here = record in our_records
                yield question, record, *((TOLD, NOTHING) if told_here else (NOTHING, TOLD))


def of_fields(ours, theirs):
    for field in dict.fromkeys([*ours, *theirs]):
        mine, other = ours.get(field, []), theirs.get(field, [])
        if sorted(mine) != sorted(other):
            yield field, one_of(mine), one_of(other)


def one_of(values):
    return ", ".join(dict.fromkeys(values)) or NOTHING


class Row:
    """Of the page: which differences it speaks of."""

    def __init__(self, number, cells):
        self.number = number
        self.text = " | ".join(cells[:4])
        self.patterns = [re.compile(".*".join(map(re.escape, cell.strip("`").split("*"))))
                         for cell in cells[:4]]
        self.reason = cells[4]
        self.used = 0

    def covers(self, difference):
        return all(pattern.fullmatch(cell) for pattern, cell in zip(self.patterns, difference))


def rows_of(page):
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) == 5 and cells[0].startswith("`"):
            yield Row(number, cells)


def main():
    ours, theirs = (Answers(pathlib.Path(name)) for name in sys.argv[1:3])
    if list(ours.of) != list(theirs.of):
        print("the answers are not of the same questions")
        return 2
    page = pathlib.Path(sys.argv[3])
    rows = list(rows_of(page))
    found = list(differences(ours, theirs))
    wrong = 0
    for difference in found:
        covering = [row for row in rows if row.covers(difference)]
        for row in covering:
            row.used += 1
        if not covering:
            wrong += 1
            print("not in the page:", "| " + " | ".join(f"`{cell}`" for cell in difference) + " |")
    for row in rows:
        if not row.used or not row.reason:
            wrong += 1
            what = "without a reason" if row.used else "no such difference"
            print(f"{page}:{row.number}: {what}: {row.text}")
    fields = sum(len(record) for answer in ours.of.values() for record in answer.values())
    print(f"{len(ours.of)} questions, {fields} fields, {len(found)} of them differ,"
          f" in {len(rows)} ways")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
