#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A message of 2^31 bytes, max_msg_sz, arrives as it was; a byte more is refused.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
begin
free=$(awk '$1 == "MemAvailable:" { print $2 }' /proc/meminfo)
[[ $free -gt 3000000 ]] || skip "2 GiB of memory are wanted, and $free KiB are left"

time_limit=100
run large "$weft" run --stats -- "$build_tree/tests/e2e_large_message"
expect large '^2\^31: success, right$'
expect large '^the peer was told of 2147483648 bytes: success$'
expect large '^2\^31 \+ 1: local length error, target untouched$'
output large
