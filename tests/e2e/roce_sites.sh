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
# shellcheck source=tests/e2e/lab_lib.sh
source "$source_tree/tests/e2e/lab_lib.sh"
# shellcheck source=tests/e2e/sites_lib.sh
source "$source_tree/tests/e2e/sites_lib.sh"

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

counted() { site_report "$1" "extender['roce']['counters'].get('$2', 0)"; }
have_sites roce- west east
example_sites roce
sed -i "s|\"eth1\"|\"edge-west\"|" "$work/west.toml"
sed -i "s|\"eth1\"|\"$hosts\"|" "$work/east.toml"
for site in "${sites[@]}"; do
  spawn "$site" "$weft" extend "$work/$site.toml"
  await "$site" "^lab roce-$site"
done
[[ $1 == veth ]] || ip link set wan-east master bridge-east
await_up
[[ $(site_report west "remote['sealed']") == True ]] || fail "it is not sealed"

# A lab without a fabric is not spoken of as if it had one.
run check "$weft" lab check "$work/west.toml"
expect check ': 1 RoCE extenders$'
expect west '^lab roce-west: 1 RoCE extenders$'
expect west '^  hosts with RoCE    on edge-west, by roce-west$'
! grep -E 'subnet manager|ibnetdiscover' "$work/west.out" || fail "there is no fabric to manage"

# shellcheck disable=SC2034  # lib.sh reads them
server_at=$east client_at=$west server_device=weft_veth0 client_device=weft_veth0
# shellcheck disable=SC2034
server_with=(--wire roce) client_with=(--wire roce)
# The programs' own connections are TCP, which does not cross; so each says where both are.
at_east=(nsenter "--net=/proc/$east/ns/net" -- "$weft" run --wire roce)
for address in 10.79.0.2 fd79::2; do
  spawn server "${at_east[@]}" -- rping -s -a "$address" -C 20 -v
  await_identifier '' "$east"
  spawn client nsenter "--net=/proc/$west/ns/net" -- "$weft" run --wire roce -- \
    rping -c -a "$address" -C 20 -v
  finish_rping client
  finish_rping server
  grep -q 'rdma-ping-19' "$work/client.out" || fail "rping to $address said less than 20 pings"
done
spawn server "${at_east[@]}" -- ib_write_bw -R -F -s 65536 -n 500 -p 7000
await_identifier '' "$east"
spawn client nsenter "--net=/proc/$west/ns/net" -- "$weft" run --wire roce -- \
  ib_write_bw -R -F -s 65536 -n 500 -p 7000 10.79.0.2
finish client
finish server
echo "ib_write_bw from host to host: $(perftest_row client)"

run status "$weft" status --lab roce-west
expect status '^lab roce-west: pid [0-9]+ extenders 1$'
expect status '^    RoCE to east \(.*\): up, sealed with'
expect status '^    hosts on edge-west: [1-9][0-9]* known$'

[[ $(counted west roce_out) -gt 500 ]] || fail "the packets went another way"
[[ $(counted west resolution) -gt 1 ]] || fail "no host has asked for an address"
for site in west east; do
  for reason in malformed no_credit no_memory looped foreign_host interface_refused; do
    [[ $(counted "$site" "$reason") == 0 ]] || fail "site $site counts $reason"
  done
done
# What is not RoCE stays where it is.
! in_namespace "$west" ping -c 2 -i 0.2 -W 1 10.79.0.2 >/dev/null ||
  fail "ICMP crossed, which is not RoCE's"
stop west
stop east
