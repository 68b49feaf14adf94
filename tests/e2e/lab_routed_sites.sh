#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lab_routed_sites.sh WHAT: two labs that are subnets of their own, with the same LIDs, and
# are joined by routers over a WAN. WHAT is one of
#   weft    each under its own manager
#   opensm  one of them under OpenSM
set -euo pipefail
# shellcheck disable=SC2034  # lib.sh reads it
time_limit=150
source "$(dirname "$0")/lib.sh"
need ib_write_bw ib_read_bw ib_send_bw rping ucmatose saquery ibaddr python3
what=$1
[[ $what != opensm ]] || need opensm
begin
# shellcheck source=tests/e2e/lab_lib.sh
source "$source_tree/tests/e2e/lab_lib.sh"

report() {       # SITE EXPRESSION: of its lab and its router
  "$weft" status -d --json | python3 -c "
import json, sys
for lab in json.load(sys.stdin)['labs']:
    if lab['name'] == 'routed-$1':
        extender = lab['extenders'][0]
        remote = extender['remotes'][0]
        router = extender['router']
        lids = {node['name']: [port['lid'] for port in node['ports']] for node in lab['nodes']}
        print($2)"
}
await_report() { # SITE EXPRESSION VALUE
  local tries
  for ((tries = 0; tries < 600; tries++)); do
    [[ $(report "$1" "$2") != "$3" ]] || return 0
    sleep 0.1
  done
  fail "of site $1, $2 is $(report "$1" "$2"), not $3"
}
counted() { report "$1" "router['counters'].get('$2', 0)"; }
node() {         # NAME NODE PROGRAM ...: starts it there
  local site=west
  [[ $2 != e* ]] || site=east
  spawn "$1" "$weft" run --lab "routed-$site" --node "$2" -- "${@:3}"
}
across() {       # PROGRAM ...: its server on node e1, its client on node w1
  local port
  port=$(free_port)
  node server e1 "$@" -x 0 --dlid="$east_gate" -d weft0 -F -p "$port"
  await_listener server "$port"
  node client w1 "$@" -x 0 --dlid="$west_gate" -d weft0 -F -p "$port" 127.0.0.1
  finish client
  finish server
  [[ -n $(perftest_row client) ]] || fail "$1 printed no result"
}
gid_of() {       # NODE
  node "gid-$1" "$1" ibaddr
  finish "gid-$1"
  awk '/GID/ { print $2; exit }' "$work/gid-$1.out"
}
prefixes() {     # in OpenSM's format: all other subnets are behind any router
  echo '* *' >"$work/prefix-routes.conf"
  echo "prefix_routes_file $work/prefix-routes.conf" >"$work/opensm.conf"
}

cp "$source_tree/examples/labs/routed-west.toml" "$work/west.toml"
cp "$source_tree/examples/labs/routed-east.toml" "$work/east.toml"
spawn west "$weft" up "$work/west.toml"
await west '^lab routed-west: 1 switches, 2 channel adapters, 1 routers, 3 links'
if [[ $what == opensm ]]; then
  prefixes
  spawn east "$weft" up --sm none "$work/east.toml"
  await east '^lab routed-east'
  spawn opensm "$weft" run --lab routed-east --node e2 -- opensm -F "$work/opensm.conf" \
    --subnet_prefix 0xfd00000000000002 -f "$work/opensm.log"
else
  spawn east "$weft" up "$work/east.toml"
  await east '^lab routed-east'
fi
for site in west east; do
  await_report $site "remote['active']" True
  await_report $site "lab['links']['states']" "{'Active': 3}"
done

# Two subnets: each has its prefix, and the LIDs of one are those of the other too.
all_lids='sorted(sum(lids.values(), []))'
[[ $(report west "$all_lids") == "$(report east "$all_lids")" ]] || fail "the LIDs are not the same"
west_gate=$(report west "lids['gate-west'][0]")
east_gate=$(report east "lids['gate-east'][0]")
west_gid=$(gid_of w1)
east_gid=$(gid_of e1)
[[ $west_gid == fd00::1:* && $east_gid == fd00::2:* ]] || fail "GIDs $west_gid and $east_gid"

# The way there, as the administrators have it: by the router.
node path w1 saquery PR --sgid "$west_gid" --dgid "$east_gid"
finish path
expect path "dlid\\.+$west_gate\$"
expect path 'hop_flow_raw\.+0xFF$'

# Programs that are told the router's LID beside the GID.
across ib_write_bw -n 500
across ib_read_bw -n 500
across ib_send_bw -n 500 -c UD
(($(counted west routed_out) >= 500 && $(counted east routed_in) >= 500)) ||
  fail "what was routed is not counted"
# Programs that ask for the way: rdma_cm, by GID.
node server e1 rping -s -v -C 20 -a "$east_gid"
listeners="[node.get('rdma_cm', {}).get('ids', 0) for node in lab['nodes'] if node['name'] == 'e1']"
await_report east "$listeners" '[1]'
node client w1 rping -c -v -C 20 -a "$east_gid"
finish_rping client
finish_rping server
expect client 'ping data'
# And by IP address, which the lab files have.
node server e1 rping -s -v -C 20 -a 10.254.128.1
await_report east "$listeners" '[1]'
node client w1 rping -c -v -C 20 -a 10.254.128.1
finish_rping client
finish_rping server
expect client 'ping data'
node server e1 ucmatose -f gid -b "$east_gid" -c 3 -C 20
await_report east "$listeners" '[1]'
node client w1 ucmatose -f gid -b "$west_gid" -s "$east_gid" -c 3 -C 20
finish client
finish server
expect client 'test complete'

# What goes nowhere is counted with its reason: a last hop, a subnet that nobody has, a host that is
# not there, and what has no GRH.
send() {
  node datagrams w1 /usr/bin/python3 "$source_tree/tests/e2e/routed_datagrams.py" "$@"
  finish datagrams
}
before=$(counted west hop_limit)
send "$east_gid" "$west_gate" 1 --count 3
await_report west "router['counters'].get('hop_limit', 0)" $((before + 3))
send fd00:0:0:9::1 "$west_gate" 64 --count 2
await_report west "router['counters'].get('no_route', 0)" 2
send fd00:0:0:2::1 "$west_gate" 64 --count 2
await_report east "router['counters'].get('no_path', 0)" 2
run status "$weft" status
expect status '^  extender gate-west at 127.0.0.1:7473'
expect status '^    fd00:0:0:2::/64 to east \(127.0.0.1:7474\): up, insecure$'
expect status '^    router: .*hop_limit 3'
# Nothing else was lost on the way.
for site in west east; do
  report $site "sorted({*router['counters'], *remote['counters']})" >"$work/counters-$site.out"
  refuse "counters-$site" 'forged|lost|overrun|malformed|no_lane|full'
  refuse "counters-$site" 'bad_grh|foreign|not_|waiting|unanswered|site_down'
done

[[ $what != opensm ]] || stop opensm
run down-east "$weft" down routed-east
finish east
await_report west "remote['active']" False
run down-west "$weft" down routed-west
finish west
echo "$what: done"
