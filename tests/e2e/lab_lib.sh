# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2154  # lib.sh has the names
# What tests of running labs share; sourced after lib.sh and begin, never run. The lab's sockets,
# what it remembers, and what OpenSM writes, are in the test's own directory.

export XDG_RUNTIME_DIR=$work XDG_STATE_HOME=$work/state OSM_TMP_DIR=$work OSM_CACHE_DIR=$work

# on NAME NODE PROGRAM ...: runs it there; its output is NAME's.
on() {
  local name=$1 node=$2
  shift 2
  run "$name" "$weft" run --node "$node" -- "$@"
}

# of_lab EXPRESSION: of the report that `weft status` has of the lab; nothing when there is none.
of_lab() {
  "$weft" status --json |
    python3 -c "import json, sys; lab = json.load(sys.stdin)['labs']; print(lab and $1 or '')"
}
lab_pid() { of_lab "lab[0]['pid']"; }
states() { of_lab "json.dumps(lab[0]['links']['states'], separators=(',', ':'))"; }

await_states() {  # JSON
  local tries
  for ((tries = 0; tries < 300; tries++)); do
    [[ $(states) != "$1" ]] || return 0
    sleep 0.1
  done
  fail "links are in states $(states), not $1"
}

# await_ids NODE COUNT: until its rdma_cm has so many identifiers.
await_ids() {
  local tries
  for ((tries = 0; tries < 300; tries++)); do
    [[ $(ids "$1") != "$2" ]] || return 0
    sleep 0.05
  done
  fail "node $1 has $(ids "$1") identifiers of rdma_cm, not $2"
}
status_near() {    # NODE: of what runs where that is
  "$weft" status -d --json
}
ids() {
  status_near "$1" | python3 -c "
import json, sys
print(sum(node.get('rdma_cm', {}).get('ids', 0) for lab in json.load(sys.stdin)['labs']
          for node in lab['nodes'] if node['name'] == '$1'))"
}

# await_tree NAME SWITCHES: until so many switches lead the group that NAME's mckey is in on to two
# ports or more, to members and to each other. A subnet manager writes their tables when it has
# answered who joins; what is sent before that is lost. It is the switches that are asked.
await_tree() {
  local tries mlid
  mlid=$(sed -nE 's/^.*joined dgid: .* mlid (0x[0-9a-f]+) .*$/\1/p' "$work/$1.out")
  [[ -n $mlid ]] || fail "$1 does not say which group it is in"
  for ((tries = 0; tries < 100; tries++)); do
    on "tree-of-$1" a dump_mfts
    [[ $(grep -cE "^$mlid .*x.*x" "$work/tree-of-$1.out") -ne $2 ]] || return 0
    sleep 0.1
  done
  fail "$2 switches do not lead $mlid on"
}

# start_opensm NODE [ARGUMENT ...]: until all links are as OPENSM_STATES says.
start_opensm() {
  local node=$1
  shift
  spawn opensm "$weft" run --node "$node" -- opensm -f "$work/opensm.log" "$@"
  await_states "$opensm_states"
}

# start_lab FILE LINKS [ARGUMENT ...]: until all links are Active, by OpenSM on its node a, which
# gets the arguments; where MANAGER is weft, by the lab's own manager.
manager=opensm
start_lab() {
  opensm_states="{\"Active\":$2}"
  if [[ $manager == weft ]]; then
    spawn lab "$weft" up "$1"
    await_states "$opensm_states"
    return
  fi
  spawn lab "$weft" up --sm none "$1"
  await_states "{\"Initializing\":$2}"
  start_opensm a "${@:3}"
}

# end_lab: which must end well.
end_lab() {
  [[ -z ${pid_of[opensm]:-} ]] || stop opensm
  run down "$weft" down
  finish lab
}
