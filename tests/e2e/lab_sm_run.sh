#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lab_sm_run.sh: Weft's subnet manager as a process on nodes of a lab: it brings all links up
# and answers, gives way to a higher one, takes over when that is killed, and is refused where
# another one is.
set -euo pipefail
time_limit=240
source "$(dirname "$0")/lib.sh"
need saquery sminfo smpquery ibaddr ibstat python3
begin
# shellcheck source=tests/e2e/lab_lib.sh
source "$(dirname "$0")/lab_lib.sh"
lab_file=$source_tree/examples/labs/two-switches.toml
spawn lab "$weft" up --sm none "$lab_file"
await_states '{"Initializing":7}'

# has_issm NODE: whether the port says that a subnet manager is there, IsSM in its CapabilityMask.
has_issm() {
  local lid
  on "stat-$1" "$1" ibstat
  lid=$(awk '/Base lid/ { print $3; exit }' "$work/stat-$1.out")
  on "port-$1" "$1" smpquery portinfo "$lid" 1
  grep -q 'IsSM$' "$work/port-$1.out"
}
# await_count NAME PATTERN COUNT: until its output has that many such lines.
await_count() {
  local tries
  for ((tries = 0; tries < time_limit * 50; tries++)); do
    [[ $(grep -cE -- "$2" "$work/$1.out") -lt $3 ]] || return 0
    sleep 0.02
  done
  fail "$1 never said /$2/ $3 times"
}
# await_sm PATTERN: until the master is so, for a node in between.
await_sm() {
  local tries
  for ((tries = 0; tries < 300; tries++)); do
    # Between two masters nobody answers it.
    timeout 20 "$weft" run --node a -- sminfo >"$work/sminfo.out" 2>&1 || :
    ! grep -qE -- "$1" "$work/sminfo.out" || return 0
    sleep 0.1
  done
  fail "the master is not /$1/"
}

# What is wrong is said, and nothing runs.
spawn nobody "$weft" sm run --node nobody
finish nobody 2
expect nobody "^weft sm: this lab has no node 'nobody'"
spawn port "$weft" sm run --node b --port 2
finish port 2
expect port '^weft sm: port 2: node b has ports 1 to 1'
printf 'qos_sl2vl 99\n' >"$work/wrong.conf"
spawn wrong "$weft" sm run --node b --qos "$work/wrong.conf"
finish wrong 2
expect wrong "^weft sm: $work/wrong.conf:1: 'qos_sl2vl'"
spawn nowhere "$weft" sm run
finish nowhere 2
expect nowhere '^weft sm: say on which node of a lab it is'
spawn misplaced "$weft" sm history --once
finish misplaced 2
expect misplaced 'are of run only'

# One comes, and there is a subnet.
spawn low "$weft" sm run --node b --priority 1
await low 'state +entering MASTER state'
await_states '{"Active":7}'
await low 'subnet-up +SUBNET UP: 2 switches, 4 channel adapters, 7 links'
await_sm 'priority 1 state 3 SMINFO_MASTER'
on nodes d saquery NR
[[ $(grep -c '^NodeRecord' "$work/nodes.out") == 7 ]] || fail "not seven end ports"
on paths c saquery PR
expect paths 'PathRecord dump'
has_issm b || fail "the port of the manager has no IsSM"
! has_issm c || fail "a port without a manager has IsSM"
spawn twin "$weft" sm run --node b
finish twin 2
expect twin '^weft sm: another subnet manager is at port 1 of b already'
spawn own "$weft" sm
finish own 2
expect own 'has no subnet manager of its own'

# A higher one comes, on a node that `weft run` says, and the first stands by.
spawn high "$weft" run --node c -- "$weft" sm run --priority 5
await low 'handover +handing over to SM 0x[0-9a-f]+ \(priority 5, '
await low 'state +entering STANDBY state'
await high 'state +entering MASTER state'
await_sm 'priority 5 state 3 SMINFO_MASTER'
await_states '{"Active":7}'
on groups a saquery -g
expect groups '401b:ffff'
spawn second "$weft" sm run --node d --once
finish second 1
expect second '^weft sm: another subnet manager is the master'

# It is killed, and the first is the master again.
kill -KILL -- "-${pid_of[high]}"  # with its whole group: the program that limits its time too
wait "${pid_of[high]}" || :
unset "pid_of[high]"
await_count low 'state +entering MASTER state' 2
await_sm 'priority 1 state 3 SMINFO_MASTER'
await_states '{"Active":7}'
on after d saquery NR
[[ $(grep -c '^NodeRecord' "$work/after.out") == 7 ]] || fail "not seven end ports"

# It ends when it is told to, and leaves nothing behind.
kill -TERM "${pid_of[low]}"
finish low
for ((tries = 0; tries < 100; tries++)); do has_issm b || break; done
! has_issm b || fail "IsSM is still there"
run once "$weft" sm run --node b --once --engine updn --subnet-prefix fd00:0:0:5::/64 --json
on prefix a ibaddr
expect prefix 'GID fd00::5:'
spawn mistaken "$weft" sm run --node b --subnet-prefix fd00::/48
finish mistaken 2
expect mistaken '^weft sm: --subnet-prefix: fd00::/48: must be the first 64 bits of GIDs'
python3 - "$work/once.out" <<'EVENTS' || fail "no event in JSON says SUBNET UP"
import json, sys
events = [json.loads(line) for line in open(sys.argv[1])]
assert any(each["kind"] == "subnet-up" and each["time"] > 0 for each in events), events
EVENTS

# Who runs it when the lab ends hears of it.
spawn last "$weft" sm run --node d
await last 'entering MASTER state'
run down "$weft" down
finish lab
finish last 1
expect last '^weft sm: the lab has ended'

# Answers of many datagrams: more than one message over the socket holds.
"$weft" lab fat-tree --size 12x12 >"$work/large.toml"
spawn large "$weft" up --sm none "$work/large.toml"
links=$(awk '/^\[\[link\]\]/ { count++ } END { print count }' "$work/large.toml")
await_states "{\"Initializing\":$links}"
spawn manager "$weft" sm run --node h1 --engine ftree
await_states "{\"Active\":$links}"
await manager 'SUBNET UP'
on all h7 saquery NR
ports=$(awk '/^\[\[link\]\]/ { exit } / = {/ { count++ } END { print count }' "$work/large.toml")
[[ $(grep -c '^NodeRecord' "$work/all.out") == "$ports" ]] || fail "not $ports end ports"
run down "$weft" down
finish large
finish manager 1
