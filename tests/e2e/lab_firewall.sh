#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lab_firewall.sh connections|raw: programs between two nodes of a lab whose paths lead
# through a pair of firewalls. What the rules allow passes and is counted, what they do not is
# refused, and captures of the firewall's link and of that behind it show both.
#   connections   of rdma_cm, by examples/labs/firewall.toml
#   raw           besides, of programs that exchange their addresses by themselves: the partition
#                 refuses what goes around the firewall of examples/labs/firewall-limited.toml
set -euo pipefail
what=$1
# shellcheck disable=SC2034  # lib.sh reads it
time_limit=120
source "$(dirname "$0")/lib.sh"
need ib_read_bw ib_send_lat python3 tshark
begin
# shellcheck source=tests/e2e/lab_lib.sh
source "$source_tree/tests/e2e/lab_lib.sh"

labs=$source_tree/examples/labs
lab=firewall network=127.253
[[ $what == connections ]] || lab=firewall-limited network=127.248
spawn lab "$weft" up "$labs/$lab.toml"
await lab '^  subnet manager     its own \(minhop\)'
db=$network.0.2

# service NODE EXPRESSION: of what `weft service` says of the firewall there.
service() {
  "$weft" service firewall --json | python3 -c "
import json, sys
s, = (s for s in json.load(sys.stdin)['services'] if s['node'] == '$1')
print($2)"
}
# rule COMMENT: how many packets the active firewall's rule has matched.
rule() {
  service fw1 "sum(r['packets'] for r in s['details']['rules'] if r.get('comment') == '$1')"
}
await_rule() { # COMMENT COUNT
  local tries
  for ((tries = 0; tries < 600; tries++)); do
    ! is_above "$(rule "$1")" "$(($2 - 1))" || return 0
    sleep 0.05
  done
  fail "the rule for $1 has matched $(rule "$1") packets"
}
# dissected LINK FILTER: how many packets of its capture tshark takes for that.
dissected() {
  tshark -r "$work/$1.pcapng" -Y "$2" >"$work/dissected.out" 2>"$work/tshark.out" ||
    fail "tshark does not read the capture of $1"
  wc -l <"$work/dissected.out"
}
# passes PORT: messages to it and back arrive. One at a time: captures miss none.
passes() {
  spawn server "$weft" run --node db -- ib_send_lat -R -p "$1" -F -n 100 -s 4096
  await_ids db 1
  spawn client "$weft" run --node app -- ib_send_lat -R -p "$1" -F -n 100 -s 4096 "$db"
  finish client
  finish server
  expect client '^ 4096 +100 '
}

close_ends() {
  stop client
  stop server
  await_ids db 0
}

connections() {
  need rping
  await_states '{"Active":6}'
  local link
  for link in fw1:1 db:1; do
    spawn "capture-$link" "$weft" capture "$link" -w "$work/$link.pcapng"
    await "capture-$link" '^weft capture: listening'
  done

  # Another port than the one that is open: nobody is told.
  spawn server "$weft" run --node db -- rping -s -a "$db" -p 5433 -C 5 -v
  await_ids db 1
  spawn client "$weft" run --node app -- rping -c -a "$db" -p 5433 -C 5 -v
  await_rule 'other ports' 1
  [[ $(ids db) == 1 ]] || fail "the database has heard of a connection to a closed port"
  close_ends
  refuse server 'ping data'

  # Reads of the port that is open: the connection is made, and its requests to read are dropped.
  spawn server "$weft" run --node db -- ib_read_bw -R -p 5432 -F -n 5 -s 4096
  await_ids db 1
  spawn client "$weft" run --node app -- ib_read_bw -R -p 5432 -F -n 5 -s 4096 "$db"
  await_rule reads 1
  close_ends
  refuse client '^ 4096 +5 '

  # Last, what passes: when the captures have that, they have all that came before.
  passes 5432
  is_above "$(service fw1 "s['counters']['forwarded']")" 200 || fail "fw1 forwards too little"
  [[ $(service fw2 "s['counters'].get('packets', 0)") == 0 ]] || fail "the standby had packets"
  for link in fw1:1 db:1; do
    stop "capture-$link" INT
    expect "capture-$link" '^weft capture: [0-9]+ packets'
    refuse "capture-$link" missed
  done
  # SEND Only, to the firewall and from it; and what the database gets.
  local sends='infiniband.bth.opcode == 4' reads='infiniband.bth.opcode == 12'
  is_above "$(dissected fw1:1 "$sends")" 399 || fail "not each message is at fw1's link twice"
  is_above "$(dissected db:1 "$sends")" 199 || fail "not each message is at the database's link"
  is_above "$(dissected fw1:1 "$reads")" 0 || fail "no read came to the firewall"
  [[ $(dissected db:1 "$reads") == 0 ]] || fail "a read went on to the database"
  local req='infiniband.cm.req.serviceid.dport'
  is_above "$(dissected fw1:1 "$req == 5433")" 0 || fail "no request for port 5433 came"
  [[ $(dissected db:1 "$req == 5433") == 0 ]] || fail "a request for port 5433 went on"
  is_above "$(dissected db:1 "$req == 5432")" 1 || fail "no request for port 5432 went on"
}

# pingpong SERVICE PORT: its server, and a client that speaks with it at another port of TCP.
pingpong() {
  local port
  port=$(free_port)
  spawn server "$weft" run --node db -- "ibv_$1_pingpong" -g 0 -n 300 -p "$port"
  await_listener server "$port"
  [[ $2 == direct ]] || lead_through port
  spawn client "$weft" run --node app -- "ibv_$1_pingpong" -g 0 -n 300 -p "$port" 127.0.0.1
}
# lead_through VARIABLE: instead of the port in it, one at which both are told the firewall's LID
# and not each other's, as the subnet administrator says that the path is.
lead_through() {
  local -n lead_to=$1
  local server_port=$lead_to
  lead_to=$(free_port)
  spawn proxy python3 "$source_tree/tests/e2e/lid_proxy.py" "$lead_to" "$server_port" \
    "$service_lid"
  await_listener proxy "$lead_to"
}
# device NODE PATTERN: what ibv_devinfo says of its port there.
device() {
  run "device-$1" "$weft" run --node "$1" -- ibv_devinfo -v
  sed -nE "s/^\s*$2:\s*([0-9a-fx:]+).*/\1/p" "$work/device-$1.out" | head -n 1
}
bad_pkeys() { echo $(($(device "$1" bad_pkey_cntr))); }
gid() { device "$1" 'GID\[ *0\]'; }

raw() {
  need ibv_rc_pingpong ibv_uc_pingpong ibv_devinfo saquery
  await_states '{"Active":6}'
  # Of members that may not talk to each other there is no path but through the firewall.
  on path app saquery PR --sgid-to-dgid "$(gid app)-$(gid db)"
  expect path '\spkey\.+0x7FFF$'
  service_lid=$(awk -F. '/dlid/ { print $NF; exit }' "$work/path.out")
  [[ $service_lid == "$(service fw1 "s['lids'][0]")" ]] || fail "the path is LID $service_lid"

  # The LID that the other one has: its port refuses what a limited member sends.
  [[ $(bad_pkeys db) == 0 ]] || fail "the database has seen bad P_Keys before"
  pingpong rc direct
  finish client 1
  expect client 'transport retry counter exceeded'
  stop server
  is_above "$(bad_pkeys db)" 0 || fail "the database counts no bad P_Key"
  [[ $(service fw1 "s['counters'].get('packets', 0)") == 0 ]] || fail "it came to the firewall"

  # By the firewall: reliable connections pass by a rule, others have none.
  pingpong rc proxied
  finish client
  finish server
  finish proxy
  expect client '^300 iters in '
  await_rule 'no connection manager' 600
  pingpong uc proxied
  await_rule 'not reliable' 1
  stop client
  stop server
  stop proxy
  refuse server 'iters in'

  passes 5432
  [[ $(service fw2 "s['counters'].get('packets', 0)") == 0 ]] || fail "the standby had packets"
}

"$what"
run down "$weft" down
finish lab
