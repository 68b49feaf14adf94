#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two machines with the Linux kernel's own RoCE, rdma_rxe, in guests on the Ethernets of two
sites, in one subnet; at each site `weft extend` carries what they say to each other. Nothing of
Weft is on the machines. Run in a network namespace of its own.

usage: sites_test.py
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import image
from guest import Guest, Place

SOURCE = pathlib.Path(__file__).resolve().parents[3]
WEFT = pathlib.Path(os.environ.get("WEFT_BUILD", SOURCE / "build/release")) / "bin" / "weft"
# Nobody has told them of each other: they have to ask.
PLACES = {name: Place(tap=f"rxe-{name}", mac=f"02:00:00:78:00:0{i}",
                      addresses=(f"10.78.0.{i}/24", f"fd78::{i}/64"),
                      our_mac=f"02:00:00:79:00:0{i}", our_addresses=())
          for i, name in ((1, "west"), (2, "east"))}


def site_file(work, name, other):
    text = (SOURCE / f"examples/labs/roce-{name}.toml").read_text(encoding="utf-8")
    for before, after in (("eth1", PLACES[name].tap), ("192.0.2.1:7471", "127.0.0.1:17471"),
                          ("198.51.100.1:7471", "127.0.0.1:17472"),
                          (f"{name}.key", str(work / f"{name}.key")),
                          (f"{other}.pub", str(work / f"{other}.pub"))):
        text = text.replace(f'"{before}"', f'"{after}"')
    path = work / f"roce-{name}.toml"
    path.write_text(text, encoding="utf-8")
    return path


def extenders():
    said = subprocess.run([WEFT, "status", "--json"], capture_output=True, text=True, check=False)
    return [extender for lab in json.loads(said.stdout or "{}").get("labs", [])
            for extender in lab["extenders"]]


def await_sites():
    for _ in range(300):
        active = [remote["active"] for extender in extenders() for remote in extender["remotes"]]
        if active == [True, True]:
            return
        time.sleep(0.1)
    sys.exit(f"FAILED: the sites do not find each other: {extenders()}")


def rping(client, server, address):
    words = f"timeout 60 stdbuf -oL rping -C 10 -v -a {address}"
    for _ in range(5):  # nothing shows from outside that the server listens by now
        server.start("server", f"{words} -s")
        time.sleep(1)
        code, said = client.run(f"{words} -c", 65)
        other_code, other = server.result("server", 65)
        if "REJECTED" not in said and "UNREACHABLE" not in said:
            break
    if code != 0 or other_code != 0 or "rdma-ping-9" not in said:
        sys.exit(f"FAILED: rping to {address}: {code} and {other_code}\n{said}\n--- server\n{other}"
                 f"\n--- kernels\n{client.troubles()}\n{server.troubles()}\n{extenders()}")
    print(f"ok: rping to {address}", flush=True)


def main():
    image.get()
    with tempfile.TemporaryDirectory(prefix="weft-roce-sites.") as name:
        work = pathlib.Path(name)
        os.environ.update(XDG_RUNTIME_DIR=name, XDG_STATE_HOME=f"{name}/state")
        for site in PLACES:
            public = subprocess.run([WEFT, "extend", "keygen", work / f"{site}.key"],
                                    capture_output=True, text=True, check=True).stdout
            (work / f"{site}.pub").write_text(public, encoding="utf-8")
        with Guest(place=PLACES["west"]) as west, Guest(place=PLACES["east"]) as east:
            running = [subprocess.Popen([WEFT, "extend", site_file(work, *names)])
                       for names in (("west", "east"), ("east", "west"))]
            try:
                await_sites()
                rping(west, east, "10.78.0.2")
                rping(east, west, "fd78::1")
            finally:
                for process in running:
                    process.terminate()
                    process.wait()


if __name__ == "__main__":
    try:
        main()
    except image.Unavailable as why:
        print(f"skipped: {why}")
        sys.exit(77)
