#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/fabric.md, and with it weft-lab(5), has every key that `weft lab check` knows, and none that
it does not: in each table, a key that nobody has is refused with the names of those there are."""
import os
import pathlib
import re
import subprocess
import sys

SOURCE = pathlib.Path(os.environ["WEFT_SOURCE"])
WEFT = pathlib.Path(os.environ["WEFT_BUILD"]) / "bin" / "weft"
sys.path.insert(0, str(SOURCE / "docs" / "man"))
import lab_page  # noqa: E402

EXTENDER = "[extender.x]\nlisten = '192.0.2.1:7471'\ninsecure = true\n"
# Of each table: a lab file that ends in it, and where the rows say that its keys are.
TABLES = {
    "top": ("", {"top"}),
    "sm": ("[sm]\n", {"top"}),
    "part": ("[part.x]\n", {"[part.NAME]"}),
    "access": ("[access]\n", {"[access]"}),
    "defaults": ("[defaults]\n", {"[defaults]"}),
    "switch": ("[switch.x]\n", {"switch"}),
    "node": ("[node.x]\n", {"node"}),
    "router": ("[router.x]\n", {"node"}),
    "extender": (EXTENDER, {"extender", "switch"}),
    "router of extender": (EXTENDER + "mode = 'router'\n", {"extender", "node", "switch"}),
    "remote": (EXTENDER + "[extender.x.remote.y]\n", {"extender"}),
    "link": ("[[link]]\n", {"link"}),
    "lan": ("[lan]\n", {"top"}),
    "service": ("[service.x]\n", {"[service.NAME]"}),
    "policy": ("[[policy]]\n", {"[[policy]]"}),
    "lan of node": ("[node.x.lan]\n", {"node"}),
}
PREFIX = {"sm": "sm.", "remote": "remote.NAME.", "lan": "lan.", "lan of node": "lan."}
# What is a table of its own, or written otherwise.
ELSEWHERE = {"manager", "access", "defaults", "part", "switch", "extender", "node", "router",
             "hosts", "link", "policy", "remote", "service"}


def known(text):
    said = subprocess.run([WEFT, "lab", "check", "-"], input=text + "nobody_has_this = 1\n",
                          capture_output=True, text=True, check=False).stderr
    found = re.search(r"nobody_has_this: there is no such key; there are (.*)", said)
    if not found:
        sys.exit(f"weft lab check says not which keys there are, but: {said}\n{text}")
    return found.group(1).split(", ")


def main():
    rows = list(lab_page.rows())
    listed = {(place, key) for row in rows for place in row.where for key in row.keys}
    wrong, there = [], set()
    for table, (text, places) in TABLES.items():
        for key in known(text):
            name = PREFIX.get(table, "") + key
            there.add(name)
            if key not in ELSEWHERE and not any((place, name) in listed for place in places):
                wrong.append(f"docs/fabric.md does not have {name}, of {table}")
    for place, key in sorted(listed):
        if key not in there and place != "[hosts]" and key != "remote.NAME":
            wrong.append(f"docs/fabric.md has {key}, which no lab file has")
    print("\n".join(wrong) or f"{len(listed)} keys")
    if wrong:
        sys.exit(1)
    sys.argv[1:] = ["--check"]
    lab_page.main()


if __name__ == "__main__":
    main()
