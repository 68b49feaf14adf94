#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lab_handover.sh: OpenSM beside a lab's own subnet manager: who has the higher priority is
# the master, the other stands by, and takes over when the master is killed.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
need opensm sminfo saquery python3
begin
# shellcheck source=tests/e2e/lab_lib.sh
source "$(dirname "$0")/lab_lib.sh"
lab_file=$work/lab.toml
{
  echo 'sm = { priority = 5 }'
  cat "$source_tree/examples/labs/two-switches.toml"
} >"$lab_file"

await_own() {  # STATE
  local tries
  for ((tries = 0; tries < 300; tries++)); do
    "$weft" sm >"$work/sm.out"
    ! grep -q "^  sm on left: $1," "$work/sm.out" || return 0
    sleep 0.1
  done
  "$weft" sm history >"$work/history.out" || :
  fail "the lab's own manager is not $1"
}

spawn lab "$weft" up "$lab_file"
await_states '{"Active":7}'

# A lower one stands by.
spawn lower "$weft" run --node a -- opensm -p 1 -f "$work/lower.log"
await lower 'Entering STANDBY state'
await_own MASTER
# It is in the records after the sweep that its trap of a capability (144) brings about.
for ((tries = 0; tries < 50; tries++)); do
  on records b saquery SMIR
  [[ $(grep -c '^SMInfoRecord' "$work/records.out") != 2 ]] || break
  sleep 0.2
done
expect records 'Priority\.+1$'
stop lower

# A higher one becomes the master, and all stays Active.
spawn higher "$weft" run --node b -- opensm -p 10 -f "$work/higher.log"
await higher 'Entering MASTER state'
await_own STANDBY
await_states '{"Active":7}'
on sminfo c sminfo
expect sminfo 'priority 10 state 3 SMINFO_MASTER'

# It is killed, and the lab's own takes over.
kill -KILL -- "-${pid_of[higher]}"  # with its whole group: the program that limits its time too
wait "${pid_of[higher]}" || :
unset "pid_of[higher]"
await_own MASTER
await_states '{"Active":7}'
on after c sminfo
expect after 'priority 5 state 3 SMINFO_MASTER'
on nodes d saquery NR
[[ $(grep -c '^NodeRecord' "$work/nodes.out") == 7 ]] || fail "not seven end ports"
run history "$weft" sm history
expect history 'state +.*STANDBY'
