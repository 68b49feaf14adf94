#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lab_answers.sh: everything that infiniband-diags can ask, and what only programs ask of an
# administrator, on one lab: under its own subnet manager, and under OpenSM. What differs must be in
# docs/opensm-differences.md, with the reason, and nothing else may be there.
set -euo pipefail
time_limit=500
source "$(dirname "$0")/lib.sh"
need opensm saquery smpquery ibnetdiscover ibping mckey python3
begin
# shellcheck source=tests/e2e/lab_lib.sh
source "$(dirname "$0")/lab_lib.sh"
tools=$source_tree/tests/e2e
# Both managers are on one node.
lab_file=$work/lab.toml
{
  echo 'sm = { node = "a" }'
  cat "$source_tree/examples/labs/two-switches.toml"
} >"$lab_file"
ip_of() {  # NODE
  of_lab "[node['ports'][0]['ip'] for node in lab[0]['nodes'] if node['name'] == '$1'][0]"
}

# answers NAME: of the manager that the lab has, where two nodes are in a group; then the lab ends.
answers() {
  local node
  for node in b d; do
    spawn "member-$node" "$weft" run --node "$node" -- stdbuf -oL mckey -m 239.1.2.3 -C 100 \
      -b "$(ip_of "$node")"
    await "member-$node" 'joined dgid: ff12:4001:'
  done
  # Both switches lead it on.
  until [[ $("$weft" run --node c -- saquery MFTR | grep -cE '0xc001\s0x0*[1-9a-f]') == 2 ]]; do
    kill -0 "${pid_of[member-d]}" || fail "the group is not in the tables"
  done
  spawn ibping-server "$weft" run --node c -- ibping -S
  until "$weft" run --node b -- ibping -c 1 -L "$(lid_of c)" | grep -q '^Pong'; do
    kill -0 "${pid_of[ibping-server]}" || fail "no server of ibping"
  done
  on "questions-$1" b /usr/bin/python3 -B "$tools/lab_questions.py" "$work/answers-$1"
  stop ibping-server
  for node in b d; do stop "member-$node"; done
  end_lab
}
lid_of() {  # NODE
  "$weft" run --node "$1" -- ibstat | awk '/Base lid/ { print $3; exit }'
}

spawn lab "$weft" up "$lab_file"
await lab 'subnet manager     its own \(minhop\)'
await_states '{"Active":7}'
answers weft

# OpenSM gives the LIDs that it finds in a file, so that tables can be compared as they are.
cp "$work/answers-weft/guid2lid" "$work/guid2lid"
start_lab "$lab_file" 7 -R minhop
answers opensm

cmp "$work/answers-weft/guid2lid" "$work/answers-opensm/guid2lid" ||
  fail "OpenSM has not given the LIDs that it was told"

python3 "$tools/lab_differences.py" "$work/answers-weft" "$work/answers-opensm" \
  "$source_tree/docs/opensm-differences.md" || fail "the page is not what was found"
