#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lab_hidden.sh: two limited members of a partition, which may not talk to each other, do so
# through a monitor that replaces their P_Key, and neither sees the other's queue pair numbers; the
# monitor's pair knows these, and a connection goes on when the active one is cut off.
set -euo pipefail
time_limit=120
source "$(dirname "$0")/lib.sh"
need rping ib_write_bw
begin
# shellcheck source=tests/e2e/lab_lib.sh
source "$source_tree/tests/e2e/lab_lib.sh"

cat >"$work/lab.toml" <<'LAB'
name = "hidden"
network = "127.249.0.0/16"
sm = { partitions = "partitions.conf" }
[switch]
s = {}
[node]
app = {}
db = {}
mid = { port_guids = ["0x77"] }
mid2 = { port_guids = ["0x78"] }
[service.monitor]
at = [["mid", "mid2"]]
hide_queue_pairs = true
pkeys = [["0x7fff", "0xffff"]]
[[link]]
ends = ["app", "s"]
[[link]]
ends = ["db", "s"]
[[link]]
ends = ["mid", "s"]
[[link]]
ends = ["mid2", "s"]
LAB
echo 'Default=0x7fff, ipoib: ALL=limited, SELF=full, 0x77=full, 0x78=full;' >"$work/partitions.conf"
spawn lab "$weft" up "$work/lab.toml"
await_states '{"Active":4}'
db=127.249.0.2

# counter NAME [NODE]: of the runtime of the monitor there.
counter() {
  "$weft" service monitor --json | python3 -c "
import json, sys
services = json.load(sys.stdin)['services']
print([s['counters'].get('$1', 0) for s in services if s['node'] == '${2:-mid}'][0])"
}

spawn server "$weft" run --node db -- rping -s -a "$db" -C 20 -v
await_ids db 1
spawn client "$weft" run --node app -- rping -c -a "$db" -C 20 -v
finish_rping client
finish_rping server
expect client 'ping data: rdma-ping-19'

spawn server "$weft" run --node db -- ib_write_bw -R -F -n 300 -s 65536
await_ids db 1
spawn client "$weft" run --node app -- ib_write_bw -R -F -n 300 -s 65536 "$db"
finish client
finish server
expect client '^ 65536 +300 '

# Each data packet had its QP number replaced, and each request for a connection its path.
is_above "$(counter icrc_corrected_headers)" 4800 || fail "QP numbers were not replaced"
is_above "$(counter cm_rewritten)" 1 || fail "requests for connections are as they were"
for drop in no_mapping foreign_qp unknown_connection map_full buffer_damaged; do
  [[ $(counter drop_$drop) == 0 ]] || fail "drop_$drop $(counter drop_$drop)"
done
[[ $(counter packets mid2) == 0 ]] || fail "the standby has had packets"

# The other one knows the numbers that the ends were told.
spawn server "$weft" run --node db -- rping -s -a "$db"
await_ids db 1
spawn client "$weft" run --node app -- stdbuf -oL rping -c -v -a "$db"
pings() { grep -c '^ping data' "$work/client.out" || :; }
# goes_on COUNT: so many more are answered.
goes_on() {
  local tries before
  before=$(pings)
  for ((tries = 0; tries < 300; tries++)); do
    kill -0 "${pid_of[client]}" 2>/dev/null || fail "the connection has ended"
    ! is_above "$(pings)" "$((before + $1))" || return 0
    sleep 0.05
  done
  fail "the connection does not go on"
}
goes_on 20
run cut "$weft" link mid:1 down
await_states '{"Active":3,"Down":1}'
goes_on 100
is_above "$(counter icrc_corrected_headers mid2)" 400 || fail "the standby replaces no QP numbers"
for drop in no_mapping foreign_qp unknown_connection; do
  [[ $(counter drop_$drop mid2) == 0 ]] ||
    fail "of the standby drop_$drop $(counter drop_$drop mid2)"
done
stop client
stop server
stop lab INT
