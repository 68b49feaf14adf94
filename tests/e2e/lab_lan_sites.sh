#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lab_lan_sites.sh WHAT: Ethernet over the fabrics of two sites, with an emulated WAN between
# them, by programs that know nothing of either. Nodes are in network namespaces of their own. WHAT
# is one of
#   programs  one subnet, sealed: ping, arping, DHCP, router advertisements, streams, and 200 MB
#             that come as they were sent, over a WAN of 10 ms there and back that loses packets
#   cut       the same: the WAN is cut while TCP runs over it both ways, and comes back
#   router    two subnets, which are two LANs: nobody reaches the other one, nothing is sent there
set -euo pipefail
# shellcheck disable=SC2034  # lib.sh reads it
time_limit=150
source "$(dirname "$0")/lan_lib.sh"
need ss socat cmp
# shellcheck source=tests/e2e/sites_lib.sh
source "$source_tree/tests/e2e/sites_lib.sh"

# join_lan: all nodes of both sites are on the LAN from now on.
join_lan() {
  make_namespaces w1 w2 e1 e2
  sed -i "0,/^name = /s|^name = .*|&\nlan = { netns = \"$work/net/{node}\", mtu = 9000 }|" \
    "$work/west.toml" "$work/east.toml"
}
# The Nth node in the order of names has 192.0.2.N (lan_lib.sh).
declare -A address_of=([e1]=192.0.2.1 [e2]=192.0.2.2 [w1]=192.0.2.3 [w2]=192.0.2.4)

# lan_of SITE EXPRESSION: of `interfaces`, what weft lan arp says of each node of the site.
lan_of() {
  in_site "$1" "$weft" lan arp --lab "$labs$1" --json
  "${words[@]}" 2>/dev/null | python3 -c "
import json, sys
interfaces = json.loads(sys.stdin.read() or '{}').get('interfaces', [])
print($2)"
}
await_lan_of() { # SITE EXPRESSION
  local tries
  for ((tries = 0; tries < 600; tries++)); do
    [[ $(lan_of "$1" "$2") != True ]] || return 0
    sleep 0.05
  done
  in_site "$1" "$weft" lan arp --lab "$labs$1"
  "${words[@]}" >"$work/lan.out" 2>&1 || :
  fail "this is not so of the LAN of $1: $2"
}
await_peers_of() { # SITE COUNT: until both its nodes are on the LAN, and know so many others
  await_lan_of "$1" \
    "[(each['state'], each['peer_count']) for each in interfaces] == [('up', $2)] * 2"
}

# start_one_lan PATH RATE: both sites, one subnet, over a WAN like that.
start_one_lan() {
  local site
  have_sites '' west east
  example_sites site
  join_lan
  sed -i "s|^fingerprint = .*|&\nrate = \"$2\"|" "$work/west.toml" "$work/east.toml"
  wan_path=rate=$2,$1
  over_wan "$wan_path" delay=1ms
  relay=$(sed -n 's/^address = "\(.*\)"/\1/p' "$work/west.toml")
  for site in west east; do start_site "$site"; done
  await_up
  for site in west east; do await_peers_of "$site" 3; done
  give_addresses
}
restart_wan() {
  spawn wan "$weft" wan-emulator udp "$relay" "${listen[east]}" --path "$wan_path"
  await wan '^weft wan-emulator: udp'
}

reaches() { # NODE NODE [ARGUMENT ...]: of ping; nothing is lost
  run_at "ping-$1-$2" "$1" ping -c3 -i0.1 -W2 "${@:3}" "${address_of[$2]}"
  expect "ping-$1-$2" ' 0% packet loss'
}
reaches_not() { # NODE NODE
  spawn_at "ping-$1-$2" "$1" ping -c1 -W1 "${address_of[$2]}"
  finish "ping-$1-$2" 1
  expect "ping-$1-$2" ' 100% packet loss'
}
# carry NAME FROM TO FILE: begins to send it by TCP; carried NAME FILE: it has come, as it is.
carry() {
  local port
  port=$(free_port)
  spawn_at "sink-$1" "$3" socat -u "TCP-LISTEN:$port,reuseaddr" "CREATE:$work/$1.come"
  await_listener "sink-$1" "$port" "${keeper_of[$3]}"
  spawn_at "source-$1" "$2" socat -u "OPEN:$4" "TCP:${address_of[$3]}:$port"
}
carried() {
  finish "source-$1"
  finish "sink-$1"
  cmp "$2" "$work/$1.come" || fail "what came is not what was sent"
}

programs() {
  local port
  need busybox dnsmasq iperf3
  start_one_lan delay=5ms,loss=0.2%,seed=7 1Gb/s
  [[ $(site_report west "remote['sealed']") == True ]] || fail "the WAN is not sealed"
  reaches w1 e1
  reaches e2 w2 -M "do" -s 8972
  run_at ping6 w1 ping -c3 -i0.1 -W2 2001:db8::2
  expect ping6 ' 0% packet loss'
  run_at arping w1 busybox arping -c2 -I lan1 192.0.2.1
  expect arping "^Unicast reply from 192.0.2.1 \[$(lan_of east "interfaces[0]['mac']")\]"
  run arp "$weft" lan arp w1 --lab west
  expect arp '^w1:1 .* w2:1 +0x'
  expect arp '^w1:1 .* e1 +0x.* channel '
  port=$(free_port)
  spawn_at server e1 iperf3 -s -p "$port"
  await_listener server "$port" "${keeper_of[e1]}"
  run_at tcp w1 iperf3 -c 192.0.2.1 -p "$port" -t2
  expect tcp 'receiver'
  run_at back w1 iperf3 -c 192.0.2.1 -p "$port" -t2 -R
  expect back 'receiver'
  # What comes at once behind a frame that was sent again has to fit the socket's buffer.
  run_at udp w1 iperf3 -c 192.0.2.1 -p "$port" -t2 -u -b 20M
  expect udp ' \(0%\) +receiver'
  stop server
  head -c 200000000 /dev/urandom >"$work/sent"
  carry all w1 e1 "$work/sent"
  carried all "$work/sent"
  serve_addresses w2
  take_addresses e2
  stop dnsmasq
  # The tunnel has sent again what the WAN lost, and the fabric noticed nothing.
  site_report west "remote['counters']" >"$work/counters.out"
  expect counters "tx_repeated': [1-9]"
  refuse counters 'rx_lost|forged|overrun'
}

across_from() { if [[ $1 == w2 ]]; then echo e2; else echo w2; fi; }

cut() {
  local site node
  need busybox
  start_one_lan delay=5ms 200Mb/s
  head -c 100000000 /dev/urandom >"$work/sent"
  carry eastward w1 e1 "$work/sent"
  carry westward e1 w1 "$work/sent"
  sleep 1
  stop wan INT
  await_site west "wan['state']" Down
  await_site east "wan['state']" Down
  await_peers_of west 1
  reaches w1 w2
  reaches e1 e2
  reaches_not w1 e1
  reaches_not e1 w1
  restart_wan
  await_up
  for site in west east; do await_peers_of "$site" 3; done
  reaches w1 e1
  reaches e1 w1
  carried eastward "$work/sent"
  carried westward "$work/sent"
  # Broadcasts too: the other site's ports are in the group of the fabric again.
  for node in w2 e2; do
    run_at "arping-$node" "$node" busybox arping -b -c3 -I lan1 \
      "${address_of[$(across_from "$node")]}"
    expect "arping-$node" '^Received 3 response'
  done
}

router() {
  local site
  have_sites routed- west east
  example_sites routed
  join_lan
  over_wan delay=5ms delay=5ms
  for site in west east; do start_site "$site"; done
  await_up
  for site in west east; do await_peers_of "$site" 1; done
  give_addresses
  reaches w1 w2
  reaches e1 e2
  reaches_not w1 e1
  reaches_not e2 w2
  for site in west east; do
    site_report "$site" "sorted(router['counters'])" >"$work/counters-$site.out"
    refuse "counters-$site" '[a-z]' "the LAN sends nothing to the router"
  done
}

"$what"
stop_sites
echo "$what: done"
