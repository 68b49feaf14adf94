#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# host_gone.sh WIRE: all of Weft at the peer's host is killed at once, the host agent too, so that
# nobody says goodbye. The network then says that nobody listens, and a connection with work under
# way ends before its retries are used up.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
need ib_write_bw unshare nsenter
private_network "$0" "$@"
begin
wire=${1:-udp}

left='' right=''
new_namespace left
new_namespace right
join "$left" veth0 10.79.0.1/24 "$right" veth0 10.79.0.2/24

# Until the client's writes are on their way: what comes before them is a few kilobytes.
await_work() {
  local tries bytes
  for ((tries = 0; tries < 500; tries++)); do
    bytes=$(in_namespace "$left" ip -s link show dev veth0 | awk '/TX:/ { getline; print $1 }')
    ! is_above "$bytes" 1000000 || return 0
    sleep 0.02
  done
  fail "no work began"
}
at() { words=(nsenter "--net=/proc/$1/ns/net" -- "$weft" run --wire "$wire" --stats -- "${@:2}"); }
options=(-R -F -D 60 -s 65536)
at "$right" ib_write_bw "${options[@]}"
spawn server "${words[@]}"
await_identifier '' "$right"
at "$left" ib_write_bw "${options[@]}" 10.79.0.2
spawn client "${words[@]}"
await_work
pkill -KILL -x 'ib_write_bw|weftd' --ns "$right" --nslist net
finish client 1
expect client 'Failed status 12' "retries exceeded, the program is told"
expect client ' rx_refusals '
# ib_write_bw asks for 7 retries: the eighth timeout would have been the end.
timeouts=$(awk '$1 == "tx_timeouts" { print $2 }' "$work/client.out")
[[ ${timeouts:-0} -lt 8 ]] || fail "only its timeouts have told"
pkill -TERM -x weftd --ns "$left" --nslist net || :
echo "noticed, after ${timeouts:-0} timeouts"
