#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: perftest_matrix.sh WHAT: several runs of perftest's programs, few messages each, that show
# that they work. WHAT: xrc, bidirectional, or sizes (the smallest and the largest message).
set -euo pipefail
source "$(dirname "$0")/lib.sh"
need ib_send_lat ss
begin

# check PROGRAM [ARGUMENT ...]: it ends well at both sides and has measured something: a latency, or
# a rate of messages (the bandwidth of few that are short is printed as zero).
check() {
  pair 127.0.0.1 -- "$1" -x 0 -F "${@:2}"
  perftest_measured client 4 || fail "$* measured nothing"
  echo "$*: $(perftest_row client)"
}

case $1 in
  xrc)
    for tool in send_lat write_lat read_lat; do
      check ib_$tool -c XRC -s 8 -n 500
    done
    ;;
  bidirectional)
    for tool in send_bw write_bw; do
      check ib_$tool -c UC -b -s 65536 -n 500
      check ib_$tool -c XRC -b -s 65536 -n 500
    done
    check ib_read_bw -c XRC -b -s 65536 -n 500
    check ib_atomic_bw -b -n 500
    check ib_atomic_bw -c XRC -b -n 500
    ;;
  sizes)
    for size in '-s 1 -n 200' '-s 8388608 -n 5'; do
      read -ra words <<<"$size"
      for tool in send_lat write_lat; do
        for service in RC UC XRC; do check ib_$tool -c $service "${words[@]}"; done
      done
      for tool in send_bw write_bw; do
        for service in UC XRC; do check ib_$tool -c $service "${words[@]}"; done
      done
      for tool in read_lat read_bw; do check ib_$tool -c XRC "${words[@]}"; done
      check ib_read_lat "${words[@]}"
    done
    ;;
  *) fail "$1: there are xrc, bidirectional and sizes" ;;
esac
