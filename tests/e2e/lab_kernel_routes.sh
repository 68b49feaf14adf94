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
# shellcheck source=tests/e2e/sites_lib.sh
source "$source_tree/tests/e2e/sites_lib.sh"

left_out="extender['routes_left_out']"
learned="remote.get('learned')"
dropped="router['counters'].get('no_route', 0)"
ping_east() { rping_across w1 e1 10.254.128.1; }
send_east() { # COUNT: datagrams, which nobody answers
  node datagrams w1 /usr/bin/python3 \
    "$source_tree/tests/e2e/routed_datagrams.py" fd00:0:0:2:200::e01 "$gate" 64 --count "$1"
  finish datagrams
}
route() { ip -6 route "$@" table "$table"; }

ip link set lo up
ip link add wan0 type veth peer name wan1
ip -6 address add 2001:db8::1/64 dev wan0 nodad
ip link set wan0 up
ip link set wan1 up

have_sites routed- west east
example_sites routed
route_table=$table
[[ $table != main ]] || route_table='"main"'
sed -i -e 's|^prefixes = .*|next_hop = "2001:db8::2"|' \
  -e "s|^mode = .*|&\\nroute_table = $route_table|" "$work/west.toml"
# One is there before the lab is; it is of another site.
route add fd00:0:0:7::/64 via 2001:db8::7 dev wan0
start_site west
start_site east
await_up
gate=$(site_report west "ports['gate-west'][0]['lid']")
[[ $(site_report west "$learned") == 0 ]] || fail "a route that leads elsewhere was learned"
send_east 2
await_site west "$dropped" 2

route add fd00:0:0:2::/64 via 2001:db8::2 dev wan0
await_site west "$learned" 1
ping_east
# A better one that leads elsewhere hides it, a worse one does not.
route add fd00:0:0:2::/64 via 2001:db8::7 dev wan0 metric 5000
route add fd00:0:0:8::/64 via 2001:db8::2 dev wan0
await_site west "$learned" 2
ping_east
route add fd00:0:0:2::/64 via 2001:db8::7 dev wan0 metric 5
await_site west "$learned" 1
send_east 3
await_site west "$dropped" 5
route del fd00:0:0:2::/64 via 2001:db8::7 dev wan0 metric 5
await_site west "$learned" 2
ping_east
# A table that is too long is not read to its end, which is said once, and counted. Four routes by a
# gateway there are already.
[[ $(site_report west "$left_out") == 0 ]] || fail "routes are left out where there are four"
refuse west 'left out'
many() { # add|del
  awk -v "what=$1" -v "table=$table" 'BEGIN {
    for (i = 0; i < 65540; ++i)
      printf "route %s fd10:0:%x:%x::/64 via 2001:db8::7 dev wan0 table %s\n", what, i / 256,
        i % 256, table
  }'
}
many add | ip -6 -batch -
await_site west "$left_out" 8
[[ $(grep -c "route_table .*: of its IPv6 routes 65536 are read and [0-9]* left out" \
  "$work/west.out") == 1 ]] || fail "it is not said once that routes are left out"
many del | ip -6 -batch -
await_site west "$left_out" 0
await_site west "$learned" 2
ping_east
# With its interface all of them go.
ip link set wan0 down
await_site west "$learned" 0
send_east 1
await_site west "$dropped" 6
run status "$weft" status
expect status "^    no subnet to east \\(${listen[east]}\\): up, insecure\$"

stop_sites
echo "$table: done"
