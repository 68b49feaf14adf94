#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lab_fibres.sh WHAT: two labs whose extenders are on a fibre, without an encapsulation,
# through an emulated WAN. WHAT is one of
#   stream    longer than standard credit reaches; the WAN falls silent and comes back
#   codes     in each line code; the other site is killed and restarted
set -euo pipefail
# shellcheck disable=SC2034  # lib.sh reads it
time_limit=150
source "$(dirname "$0")/lib.sh"
need ib_write_bw ibv_rc_pingpong python3 rping ss
what=$1
begin
# shellcheck source=tests/e2e/lab_lib.sh
source "$source_tree/tests/e2e/lab_lib.sh"
# shellcheck source=tests/e2e/sites_lib.sh
source "$source_tree/tests/e2e/sites_lib.sh"

have_sites '' west east

# A bare fibre of 20 ms there and back, of which a standard link would fill a twentieth.
stream() {
  local target relay
  target=127.0.0.1:$(free_port)
  relay=127.0.0.1:$(free_port)
  spawn wan "$weft" wan-emulator stream "$relay" "$target" --path rate=1Gb/s,delay=10ms
  await wan '^weft wan-emulator: stream'
  on_fibre "tcp:$target" "tcp:$relay" 8MiB
  perftest_across ib_write_bw -n 500
  across ibv_rc_pingpong -n 50 -s 65536
  [[ $(site_report east "remote['credit_blocks']") == $((1 << 23)) ]] ||
    fail "they do not count more blocks"
  clean
  kill -STOP -- "-${pid_of[wan]}"
  await_site west "wan['state']" Down
  await_site east "wan['state']" Down
  kill -CONT -- "-${pid_of[wan]}"
  await_up
  across ibv_rc_pingpong -n 50
  kill_site west # the one that listens
  await_site east "wan['state']" Down
  start_site west
  await_up
  across ibv_rc_pingpong -n 50
  stop_sites
  stop wan INT
  expect wan 'delivered [1-9]'
}

codes() {
  local code target relay
  for code in 64b66b 8b10b; do
    target=127.0.0.1:$(free_port)
    relay=127.0.0.1:$(free_port)
    spawn wan "$weft" wan-emulator stream "$relay" "$target" --path rate=1Gb/s,delay=2ms
    await wan '^weft wan-emulator: stream'
    on_fibre "$code+tcp:$target" "$code+tcp:$relay" 1MiB
    perftest_across ib_write_bw -n 100 -s 65536
    rping_across w1 e1 10.254.128.1 20
    clean
    run status "$weft" status
    expect status "^    port 2 to east \\($code\\+tcp:$target\\): up, insecure\$"
    kill_site east
    await_site west "wan['state']" Down
    start_site east
    await_up
    across ibv_rc_pingpong -n 100
    stop_sites
    stop wan INT
    expect wan 'delivered [1-9]'
  done
}

$what
echo "$what: done"
