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

# attempt SEED PROGRAM ...: runs both ends. A ping-pong leaves once it has its last message, whose
# acknowledgement may have been lost: the peer asks again, in vain, as it would over any network.
# False then; any other bad end fails the test.
attempt() {
  local faults="loss=1%,duplicate=0.5%,reorder=1%,seed=$1" with=(--stats) port
  shift
  case $way in
    option) with+=(--fault "$faults") ;;
    variable) export WEFT_FAULT=$faults ;;
    *) fail "$way: faults are given by option or by variable" ;;
  esac
  port=$(free_port)
  local program=("$weft" run "${with[@]}" -- "$@" -p "$port" -d weft_lo)
  spawn server "${program[@]}"
  await_listener server "$port"
  spawn client "${program[@]}" 127.0.0.1

  local side code left_alone=()
  for side in client server; do
    code=0
    wait "${pid_of[$side]}" || code=$?
    unset "pid_of[$side]"
    [[ $code -ne 0 ]] || continue
    [[ $code -eq 1 ]] || fail "$side ended with exit code $code"
    expect "$side" 'transport retry counter exceeded'
    left_alone+=("$side")
  done
  [[ ${#left_alone[@]} -lt 2 ]] || fail "both ends gave up"
  [[ ${#left_alone[@]} -eq 0 ]]
}

tries=1
# Programs of perftest leave together.
[[ $1 != *_pingpong ]] || tries=4
for ((seed = 7; seed < 7 + tries; seed++)); do
  ! attempt "$seed" "$@" || break
done
[[ $seed -lt $((7 + tries)) ]] || fail "no peer stayed to the end in $tries tries"

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
