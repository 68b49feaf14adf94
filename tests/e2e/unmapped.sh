#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Work on memory that its program has unmapped or made read-only behind Weft's back ends in error,
# at the end that asked for it; nobody dies of it, and other memory goes on being written. Whether
# the program polls, or sleeps and leaves the work to the library's thread.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
need_pyverbs
begin

run unmapped "$weft" run -- /usr/bin/python3 "$source_tree/tests/e2e/unmapped.py"
for who in '' 'asleep: '; do
  for work_of_peer in 'write to' 'read of' 'atomic on'; do
    expect unmapped "^$who$work_of_peer the peer's: success, unmapped: remote access error"
  done
  expect unmapped "^${who}write from its own: success, unmapped: local protection error"
  expect unmapped "^${who}read to its own: success, unmapped: local access error"
done
expect unmapped '^write: success 0, read-only: remote access error 0$'
expect unmapped '^add: success 1, read-only: remote access error 1$'
expect unmapped '^swap: success 0, read-only: remote access error 0$'
expect unmapped '^afterwards: success, still here'
output unmapped
