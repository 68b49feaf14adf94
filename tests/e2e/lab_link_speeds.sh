#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lab_link_speeds.sh weft|opensm: links that negotiate their speed come up as their ports and
# cables allow; iblinkinfo sees the speeds, `weft link` how they came about, a capture the messages;
# a noisy cable makes errors, and they keep to the specification.
set -euo pipefail
time_limit=120
source "$(dirname "$0")/lib.sh"
need opensm iblinkinfo perfquery smpquery python3 tshark
begin
# shellcheck source=tests/e2e/lab_lib.sh
source "$(dirname "$0")/lab_lib.sh"
lab=$source_tree/examples/labs/link-speeds.toml

if [[ $1 == weft ]]; then
  spawn lab "$weft" up "$lab"
else
  spawn lab "$weft" up --sm none "$lab"
  await lab 'weft run --node'
  spawn opensm "$weft" run --node five -- opensm -f "$work/opensm.log"
fi
# The link that sweeps longest is down until it has: five iterations of 750 ms at both ends.
for ((tries = 0; tries < 100; tries++)); do
  "$weft" link short >"$work/early.out" 2>&1 || { sleep 0.05; continue; }
  ! grep -q 'negotiates: sweeping' "$work/early.out" || break
  sleep 0.05
done
expect early 'leaf:1 state Down physical_state Polling'
expect early 'one:1 negotiates: sweeping'
await_states '{"Active":5}'

# speed_of NAME: of the link from the switch to that node, by iblinkinfo.
on speeds five iblinkinfo
speed_of() {
  grep -oE "==\( *4X +[0-9.]+ Gbps Active/ +LinkUp\)==> .*\"$1\"" "$work/speeds.out" |
    grep -oE '[0-9.]+ Gbps' | head -n 1
}
expect_speed() {  # SPEED NODE
  [[ $(speed_of "$2") == "$1" ]] || fail "the link of $2 is at '$(speed_of "$2")', not $1"
}
expect_speed '5.0 Gbps' one
expect_speed '5.0 Gbps' four
expect_speed '5.0 Gbps' five
expect_speed '2.5 Gbps' two
expect_speed '2.5 Gbps' three

# What PortInfo says of a port that negotiates (specification, table 3).
on info two smpquery -D portinfo 0
expect info 'LinkSpeedSupported:\.+2\.5 Gbps or 5\.0 Gbps'
expect info 'LinkSpeedActive:\.+2\.5 Gbps'

# A noisy cable makes errors on an idle link too.
on errors three perfquery
expect errors 'SymbolErrorCounter:\.+[1-9]'
expect errors 'LinkErrorRecoveryCounter:\.+0'
run noisy "$weft" link slow
expect noisy 'bits arrive wrong with probability [0-9.]+e-[0-9]+, and [1-9][0-9]* symbols have'

run shown "$weft" link show short
expect shown 'leaf:1 negotiates: DDR \(both ends agreed\)'
expect shown 'Node 0 --> +Capabilities Advertisement: 5G, 3 iterations of 750 ms'
expect shown '<-- Node 1 +Capabilities Advertisement: 5G, 5 iterations of 500 ms'
expect shown 'Result Advertisement \+ ACK: 5G, '
expect shown '^4 .* mV' 'the fifth iteration'
refuse shown '^5 '
run long "$weft" link long show
expect long 'two:1 negotiates: ended at SDR \(no settings found'
run unswept "$weft" link unswept
expect unswept 'four:1 negotiates: DDR'
refuse unswept 'sweeping'
run report "$weft" link short --json
python3 - "$work/report.out" <<'CHECK' || fail "the report of link short is wrong"
import json, sys
link = json.load(open(sys.argv[1]))["negotiation"]
leaf, one = link["ends"]
assert [len(leaf["sweep"]), len(leaf["sweep"][0]), len(one["sweep"][0])] == [5, 9, 4], link
assert leaf["transmit"] == one["iteration"] % 3 and one["transmit"] == leaf["iteration"] % 5
times = {(step["end"], step["state"]): step["ns"] for step in link["timeline"] if "state" in step}
for end in ("leaf:1", "one:1"):
    assert times[end, "returning to SDR"] - times[end, "sweeping"] == 5 * 750_000_000, times
CHECK
run drawn "$weft" link show short --svg "$work/sweep.svg"
python3 -c "
import sys, xml.dom.minidom as dom
assert len(dom.parse(sys.argv[1]).getElementsByTagName('rect')) == 1 + 5 * 9 + 5 * 4" \
  "$work/sweep.svg" || fail "the picture of the sweep has not a field for each pair of settings"
spawn plain "$weft" link show plain --svg "$work/plain.svg"
finish plain 2
expect plain 'negotiate nothing'

# The ports say the same again when the cable comes back, for all to see.
spawn capture "$weft" capture short mad -c 40 -w "$work/short.pcapng"
await capture '^weft capture: listening on short'
run pulled "$weft" link short down
run plugged "$weft" link short up
finish capture
tshark -r "$work/short.pcapng" \
  -Y 'infiniband.mad.mgmtclass == 0x81 && infiniband.mad.attributeid == 0x02c9' \
  >"$work/mads.out" 2>"$work/tshark.out" || fail "tshark does not read the capture"
[[ $(wc -l <"$work/mads.out") -ge 32 ]] || fail "tshark does not see the messages of the ports"

# Both ends keep to the specification, as the capture has it and as the lab does.
run conform "$weft" link conform --capture "$work/short.pcapng"
for end in leaf:1 one:1; do
  expect conform "^$end: [0-9]+ of [0-9]+ requirements pass, 0 fail"
done
expect conform '^pass +sweep-duration .* agreed were 5 x 750 ms'
expect conform '^pass +lane '
run timeline "$weft" link conform short --json
python3 - "$work/timeline.out" <<'CHECK' || fail "the ports of link short do not conform"
import json, sys
report = json.load(open(sys.argv[1]))
assert [end["at"] for end in report["ends"]] == ["leaf:1", "one:1"], report
for end in report["ends"]:
    verdicts = {row["id"]: row["verdict"] for row in end["requirements"]}
    assert end["fail"] == 0 and verdicts["goes-to-ddr"] == verdicts["sweep-duration"] == "pass", end
CHECK
# Without the answers of one end, that end does not.
python3 - "$work/short.pcapng" "$work/mute.pcapng" <<'CUT'
import struct, sys
ENHANCED_PACKET, HEADER, ERF, MAD = 6, 28, 16, 28  # MAD: behind LRH, BTH and DETH
data, out, at = open(sys.argv[1], "rb").read(), b"", 0
while at < len(data):
    kind, size = struct.unpack_from("<II", data, at)
    mad = data[at + HEADER + ERF + MAD:at + size]
    mute = (kind == ENHANCED_PACKET and struct.unpack_from("<I", data, at + 8) == (1,)
            and mad[16:18] == b"\x02\xc9" and mad[64] >> 6 == 2)
    out += b"" if mute else data[at:at + size]
    at += size
open(sys.argv[2], "wb").write(out)
CUT
spawn mute "$weft" link conform --capture "$work/mute.pcapng"
finish mute 1
expect mute '^leaf:1: [0-9]+ of [0-9]+ requirements pass, 0 fail'
expect mute '^fail acknowledges: '
expect mute '^one:1: .* 1 fail'
spawn plain-ports "$weft" link conform plain
finish plain-ports 2
expect plain-ports 'negotiate nothing'
await_states '{"Active":5}'

[[ -z ${pid_of[opensm]:-} ]] || stop opensm
run down "$weft" down
finish lab
