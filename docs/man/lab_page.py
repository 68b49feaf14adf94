#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes weft-lab.5, the manual page of lab files, from the table of their keys in docs/fabric.md.

usage: lab_page.py           writes docs/man/weft-lab.5
       lab_page.py --check   says whether it is what this would write
"""
import pathlib
import re
import sys
import typing

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE / "weft-lab.5"
HEAD = r""".\" SPDX-License-Identifier: Apache-2.0
.\" Made by docs/man/lab_page.py from docs/fabric.md: change that, and run it.
.Dd November 23, 2026
.Dt WEFT-LAB 5
.Os
.Sh NAME
.Nm weft-lab
.Nd lab files
.Sh DESCRIPTION
A lab file describes an InfiniBand fabric that
.Xr weft-up 1
runs: switches, nodes, routers and the links between them, and extenders to labs at other sites.
It is TOML, with these tables:
.Bl -tag -width Ds
.It Cm [switch] , [node] , [router] , [extender]
Of each a table by name, as in
.Cm [switch.leaf] .
A router has the keys of a node but
.Cm ip ;
an extender has its own besides those of a switch, or in mode router those of a router.
.It Cm [[link]]
One for each link.
.It Cm [part]
The parts of a lab that several processes run.
.It Cm [hosts]
IP addresses of ports that are elsewhere.
.It Cm [service]
Of each data service a table by name, as in
.Cm [service.firewall] .
.It Cm [[policy]]
One for each rule by which paths lead through data services; the first that fits counts.
.It Cm [access]
Who else may use the lab.
.It Cm [defaults]
What holds for all switches, nodes and routers that do not say otherwise.
.El
.Pp
Names of labs, parts, switches, nodes, routers and links have 1 to 63 letters, digits, dots,
underscores and hyphens.
Every key may be left out unless it must be there:
.Bl -tag -width Ds
"""
TAIL = """.El
.Sh EXAMPLES
.Bd -literal -offset indent
name = "pair"

[switch.leaf]
ports = 8

[node.a]
[node.b]

[[link]]
ends = ["a", "leaf"]
[[link]]
ends = ["b", "leaf"]
.Ed
.Sh SEE ALSO
.Xr weft-extend 1 ,
.Xr weft-lab 1 ,
.Xr weft-link 1 ,
.Xr weft-policy 1 ,
.Xr weft-up 1
"""


class Row(typing.NamedTuple):
    keys: list
    where: list
    value: str
    default: str


def plain(text):
    """Markdown as words: without links, and code as it is."""
    text = re.sub(r"\[([^]`]+)\]\([^)]*\)", r"\1", text)
    return text.replace("`", "").replace("\\", r"\e")


def rows():
    lines = (HERE.parent / "fabric.md").read_text(encoding="utf-8").splitlines()
    start = lines.index("| key | where | value | default |") + 2
    for line in lines[start:]:
        if not line.startswith("|"):
            return
        keys, where, value, default = (cell.strip() for cell in line.strip("|").split(" | "))
        yield Row([key.strip("`") for key in keys.split(", ")],
                  [place.strip("`") for place in where.split(", ")], value, default.rstrip(" |"))


def page():
    out = HEAD
    for row in rows():
        keys = " , ".join(key.replace('"', r"\(dq") for key in row.keys)
        out += f".It Cm {keys}\n.Pq {', '.join(row.where)}\n"
        value = plain(row.value)
        default = plain(row.default)
        default = f"It {default}" if default.startswith("must be") else f"Default: {default}"
        out += f"{value[0].upper()}{value[1:]}.\n{default}.\n"
    return out + TAIL


def main():
    if sys.argv[1:] == ["--check"]:
        if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != page():
            sys.exit("docs/man/weft-lab.5 is not what docs/man/lab_page.py makes: run it")
    else:
        PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
