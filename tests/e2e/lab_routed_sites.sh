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
# shellcheck source=tests/e2e/sites_lib.sh
source "$source_tree/tests/e2e/sites_lib.sh"

counted() { site_report "$1" "router['counters'].get('$2', 0)"; }
gid_of() { # NODE
  node "gid-$1" "$1" ibaddr
  finish "gid-$1"
  awk '/GID/ { print $2; exit }' "$work/gid-$1.out"
}

have_sites routed- west east
example_sites routed
start_site west
expect west '^lab routed-west: 1 switches, 2 channel adapters, 1 routers, 3 links'
if [[ $what == opensm ]]; then
  start_site east --sm none
  manage e2 0xfd00000000000002
else
  start_site east
fi
await_up

# Two subnets: each has its prefix, and the LIDs of one are those of the other too.
all_lids="sorted(port['lid'] for of_node in ports.values() for port in of_node)"
[[ $(site_report west "$all_lids") == "$(site_report east "$all_lids")" ]] ||
  fail "the LIDs are not the same"
west_gate=$(site_report west "ports['gate-west'][0]['lid']")
east_gate=$(site_report east "ports['gate-east'][0]['lid']")
west_gid=$(gid_of w1)
east_gid=$(gid_of e1)
[[ $west_gid == fd00::1:* && $east_gid == fd00::2:* ]] || fail "GIDs $west_gid and $east_gid"

# The way there, as the administrators have it: by the router.
node path w1 saquery PR --sgid "$west_gid" --dgid "$east_gid"
finish path
expect path "dlid\\.+$west_gate\$"
expect path 'hop_flow_raw\.+0xFF$'

# Programs that are told the router's LID beside the GID.
client_more=(-x 0 "--dlid=$west_gate")
server_more=(-x 0 "--dlid=$east_gate")
perftest_across ib_write_bw -n 500
perftest_across ib_read_bw -n 500
perftest_across ib_send_bw -n 500 -c UD
(($(counted west routed_out) >= 500 && $(counted east routed_in) >= 500)) ||
  fail "what was routed is not counted"
# Programs that ask for the way: rdma_cm, by GID.
rping_across w1 e1 "$east_gid" 20
# And by IP address, which the lab files have.
rping_across w1 e1 10.254.128.1 20
node server e1 ucmatose -f gid -b "$east_gid" -c 3 -C 20
await_ids e1 1
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
await_site west "router['counters'].get('hop_limit', 0)" $((before + 3))
send fd00:0:0:9::1 "$west_gate" 64 --count 2
await_site west "router['counters'].get('no_route', 0)" 2
send fd00:0:0:2::1 "$west_gate" 64 --count 2
await_site east "router['counters'].get('no_path', 0)" 2
run status "$weft" status
expect status "^  extender gate-west at ${listen[west]}"
expect status "^    fd00:0:0:2::/64 to east \\(${listen[east]}\\): up, insecure\$"
expect status '^    router: .*hop_limit 3'
# Nothing else was lost on the way.
for site in west east; do
  site_report $site "sorted({*router['counters'], *remote['counters']})" >"$work/counters-$site.out"
  refuse "counters-$site" 'forged|lost|overrun|malformed|no_lane|full'
  refuse "counters-$site" 'bad_grh|foreign|not_|waiting|unanswered|site_down'
done

[[ $what != opensm ]] || stop opensm-east
stop_site east
await_site west "remote['active']" False
stop_site west
echo "$what: done"
