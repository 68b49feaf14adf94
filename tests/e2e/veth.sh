#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: veth.sh 4|6: two network namespaces joined by a link with the stock MTU of 1500 bytes, over
# IPv4 or IPv6. The device tells the MTU that fits, the programs run, what does not fit is refused.
# Packets of RC, and no others, are capable of ECN: who could not give way says nothing of it.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
need ibv_devinfo ibv_ud_pingpong ib_send_bw ib_send_lat ib_write_bw ss ip unshare nsenter
private_network "$0" "$@"
begin

left='' right=''
new_namespace left
new_namespace right
# The programs exchange their addresses over IPv4 in any case.
join "$left" veth0 '10.77.0.1/24 fd77::1/64' "$right" veth0 '10.77.0.2/24 fd77::2/64'
there=10.77.0.2
# shellcheck disable=SC2034  # lib.sh reads them
server_at=$right client_at=$left server_device=weft_veth0 client_device=weft_veth0

run devinfo nsenter "--net=/proc/$left/ns/net" -- "$weft" run -- ibv_devinfo -v -d weft_veth0
expect devinfo 'state:[[:space:]]*PORT_ACTIVE'
expect devinfo 'active_mtu:[[:space:]]*1024' "4096 does not fit into 1500"

index=0
if [[ $1 == 6 ]]; then
  index=$(sed -n 's/.*GID\[ *\([0-9]*\)\]:.*fd77::1.*/\1/p' "$work/devinfo.out" | head -n 1)
  [[ -n $index ]] || fail "the address is not in the GID table"
fi

pair "$there" -- ibv_ud_pingpong -g "$index" -s 1024 -n 200
expect client '^200 iters in .* seconds'

options=(-c UD -x "$index" -F)
pair "$there" -- ib_send_bw "${options[@]}" -s 1024 -n 2000
echo "ib_send_bw over veth, IPv$1: $(perftest_row client)"
pair "$there" -- ib_send_lat "${options[@]}" -s 64 -n 500
echo "ib_send_lat over veth, IPv$1: $(perftest_row client)"

# capable: packets that have come to the server's host as ECT(0), as its kernel counts them.
capable() {
  if [[ $1 == 6 ]]; then
    in_namespace "$right" awk '$1 == "Ip6InECT0Pkts" { print $2 }' /proc/net/snmp6
  else
    in_namespace "$right" awk '/^IpExt:/ && !names { names = split($0, name); next }
      /^IpExt:/ { for (i = 1; i <= NF; ++i) if (name[i] == "InECT0Pkts") print $i }' \
      /proc/net/netstat
  fi
}
[[ $(capable "$1") -eq 0 ]] || fail "$(capable "$1") datagrams said that they are capable of ECN"
pair "$there" -- ib_write_bw -x "$index" -F -s 4096 -n 500
# Four packets each.
[[ $(capable "$1") -ge 2000 ]] || fail "$(capable "$1") packets of 2000 were capable of ECN"
echo "ib_write_bw over veth, IPv$1: $(perftest_row client)"
