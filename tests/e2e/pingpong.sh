#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: pingpong.sh [ARGUMENT OF ibv_ud_pingpong ...]: two of them, unmodified, over loopback.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
need ibv_ud_pingpong ss
begin

pair 127.0.0.1 -- ibv_ud_pingpong -g 0 -n 1000 "$@"
expect client '^1000 iters in .* seconds'
expect server '^1000 iters in .* seconds'
