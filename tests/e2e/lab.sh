#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lab.sh: a lab of two switches and four nodes under OpenSM, from its beginning to its end:
# its state, real tools on its nodes, a cable pulled, a link degraded, a capture, and what is left
# behind when the lab ends or is killed.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
need opensm ibnetdiscover sminfo saquery perfquery tshark python3
begin
# shellcheck source=tests/e2e/lab_lib.sh
source "$(dirname "$0")/lab_lib.sh"
lab_file=$source_tree/examples/labs/two-switches.toml

spawn lab "$weft" up --sm none "$lab_file"
await lab '^lab two-switches: 2 switches, 4 channel adapters, 7 links'
await_states '{"Initializing":7}'
spawn again "$weft" up --sm none "$lab_file"
finish again 2
expect again 'a lab named two-switches runs already'

spawn opensm "$weft" run --node a -- opensm -f "$work/opensm.log"
await_states '{"Active":7}'
expect opensm 'Entering MASTER state'

# What the tools find is what the lab file says.
on discover b ibnetdiscover
[[ $(grep -c '^Switch' "$work/discover.out") == 2 ]] || fail "not two switches"
[[ $(grep -c '^Ca' "$work/discover.out") == 4 ]] || fail "not four channel adapters"
run imported "$weft" lab import "$work/discover.out"
[[ $(grep -c 'ends = ' "$work/imported.out") == 7 ]] || fail "not seven links in the listing"
on sminfo d sminfo
expect sminfo 'SMINFO_MASTER'
for node in a b c d; do
  on "saquery-$node" "$node" saquery NR
  [[ $(grep -c '^NodeRecord' "$work/saquery-$node.out") == 7 ]] || fail "$node: not seven end ports"
done
on perfquery c perfquery 1 1
expect perfquery 'PortXmitPkts:\.+[1-9]'

# A capture of a trunk, which tshark understands.
spawn capture "$weft" capture trunk mad -c 4 -w "$work/trunk.pcapng"
await capture '^weft capture: listening on trunk'
on sminfo c sminfo
on ibstat c ibstat
on ibtracert c ibtracert "$(awk '/Base lid/ { print $3; exit }' "$work/ibstat.out")" 1
expect ibtracert '^To ca'
finish capture
[[ $(tshark -r "$work/trunk.pcapng" -Y infiniband.bth.destqp 2>/dev/null | wc -l) == 4 ]] ||
  fail "tshark does not find four packets"

# A cable is pulled, and the subnet manager goes on without it, then takes it back.
run pulled "$weft" link trunk down
await_states '{"Active":6,"Down":1}'
on rerouted c sminfo
expect rerouted 'SMINFO_MASTER'
run plugged "$weft" link trunk up
await_states '{"Active":7}'
run degraded "$weft" link trunk degrade loss=1%,delay=1ms,seed=7 --json
expect degraded '"emulation": "[^"]*loss'
spawn wrong "$weft" link trunk degrade los=1%
finish wrong 2
expect wrong 'los'
run flapping "$weft" link trunk degrade none,flap=100ms,outage=200ms
await_states '{"Active":6,"Down":1}'
run healed "$weft" link trunk degrade none
await_states '{"Active":7}'

# It ends when it is told to, and leaves nothing; killed, it can be begun again.
stop opensm
run down "$weft" down
finish lab
[[ -z $(lab_pid) ]] || fail "the lab is still there"
for socket in mads admin; do
  [[ ! -e $work/weft/labs/two-switches/$socket ]] || fail "$socket is left behind"
done
run behind "$weft" up --detach --sm none "$lab_file"
killed=$(lab_pid)
kill -KILL "$killed"
while [[ -n $(tr -d '\0' <"/proc/$killed/cmdline") ]]; do sleep 0.02; done 2>/dev/null
run after "$weft" up --detach --sm none "$lab_file"
detached+=("$(lab_pid)")
await_states '{"Initializing":7}'
run down "$weft" down two-switches
