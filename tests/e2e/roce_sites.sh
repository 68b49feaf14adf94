#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: roce_sites.sh veth|tap: hosts with RoCE on the Ethernets of two sites, in one subnet, and
# an extender at each site that carries what they say to each other, sealed. The Ethernets end at
# an interface of the extender's machine, or (tap) one of them at a TAP interface that it makes, on
# a bridge.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
need ib_write_bw rping ping ethtool unshare nsenter python3
private_network "$0" "$@"
begin
export XDG_STATE_HOME=$work/state

west='' east=''
new_namespace west
new_namespace east
here=$$
join "$west" veth0 '10.79.0.1/24 fd79::1/64' "$here" edge-west 169.254.1.1/32 4200
if [[ $1 == veth ]]; then
  join "$east" veth0 '10.79.0.2/24 fd79::2/64' "$here" edge-east 169.254.1.2/32 4200
  hosts=edge-east
else
  [[ -c /dev/net/tun ]] || skip "/dev/net/tun is missing"
  join "$east" veth0 '10.79.0.2/24 fd79::2/64' "$here" switch-east 169.254.1.2/32 1500
  ip link add bridge-east type bridge
  ip link set bridge-east up
  ip link set switch-east master bridge-east
  in_namespace "$west" ip link set veth0 mtu 1500
  hosts=tap:wan-east
fi

# What leaves a host is what would be on a wire.
for host in "$west" "$east"; do
  in_namespace "$host" ethtool -K veth0 tx off gso off >/dev/null
done

site() { # NAME INTERFACE PORT OTHER OTHER_PORT: its lab file, from the example
  sed "s|\"eth1\"|\"$2\"|; s|^key = .*|key = \"$work/$1.key\"|
    s|^listen = .*|listen = \"127.0.0.1:$3\"|; s|^address = .*|address = \"127.0.0.1:$5\"|
    s|^fingerprint = .*|fingerprint = \"$work/$4.pub\"|" \
    "$source_tree/examples/labs/roce-$1.toml" >"$work/roce-$1.toml"
}
report() { # SITE EXPRESSION
  "$weft" status --json | python3 -c "
import json, sys
for lab in json.load(sys.stdin)['labs']:
    if lab['name'] == 'roce-$1':
        extender = lab['extenders'][0]
        remote = extender['remotes'][0]
        counters = extender['roce']['counters']
        print($2)"
}
for name in west east; do
  "$weft" extend keygen "$work/$name.key" >"$work/$name.pub"
done
west_port=$(free_port) east_port=$(free_port)
site west edge-west "$west_port" east "$east_port"
site east "$hosts" "$east_port" west "$west_port"
for name in west east; do
  spawn "$name" "$weft" extend "$work/roce-$name.toml"
  await "$name" "^lab roce-$name"
done
[[ $1 == veth ]] || ip link set wan-east master bridge-east
for ((tries = 0; tries < 300; tries++)); do
  [[ "$(report west "remote['active']")$(report east "remote['active']")" != TrueTrue ]] || break
  sleep 0.1
done
[[ $(report west "remote['sealed']") == True ]] || fail "it is not sealed"

# shellcheck disable=SC2034  # lib.sh reads them
server_at=$east client_at=$west server_device=weft_veth0 client_device=weft_veth0
# shellcheck disable=SC2034
server_with=(--wire roce) client_with=(--wire roce)
# The programs' own connections are TCP, which does not cross; so each says where both are.
words=(nsenter "--net=/proc/$east/ns/net" -- "$weft" run --wire roce)
for address in 10.79.0.2 fd79::2; do
  spawn server "${words[@]}" -- rping -s -a "$address" -C 20 -v
  await_identifier '' "$east"
  spawn client nsenter "--net=/proc/$west/ns/net" -- "$weft" run --wire roce -- \
    rping -c -a "$address" -C 20 -v
  finish_rping client
  finish_rping server
  grep -q 'rdma-ping-19' "$work/client.out" || fail "rping to $address said less than 20 pings"
done
spawn server "${words[@]}" -- ib_write_bw -R -F -s 65536 -n 500 -p 7000
await_identifier '' "$east"
spawn client nsenter "--net=/proc/$west/ns/net" -- "$weft" run --wire roce -- \
  ib_write_bw -R -F -s 65536 -n 500 -p 7000 10.79.0.2
finish client
finish server
echo "ib_write_bw from host to host: $(perftest_row client)"

[[ $(report west "counters['roce_out']") -gt 500 ]] || fail "the packets went another way"
[[ $(report west "counters['resolution']") -gt 1 ]] || fail "no host has asked for an address"
for site in west east; do
  for reason in malformed no_credit no_memory looped foreign_host interface_refused; do
    [[ $(report "$site" "counters.get('$reason', 0)") == 0 ]] || fail "site $site counts $reason"
  done
done
# What is not RoCE stays where it is.
! in_namespace "$west" ping -c 2 -i 0.2 -W 1 10.79.0.2 >/dev/null ||
  fail "ICMP crossed, which is not RoCE's"
stop west
stop east
