#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# On wire `bare` a program that knows nothing of RDMA (socat) exchanges messages with a datagram
# queue pair: a message is a UDP payload, the queue pair's number its port.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
need socat
need_pyverbs
begin

spawn echo "$weft" run --wire bare --stats -- /usr/bin/python3 "$source_tree/tests/e2e/echo_qp.py" \
  --bare --messages 3
await echo '^qpn [0-9]+'
qpn=$(sed -n 's/^qpn \([0-9]*\).*/\1/p' "$work/echo.out")

for message in 'hello, queue pair' x "$(printf '%04000d' 0)"; do
  # After the end of its input socat listens for one more second.
  answer=$(printf '%s' "$message" | timeout 10 socat -b 65536 -t 1 - "UDP4:127.0.0.1:$qpn")
  [[ $answer == "$message" ]] || fail "sent '${message:0:40}', got '${answer:0:40}'"
done
finish echo
expect echo '^src_qp is the port of the sender: yes'
