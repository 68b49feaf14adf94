#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Over loopback by IPv6: the GID is the address ::1.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
need ibv_devinfo ibv_ud_pingpong ib_send_bw ss
[[ -n $(ip -6 address show dev lo) ]] || skip "this machine has no IPv6"
begin

run devinfo "$weft" run -- ibv_devinfo -v -d weft_lo
index=$(sed -n 's/.*GID\[ *\([0-9]*\)\]:[[:space:]]*\(::1\|0000:.*:0001\)\(,.*\)\{0,1\}$/\1/p' \
  "$work/devinfo.out" | head -n 1)
[[ -n $index ]] || fail "::1 is not in the GID table"

pair 127.0.0.1 -- ibv_ud_pingpong -g "$index" -n 500
expect client '^500 iters in .* seconds'
expect client 'local address:.*GID ::1'
pair 127.0.0.1 -- ib_send_bw -c UD -x "$index" -F -n 2000
echo "ib_send_bw over ::1: $(perftest_row client)"
