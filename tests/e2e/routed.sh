#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# UDP is routable: two namespaces that only a third one, which routes, connects. Not with
# ibv_ud_pingpong: it asks for a hop limit of 1.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
need ib_send_lat ib_send_bw ss ip unshare nsenter
private_network "$0" "$@"
begin

left='' router='' right=''
new_namespace left
new_namespace router
new_namespace right
join "$left" veth0 10.78.1.2/24 "$router" veth1 10.78.1.1/24
join "$right" veth0 10.78.2.2/24 "$router" veth2 10.78.2.1/24
in_namespace "$left" ip route add default via 10.78.1.1
in_namespace "$right" ip route add default via 10.78.2.1
in_namespace "$router" sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward' ||
  skip "routing cannot be switched on here"
# shellcheck disable=SC2034  # lib.sh reads them
server_at=$right client_at=$left server_device=weft_veth0 client_device=weft_veth0

forwarded() { in_namespace "$router" awk '/^Ip: [0-9]/ { print $7 }' /proc/net/snmp; }
before=$(forwarded)
pair 10.78.2.2 -- ib_send_lat -c UD -x 0 -F -s 64 -n 200
# 200 there, 200 back; fewer would mean another way was found.
[[ $(($(forwarded) - before)) -ge 400 ]] || fail "the router forwarded too little"

pair 10.78.2.2 -- ib_send_bw -c UD -x 0 -F -s 1024 -n 2000
echo "ib_send_bw across a router: $(perftest_row client)"
