#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Datagrams that are truncated, oversized, of a wrong CRC, Q_Key, P_Key, version or opcode, sent at
# a queue pair's port: each is dropped and counted by its reason, `weft run --stats` shows the
# counts, and the queue pair goes on.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
need_pyverbs
begin

spawn echo "$weft" run --stats -- /usr/bin/python3 "$source_tree/tests/e2e/echo_qp.py" --messages 1
await echo '^qpn [0-9]+'
qpn=$(sed -n 's/^qpn \([0-9]*\).*/\1/p' "$work/echo.out")
run garbage /usr/bin/python3 "$source_tree/tests/e2e/garbage.py" --port "$qpn"
expect garbage '^answer: still there\?, ICRC right'
finish echo

while read -r _ counter count; do
  counted=$(grep -oE "\b$counter\b[^0-9]*[0-9]+" "$work/echo.out" | grep -oE '[0-9]+$' | tail -n 1)
  [[ ${counted:-0} -eq $count ]] ||
    fail "$count datagrams were of the kind $counter, ${counted:-none} counted"
  echo "$counter $counted"
done < <(grep '^sent ' "$work/garbage.out")
