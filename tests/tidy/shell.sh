#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs shellcheck over every shell script of the tree.
set -euo pipefail
cd "${WEFT_SOURCE:-$(dirname "${BASH_SOURCE[0]}")/../..}"

scripts=()
while IFS= read -r -d '' file; do
  [[ -f $file ]] || continue
  read -r first <"$file" || :
  case $file:$first in
    *.sh:* | *:'#!/usr/bin/env bash' | *:'#!/bin/bash' | *:'#!/bin/sh') scripts+=("$file") ;;
  esac
done < <(git -c safe.directory='*' ls-files -z --cached --others --exclude-standard)
# One after the other they take minutes, since each reads what it sources anew.
printf '%s\0' "${scripts[@]}" | xargs -0 -n 4 -P "$(nproc)" \
  shellcheck --severity=warning --external-sources --source-path=SCRIPTDIR
echo "shellcheck: ${#scripts[@]} scripts"
