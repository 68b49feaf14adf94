#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lab_sm_database.sh: subnet managers that are processes on nodes remember, each by a file of
# its own, and answer what they are asked while they run: each for itself, the lab's own beside
# them.
set -euo pipefail
time_limit=240
source "$(dirname "$0")/lib.sh"
need python3
begin
# shellcheck source=tests/e2e/lab_lib.sh
source "$(dirname "$0")/lab_lib.sh"
state=$XDG_STATE_HOME/weft/two-switches
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
# await_state NODE STATE: until the manager there says that it is in it.
await_state() {
  local tries
  for ((tries = 0; tries < 600; tries++)); do
    ! "$weft" sm --node "$1" --json 2>/dev/null | grep -q "\"state\": \"$2\"" || return 0
    sleep 0.1
  done
  fail "the manager on $1 is not $2"
}

# refused NAME PATTERN ARGUMENT ...: of weft, which must say so and exit with 2.
refused() {
  spawn "$1" "$weft" "${@:3}"
  finish "$1" 2
  expect "$1" "$2"
}

spawn lab "$weft" up --sm none "$lab_file"
await_states '{"Initializing":7}'
refused nobody 'weft sm: no weft sm run is at port 1 of node b; nor at any other of this lab' \
  sm --node b

# One is asked while it runs.
spawn low "$weft" sm run --node b --priority 1
await_states '{"Active":7}'
await low 'SUBNET UP'
before=$(lids)
[[ $(stat -c %a "$state/subnet-b:1.db") == 600 ]] || fail "others can read the database"
run status "$weft" sm --node b
expect status 'MASTER'
run json "$weft" sm --node b --json
expect json "\"file\": \"$state/subnet-b:1.db\""
expect json '"sm_admin_sessions": '
run metrics "$weft" sm metrics --node b --port 1
expect metrics '^weft_sm_'
run path "$weft" sm path a d:2 --node b
expect path '^a:1 lid .* to d:2 lid .* links'
run explain "$weft" sm explain a d --node b --json
expect explain '"choices": '
run history "$weft" sm history --node b
expect history 'subnet-up +SUBNET UP'
run topology "$weft" sm topology --node b
expect topology '  switch .*\(left\)'
refused own 'is asked with --node NAME' sm
refused other 'weft sm: no weft sm run is at port 1 of node c; there are: b:1' sm --node c
refused nowhere "weft sm: this lab has no node 'nobody'" sm --node nobody
refused port 'ports 1 to 1' sm --node b --port 7
refused stranger 'x: no end port of the subnet is called so' sm path a x --node b

# A second one takes over, knows by itself, and remembers what it has taken over.
on set d python3 "$source_tree/tests/e2e/remembered.py" set "$(of_node b lid)" \
  "$(of_node d lid)" 0x77
expect set '^subscribed 0'
expect set '^given 0'
spawn high "$weft" sm run --node c --priority 5
await_state c MASTER
await_state b STANDBY
await high 'SUBNET UP'
await_states '{"Active":7}'
[[ $(lids) == "$before" ]] || fail "handing over has changed LIDs: $(lids), not $before"
run high-path "$weft" sm path a d --node c
expect high-path '^a:1 lid '

# Both are killed, and the lab ends. With a node whose GUID is the lowest it begins again.
for name in high low; do
  kill -KILL -- "-${pid_of[$name]}"
  wait "${pid_of[$name]}" || :
  unset "pid_of[$name]"
done
run down "$weft" down
finish lab
sed -i -e 's/^\[node\]$/[node]\ne = { guid = "0x0000000000000010" }/' "$lab_file"
printf '[[link]]\nends = ["e", "left:4"]\n' >>"$lab_file"
spawn again "$weft" up --sm none "$lab_file"
await_states '{"Initializing":8}'
spawn low "$weft" sm run --node b --database "$state/subnet-b:1.db"
await_states '{"Active":8}'
await low 'SUBNET UP'
for each in $before; do
  [[ " $(lids) " == *" $each "* ]] || fail "$each by now is another one: $(lids)"
done
# What the first one was told in its first life is there in its second one.
on show d python3 "$source_tree/tests/e2e/remembered.py" show "$(of_node b lid)" "$(of_node d lid)"
expect show '^subscription fe80000000000000'
expect show '^guids 0x[0-9a-f]+ 0x77 '
run history "$weft" sm history --node b
[[ $(grep -c 'SUBNET UP' "$work/history.out") -ge 2 ]] || fail "nothing of the first life"
stop low

# Without a memory, another one goes by what the ports say, and has no topology of before.
spawn none "$weft" sm run --node d --database none
await_state d MASTER
refused none-topology 'keeps no subnet database' sm topology --node d
python3 -c "import sqlite3, sys; sqlite3.connect(sys.argv[1]).executescript(
  'PRAGMA application_id = 7; CREATE TABLE x (y)')" "$work/foreign.db"
refused foreign 'is a database of another program' sm run --node a --database "$work/foreign.db"
run down "$weft" down
finish again
finish none 1
[[ ! -e $state/subnet-d:1.db ]] || fail "it has remembered"

# Beside the lab's own: that is the one that is asked unless a node is named.
spawn both "$weft" up "$lab_file"
await_states '{"Active":8}'
spawn beside "$weft" sm run --node d
await_state d STANDBY
run lab-own "$weft" sm
expect lab-own 'MASTER'
run its-own "$weft" sm --node d
expect its-own 'STANDBY'
run down "$weft" down
finish both
finish beside 1
