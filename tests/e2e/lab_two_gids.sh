#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lab_two_gids.sh: a port with two GIDs, which two programs have at a time as two virtual
# machines would: the rules of a firewall on the way are for one of them alone, and for the other
# one alone when they are read anew; a path to the one is closed and the other one's is not.
set -euo pipefail
# shellcheck disable=SC2034  # lib.sh reads it
time_limit=100
source "$(dirname "$0")/lib.sh"
need ibv_rc_pingpong saquery python3
need_pyverbs
begin
# shellcheck source=tests/e2e/lab_lib.sh
source "$source_tree/tests/e2e/lab_lib.sh"

# rules_for GID: it is reached, and nobody else.
rules_for() {
  cat >"$work/two-gids.rules" <<RULES
table fabric {
  chain forward {
    type filter hook forward priority 0; policy drop;
    dgid $1 ct state untracked opcode rc accept comment "to it"
    sgid $1 ct state untracked opcode rc accept comment "from it"
  }
}
RULES
}
rules_for fe80::77
cat >"$work/two-gids.toml" <<LAB
name = "two-gids-$$"
[switch.s]
ports = 4
[node]
app = { port_guids = ["0xa"] }
host = { port_guids = ["0xdb"] }
fw = {}
[service.firewall]
at = "fw"
lids = [0xF]
rules = "two-gids.rules"
[[link]]
ends = ["app", "s"]
[[link]]
ends = ["host", "s"]
[[link]]
ends = ["fw", "s"]
LAB
spawn lab "$weft" up "$work/two-gids.toml"
await lab '^  subnet manager     its own \(minhop\)'
await_states '{"Active":3}'

lid_of() { # NODE
  of_lab "[n['ports'][0]['lid'] for n in lab[0]['nodes'] if n['name'] == '$1'][0]"
}
# path GID: the LID that app is told for it.
path() {
  "$weft" run --node app -- saquery PR --sgid fe80::a --dgid "$1" 2>&1 |
    sed -nE 's/.*dlid\.+([0-9]+)$/\1/p' | xargs
}
# dropped: how many packets, by the firewall.
dropped() {
  "$weft" service firewall --json | python3 -c "
import json, sys
s, = json.load(sys.stdin)['services']
print(sum(s['drops'].values()))"
}
# serve NAME INDEX: a program on the host with the GID of that index, and port_NAME, at which
# whoever calls is told the firewall's LID, as the program is.
serve() {
  local port
  port=$(free_port)
  spawn "$1" "$weft" run --node host -- ibv_rc_pingpong -g "$2" -n 300 -p "$port"
  await_listener "$1" "$port"
  printf -v "port_$1" %s "$(free_port)"
  local -n at="port_$1"
  spawn "proxy_$1" python3 "$source_tree/tests/e2e/lid_proxy.py" "$at" "$port" 15
  await_listener "proxy_$1" "$at"
}
call() { # NAME: the program of that name.
  local -n at="port_$1"
  spawn "client_$1" "$weft" run --node app -- ibv_rc_pingpong -g 0 -n 300 -p "$at" 127.0.0.1
}
# both OPEN CLOSED: the one is spoken with while the other one is tried in vain.
both() {
  local before
  before=$(dropped)
  serve first 0
  serve second 1
  call "$2"
  for ((tries = 0; tries < 600; tries++)); do
    ! is_above "$(dropped)" "$before" || break
    sleep 0.05
  done
  is_above "$(dropped)" "$before" || fail "nothing of the $2 program was dropped"
  call "$1"
  finish "client_$1"
  finish "$1"
  finish "proxy_$1"
  expect "client_$1" '^300 iters in '
  expect "client_$1" "remote address:.* GID $3"
  finish "client_$2" 1
  expect "client_$2" 'transport retry counter exceeded'
  finish "proxy_$2"
  stop "$2"
  refuse "$2" 'iters in'
}

# The subnet administrator gives the port a second GID, and leads to it as to the first one.
on given host python3 "$source_tree/tests/e2e/remembered.py" set "$(lid_of s)" "$(lid_of host)" 0x77
expect given '^given 0'
for ((tries = 0; tries < 100; tries++)); do
  [[ $(path fe80::77) != 15 ]] || break
  sleep 0.1
done
[[ $(path fe80::77) == 15 && $(path fe80::db) == 15 ]] ||
  fail "the paths do not lead to the firewall"

both second first fe80::77
rules_for fe80::db
run reloaded "$weft" service firewall reload
both first second fe80::db

# And rules of paths: the one is closed, and the other one's leads where it did.
run closed "$weft" policy add --before 1 to=fe80::77 answer=none
[[ -z $(path fe80::77) && $(path fe80::db) == 15 ]] || fail "a rule for one GID is for both"
stop lab INT
