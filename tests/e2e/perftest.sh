#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: perftest.sh PROGRAM [ARGUMENT ...]: two of perftest's programs, unmodified, over loopback;
# what they measured is printed.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
tool=$1
shift
need "$tool" ss
begin

server_with=(--stats) client_with=(--stats)
pair 127.0.0.1 -- "$tool" -x 0 -F "$@"
row=$(perftest_row client)
[[ -n $row ]] || fail "the client printed no result"
read -r -a cell <<<"$row"
case $tool in
  *_bw)
    perftest_measured client 3 || fail "no bandwidth"
    echo "$tool $*: ${cell[0]} bytes, ${cell[3]} MB/s, ${cell[4]} million messages/s"
    ;;
  *_lat)
    perftest_measured client 4 || fail "no latency"
    echo "$tool $*: ${cell[0]} bytes, median ${cell[4]} us, 99 % ${cell[7]} us"
    ;;
esac
