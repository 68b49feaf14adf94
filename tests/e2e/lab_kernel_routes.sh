#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lab_kernel_routes.sh TABLE: two labs that are subnets, of which one knows where the other
# is by the kernel's IPv6 routes alone, in a table: main or a number.
set -euo pipefail
# shellcheck disable=SC2034  # lib.sh reads it
time_limit=150
source "$(dirname "$0")/lib.sh"
need rping ibaddr ip unshare python3
table=$1
private_network "$0" "$@"
begin
# shellcheck source=tests/e2e/lab_lib.sh
source "$source_tree/tests/e2e/lab_lib.sh"

west() { report_of routed-west "$1"; }
await_west() { await_report_of routed-west "$@"; }
remote="lab['extenders'][0]['remotes'][0]"
learned="$remote.get('learned')"
dropped="lab['extenders'][0]['router']['counters'].get('no_route', 0)"
ping_east() {
  spawn server "$weft" run --lab routed-east --node e1 -- rping -s -v -C 5 -a 10.254.128.1
  await_report_of routed-east \
    "[n.get('rdma_cm', {}).get('ids', 0) for n in lab['nodes'] if n['name'] == 'e1']" '[1]'
  spawn client "$weft" run --lab routed-west --node w1 -- rping -c -v -C 5 -a 10.254.128.1
  finish_rping client
  finish_rping server
  expect client 'ping data: rdma-ping-4'
}
send_east() { # COUNT: datagrams, which nobody answers
  spawn datagrams "$weft" run --lab routed-west --node w1 -- /usr/bin/python3 \
    "$source_tree/tests/e2e/routed_datagrams.py" fd00:0:0:2:200::e01 "$gate" 64 --count "$1"
  finish datagrams
}
route() { ip -6 route "$@" table "$table"; }

ip link set lo up
ip link add wan0 type veth peer name wan1
ip -6 address add 2001:db8::1/64 dev wan0 nodad
ip link set wan0 up
ip link set wan1 up

cp "$source_tree/examples/labs/routed-west.toml" "$source_tree/examples/labs/routed-east.toml" \
  "$work"
route_table=$table
[[ $table != main ]] || route_table='"main"'
sed -i -e 's|^prefixes = .*|next_hop = "2001:db8::2"|' \
  -e "s|^mode = .*|&\\nroute_table = $route_table|" "$work/routed-west.toml"
# One is there before the lab is; it is of another site.
route add fd00:0:0:7::/64 via 2001:db8::7 dev wan0
spawn west "$weft" up "$work/routed-west.toml"
spawn east "$weft" up "$work/routed-east.toml"
await west '^lab routed-west'
await east '^lab routed-east'
for site in west east; do
  await_report_of "routed-$site" "$remote.get('active')" True
  await_report_of "routed-$site" "lab['links']['states']" "{'Active': 3}"
done
gate=$(west "[p['lid'] for n in lab['nodes'] if n['name'] == 'gate-west' for p in n['ports']][0]")
[[ $(west "$learned") == 0 ]] || fail "a route that leads elsewhere was learned"
send_east 2
await_west "$dropped" 2

route add fd00:0:0:2::/64 via 2001:db8::2 dev wan0
await_west "$learned" 1
ping_east
# A better one that leads elsewhere hides it, a worse one does not.
route add fd00:0:0:2::/64 via 2001:db8::7 dev wan0 metric 5000
route add fd00:0:0:8::/64 via 2001:db8::2 dev wan0
await_west "$learned" 2
ping_east
route add fd00:0:0:2::/64 via 2001:db8::7 dev wan0 metric 5
await_west "$learned" 1
send_east 3
await_west "$dropped" 5
route del fd00:0:0:2::/64 via 2001:db8::7 dev wan0 metric 5
await_west "$learned" 2
ping_east
# With its interface all of them go.
ip link set wan0 down
await_west "$learned" 0
send_east 1
await_west "$dropped" 6
run status "$weft" status
expect status '^    no subnet to east \(127.0.0.1:7474\): up, insecure$'

for site in west east; do
  run "down-$site" "$weft" down "routed-$site"
  finish "$site"
done
echo "$table: done"
