#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What every script of script/ owes its user: --help works, a wrong option is named in one line with
# exit code 2, and nothing is coloured when nobody watches.
set -euo pipefail
cd "${WEFT_SOURCE:-$(dirname "${BASH_SOURCE[0]}")/../..}"

failed=0
complain() { echo "$*"; failed=1; }

for script in script/*; do
  [[ -x $script ]] || continue
  help=$("$script" --help </dev/null) || complain "$script --help fails"
  [[ $help == "usage: $script"* ]] || complain "$script --help does not start with its usage"
  [[ $help != *$'\e'* ]] || complain "$script --help is coloured in a pipe"
  # script/test hands to ctest what it does not know.
  [[ $script != script/test ]] || continue
  code=0
  said=$("$script" --no-such-option </dev/null 2>&1) || code=$?
  [[ $code -eq 2 ]] || complain "$script --no-such-option exits with $code, not 2"
  [[ $said == *"'--no-such-option'"* && $(wc -l <<<"$said") -eq 1 ]] ||
    complain "$script does not name the wrong option in one line: $said"
done
exit "$failed"
