#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lab_two_partitions.sh: two partitions of two subnets that a service joins: each has another
# P_Key on the other side, both are passed on at the same time, and nobody comes from one into the
# other.
set -euo pipefail
# shellcheck disable=SC2034  # lib.sh reads it
time_limit=120
source "$(dirname "$0")/lib.sh"
need rping ib_send_bw saquery ibaddr tshark python3
need_pyverbs
begin
# shellcheck source=tests/e2e/lab_lib.sh
source "$source_tree/tests/e2e/lab_lib.sh"

west=fd00:0:0:1: east=fd00:0:0:2:
red_app=$west:a1 blue_app=$west:a2 red_db=$east:d1 blue_db=$east:d2

# router EXPRESSION: of what `weft status` says of the service.
router() { of_lab "str([($1) for s in lab[0]['services']][0])"; }
path() { on "$1" "$2" saquery PR --sgid "$3" --dgid "$4"; }
listen() { # NODE:PORT
  spawn "at-$1" "$weft" capture "$1" data -w "$work/$1.pcapng"
  await "at-$1" '^weft capture: listening'
}
# keys NODE:PORT: the P_Keys of what has passed there.
keys() {
  stop "at-$1" INT
  tshark -r "$work/$1.pcapng" -Y infiniband.bth -T fields -e infiniband.bth.p_key \
    >"$work/keys" 2>"$work/tshark.out" || fail "tshark does not read what was captured at $1"
  sort -u "$work/keys" | xargs -r printf '0x%04x\n' | xargs
}

spawn lab "$weft" up "$source_tree/examples/labs/two-partitions.toml"
await lab '^  subnet manager     its own, of 2 subnets'
await_states '{"Active":6}'

# The paths: in each partition through the service, by the P_Key that it has on this side.
for ends in "red-app $red_app $red_db 0x8001" "blue-app $blue_app $blue_db 0x8002" \
  "red-db $red_db $red_app 0x8011" "blue-db $blue_db $blue_app 0x8012"; do
  read -r node from to key <<<"$ends"
  path "path-$node" "$node" "$from" "$to"
  expect "path-$node" 'hop_flow_raw\.+0xFF$'
  expect "path-$node" "pkey\.+$key$"
done

# Both at a time, begun from either side.
for port in red-app:1 blue-app:1 red-db:1 blue-db:1; do listen "$port"; done
spawn red-server "$weft" run --node red-db -- ib_send_bw -R -p 5432 -F -n 200 -s 4096
await_ids red-db 1
spawn blue-server "$weft" run --node blue-app -- ib_send_bw -R -p 5432 -F -n 200 -s 4096
await_ids blue-app 1
spawn red-client "$weft" run --node red-app -- \
  ib_send_bw -R -p 5432 -F -n 200 -s 4096 127.251.0.3
spawn blue-client "$weft" run --node blue-db -- \
  ib_send_bw -R -p 5432 -F -n 200 -s 4096 127.251.0.2
for who in red-client red-server blue-client blue-server; do finish "$who"; done
expect red-client '^ 4096 +200 '
expect blue-client '^ 4096 +200 '
[[ $(router "s['counters']['packets'] - s['counters']['forwarded']") == 0 ]] ||
  fail "$(router s)"
# Each packet has got another P_Key, and its ICRC was corrected, or its end had not taken it.
is_above "$(router "s['counters']['icrc_corrected_pkey']")" 400 || fail "$(router s)"
while read -r port key; do
  had=$(keys "$port")
  [[ $had == "$key" ]] || fail "at $port there were packets with P_Keys $had, not with $key"
done <<<"red-app:1 0x8001
blue-app:1 0x8002
red-db:1 0x8011
blue-db:1 0x8012"

# From one partition into the other: the service has no path to there.
gate=$(sed -nE 's/.*dlid\.+(0x)?([0-9A-Fa-f]+)$/\2/p' "$work/path-red-app.out")
# send DGID: datagrams of red-app, by the second P_Key that its port has: the first is that of
# management, of which everybody is a limited member.
send() {
  on datagrams red-app /usr/bin/python3 "$source_tree/tests/e2e/routed_datagrams.py" \
    "$1" "$gate" 64 --count 3 --pkey 0x8001
}
listen blue-db:1
send "$blue_db"
[[ $(router "s['counters'].get('drop_no_path', 0)") == 3 ]] ||
  fail "what was to cross was not dropped: $(router s)"
[[ $(keys blue-db:1) == "" ]] || fail "something has come from one partition into the other"
listen red-db:1
send "$red_db"
[[ $(keys red-db:1) == 0x8011 ]] || fail "what is for the same partition did not arrive"
[[ $(router "s['counters'].get('drop_no_path', 0)") == 3 ]] || fail "$(router s)"
# And who may not talk to each other on one side has no path there.
path beside red-app "$red_app" "$blue_app"
refuse beside dlid
stop lab INT
