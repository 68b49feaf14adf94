#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lab_service_dies.sh: a data service that is a pair of processes, of which one is killed: a
# connection goes on through the other one; while none is there, there are no paths, and everybody
# is told so.
set -euo pipefail
time_limit=120
source "$(dirname "$0")/lib.sh"
need ib_send_bw ibv_devinfo
begin
# shellcheck source=tests/e2e/lab_lib.sh
source "$source_tree/tests/e2e/lab_lib.sh"
forwarder=$build_tree/examples/raw_forwarder

cat >"$work/pair.toml" <<EOF
name = "service-dies-$$"
network = "127.250.0.0/16"
[switch]
s1 = { ports = 8 }
s2 = { ports = 8 }
[node]
app = {}
db = {}
fw1 = {}
fw2 = {}
[service.forwarder]
type = "process"
at = [["fw1", "fw2"]]
[[link]]
ends = ["app", "s1"]
[[link]]
ends = ["db", "s2"]
[[link]]
ends = ["fw1", "s1"]
[[link]]
ends = ["fw2", "s2"]
[[link]]
ends = ["s1", "s2"]
EOF
spawn lab "$weft" up "$work/pair.toml"
await lab '^  subnet manager     its own \(minhop\)'
await_states '{"Active":5}'
db=127.250.0.2

# answer: what the path from app to db is.
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
# service NODE EXPRESSION: of what `weft status` says of the place there.
service() {
  of_lab "str([($2) for s in lab[0]['services'] if s['node'] == '$1'][0])"
}
# pid_at NODE: of the process there.
pid_at() {
  of_lab "[p['pid'] for p in lab[0]['programs'] if p['node'] == '$1'][0]"
}
taken() {  # NODE: how many packets it has taken from its link.
  "$weft" status -d --json | python3 -c "
import json, sys
nodes = json.load(sys.stdin)['labs'][0]['nodes']
print([node['ports'][0]['counters']['rx_packets'] for node in nodes if node['name'] == '$1'][0])"
}
port_of() {
  "$weft" run --node "$1" -- ibv_devinfo -v | python3 -c "
import re, sys
text = sys.stdin.read()
print(re.search(r'GID\[ *0\]:\s*([0-9a-f:]+)', text)[1] + '=' +
      re.search(r'port_lid:\s*(\d+)', text)[1])"
}
app=$(port_of app)
there=$(port_of db)
start() {  # NODE
  spawn "$1" "$weft" run --node "$1" -- "$forwarder" "$app" "$there"
  await "$1" '^forwarding'
}

nobody='none no instance of service forwarder is well'
await_answer "$nobody"
[[ $(service fw1 "s['well'], s['ails']") == "(False, 'nobody serves there')" ]] ||
  fail "weft status: $(service fw1 s)"

start fw2
await_answer 'through fw2:1 '
start fw1
await_answer 'through fw2:1 '

spawn server "$weft" run --node db -- ib_send_bw -R -p 5432 -F -D 60 -s 4096
await_ids db 1
spawn client "$weft" run --node app -- ib_send_bw -R -p 5432 -F -D 60 -s 4096 "$db"
before=$(taken fw2)
until is_above "$(taken fw2)" "$((before + 100))"; do
  kill -0 "${pid_of[client]}" || fail "nothing was sent"
done
before=$(taken fw1)
kill -KILL "$(pid_at fw2)"
# More than what is sent again, seven times, before a connection is given up.
until is_above "$(taken fw1)" "$((before + 2000))"; do
  kill -0 "${pid_of[client]}" || fail "the connection did not go on through the standby"
done
stop client INT
stop server INT
await_answer 'through fw1:1 '
[[ $(service fw1 "s['well']") == True ]] || fail "weft status: $(service fw1 s)"

# Without the other one there is nobody; who comes first serves.
kill -KILL "$(pid_at fw1)"
await_answer "$nobody"
wait "${pid_of[fw2]}" || :
unset "pid_of[fw2]"
start fw2
await_answer 'through fw2:1 '
stop fw2 INT
await_answer "$nobody"
stop lab INT
