#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lab_routers.sh opensm|weft: a lab with a router: the field's tools show it, what they show
# makes the same lab again, and paths to other subnets lead to it.
set -euo pipefail
time_limit=240
source "$(dirname "$0")/lib.sh"
need opensm ibnetdiscover ibrouters ibping saquery smpquery perfquery python3
begin
# shellcheck source=tests/e2e/lab_lib.sh
source "$(dirname "$0")/lab_lib.sh"
manager=$1
far=2001:db8::1234
cat >"$work/lab.toml" <<'LAB'
name = "routed"
[switch.leaf]
ports = 8
[node.a]
[node.b]
[router.gate]
ports = 2
description = "gate to the west"
[[link]]
ends = ["a", "leaf"]
[[link]]
ends = ["b", "leaf"]
[[link]]
ends = ["gate:1", "leaf"]
[[link]]
ends = ["gate:2", "leaf"]
LAB
run check "$weft" lab check "$work/lab.toml"
expect check '^routed: 1 switches, 2 nodes, 1 routers, 4 links$'

# OpenSM tells no path to other subnets unless it has a file that says by which router.
echo '* *' >"$work/prefix-routes.conf"
echo "prefix_routes_file $work/prefix-routes.conf" >"$work/opensm.conf"
start_lab "$work/lab.toml" 4 -F "$work/opensm.conf"
expect lab '^lab routed: 1 switches, 2 channel adapters, 1 routers, 4 links'
run status "$weft" status -d
expect status '^lab routed: pid [0-9]+ switches 1 cas 2 routers 1 links 4 '
expect status '^  router gate guid 0x'
# of_router KEY: of both its ports.
of_router() {
  "$weft" status -d --json | python3 -c "
import json, sys
for node in json.load(sys.stdin)['labs'][0]['nodes']:
    if node['kind'] == 'router':
        print(*[port['$1'] for port in node['ports']])"
}
read -r gate other < <(of_router lid)
((gate > 0 && other > 0)) || fail "the router has no LIDs"

# What the tools see of it.
on discover a ibnetdiscover
expect discover '^Rt[[:space:]]2 "R-[0-9a-f]{16}"[[:space:]]+# "gate to the west"$'
on routers a ibrouters
expect routers '^Rt.*"gate to the west"'
on nodes a saquery NR
expect nodes 'node_type\.+Router'
on info b smpquery nodeinfo "$gate"
expect info 'NodeType:\.+Router$'
on counters b perfquery "$gate" 1
on alone gate smpquery nodeinfo -D 0
expect alone 'NodeType:\.+Router$'
spawn verbs "$weft" run --node gate -- ibv_devinfo
finish verbs 255
expect verbs '^No IB devices found'

# The listing makes the same lab again, router and all.
run again "$weft" lab import --name routed "$work/discover.out"
expect again '^gate = \{ ports = 2, description = "gate to the west"'
sed -n '/^name/,$p' "$work/again.out" >"$work/again.toml"
run same "$weft" lab check "$work/again.toml"
expect same '^routed: 1 switches, 2 nodes, 1 routers, 4 links$'

# Paths to another subnet have the LID of one of the router's ports, and hops to go.
on gid a ibaddr
source_gid=$(awk '/GID/ { print $2; exit }' "$work/gid.out")
on path a saquery PR --sgid "$source_gid" --dgid $far
expect path "dlid\\.+($gate|$other)\$"
expect path "dgid\\.+$far\$"
expect path 'hop_flow_raw\.+0xFF$'
if [[ $manager == weft ]]; then
  run way "$weft" sm path a $far
  expect way "^a:1 lid [0-9]+ to gate to the west:1 lid $gate, the router for $far: 2 links"
  run json "$weft" sm explain a $far --json
  expect json "\"beyond\": \"$far\""
  spawn nobody "$weft" sm path a ff12::1
  finish nobody 2
  run history "$weft" sm history
  expect history 'Router|router|gate to the west'
fi
read -r first second < <(of_router guid)
end_lab
[[ $manager == weft ]] || exit 0

# By which of its ports, a file says.
printf '%s\n' "# west" "0x20010db800000000 $second" "* $first" >"$work/prefix-routes.conf"
sed -i '1i sm = { prefix_routes = "prefix-routes.conf" }' "$work/lab.toml"
start_lab "$work/lab.toml" 4
read -r gate other < <(of_router lid)
run west "$weft" sm path a $far
expect west "^a:1 lid [0-9]+ to gate to the west:2 lid $other, the router for $far: 2 links"
run east "$weft" sm path a fec0::1
expect east "^a:1 lid [0-9]+ to gate to the west:1 lid $gate, the router for fec0::1: 2 links"
end_lab

# Nowhere, where the file does not say.
sed -i 3d "$work/prefix-routes.conf"
start_lab "$work/lab.toml" 4
spawn nowhere "$weft" sm path a fec0::1
finish nowhere 2

# What it cannot be is said before anything begins.
echo "2001:db8::/64 gate" >>"$work/prefix-routes.conf"
spawn other "$weft" sm run --node b --prefix-routes "$work/prefix-routes.conf"
finish other 2
expect other "prefix-routes.conf:3: '2001:db8::/64 gate': want the first 64 bits of GIDs"
end_lab
spawn wrong "$weft" up "$work/lab.toml"
finish wrong 2
expect wrong "prefix-routes.conf:3: '2001:db8::/64 gate': want the first 64 bits of GIDs"
