#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# path_mtu.sh HOLE 4|6 [roce]: the hosts have links of 9000 bytes, so that packets carry 4096, but
# something between them takes 1500 only. HOLE:
#   told    behind the router is a link of 1500 bytes, and the router says so
#   silent  the same, and the router drops what is too long without a word (RFC 2923)
#   link    the link to the router swallows it: its two ends do not agree how long a frame may be
# Connections survive all that. With roce: those of Weft peers that rdma_cm has set up.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
need ib_write_bw ib_read_bw rping ss ip unshare nsenter
private_network "$0" "$@"
begin
hole=${1:-silent} family=${2:-4} wire=${3:-udp}

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
case $hole in
  told | silent) in_namespace "$router" ip link set veth2 mtu 1500 ;;
  link)
    in_namespace "$router" ip link set veth1 mtu 1500
    # A run would slip through as one: it has to be taken apart before the link.
    in_namespace "$left" ip link set veth0 gso_max_segs 1
    ;;
  *) fail "unknown: $hole" ;;
esac
# What the router itself has to say finds no way.
if [[ $hole == silent ]]; then
  in_namespace "$router" ip rule add iif lo to 10.79.1.0/24 blackhole ||
    skip "no routing rules here"
  in_namespace "$router" ip -6 rule add iif lo to fd79:1::/64 blackhole
fi

if [[ $wire == roce ]]; then
  over=("$weft" run --wire roce --stats -- rping -a 10.79.2.2 -C 20 -S 65000)
  # A client that trips over its own end (finish_rping) can lose its counters with that.
  for ((turn = 1; turn <= 5; turn++)); do
    spawn server nsenter "--net=/proc/$right/ns/net" -- "${over[@]}" -s
    await_identifier 10.79.2.2:7174
    spawn client nsenter "--net=/proc/$left/ns/net" -- "${over[@]}" -c
    finish_rping client
    finish_rping server
    ! grep -q '^  tx_packets ' "$work/client.out" || break
  done
  expect client ' tx_in_pieces '
  for end in "$left" "$right"; do pkill -TERM -x weftd --ns "$end" --nslist net || :; done
  echo "rping over a path with a hole: $hole"
  exit
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
found=tx_in_pieces
[[ $hole != told ]] || found=udp_tx_fragmenting
expect client " $found "
echo "ib_write_bw over a path with a hole: $hole: $(perftest_row client)"

# Read from there: the long packets go the same way.
# shellcheck disable=SC2034
server_at=$left client_at=$right
pair 10.79.1.2 -- ib_read_bw "${options[@]}"
expect server " $found "
echo "ib_read_bw over a path with a hole: $hole: $(perftest_row client)"
