#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Stands for the tests of your program: anything that runs RDMA programs will do, however many
# processes it starts. Run it under `weft run`. This one has two of perftest's programs send, write
# and read over a reliable connection.
set -eu
log=$(mktemp)
trap 'rm -f "$log"' EXIT
port=$((20000 + $$ % 10000))  # for the programs' own exchange of addresses

# Both ends of perftest's TOOL.
try() {
  set -- "$1" -p "$port" -d weft_lo -x 0 -F -s 65536 -n 200
  "$@" >"$log" 2>&1 &
  server=$!
  until [ -n "$(ss -Htln "sport = :$port")" ]; do
    kill -0 "$server" || { cat "$log"; exit 1; }
    sleep 0.1
  done
  "$@" 127.0.0.1
  wait "$server" || { cat "$log"; exit 1; }
}

for tool in ib_send_bw ib_write_bw ib_read_bw; do
  try "$tool"
done
echo "all tests passed"
