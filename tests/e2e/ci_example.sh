#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What examples/ci holds for others works: its script under the faults that its workflow names, and
# both recipes install what Weft is built with.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
need ib_send_bw ib_write_bw ib_read_bw ss
begin

example=$source_tree/examples/ci
mapfile -t faults < <(sed -n 's/.* faults: "\(.*\)" .*/\1/p' "$example/rdma-tests.yml")
[[ ${#faults[@]} -gt 1 ]] || fail "the workflow names no faults"
number=0
for spec in "${faults[@]}"; do
  number=$((number + 1))
  run "tests$number" "$weft" run --stats --fault "$spec" -- "$example/rdma_tests.sh"
  expect "tests$number" '^all tests passed'
  # Its programs have the faults, though the script started them.
  [[ $spec != *loss* ]] || expect "tests$number" '^ +fault_lost +[1-9]'
  echo "passed: $spec"
done

# What tests and benchmarks need is not for them.
for package in build-essential cmake ninja-build $(sed -n '/^# Testing/q; s/^\(lib[^ ]*\) .*/\1/p' \
  "$source_tree/script/packages.txt"); do
  for recipe in Containerfile rdma-tests.yml; do
    grep -qE "(^| )$package( |\$)" "$example/$recipe" || fail "$recipe does not install $package"
  done
done
