#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: lab_service_tables.sh WHAT: tables and figures of docs/data-services.md as labs. WHAT is
# one of
#   three-rules  whom the subnet administrator tells which LID; the way that packets take; and the
#                service level of a pair whose rule gives one, on each leg
#   addresses    what a port hands to its service and what to its protocol engine, by DLID; and the
#                LIDs that packets leave the service with, by DGID
#   filters      the same by DGID, and inverted: all that is not for the port itself
#   steered-partition   one partition talks through a firewall, another one directly
#   high-availability   the two ports of each end go through different firewalls, of which one dies
set -euo pipefail
# shellcheck disable=SC2034  # lib.sh reads it
time_limit=150
source "$(dirname "$0")/lib.sh"
need saquery udaddy rping python3
need_pyverbs
begin
# shellcheck source=tests/e2e/lab_lib.sh
source "$source_tree/tests/e2e/lab_lib.sh"

what=$1
a=fe80::aaaa b=fe80::bbbb c=fe80::cccc d=fe80::dddd
spawn lab "$weft" up "$source_tree/examples/labs/$what.toml"
await lab '^  subnet manager     its own \(minhop\)'

# lid_of NODE: its port's own one.
lid_of() {
  run "lid-$1" "$weft" sm path "$1" "$2" --json
  python3 -c "import json; print(json.load(open('$work/lid-$1.out'))['from']['lid'])"
}
# path NAME NODE FROM TO [ARGUMENT ...]: what the node is told.
path() { on "$1" "$2" saquery PR --sgid "$3" --dgid "$4" "${@:5}"; }
# packets: that the service has had.
packets() { of_lab "lab[0]['services'][0]['counters'].get('packets', 0)"; }
# explained NAME PATTERN WORD ...: weft policy explain says so.
explained() {
  run "$1" "$weft" policy explain "${@:3}"
  expect "$1" "$2"
}
# talk FROM TO: datagrams there and back, to whom rdma_cm has found by its address.
talk() {
  local address=$3
  spawn server "$weft" run --node "$2" -- udaddy -C 20
  await_ids "$2" 1
  spawn client "$weft" run --node "$1" -- udaddy -s "$address" -C 20
  finish client
  finish server
  expect client '^test complete'
}
# send NODE DGID LID COUNT: datagrams with a GRH.
send() {
  spawn datagrams "$weft" run --node "$1" -- /usr/bin/python3 \
    "$source_tree/tests/e2e/routed_datagrams.py" "$2" "$3" 64 --count "$4"
  finish datagrams
}
listen() { # LINK [FILTER ...]
  spawn "at-$1" "$weft" capture "$1" data "${@:2}" -w "$work/$1.pcapng"
  await "at-$1" '^weft capture: listening'
}
# heard LINK: each way that packets took there, as "SLID DLID COUNT DGID".
heard() {
  stop "at-$1" INT
  run "ways-$1" python3 "$source_tree/tests/e2e/packet_ways.py" "$work/$1.pcapng"
}

test_three-rules() {
  local real before
  await_states '{"Active":4}'
  real=$(lid_of b a)
  path first a "$a" "$b"
  expect first 'dlid\.+13$'
  expect first 'hop_flow_raw\.+0xFF'
  path second c "$c" "$b"
  expect second "dlid\.+$real$"
  expect second 'hop_flow_raw\.+0x0$'
  path third d "$a" "$b"
  expect third "dlid\.+$real$"
  # And back, of which no rule says anything.
  path back b "$b" "$a"
  expect back 'hop_flow_raw\.+0x0$'
  explained ab '^  rule 1 1: through firewall$' a b
  expect ab 'firewall at d:1, LID 13$'
  explained cb '^  rule 2 2: direct$' c b
  explained db '^  rule 3 3: direct$' a b requester=d
  run rules "$weft" policy
  expect rules '^1 +1 +fe80::aaaa +fe80::bbbb +- +through firewall +[1-9]'
  # The packets take these ways.
  before=$(packets)
  talk c b 127.251.0.2
  [[ $(packets) == "$before" ]] || fail "what goes from c to b went through the service"
  listen a:1
  listen b:1
  send a "$b" 13 5
  [[ $(packets) == "$((before + 5))" ]] || fail "the service has had $(packets) packets"
  heard a:1
  heard b:1
  expect ways-a:1 "^$(lid_of a b) 13 5 $b$"
  expect ways-b:1 "^[0-9]+ $real 5 $b$"
  pair_level "$real"
}

# A pair with a service level of its own, and with it a lane: to the service, from there on, and on
# the way back.
pair_level() { # LID_OF_B
  local own
  own=$(lid_of c b)
  run gold "$weft" policy add --before 1 name=gold from=c to=b through=firewall answer_sl=3 \
    symmetric
  expect gold '^1 +gold +c:1 +b:1 +symmetric +through firewall, SL 3 +0$'
  path there c "$c" "$b"
  expect there 'dlid\.+13$'
  expect there '\ssl\.+0x3$'
  path on d "$c" "$b"
  expect on "dlid\.+$1$"
  expect on '\ssl\.+0x3$'
  path other c "$c" "$b" --sl 2
  refuse other 'dlid'
  explained why '^  rule 1 gold: through firewall, SL 3$' c b
  expect why '^through services, SL 3$'
  explained why 'SL 2 is asked for, and the rule gives SL 3$' c b sl=2
  expect why '^no path$'
  listen c:1 vl=3 sl=3
  listen b:1 vl=3 sl=3
  talk c b 127.251.0.2
  heard c:1
  heard b:1
  expect ways-c:1 "^$own 13 20 $b$"
  expect ways-c:1 "^13 $own 20 $c$"
  expect ways-b:1 "^13 $1 20 $b$"
  expect ways-b:1 "^$1 13 20 $c$"
}

test_addresses() {
  local real own before
  await_states '{"Active":3}'
  real=$(lid_of b a)
  own=$(lid_of d a)
  # One path by each LID of the table.
  path both a "$a" "$b"
  expect both 'dlid\.+15$'
  expect both 'dlid\.+255$'
  refuse both "dlid\.+$real$"
  # Those to 0xF and 0xFF come to the service as they are, and leave it with the LID of GID 0xBBBB.
  listen d:1
  listen b:1
  before=$(packets)
  send a "$b" 15 5
  send a "$b" 255 3
  [[ $(packets) == "$((before + 8))" ]] || fail "the service has had $(packets) packets"
  heard d:1
  heard b:1
  expect ways-d:1 "^$(lid_of a b) 15 5 $b$"
  expect ways-d:1 "^$(lid_of a b) 255 3 $b$"
  expect ways-d:1 "^15 $real 5 $b$"
  expect ways-d:1 "^255 $real 3 $b$"
  expect ways-b:1 "^15 $real 5 $b$"
  # All others are the protocol engine's, also with the GID of somebody else.
  before=$(packets)
  send a "$d" "$own" 4
  send a "$b" "$own" 4
  talk a d 127.250.0.3
  [[ $(packets) == "$before" ]] || fail "the service had what is for LID $own"
  # A GID that nobody has is nowhere, and counted.
  send a fe80::eeee 15 1
  [[ $(of_lab "lab[0]['services'][0]['counters'].get('drop_no_path', 0)") == 1 ]] ||
    fail "no packet was dropped for want of a path"
}

# service NAME EXPRESSION: of what `weft status` says of it.
service() { of_lab "str([($2) for s in lab[0]['services'] if s['name'] == '$1'][0])"; }
# took NAME RULE: how many packets that rule of the filter of the service's port has taken.
took() { service "$1" "s['filter'].get('filter_$2', 0)"; }
# expect_took NAME RULE COUNT WHY
expect_took() { [[ $(took "$1" "$2") == "$3" ]] || fail "$4: $(service "$1" s)"; }

test_filters() {
  local g=fe80::666 o=fe80::777 at_g at_o before
  await_states '{"Active":5}'
  at_g=$(lid_of g a)
  at_o=$(lid_of o a)
  # By DGID, whether they come to the LID that the administrator tells or to the port's own.
  path to-b a "$a" "$b"
  expect to-b 'dlid\.+14$'
  listen b:1
  send a "$b" 14 5
  send a "$b" "$at_g" 3
  expect_took by-gid by_gid 8 "not all packets for GID $b are the service's"
  [[ $(service by-gid "s['counters']['forwarded']") == 8 ]] || fail "$(service by-gid s)"
  heard b:1
  expect ways-b:1 "^[0-9]+ $(lid_of b a) 8 $b$"
  # Of other GIDs nothing is: they go to the engine, for which they are or which drops them.
  before=$(took by-gid engine)
  send a "$g" "$at_g" 4
  send a "$c" "$at_g" 2
  talk a g 127.250.0.4
  expect_took by-gid by_gid 8 "packets for other GIDs than $b are the service's"
  is_above "$(took by-gid engine)" "$((before + 5))" || fail "$(service by-gid s)"
  [[ $(service by-gid "s['counters']['packets']") == 8 ]] || fail "$(service by-gid s)"
  # A prefix: nobody has the GID, and so there is no path, but the service has had it.
  send a fd00::5 "$at_g" 1
  expect_took by-gid by_gid 9 "a GID of the prefix fd00::/64 is not the service's"

  # Inverted by LID, there and back; and by GID, what comes to the port's own LID.
  talk a c 127.250.0.3
  is_above "$(took inverted other_lid)" 40 || fail "$(service inverted s)"
  expect_took inverted other_gid 0 "a LID of others was looked at last"
  listen c:1
  send a "$c" "$at_o" 6
  expect_took inverted other_gid 6 "what is for $c at the port of $o is not the service's"
  heard c:1
  expect ways-c:1 "^[0-9]+ $(lid_of c a) 6 $c$"
  before=$(service inverted "s['counters']['packets']")
  send a "$o" "$at_o" 4
  talk a o 127.250.0.5
  [[ $(service inverted "s['counters']['packets']") == "$before" ]] ||
    fail "the service had what is for GID $o at its own LID"
}

# ping FROM TO ADDRESS: a connection there, by rdma_cm, and data both ways.
ping() {
  spawn server "$weft" run --node "$2" -- rping -s -a "$3" -C 10
  await_ids "$2" 1
  spawn client "$weft" run --node "$1" -- rping -c -a "$3" -C 10 -v
  finish_rping client
  finish_rping server
  expect client 'ping data: rdma-ping-9'
}

test_steered-partition() {
  local red=fe80::a1 blue=fe80::a2 db=fe80::db real before
  await_states '{"Active":4}'
  real=$(lid_of db red)
  for ends in "red $red $db" "db $db $red"; do
    read -r node from to <<<"$ends"
    path "of-$node" "$node" "$from" "$to"
    expect "of-$node" 'dlid\.+15$'
    expect "of-$node" 'pkey\.+0x8001$'
  done
  path of-blue blue "$blue" "$db"
  expect of-blue "dlid\.+$real$"
  expect of-blue 'hop_flow_raw\.+0x0$'
  expect of-blue 'pkey\.+0x8002$'
  ping red db 127.250.0.3
  before=$(packets)
  is_above "$before" 40 || fail "the firewall has had $before packets of its partition"
  ping blue db 127.250.0.3
  [[ $(packets) == "$before" ]] || fail "the other partition went through the firewall"
  [[ $(service firewall "sum(s['drops'].values())") == 0 ]] || fail "$(service firewall s)"
  # In the middle of the one, it is in no way to the other one: between them there is none.
  path across red "$red" "$blue"
  refuse across 'dlid'
}

# pings NAME: how many it has had answered. goes_on NAME: it has more of them.
pings() { grep -c '^ping data' "$work/$1.out" || :; }
goes_on() {
  local tries before
  before=$(pings "$1")
  for ((tries = 0; tries < 300; tries++)); do
    kill -0 "${pid_of[$1]}" 2>/dev/null || fail "the connection of $1 has ended"
    ! is_above "$(pings "$1")" "$((before + 20))" || return 0
    sleep 0.1
  done
  fail "the connection of $1 does not go on"
}
# carrier FROM TO: where the service is that the path leads through.
carrier() {
  run carrier "$weft" policy explain "$1" "$2" --json
  python3 -c "import json; print(*(h['at'] for h in json.load(open('$work/carrier.out'))['hops']))"
}
await_carrier() { # FROM TO CARRIER
  local tries
  for ((tries = 0; tries < 100; tries++)); do
    [[ $(carrier "$1" "$2") != "$3" ]] || return 0
    sleep 0.1
  done
  fail "the path from $1 to $2 is through $(carrier "$1" "$2"), not $3"
}
# had NODE: packets that the firewall has had at its ports.
had() {
  of_lab "str(sum(s['counters'].get('packets', 0) for s in lab[0]['services']
                  if s['node'] == '$1'))"
}

test_high-availability() {
  local first second port before
  await_states '{"Active":9}'
  # Of the two ports of an end the one goes through fw1 and the other through fw2, and back.
  first=$(carrier app:1 db:1)
  second=$(carrier app:2 db:2)
  [[ ${first%:*} != "${second%:*}" ]] || fail "both ports of app go through $first and $second"
  [[ $(carrier db:1 app:1) == "$first" && $(carrier db:2 app:2) == "$second" ]] ||
    fail "what comes back comes through $(carrier db:1 app:1) and $(carrier db:2 app:2)"
  for port in 1 2; do
    spawn "server$port" "$weft" run --node db -- rping -s -a "127.249.0.$((port + 2))"
    await_ids db "$((2 * port - 1))"
    before=$(had "$([[ $port == 1 ]] && echo "${first%:*}" || echo "${second%:*}")")
    spawn "client$port" "$weft" run --node app -- \
      stdbuf -oL rping -c -v -I "127.249.0.$port" -a "127.249.0.$((port + 2))"
    goes_on "client$port"
    is_above "$(had "$([[ $port == 1 ]] && echo "${first%:*}" || echo "${second%:*}")")" \
      "$((before + 40))" || fail "port $port does not go through its firewall"
  done
  # fw1 is gone: fw2 has its LIDs, and was told of its connection.
  run cut "$weft" link fw1-a down
  run cut "$weft" link fw1-b down
  await_states '{"Active":7,"Down":2}'
  before=$(had fw1)
  for port in 1 2; do
    await_carrier "app:$port" "db:$port" "fw2:2"
    goes_on "client$port"
  done
  [[ $(had fw1) == "$before" ]] || fail "packets still come to what is gone"
  [[ $(of_lab "str(sum(sum(s['drops'].values()) for s in lab[0]['services']))") == 0 ]] ||
    fail "a firewall has dropped what belongs to a connection: $(of_lab "lab[0]['services']")"
  # And comes again: each of a pair has its own.
  run join "$weft" link fw1-a up
  run join "$weft" link fw1-b up
  await_states '{"Active":9}'
  await_carrier app:1 db:1 "$first"
  await_carrier app:2 db:2 "$second"
  goes_on client1
  goes_on client2
  for port in 1 2; do
    stop "client$port"
    stop "server$port"
  done
}

"test_$what"
stop lab INT
