#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# dead_peer.sh ADDRESS_INDEX: a process that is killed is noticed at the other end of its
# connections, idle ones too, long before retries and keep-alive would be used up; one that is only
# stopped is not taken for dead.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
need_pyverbs
begin

# An idle peer may be silent for 16 s, so it is asked every 2 s.
watch_peer() {
  run "$1" "$weft" run --stats --keep-alive 16 -- /usr/bin/python3 \
    "$source_tree/tests/e2e/dead_peer.py" "$1" --gid-index "$index"
}
index=${1:-0}

watch_peer busy
expect busy '^before: success'
expect busy '^outstanding: retries exceeded'
expect busy '^posted later: flushed'

watch_peer idle
expect idle '^event: fatal'
expect idle '^posted later: flushed'

for how in busy idle; do
  expect $how '^receive: flushed'
  expect $how '^state: error'
  seconds=$(awk '/^after/ { print $2 }' "$work/$how.out")
  is_above 15 "$seconds" || fail "$how: noticed only after $seconds s"
  expect $how ' rx_refusals '
done

watch_peer stopped
expect stopped '^state while stopped: ready to send'
expect stopped '^afterwards: success'
grep -hE '^(outstanding|event|after)' "$work/busy.out" "$work/idle.out"
