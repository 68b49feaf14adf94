#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the commands of README.md that readme_commands.txt marks `run`, as they stand there. One that
# ends in & goes on in the background while the next ones run, as it would in a shell.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
need ibv_devinfo ibv_rc_pingpong ss
begin

cd "$source_tree"
# README.md speaks of build/release; the tree under test may stand elsewhere.
commands=$(sed -n 's/^run | //p' tests/e2e/readme_commands.txt)
[[ -n $commands ]] || fail "readme_commands.txt marks no command"
number=0
while IFS= read -r command; do
  number=$((number + 1))
  command=${command//build\/release\/bin\/weft/$weft}
  echo "\$ $command"
  if [[ $command == *' &' ]]; then
    spawn "background$number" bash -c "exec ${command% &}"
    # The servers of the README listen on the programs' own port.
    await_listener "background$number" 18515
  else
    run "command$number" bash -c "$command"
  fi
done <<<"$commands"
for name in "${!pid_of[@]}"; do finish "$name"; done
