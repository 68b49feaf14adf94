#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lan_firewall.sh channels|datagrams: Ethernet over the fabric between two nodes whose paths
# lead through a pair of firewalls, examples/labs/firewall-lan.toml: what the rules allow passes,
# what they do not is dropped and counted, captures show which way it all goes, and a connection of
# TCP goes on while a switch and then the active firewall are taken away. With the LAN's connections
# and without.
set -euo pipefail
# shellcheck disable=SC2034  # lib.sh reads it
time_limit=300
source "$(dirname "$0")/lan_lib.sh"
need iperf3 nc python3

labs=$source_tree/examples/labs
make_namespaces app db
sed -e "s|netns = \"{node}\"|netns = \"$work/net/{node}\"|" \
  -e "s|\"firewall-lan.rules\"|\"$labs/firewall-lan.rules\"|" "$labs/firewall-lan.toml" \
  >"$work/lan.toml"
[[ $what == channels ]] || sed -i 's/^lan = {/lan = { channels = 0,/' "$work/lan.toml"

# service NODE EXPRESSION: of what `weft status` says of the firewall there.
service() {
  of_lab "str([($2) for s in lab[0]['services'] if s['node'] == '$1'][0])"
}
# await_more NODE EXPRESSION COUNT WHY: until it has grown by so much.
await_more() {
  local tries now before
  before=$(service "$1" "$2")
  for ((tries = 0; tries < 400; tries++)); do
    now=$(service "$1" "$2")
    ((now < before + $3)) || return 0
    sleep 0.05
  done
  fail "$4: $now, and $before before"
}
# refused: another port than the one that is open, and counted by the firewall of NODE.
refused() { # NODE
  local before
  before=$(service "$1" "s['drops'].get('rule', 0)")
  spawn_at client app nc -z -w2 192.0.2.2 "$closed"
  finish client 1
  await_more_than "$1" "$before"
}
await_more_than() { # NODE COUNT
  local now
  now=$(service "$1" "s['drops'].get('rule', 0)")
  ((now > $2)) || fail "$1 counts no packet that a rule drops: $now"
}

await_mark() { # FILE
  local tries
  for ((tries = 0; tries < 400; tries++)); do
    ! grep -qaF -- "$mark" "$1" || return 0
    sleep 0.05
  done
  fail "$1 has not what was sent last"
}

spawn lab "$weft" up "$work/lan.toml"
await_peers 2
give_addresses
lid=$("$weft" policy --json | python3 -c "
import json, sys
pair = json.load(sys.stdin)['services'][0]['instances'][0]
print(pair[0]['lids'][0]['lid'])")
[[ $(lan_is "all(peer['path']['dlid'] == $lid and peer['lid'] != $lid
  for each in interfaces for peer in each['peers'])") == True ]] ||
  fail "not all paths lead to LID $lid, the firewall's"

# What is open, as captures at both sides of the firewall have it.
for link in app:1 fw1:1; do
  spawn "capture-$link" "$weft" capture "$link" data -w "$work/$link.pcapng"
  await "capture-$link" '^weft capture: listening'
done
for family in 192.0.2.2 2001:db8::2; do
  run_at "ping-$family" app ping -c3 -i0.1 -W2 -s 8000 "$family"
  expect "ping-$family" ' 0% packet loss'
done
spawn_at server db iperf3 -s -p 5432
await_listener server 5432 "${keeper_of[db]}"
run_at tcp app iperf3 -c 192.0.2.2 -p 5432 -n 2M -b 20M
expect tcp 'receiver'
run_at back app iperf3 -c 192.0.2.2 -p 5432 -n 2M -b 20M -R
expect back 'receiver'
# What comes last is in the captures behind all the rest.
mark='weft-end-of-way!'
run_at last app ping -c1 -W2 -p "$(printf %s "$mark" | od -An -tx1 | tr -d ' \n')" 192.0.2.2
for link in app:1 fw1:1; do
  await_mark "$work/$link.pcapng"
  stop "capture-$link" INT
  expect "capture-$link" '^weft capture: [0-9]+ packets'
  run "crc-$link" python3 "$source_tree/tests/tools/check_crc.py" "$work/$link.pcapng"
done
run ways python3 "$source_tree/tests/e2e/lan_ways.py" "$lid" \
  "$(lan_is "interfaces[0]['lid']")" "$(lan_is "interfaces[1]['lid']")" \
  "$work/app:1.pcapng" "$work/fw1:1.pcapng"
cat "$work/ways.out"
frames=$(lan_is "interfaces[0]['frames'].get('tx_by_channel', 0)")
if [[ $what == channels ]]; then
  expect ways '^by connections: [1-9]'
  ((frames > 0)) || fail "no frame went by a channel"
else
  expect ways '^by connections: 0$'
  ((frames == 0)) || fail "$frames frames went by a channel"
fi
beside=$(service fw2 "s['counters'].get('packets', 0)")
[[ $beside == 0 ]] || fail "the standby had $beside packets"

# What is closed: somebody listens there, and hears nothing.
closed=5433
spawn_at deaf db nc -lk "$closed"
await_listener deaf "$closed" "${keeper_of[db]}"
refused fw1

# A connection goes on without a switch that it goes by, and then without the active firewall.
spawn_at stream app iperf3 -c 192.0.2.2 -p 5432 -t 40 -b 20M
await_more fw1 "s['counters']['forwarded']" 1000 "the stream does not go through fw1"
for link in left-upper right-upper; do run pull "$weft" link "$link" down; done
await_more fw1 "s['counters']['forwarded']" 1000 "nothing comes by the other switch"
run cut "$weft" link fw1:1 down
await_more fw2 "s['counters'].get('forwarded', 0)" 1000 "the standby forwards nothing"
kill -0 "${pid_of[stream]}" || fail "the stream has ended before"
finish stream
expect stream 'receiver'
stop server
refused fw2
run_at after app ping -c3 -i0.1 -W2 192.0.2.2
expect after ' 0% packet loss'
stop deaf
run end "$weft" down
finish lab
