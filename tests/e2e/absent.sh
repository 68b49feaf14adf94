#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# absent.sh WIRE: a connection to a host that runs no host agent, or to an address that no host has,
# is found to be in vain when the network says so: long before the retries are used up, which takes
# more than a minute.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
need rping unshare nsenter ping
private_network "$0" "$@"
begin
wire=${1:-udp}

left='' right=''
new_namespace left
new_namespace right
join "$left" veth0 10.79.0.1/24 "$right" veth0 10.79.0.2/24
in_namespace "$left" ping -c 1 -W 10 10.79.0.2 >/dev/null

soon=30
for address in 10.79.0.2 10.79.0.77; do
  began=$SECONDS
  spawn client nsenter "--net=/proc/$left/ns/net" -- "$weft" run --wire "$wire" -- \
    rping -c -a "$address" -C 1
  finish client 255
  expect client 'RDMA_CM_EVENT_UNREACHABLE'
  [[ $((SECONDS - began)) -lt $soon ]] || fail "$address: took $((SECONDS - began)) s"
  echo "$address: $((SECONDS - began)) s"
done
run status "$weft" status
expect status 'cm_undelivered 2'
kill "$(sed -n 's/^agent \([0-9]*\):.*/\1/p' "$work/status.out")"
