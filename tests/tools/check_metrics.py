#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Read metrics in Prometheus's text form (exposition format 0.0.4), and find what is wrong there.

Written from the format's description and apart from src/base. It is stricter than Prometheus: each
family has its help and its type, in this order, before its samples; families are not taken up
again; a counter's name ends in _total, and its value is a whole number that is not negative.

usage: check_metrics.py [--prefix PREFIX] FILE
  --prefix PREFIX   names of all families begin with it
What was read is printed, one sample in a line: NAME{LABEL="VALUE",...} VALUE, labels sorted.
exit status: 0 all is well, 1 something is not, 2 the file cannot be read
"""
import argparse
import re
import sys

NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
LABEL = re.compile(r"([a-zA-Z_][a-zA-Z0-9_]*)=\"((?:[^\"\\\n]|\\[\\\"n])*)\"")
HELP = re.compile(r"(?:[^\\\n]|\\[\\n])+")
VALUE = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?|Inf|NaN)")
TYPES = ("counter", "gauge", "histogram", "summary", "untyped")


class Wrong(Exception):
    pass


class Family:
    def __init__(self, name):
        self.name = name
        self.type = None
        self.samples = {}  # by labels, a sorted tuple of pairs


def labels_of(text):
    """The labels of "{a="b",c="d"}", without the braces."""
    labels = {}
    while text:
        match = LABEL.match(text)
        if not match:
            raise Wrong(f"no label: {text}")
        if match[1] in labels:
            raise Wrong(f"label {match[1]} twice")
        labels[match[1]] = match[2]
        text = text[match.end():]
        if text and not text.startswith(","):
            raise Wrong(f"no comma before {text}")
        if text == ",":
            raise Wrong("a comma at the end of the labels")
        text = text[1:]
    return tuple(sorted(labels.items()))


def read_sample(line, family):
    match = NAME.match(line)
    if not match or family is None or match[0] != family.name:
        raise Wrong("a sample that is not of the family before it")
    if family.type is None:
        raise Wrong("a sample before the type of its family")
    rest = line[match.end():]
    labels = ()
    if rest.startswith("{"):
        end = rest.rfind("}")
        if end < 0:
            raise Wrong("labels that do not end")
        labels = labels_of(rest[1:end])
        if not labels:
            raise Wrong("braces without a label")
        rest = rest[end + 1:]
    if not rest.startswith(" ") or not VALUE.fullmatch(rest[1:]):
        raise Wrong(f"no value: {rest!r}")
    if labels in family.samples:
        raise Wrong("the same labels twice")
    if family.type == "counter" and not rest[1:].isdigit():
        raise Wrong("a counter that is not a whole number")
    family.samples[labels] = rest[1:]


def read_comment(line, families, family, prefix):
    """HELP begins a family, TYPE follows it; returns the family that is read now."""
    words = line.split(" ", 3)
    if len(words) != 4 or words[0] != "#" or words[1] not in ("HELP", "TYPE"):
        raise Wrong("neither HELP nor TYPE")
    _, kind, name, rest = words
    if not NAME.fullmatch(name) or not name.startswith(prefix):
        raise Wrong(f"{name}: no name of a family here")
    if kind == "HELP":
        if name in families:
            raise Wrong(f"{name}: a second time")
        if not HELP.fullmatch(rest):
            raise Wrong(f"{name}: no help")
        if family is not None and family.type is None:
            raise Wrong(f"{family.name}: no type")
        families[name] = Family(name)
        return families[name]
    if family is None or family.name != name or family.type is not None:
        raise Wrong(f"{name}: a type that does not follow its help")
    if rest not in TYPES:
        raise Wrong(f"{name}: no such type: {rest}")
    if (rest == "counter") != name.endswith("_total"):
        raise Wrong(f"{name}: counters end in _total, and nothing else does")
    family.type = rest
    return family


def read_metrics(text, prefix=""):
    """Families by their names. Raises Wrong with the number of the line."""
    families = {}
    family = None
    if not text.endswith("\n"):
        raise Wrong("the last line has no end")
    for number, line in enumerate(text[:-1].split("\n"), 1):
        try:
            if line.startswith("#"):
                family = read_comment(line, families, family, prefix)
            else:
                read_sample(line, family)
        except Wrong as wrong:
            raise Wrong(f"line {number}: {wrong}") from None
    if family is None or family.type is None:
        raise Wrong("the last family has no type")
    return families


def main():
    parser = argparse.ArgumentParser(description="check metrics in Prometheus's text form")
    parser.add_argument("--prefix", default="")
    parser.add_argument("file")
    options = parser.parse_args()
    try:
        with open(options.file, encoding="utf-8", newline="") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        print(f"{options.file}: {error}", file=sys.stderr)
        return 2
    try:
        families = read_metrics(text, options.prefix)
    except Wrong as wrong:
        print(f"{options.file}: {wrong}", file=sys.stderr)
        return 1
    for family in families.values():
        for labels, value in family.samples.items():
            shown = ",".join(f'{name}="{text}"' for name, text in labels)
            print(f"{family.name}{{{shown}}} {value}" if shown else f"{family.name} {value}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
