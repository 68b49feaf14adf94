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

# `weft run` says how to decode the capture, and docs/wire-udp.md says the same.
read -r -a decode < <(sed -n 's/^weft run: capturing; .* tshark -r [^ ]* //p' "$work/client.out")
[[ ${#decode[@]} -ge 2 ]] || fail "weft run does not tell how to decode the capture"
grep -qF -- "tshark -r FILE ${decode[*]}" "$source_tree/docs/wire-udp.md" ||
  fail "docs/wire-udp.md does not give the options ${decode[*]}"

for side in client server; do
  file=$work/$side.pcapng
  # Opcode 100 is UD SEND only; 50 went each way.
  tshark -r "$file" "${decode[@]}" -Y 'infiniband.deth.q_key == 0x11111111' \
    -T fields -e infiniband.bth.opcode >"$work/opcodes" 2>"$work/tshark.out"
  packets=$(grep -cx 100 "$work/opcodes" || :)
  [[ $packets -eq 100 ]] || fail "$side: $packets UD SEND packets are in the capture, not 100"
  tshark -r "$file" "${decode[@]}" -Y '_ws.malformed || _ws.expert.severity >= error' \
    >"$work/malformed" 2>"$work/tshark.out"
  [[ ! -s $work/malformed ]] || fail "tshark, $side: $(head -n 3 "$work/malformed")"
  run "$side-crc" /usr/bin/python3 "$source_tree/tests/tools/check_crc.py" \
    --port 49152-65535 "$file"
  tail -n 1 "$work/$side-crc.out"
done
