#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lab_sm.sh: labs that nobody but Weft's own subnet manager brings up, and what the field's
# tools and programs find there; and one that `weft up` gives to OpenSM.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
need opensm ibnetdiscover sminfo saquery rping mckey ibv_rc_pingpong python3
begin
# shellcheck source=tests/e2e/lab_lib.sh
source "$(dirname "$0")/lab_lib.sh"
lab_file=$source_tree/examples/labs/two-switches.toml

spawn lab "$weft" up "$lab_file"
await lab '^  subnet manager     its own \(minhop\)'
await_states '{"Active":7}'
run status "$weft" status
expect status '^  sm on left: MASTER, minhop, [1-9][0-9]* sweep'

# What the tools see of it.
on sminfo d sminfo
expect sminfo 'SMINFO_MASTER'
on discover b ibnetdiscover
[[ $(grep -c '^Switch' "$work/discover.out") == 2 ]] || fail "not two switches"
[[ $(grep -c '^Ca' "$work/discover.out") == 4 ]] || fail "not four channel adapters"
for node in a b c d; do
  on "nodes-$node" "$node" saquery NR
  [[ $(grep -c '^NodeRecord' "$work/nodes-$node.out") == 7 ]] || fail "$node: not seven end ports"
done
on paths c saquery PR
expect paths 'PathRecord dump'
on classes c saquery CPI
expect classes 'Capability mask'

# What the manager itself says.
run sm "$weft" sm
expect sm '^  sm on left: MASTER'
run explain "$weft" sm explain a d:2
expect explain '^a:1 lid [0-9]+ to d:2 lid [0-9]+: 2 links, MTU 4096, 40 Gb/s, SL 0, P_Key 0xffff'
run explain "$weft" sm explain a c
expect explain '^  left:[78] -> right:[78] +one of 2 ports that lead as near'
run path "$weft" sm path a c --json
expect path '"reachable": true'
run history "$weft" sm history
expect history 'state +.*MASTER'
# In the form that Prometheus reads: the same as in the report.
run metrics "$weft" sm metrics
run report "$weft" sm --json
run samples python3 "$source_tree/tests/tools/check_metrics.py" --prefix weft_sm_ \
  "$work/metrics.out"
expect samples '^weft_sm_state\{state="MASTER"\} 1$'
expect samples '^weft_sm_state\{state="STANDBY"\} 0$'
expect samples '^weft_sm_last_sweep_links 7$'
expect samples '^weft_sm_sa_queries_total\{attribute="NodeRecord",method="GetTable"\} 4$'
expect samples '^weft_sm_sa_queries_total\{attribute="ClassPortInfo",method="Get"\} [1-9]'
python3 - "$work/report.out" "$work/samples.out" <<'SAME' || fail "metrics and report differ"
import json, sys
report = json.load(open(sys.argv[1]))
values = dict(line.rsplit(" ", 1) for line in open(sys.argv[2]).read().splitlines())
# What nobody adds to meanwhile.
same = [(report["counters"]["sa_records"], values["weft_sm_sa_records_total"]),
        (report["groups"], values["weft_sm_groups"]),
        (report["services"], values["weft_sm_services"]),
        (report["counters"]["sa_queries"],
         sum(int(value) for name, value in values.items() if "_sa_queries_total{" in name))]
for in_report, in_metrics in same:
    assert in_report == int(in_metrics), same
# The manager goes on looking, and the report was later.
grown = [(report["sweeps"], values["weft_sm_sweeps_total"]),
         (report["smps"]["sent"], values["weft_sm_smps_sent_total"]),
         (report["smps"]["answered"], values["weft_sm_smps_answered_total"])]
for in_report, in_metrics in grown:
    assert in_report >= int(in_metrics) > 0, grown
assert float(values['weft_sm_last_sweep_seconds{phase="discovery"}']) > 0
assert report["last_sweep"]["discovery_s"] > 0
SAME
spawn structured "$weft" sm metrics --json
finish structured 2
expect structured 'metrics has a form of its own'
spawn nobody "$weft" sm path a e
finish nobody 2
expect nobody 'e: no end port of the subnet is called so'
spawn wrong "$weft" sm paths
finish wrong 2
expect wrong 'paths: no such action'

# Programs: connections made by hand, and by addresses, for which the administrator knows paths.
port=$(free_port)
spawn pong "$weft" run --node c -- ibv_rc_pingpong -p "$port"
await_listener pong "$port"
on ping a ibv_rc_pingpong -p "$port" 127.0.0.1
finish pong
expect ping 'bytes in'
address_of() {  # NODE
  of_lab "[node['ports'][0]['ip'] for node in lab[0]['nodes'] if node['name'] == '$1'][0]"
}
a=$(address_of a) c=$(address_of c) d=$(address_of d)
spawn server "$weft" run --node c -- rping -s -a "$c" -C 10 -v
await_ids c 1
spawn client "$weft" run --node a -- rping -c -a "$c" -C 10 -v
finish_rping client
expect client 'ping data: rdma-ping-9'
finish_rping server

# A group, of which the administrator makes a tree through both switches.
spawn receiver "$weft" run --node d -- stdbuf -oL mckey -m 239.1.2.3 -b "$d" -C 100
await receiver 'joined dgid: ff12:4001:'
spawn sender "$weft" run --node a -- mckey -m 239.1.2.3 -b "$a" -C 100 -s
finish sender
finish receiver
expect receiver 'return status 0'
on groups b saquery -g
expect groups '401b:ffff'
on tables b saquery MFTR
expect tables 'MFT Record dump|MFTRecord dump'

# A cable is pulled, and put back.
run pulled "$weft" link trunk down
await_states '{"Active":6,"Down":1}'
run plugged "$weft" link trunk up
await_states '{"Active":7}'
run down "$weft" down
finish lab

# The same lab, with another manager.
run behind "$weft" up --detach --sm opensm "$lab_file"
expect behind '^  subnet manager     opensm on a'
detached+=("$(lab_pid)")
await_states '{"Active":7}'
on sminfo c sminfo
expect sminfo 'SMINFO_MASTER'
spawn foreign "$weft" sm
finish foreign 2
expect foreign 'has no subnet manager of its own'
run down "$weft" down
