#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The kernel's bonding and VLAN interfaces on top of a LAN, run in a guest: two nodes with an
# adapter of two ports, and one with two adapters, each on both switches. Ports are pulled one after
# the other while streams of TCP go on.
. "$(dirname "$0")/lib.sh"

cat >"$work/lab.toml" <<'LAB'
name = "bonds"
lan = { netns = "{node}" }
[switch.s1]
[switch.s2]
[node.a]
ports = 2
[node.b]
ports = 2
[node.c1]
lan = { netns = "c", name = "lan1" }
[node.c2]
lan = { netns = "c", name = "lan2" }
[[link]]
ends = ["s1", "s2"]
[[link]]
ends = ["a:1", "s1"]
[[link]]
ends = ["a:2", "s2"]
[[link]]
ends = ["b:1", "s1"]
[[link]]
ends = ["b:2", "s2"]
[[link]]
ends = ["c1", "s1"]
[[link]]
ends = ["c2", "s2"]
LAB

# bond NODE ADDRESS OPTION ...: bond0 over lan1 and lan2, with an address of IPv4.
bond() {
  node=$1 address=$2
  shift 2
  ip -n "$node" link add bond0 "$@"
  for port in lan1 lan2; do
    ip -n "$node" link set "$port" down
    ip -n "$node" link set "$port" master bond0
  done
  ip -n "$node" link set bond0 up
  ip -n "$node" address add "$address/24" dev bond0
}

# vlan NODE INTERFACE NUMBER ADDRESS
vlan() {
  ip -n "$1" link add link "$2" name "$2.$3" type vlan id "$3"
  ip -n "$1" link set "$2.$3" up
  ip -n "$1" address add "$4/24" dev "$2.$3"
}

# of_bond NODE FIELD: what the kernel says of it.
of_bond() { at "$1" sed -n "s/^$2: //p" /proc/net/bonding/bond0; }
active_is() { [ "$(of_bond "$1" 'Currently Active Slave')" = "$2" ]; }
both_are_up() { [ "$(of_bond "$1" 'MII Status' | tr '\n' ' ')" = 'up up up ' ]; }

# packets NODE INTERFACE: how many came, and how many were sent.
packets() { at "$1" sed -n "s/^ *$2: *//p" /proc/net/dev | awk '{ print $2, $10 }'; }

say "the lab begins"
start_lab "$work/lab.toml" a b c
modprobe -a tun 8021q
modprobe bonding max_bonds=0
await all_up 6

say "VLAN interfaces on interfaces of the LAN"
vlan a lan1 5 203.0.113.1
vlan b lan1 5 203.0.113.2
await pings a 203.0.113.2
for node in a b; do ip -n "$node" link del lan1.5; done

say "bonds: active-backup by the ports' addresses, balance-xor and active-backup by their own"
bond a 192.0.2.1 type bond mode active-backup fail_over_mac active miimon 50
bond b 192.0.2.2 address 02:00:00:00:00:0b type bond mode balance-xor miimon 50 \
  xmit_hash_policy layer2+3
bond c 192.0.2.3 address 02:00:00:00:00:0c type bond mode active-backup miimon 50
vlan a bond0 7 198.51.100.1
vlan b bond0 7 198.51.100.2
for pair in 'a 192.0.2.2' 'b 192.0.2.1' 'c 192.0.2.2' 'b 192.0.2.3' 'c 192.0.2.1' \
  'a 198.51.100.2' 'b 198.51.100.1'; do
  # shellcheck disable=SC2086
  await pings $pair
done

say "the hash spreads, that of the kernel and that of the LAN"
first=$(packets b lan1) second=$(packets b lan2)
for n in $(seq 101 116); do ip -n a address add "192.0.2.$n/24" dev bond0; done
for n in $(seq 101 116); do
  at b ping -c1 -W2 "192.0.2.$n" >"$work/ping.out" || fail "192.0.2.$n does not answer"
done
for port in lan1 lan2; do
  before=$first
  [ $port = lan1 ] || before=$second
  now=$(packets b $port)
  came=$((${now% *} - ${before% *})) sent=$((${now#* } - ${before#* }))
  say "b $port: $came packets came, $sent were sent"
  [ $came -ge 3 ] && [ $sent -ge 3 ] || fail "$port has not had its share of 16 flows"
done

say "a broadcast comes to each bond once, and never back"
for node in a b c; do at $node sysctl -qw net.ipv4.icmp_echo_ignore_broadcasts=0; done
for node in a b c; do
  at $node ping -w1 192.0.2.255 >"$work/broadcast.out" || :
  [ "$(grep -c 'bytes from .* seq=0 ' "$work/broadcast.out")" = 3 ] ||
    fail "other than one answer of each node, $node among them"
done

# Streams to and from b, through its bond and through a VLAN interface on it, until $work/enough.
stream() { # NAME FROM TO ADDRESS PORT
  # It would hang up at once if it had nothing to read.
  tail -f /dev/null | at "$3" nc -l -p "$5" >"$work/$1.come" &
  await listens "$3" "$5"
  at "$2" sh -c "
    while [ ! -e $work/enough ]; do
      head -c 50000 /dev/urandom | tee -a $work/$1.sent
      usleep 20000
    done | nc $4 $5" &
}
listens() { at "$1" grep -q "$(printf ':%04X .* 0A ' "$2")" /proc/net/tcp /proc/net/tcp6; }
size() { stat -c %s "$work/$1.come"; }
# go_on: each stream has had 200 kB more.
has_grown() { [ "$(size "$1")" -ge "$2" ]; }
go_on() {
  for each in there back; do
    await has_grown $each $(($(size $each) + 200000))
  done
}
# pull PORT, put_back PORT NODE
pull() {
  say "$1 is pulled"
  weft link "$1" down >/dev/null
}
put_back() {
  weft link "$1" up >/dev/null
  await all_up 6
  await both_are_up "$2"
}

say "streams"
stream there a b 198.51.100.2 7001
stream back b c 192.0.2.3 7002
go_on
active=$(of_bond a 'Currently Active Slave')
pull "a:${active#lan}"
[ "$active" = lan1 ] && await active_is a lan2 || await active_is a lan1
go_on
put_back "a:${active#lan}" a
for port in 1 2; do
  pull "b:$port"
  go_on
  put_back "b:$port" b
done
active=$(of_bond c 'Currently Active Slave')
pull "c${active#lan}:1"
[ "$active" = lan1 ] && await active_is c lan2 || await active_is c lan1
go_on
await pings a 192.0.2.3
put_back "c${active#lan}:1" c
touch "$work/enough"
for each in there back; do
  same() { [ "$(sha256sum <"$work/$each.come")" = "$(sha256sum <"$work/$each.sent")" ]; }
  await same
  say "stream $each: $(size $each) bytes with the right checksum"
done
weft lan
weft down >/dev/null
say "all is well"
