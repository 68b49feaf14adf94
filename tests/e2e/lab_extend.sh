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

# shellcheck source=tests/e2e/sites_lib.sh
source "$source_tree/tests/e2e/sites_lib.sh"

have_sites '' west east
example_sites site
for site in west east; do
  in_parts "$site"
  start_site "$site" --part core
  expect "$site" "^lab $site@core: 1 switches, 2 channel adapters, 3 links, 1 of them to other"
  start_edge "$site"
  expect "edge-$site" "^lab $site@wan: 1 switches, 0 channel adapters, 1 links"
done
expect edge-west "^  extends to         east by edge-west, at ${listen[east]}\$"
expect edge-west '^  its end            weft down west@wan$'
await_up
node discover w2 ibnetdiscover
finish discover
[[ $(grep -c '^Switch' "$work/discover.out") == 4 ]] || fail "not four switches"
across ibv_rc_pingpong -n 200
expect client '^200 iters in .* seconds'

# One ends, and comes back, while the labs go on.
run down "$weft" down east@wan
finish edge-east
await_site west "wan['state']" Down
start_edge east --part wan
await_up
across ibv_rc_pingpong -n 200
expect client '^200 iters in .* seconds'

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
  stop_site "$site"
  finish "edge-$site"
done
