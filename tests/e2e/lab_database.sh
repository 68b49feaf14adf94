#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lab_database.sh: a lab that ends, is killed, and begins again with another node: its subnet
# manager remembers LIDs, groups, services, subscriptions, GUIDs and events. And what becomes of a
# file of which it cannot remember anything.
set -euo pipefail
time_limit=150
source "$(dirname "$0")/lib.sh"
need saquery mckey python3
begin
# shellcheck source=tests/e2e/lab_lib.sh
source "$(dirname "$0")/lab_lib.sh"
database=$XDG_STATE_HOME/weft/two-switches/subnet.db
lab_file=$work/lab.toml
cp "$source_tree/examples/labs/two-switches.toml" "$lab_file"

# lids: "a=1 b=2 …", each node with the LID of its first port.
lids() {
  of_lab "' '.join(sorted(node['name'] + '=' + str(node['ports'][0]['lid'])
    for node in lab[0]['nodes']))"
}
of_node() {  # NAME FIELD: of its first port
  of_lab "[node['ports'][0]['$2'] for node in lab[0]['nodes'] if node['name'] == '$1'][0]"
}
# begin_lab NAME LINKS: runs it, and waits for all of its links.
begin_lab() {
  spawn "$1" "$weft" up "$lab_file"
  await_states "{\"Active\":$2}"
}
end_lab() {  # NAME
  run down "$weft" down
  finish "$1"
}
# expect_lids TEXT: each of them is what it was; there may be others.
expect_lids() {
  local each now
  now=" $(lids) "
  for each in $1; do
    [[ $now == *" $each "* ]] || fail "$each by now is another one:$now"
  done
}
# mlid_of PATTERN: of the group whose MGID matches, as saquery shows it.
mlid_of() {
  on groups b saquery -g
  awk -v wanted="$1" '/MGID\./ { found = $0 ~ wanted } found && /Mlid/ { print; exit }' \
    "$work/groups.out"
}

begin_lab first 7
expect first "^  remembers by       $database"
[[ $(stat -c %a "$database") == 600 ]] || fail "others can read $database"
before=$(lids)

# Of two groups the first one ends, so that a manager without memory would give its MLID away.
d=$(of_node d ip) b=$(of_node b ip)
spawn one "$weft" run --node b -- stdbuf -oL mckey -m 239.1.2.3 -b "$b" -C 100
await one 'joined dgid'
spawn two "$weft" run --node d -- stdbuf -oL mckey -m 239.1.2.4 -b "$d" -C 100
await two 'joined dgid'
stop one
for ((tries = 0; tries < 300; tries++)); do
  [[ -n $(mlid_of ':f01:203$') ]] || break
  sleep 0.1
done
[[ $tries -lt 300 ]] || fail "the group of 239.1.2.3 has not ended"
mlid=$(mlid_of ':f01:204$')
[[ -n $mlid ]] || fail "the group of 239.1.2.4 is not there"
on service b python3 "$source_tree/tests/e2e/register_service.py" "$(of_node b guid)" \
  "$(of_node left lid)" 0x1234 1000
expect service '^status 0'
registered=$SECONDS
on set d python3 "$source_tree/tests/e2e/remembered.py" set "$(of_node left lid)" \
  "$(of_node d lid)" 0x77
expect set '^subscribed 0'
expect set '^given 0'
show() {
  on "$1" d python3 "$source_tree/tests/e2e/remembered.py" show "$(of_node left lid)" \
    "$(of_node d lid)"
}
show shown
expect shown '^subscription fe80'
expect shown '^guids 0x[0-9a-f]+ 0x77 '
end_lab first
stop two
sleep 4  # a lease runs on while no lab is there

# With a node whose GUID is the lowest.
sed -i -e 's/^\[node\]$/[node]\ne = { guid = "0x0000000000000010" }/' "$lab_file"
printf '[[link]]\nends = ["e", "left:4"]\n' >>"$lab_file"
begin_lab second 8
expect_lids "$before"
with_e=$(lids)
[[ $(mlid_of ':f01:204$') == "$mlid" ]] || fail "the group's MLID was $mlid"
on services c saquery SR
expect services 'ServiceName\.*remembered'
lease=$(sed -n 's/.*ServiceLease\.*\(0x[0-9A-Fa-f]*\).*/\1/p' "$work/services.out")
# Both the lease and the time that has passed are in whole seconds.
passed=$((SECONDS - registered))
((lease > 0 && lease <= 1002 - passed)) ||
  fail "of the lease of 1000 s $((lease)) s are left after $passed s"
show again
diff "$work/shown.out" "$work/again.out" || fail "subscriptions and GUIDs are others"
run history "$weft" sm history
[[ $(grep -c 'SUBNET UP' "$work/history.out") -ge 2 ]] || fail "nothing of the first life"
run topology "$weft" sm topology
expect topology "^[0-9: -]{19}  -                    ca .*\(e\)"
expect topology "^[0-9: -]{19}  [0-9: -]{19}  switch .*\(left\)"
run status "$weft" sm --json
expect status '"trouble": ""'

# As an older Weft had written it: read, and made one of this version.
end_lab second
python3 - "$database" <<'END'
import sqlite3
import sys
sqlite3.connect(sys.argv[1]).executescript(
    "DROP TABLE subscription; DROP TABLE alias_guid; PRAGMA user_version = 1")
END
begin_lab second 8
expect_lids "$with_e"
refuse second 'weft up:'

# Killed, it knows what it had written.
kill -KILL "$(lab_pid)"
stop second
begin_lab third 8
expect_lids "$with_e"
refuse third 'weft up:'
end_lab third

# Spoilt, it is kept, and said.
python3 - "$database" <<'END'
import sys
with open(sys.argv[1], "r+b") as file:
    file.seek(4096)
    file.write(b"spoilt" * 600)
END
spoilt=$(sha256sum <"$database")
begin_lab fourth 8
expect fourth "^weft up: subnet database $database cannot be used .*kept as $database.corrupt-"
kept=("$database".corrupt-*)
[[ $(sha256sum <"${kept[0]}") == "$spoilt" ]] || fail "${kept[0]} is not what it was"
run history "$weft" sm history
expect history 'database +subnet database .* cannot be used'
[[ $(grep -c 'SUBNET UP' "$work/history.out") == 1 ]] || fail "events of nowhere"
[[ $(lids) != "$with_e" ]] || fail "by GUIDs alone LIDs are the same: nothing has been shown"
end_lab fourth

# A file of the lab's own, and none.
sed -i '1i sm = { database = "here.db" }' "$lab_file"
run fifth "$weft" up --detach "$lab_file"
detached+=("$(lab_pid)")
await_states '{"Active":8}'
expect fifth "^  remembers by       $work/here.db"
run down "$weft" down
count=$(python3 - "$work/here.db" <<'END'
import sqlite3
import sys
print(*sqlite3.connect(sys.argv[1]).execute("SELECT count(*) FROM lid").fetchone())
END
)
[[ $count == 8 ]] || fail "in the background it remembered the LIDs of $count ports, not of 8"
sed -i '1s/here.db/none/' "$lab_file"
begin_lab sixth 8
refuse sixth 'remembers by'
spawn none "$weft" sm topology
finish none 2
expect none 'keeps no subnet database'
end_lab sixth
