#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: perftest.sh bw|lat [ARGUMENT OF ib_send_bw, ib_send_lat ...]: two of them, unmodified, with
# unreliable datagrams over loopback; what they measured is printed.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
need ib_send_bw ib_send_lat ss
begin

tool=ib_send_$1
shift
server_with=(--stats) client_with=(--stats)
pair 127.0.0.1 -- "$tool" -c UD -x 0 -F "$@"
row=$(perftest_row client)
[[ -n $row ]] || fail "the client printed no result"
read -r -a cell <<<"$row"
case $tool in
  ib_send_bw)
    is_above "${cell[3]}" 0 || fail "no bandwidth"
    echo "$tool $*: ${cell[0]} bytes, ${cell[3]} MB/s, ${cell[4]} million messages/s"
    ;;
  ib_send_lat)
    is_above "${cell[4]}" 0 || fail "no latency"
    echo "$tool $*: ${cell[0]} bytes, median ${cell[4]} us, 99 % ${cell[7]} us"
    ;;
esac
