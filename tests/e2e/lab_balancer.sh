#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lab_balancer.sh: programs of rdma_cm connect to one address, behind which there are two
# servers: each gets its share, and whoever is left gets all when a server is gone.
set -euo pipefail
# shellcheck disable=SC2034  # lib.sh reads it
time_limit=150
source "$(dirname "$0")/lib.sh"
need rping python3
begin
# shellcheck source=tests/e2e/lab_lib.sh
source "$source_tree/tests/e2e/lab_lib.sh"

spawn lab "$weft" up "$source_tree/examples/labs/balancer.toml"
await lab '^  subnet manager     its own \(minhop\)'
await_states '{"Active":4}'
one=127.246.0.2
service=127.246.0.3
two=127.246.0.4

# counted EXPRESSION: of what `weft status` says of the balancer.
counted() { of_lab "str([($1) for s in lab[0]['services']][0])"; }
given() { counted "s['service'].get('$1', 0)"; }
# connect NAME: rping from the client to the service; what both say is checked.
connect() {
  spawn "$1" "$weft" run --node client -- rping -c -a "$service" -C 20 -S 4096 -V
  finish_rping "$1"
}

# Two connections at a time: each server has one. Both listen at their own addresses alone.
spawn server1 "$weft" run --node one -- rping -s -a "$one" -C 20 -S 4096 -V
spawn server2 "$weft" run --node two -- rping -s -a "$two" -C 20 -S 4096 -V
await_ids one 1
await_ids two 1
spawn client1 "$weft" run --node client -- rping -c -a "$service" -C 20 -S 4096 -V
spawn client2 "$weft" run --node client -- rping -c -a "$service" -C 20 -S 4096 -V
for name in client1 client2 server1 server2; do finish_rping "$name"; done
[[ $(given one) == 1 && $(given two) == 1 ]] || fail "one has $(given one), two $(given two)"

# Much data through it, both ways, when nothing counts any more of what has ended.
until [[ $(given connections) == 0 ]]; do sleep 0.1; done
spawn server1 "$weft" run --node one -- rping -s -a "$one" -C 300 -S 60000 -V
spawn server2 "$weft" run --node two -- rping -s -a "$two" -C 300 -S 60000 -V
await_ids one 1
await_ids two 1
spawn client1 "$weft" run --node client -- rping -c -a "$service" -C 300 -S 60000 -V
spawn client2 "$weft" run --node client -- rping -c -a "$service" -C 300 -S 60000 -V
for name in client1 client2 server1 server2; do finish_rping "$name"; done
[[ $(given one) == 2 && $(given two) == 2 ]] || fail "one has $(given one), two $(given two)"
is_above "$(counted "s['counters']['forwarded']")" 2000 || fail "it did not go through the balancer"

# Without a server, the other one gets all.
run cut "$weft" link one:1 down
await_states '{"Active":3,"Down":1}'
for try in 1 2 3; do
  spawn "server$try" "$weft" run --node two -- rping -s -a "$two" -C 20 -S 4096 -V
  await_ids two 1
  connect "client$try"
  finish_rping "server$try"
done
is_above "$(given two)" 4 || fail "the server that is left has $(given two) connections"
stop lab INT
