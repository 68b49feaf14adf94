#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lab_osmtest.sh opensm|weft: OpenSM's own test program against it, or against a lab's own
# subnet manager: across the lab it writes down what there is, finds all of it again record by
# record, joins and leaves groups, and registers services, which saquery sees.
set -euo pipefail
time_limit=200
source "$(dirname "$0")/lib.sh"
need opensm osmtest saquery python3
begin
# shellcheck source=tests/e2e/lab_lib.sh
source "$(dirname "$0")/lab_lib.sh"
manager=$1
start_lab "$source_tree/examples/labs/two-switches.toml" 7

flow() {  # LETTER NAME
  on "flow-$1" c osmtest -f "$1" -i "$work/inventory"
  expect "flow-$1" "TEST \"$2\" PASS"
}
flow c 'Create Inventory'
grep -q 'port_guid' "$work/inventory" || fail "the inventory has no ports"
flow v 'Validate Inventory'
flow m 'Multicast'

# It writes the prefix of the GID that a service is at backwards: OpenSM takes that, Weft refuses
# what is no GID of a port.
if [[ $manager == weft ]]; then
  spawn flow-s "$weft" run --node c -- osmtest -f s -i "$work/inventory"
  wait "${pid_of[flow-s]}" || :
  unset "pid_of[flow-s]"
  expect flow-s 'osmt_register_service: Remote error = IB_SA_MAD_STATUS_REQ_INVALID'
  exit 0
fi
spawn services "$weft" run --node c -- osmtest -f s -i "$work/inventory"
until "$weft" run --node d -- saquery SR >"$work/records" && grep -q 'osmt.srvc' "$work/records"; do
  kill -0 "${pid_of[services]}" || fail "saquery has seen no service"
done
finish services
expect services 'TEST "Services Registration" PASS'
