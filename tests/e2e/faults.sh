#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: faults.sh option|variable PROGRAM [ARGUMENT ...]: two of a program, unmodified, over
# loopback, while datagrams are lost, duplicated and reordered on purpose at both ends, by
# `weft run --fault` or by WEFT_FAULT. Both must end well; the counters must show that there were
# faults, and that something was sent again.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
way=$1
shift
need "$1" ss
begin

faults='loss=1%,duplicate=0.5%,reorder=1%,seed=7'
server_with=(--stats) client_with=(--stats)
case $way in
  option) server_with+=(--fault "$faults") client_with+=(--fault "$faults") ;;
  variable) export WEFT_FAULT=$faults ;;
  *) fail "$way: faults are given by option or by variable" ;;
esac
pair 127.0.0.1 -- "$@"
# ibv_*_pingpong -c says so and ends well all the same.
for side in client server; do refuse "$side" 'invalid data'; done

# counted COUNTER: both ends together.
counted() {
  awk -v counter="$1" '$1 == counter { sum += $2 } END { print sum + 0 }' \
    "$work/client.out" "$work/server.out"
}

# Which end they meet is up to the traffic: a writer hears nothing but a few acknowledgements.
for counter in fault_lost fault_duplicated fault_reordered tx_retransmitted; do
  is_above "$(counted "$counter")" 0 || fail "$counter is 0 at both ends"
  echo "$counter $(counted "$counter")"
done
