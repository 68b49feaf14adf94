#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lab_service_run.sh: a firewall in a process of its own, with two threads, between two nodes
# of a lab: what the rules allow passes, what they do not is refused and counted; another one on the
# node of the pair takes over from one that is killed, and goes on with what was connected.
set -euo pipefail
time_limit=150
source "$(dirname "$0")/lib.sh"
need rping ib_send_bw
begin
# shellcheck source=tests/e2e/lab_lib.sh
source "$source_tree/tests/e2e/lab_lib.sh"

cat >"$work/process.toml" <<EOF
name = "service-run-$$"
network = "127.249.0.0/16"
[switch]
s = { ports = 8 }
[node]
app = {}
db = {}
fw1 = {}
fw2 = {}
[service.firewall]
type = "process"
at = [["fw1", "fw2"]]
[[link]]
ends = ["app", "s"]
[[link]]
ends = ["db", "s"]
[[link]]
ends = ["fw1", "s"]
[[link]]
ends = ["fw2", "s"]
EOF
rules=$source_tree/examples/labs/firewall.rules
spawn lab "$weft" up "$work/process.toml"
await lab '^  subnet manager     its own \(minhop\)'
await_states '{"Active":4}'
db=127.249.0.2

# Where there is no place for it, and what it does not know.
spawn wrong "$weft" service run firewall --node app
finish wrong 2
expect wrong 'the lab file has no \[service\.NAME\] with at = "app"'
spawn wrong "$weft" service run firewall --node fw1 --rules "$work/absent"
finish wrong 2
expect wrong 'absent: No such file'
spawn wrong "$weft" service run fridge --node fw1
finish wrong 2
expect wrong 'fridge: no such service \(there are firewall, .*, balancer, router\)$'
spawn wrong "$weft" service run balancer --node fw1 --set servers=one
finish wrong 2
expect wrong '^weft service: --set servers: must be a GID'
spawn wrong "$weft" service run limiter --node fw1 --set rate=1Gb/s --threads 2
finish wrong 2
expect wrong 'a limiter works in one thread'
spawn wrong "$weft" service run limiter --node fw1 --set rate=fast
finish wrong 2
expect wrong '^weft service: --set rate: must be a rate, as in "1Gb/s"$'

answer() {
  "$weft" policy explain app db --json | python3 -c "
import json, sys
out = json.load(sys.stdin)
print(out['answer'], *(hop['at'] for hop in out['hops']), out.get('reason', ''))"
}
await_answer() {  # ANSWER
  local tries
  for ((tries = 0; tries < 100; tries++)); do
    [[ $(answer) != "$1" ]] || return 0
    sleep 0.05
  done
  fail "the path is '$(answer)', not '$1'"
}
start() {  # NODE [ARGUMENT ...]: until it serves.
  local node=$1
  shift
  spawn "$node" "$weft" service run firewall --node "$node" --rules "$rules" --threads 2 "$@"
  await "$node" "^firewall serves on node $node in 2 threads"
}
# count NAME COUNTER: of what the service has printed at its end.
count() { sed -nE "s/^ *$2 +([0-9]+)( .*)?$/\1/p" "$work/$1.out" | head -n 1; }

# Where it may not run; and where it is to, a core for each thread.
spawn wrong "$weft" service run firewall --node fw1 --cores 4095
finish wrong 2
expect wrong '^weft service: --cores: 4095: this process may not run there$'
cores=$(python3 -c 'import os; all = sorted(os.sched_getaffinity(0)); print(all[-1], all[0])')
start fw1 --cores "${cores/ /,}"
await_answer 'through fw1:1 '
pid=$(of_lab "[p['pid'] for p in lab[0]['programs'] if p['node'] == 'fw1'][0]")
# bound: cores that threads of it are bound to.
bound() {
  sed -nE 's/^Cpus_allowed_list:[[:space:]]*([0-9]+)$/\1/p' "/proc/$pid"/task/*/status | sort -nru |
    xargs
}
for ((tries = 0; tries < 500; tries++)); do
  # Each thread goes there when it begins.
  [[ $(bound) != "$(xargs -n 1 <<<"$cores" | sort -nru | xargs)" ]] || break
  sleep 0.02
done
((tries < 500)) || fail "threads are bound to the cores $(bound), not to $cores"
# Several connections, so that each thread has some; and reads, which the firewall drops.
for i in 1 2 3; do
  spawn "server$i" "$weft" run --node db -- ib_send_bw -R -p 5432 -F -n 100 -s 4096 -q 4
  await_ids db 1
  spawn "client$i" "$weft" run --node app -- ib_send_bw -R -p 5432 -F -n 100 -s 4096 -q 4 "$db"
  finish "client$i"
  finish "server$i"
  expect "client$i" '^ 4096 +400 '
done
spawn server "$weft" run --node db -- rping -s -a "$db" -p 5433 -C 5
await_ids db 1
spawn client "$weft" run --node app -- timeout 20 rping -c -a "$db" -p 5433 -C 5
code=0
wait "${pid_of[client]}" || code=$?
unset "pid_of[client]"
[[ $code -ne 0 ]] || fail "a connection to a closed port came about"
stop server INT
kill -TERM "${pid_of[fw1]}"
finish fw1
expect fw1 '^packets of each thread: [1-9][0-9]* [1-9][0-9]*$'
is_above "$(count fw1 forwarded)" 1200 || fail "only $(count fw1 forwarded) packets were forwarded"
is_above "$(count fw1 drop_by_service)" 0 || fail "nothing was dropped"
is_above "$(count fw1 records_told)" 5 || fail "the threads have told each other nothing"
[[ $(count fw1 records_told) == "$(count fw1 records_heard)" ]] ||
  fail "of $(count fw1 records_told) records $(count fw1 records_heard) were heard"
await_answer 'none no instance of service firewall is well'

# One is killed: the other one has its LIDs at once, and was told of what is connected.
start fw1 --pair fw2
start fw2 --pair fw1
await fw1 '^the one on node fw2 is told what is connected'
await_answer 'through fw1:1 '
spawn server "$weft" run --node db -- ib_send_bw -R -p 5432 -F -D 60 -s 4096
await_ids db 1
spawn client "$weft" run --node app -- ib_send_bw -R -p 5432 -F -D 60 -s 4096 "$db"
taken() {  # NODE: how many packets it has taken from its link.
  "$weft" status -d --json | python3 -c "
import json, sys
nodes = json.load(sys.stdin)['labs'][0]['nodes']
print([node['ports'][0]['counters']['rx_packets'] for node in nodes if node['name'] == '$1'][0])"
}
before=$(taken fw1)
until is_above "$(taken fw1)" "$((before + 100))"; do
  kill -0 "${pid_of[client]}" || fail "nothing was sent"
done
before=$(taken fw2)
kill -KILL "$(of_lab "[p['pid'] for p in lab[0]['programs'] if p['node'] == 'fw1'][0]")"
# More than what is sent again, seven times, before a connection is given up.
until is_above "$(taken fw2)" "$((before + 2000))"; do
  kill -0 "${pid_of[client]}" || fail "the connection did not go on through the standby"
done
stop client INT
stop server INT
await_answer 'through fw2:1 '
kill -TERM "${pid_of[fw2]}"
finish fw2
is_above "$(count fw2 records_heard)" 3 || fail "the standby was told nothing"
stop lab INT
