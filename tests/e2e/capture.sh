#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: capture.sh udp|bare: what `weft run --capture` writes is read by tshark without a malformed
# packet, and every ICRC in it is right by a checker that was written apart from src/wire.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
need tshark ibv_ud_pingpong ss
begin

if [[ $1 == bare ]]; then
  need_pyverbs
  need socat
  spawn echo "$weft" run --wire bare --capture "$work/server.pcapng" -- \
    /usr/bin/python3 "$source_tree/tests/e2e/echo_qp.py" --bare --messages 1
  await echo '^qpn [0-9]+'
  qpn=$(sed -n 's/^qpn \([0-9]*\).*/\1/p' "$work/echo.out")
  printf 'seen in the capture' | timeout 10 socat -t 1 - "UDP4:127.0.0.1:$qpn" >/dev/null
  finish echo
  tshark -r "$work/server.pcapng" -Y "udp.port == $qpn && data" -T fields -e data.text -e data \
    >"$work/tshark.out" 2>&1
  hex=$(printf 'seen in the capture' | od -An -tx1 | tr -d ' \n')
  [[ $(grep -c "$hex" "$work/tshark.out") -eq 2 ]] || fail "not once there and once back"
  exit 0
fi

# shellcheck disable=SC2034  # lib.sh reads them
server_with=(--capture "$work/server.pcapng") client_with=(--capture "$work/client.pcapng")
pair 127.0.0.1 -- ibv_ud_pingpong -g 0 -n 50 -s 257

# The option that decodes the capture is part of what `weft run` says and of docs/wire-udp.md.
decode=(-d 'udp.port==49152-65535,infiniband')
grep -qF -- "${decode[1]}" "$source_tree/docs/wire-udp.md" ||
  fail "docs/wire-udp.md has no ${decode[1]}"
cat "$work/client.out" "$work/server.out" >"$work/both.out"
expect both 'tshark .*-d udp\.port==49152-65535,' "weft run tells how to decode the capture"

for side in client server; do
  file=$work/$side.pcapng
  tshark -r "$file" "${decode[@]}" -T fields -e _ws.col.Protocol -e infiniband.bth.opcode \
    -e infiniband.deth.qkey >"$work/$side-tshark.out" 2>&1
  packets=$(grep -c '0x*64\|^[^[:space:]]*[[:space:]]100' "$work/$side-tshark.out" || :)
  [[ $packets -ge 100 ]] || fail "$side: $packets UD SEND packets decoded, at least 100 were sent"
  malformed=$(tshark -r "$file" "${decode[@]}" -Y '_ws.malformed || _ws.expert.severity >= error' |
    wc -l)
  [[ $malformed -eq 0 ]] || fail "$side: tshark calls $malformed packets malformed"
  run "$side-crc" /usr/bin/python3 "$source_tree/tests/tools/check_crc.py" "$file"
  tail -n 1 "$work/$side-crc.out"
done
