#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Two sites in the clear, whose extenders find each other by a TCP connection, behind what is an
# address translation to them: frames alone make no session, the connection is cut and comes back, a
# site is killed and restarted, and one that seals does not answer.
set -euo pipefail
# shellcheck disable=SC2034  # lib.sh reads it
time_limit=150
source "$(dirname "$0")/lib.sh"
need ibv_rc_pingpong python3 ss
begin
# shellcheck source=tests/e2e/lab_lib.sh
source "$source_tree/tests/e2e/lab_lib.sh"
# shellcheck source=tests/e2e/sites_lib.sh
source "$source_tree/tests/e2e/sites_lib.sh"

have_sites '' west east
example_sites site
in_the_clear
sed -i 's/^insecure = .*/&\nsetup = "tcp"/' "$work/west.toml" "$work/east.toml"
over_wan delay=1ms delay=1ms
relay=$(sed -n 's/^address = "\(.*\)"/\1/p' "$work/west.toml")
await_down() { # SITE ...
  local site
  for site in "$@"; do await_site "$site" "wan['state']" Down; done
}
why() { echo "'$1' in remote.get('why', '')"; }

stop control INT
start_site west
start_site east
await_site west "$(why refused)" True
await_site east "$(why 'not come yet')" True
await_down west east
restart_control() {
  spawn control "$weft" wan-emulator stream "$relay" "${listen[east]}" --path delay=1ms
  await control '^weft wan-emulator: stream'
}
restart_control
await_up
across ibv_rc_pingpong -n 300
run status "$weft" status
expect status "^    port 2 to east \\($relay\\): up, insecure\$"

stop control INT
await_down west east
restart_control
await_up

kill_site east
await_down west
start_site east
await_up
across ibv_rc_pingpong -n 300
[[ $(site_report west "remote['counters'].get('sessions_silent', 0)") == 0 ]] ||
  fail "silence has told what the connection was to tell"

stop_site east
sed -i -e '/^setup = /d' -e 's/^insecure = .*/key = "east.key"/' \
  -e 's/^\[extender.*remote.*/&\nfingerprint = "west.pub"/' "$work/east.toml"
start_site east
await_site west "$(why 'it may have a key, and this one is insecure')" True
stop_sites
echo "lab_site_setup: done"
