#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lab_engines.sh ENGINE SHAPE SIZE: OpenSM routes a lab of that shape with that engine, and
# what it has set up carries packets from everywhere to everywhere, also without one of its cables.
set -euo pipefail
engine=$1 shape=$2 size=$3
time_limit=240
source "$(dirname "$0")/lib.sh"
need opensm ibtracert perfquery saquery python3
begin
# shellcheck source=tests/e2e/lab_lib.sh
source "$(dirname "$0")/lab_lib.sh"
run lab-file "$weft" lab "$shape" --size "$size"
cp "$work/lab-file.out" "$work/lab.toml"
links=$(grep -c 'ends = ' "$work/lab.toml")

# tables TIMES ENGINE: until it has set up all switches so often.
tables() {
  local tries
  for ((tries = 0; tries < 300; tries++)); do
    [[ $(grep -c "$2 tables configured on all switches" "$work/opensm.log") -lt $1 ]] || return 0
    sleep 0.1
  done
  fail "OpenSM has not set up the switches"
}

# everywhere NODE: packets by LID go there and back, on data lanes.
everywhere() {
  local lid
  for lid in $lids; do on "perfquery-$1-$lid" "$1" perfquery "$lid" 1; done
}

spawn lab "$weft" up --sm none "$work/lab.toml"
await_states "{\"Initializing\":$links}"
opensm_states="{\"Active\":$links}"
printf '%s\n' "routing_engine $engine" 'force_log_flush TRUE' >"$work/opensm.conf"
start_opensm h1 -F "$work/opensm.conf"
tables 1 "$engine"

# The LIDs of the channel adapters, each of which has a port.
on nodes h1 saquery NR
lids=$(awk '/^[[:space:]]*lid\./ { sub(/.*\./, ""); lid = $0 } /node_type.*Channel/ { print lid }' \
  "$work/nodes.out")
[[ $(wc -w <<<"$lids") == $(grep -c '^h[0-9]* = ' "$work/lab.toml") ]] ||
  fail "LIDs of channel adapters are $lids"
everywhere h1
everywhere h2
for lid in $lids; do on "trace-$lid" h1 ibtracert "$(head -n 1 <<<"$lids")" "$lid"; done

# Whoever asks is told the service level that keeps this engine free of deadlocks.
if [[ $engine == lash ]]; then
  on paths h1 saquery PR
  expect paths 'sl\.+0x0'
  expect paths 'sl\.+0x1' "lash needs two lanes here"
fi

# A cable between two switches is pulled.
cable=$(sed -n 's/.*ends = \["\([^h"][^"]*\)", .*/\1/p' "$work/lab.toml" | head -n 1)
[[ -n $cable ]] || fail "no cable between switches"
run pulled "$weft" link "$cable" down
opensm_states="{\"Active\":$((links - 1)),\"Down\":1}"
await_states "$opensm_states"
tables 2 ""  # an engine that needs a regular fabric leaves it to another one
everywhere h2
