# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2154  # lib.sh and lab_lib.sh have the names
# What tests of Ethernet over the fabric share; sourced first of all, never run. The arguments are
# the test's own, of which the first one is $what. Each node has a network namespace, which
# $work/net/NODE leads to, and in it the interface lan1.

# shellcheck source=tests/e2e/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
need ip nsenter unshare python3 ping
# shellcheck disable=SC2034  # the test reads it
what=$1
private_network "$0" "$@"
begin
# shellcheck source=tests/e2e/lab_lib.sh
source "$source_tree/tests/e2e/lab_lib.sh"

declare -A keeper_of=()

make_namespaces() { # NODE ...
  local node
  mkdir "$work/net"
  for node; do
    new_namespace "keeper_of[$node]" || fail "no namespace for $node"
    ln -s "/proc/${keeper_of[$node]}/ns/net" "$work/net/$node"
  done
}
# make_nodes NODE ...: their namespaces, and a lab file $work/lan.toml in which a switch joins them.
make_nodes() {
  local node
  make_namespaces "$@"
  printf 'name = "lan"\nlan = { netns = "%s/net/{node}" }\n[switch.s]\n' "$work" >"$work/lan.toml"
  for node; do
    printf '[node.%s]\n[[link]]\nends = ["%s", "s"]\n' "$node" "$node" >>"$work/lan.toml"
  done
}

# at_node NODE COMMAND ...
at_node() { in_namespace "${keeper_of[$1]}" "${@:2}"; }
# spawn_at NAME NODE COMMAND ..., run_at NAME NODE COMMAND ...: as spawn and run.
spawn_at() { spawn "$1" nsenter "--net=/proc/${keeper_of[$2]}/ns/net" -- "${@:3}"; }
run_at() { spawn_at "$@"; finish "$1"; }

# lan_is EXPRESSION: of `interfaces`, what weft lan arp says of each.
lan_is() {
  "$weft" lan arp --json 2>/dev/null | python3 -c "
import json, sys
interfaces = json.loads(sys.stdin.read() or '{}').get('interfaces', [])
print($1)"
}

# await_lan EXPRESSION [TRIES]: until that is so.
await_lan() {
  local tries
  for ((tries = 0; tries < ${2:-150}; tries++)); do
    [[ $(lan_is "$1") != True ]] || return 0
    kill -0 "${pid_of[lab]}" 2>/dev/null || fail "the lab ended"
    sleep 0.02
  done
  "$weft" lan >"$work/lan.out" 2>&1 || :
  fail "this is not so of the LAN: $1"
}

# await_peers COUNT: until so many interfaces are up, and each knows all others.
await_peers() {
  await_lan "[each['state'] for each in interfaces] == ['up'] * $1 and
    all(each['peer_count'] == $1 - 1 for each in interfaces)"
}

# give_addresses: 192.0.2.N/24 and 2001:db8::N/64 to lan1 of the Nth node, in the order of names.
give_addresses() {
  local node n=0
  for node in $(printf '%s\n' "${!keeper_of[@]}" | sort); do
    n=$((n + 1))
    at_node "$node" ip address add "192.0.2.$n/24" dev lan1
    at_node "$node" ip address add "2001:db8::$n/64" dev lan1 nodad
  done
}

# start_lan NODE ...: a lab of them, whose LAN is up.
start_lan() {
  make_nodes "$@"
  spawn lab "$weft" up "$work/lan.toml"
  await_peers $#
  give_addresses
}

# serve_addresses NODE: which gives others IPv4 addresses by DHCP, 192.0.2.100 to .110, and tells
# them the prefix 2001:db8::/64 by router advertisements, from now on.
serve_addresses() {
  spawn_at dnsmasq "$1" dnsmasq --no-daemon --conf-file=/dev/null --interface=lan1 --port=0 \
    --bind-interfaces --dhcp-range=192.0.2.100,192.0.2.110,1h \
    --dhcp-range=2001:db8::,ra-only --enable-ra --log-dhcp --user=root --group=root \
    --dhcp-leasefile="$work/leases" --pid-file=
  await dnsmasq 'router advertisement on'
}
# take_addresses NODE: which gives up those that it has, and gets others from who serves them.
take_addresses() {
  local tries
  at_node "$1" ip address flush dev lan1 scope global
  printf '#!/bin/sh\n[ "$1" != bound ] || ip address add "$ip/24" dev "$interface"\n' \
    >"$work/bound"
  chmod +x "$work/bound"
  run_at udhcpc "$1" busybox udhcpc -i lan1 -n -q -f -s "$work/bound" -t5 -T1
  expect udhcpc 'lease of 192\.0\.2\.1(0[0-9]|10) obtained'
  for ((tries = 0; tries < 200; tries++)); do
    [[ -z $(at_node "$1" ip -6 address show dev lan1 scope global dynamic) ]] || return 0
    sleep 0.05
  done
  fail "$1 has no address by router advertisement"
}
