#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: multicast.sh GROUP: one process sends to a group that two others have joined; both get
# every message. The program is examples/multicast.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
begin
example=$build_tree/examples/multicast
[[ -x $example ]] || skip "examples/multicast is not built"

group=$1
for name in first second; do
  spawn "$name" "$weft" run --stats -- "$example" receive "$group" 10
done
for name in first second; do await "$name" '^ready'; done
run sender "$weft" run --stats -- "$example" send "$group" 10
for name in first second; do
  finish "$name"
  expect "$name" '^received 10 '
done
