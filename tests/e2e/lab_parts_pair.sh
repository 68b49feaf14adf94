#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lab_parts_pair.sh: a pair of firewalls in two parts of a lab, of which the one comes later:
# it is told what is connected, and goes on with that when it takes over, and with what has begun
# since.
set -euo pipefail
# shellcheck disable=SC2034  # lib.sh reads it
time_limit=100
source "$(dirname "$0")/lib.sh"
need rping python3
begin
# shellcheck source=tests/e2e/lab_lib.sh
source "$source_tree/tests/e2e/lab_lib.sh"

db=127.239.0.2
cat >"$work/parts-pair.toml" <<LAB
name = "parts-pair-$$"
network = "127.239.0.0/16"
[part]
left = {}
right = {}
[switch]
s = { part = "left", ports = 8 }
t = { part = "right", ports = 8 }
[node]
app = { part = "left" }
db = { part = "left" }
fw1 = { part = "left" }
fw2 = { part = "right" }
[service.firewall]
at = [["fw1", "fw2"]]
lids = [0x40, 0x41]
rules = "pair.rules"
[[link]]
ends = ["app", "s"]
[[link]]
ends = ["db", "s"]
[[link]]
name = "active"
ends = ["fw1", "s"]
[[link]]
ends = ["fw2", "t"]
[[link]]
name = "trunk"
ends = ["s:7", "t:7"]
LAB
cat >"$work/pair.rules" <<RULES
table fabric {
  chain forward {
    type filter hook forward priority 0; policy drop;
    ct state established accept
    service { tcp:5432, tcp:5433 } accept
  }
}
RULES

# service NODE EXPRESSION: of what `weft service` says of the firewall there; nothing: it is not.
service() {
  "$weft" service firewall --json | python3 -c "
import json, sys
for s in json.load(sys.stdin)['services']:
    if s['node'] == '$1':
        print($2)"
}
await_service() { # NODE EXPRESSION VALUE
  local tries
  for ((tries = 0; tries < 200; tries++)); do
    [[ $(service "$1" "$2") != "$3" ]] || return 0
    sleep 0.1
  done
  fail "$2 of $1 is '$(service "$1" "$2")', not $3: $(service "$1" s)"
}
connect() { # NAME PORT IDS: how many there are at db when its server is ready.
  spawn "server_$1" "$weft" run --node db -- rping -s -a "$db" -p "$2"
  await_ids db "$3"
  spawn "$1" "$weft" run --node app -- stdbuf -oL rping -c -v -a "$db" -p "$2"
  await "$1" '^ping data'
}
pings() { grep -c '^ping data' "$work/$1.out" || :; }
goes_on() { # NAME
  local tries before
  before=$(pings "$1")
  for ((tries = 0; tries < 600; tries++)); do
    kill -0 "${pid_of[$1]}" 2>/dev/null || fail "the $1 connection has ended"
    ! is_above "$(pings "$1")" "$((before + 20))" || return 0
    sleep 0.1
  done
  fail "the $1 connection does not go on"
}
start_part() {
  spawn "$1" "$weft" up --part "$1" "$work/parts-pair.toml"
  await "$1" "@$1: "
  refuse "$1" 'neither tells the other one'
}

# One connection before the other part is there.
start_part left
await_service fw1 "s['well']" True
connect early 5432 1
# It is told of it, and of what begins now.
start_part right
await_service fw2 "s['service'].get('connections', 0)" 1
connect late 5433 3
await_service fw2 "s['service'].get('connections', 0)" 2
[[ $(service fw2 "s['counters'].get('packets', 0)") == 0 ]] || fail "the standby had packets"

# It takes over, and goes on with both.
run cut "$weft" link active down
goes_on early
goes_on late
is_above "$(service fw2 "s['counters'].get('forwarded', 0)")" 40 || fail "$(service fw2 s)"
[[ $(service fw2 "s['drops']") == {} ]] || fail "the standby did not know: $(service fw2 s)"
for name in early late server_early server_late; do stop "$name"; done
stop right INT
stop left INT
