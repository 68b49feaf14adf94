#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lan_fabric.sh WHAT: Ethernet over fabrics of many kinds, between nodes that are in network
# namespaces of their own. WHAT is one of
#   paths-1, paths-2   2^1 or 2^2 LIDs of each port, switches with two links between them: one of
#             these is pulled, under a subnet manager and without
#   ports     adapters with two ports, a host with two adapters; one port is pulled
#   queues    several queues of an interface
#   lids      the ports of a running fabric get other LIDs, and more of them
#   opensm    under OpenSM, with the fabric's multicast group
#   silent    the subnet administrator falls silent, and comes back
#   mtus      adapters and switches of 256 to 4096 bytes
set -euo pipefail
# shellcheck disable=SC2034  # lib.sh reads it
time_limit=90
source "$(dirname "$0")/lan_lib.sh"

# lab_file: its further lines from standard input; each node is in the namespace of its own name.
lab_file() {
  printf 'name = "lan"\nlan = { netns = "%s/net/{node}" }\n' "$work" >"$work/lan.toml"
  cat >>"$work/lan.toml"
}
# managed ARGUMENT ...: the lab, under a manager that is a process at node m, with these options.
begin_lab() {
  spawn lab "$weft" up --sm none "$work/lan.toml"
  await lab '^lab lan: '
}
managed() {
  begin_lab
  manage "$@"
}
manage() { spawn sm "$weft" run --node m -- "$weft" sm run --database none "$@"; }
# without_manager: it is gone, from one moment to the next.
without_manager() {
  kill -KILL -- "-${pid_of[sm]}"
  wait "${pid_of[sm]}" || :
  unset "pid_of[sm]"
}
# ping_on NAME NODE ADDRESS: from now on, ten times a second, until pinged NAME.
ping_on() { spawn_at "$1" "$2" ping -D -O -i0.1 -W1 "$3"; }
# longest_pause NAME: of the answers, in tenths of a second, to now.
longest_pause() {
  python3 - "$work/$1.out" <<'PYTHON'
import re, sys, time
text = open(sys.argv[1], encoding="utf-8").read()
times = [float(when) for when in re.findall(r"^\[([0-9.]+)\] .* bytes from", text, re.M)]
times.append(time.time())
print(round(10 * max(later - earlier for earlier, later in zip(times, times[1:]))))
PYTHON
}
# paused NAME MOST: never longer than so many tenths of a second, until it was stopped.
paused() {
  local pause
  pause=$(longest_pause "$1")
  echo "$1: the longest pause was $pause tenths of a second"
  [[ $pause -le $2 ]] || fail "$1: nobody answered for $pause tenths of a second"
}
# answered NAME COUNT: until so many more answers have come.
answered() {
  local tries before
  before=$(grep -c 'bytes from' "$work/$1.out") || :
  for ((tries = 0; tries < 400; tries++)); do
    [[ $(grep -c 'bytes from' "$work/$1.out") -lt $((before + $2)) ]] || return 0
    sleep 0.05
  done
  fail "$1: nobody answers"
}
# path_of NODE: the DLID of the path in use from there to its first peer, less the peer's base LID.
path_of() {
  lan_is "[each['peers'][0]['path']['dlid'] - each['peers'][0]['lid']
    for each in interfaces if each['node'] == '$1'][0]"
}

# Two switches with as many links between them as there are paths.
two_ways() {
  make_namespaces a b
  lab_file <<'LAB'
[switch]
s = {}
t = {}
[node]
a = {}
b = {}
m = { lan = false }
[[link]]
ends = ["a", "s:1"]
[[link]]
ends = ["m", "s:2"]
[[link]]
ends = ["b", "t:1"]
[[link]]
ends = ["s:4", "t:4"]
[[link]]
ends = ["s:5", "t:5"]
LAB
}

test_paths() {  # LMC
  local link
  two_ways
  managed --lmc "$1"
  await_peers 2
  give_addresses
  await_lan "all(peer['paths'] == 2 and peer['lmc'] == $1
    for each in interfaces for peer in each['peers'])"
  [[ $(lan_is "interfaces[0]['mac'].split(':')[3]") == "0$1" ]] || fail "the LMC is not in the MAC"
  ping_on pings a 192.0.2.2
  answered pings 5
  # The manager finds other ways.
  run way "$weft" sm path a b --node m --json
  link=$(python3 -c "
import json
print(json.load(open('$work/way.out'))['hops'][1]['out'])")
  run pull "$weft" link "$link" down
  answered pings 10
  run plug "$weft" link "$link" up
  await_states '{"Active":5}'
  answered pings 10
  paused pings 30
  stop pings INT
  # Without one, the LAN ports do.
  without_manager
  ping_on pings a 192.0.2.2
  answered pings 5
  run pull "$weft" link "$link" down
  answered pings 20
  paused pings 60 # it should be 40, on a machine that does nothing else
  stop pings INT
  [[ $(path_of a) != 0 ]] || fail "a uses the path whose link was pulled"
  [[ $(at_node a ip link show dev lan1) != *NO-CARRIER* ]] || fail "a has no carrier"
  run_at address a ip address show dev lan1
  expect address '192\.0\.2\.1/24'
}

# give_address NODE INTERFACE ADDRESS: of a network of 24 bits.
give_address() { at_node "$1" ip address add "$3/24" dev "$2"; }
# pings_across NODE ADDRESS ...: each of these answers.
pings_across() {
  local address
  for address in "${@:2}"; do
    run_at "ping-$1-$address" "$1" ping -c3 -i0.1 -W2 "$address"
    expect "ping-$1-$address" ' 0% packet loss'
  done
}

# Host a has an adapter with two ports, host b two adapters: each of the four ports is one of the
# LAN by itself.
test_ports() {
  local node
  make_namespaces a b
  lab_file <<LAB
[switch]
s = {}
t = {}
[node]
a = { ports = 2 }
b1 = { lan = { netns = "$work/net/b", name = "lan1" } }
b2 = { lan = { netns = "$work/net/b", name = "lan2" } }
[[link]]
ends = ["a:1", "s"]
[[link]]
ends = ["a:2", "t"]
[[link]]
ends = ["b1", "s"]
[[link]]
ends = ["b2", "t"]
[[link]]
ends = ["s", "t"]
LAB
  for node in a b; do
    # An address is that of one interface.
    at_node "$node" sh -c \
      'cd /proc/sys/net/ipv4/conf/all && echo 1 >arp_ignore && echo 2 >arp_announce'
  done
  spawn lab "$weft" up "$work/lan.toml"
  await_peers 4
  [[ $(lan_is "len({each['mac'] for each in interfaces}) == 4 and
    all(each['mac'].endswith('%02x' % (each['lid'] % 256)) for each in interfaces)") == True ]] ||
    fail "not each port has an address of its own, with its LID"
  give_address a lan1 192.0.2.1
  give_address b lan1 192.0.2.2
  give_address a lan2 198.51.100.1
  give_address b lan2 198.51.100.2
  pings_across a 192.0.2.2 198.51.100.2
  pings_across b 192.0.2.1 198.51.100.1
  ping_on other b 198.51.100.1
  run pull "$weft" link a:1 down
  await_lan "[each['state'] for each in interfaces] == ['down', 'up', 'up', 'up']"
  answered other 10
  [[ $(at_node a ip link show dev lan1) == *NO-CARRIER* ]] || fail "lan1 of a has a carrier"
  [[ $(at_node a ip link show dev lan2) != *NO-CARRIER* ]] || fail "lan2 of a has none"
  run plug "$weft" link a:1 up
  await_peers 4
  pings_across a 192.0.2.2
  paused other 20
  stop other INT
}

# in_order NAME: what iperf3 has measured of datagrams came in order.
in_order() {
  python3 - "$work/$1.out" <<'PYTHON'
import json, sys
ends = json.load(open(sys.argv[1], encoding="utf-8"))["end"]["streams"]
counts = [(end["udp"]["packets"], end["udp"]["lost_packets"], end["udp"]["out_of_order"])
          for end in ends]
print(counts)
sys.exit(not all(came > 100 and not late for came, lost, late in counts))
PYTHON
}

test_queues() {
  local port
  need iperf3
  make_nodes a b
  sed -i 's/lan = {/lan = { queues = 4,/' "$work/lan.toml"
  spawn lab "$weft" up "$work/lan.toml"
  await_peers 2
  give_addresses
  port=$(free_port)
  spawn_at server b iperf3 -s -p "$port"
  await_listener server "$port" "${keeper_of[b]}"
  run_at tcp a iperf3 -c 192.0.2.2 -p "$port" -t2 -P8 --bidir
  expect tcp 'SUM.*receiver'
  # Of each interface, several queues have had many frames both ways.
  run queues "$weft" lan show --json
  [[ $(lan_is "all(sum(queue[way] > 100 for queue in each['by_queue']) > 1
    for each in interfaces for way in ('from_host', 'to_host'))") == True ]] ||
    fail "not several queues have had frames"
  run_at udp a iperf3 -c 192.0.2.2 -p "$port" -t1 -P4 -u -b 20M -J
  in_order udp || fail "datagrams of a flow have come out of order"
  run_at back a iperf3 -c 192.0.2.2 -p "$port" -t1 -P4 -u -b 20M -J -R
  in_order back || fail "datagrams of a flow have come back out of order"
  stop server
}

# LIDs of the ports, "a=1 b=2".
lids() { lan_is "' '.join(each['node'] + '=' + str(each['lid']) for each in interfaces)"; }

# OpenSM gives all ports other LIDs (-r), first one each, then four.
test_lids() {
  local lmc before
  need opensm
  make_nodes a b c
  printf '[node.m]\nlan = false\n[[link]]\nends = ["m", "s"]\n' >>"$work/lan.toml"
  begin_lab
  manage
  await_peers 3
  give_addresses
  ping_on pings a 192.0.2.2
  ping_on pings6 b 2001:db8::3
  answered pings 5
  answered pings6 5
  for lmc in 0 2; do
    before=$(lids)
    without_manager
    echo "$before"
    manage_opensm -r -l "$lmc"
    await_lan "all(each['lmc'] == $lmc for each in interfaces)"
    await_peers 3
    answered pings 10
    answered pings6 10
    [[ $(lids) != "$before" ]] || fail "the LIDs are the same: $before"
    [[ $(lan_is "all(int(each['mac'].replace(':', '')[-4:], 16) == each['lid'] for each in
      interfaces)") == True ]] || fail "addresses do not follow the LIDs"
    at_node b ip link show dev lan1 | grep -q "$(lan_is "interfaces[1]['mac']")" ||
      fail "the interface's address is another one"
    # With what OpenSM takes to begin.
    paused pings 200
    paused pings6 200
  done
  stop pings INT
  stop pings6 INT
}
manage_opensm() {
  spawn sm "$weft" run --node m -- opensm -f "$work/opensm.log" "$@"
}

test_opensm() {
  need opensm
  make_nodes a b c
  printf '[node.m]\nlan = false\n[[link]]\nends = ["m", "s"]\n' >>"$work/lan.toml"
  begin_lab
  manage_opensm
  await_peers 3
  give_addresses
  pings_across a 192.0.2.2 192.0.2.3 2001:db8::2
  pings_across c 192.0.2.1 2001:db8::2
  for node in b c; do
    at_node "$node" sh -c 'echo 0 >/proc/sys/net/ipv4/icmp_echo_ignore_broadcasts'
  done
  run_at to-all a ping -b -c3 -i0.2 -W2 192.0.2.255
  expect to-all 'bytes from 192.0.2.2'
  expect to-all 'bytes from 192.0.2.3'
  # Once all are in the group of the fabric, one packet does.
  for ((tries = 0; tries < 60; tries++)); do
    run_at to-group a ping -b -c1 -W2 192.0.2.255
    [[ $(lan_is "interfaces[0]['frames'].get('tx_by_group', 0) > 0") != True ]] || break
    sleep 0.1
  done
  expect to-group 'bytes from'
  [[ $(lan_is "interfaces[0]['frames'].get('tx_by_group', 0) > 0") == True ]] ||
    fail "nothing was sent by the group of the fabric"
  # A cable is pulled and put back.
  run pull "$weft" link b:1 down
  await_lan "[each['state'] for each in interfaces] == ['up', 'down', 'up'] and
    interfaces[0]['peer_count'] == 1"
  run plug "$weft" link b:1 up
  await_peers 3
  pings_across a 192.0.2.2
}

# Nobody answers, and all goes on; who is new is known as soon as somebody answers again.
test_silent() {
  make_nodes a b c
  printf '[node.m]\nlan = false\n[[link]]\nends = ["m", "s"]\n' >>"$work/lan.toml"
  sed -i 's/^\[node.c\]$/&\nlan = false/' "$work/lan.toml"
  managed
  await_lan "[each['peer_count'] for each in interfaces] == [1, 1]"
  give_address a lan1 192.0.2.1
  give_address b lan1 192.0.2.2
  at_node a ip address add 2001:db8::1/64 dev lan1 nodad
  at_node b ip address add 2001:db8::2/64 dev lan1 nodad
  ping_on pings a 192.0.2.2
  answered pings 3
  without_manager
  spawn_at fresh b ping -D -O -i0.1 -W1 2001:db8::1
  answered fresh 20
  spawn up "$weft" lan up c --netns "$work/net/c" --name lan1
  finish up
  answered pings 10
  [[ $(lan_is "[each['peer_count'] for each in interfaces]") == '[1, 1, 0]' ]] ||
    fail "c is known, or knows others"
  manage
  await_peers 3
  at_node c ip address add 192.0.2.3/24 dev lan1
  pings_across c 192.0.2.1 192.0.2.2
  stop pings INT
  stop fresh INT
  paused pings 30
}

# Each pair of ports has the smaller of their MTUs; the group of the fabric has that of all.
test_mtus() {
  local size
  make_nodes a b c
  sed -i -e 's/lan = {/lan = { mtu = 9000,/' -e 's/^\[node.a\]$/&\nmtu = 256/' \
    -e 's/^\[node.c\]$/&\nmtu = 1024/' "$work/lan.toml"
  spawn lab "$weft" up "$work/lan.toml"
  await_peers 3
  give_addresses
  [[ $(lan_is "[[peer['path']['mtu'] for peer in sorted(each['peers'], key=lambda peer:
    peer['node'])] for each in interfaces]") == '[[256, 256], [256, 1024], [256, 1024]]' ]] ||
    fail "the paths have other MTUs"
  for size in 56 1472 8972; do
    run_at "ping-$size" a ping -c2 -i0.1 -W2 -M "do" -s "$size" 192.0.2.2
    run_at "ping6-$size" b ping -c2 -i0.1 -W2 -s "$((size - 20))" 2001:db8::3
    run_at "back-$size" c ping -c2 -i0.1 -W2 -M "do" -s "$size" 192.0.2.1
  done
  at_node b sh -c 'echo 0 >/proc/sys/net/ipv4/icmp_echo_ignore_broadcasts'
  for ((tries = 0; tries < 60; tries++)); do
    run_at to-group c ping -b -c1 -W2 -s 8000 192.0.2.255
    [[ $(lan_is "interfaces[2]['frames'].get('tx_by_group', 0) > 0") != True ]] || break
    sleep 0.1
  done
  expect to-group '^8008 bytes from 192.0.2.2'
  run report "$weft" lan
}

case $what in
  paths-*) test_paths "${what#paths-}" ;;
  *) "test_$what" ;;
esac
run end "$weft" down
finish lab
