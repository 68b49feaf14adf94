#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Manual pages are well formed, there is one for each command, and it names every option that the
# command has.
command -v mandoc >/dev/null || exit 77
status=0
cd "$WEFT_SOURCE/docs/man" || exit 1
wrong() { echo "$*"; status=1; }
for page in *.[15]; do mandoc -T lint -W warning "$page" || status=1; done
commands=$("$WEFT_BUILD/bin/weft" help | sed -n 's/^  \([a-z][a-z-]\{1,\}\)  .*/\1/p')
[[ $(wc -w <<<"$commands") -ge 14 ]] || wrong "weft help names only: $commands"
for command in $commands; do
  [[ $command != help ]] || continue
  [[ -f weft-$command.1 ]] || { wrong "there is no weft-$command.1"; continue; }
  for option in $("$WEFT_BUILD/bin/weft" help "$command" | grep -Eo -- '--[a-z-]+' | sort -u); do
    sed 's/\\-/-/g' "weft-$command.1" | grep -q -- "${option#--}" ||
      wrong "weft-$command.1 does not name $option"
  done
done
for variable in $("$WEFT_BUILD/bin/weft" help run | grep -Eo 'WEFT_[A-Z_]+' | sort -u); do
  grep -q "$variable" weft-run.1 || wrong "weft-run.1 does not name $variable"
done
exit $status
