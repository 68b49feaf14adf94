#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lab_far_sites.sh bridge|router: two sites whose extenders are `weft extend`, sealed, and a
# WAN of 10 Gbit/s and 100 ms there and back between them. OpenSM manages them, as one subnet across
# the WAN, or each its own with LIDs of its own; programs of perftest and rdma_cm run across.
set -euo pipefail
# shellcheck disable=SC2034  # lib.sh reads it
time_limit=150
source "$(dirname "$0")/lib.sh"
need opensm ib_write_bw rping saquery ibaddr ibnetdiscover python3 ss
what=$1
begin
# shellcheck source=tests/e2e/lab_lib.sh
source "$source_tree/tests/e2e/lab_lib.sh"
# shellcheck source=tests/e2e/sites_lib.sh
source "$source_tree/tests/e2e/sites_lib.sh"

address=10.254.128.1 # node e1's
start_far_sites() { # EXAMPLE
  local site
  example_sites "$1"
  [[ $1 != routed ]] || seal_sites
  over_wan rate=10Gb/s,delay=50ms delay=50ms
  for site in west east; do
    in_parts "$site"
    start_site "$site" --part core --sm none
    start_edge "$site"
  done
}
# What crossed was sealed, took as long as the WAN does, and nothing of it was lost.
sealed_and_clean() {
  local site
  for site in west east; do
    [[ $(site_report "$site" "remote['sealed'], remote['counters']['sessions']") == 'True 1' ]] ||
      fail "site $site is not sealed, or its session has begun anew"
    site_report "$site" "sorted({*(router or {}).get('counters', {}), *remote['counters']})" \
      >"$work/counters-$site.out"
    expect "counters-$site" wan_sealed
    refuse "counters-$site" 'forged|lost|overrun|malformed|no_lane|full|replayed|no_keys'
    refuse "counters-$site" 'bad_grh|foreign|waiting|unanswered|site_down|no_route|no_path'
  done
}

bridge() {
  have_sites '' west east
  start_far_sites site
  manage w1
  await_up
  node discover e2 ibnetdiscover
  finish discover
  [[ $(grep -c '^Switch' "$work/discover.out") == 4 ]] || fail "not four switches"
  [[ $(grep -c '^Ca' "$work/discover.out") == 4 ]] || fail "not four channel adapters"
  perftest_across ib_write_bw -n 500
  await_address w1 "$address"
  rping_across w1 e1 "$address"
}

router() {
  local lids="sorted(port['lid'] for of_node in ports.values() for port in of_node if port['lid'])"
  have_sites routed- west east
  start_far_sites routed
  manage w2 0xfd00000000000001
  manage e2 0xfd00000000000002
  await_up
  [[ $(site_report west "$lids") == "$(site_report east "$lids")" ]] ||
    fail "the subnets do not have the same LIDs"
  client_more=(-x 0 "--dlid=$(site_report west "ports['gate-west'][0]['lid']")")
  server_more=(-x 0 "--dlid=$(site_report east "ports['gate-east'][0]['lid']")")
  perftest_across ib_write_bw -n 500
  rping_across w1 e1 "$address"
  rping_across e1 w1 10.254.0.1
}

$what
sealed_and_clean
for site in west east; do
  [[ -z ${pid_of[opensm-$site]:-} ]] || stop "opensm-$site"
  stop_site "$site"
  finish "edge-$site"
done
stop control
stop wan INT
output wan
echo "$what: done"
