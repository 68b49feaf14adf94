#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lab_two_gates.sh: two subnets that a pair of nodes joins: a reliable connection goes on
# when the active one loses its side of one subnet, in both directions by the other node, past its
# firewall that knows the connection; and home again.
set -euo pipefail
# shellcheck disable=SC2034  # lib.sh reads it
time_limit=90
source "$(dirname "$0")/lib.sh"
need ib_send_bw rping python3
begin
# shellcheck source=tests/e2e/lab_lib.sh
source "$source_tree/tests/e2e/lab_lib.sh"

db=127.243.0.2

# gate NODE EXPRESSION: of what `weft service` says of the router there.
gate() {
  "$weft" service router --json | python3 -c "
import json, sys
s, = (s for s in json.load(sys.stdin)['services'] if s['node'] == '$1')
print($2)"
}
packets() { gate "$1" "s['counters'].get('packets', 0)"; }
# await_gate NODE: until it has had 200 packets more, and the other one none meanwhile.
await_gate() {
  local other=gate1 tries was had
  [[ $1 != gate1 ]] || other=gate2
  for ((tries = 0; tries < 200; tries++)); do
    was=$(packets "$other")
    had=$(packets "$1")
    sleep 0.2
    [[ $(packets "$other") != "$was" ]] || ! is_above "$(packets "$1")" $((had + 200)) || return 0
  done
  fail "not all goes by $1"
}

spawn lab "$weft" up "$source_tree/examples/labs/two-gates.toml"
await lab '^  subnet manager     its own, of 2 subnets'
await_states '{"Active":8}'
spawn server "$weft" run --node db -- ib_send_bw -R -p 5432 -F -s 4096 -D 1 --run_infinitely
await_ids db 1
spawn client "$weft" run --node app -- ib_send_bw -R -p 5432 -F -s 4096 -D 1 --run_infinitely "$db"
await client '^ 4096 +[0-9]+ '
await_gate gate1

# One side of it: what came in by the other one could not leave, so that both subnets go by gate2.
run cut "$weft" link west-gate1 down
await_gate gate2
run explain "$weft" policy explain db fd00:0:0:1::1
expect explain 'router at gate2:2'
[[ $(gate gate1 "s['well']") == False ]] || fail "a gate without a side is well"
is_above "$(gate gate2 "s['before']['service'].get('applied', 0)")" 2 ||
  fail "the firewall of the standby was told nothing"
run join "$weft" link west-gate1 up
await_gate gate1
for stream in server client; do
  kill -0 "${pid_of[$stream]}" || fail "$stream has ended"
  stop "$stream"
done

# A node out of service for maintenance is so in both subnets.
run drained "$weft" policy drain gate1
spawn server "$weft" run --node db -- rping -s -a "$db" -p 5432 -C 20
await_ids db 1
before=$(packets gate1)
spawn client "$weft" run --node app -- rping -c -a "$db" -p 5432 -C 20
finish_rping client
finish_rping server
[[ $(packets gate1) == "$before" ]] || fail "a gate that is drained had packets"
stop lab INT
