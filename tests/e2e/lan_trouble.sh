#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lan_trouble.sh WHAT: Ethernet over a fabric of which some of the processes that run it are
# killed. Nodes a and b have two ways to each other, by the switches left and right, each a part of
# the lab; node c is another part. WHAT is one of
#   switches  one of the two, then the other one; what a user of the LAN sees of it
#   node      c, with its interface
set -euo pipefail
# shellcheck disable=SC2034  # lib.sh reads it
time_limit=150
source "$(dirname "$0")/lan_lib.sh"

make_nodes a b c
cat >"$work/lan.toml" <<END
name = "lan"
lan = { netns = "$work/net/{node}" }
[part]
lab = {}
left = {}
right = {}
far = {}
[switch]
s1 = { ports = 8 }
s2 = { ports = 8 }
left = { ports = 4, part = "left" }
right = { ports = 4, part = "right" }
[node.a]
[node.b]
[node.c]
part = "far"
[[link]]
ends = ["a", "s1"]
[[link]]
ends = ["b", "s2"]
[[link]]
ends = ["c", "s1"]
[[link]]
ends = ["s1", "left"]
[[link]]
ends = ["s2", "left"]
[[link]]
ends = ["s1", "right"]
[[link]]
ends = ["s2", "right"]
END

start_part() {
  spawn "$1" "$weft" up --part "$1" "$work/lan.toml"
  await "$1" "^lab lan@$1: "
}
# cut_off PART: as by power that fails, with all that runs it.
cut_off() {
  kill -KILL -- "-${pid_of[$1]}"
  wait "${pid_of[$1]}" || :
  unset "pid_of[$1]"
}
# knows NODE NODE True|False: whether the one has the other as a peer.
await_knows() {
  await_lan "any(peer.get('node') == '$2' for each in interfaces if each['node'] == '$1'
    for peer in each['peers']) == $3"
}
# pings COUNT: starts ping from a to b, ten each second.
pings() { spawn_at pings a ping -D -i0.1 -W1 -c "$1" 192.0.2.2; }
# longest_gap: between answers to it, in s.
longest_gap() {
  sed -nE 's/^\[([0-9.]+)\] .* bytes from .*/\1/p' "$work/pings.out" |
    awk 'NR > 1 && $1 - last > most { most = $1 - last } { last = $1 } END { print most }'
}
# unreachable FROM ADDRESS: as any host is that does not answer. What the kernel knows of it, it
# would believe for half a minute more.
unreachable() {
  at_node "$1" ip neigh flush dev lan1
  spawn_at gone "$1" ping -c5 -W4 "$2"
  finish gone 1
  expect gone 'Destination Host Unreachable'
  [[ $(at_node "$1" ip neigh show "$2") == *FAILED* ]] || fail "$2 has not failed at $1"
}
# await_ways COUNT: until so many links between switches are Active.
await_ways() {
  local tries
  for ((tries = 0; tries < 200; tries++)); do
    [[ $(of_lab "sum(each['links']['states'].get('Active', 0) for each in lab
      if each['part'] in ('left', 'right'))") != "$1" ]] || return 0
    sleep 0.05
  done
  fail "not $1 links between switches are up"
}
carriers() {
  local node
  for node; do
    [[ $(at_node "$node" ip link show dev lan1) == *LOWER_UP* ]] || fail "$node has no carrier"
  done
}

for part in lab left right far; do start_part "$part"; done
await_peers 3
give_addresses
run_at ping a ping -c2 -i0.1 -W2 192.0.2.2
run_at ping a ping -c2 -i0.1 -W2 192.0.2.3

# The one that is on the way, and the other one, with another way left; then both.
test_switches() {
  local part gap
  for part in left right; do
    pings 50
    await pings 'icmp_seq=10 '
    cut_off "$part"
    finish pings
    gap=$(longest_gap)
    echo "without $part nothing came for $gap s"
    ! is_above "$gap" 3 || fail "nothing came for $gap s though there is another way"
    carriers a b c
    start_part "$part"
    run_at ping a ping -c2 -i0.1 -W2 192.0.2.2
    await_ways 4
  done
  cut_off left
  cut_off right
  await_knows a b False

  carriers a b c
  unreachable a 192.0.2.2
  unreachable b 192.0.2.1
  run_at near a ping -c3 -i0.1 -W2 192.0.2.3
  expect near ' 0% packet loss'
  run arp "$weft" lan arp a
  refuse arp ' b:1 '
  expect arp ' c:1 '
  start_part right
  await_knows a b True

  run_at back a ping -c3 -i0.2 -W2 192.0.2.2
  start_part left
}

test_node() {
  cut_off far
  [[ -z $(at_node c ip link show dev lan1 2>/dev/null) ]] || fail "c has its interface still"
  await_knows a c False
  carriers a b
  unreachable a 192.0.2.3
  run_at others a ping -c3 -i0.1 -W2 192.0.2.2
  expect others ' 0% packet loss'
  run arp "$weft" lan arp a
  refuse arp ' c:1 '
  start_part far
  await_peers 3
  at_node c ip address add 192.0.2.3/24 dev lan1
  run_at back a ping -c3 -i0.2 -W2 192.0.2.3
}

"test_$what"
run end "$weft" down
for part in lab left right far; do finish "$part"; done
