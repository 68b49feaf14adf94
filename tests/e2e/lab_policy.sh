#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lab_policy.sh: which paths the subnet administrator of a lab leads through data services,
# as saquery sees it on its nodes; rules for one service and for one class of service, as programs
# of rdma_cm ask for them; rules that are changed meanwhile; an instance that is cut off.
set -euo pipefail
# shellcheck disable=SC2034  # lib.sh reads it
time_limit=150
source "$(dirname "$0")/lib.sh"
need saquery rping ucmatose python3
begin
# shellcheck source=tests/e2e/lab_lib.sh
source "$(dirname "$0")/lab_lib.sh"

sed 's|^name = "data-service"|&\nnetwork = "127.244.0.0/16"|' \
  "$source_tree/examples/labs/data-service.toml" >"$work/data-service.toml"
spawn lab "$weft" up "$work/data-service.toml"
await lab '^  subnet manager     its own \(minhop\)'
await_states '{"Active":6}'

# of NAME EXPRESSION: of the JSON that NAME has printed.
of() {
  python3 -c "import json, sys; out = json.load(open(sys.argv[1])); print($2)" "$work/$1.out"
}
# refused TEXT WORD ...: `weft policy` with these words ends with 2, and says so.
refused() {
  local text=$1
  shift
  spawn refused "$weft" policy "$@"
  finish refused 2
  expect refused "$text"
}
# The path that NODE is told, from one GID to another.
path() {  # NAME NODE FROM TO
  on "$1" "$2" saquery PR --sgid "$3" --dgid "$4"
}
# service_lid MEMBER: and where it leads.
service_lid() {
  "$weft" policy --json | python3 -c "
import json, sys
pair = json.load(sys.stdin)['services'][0]['instances'][0]
lid = pair[$1]['lids'][0]
print(lid['lid'], lid['leads_to'])"
}

# await_lead NODE:PORT: until the first service LID leads there.
await_lead() {
  local leads
  for ((tries = 0; tries < 100; tries++)); do
    read -r _ leads < <(service_lid 0)
    [[ $leads != "$1" ]] || return 0
  done
  fail "LID $first leads to $leads, not to $1"
}

run rules "$weft" policy
expect rules '^1 +a-and-b +a:1 +b:1 +symmetric +through firewall +0$'
expect rules '^2 +closed +c:1 +fw2:1 +- +none +0$'
expect rules '^else '
expect rules '^firewall +fw1:1 +well +[0-9]+$'
declare -A gid=()
for node in a b c fw2; do
  run explain "$weft" policy explain "$node" fw1 --json
  gid[$node]=$(of explain "out['from']")
done
read -r first leads < <(service_lid 0)
[[ $leads == fw1:1 ]] || fail "LID $first leads to $leads"
run lids "$weft" sm path a b --json
real=$(of lids "out['to']['lid']")

# The ends get the service's LID, and a GRH; the service the real one; others none, or their own.
path there a "${gid[a]}" "${gid[b]}"
expect there "dlid\.+$first$"
expect there 'hop_flow_raw\.+0xFF'
path back b "${gid[b]}" "${gid[a]}"
expect back "dlid\.+$first$"
path on fw1 "${gid[a]}" "${gid[b]}"
expect on "dlid\.+$real$"
expect on "slid\.+$first$"
path beside c "${gid[c]}" "${gid[b]}"
expect beside "dlid\.+$real$"
expect beside 'hop_flow_raw\.+0x0$'
path closed c "${gid[c]}" "${gid[fw2]}"
! grep -q 'dlid' "$work/closed.out" || fail "a path that a rule closes is told"
run hits "$weft" policy
expect hits '^1 +a-and-b .* [1-9][0-9]*$'
expect hits '^2 +closed .* 1$'

# Why.
run explain "$weft" policy explain c fw2
expect explain 'rule 1: not for its from$'
expect explain 'rule 2 closed: none$'
expect explain '^no path$'
run explain "$weft" policy explain a b requester=fw1
expect explain 'for service firewall'
expect explain '^the real LID$'

# A rule that goes, and one that comes, hold at once.
run deleted "$weft" policy delete closed
path opened c "${gid[c]}" "${gid[fw2]}"
expect opened 'dlid'
run added "$weft" policy add --before 1 name=first from=a to="b,${gid[c]}" answer=direct symmetric
expect added '^1 +first +a:1 +b:1,.* symmetric +direct +0$'
path direct a "${gid[a]}" "${gid[b]}"
expect direct "dlid\.+$real$"
run deleted "$weft" policy delete 1
refused 'there is no rule 9' delete 9
refused 'there is no service fire; there are firewall' add through=fire
refused 'from: there is no node x' add from=x answer=none
refused 'there is no such key; there are name, from' add color=1 answer=none

# One service goes through the firewall, there and back, and another one between the same two not:
# the service asks for the way on without knowing which it is.
passed() { "$weft" service firewall --json | python3 -c "
import json, sys
print(sum(s['counters'].get('forwarded', 0) for s in json.load(sys.stdin)['services']))"; }
run added "$weft" policy add --before 1 name=web from=c to=a service_id=0x1061538 through=firewall \
  symmetric
for port in 5433 5432; do
  before=$(passed)
  spawn server "$weft" run --node a -- rping -s -a 127.244.0.1 -p "$port" -C 5
  await_ids a 1
  spawn client "$weft" run --node c -- rping -c -a 127.244.0.1 -p "$port" -C 5
  finish_rping client
  finish_rping server
  case $port in
    5433) [[ $(passed) == "$before" ]] || fail "a service without a rule went through it" ;;
    5432) is_above "$(passed)" $((before + 20)) || fail "the service of the rule did not" ;;
  esac
done
run log "$weft" policy log
expect log ' c:1 +service_id=0x1061539 .* else +direct$'
expect log ' c:1 +service_id=0x1061538 .* 1 web +firewall at fw1:1$'
expect log ' fw1:1 +as firewall .* 1 web +direct$'
run deleted "$weft" policy delete web

# The same by the class of service: rdma_cm asks with a program's type of service as QoSClass.
run added "$weft" policy add --before 1 name=gold from=c to=a qos_class=32 through=firewall \
  symmetric
run explain "$weft" policy explain c a qos_class=32
expect explain '^through services$'
run explain "$weft" policy explain c a
expect explain '^the real LID$'
for class in 8 32; do
  before=$(passed)
  spawn server "$weft" run --node a -- ucmatose -C 20
  await_ids a 1
  spawn client "$weft" run --node c -- ucmatose -s 127.244.0.1 -C 20 -t "$class"
  finish client
  finish server
  expect client 'return status 0'
  case $class in
    8) [[ $(passed) == "$before" ]] || fail "a class without a rule went through it" ;;
    32) is_above "$(passed)" $((before + 20)) || fail "the class of the rule did not" ;;
  esac
done
run log "$weft" policy log
expect log ' c:1 +service_id=0x[0-9a-f]+ qos_class=8 .* else +direct$'
expect log ' c:1 +service_id=0x[0-9a-f]+ qos_class=32 .* 1 gold +firewall at fw1:1$'
expect log ' fw1:1 +as firewall .* 1 gold +direct$'
run deleted "$weft" policy delete gold

# The rules as a lab file has them, of which a manager makes the same ones below.
rules_json() { python3 -c '
import json, sys
rules = json.load(sys.stdin)["rules"]
print([{key: rule[key] for key in rule if key != "hits"} for rule in rules])'; }
run added "$weft" policy add --before 1 name=many from="a:1,${gid[c]}" to=b requester=fw1,7 \
  service_id=0x1000-0x1fff pkey=0x8001 sl=2 qos_class=5 through=firewall answer_sl=2 symmetric
run added "$weft" policy add to="fd00:0:0:2::/64" answer=none
exported=$("$weft" policy --json | rules_json)
run export "$weft" policy export
expect export '^from = \["a:1", ".*"\]$'
{
  sed '/^\[\[policy\]\]/,/^$/d' "$work/data-service.toml"
  output export
} >"$work/exported.toml"
run deleted "$weft" policy delete many
refused '--json is not of it' export --json
refused 'the lab file names no file for rules' save
refused '--save is of add and delete only' list --save

# An instance that is drained gives its LIDs away and gets no paths, until it is restored; it does
# not take them back.
run drained "$weft" policy drain fw1
expect drained '^firewall +fw1:1 +drained +'
await_lead fw2:1
path moved a "${gid[a]}" "${gid[b]}"
read -r second _ < <(service_lid 1)
expect moved "dlid\.+$second$"
refused 'a: no data service is there; they are at fw1:1, fw2:1' drain a
refused 'wants one port' restore
run restored "$weft" policy restore fw1
expect restored '^firewall +fw1:1 +well +'
run drained "$weft" policy drain fw2
await_lead fw1:1
run restored "$weft" policy restore fw2

# The standby takes the LID over, and is what new paths lead to.
run cut "$weft" link fw1:1 down
begun=$(date +%s%N)
await_lead fw2:1
echo "the standby has the LIDs $((($(date +%s%N) - begun) / 1000000)) ms after the cut"
run state "$weft" policy
expect state "^firewall +0x[0-9a-f]+ +not well +$first \(at fw2:1\)$"
read -r second _ < <(service_lid 1)
path standby a "${gid[a]}" "${gid[b]}"
expect standby "dlid\.+$second$"
run history "$weft" sm history
expect history 'service firewall: port 0x[0-9a-f]+ takes over from 0x'
stop lab INT

# A manager that is a process has the services and rules of a lab file.
spawn lab "$weft" up --sm none "$source_tree/examples/labs/data-service.toml"
await lab 'sm = "none": paths do not lead through data services, unless weft sm run --policies'
spawn wrong "$weft" sm run --node c --policies "$source_tree/examples/labs/firewall.rules"
finish wrong 2
expect wrong 'firewall.rules:'
spawn exports "$weft" sm run --node c --policies "$work/exported.toml"
await exports 'SUBNET UP'
await_states '{"Active":6}'
[[ $("$weft" policy --node c --json | rules_json) == "$exported" ]] ||
  fail "the rules were $exported, and are others when they are read again"
run cut "$weft" link a:1 down
await_states '{"Active":5,"Down":1}'
for ((tries = 0; tries < 100; tries++)); do
  "$weft" policy --node c export >/dev/null 2>&1 || break
  sleep 0.1
done
refused 'rule 1: from: port 0x[0-9a-f]+ is not there just now' --node c export
run joined "$weft" link a:1 up
stop exports INT
spawn manager "$weft" sm run --node c --policies "$source_tree/examples/labs/data-service.toml"
await manager 'SUBNET UP'
await_states '{"Active":6}'
run rules "$weft" policy --node c
expect rules '^1 +a-and-b +a:1 +b:1 +symmetric +through firewall +0$'
run services "$weft" policy --node c --json
first=$(of services "out['services'][0]['instances'][0][0]['lids'][0]['lid']")
path there a "${gid[a]}" "${gid[b]}"
expect there "dlid\.+$first$"
run added "$weft" policy --node c add --before 1 from=a to=b answer=none
path closed a "${gid[a]}" "${gid[b]}"
! grep -q 'dlid' "$work/closed.out" || fail "a path that a rule closes is told"
run drained "$weft" policy --node c drain fw1
expect drained '^firewall +fw1:1 +drained +'
stop manager INT
stop lab INT

# Rules of a file that the lab file names: they are kept when somebody says so, and then alone.
{
  echo 'policies = "kept.toml"'
  sed '/^\[\[policy\]\]/,/^$/d' "$source_tree/examples/labs/data-service.toml"
} >"$work/kept-lab.toml"
spawn wrong "$weft" lab check "$work/kept-lab.toml"
finish wrong 2
expect wrong '/kept.toml: No such file or directory$'
printf '[[policy]]\nto = "nobody"\nanswer = "none"\n' >"$work/kept.toml"
spawn wrong "$weft" up "$work/kept-lab.toml"
finish wrong 2
expect wrong '/kept.toml:1: policy.*: there is no node nobody$'
printf '[[policy]]\nname = "first"\nto = "a"\nanswer = "direct"\n' >"$work/kept.toml"
start_kept() {
  spawn lab "$weft" up "$work/kept-lab.toml"
  await lab '^  subnet manager     its own \(minhop\)'
  await_states '{"Active":6}'
}
kept() { "$weft" policy --json | python3 -c "
import json, sys
print([rule.get('name') for rule in json.load(sys.stdin)['rules']])"; }
start_kept
run added "$weft" policy add name=passing to=b answer=none
stop lab INT
start_kept
usual="'at-services', 'all-others'"  # of a service that no rule of the file names
[[ $(kept) == "['first', $usual]" ]] || fail "the rules are $(kept)"
run added "$weft" policy add --before first name=kept from=a to=b answer=none --save
expect added 'the rules are in .*/kept.toml$'
run added "$weft" policy add name=too to=c answer=none
run saved "$weft" policy save
stop lab INT
start_kept
[[ $(kept) == "['kept', 'first', $usual, 'too']" ]] || fail "the rules are $(kept)"
run deleted "$weft" policy delete first --save
stop lab INT
run checked "$weft" lab check "$work/kept-lab.toml"
! grep -q first "$work/kept.toml" || fail "a rule that was deleted is in the file"
