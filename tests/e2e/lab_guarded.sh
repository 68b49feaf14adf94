#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lab_guarded.sh all: a reliable connection of rdma_cm and TCP by the LAN at a time, between
# two nodes with a pair of firewalls between them, examples/labs/firewall-lan.toml: both go on while
# a switch that they go by and then the active firewall are taken down, and what the rules do not
# allow is refused before and after.
set -euo pipefail
# shellcheck disable=SC2034  # lib.sh reads it
time_limit=200
source "$(dirname "$0")/lan_lib.sh"
need ib_send_bw iperf3 nc rping tshark

labs=$source_tree/examples/labs
make_namespaces app db
sed -e "s|netns = \"{node}\"|netns = \"$work/net/{node}\"|" \
  -e "s|\"firewall-lan.rules\"|\"$labs/firewall-lan.rules\"|" \
  -e 's|^name = "firewall-lan"|&\nnetwork = "127.247.0.0/16"|' \
  "$labs/firewall-lan.toml" >"$work/lan.toml"
db=127.247.0.2

# service NODE EXPRESSION: of what `weft service` says of the firewall there.
service() {
  "$weft" service firewall --json | python3 -c "
import json, sys
s, = (s for s in json.load(sys.stdin)['services'] if s['node'] == '$1')
print($2)"
}
# rule NODE COMMENT: how many packets the firewall's rule there has matched.
rule() {
  service "$1" "sum(r['packets'] for r in s['details']['rules'] if r.get('comment') == '$2')"
}
await_rule() { # NODE COMMENT
  local tries
  for ((tries = 0; tries < 600; tries++)); do
    ! is_above "$(rule "$1" "$2")" 0 || return 0
    sleep 0.05
  done
  fail "no packet has matched the rule of $1 for $2"
}
# refused NODE: another port than the one that is open, of both sorts; its firewall counts them.
refused() {
  spawn_at closed app nc -z -w2 192.0.2.2 5433
  spawn client "$weft" run --node app -- rping -c -a "$db" -p 5433 -C 5
  await_rule "$1" 'other ports'
  await_rule "$1" 'other services'
  finish closed 1
  stop client
}
# seen FILTER: in how many packets of the last capture tshark finds it.
seen() { tshark -r "$work/seen.pcapng" -Y "$1" 2>/dev/null | wc -l; }
# await_both NODE: until a capture of the firewall's link there has messages of the reliable
# connection, and the LAN's datagrams or messages of unreliable ones.
await_both() {
  local tries
  for ((tries = 0; tries < 40; tries++)); do
    run seen "$weft" capture "$1:1" data -c 2000 -w "$work/seen.pcapng"
    if [[ $(seen 'infiniband.bth.opcode == 4') -gt 0 ]] &&
      [[ $(seen 'infiniband.bth.opcode >= 0x20 && infiniband.bth.opcode < 0x80') -gt 0 ]]; then
      return
    fi
  done
  fail "not both sorts of traffic are at $1:1"
}
# busier: which of both switches between the others has got more.
busier() {
  "$weft" status -d --json | python3 -c "
import json, sys
got = {node['name']: sum(port.get('counters', {}).get('rx_packets', 0)
                        for port in node['ports'])
       for node in json.load(sys.stdin)['labs'][0]['nodes'] if node['name'] in ('upper', 'lower')}
print(max(got, key=got.get))"
}

spawn lab "$weft" up "$work/lan.toml"
await_peers 2
give_addresses
refused fw1

spawn_at listener db iperf3 -s -p 5432
await_listener listener 5432 "${keeper_of[db]}"
spawn_at tcp app iperf3 -c 192.0.2.2 -p 5432 -t 180 -b 20M
spawn server "$weft" run --node db -- ib_send_bw -R -p 5432 -F -s 4096 -D 1 --run_infinitely
await_ids db 1
spawn verbs "$weft" run --node app -- ib_send_bw -R -p 5432 -F -s 4096 -D 1 \
  --run_infinitely "$db"
await verbs '^ 4096 +[0-9]+ '
await_both fw1
[[ $(service fw2 "s['counters'].get('packets', 0)") == 0 ]] || fail "the standby had packets"

# All links of the switch: it is gone.
switch=$(busier)
for link in "left-$switch" "right-$switch"; do run pull "$weft" link "$link" down; done
await_both fw1
run cut "$weft" link fw1:1 down
await_both fw2
for stream in tcp server verbs; do
  kill -0 "${pid_of[$stream]}" || fail "$stream has ended"
done
[[ $(service fw2 "s['service'].get('applied', 0)") -ge 3 ]] || fail "the standby was told nothing"
for stream in verbs server tcp listener; do stop "$stream"; done
refused fw2
run end "$weft" down
finish lab
