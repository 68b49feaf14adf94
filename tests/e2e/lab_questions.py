#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks everything of a lab that infiniband-diags can ask, from the node that it runs on, and keeps
each answer in a file of its own.

usage: lab_questions.py DIRECTORY

There the answers go, each behind its question; into `names` what LIDs and GIDs belong to; and into
`guid2lid` the LIDs in the format of OpenSM's file of that name.

In the commands below, {a} is the LID of node a, {d.2} that of the second port of node d, and
{a.gid} and {a.guid} are the GID and the GUID of the port; so a question has the same name whatever
LIDs a manager gives.
"""
import pathlib
import re
import shlex
import subprocess
import sys

import sa_questions
from sa_client import Administrator

LINK_LOCAL = 0xFE80 << 48
RECORDS = "NR PIR SL2VL PKTR VLAR IIR LR SR PR MCMR LFTR MFTR GIR SWIR SMIR CPI".split()

# What saquery asks for in other words, and with components of every kind.
SAQUERY = """
-p
-N
-L c
-L d
-l c
-G c
-G left
-O {c}
-O {left}
-U {c.guid}
-s
-g
-m
-m 0xc001
-x
-c
-S
-I
-D
-K NR
NR {left}
NR {d.2}
NR 4000
PIR {left}
PIR {left}/7
PIR {left}/99
PIR {d.2}
PIR {c}/1
SL2VL {left}
SL2VL {left}/2/3
SL2VL {c}
--smkey 1 PKTR {left}
--smkey 1 PKTR {c}
--smkey 1 PKTR {c}/1/0
--smkey 1 PKTR {c}/1/1
VLAR {left}
VLAR {left}/7/1
VLAR {left}/7/3
VLAR {c}/1
LR {left}
LR {left}/7
LR {a} {left}
LR {a}/1 {left}/1
LR {left} {right}
LFTR {left}
LFTR {left}/0
LFTR {left}/1
MFTR 0xc000
MFTR 0xc001
MFTR 0xc001/0
MFTR {left}/0/0
GIR {c}
GIR {c}/0
GIR {c}/1
GIR {left}
SWIR {left}
SWIR {c}
SMIR {a}
SMIR {b}
--src-to-dst {a}:{d}
--src-to-dst {b}:{b}
--src-to-dst {b}:{left}
--src-to-dst {left}:{right}
--src-to-dst a:c
--sgid-to-dgid {a.gid}-{d.gid}
--sgid-to-dgid {a.gid}-{b.gid}
PR --slid {a}
PR --dlid {a}
PR --slid {a} --dlid {d}
PR --slid {a} --dlid {left}
PR --slid {a} --dlid 4000
PR --slid {a} --dlid 0xc000
PR --slid {a} --dlid 0xc001
PR --sgid {a.gid} --dgid {d.gid}
PR --sgid {a.gid} --dgid {d.2.gid}
PR --sgid {a.gid} --dgid fe80::1
PR --sgid {a.gid} --dgid fec0::1
PR --sgid {a.gid} --dgid ff12:401b:ffff::ffff:ffff
PR --sgid {a.gid} --dgid ff12:401b:ffff::1234
PR --slid {a} --dlid {d} -r 0
PR --slid {a} --dlid {d} -r 1
PR --slid {a} --dlid {d} -n 1
PR --slid {a} --dlid {d} -n 0
PR --slid {a} -n 1
PR --slid {a} --dlid {d} --pkey 0xffff
PR --slid {a} --dlid {d} --pkey 0x7fff
PR --slid {a} --dlid {d} --pkey 0x1234
PR --slid {a} --dlid {d} --qos_class 1
PR --slid {a} --dlid {d} --service_id 0x1000000000000
PR --slid {a} --dlid {d} --sl 0
PR --slid {a} --dlid {d} --sl 1
PR --slid {a} --dlid {d} --mtu 0x02
PR --slid {a} --dlid {d} --mtu 0x05
PR --slid {a} --dlid {d} --mtu 0x45
PR --slid {a} --dlid {d} --mtu 0x82
PR --slid {a} --dlid {d} --mtu 0x85
PR --slid {a} --dlid {d} --mtu 0xc0
PR --slid {a} --dlid {d} --rate 0x02
PR --slid {a} --dlid {d} --rate 0x07
PR --slid {a} --dlid {d} --rate 0x43
PR --slid {a} --dlid {d} --rate 0x83
PR --slid {a} --dlid {d} --rate 0x87
PR --slid {a} --dlid {d} --rate 0xc0
PR --slid {a} --dlid {d} --pkt_lifetime 0x02
PR --slid {a} --dlid {d} --pkt_lifetime 0x14
PR --slid {a} --dlid {d} --pkt_lifetime 0x54
PR --slid {a} --dlid {d} --pkt_lifetime 0x42
PR --slid {a} --dlid {d} --pkt_lifetime 0x92
PR --slid {a} --dlid {d} --pkt_lifetime 0xc0
PR --slid {a} --dlid {d} --tclass 5
PR --slid {a} --dlid {d} --flow_label 5
PR --slid {a} --dlid {d} --hop_limit 5
MCMR --mlid 0xc000
MCMR --mlid 0xc001
MCMR --mlid 0xc005
MCMR --mgid ff12:401b:ffff::ffff:ffff
MCMR --gid {b.gid}
MCMR --gid {c.gid}
MCMR --pkey 0xffff
MCMR --pkey 0x7fff
MCMR --pkey 0x1234
MCMR --sl 0
MCMR --sl 1
MCMR --mtu 0x84
MCMR --mtu 0x04
MCMR --rate 0x83
MCMR --pkt_lifetime 0x92
MCMR --qkey 0xb1b
MCMR --tclass 0
MCMR --tclass 1
MCMR --flow_label 0
MCMR --flow_label 1
MCMR --hop_limit 0
MCMR --scope 2
MCMR --scope 5
MCMR --join_state 1
MCMR --join_state 4
MCMR --proxy_join 0
MCMR --proxy_join 1
--smkey 1 MCMR --mlid 0xc001
--smkey 1 MCMR --gid {b.gid}
--smkey 1 MCMR --join_state 1
--smkey 1 MCMR --proxy_join 0
"""

# The other programs; where an answer is of the node itself, of the one that this runs on.
PROGRAMS = """
ibstat
ibstat -p
ibstatus
ibaddr
ibaddr {c}
ibaddr {left}
ibnetdiscover
ibnetdiscover -p
ibnetdiscover -l
iblinkinfo
iblinkinfo -l
ibhosts
ibswitches
ibnodes
ibrouters
ibidsverify
ibqueryerrors
sminfo
sminfo {a}
sminfo {c}
ibroute {left}
ibroute {right}
ibroute -M {left}
ibroute -M {right}
dump_lfts
dump_mfts
ibtracert {a} {d}
ibtracert {b} {c}
ibtracert {d} {d.2}
ibtracert {a} {left}
ibtracert -m 0xc001 {b} {d}
ibportstate {left} 7 query
ibportstate {left} 8 query
ibportstate {left} 6 query
ibportstate {c} 1 query
perfquery {left} 1
perfquery -x {left} 1
perfquery -a {left}
perfquery {c} 1
perfquery -c {left}
ibping -c 2 {c}
"""
# Each attribute: of nodes and of ports, by smpquery in words and by smpdump in numbers.
NODES = ("{left}", "{c}")
OF_NODES = ("nodeinfo", "nodedesc", "switchinfo", "guidinfo")
PORTS = ("{left} 0", "{left} 1", "{left} 6", "{left} 7", "{right} 8", "{a} 1", "{c} 1", "{d.2} 2")
OF_PORTS = ("portinfo", "pkeys", "sl2vl", "vlarb")
DUMPED = ("0x10", "0x11", "0x12", "0x14 0", "0x15 {port}", "0x16 0", "0x17 {port}", "0x18 {port}",
          "0x19 0", "0x1b 0")
DUMPED_PORTS = ("{left} 7", "{left} 0", "{a} 1", "{c} 1")


def questions():
    for record in RECORDS:
        yield f"saquery {record}"
        yield f"saquery --smkey 1 {record}"
    for options in SAQUERY.split("\n"):
        if options:
            yield f"saquery {options}"
    for node in NODES:
        for operation in OF_NODES:
            yield f"smpquery {operation} {node}"
    for port in PORTS:
        for operation in OF_PORTS:
            yield f"smpquery {operation} {port}"
    for node, port in map(str.split, DUMPED_PORTS):
        for attribute in DUMPED:
            yield f"smpdump {node} " + attribute.replace("{port}", port)
    for command in PROGRAMS.split("\n"):
        if command:
            yield command


def run(words):
    """Exit code, output, and what it complained of."""
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=30,
                          check=False)
    return done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode(
        "utf-8", "replace")


def ports():
    """Of each end port its name, LID and GUID, as the administrator tells them."""
    code, text, errors = run(["saquery", "NR"])
    if code:
        sys.exit(f"saquery NR ended with exit code {code}: {errors}")
    known = []
    for record in text.split("NodeRecord dump:")[1:]:
        fields = dict(re.findall(r"^\s*(\w+)\.{2,}(.*)$", record, re.M))
        name = fields["NodeDescription"]
        number = int(fields["port_num"])
        known.append((name if number < 2 else f"{name}.{number}", int(fields["lid"]),
                      int(fields["port_guid"], 16)))
    return sorted(known)


def gid_of(guid):
    return "fe80::" + ":".join(f"{guid >> shift & 0xffff:x}" for shift in (48, 32, 16, 0))


def words_of(question, known):
    words = []
    for word in shlex.split(question):
        for name, lid, guid in known:
            word = word.replace("{%s}" % name, str(lid))
            word = word.replace("{%s.gid}" % name, gid_of(guid))
            word = word.replace("{%s.guid}" % name, f"{guid:#018x}")
        words.append(word)
    return words


def main():
    into = pathlib.Path(sys.argv[1])
    into.mkdir()
    known = ports()
    lids, names = [], []
    for name, lid, guid in known:
        lids.append(f"{guid:#018x} {lid:#06x} {lid:#06x}\n\n")
        names.append(f"{lid} {name}\n{gid_of(guid)} {name}\n")
    (into / "guid2lid").write_text("".join(lids))
    (into / "names").write_text("".join(names))
    for number, (question, text) in enumerate(answers(known)):
        (into / f"{number:03}").write_text(f"{question}\n{text}")


def answers(known):
    # Some questions are in several lists.
    for question in dict.fromkeys(questions()):
        code, text, errors = run(words_of(question, known))
        yield question, f"exit code..............{code}\n{errors}\n{text}"
    gids = {name: LINK_LOCAL << 64 | guid for name, lid, guid in known}
    manager = next(lid for name, lid, guid in known if name == "a")
    for question, answer in sa_questions.Questions(Administrator(manager), gids).all():
        yield question, sa_questions.text_of(answer)


main()
