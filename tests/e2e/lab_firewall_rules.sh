#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lab_firewall_rules.sh: firewalls in a lab's daemon, in a process of their own and on an
# external server get other rules while a connection goes through one of them: wrong ones change
# nothing, right ones are in force at once. What rules with `log` match is said where docs/
# firewall.md says, and a dry run lets through what it counts.
set -euo pipefail
time_limit=100
source "$(dirname "$0")/lib.sh"
need rping
begin
# shellcheck source=tests/e2e/lab_lib.sh
source "$source_tree/tests/e2e/lab_lib.sh"

port=$(free_port)
cat >"$work/rules.toml" <<TOML
name = "rules-$$"
network = "127.248.0.0/16"
[switch]
s = { ports = 12 }
[node]
db = {}
[[link]]
ends = ["db", "s"]
TOML
for way in daemon trial process server; do
  case $way in
    daemon) what='type = "firewall"\nrules = "daemon.rules"' ;;
    trial) what='type = "firewall"\nrules = "trial.rules"\ndry_run = true' ;;
    process) what='type = "process"' ;;
    server) what="type = \"external\"\nserver = \"127.0.0.1:$port\"\ninsecure = true" ;;
  esac
  cat >>"$work/rules.toml" <<TOML
[node.app-$way]
[node.fw-$way]
[service.$way]
at = "fw-$way"
$(echo -e "$what")
[[policy]]
from = "app-$way"
to = "db"
through = "$way"
symmetric = true
[[link]]
ends = ["app-$way", "s"]
[[link]]
ends = ["fw-$way", "s"]
TOML
done
db=127.248.0.1

# rules NAME RULE ...: the first of them is in line 5.
rules() {
  {
    printf 'table fabric {\n  chain forward {\n    hook forward; policy drop;\n'
    printf '    ct state established accept\n'
    printf '    %s\n' "${@:2}"
    printf '  }\n}\n'
  } >"$work/$1.rules.new"
  mv "$work/$1.rules.new" "$work/$1.rules"
}
# child NAME: the program itself, and not the one that waits for it.
child() { cat "/proc/${pid_of[$1]}/task/${pid_of[$1]}/children"; }
# hang_up NAME: it reads its rules anew.
hang_up() {
  local pid
  pid=$(child "$1")
  kill -HUP "${pid// /}"
}
# service NAME EXPRESSION: of what `weft service` says of it.
service() {
  "$weft" service "$1" --json |
    python3 -c "import json, sys; s = json.load(sys.stdin)['services'][0]; print($2)"
}
# await_above EXPRESSION COUNT WHY: of service daemon.
await_above() {
  local tries
  for ((tries = 0; tries < 300; tries++)); do
    ! is_above "$(service daemon "$1")" "$2" || return 0
    kill -0 "${pid_of[long]}" || fail "$3: the connection has ended"
    sleep 0.05
  done
  fail "$3: $1 is $(service daemon "$1"), not above $2"
}
# goes_on WHY: what has stood all the time still does.
goes_on() {
  local forwarded
  forwarded=$(service daemon "s['counters']['forwarded']")
  await_above "s['counters']['forwarded']" "$((forwarded + 100))" "$1"
}
# await_path WAY: until paths lead through the firewall there.
await_path() {
  local tries
  for ((tries = 0; tries < 300; tries++)); do
    [[ $("$weft" policy explain "app-$1" db --json) != *"\"fw-$1:1\""* ]] || return 0
    sleep 0.05
  done
  fail "no path leads through fw-$1: $("$weft" policy explain "app-$1" db --json)"
}
# connects WAY PORT: whether a connection comes about from there. Refused ones are told so.
connects() {
  local code=0
  spawn server "$weft" run --node db -- rping -s -a "$db" -p "$2" -C 2
  await_ids db "$((long_ids + 1))"
  spawn client "$weft" run --node "app-$1" -- timeout 30 rping -c -a "$db" -p "$2" -C 2
  wait "${pid_of[client]}" || code=$?
  unset "pid_of[client]"
  [[ $code -ne 124 ]] || fail "nobody has told $1 that port $2 is closed"
  if [[ $code -eq 0 ]]; then
    finish_rping server
    return 0
  fi
  stop server INT
  return 1
}
long_ids=0

rules daemon 'service tcp:5432 log prefix "database " accept' \
  'service tcp:5433 log prefix "closed " reject'
rules trial 'service tcp:1 accept' 'log prefix "trial "'
rules process 'service tcp:5433 log reject'
rules server 'service tcp:5433 log reject'
spawn lab "$weft" up "$work/rules.toml"
await lab '^  subnet manager     its own \(minhop\)'
await_states '{"Active":9}'
spawn process "$weft" service run firewall --node fw-process --rules "$work/process.rules" \
  --threads 2
await process '^firewall serves on node fw-process'
spawn external "$weft" serve firewall --listen "127.0.0.1:$port" --insecure \
  --rules "$work/server.rules"
await external ' is there, '
await_path process
await_path server

# In the daemon: one port is open, the other one closed, and both are logged.
spawn accepter "$weft" run --node db -- rping -s -a "$db" -p 5432
await_ids db 1
spawn long "$weft" run --node app-daemon -- rping -c -a "$db" -p 5432
await_ids db 2
long_ids=2
! connects daemon 5433 || fail "a connection to a closed port came about"
where='daemon at fw-daemon: line'
await lab "^weft: database $where 5 of forward: accept .* REQ service 0x10+61538, "
await lab "^weft: closed $where 6 of forward: reject .* REQ service 0x10+61539, "
run shown "$weft" service daemon
expect shown "^  [0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8} closed $where 6 of forward: reject "
[[ $(service daemon "s['service']['log_lines']") -ge 2 ]] || fail "$(service daemon "s['service']")"

# Wrong rules: it is said where, and everything is as before.
rules daemon 'service tcp:5433 accept' 'slid 0x10000 accept'
spawn reload "$weft" service daemon reload
finish reload 2
expect reload "^weft service: nothing is changed: $work/daemon\\.rules:6:10: want a LID"
goes_on 'with wrong rules'
! connects daemon 5433 || fail "a port is open by rules that are wrong"
# Right ones: what was closed is open, and what has stood goes on.
rules daemon 'service tcp:5432 accept' 'service tcp:5433 accept'
run reload "$weft" service daemon reload
expect reload '^daemon at fw-daemon: 3 rules; [1-9][0-9]* connections? goe?s? on, 0 are forgotten$'
goes_on 'with other rules'
connects daemon 5433 || fail "a port is closed that the new rules have open"
# They are for what stands, too.
rules daemon 'service tcp:5433 accept'
run reload "$weft" service daemon reload --json
python3 - "$work/reload.out" <<'PYTHON' || fail "the connection is not forgotten"
import json, sys
(row,) = json.load(open(sys.argv[1]))["services"]
sys.exit(row["name"] != "daemon" or row["rules"] != 2 or row["forgotten"] < 1)
PYTHON
await_above "s['drops'].get('state', 0)" 0 'with rules that refuse it'
stop long
stop accepter
long_ids=0

# What has no rules that are read here says so.
spawn reload "$weft" service process reload
finish reload 2
expect reload 'process works in a process of its own: that reads its rules anew on SIGHUP'
spawn reload "$weft" service nobody reload
finish reload 2
expect reload 'has no service nobody; there are daemon, trial, process, server'

# In a dry run what no rule allows passes, and is counted and said.
connects trial 5434 || fail "a dry run has refused a connection"
is_above "$(service trial "s['service']['would_drop']")" 2 || fail "nothing would have been dropped"
dropped=$(service trial "s['drops']")
[[ $dropped == '{}' ]] || fail "a dry run has dropped $dropped"
await lab '^weft: trial trial at fw-trial: line 6 of forward: would drop \(policy\) .* REQ '
run table "$weft" service
expect table '^trial +firewall +fw-trial .* dry run: would drop [1-9]'

# In a process of its own, and on a server: SIGHUP reads the rules anew.
for way in process server; do
  name=${way/server/external}
  ! connects "$way" 5433 || fail "a connection to a closed port came about, by the $way"
  await "$name" '^weft: firewall at [a-z0-9-]+: line 5 of forward: reject .* REQ service 0x10+6153'
  rules "$way" 'service tcp:5433 accept' 'slid 0x10000 accept'
  hang_up "$name"
  await "$name" "^weft serv(e|ice): nothing is changed: $work/$way\\.rules:6:10: want a LID"
  ! connects "$way" 5433 || fail "a port is open by rules that are wrong, by the $way"
  rules "$way" 'service tcp:5433 accept'
  hang_up "$name"
  await "$name" '^weft serv(e|ice): the rules are exchanged: 2 rules; '
  connects "$way" 5433 || fail "a port is closed that the new rules have open, by the $way"
done
kill -TERM "${pid_of[process]}"
finish process
expect process '^ *log_lines +([2-9]|[1-9][0-9])( |$)'
kill -TERM "${pid_of[external]}"
finish external
# With --dry-run they pass all, and count it.
rules process 'service tcp:1 accept'
spawn process "$weft" service run firewall --node fw-process --rules "$work/process.rules" \
  --dry-run
await process '^firewall serves on node fw-process'
await_path process
connects process 5433 || fail "a dry run has refused a connection, by the process"
kill -TERM "${pid_of[process]}"
finish process
expect process '^ *would_drop +[1-9]'
stop lab INT
