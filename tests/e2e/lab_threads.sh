#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lab_threads.sh: a pair of firewalls in a lab's daemon, each with two threads (`threads` of
# the lab file): the flows of a program go through both threads, by the rules; these are read anew
# by all of them; and a connection goes on when the other member takes over, whose threads were told
# of it.
set -euo pipefail
# shellcheck disable=SC2034  # lib.sh reads it
time_limit=100
source "$(dirname "$0")/lib.sh"
need rping ib_send_bw python3
begin
# shellcheck source=tests/e2e/lab_lib.sh
source "$source_tree/tests/e2e/lab_lib.sh"

cp "$source_tree/examples/labs/two-subnets.rules" "$work/threads.rules"
cat >"$work/threads.toml" <<LAB
name = "threads-$$"
network = "127.240.0.0/16"
[switch.s]
ports = 8
[node]
app = {}
db = {}
fw1 = {}
fw2 = {}
[service.firewall]
at = [["fw1", "fw2"]]
rules = "threads.rules"
threads = 2
[[link]]
ends = ["app", "s"]
[[link]]
ends = ["db", "s"]
[[link]]
ends = ["fw1", "s"]
[[link]]
ends = ["fw2", "s"]
LAB
db=127.240.0.2

# service NODE EXPRESSION: of what `weft service` says of the firewall there.
service() {
  "$weft" service firewall --json | python3 -c "
import json, sys
s, = (s for s in json.load(sys.stdin)['services'] if s['node'] == '$1')
print($2)"
}
await_service() { # NODE EXPRESSION VALUE
  local tries
  for ((tries = 0; tries < 200; tries++)); do
    [[ $(service "$1" "$2") != "$3" ]] || return 0
    sleep 0.1
  done
  fail "$2 of $1 is $(service "$1" "$2"), not $3: $(service "$1" s)"
}

spawn lab "$weft" up "$work/threads.toml"
await lab '^  subnet manager     its own \(minhop\)'
await_states '{"Active":4}'
await_service fw1 "s['well']" True
await_service fw2 "s['well']" True
[[ $(of_lab "{p['pid'] for p in lab[0]['programs']} == {lab[0]['pid']}") == True ]] ||
  fail "the threads are not the daemon's"

# What the rules allow, by several connections, so that each thread has some.
for _ in 1 2; do
  spawn server "$weft" run --node db -- ib_send_bw -R -p 5432 -F -n 100 -s 4096 -q 8
  await_ids db 1
  spawn client "$weft" run --node app -- ib_send_bw -R -p 5432 -F -n 100 -s 4096 -q 8 "$db"
  finish client
  finish server
  expect client '^ 4096 +800 '
done
await_service fw1 "len(s['threads']) == 2 and min(s['threads']) > 100" True
await_service fw1 "sum(s['threads']) == s['counters']['packets']" True
[[ $(service fw2 "sum(s['threads'])") == 0 ]] || fail "the standby had packets"
run table "$weft" service
expect table '^firewall +firewall +fw1 '

# Another port is closed, until the rules are others: in all threads of both.
refused() {
  spawn server "$weft" run --node db -- rping -s -a "$db" -p 5433 -C 5
  await_ids db 1
  spawn client "$weft" run --node app -- timeout 10 rping -c -a "$db" -p 5433 -C 5
  local code=0
  wait "${pid_of[client]}" || code=$?
  unset "pid_of[client]"
  [[ $code -ne 0 ]] || fail "a connection to a closed port came about"
  stop server INT
}
refused
is_above "$(service fw1 "sum(s['drops'].values())")" 0 || fail "nothing is counted as dropped"
sed -i 's/tcp:5432/tcp:wrong/' "$work/threads.rules"
spawn wrong "$weft" service firewall reload
finish wrong 2
expect wrong 'nothing is changed: .*threads.rules:'
sed -i 's/tcp:wrong/tcp:5433/' "$work/threads.rules"
run reloaded "$weft" service firewall reload
expect reloaded '^firewall at fw1: '
expect reloaded '^firewall at fw2: '

# A connection goes on at the other one, which was told of it.
spawn server "$weft" run --node db -- rping -s -a "$db" -p 5433
await_ids db 1
spawn client "$weft" run --node app -- stdbuf -oL rping -c -v -a "$db" -p 5433
await client '^ping data'
run drained "$weft" policy drain fw1
await_service fw2 "sum(s['threads']) > 100" True
kill -0 "${pid_of[client]}" || fail "the connection has ended"
[[ $(service fw2 "s['drops']") == {} ]] || fail "the standby did not know: $(service fw2 s)"
stop client
stop server
stop lab INT
