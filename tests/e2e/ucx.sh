#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: ucx.sh lo|veth TEST[,TEST ...] TRANSPORTS [WIRE] [ARGUMENT ...]: tests of ucx_perftest over
# UCX's own verbs transports, over loopback or between two network namespaces. TRANSPORTS is what
# UCX_TLS says, for instance rc_verbs,ud_verbs,self; our counters must have seen what was sent.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
need ucx_perftest ss
where=$1 tests=$2 transports=$3 wire=${4:-udp}
options=("${@:5}")
if [[ $where == veth || $wire == roce ]]; then
  need ip unshare nsenter
  private_network "$0" "$@"
fi
begin

at_server=() at_client=() keeper='' address=127.0.0.1 device=weft_lo
if [[ $where == veth ]]; then
  left='' right=''
  new_namespace left
  new_namespace right
  join "$left" veth0 10.79.0.1/24 "$right" veth0 10.79.0.2/24
  at_server=(nsenter "--net=/proc/$right/ns/net" --)
  at_client=(nsenter "--net=/proc/$left/ns/net" --)
  keeper=$right address=10.79.0.2 device=weft_veth0
fi

export UCX_TLS=$transports UCX_NET_DEVICES=$device:1 UCX_WARN_UNUSED_ENV_VARS=n
for test in ${tests//,/ }; do
  port=$(free_port)
  program=(ucx_perftest -p "$port" -t "$test" -n 1000 -w 50 "${options[@]}")
  # UCX's lower layer is tested on one transport and device, which the command line names.
  [[ $test =~ ^(tag|ucp|stream)_ ]] || program+=(-x "${transports%%,*}" -d "$device:1")
  spawn server "${at_server[@]}" "$weft" run --wire "$wire" -- "${program[@]}"
  await_listener server "$port" "$keeper"
  spawn client "${at_client[@]}" "$weft" run --wire "$wire" --stats -- "${program[@]}" "$address"
  finish client
  finish server
  expect client '^Final: +[1-9]' "the last row of $test"
  sent=$(awk '$1 == "tx_packets" { sum += $2 } END { print sum + 0 }' "$work/client.out")
  [[ $sent -ge 100 ]] || fail "$test sent $sent packets by way of Weft"
  echo "ucx_perftest $test, $transports, $wire: $(grep '^Final:' "$work/client.out")"
done
