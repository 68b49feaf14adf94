#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: pingpong.sh rc|uc|ud|srq|xsrq [ARGUMENT OF ibv_*_pingpong ...]: two of them, unmodified,
# over loopback. Each checks nothing but its count, so data is checked where the program can (-c).
set -euo pipefail
source "$(dirname "$0")/lib.sh"
service=$1
shift
pingpong=ibv_${service}_pingpong
need "$pingpong" ss
begin

pair 127.0.0.1 -- "$pingpong" -g 0 -n 1000 "$@"
for side in client server; do expect "$side" '^([0-9]+ iters in .* seconds|success)'; done
