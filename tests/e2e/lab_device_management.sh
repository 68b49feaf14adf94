#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lab_device_management.sh weft|opensm: the extenders of two sites are I/O units, as their
# ports say to the subnet administrator, and answer what asks for the controllers of such units,
# here and at the other site.
set -euo pipefail
# shellcheck disable=SC2034  # lib.sh reads it
time_limit=150
source "$(dirname "$0")/lib.sh"
need ibsrpdm smpquery python3
what=$1
[[ $what != opensm ]] || need opensm
begin
# shellcheck source=tests/e2e/lab_lib.sh
source "$source_tree/tests/e2e/lab_lib.sh"
# shellcheck source=tests/e2e/sites_lib.sh
source "$source_tree/tests/e2e/sites_lib.sh"

have_sites '' west east
example_sites site
if [[ $what == opensm ]]; then
  start_site west --sm none
  start_site east
  manage w1
else
  start_site west
  start_site east
fi
await_up

# Who looks for storage asks the administrator for ports that are I/O units, and these for what they
# have. (Its exit code says whether there is storage.)
node units w2 ibsrpdm -v
wait "${pid_of[units]}" || :
unset "pid_of[units]"
for site in west east; do
  lid=$(site_report "$site" "ports['edge-$site'][0]['lid']")
  expect units "port LID: *$(printf '%04x' "$lid")"
  expect units "ID: *Weft range extender: WAN to $(other_site "$site")"
done
[[ $(grep -c 'max controllers: *0x01' "$work/units.out") == 2 ]] || fail "not two controllers"
# Others are none.
node port w2 smpquery portinfo "$(site_report west "ports['edge-west'][0]['lid']")" 0
finish port
expect port 'IsDeviceManagementSupported'
node other w2 smpquery portinfo "$(site_report west "ports['w1'][0]['lid']")" 1
finish other
refuse other 'IsDeviceManagementSupported'

[[ $what != opensm ]] || stop opensm-west
stop_sites
echo "$what: done"
