#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lab_attacks.sh: a connection goes through a lab's firewall, and a third node, whose raw
# queue pairs can say anything in anybody's name, tries to get into it and past it: each attack is
# counted as what it is (docs/firewall.md, "Attacks"), none gets further, and the connection is as
# it was.
set -euo pipefail
time_limit=150
source "$(dirname "$0")/lib.sh"
need ibv_devinfo
begin
# shellcheck source=tests/e2e/lab_lib.sh
source "$source_tree/tests/e2e/lab_lib.sh"
python=(/usr/bin/python3 -u)
here=$source_tree/tests/e2e

cat >"$work/attacks.rules" <<'EOF'
table fabric {
  chain forward {
    type filter hook forward priority 0; policy drop;
    service tcp:5432 accept
  }
}
EOF
# Another partition than that of the connection, which the attacker and the firewall are in, so that
# the switch takes its packets.
cat >"$work/attacks.conf" <<'EOF'
Default=0x7fff, ipoib: ALL=full;
other=0x0005: 0xa1=full, 0xf1=full;
EOF
cat >"$work/attacks.toml" <<EOF
name = "attacks-$$"
network = "127.240.0.0/16"
sm = { partitions = "attacks.conf" }
[switch]
s = { ports = 8 }
[node]
app = {}
db = {}
mallory = { port_guids = ["0x00000000000000a1"] }
fw = { port_guids = ["0x00000000000000f1"] }
[service]
firewall = { at = "fw", rules = "attacks.rules" }
mallory = { type = "process", at = "mallory", select = "copies" }
[[link]]
ends = ["app", "s"]
[[link]]
ends = ["db", "s"]
[[link]]
ends = ["mallory", "s"]
[[link]]
ends = ["fw", "s"]
EOF
spawn lab "$weft" up "$work/attacks.toml"
await lab '^  subnet manager     its own \(minhop\)'
await_states '{"Active":4}'

spawn db "$weft" run --node db -- "${python[@]}" "$here/attacked.py" listen 127.240.0.2 5432
await_ids db 1
spawn app "$weft" run --node app -- "${python[@]}" "$here/attacked.py" connect 127.240.0.2 5432 \
  "$work/message"
await app '^queue pair '
await db '^queue pair '

# end_of NODE: its LID, GID and queue pair, as JSON.
end_of() {
  on "port-$1" "$1" ibv_devinfo -v
  python3 - "$work/port-$1.out" "$work/$1.out" <<'EOF'
import json, pathlib, re, sys
port = pathlib.Path(sys.argv[1]).read_text()
end = [int(re.search(r"port_lid:\s*(\d+)", port)[1]),
       re.search(r"GID\[ *0\]:\s*([0-9a-f:]+)", port)[1]]
program = pathlib.Path(sys.argv[2])
if program.exists():
    end.append(int(re.search(r"^queue pair (\d+)$", program.read_text(), re.M)[1]))
print(json.dumps(end))
EOF
}
# counted NAME: what the firewall has counted, into a file.
counted() { "$weft" service firewall --json >"$work/$1.json"; }
counted before
lid=$(sed -nE 's/.*"lids":\[?([0-9]+).*/\1/p' <<<"$(tr -d ' \n' <"$work/before.json")")
facts="{\"via\": $lid, \"app\": $(end_of app), \"db\": $(end_of db), \"own\": $(end_of mallory)}"
on attacks mallory "${python[@]}" "$here/attacks.py" "$facts"
# What is no packet at all the adapter keeps in, and subnet management.
for which in lying-length subnet-management; do expect attacks "^$which refused$"; done
counted after
cat >"$work/compare.py" <<'EOF'
import json, sys
before, after = (json.load(open(name))["services"][0] for name in sys.argv[1:])

def more(what):
    return {name: count - before[what].get(name, 0) for name, count in after[what].items()
            if count != before[what].get(name, 0)}

doubts = {
    "no_connection": 1 + 2 + 4,  # a queue pair guessed, another's SGID, another's DGID
    "wrong_source_lid": 1, "wrong_partition": 2, "wrong_transport": 3,
    "oversize": 4, "ambiguous_content": 1, "cm_forged": 2, "cm_unknown": 3}
drops = {"state": sum(doubts.values()), "policy": 5}  # the latter of an opcode that nobody has
said = {name: count for name, count in more("service").items() if name != "sound"}
print("dropped", more("drops"), "counted", said, "of all", more("counters"))
sys.exit(said != doubts or more("drops") != drops or "forwarded" in more("counters"))
EOF
run compare python3 "$work/compare.py" "$work/before.json" "$work/after.json"

echo -n 'still here' >"$work/message"
await app '^sent$'
await db '^got '
expect db '^got still here$'
stop lab INT
