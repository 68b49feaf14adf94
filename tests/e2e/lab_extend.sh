#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lab_extend.sh: two labs on one machine, each of two processes: `weft up` runs switch and
# nodes, `weft extend` the extender. They are one subnet, an extender ends and comes back, and what
# `weft extend` cannot run it says.
set -euo pipefail
# shellcheck disable=SC2034  # lib.sh reads it
time_limit=150
source "$(dirname "$0")/lib.sh"
need ibv_rc_pingpong ibnetdiscover python3
begin
# shellcheck source=tests/e2e/lab_lib.sh
source "$source_tree/tests/e2e/lab_lib.sh"

for site in west east; do
  # The rest of the lab is in the first part.
  sed -e '/^\[switch\]$/i [part]\ncore = {}\nwan = {}\n' \
    -e "/^\[extender.edge-$site\]\$/a part = \"wan\"" \
    "$source_tree/examples/labs/site-$site.toml" >"$work/$site.toml"
  "$weft" extend keygen "$work/$site.key" >"$work/$site.pub"
done

# wan_state SITE: of the extender's ports, to the other site and to its own.
wan_state() {
  "$weft" status -d --json | python3 -c "
import json, sys
for lab in json.load(sys.stdin)['labs']:
    for node in lab['nodes']:
        if lab['name'] == '$1' and node['name'] == 'edge-$1' and node['ports']:
            print(*sorted({port['state'] for port in node['ports'] if port['port'] > 0}))"
}
await_wan() { # STATE
  local tries site
  for site in west east; do
    for ((tries = 0; tries < 600; tries++)); do
      [[ $(wan_state "$site") != "$1" ]] || continue 2
      sleep 0.1
    done
    fail "the ports of edge-$site are $(wan_state "$site"), not $1"
  done
}
across() {
  local port
  port=$(free_port)
  spawn server "$weft" run --lab east --node e1 -- ibv_rc_pingpong -n 200 -p "$port"
  await_listener server "$port"
  spawn client "$weft" run --lab west --node w1 -- ibv_rc_pingpong -n 200 -p "$port" 127.0.0.1
  finish client
  finish server
  expect client '^200 iters in .* seconds'
}

for site in west east; do
  spawn "$site" "$weft" up --part core "$work/$site.toml"
  await "$site" "^lab $site@core: 1 switches, 2 channel adapters, 3 links, 1 of them to other parts"
  spawn "edge-$site" "$weft" extend "$work/$site.toml"
  await "edge-$site" "^lab $site@wan: 1 switches, 0 channel adapters, 1 links"
done
expect edge-west '^  extends to         east by edge-west, at 127.0.0.1:7472$'
expect edge-west '^  its end            weft down west@wan$'
await_wan Active
spawn discover "$weft" run --lab west --node w2 -- ibnetdiscover
finish discover
[[ $(grep -c '^Switch' "$work/discover.out") == 4 ]] || fail "not four switches"
across

# One ends, and comes back, while the labs go on.
run down "$weft" down east@wan
finish edge-east
for ((tries = 0; tries < 600; tries++)); do
  [[ $(wan_state west) != "Active Down" ]] || break
  sleep 0.1
done
[[ $(wan_state west) == "Active Down" ]] || fail "the ports of edge-west are $(wan_state west)"
spawn edge-east "$weft" extend --part wan "$work/east.toml"
await_wan Active
across

# What it cannot run.
refused() { # PATTERN ARGUMENT ...
  spawn wrong "$weft" extend "${@:2}"
  finish wrong 2
  expect wrong "$1"
}
refused '^weft extend: --part core: the extenders of lab west are in wan$' --part core \
  "$work/west.toml"
refused 'absent.toml: No such file' "$work/absent.toml"
refused 'with weft up; for a process of their own' "$source_tree/examples/labs/site-west.toml"
refused 'pair.toml: lab pair has no extender' "$source_tree/examples/labs/pair.toml"
refused 'a lab file runs; --json' --json "$work/west.toml"
refused 'are for the extenders of a lab file' --plan --distance 5km --detach

for site in west east; do
  run "down-$site" "$weft" down "$site"
  finish "$site"
done
finish edge-west
finish edge-east
