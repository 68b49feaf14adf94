#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lab_two_subnets.sh: two subnets of one lab, each with its own manager, that a node with a
# service between them joins: the administrators lead there, programs of rdma_cm connect across, its
# firewall refuses what it is to refuse, and what goes nowhere is counted.
set -euo pipefail
# shellcheck disable=SC2034  # lib.sh reads it
time_limit=150
source "$(dirname "$0")/lib.sh"
need ib_send_bw rping saquery ibaddr python3
begin
# shellcheck source=tests/e2e/lab_lib.sh
source "$source_tree/tests/e2e/lab_lib.sh"

app=127.251.0.1
db=127.251.0.2

# router EXPRESSION: of what `weft status` says of the service.
router() { of_lab "str([($1) for s in lab[0]['services']][0])"; }
gid_of() { # NODE
  on "gid-$1" "$1" ibaddr
  awk '/GID/ { print $2; exit }' "$work/gid-$1.out"
}
start() { # FILE
  spawn lab "$weft" up "$1"
  await lab '^  subnet manager     its own, of 2 subnets'
  await_states '{"Active":5}'
}

start "$source_tree/examples/labs/two-subnets.toml"
# Two subnets, with the same LIDs.
app_gid=$(gid_of app)
db_gid=$(gid_of db)
[[ $app_gid == fd00::1:* && $db_gid == fd00::2:* ]] || fail "GIDs $app_gid and $db_gid"
on east db saquery NR
[[ $(grep -c '^NodeRecord' "$work/east.out") == 4 ]] || fail "the east has not four end ports"
refuse east 'app'

# The way there: through the service, which is not the node's own LID, and back.
for ends in "app $app_gid $db_gid" "db $db_gid $app_gid"; do
  read -r node from to <<<"$ends"
  on "path-$node" "$node" saquery PR --sgid "$from" --dgid "$to"
  expect "path-$node" "dgid\\.+$to\$"
  expect "path-$node" 'hop_flow_raw\.+0xFF$'
done
run explain "$weft" policy explain app "$db_gid"
expect explain 'router'
run back "$weft" policy explain db "$app_gid"
expect back 'router'

# Programs that know nothing of it.
spawn server "$weft" run --node db -- ib_send_bw -R -p 5432 -F -n 500 -s 4096
await_ids db 1
spawn client "$weft" run --node app -- ib_send_bw -R -p 5432 -F -n 500 -s 4096 "$db"
finish client
finish server
expect client '^ 4096 +500 '
across=$(router "s['service'].get('routed', 0)")
is_above "$across" 500 || fail "only $across packets were routed"
spawn server "$weft" run --node app -- rping -s -a "$app" -p 5432 -C 20 -S 4096 -V
await_ids app 1
spawn client "$weft" run --node db -- rping -c -a "$app" -p 5432 -C 20 -S 4096 -V
finish_rping client
finish_rping server
is_above "$(router "s['service'].get('routed', 0)")" "$((across + 20))" || fail "nothing came back"

# Another port is closed.
spawn server "$weft" run --node db -- rping -s -a "$db" -p 5433 -C 5
await_ids db 1
spawn client "$weft" run --node app -- timeout 20 rping -c -a "$db" -p 5433 -C 5
code=0
wait "${pid_of[client]}" || code=$?
unset "pid_of[client]"
[[ $code -ne 0 ]] || fail "a connection to a closed port came about"
is_above "$(router "s['counters']['drop_by_service']")" 0 || fail "nothing was dropped"
stop server INT

# Inside a subnet nothing leads through it.
before=$(router "s['counters']['packets']")
spawn server "$weft" run --node db -- rping -s -a "$db" -p 5433 -C 5
await_ids db 1
spawn client "$weft" run --node db2 -- rping -c -a "$db" -p 5433 -C 5
finish_rping client
finish_rping server
after=$(router "s['counters']['packets']")
[[ $after == "$before" ]] || fail "a way inside a subnet led out of it"

# The service is gone with its port, and comes again.
run cut "$weft" link east-gate down
await_states '{"Active":4,"Down":1}'
run join "$weft" link east-gate up
await_states '{"Active":5}'
spawn server "$weft" run --node db -- ib_send_bw -R -p 5432 -F -n 100 -s 4096
await_ids db 1
spawn client "$weft" run --node app -- ib_send_bw -R -p 5432 -F -n 100 -s 4096 "$db"
finish client
finish server
run down "$weft" down
finish lab

# Without rules, everything goes across, but what has no hops left or goes nowhere.
grep -v '^rules' "$source_tree/examples/labs/two-subnets.toml" >"$work/open.toml"
start "$work/open.toml"
on path app saquery PR --sgid "$(gid_of app)" --dgid "$(gid_of db)"
gate=$(sed -nE 's/.*dlid\.+(0x)?([0-9A-Fa-f]+)$/\2/p' "$work/path.out")
send() { on datagrams app /usr/bin/python3 "$source_tree/tests/e2e/routed_datagrams.py" "$@"; }
send "$db_gid" "$gate" 1 --count 3
[[ $(router "s['counters']['drop_hop_limit']") == 3 ]] || fail "the last hop went further"
send fd00:0:0:9::1 "$gate" 64 --count 2
[[ $(router "s['drops']['no_route']") == 2 ]] || fail "nowhere is not counted"
send "$db_gid" "$gate" 2
[[ $(router "s['counters']['drop_hop_limit']") == 3 ]] || fail "a hop to spare was not enough"
stop lab INT

# A pair of firewalls in the west stands before the router there and back, and on no way inside the
# east. The standby goes on when the active one is gone.
sed -e 's|^db2 = {}|&\nfw1 = {}\nfw2 = {}|' "$work/open.toml" >"$work/guarded.toml"
cat >>"$work/guarded.toml" <<'TEXT'
[[link]]
ends = ["fw1", "west"]
[[link]]
ends = ["fw2", "west"]
[service.firewall]
at = [["fw1", "fw2"]]
TEXT
spawn lab "$weft" up "$work/guarded.toml"
await lab '^  subnet manager     its own, of 2 subnets'
await_states '{"Active":7}'
# forwarded NODE: packets that its service has sent on.
forwarded() { of_lab "str([s['counters'].get('forwarded', 0) for s in lab[0]['services']
                       if s['node'] == '$1'][0])"; }
ping() { # SERVER ADDRESS CLIENT
  spawn server "$weft" run --node "$1" -- rping -s -a "$2" -p 5432 -C 10
  await_ids "$1" 1
  spawn client "$weft" run --node "$3" -- rping -c -a "$2" -p 5432 -C 10
  finish_rping client
  finish_rping server
}
ping db "$db" db2
[[ $(forwarded fw1) == 0 && $(forwarded gate) == 0 ]] || fail "a way inside the east led out of it"
ping db "$db" app
routed=$(forwarded gate)
[[ $(forwarded fw1) == "$routed" ]] || fail "not all that was routed went by the firewall"
run cut "$weft" link fw1:1 down
await_states '{"Active":6,"Down":1}'
ping app "$app" db
is_above "$(forwarded fw2)" 40 || fail "the standby did not go on"
ping db "$db" db2
stop lab INT
