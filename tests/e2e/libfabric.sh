#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: libfabric.sh msg|rdm|dgram|info [WIRE]: fi_pingpong and fi_info over libfabric's verbs
# provider, between two network namespaces, because the provider makes no connections through a
# loopback interface. msg is RC through rdma_cm, rdm is ofi_rxm on top of it, dgram a datagram queue
# pair. Every message is compared with what was sent.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
need fi_pingpong fi_info ss ip unshare nsenter
private_network "$0" "$@"
what=$1
wire=${2:-udp}
begin

left='' right=''
new_namespace left
new_namespace right
join "$left" veth0 '10.78.0.1/24 fd78::1/64' "$right" veth0 '10.78.0.2/24 fd78::2/64'
at_left=(nsenter "--net=/proc/$left/ns/net" --)
at_right=(nsenter "--net=/proc/$right/ns/net" --)

# ping_pong PROVIDER SIZES ARGUMENT ...: for each size, both ends must end well.
ping_pong() {
  local port size provider=$1 sizes=$2
  shift 2
  for size in $sizes; do
    port=$(free_port)
    spawn server "${at_right[@]}" "$weft" run --wire "$wire" -- \
      fi_pingpong -p "$provider" -B "$port" -S "$size" "$@"
    await_listener server "$port" "$right"
    spawn client "${at_left[@]}" "$weft" run --wire "$wire" --stats -- \
      fi_pingpong -p "$provider" -P "$port" -S "$size" "$@" 10.78.0.2
    finish client
    finish server
    expect client '^[0-9]+[km]? +50 ' "50 messages of $size bytes"
    expect client '^ +tx_packets +([5-9][0-9]|[0-9]{3})' "they went by way of Weft"
    echo "$provider $wire: $(grep -E '^[0-9]+[km]? +50 ' "$work/client.out")"
  done
}

case $what in
  msg) ping_pong verbs '8 4096 65536 1048576' -e msg -c -I 50 ;;
  rdm) ping_pong 'verbs;ofi_rxm' '8 4096 65536 1048576' -e rdm -c -I 50 ;;
  # Without a name it takes the first device there is, loopback.
  dgram) ping_pong verbs '8 1024' -e dgram -d weft_veth0-dgram -c -I 50 ;;
  info)
    run info "${at_left[@]}" "$weft" run --wire "$wire" -- fi_info -p verbs
    expect info 'provider: verbs;ofi_rxm'
    expect info 'domain: weft_veth0$'
    expect info 'type: FI_EP_MSG'
    expect info 'type: FI_EP_DGRAM'
    ;;
  *) fail "unknown: $what" ;;
esac
