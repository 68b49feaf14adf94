#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The host agent ends by itself when nobody has used it for its idle time, and not before; the next
# program starts another one.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
need rping
private_network "$0" "$@"
ip link set lo up
begin

rping_works() {
  run client "$weft" run -- rping -c -a 127.0.0.1 -C 3
  finish_rping server
}
agents() { "$weft" status | grep -c '^agent ' || :; }

spawn agent "$build_tree/bin/weftd" --foreground --idle 1
for ((tries = 0; tries < 500; tries++)); do
  [[ $(agents) -eq 0 ]] || break
  sleep 0.02
done
spawn server "$weft" run -- rping -s -a 127.0.0.1 -C 3
await_identifier 127.0.0.1:7174
# Twice the time, in which a program has a file open and asks for nothing.
sleep 2
kill -0 "${pid_of[agent]}" 2>/dev/null || fail "the agent has left a program that listens"
run before "$weft" status
expect before '^agent [0-9]+: .*clients 1 .*ends when idle for 1 s'
rping_works
finish agent
[[ $(agents) -eq 0 ]] || fail "an agent is still there: $("$weft" status)"
[[ -z $(find "$work" -name 'agent-*.sock') ]] || fail "the agent has left its socket behind"

spawn server "$weft" run -- rping -s -a 127.0.0.1 -C 3
await_identifier 127.0.0.1:7174
rping_works
run after "$weft" status
expect after '^agent [0-9]+: .*ends when idle for 30 s' "the default"
pkill -TERM -x weftd --ns $$ --nslist net || :
