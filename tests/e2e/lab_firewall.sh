#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lab_firewall.sh: programs of rdma_cm between two nodes of a lab whose paths lead through a
# pair of firewalls: what the rules allow passes and is counted, what they do not is refused, and a
# connection goes on while a trunk between the switches and then the active firewall are taken away.
set -euo pipefail
time_limit=150
source "$(dirname "$0")/lib.sh"
need rping ib_send_bw
begin
# shellcheck source=tests/e2e/lab_lib.sh
source "$source_tree/tests/e2e/lab_lib.sh"

spawn lab "$weft" up "$source_tree/examples/labs/firewall.toml"
await lab '^  subnet manager     its own \(minhop\)'
await_states '{"Active":6}'
db=127.253.0.2

# service NODE EXPRESSION: of what `weft status` says of the firewall there.
service() {
  of_lab "str([($2) for s in lab[0]['services'] if s['node'] == '$1'][0])"
}
# serve ARGUMENT ...: rping on the database's node.
serve() {
  spawn server "$weft" run --node db -- rping -s -a "$db" "$@"
  await_ids db 1
}

# What is allowed. rping reads: the firewall drops that, and so the client's memory stays its own.
spawn server "$weft" run --node db -- ib_send_bw -R -p 5432 -F -n 500 -s 4096
await_ids db 1
spawn client "$weft" run --node app -- ib_send_bw -R -p 5432 -F -n 500 -s 4096 "$db"
finish client
finish server
expect client '^ 4096 +500 '
forwarded=$(service fw1 "s['counters']['forwarded']")
is_above "$forwarded" 500 || fail "only $forwarded packets went through the firewall"
beside=$(service fw2 "s['counters'].get('packets', 0)")
[[ $beside == 0 ]] || fail "the standby had $beside packets"

# Another port is closed: nobody is told, and the client gives up.
serve -p 5433 -C 5
spawn client "$weft" run --node app -- timeout 20 rping -c -a "$db" -p 5433 -C 5
code=0
wait "${pid_of[client]}" || code=$?
unset "pid_of[client]"
[[ $code -ne 0 ]] || fail "a connection to a closed port came about"
is_above "$(service fw1 "s['counters']['drop_by_service']")" 0 || fail "nothing was dropped"
stop server INT

# A connection that stands goes on without a trunk between the switches, and then without the
# firewall that has seen it begin: the other one has its LIDs, and was told of the connection.
spawn server "$weft" run --node db -- ib_send_bw -R -p 5432 -F -D 8 -s 4096
await_ids db 1
spawn client "$weft" run --node app -- ib_send_bw -R -p 5432 -F -D 8 -s 4096 "$db"
until is_above "$(service fw1 "s['counters']['forwarded']")" "$((forwarded + 100))"; do
  kill -0 "${pid_of[client]}" || fail "nothing was sent"
done
run trunk "$weft" link trunk down
run cut "$weft" link fw1:1 down
until is_above "$(service fw2 "s['counters'].get('forwarded', 0)")" 1000; do
  kill -0 "${pid_of[client]}" || fail "the connection did not go on through the standby"
done
finish client
finish server
expect client '^ 4096 +[0-9]+ '
[[ $(service fw2 "s['service'].get('applied', 0)") -ge 3 ]] || fail "the standby was told nothing"
stop lab INT
