#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lab_balancer.sh WHERE: programs of rdma_cm connect to one address, behind which there are
# two servers: each gets its share, and whoever is left gets all when a server is gone. WHERE the
# balancer works is one of
#   daemon    in the lab's own: examples/labs/balancer.toml
#   process   in one of its own: examples/labs/balancer-outside.toml
#   server    on a server outside of the fabric
set -euo pipefail
# shellcheck disable=SC2034  # lib.sh reads it
time_limit=150
source "$(dirname "$0")/lib.sh"
need rping python3
where=$1
[[ $where != server ]] || private_network "$0" "$@"
begin
# shellcheck source=tests/e2e/lab_lib.sh
source "$source_tree/tests/e2e/lab_lib.sh"

labs=$source_tree/examples/labs network=127.242.0
[[ $where != daemon ]] || network=127.246.0
one=$network.2
service=$network.3
two=$network.4
outside=(balancer --set "service=fe80::5 at $service"
  --set "servers=[\"fe80::1 at $one\", \"fe80::2 at $two\"]" --set spread=least --json)

# start_lab_of FILE
start_lab_of() {
  spawn lab "$weft" up "$1"
  await lab '^  subnet manager     its own \(minhop\)'
  await_states '{"Active":4}'
}
case $where in
  daemon) start_lab_of "$labs/balancer.toml" ;;
  process)
    start_lab_of "$labs/balancer-outside.toml"
    spawn balancer "$weft" service run "${outside[@]}" --node service
    ;;
  server)
    sed 's|^type = "process"|type = "external"\nserver = "127.0.0.1:7481"\ninsecure = true|' \
      "$labs/balancer-outside.toml" >"$work/server.toml"
    spawn balancer "$weft" serve "${outside[@]}" --listen 127.0.0.1:7481 --insecure
    start_lab_of "$work/server.toml"
    ;;
esac
for ((tries = 0; tries < 300; tries++)); do
  run explained "$weft" policy explain client service --json
  ! grep -q '"answer": *"through"' "$work/explained.out" || break
  sleep 0.1
done
expect explained '"answer": *"through"'

# counted KIND NAME: of what the balancer says of itself, where it works.
counted() {
  local said
  if [[ $where == daemon ]]; then
    of_lab "str(lab[0]['services'][0]['$1'].get('$2', 0))"
    return
  fi
  said=$(wc -c <"$work/balancer.out")
  kill -USR1 "$(cat "/proc/${pid_of[balancer]}/task/${pid_of[balancer]}/children")"
  python3 - "$work/balancer.out" "$said" "$1" "$2" <<'PYTHON'
import json, sys, time
file, said, kind, name = sys.argv[1:]
for _ in range(300):
    text = open(file).read()[int(said):]
    try:
        report = json.JSONDecoder().raw_decode(text[text.index("{"):])[0]
    except ValueError:
        time.sleep(0.02)
        continue
    report = report.get("places", [report])[0]
    print(report[kind].get(name, 0))
    sys.exit()
sys.exit("the balancer says nothing")
PYTHON
}
given() {
  local name=$1
  [[ $where == daemon ]] || name=${name/one/server_1} name=${name/two/server_2}
  counted service "$name"
}
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
is_above "$(counted counters forwarded)" 2000 || fail "it did not go through the balancer"

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
if [[ $where == server ]]; then
  # The lab knows what its server has counted, which says so once a second.
  for ((tries = 0; tries < 50; tries++)); do
    of_lab "json.dumps(lab[0]['services'][0]['service'])" >"$work/told.out"
    ! grep -q '"server_2": [5-9]' "$work/told.out" || break
    sleep 0.1
  done
  expect told '"server_2": [5-9]'
fi
[[ $where == daemon ]] || stop balancer
stop lab INT
