#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: tests/run_suites.sh PROGRAM SOURCE ... [-- ARGUMENT ...]
#
# Runs those of a GoogleTest program's suites that these sources have. Arguments are the program's.
set -euo pipefail

program=$1
shift
sources=()
while (($#)) && [[ $1 != -- ]]; do
  sources+=("$1")
  shift
done
suites=$(sed -nE 's/^(TYPED_)?TEST(_F|_P)?\((\w+),.*/\3.*:*\/\3.*:\3\/*/p' "${sources[@]}" |
  sort -u | paste -sd :)
if [[ -z $suites ]]; then
  echo "${sources[*]}: no TEST in them" >&2
  exit 1
fi
exec "$program" --gtest_brief=1 --gtest_filter="$suites" "${@:2}"
