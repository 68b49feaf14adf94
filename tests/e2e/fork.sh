#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A verbs program that forks with a connection open and writes on their way, with ibv_fork_init()
# and without: whatever its child does, the parent goes on and its memory is right.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
begin

for init in '' init; do
  # shellcheck disable=SC2086  # none is no argument
  run fork "$weft" run --stats -- "$build_tree/tests/e2e_fork_ways" $init
  expect fork '^fork is as it always is$'
  for way in _exit exit exec 'opens the device itself' stays; do
    expect fork "^child $way: ended with 0, parent's memory is right$"
  done
  expect fork '^child: works by itself after exec$'
  # The parent, the child that ran a program, and the one that opened the device: nobody accounts
  # for what he has only inherited.
  [[ $(grep -c '^weft: weft_lo of ' "$work/fork.out") -eq 3 ]] ||
    fail "not three processes have said what they sent"
done
output fork
