#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# path_mtu.sh silent|told 4|6: the hosts have links of 9000 bytes, so that packets carry 4096, and
# behind the router is one of 1500. The router says so, or drops what is too long without a word
# (RFC 2923): connections survive the first over IPv4 and IPv6, the second over IPv4.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
need ib_write_bw ib_read_bw ss ip unshare nsenter
private_network "$0" "$@"
begin
router_is=${1:-silent} family=${2:-4}

left='' router='' right=''
new_namespace left
new_namespace router
new_namespace right
join "$left" veth0 '10.79.1.2/24 fd79:1::2/64' "$router" veth1 '10.79.1.1/24 fd79:1::1/64' 9000
join "$right" veth0 '10.79.2.2/24 fd79:2::2/64' "$router" veth2 '10.79.2.1/24 fd79:2::1/64' 9000
in_namespace "$left" ip route add default via 10.79.1.1
in_namespace "$left" ip -6 route add default via fd79:1::1
in_namespace "$right" ip route add default via 10.79.2.1
in_namespace "$right" ip -6 route add default via fd79:2::1
in_namespace "$router" sh -c 'cd /proc/sys/net && echo 1 >ipv4/ip_forward &&
  echo 1 >ipv6/conf/all/forwarding' || skip "routing cannot be switched on here"
in_namespace "$router" ip link set veth2 mtu 1500
# What the router itself has to say finds no way.
if [[ $router_is == silent ]]; then
  in_namespace "$router" ip rule add iif lo to 10.79.1.0/24 blackhole ||
    skip "no routing rules here"
  in_namespace "$router" ip -6 rule add iif lo to fd79:1::/64 blackhole
fi

# The programs find each other by IPv4; the GID says what the packets take.
index=0
[[ $family == 4 ]] || index=1
# shellcheck disable=SC2034  # lib.sh reads them
server_device=weft_veth0 client_device=weft_veth0 client_with=(--stats) server_with=(--stats)
options=(-x "$index" -F -m 4096 -s 65536 -n 50)

# Written from the left to the right.
server_at=$right client_at=$left
pair 10.79.2.2 -- ib_write_bw "${options[@]}"
expect client ' udp_tx_fragmenting '
echo "ib_write_bw over a $router_is bottleneck: $(perftest_row client)"

# Read from there: the long packets go the same way.
# shellcheck disable=SC2034
server_at=$left client_at=$right
pair 10.79.1.2 -- ib_read_bw "${options[@]}"
expect server ' udp_tx_fragmenting '
echo "ib_read_bw over a $router_is bottleneck: $(perftest_row client)"
