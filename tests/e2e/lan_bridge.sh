#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lan_bridge.sh WHAT: nodes of a lab that join the LAN to Ethernets by their kernel's bridge,
# with hosts on these that know of no fabric. WHAT is one of
#   segments  hosts behind two bridges reach nodes and each other; weft lan says who bridges
#   groups    multicast between nodes and hosts behind a bridge, with IGMPv2 and IGMPv3
#   spanning  two bridges to one Ethernet, with STP: one way, another one when that has gone
#   storm     the same without STP: the lab lives, and ends the storm when the loop is cut
set -euo pipefail
# shellcheck disable=SC2034  # lib.sh reads it
time_limit=110
source "$(dirname "$0")/lan_lib.sh"
ip link add br0 type bridge 2>/dev/null || skip "this kernel has no bridges"
ip link del br0

frames="$source_tree/tests/e2e/lan_frames.py"
hosts=0

# bridge NODE [OPTION ...]: br0, with an address of its own, of which the node's lan1 is a port. As
# `ip link add type bridge` has the options; its ports forward at once unless these say otherwise.
bridge() {
  at_node "$1" ip link add br0 address "52:54:00:00:00:0$1" type bridge \
    forward_delay 0 "${@:2}"
  at_node "$1" ip link set br0 up
  at_node "$1" ip link set lan1 master br0
}

# segment NAME: an Ethernet whose cables all lead to one switch.
segment() {
  new_namespace "keeper_of[$1]" || fail "no namespace for $1"
  at_node "$1" ip link add br0 type bridge forward_delay 0 mcast_snooping 0
  at_node "$1" ip link set br0 up
}

# cable NAME OTHER: from the bridge of one to that of the other, in both a port called to-OTHER.
cable() {
  ip link add "to-$2" netns "${keeper_of[$1]}" type veth peer name "to-$1" netns "${keeper_of[$2]}"
  plug "$1" "to-$2"
  plug "$2" "to-$1"
}
plug() { # NAME PORT
  at_node "$1" ip link set "$2" master br0
  at_node "$1" ip link set "$2" up
}

# host NAME BEHIND NUMBER: a host with the interface eth0 on the bridge of BEHIND, and the addresses
# of that number.
host() {
  new_namespace "keeper_of[$1]" || fail "no namespace for $1"
  hosts=$((hosts + 1))
  ip link add "to-$1" netns "${keeper_of[$2]}" type veth peer name eth0 \
    address "52:54:00:00:01:0$hosts" netns "${keeper_of[$1]}"
  plug "$2" "to-$1"
  address "$1" eth0 "$3"
}
address() { # NAME INTERFACE NUMBER
  at_node "$1" ip address add "192.0.2.$3/24" dev "$2"
  at_node "$1" ip address add "2001:db8::$3/64" dev "$2" nodad
  at_node "$1" ip link set "$2" up
}

# reach FROM ADDRESS: by so many packets as are sent, each answered once.
reach() {
  run_at ping "$1" ping -c3 -i0.1 -W2 "$2"
  expect ping ' 0% packet loss' "$1 to $2"
  refuse ping 'duplicates|DUP!' "$1 to $2"
}

# await_reach FROM ADDRESS: bridges that hear of another way a second later than it is there.
await_reach() {
  local tries
  for ((tries = 0; tries < 20; tries++)); do
    ! at_node "$1" ping -c1 -W1 "$2" >/dev/null || break
  done
  reach "$1" "$2"
}

# state NAME PORT: of a port of a bridge, as spanning trees have it.
state() {
  at_node "$1" ip -d link show dev "$2" | sed -nE 's/.*bridge_slave state ([a-z]+) .*/\1/p'
}
# await_state NAME PORT STATE
await_state() {
  local tries
  for ((tries = 0; tries < 600; tries++)); do
    [[ $(state "$1" "$2") != "$3" ]] || return 0
    sleep 0.05
  done
  fail "port $2 of $1 is $(state "$1" "$2"), not $3"
}

# counted NODE COUNTER: of its LAN port.
counted() {
  lan_is "sum(each['frames'].get('$2', 0) for each in interfaces if each['node'] == '$1')"
}

start_nodes() {
  make_nodes "$@"
  spawn lab "$weft" up "$work/lan.toml"
  await_peers $#
}

test_segments() {
  local port mac
  need busybox iperf3
  start_nodes a b c
  bridge b
  bridge c
  await_lan "[each['bridges'] for each in interfaces] == [False, True, True]"
  await_lan "[peer['bridges'] for peer in interfaces[0]['peers']] == [True, True]"
  address a lan1 1
  address b br0 2
  host x b 11
  host y c 12
  reach a 192.0.2.2
  reach a 192.0.2.11
  reach x 192.0.2.1
  reach x 192.0.2.12
  reach y 192.0.2.2
  reach a 2001:db8::12
  reach y 2001:db8::11
  run_at arping x busybox arping -c2 -I eth0 192.0.2.1
  mac=$(lan_is "interfaces[0]['mac']")
  expect arping "^Unicast reply from 192.0.2.1 \[$mac\]"
  run_at arping a busybox arping -c2 -I lan1 192.0.2.12
  expect arping '^Unicast reply from 192.0.2.12 \[52:54:00:00:01:02\]'
  run show "$weft" lan
  expect show '^a:1 .* 1500 +2 +[0-9]+ +no +[0-9]+$'
  expect show '^b:1 .* 1500 +2 +[0-9]+ +yes +[0-9]+$'
  run arp "$weft" lan arp a
  expect arp '^a:1 .* b:1 .* [1-9][0-9]*$'
  expect arp '^a:1 .* c:1 .* [1-9][0-9]*$'
  port=$(free_port)
  spawn_at server y iperf3 -s -p "$port"
  await_listener server "$port" "${keeper_of[y]}"
  run_at far x iperf3 -c 192.0.2.12 -p "$port" -n 100M
  run_at near a iperf3 -c 192.0.2.12 -p "$port" -n 100M
  run_at back a iperf3 -c 2001:db8::12 -p "$port" -n 100M -R
  expect far 'receiver'
  expect near 'receiver'
  expect back 'receiver'
  stop server
  # An interface that leaves its bridge has no stations behind it, unless somebody says so.
  at_node b ip link set lan1 nomaster
  await_lan "[interfaces[0]['peers'][0][what] for what in ('bridges', 'stations')] == [False, 0]"
  run up "$weft" lan up b --bridge on
  await_lan "interfaces[0]['peers'][0]['bridges'] and interfaces[1]['bridge'] is True"
  run up "$weft" lan up b --bridge off
  at_node b ip link set lan1 master br0
  spawn_at lost x ping -c1 -W1 192.0.2.1
  finish lost 1
  [[ $(counted b tx_foreign_source) -gt 0 ]] || fail "frames of x are in nobody's name"
  run up "$weft" lan up b --bridge auto
  reach x 192.0.2.1
}

# heard_by MEMBER FROM: what one sends to the group, the other one gets.
heard_by() {
  local tries before
  before=$(wc -l <"$work/member-$1.out")
  for ((tries = 0; tries < 10; tries++)); do
    echo "from $2" | at_node "$2" socat -u STDIN UDP4-DATAGRAM:239.1.2.3:7000,ip-multicast-ttl=1
    sleep 0.1
    ! tail -n +$((before + 1)) "$work/member-$1.out" | grep -q "^from $2$" || return 0
  done
  fail "$1 does not hear what $2 sends"
}

test_groups() {
  local name interface
  need socat
  start_nodes a b c
  await_lan "all(type(peer['groups']) == list for peer in interfaces[0]['peers'])" 600
  bridge b
  await_lan "interfaces[0]['peers'][0]['bridges']"
  # Until those behind it have been asked it wants all.
  await_lan "type(interfaces[0]['peers'][0]['groups']) != list"
  address a lan1 1
  address c lan1 3
  host x b 11
  host y b 12
  for name in a c x y; do
    interface=lan1
    [[ $name == [ac] ]] || interface=eth0
    at_node "$name" ip route add 224.0.0.0/4 dev "$interface"
  done
  # Switches that listen leave reports of this version to routers.
  at_node x sh -c 'echo 2 >/proc/sys/net/ipv4/conf/eth0/force_igmp_version'
  for name in c x y; do
    interface=lan1
    [[ $name == c ]] || interface=eth0
    spawn_at "member-$name" "$name" \
      socat -u "UDP4-RECV:7000,ip-add-membership=239.1.2.3:$interface" STDOUT
  done
  # What y reports all hear; what x does, who asks those behind the bridge.
  spawn_at alone x socat -u "UDP4-RECV:7001,ip-add-membership=239.1.2.4:eth0" STDOUT
  # All have been asked, those behind the bridge once more after 31 s, and each port wants what it
  # has heard of.
  await_lan "all(type(peer['groups']) == list for peer in interfaces[0]['peers'])" 600
  await_lan "['01:00:5e:01:02:03' in peer['groups'] for peer in interfaces[0]['peers']] ==
    [True, True]"
  await_lan "'01:00:5e:01:02:04' in interfaces[0]['peers'][0]['groups']"
  heard_by c x
  heard_by c a
  heard_by x a
  heard_by y a
  heard_by x c
  heard_by x y
  # And nobody gets what he does not want.
  stop member-x
  stop member-y
  await_lan "['01:00:5e:01:02:03' in peer['groups'] for peer in interfaces[0]['peers']] ==
    [False, True]"
  heard_by c a
}

# heard_times NUMBER FROM INTERFACE: of so many broadcasts, how many come to x.
heard_times() {
  spawn_at hear x python3 "$frames" hear eth0 ff:ff:ff:ff:ff:ff
  await hear '^hears$'
  at_node "$2" python3 "$frames" send "$3" "$1"
  await hear "^came: f{12}.{12}88b5.*$(printf '%08x' "$1")"
  stop hear TERM
  grep -cE '^came: f{12}.{12}88b5' "$work/hear.out"
}

test_spanning() {
  local stp=(stp_state 1 forward_delay 200 hello_time 100 max_age 600) began
  start_nodes a b c
  segment wire
  bridge b "${stp[@]}" priority 4096
  bridge c "${stp[@]}" priority 8192
  at_node c ip link set lan1 type bridge_slave cost 100  # so c reaches b by the Ethernet
  cable b wire
  cable c wire
  address a lan1 1
  address b br0 2
  address c br0 3
  host x wire 11
  await_state b lan1 forwarding
  await_state b to-wire forwarding
  await_state c to-wire forwarding
  await_state c lan1 blocking
  reach a 192.0.2.11
  reach x 192.0.2.1
  reach a 192.0.2.2
  reach a 192.0.2.3
  [[ $(heard_times 20 a lan1) == 20 ]] || fail "broadcasts of a have not come once each"
  run show "$weft" lan
  refuse show 'storm'
  run unplug "$weft" link b:1 down
  began=$EPOCHREALTIME
  await_state c lan1 forwarding
  await_reach a 192.0.2.11
  await_reach x 192.0.2.1
  await_reach b 192.0.2.1
  awk -v a="$began" -v b="$EPOCHREALTIME" 'BEGIN { print "another way after " b - a " s" }'
  [[ $(heard_times 20 a lan1) == 20 ]] || fail "broadcasts of a have not come once each"
  run plug "$weft" link b:1 up
  await_state c lan1 blocking
  await_state b lan1 forwarding
  await_reach a 192.0.2.11
  await_reach x 192.0.2.1
  run show "$weft" lan
  refuse show 'storm'
}

test_storm() {
  local before
  start_nodes a b c d
  segment wire
  bridge b
  bridge c
  address a lan1 1
  address d lan1 4
  host x wire 11
  cable b wire
  cable c wire
  await_lan "[each['bridges'] for each in interfaces] == [False, True, True, False]"
  # More at once than may go on in a second, and they go round for ever.
  at_node x python3 "$frames" send eth0 30000
  await_lan "any(each['frames'].get('tx_storm', 0) + each['frames'].get('rx_storm', 0) > 100
    for each in interfaces)"
  # Who has no part in it goes on.
  run_at ping a ping -c10 -i0.1 -W2 192.0.2.4
  expect ping ' 0% packet loss'
  run show "$weft" lan
  expect show '^[bc]:1: (tx|rx)_storm: '
  run cut "$weft" link c:1 down
  await_lan "interfaces[2]['state'] == 'down'"
  before=$(counted b tx_to_all)
  sleep 0.5
  [[ $(($(counted b tx_to_all) - before)) -lt 100 ]] || fail "the storm goes on without its loop"
  await_reach a 192.0.2.11
}

"test_$what"
run end "$weft" down
finish lab
